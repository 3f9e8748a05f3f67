// The data pass over a weight: one scale for each group of elements, and a look for NaN.
#pragma once

#include <cstdint>
#include <optional>

#include "quadrant/ir/type.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// The first element, in row-major order, that is NaN or infinite.
struct NonFinite {
  std::int64_t index = 0;
  float value = 0;
};

struct ScaleScan {
  Constant scales;  ///< float32, of `parameter_shape`; none when `non_finite` is set
  std::optional<NonFinite> non_finite;
};

/// Symmetric scales: largest magnitude of each group / `storage_max`, rounded to float32. A group
/// whose scale would be zero or subnormal (all zeros, say) gets scale 1, which maps it to code 0:
/// never 0/0. For 8 bits that is ONNX Runtime's rule.
///
///   [2x2] {1, -254, 0, 0}, per axis 0, storage_max 127  ->  [2] {2, 1}
///
/// `weights`: float16, bfloat16, float32 or float64, of a static shape that `granularity` fits (per
/// tensor or per axis so far); anything else is `impossible`. Float64 is rounded to float32 first:
/// values beyond its range count as infinite. Reads the contents once, in pieces of at most 256
/// KiB, and stops at the first NaN or infinity. May be called from any thread.
[[nodiscard]] Expected<ScaleScan> scan_symmetric_scales(const Constant& weights,
                                                        const Granularity& granularity,
                                                        std::int64_t storage_max);

}  // namespace quadrant::inline v0
