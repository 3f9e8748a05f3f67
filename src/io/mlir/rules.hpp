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

struct LowerFamily {
  LowerRules rules;
  Precision precision = Precision::float32;
};

[[nodiscard]] inline std::array<LowerFamily, 8> all_families() noexcept {
  return {LowerFamily{convolution_rules()},
          LowerFamily{elementwise_rules()},
          LowerFamily{moves_rules(), Precision::own},
          LowerFamily{normalization_rules()},
          LowerFamily{pooling_rules()},
          LowerFamily{products_rules()},
          LowerFamily{quantization_rules(), Precision::own},
          LowerFamily{reductions_rules()}};
}

}  // namespace quadrant::inline v0::mlir_ir
