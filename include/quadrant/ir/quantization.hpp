// A number format with its scales: what the codes of one tensor mean.
#pragma once

#include <optional>
#include <vector>

#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/number_format.hpp"

namespace quadrant::inline v0 {

struct Quantization {
  NumberFormat format;
  std::vector<Constant> scales;   ///< of each level, of `parameter_shape`
  std::vector<Constant> offsets;  ///< of each level; the zero points alone where there are such
  Constant table;                 ///< where it is stored

  /// Shares scales and zero points. `uniform` gives back what `of` was given, but for a
  /// `storage_bits` that is that of the storage and becomes 0.
  [[nodiscard]] static Quantization of(const UniformType& type);
  /// Empty for a format that is not uniform.
  [[nodiscard]] std::optional<UniformType> uniform() const;

  friend bool operator==(const Quantization&, const Quantization&) = default;
};

}  // namespace quadrant::inline v0
