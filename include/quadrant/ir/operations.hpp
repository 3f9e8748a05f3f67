// Operations: the facts about them that all parts of the library use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "quadrant/ir/graph_view.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

// The table of operations: what each of them is, said once, for all that ask.

struct Move;
struct Product;

enum class Family : std::uint8_t {
  border,         ///< of the graph: inputs, constants, outputs
  move,           ///< elements go to other places
  elementwise,    ///< one element of each operand, which broadcast
  product,        ///< sums of products
  window,         ///< poolings, borders and resampling of images
  reduction,      ///< one element of all along some axes; running sums
  normalization,  ///< softmax among them
  recurrent,
  place,       ///< places and shapes as data: lookups, scatters, counts
  code,        ///< between floats and codes, and operators on codes
  simulation,  ///< floats as if they were codes, and what is known of their ranges
  function,    ///< of many parts, with subgraphs, of sequences and strings, losses
};
[[nodiscard]] std::string_view to_string(Family family) noexcept;

/// A property of an operation, or of a node of it.
enum class Trait : std::uint8_t {
  stays_in_range,  ///< each element of result 0 is one of operand 0's, zero, or between such
  takes_elements,  ///< each element of result 0 is one of operand 0's
  keeps_elements,  ///< the same, and each of these is there, once
  keeps_order,     ///< the same, in the same order: another shape is all that changes
  keeps_shape,     ///< result 0 has the shape of operand 0
  stretches,       ///< results have the one shape that all operands broadcast to
};

class Traits {
 public:
  constexpr Traits() = default;
  constexpr Traits(std::initializer_list<Trait> traits) {
    for (const Trait trait : traits) bits_ |= bit(trait);
  }
  [[nodiscard]] constexpr bool contains(Trait trait) const noexcept {
    return (bits_ & bit(trait)) != 0;
  }
  [[nodiscard]] friend constexpr Traits operator|(Traits a, Traits b) noexcept {
    a.bits_ |= b.bits_;
    return a;
  }

 private:
  static constexpr std::uint32_t bit(Trait trait) noexcept {
    return std::uint32_t{1} << static_cast<std::uint32_t>(trait);
  }
  std::uint32_t bits_ = 0;
};

/// How many operands, or results, an operation has, in all its versions.
struct Count {
  std::size_t least = 0;
  std::size_t most = SIZE_MAX;
};
inline constexpr std::size_t any_number = SIZE_MAX;

/// What an operand is for.
enum class Role : char {
  data = 'd',    ///< what the operation computes on
  factor = 'f',  ///< of a product: data or a weight
  weight = 'w',  ///< a weight, wherever it comes from
  bias = 'b',    ///< is added to a sum: a number a channel
  term = 'a',    ///< is added to a sum, and broadcasts to it
  table = 't',   ///< is looked up in
  codes = 'c',   ///< codes whose scales are operands, too
  setting =
      's',  ///< a limit, a filling, a size, a scale or a zero point: no parameter to be learned
};

/// The roles of operands, a letter each: `dwb` of a convolution. The last one is that of all that
/// follow.
struct Roles {
  std::string_view letters = "d";
  [[nodiscard]] constexpr Role of(std::size_t operand) const noexcept {
    return static_cast<Role>(letters[operand < letters.size() ? operand : letters.size() - 1]);
  }
};

/// A row of the table. It lives as long as the program.
struct Operation {
  std::string_view kind;
  Family family = Family::function;
  Count operands;  ///< the first `least` of them must not be absent
  Count results;
  Traits traits;  ///< whatever its attributes are
  /// The types of the results from those of the operands, as far as they follow, which are as many
  /// as the counts say; `invalid_model` for operands that do not fit. Null: nothing follows.
  Expected<std::vector<TensorType>> (*infer)(NodeRef node) = nullptr;
  const Move* move = nullptr;  ///< how groups of elements with one scale move; null: they do not
  const Product* product = nullptr;  ///< which operands are what; null: it adds up no products
  /// Products that it adds up: ir/work.hpp. Null: none.
  std::int64_t (*work)(NodeRef node) noexcept = nullptr;
  /// What is true besides, by the node's attributes and constants. Null: nothing.
  Traits (*when)(NodeRef node) = nullptr;
  /// The operator of ONNX's default domain, where the kind does not say it: `Mul` of `multiply`.
  std::string_view onnx;
  Roles roles;
};

/// All rows of the library, in the order of their kinds. Those of a graph's own operations are in
/// `GraphView::operations`.
[[nodiscard]] std::span<const Operation> operations() noexcept;

/// Null for a kind that the table does not have.
[[nodiscard]] const Operation* find_operation(std::string_view kind) noexcept;

/// The row of the node's operation: the library's, or else the graph's own one. Null: neither has
/// one. Linear in the number of the graph's own rows.
[[nodiscard]] const Operation* find_operation(NodeRef node) noexcept;

/// The operation of which `Operation::onnx` is this; null: none.
[[nodiscard]] const Operation* find_onnx_operator(std::string_view name) noexcept;

/// Whether the node's operation has this trait, whatever its attributes are.
[[nodiscard]] bool has_trait(NodeRef node, Trait trait) noexcept;

/// Whether a row of a graph's own can be asked: its kind is not the library's, roles are letters of
/// `Role`, a move and a product have all their functions, and one that keeps the order is a move.
/// `usage`, with what is missing. `verify` of a graph asks this of each.
[[nodiscard]] Expected<void> check_row(const Operation& row);

/// What the operand is for; `data` where no row tells.
[[nodiscard]] Role role_of(NodeRef node, std::size_t operand) noexcept;

/// All that is true of the node; nothing of one without a row. May read a constant
/// of one number.
[[nodiscard]] Traits traits_of(NodeRef node);

// Operations that move elements without changing them, and what becomes of groups of elements that
// share a scale.

/// Fills in, for the index `at` of an element of a result, the index `from` of the element of an
/// operand that it is; returns the operand's number. The spans have the ranks of both.
using Origin =
    std::function<std::uint32_t(std::span<const std::int64_t> at, std::span<std::int64_t> from)>;

struct Move {
  /// The groups of the operand, or of each of them, whose elements are, in the results, together in
  /// groups `wanted`. Empty when there are none, or when the node does not tell.
  std::optional<Granularity> (*source)(NodeRef node, const Granularity& wanted);
  /// Of result `result` of a node for which `source` found groups. May be any element that has the
  /// same scale, where the exact one depends on run-time indices.
  Origin (*origin)(NodeRef node, std::uint32_t result);
  /// Why `source` finds nothing: a literal.
  const char* refusal;
};

/// Of operations that hand on what they read, under a name of their own.
extern const Move identity_move;

/// The row of such a one: its one operand and its one result are the same.
[[nodiscard]] constexpr Operation identity_operation(std::string_view kind) {
  using enum Trait;
  return {.kind = kind,
          .family = Family::move,
          .operands = {1, 1},
          .results = {1, 1},
          .traits = {stays_in_range, takes_elements, keeps_elements, keeps_order, keeps_shape},
          .move = &identity_move};
}

/// identity, transpose, reshape, squeeze, unsqueeze, flatten, expand, slice, split, concat, and
/// gather with groups along other axes than the one that is looked up; and what a graph's own rows
/// say. Null for other operations.
[[nodiscard]] const Move* find_move(NodeRef node) noexcept;

/// Whether the value is a constant, or what operations of which `hands_on` is true make of
/// constants alone. Looks through 8 of them, one behind the other, so that a chain is not walked by
/// each of its readers.
[[nodiscard]] bool is_known(const GraphView& graph, Value value, bool (*hands_on)(NodeRef maker));

/// The type of result `result` of a node that moves so, in groups `groups`: scales and zero points
/// come from the operands, which are quantized by now, each from where its group's first element
/// comes from. Per tensor where the operand is.
[[nodiscard]] Expected<std::shared_ptr<const UniformType>> moved_type(const Move& move,
                                                                      NodeRef node,
                                                                      std::uint32_t result,
                                                                      const Granularity& groups);

// Which operations are sums of products, and what their operands are.

struct Product {
  std::string_view kind;
  std::uint32_t data = 0;
  std::uint32_t weight = 1;
  std::uint32_t bias = 2;
  /// The axis of the weight, of shape `weight`, that the sum keeps; empty: it has none. Never null.
  std::optional<std::int64_t> (*channel)(NodeRef node, const Shape& weight) = nullptr;
  /// The axis of the result along which the channels are; counted from the end where negative.
  std::int64_t result_channel = -1;
  /// Whether codes in the scale of the products can be added to the sum. Never null.
  bool (*adds_bias)(NodeRef node) = nullptr;
};

/// Of the operation's row. Null for other operations.
[[nodiscard]] const Product* find_product(NodeRef node) noexcept;

/// Whether it is one of images, along axes that follow batch and channels: `conv`,
/// `conv_transpose`. The others are products of matrices.
[[nodiscard]] constexpr bool is_convolution(const Product& product) noexcept {
  return product.result_channel > 0;
}

}  // namespace quadrant::inline v0
