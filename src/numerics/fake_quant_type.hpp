// The quantized types that simulated quantization stands for: `const_fake_quant` and `fake_quant`
// are a `quantize` to such a type, and a `dequantize`.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/type.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// Codes by `nudged_range` of each of `ranges`, which differ in their ends alone: one for all
/// elements, or one for each index along `axis`, at least one. They express `expressed`, a float
/// type. Fails as `nudged_range`.
[[nodiscard]] Expected<std::shared_ptr<const UniformType>> fake_quant_type(
    std::span<const FakeQuantRange> ranges, std::optional<std::int64_t> axis,
    ElementType expressed);

/// That of a `const_fake_quant`, or of a `fake_quant` whose bounds are constants; `impossible`
/// where they are computed. float32 where X's type is not known.
[[nodiscard]] Expected<std::shared_ptr<const UniformType>> fake_quant_type(NodeRef node);

}  // namespace quadrant::inline v0
