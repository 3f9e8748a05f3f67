// Which operations integer kernels of a runtime compute, and of which parameters.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "targets/kernels/conditions.hpp"
#include "targets/kernels/fixed_results.hpp"

namespace quadrant::inline v0::target_kernels {

/// How parameters of operands and results go together.
enum class ParameterFamily : std::uint8_t {
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
  [[nodiscard]] bool is_any() const noexcept {
    return low == 0 && high == std::numeric_limits<double>::infinity();
  }
};

/// Codes that a kernel takes and a rule does not.
struct Exception {
  Storages storages{};
  std::string_view why = {};  ///< `two steps off`
};

struct KernelRule {
  std::string_view kind;       ///< in the graph
  std::string_view operation;  ///< the runtime's names of it: `, ` all; `; ` the one or the other
  ParameterFamily family = ParameterFamily::same;
  Storages storages{};  ///< of the codes
  Exception except{};
  std::uint32_t operands = 1;  ///< how many are data, from operand `first` on; 0: all
  std::uint32_t first = 0;
  /// Of an operand's scale to the result's; for products of two, of both scales' product to it.
  Ratio ratio = {};
  /// The ratio's end for codes of 16 bits.
  double most_of_16_bits = std::numeric_limits<double>::infinity();
  /// Of bytes, the most that all operands' ratios, added, or the ratio of their product may be.
  double most_of_8_bits = std::numeric_limits<double>::infinity();
  bool is_product = false;
  /// Whether rounding may come before the operation as well as after it: the node chooses, moves
  /// or limits elements. Null: no.
  bool (*commutes)(NodeRef node) = nullptr;
  /// Whether what it makes of codes are codes of the same form; null: as `commutes`.
  bool (*keeps)(NodeRef node, const GivenForm& form) = nullptr;
  /// Why the kernel does not do what this node does with codes of form `from` and `to`: a literal,
  /// or null.
  const char* (*refusal)(NodeRef node, const GivenForm& from, const GivenForm& to) = nullptr;
  FixedResults results{};           ///< of `fixed`: for each type of codes
  bool is_unbounded_below = false;  ///< `fixed`: there are results below all of the kernel's codes
  /// `product`: weights have zero points, and signs of their own; they may have one where the data
  /// has none. Sums become results by a factor in floating point.
  bool mixes_signs = false;
  std::string_view note = {};  ///< what the columns do not say
};

/// Of an operation that limits elements, where no parameters change.
constexpr KernelRule clamps(std::string_view kind, std::string_view operation) {
  return {.kind = kind,
          .operation = operation,
          .family = ParameterFamily::rescaling,
          .commutes = has_bounds,
          .keeps = keeps_bounded,
          .refusal = refuse_changing_clamp,
          .note = "same parameters"};
}

/// Null: there is none for it.
[[nodiscard]] constexpr const KernelRule* find_rule(std::span<const KernelRule> rules,
                                                    std::string_view kind) noexcept {
  const auto found = std::ranges::find(rules, kind, &KernelRule::kind);
  return found == rules.end() ? nullptr : &*found;
}

}  // namespace quadrant::inline v0::target_kernels
