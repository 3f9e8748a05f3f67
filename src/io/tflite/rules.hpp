// What becomes of each operation of the graph: tables, one for each family of operations.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "io/tflite/lower.hpp"

namespace quadrant::inline v0::tflite {

/// As many operands as there are.
inline constexpr std::size_t all_data = std::numeric_limits<std::uint32_t>::max();

/// Which of an operation's values hold codes where its kernel computes on codes.
enum class Codes : std::uint8_t {
  none,      ///< there is no such kernel
  all,       ///< the first `data` operands and the results, or none of them
  operands,  ///< the first `data` operands; the results are of another kind (indices, booleans)
  any,       ///< the rule knows
};

/// How operations of kind `kind` are written. Several kinds may share a function: what differs is
/// in the row.
struct Rule {
  std::string_view kind;
  void (*lower)(Lowering& lowering, const NodeRef& node, const Rule& rule) = nullptr;
  BuiltinOperator code = BuiltinOperator::CUSTOM;
  Codes codes = Codes::none;
  std::size_t first = 0;        ///< the first operand that may hold codes ...
  std::size_t data = all_data;  ///< ... and how many follow, with it
  /// Operands of an operation on one element after the other, which is read back by this row; 0 for
  /// others.
  std::size_t elements = 0;
  bool same = false;  ///< the kernel wants the same parameters on all of them and the result:
  /// those of a single operand, unless it brings in values that only the result's may have codes
  /// for
  bool as_result = false;
  /// The operands behind the first data are weights, which have types of their own.
  bool weights = false;
  /// Where not all nodes of the kind have such a kernel: whether this one has.
  bool (*fits)(const NodeRef& node) = nullptr;
  /// The operator that decides which integers the node can have, where that is not `code`.
  BuiltinOperator (*kernel)(const Lowering& lowering, const NodeRef& node) = nullptr;
};

/// The operator whose kernel has to take the data of `node`.
[[nodiscard]] BuiltinOperator kernel_code(const Rule& rule, const Lowering& lowering,
                                          const NodeRef& node);

[[nodiscard]] std::span<const Rule> activation_rules() noexcept;
[[nodiscard]] std::span<const Rule> composed_rules() noexcept;
[[nodiscard]] std::span<const Rule> conversion_rules() noexcept;
[[nodiscard]] std::span<const Rule> convolution_rules() noexcept;
[[nodiscard]] std::span<const Rule> elementwise_rules() noexcept;
[[nodiscard]] std::span<const Rule> image_rules() noexcept;
[[nodiscard]] std::span<const Rule> lookup_rules() noexcept;
[[nodiscard]] std::span<const Rule> move_rules() noexcept;
[[nodiscard]] std::span<const Rule> normalization_rules() noexcept;
[[nodiscard]] std::span<const Rule> pooling_rules() noexcept;
[[nodiscard]] std::span<const Rule> product_rules() noexcept;
[[nodiscard]] std::span<const Rule> reduction_rules() noexcept;

/// Null for a kind that no family has.
[[nodiscard]] const Rule* find_rule(std::string_view kind) noexcept;
/// The operation on one element after the other that is written as `code`; null where there is none
/// with as many operands.
[[nodiscard]] const Rule* find_elementwise(BuiltinOperator code, std::size_t operands) noexcept;

}  // namespace quadrant::inline v0::tflite
