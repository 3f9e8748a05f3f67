// How each operation is written: a family a file.
#pragma once

#include <array>
#include <span>

#include "io/mlir/lower.hpp"

namespace quadrant::inline v0::mlir_ir {

using LowerRules = std::span<const LowerRule>;

[[nodiscard]] LowerRules convolution_rules() noexcept;
[[nodiscard]] LowerRules elementwise_rules() noexcept;
[[nodiscard]] LowerRules moves_rules() noexcept;
[[nodiscard]] LowerRules normalization_rules() noexcept;
[[nodiscard]] LowerRules pooling_rules() noexcept;
[[nodiscard]] LowerRules products_rules() noexcept;
[[nodiscard]] LowerRules quantization_rules() noexcept;
[[nodiscard]] LowerRules reductions_rules() noexcept;

[[nodiscard]] inline std::array<LowerRules, 8> all_rules() noexcept {
  return {convolution_rules(), elementwise_rules(), moves_rules(),        normalization_rules(),
          pooling_rules(),     products_rules(),    quantization_rules(), reductions_rules()};
}

}  // namespace quadrant::inline v0::mlir_ir
