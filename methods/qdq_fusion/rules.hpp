// What integer kernels of a target compute, and of which parameters: a table.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "quadrant/ir/storages.hpp"
#include "quadrant/methods/qdq_fusion.hpp"

namespace quadrant::inline v0::qdq_fusion {

/// How parameters of operands and results go together.
enum class Family : std::uint8_t {
  product,    ///< sums of products: int32 sums in the scale of the product, then any result
  rescaling,  ///< each operand and the result in parameters of its own
  same,       ///< all of them in the same parameters
  fixed,      ///< any operand; the result has parameters that the kernel fixes
  reader,     ///< operands in the same parameters; the result is no real number
};

/// `low` <= ratio < `high`.
struct Ratio {
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
  [[nodiscard]] bool contains(double ratio) const noexcept { return low <= ratio && ratio < high; }
  [[nodiscard]] bool is_any() const noexcept { return low == 0 && is_open(); }
  [[nodiscard]] bool is_open() const noexcept {
    return high == std::numeric_limits<double>::infinity();
  }
};

struct FusionRule {
  std::string_view kind;       ///< in the graph
  std::string_view operation;  ///< what the target calls it
  Family family = Family::same;
  Storages storages = {};
  std::uint32_t operands = 1;  ///< how many are data, from operand `first` on; 0: all
  std::uint32_t first = 0;
  /// Of an operand's scale to the result's; for products of two, of both scales' product to it.
  Ratio ratio = {};
  /// The ratio's end for codes of 16 bits.
  double most_of_16_bits = std::numeric_limits<double>::infinity();
  bool is_product = false;
  /// Whether rounding may come before the operation as well as after it: the node chooses, moves
  /// or limits elements. Null: no.
  bool (*commutes)(NodeRef node) = nullptr;
  /// Whether what it makes of codes are codes of the same form; null: as `commutes`.
  bool (*keeps)(NodeRef node, const GivenForm& form) = nullptr;
  /// Why the kernel does not do what this node does with codes of form `from` and `to`: a literal,
  /// or null.
  const char* (*refusal)(NodeRef node, const GivenForm& from, const GivenForm& to) = nullptr;
  /// `fixed`: the parameters of the result for each storage type.
  GivenForm (*result)(ElementType storage) = nullptr;
  bool has_any_zero_of_8_bits = false;  ///< `fixed`: the zero point may be another than that
  bool is_unbounded_below = false;  ///< `fixed`: there are results below all of the kernel's codes
  /// `product`: weights have zero points, and signs of their own; they may have one where the data
  /// has none. Sums become results by a factor in floating point.
  bool mixes_signs = false;
  std::string_view note = {};  ///< what the columns do not say
};

/// One rule an operation, in the order of the families.
[[nodiscard]] std::span<const FusionRule> rules(FusionTarget target);
/// Null: the target has no integer kernel for it.
[[nodiscard]] const FusionRule* find_rule(FusionTarget target, std::string_view kind);

}  // namespace quadrant::inline v0::qdq_fusion
