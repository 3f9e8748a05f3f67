// What a file of encodings says of one tensor, whichever version the file has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "quadrant/ir/shape.hpp"
#include "quadrant/ir/type.hpp"
#include "quadrant/numerics/encoding.hpp"
#include "quadrant/numerics/encoding_rule.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// Low-power blockwise quantization (LPBQ): the scale of a block is that of its channel times an
/// integer, so that blocks can be multiplied as integers of more bits and one scale a channel.
struct LowPowerScales {
  int decompressed_bits = 8;          ///< of a code times the integer scale
  std::vector<double> channels;       ///< a scale for each channel
  std::vector<std::uint16_t> blocks;  ///< 1 or more; in the order of TensorEncoding::scales

  friend bool operator==(const LowPowerScales&, const LowPowerScales&) = default;
};

/// Codes 0 to n stand for real = scale * (code - zero_point): n is 2^bits - 1, one less where
/// `symmetry` is strict. Ends and offsets follow from that: `encoding` gives them.
struct TensorEncoding {
  enum class Kind : std::uint8_t {
    integer,
    floating,  ///< a float of `bits` bits; nothing below `bits` counts
  };
  enum class Spread : std::uint8_t {
    tensor,    ///< one scale
    channels,  ///< one for each index along `axis`
    blocks,    ///< one for each `block_size` elements along `axis`
  };
  enum class Role : std::uint8_t {
    unknown,  ///< files of version 2.0.0 do not say
    activation,
    parameter,
  };

  Role role = Role::unknown;
  Kind kind = Kind::integer;
  int bits = 8;  ///< 2 to 32; of a float, 16 or 32
  EncodingSymmetry symmetry = EncodingSymmetry::asymmetric;
  /// How whoever wrote this stores codes. Says nothing about what they mean. Of the files, only
  /// those of version 2.0.0 tell; of the others, signed where called symmetric.
  CodeSign sign = CodeSign::unsigned_codes;
  Spread spread = Spread::tensor;
  /// Negative ones count from the last. Empty where the file does not tell: by agreement, channels
  /// are then those of the output, and blocks lie along the input.
  std::optional<std::int64_t> axis;
  std::int64_t block_size = 0;
  /// Of blocks whose axis is known: the extents of the scales, as many as the tensor has, `axis`
  /// being the index among them. Empty otherwise.
  std::vector<std::int64_t> grid;
  /// Row by row where there is a grid, else in order of the channels and, in each, of its blocks.
  std::vector<double> scales;
  std::vector<std::int64_t> zero_points;  ///< of codes from 0; as many as there are scales
  std::optional<LowPowerScales> low_power;

  /// Scale, zero point and ends of number `index`, which must be there.
  [[nodiscard]] Encoding encoding(std::size_t index) const;

  friend bool operator==(const TensorEncoding&, const TensorEncoding&) = default;
};

/// Whether it has a meaning that can be relied on. `impossible`, with a message that names the
/// field: numbers out of the ranges above, another number of zero points than of scales, a scale
/// that is below 1e-37, an end beyond 1e38 (float32 must hold them), zero points that contradict
/// the symmetry, a grid that is not that of the scales, block scales that are not their factors'
/// product.
[[nodiscard]] Expected<void> check(const TensorEncoding& encoding);

/// The type of a tensor of static shape `shape`, with codes stored by `sign`. `channel_axis` counts
/// where the encoding does not know its axis: the axis of channels; blocks then lie along the axis
/// behind it if it is the first, else along that before it, and all other axes have one block.
/// Scales are rounded to float32.
///
/// `impossible`: floats; an axis that is missing or that the shape does not have; another number of
/// scales than the shape has channels or blocks; 17 to 31 bits; what `check` refuses.
[[nodiscard]] Expected<UniformType> to_uniform_type(const TensorEncoding& encoding,
                                                    const Shape& shape,
                                                    std::optional<std::int64_t> channel_axis,
                                                    CodeSign sign);

/// The opposite, of a type for a tensor of static shape `shape`; each code keeps its meaning. Codes
/// that are stored signed are counted from 0: zero points grow by as much. The expressed type is
/// not kept, nor is the role known. Reads scales and zero points.
///
/// `impossible`: scales that are negative; codes that are not all of a number of bits, or all but
/// the lowest of them around zero; what `check` refuses.
[[nodiscard]] Expected<TensorEncoding> to_tensor_encoding(const UniformType& type,
                                                          const Shape& shape);

}  // namespace quadrant::inline v0
