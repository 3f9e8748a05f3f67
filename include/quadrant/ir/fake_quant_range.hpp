// What TensorFlow's and MLIR's fake quantizations say of one channel, or of all elements.
#pragma once

#include <cstdint>

#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// The range that real numbers are taken to lie in, and the codes that are to be told apart there.
/// numerics/fake_quantize.hpp has what follows from it.
struct FakeQuantRange {
  double min = 0;  ///< as float32, which MLIR's attribute is
  double max = 0;
  std::int64_t num_bits = 8;
  bool narrow_range = false;  ///< without the lowest code
  bool is_signed = false;

  friend bool operator==(const FakeQuantRange&, const FakeQuantRange&) = default;
};

/// `invalid_model`: ends that are not finite or in the wrong order, other than 1 to 32 bits.
[[nodiscard]] Expected<void> check(const FakeQuantRange& range);

}  // namespace quadrant::inline v0
