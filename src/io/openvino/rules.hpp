// What each operation is called, and how it is written, there and here: a family a file, with both
// directions side by side.
#pragma once

#include <array>
#include <span>

#include "io/openvino/lower.hpp"
#include "io/openvino/raise.hpp"

namespace quadrant::inline v0::openvino_ir {

struct Rules {
  std::span<const RaiseRule> raise;
  std::span<const LowerRule> lower;
};

[[nodiscard]] Rules composed_moves_rules() noexcept;
[[nodiscard]] Rules composed_rules() noexcept;
[[nodiscard]] Rules elementwise_rules() noexcept;
[[nodiscard]] Rules indices_rules() noexcept;
[[nodiscard]] Rules integers_rules() noexcept;
[[nodiscard]] Rules moves_rules() noexcept;
[[nodiscard]] Rules normalization_rules() noexcept;
[[nodiscard]] Rules parts_rules() noexcept;
[[nodiscard]] Rules pooling_rules() noexcept;
[[nodiscard]] Rules products_rules() noexcept;
[[nodiscard]] Rules quantization_rules() noexcept;
[[nodiscard]] Rules ranking_rules() noexcept;
[[nodiscard]] Rules recurrent_rules() noexcept;
[[nodiscard]] Rules reductions_rules() noexcept;
[[nodiscard]] Rules resampling_rules() noexcept;
[[nodiscard]] Rules searches_rules() noexcept;
[[nodiscard]] Rules spectral_rules() noexcept;

/// In the order in which they are asked: what has a name of its own before what is composed.
[[nodiscard]] inline std::array<Rules, 17> all_rules() noexcept {
  return {elementwise_rules(),   indices_rules(),  integers_rules(),  moves_rules(),
          normalization_rules(), parts_rules(),    pooling_rules(),   products_rules(),
          quantization_rules(),  ranking_rules(),  recurrent_rules(), reductions_rules(),
          resampling_rules(),    searches_rules(), spectral_rules(),  composed_rules(),
          composed_moves_rules()};
}

}  // namespace quadrant::inline v0::openvino_ir
