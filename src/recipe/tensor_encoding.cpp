#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "ir/scales.hpp"
#include "numerics/groups.hpp"
#include "numerics/range_encoding.hpp"
#include "quadrant/recipe/encodings.hpp"
#include "recipe/block_matrix.hpp"

namespace quadrant::inline v0 {
namespace {

using Spread = TensorEncoding::Spread;

constexpr double smallest_scale = 1e-37;
constexpr double largest_end = 1e38;

tl::unexpected<Error> refuse(std::string message) {
  return fail(ErrorCode::impossible, std::move(message));
}

EncodingRule rule_of(const TensorEncoding& encoding) noexcept {
  return {.symmetry = encoding.symmetry, .bits = encoding.bits};
}

Expected<void> check_scales(const TensorEncoding& encoding) {
  const std::int64_t steps = steps_of(rule_of(encoding));
  for (std::size_t i = 0; i < encoding.scales.size(); ++i) {
    const double scale = encoding.scales[i];
    const std::int64_t zero_point = encoding.zero_points[i];
    // A NaN is refused as well.
    if (!(scale >= smallest_scale)) {
      return refuse(fmt::format("scale {} is {}: scales must be above 0, at least {}", i, scale,
                                smallest_scale));
    }
    if (zero_point < 0 || zero_point > steps) {
      return refuse(
          fmt::format("zero point {} is {}: it must lie in 0 to {}", i, zero_point, steps));
    }
    const auto farthest = static_cast<double>(std::max(zero_point, steps - zero_point));
    if (!(scale * farthest <= largest_end)) {
      return refuse(
          fmt::format("scale {} is {}: the range then reaches beyond {}", i, scale, largest_end));
    }
  }
  return {};
}

Expected<void> check_symmetry(const TensorEncoding& encoding) {
  const std::int64_t middle = (steps_of(rule_of(encoding)) + 1) / 2;
  const auto all_are = [&encoding](std::int64_t wanted) {
    return std::ranges::all_of(encoding.zero_points,
                               [wanted](std::int64_t found) { return found == wanted; });
  };
  const bool possible = encoding.symmetry == EncodingSymmetry::asymmetric || all_are(middle) ||
                        (encoding.symmetry == EncodingSymmetry::symmetric_unsigned && all_are(0));
  if (!possible) return refuse(fmt::format("it is symmetric, but a zero point is not {}", middle));
  return {};
}

Expected<void> check_low_power(const TensorEncoding& encoding, const LowPowerScales& parts) {
  if (encoding.spread != Spread::blocks) return refuse("only blocks have scales of two factors");
  if (encoding.symmetry != EncodingSymmetry::symmetric) {
    return refuse("encodings with scales of two factors must be symmetric");
  }
  if (parts.decompressed_bits < encoding.bits || parts.decompressed_bits > 32) {
    return refuse(fmt::format("codes of {} bits cannot be decompressed to {} bits", encoding.bits,
                              parts.decompressed_bits));
  }
  const std::size_t count = encoding.scales.size();
  if (parts.blocks.size() != count || parts.channels.empty() ||
      count % parts.channels.size() != 0) {
    return refuse(fmt::format("{} integer scales and {} scales of channels, where {} are blocks",
                              parts.blocks.size(), parts.channels.size(), count));
  }
  BlockMatrix matrix{.channels = parts.channels.size(), .blocks = count / parts.channels.size()};
  if (!encoding.grid.empty()) {
    const auto found = block_matrix(encoding.grid, encoding.axis.value_or(0));
    if (!found || found->channels != parts.channels.size()) {
      return refuse(fmt::format("{} scales of channels are not those of the grid of blocks",
                                parts.channels.size()));
    }
    matrix = *found;
  }
  for (std::size_t channel = 0; channel < matrix.channels; ++channel) {
    for (std::size_t block = 0; block < matrix.blocks; ++block) {
      const std::size_t i = matrix.index(channel, block);
      if (parts.blocks[i] == 0 ||
          encoding.scales[i] != parts.channels[channel] * static_cast<double>(parts.blocks[i])) {
        return refuse(fmt::format(
            "scale {} is not that of its channel times an integer that is 1 or more", i));
      }
    }
  }
  return {};
}

Expected<void> check_blocks(const TensorEncoding& encoding) {
  if (encoding.block_size < 1) {
    return refuse(fmt::format("block size {}: it must be 1 or more", encoding.block_size));
  }
  const auto rank = static_cast<std::int64_t>(encoding.grid.size());
  if (encoding.axis.has_value() != (rank != 0)) {
    return refuse("blocks have an axis and a grid, or neither");
  }
  if (rank == 0) return {};
  const std::int64_t axis = encoding.axis.value_or(0);
  if (axis < 0 || axis >= rank) {
    return refuse(fmt::format("the blocks' axis {} is none of the {} of their grid", axis, rank));
  }
  std::size_t left = encoding.scales.size();
  for (const std::int64_t extent : encoding.grid) {
    if (extent < 1 || left % static_cast<std::size_t>(extent) != 0) left = 0;
    if (left == 0) break;
    left /= static_cast<std::size_t>(extent);
  }
  if (left == 1) return {};
  return refuse(fmt::format("{} scales do not fill the grid of blocks {}", encoding.scales.size(),
                            to_string(Shape(encoding.grid))));
}

Expected<void> check_spread(const TensorEncoding& encoding) {
  if (encoding.spread == Spread::blocks) return check_blocks(encoding);
  if (encoding.block_size != 0 || !encoding.grid.empty()) {
    return refuse("a block size, or a grid, belongs to blocks only");
  }
  if (encoding.spread == Spread::channels) return {};
  if (encoding.axis) return refuse("one scale for the whole tensor has no axis");
  if (encoding.scales.size() == 1) return {};
  return refuse(fmt::format("{} scales, where the tensor shares one", encoding.scales.size()));
}

// Which axis of `shape` a possibly negative number means.
Expected<std::int64_t> axis_of(std::int64_t axis, const Shape& shape) {
  const std::int64_t counted = axis < 0 ? axis + shape.rank() : axis;
  if (counted >= 0 && counted < shape.rank()) return counted;
  return refuse(fmt::format("a tensor of shape [{}] has no axis {}", to_string(shape), axis));
}

struct Placed {
  Granularity granularity;
  BlockMatrix from;      ///< how the encoding's scales lie, if not as those of the type
  bool in_order = true;  ///< as those of the type
};

Expected<Placed> place_blocks(const TensorEncoding& encoding, const Shape& shape, std::int64_t axis,
                              bool is_block_axis) {
  if (is_block_axis) {
    const Granularity granularity = Granularity::per_block(axis, encoding.block_size);
    const Shape wanted = parameter_shape(shape, granularity);
    if (wanted == Shape(encoding.grid)) return Placed{granularity, {}};
    return refuse(
        fmt::format("blocks of {} along axis {} of a tensor of shape [{}] have scales of "
                    "shape [{}], not [{}]",
                    encoding.block_size, axis, to_string(shape), to_string(wanted),
                    to_string(Shape(encoding.grid))));
  }
  if (shape.rank() < 2) {
    return refuse(
        fmt::format("a tensor of shape [{}] has no axis of blocks beside that of its "
                    "channels",
                    to_string(shape)));
  }
  const std::int64_t block_axis = axis == 0 ? 1 : axis - 1;
  const Granularity granularity = Granularity::per_block(block_axis, encoding.block_size);
  const Shape wanted = parameter_shape(shape, granularity);
  const auto matrix = block_matrix(wanted.known_extents(), block_axis);
  if (!matrix || wanted.element_count() != static_cast<std::int64_t>(encoding.scales.size()) ||
      !surely_equal(wanted[axis], static_cast<std::int64_t>(matrix->channels))) {
    return refuse(
        fmt::format("blocks of {} along axis {} of a tensor of shape [{}] have scales of "
                    "shape [{}]; the encoding has {} and no axis: they must be as many, "
                    "and spread over two axes",
                    encoding.block_size, block_axis, to_string(shape), to_string(wanted),
                    encoding.scales.size()));
  }
  return Placed{granularity, *matrix, !matrix->blocks_are_outer};
}

Expected<Placed> place(const TensorEncoding& encoding, const Shape& shape,
                       std::optional<std::int64_t> channel_axis) {
  if (encoding.spread == Spread::tensor) return Placed{};
  const std::optional<std::int64_t> given = encoding.axis ? encoding.axis : channel_axis;
  if (!given) {
    return refuse("the encoding does not say along which axis its channels lie: give the axis");
  }
  if (!shape.is_static()) {
    return refuse(fmt::format("the shape [{}] is not known in full", to_string(shape)));
  }
  QUADRANT_TRY(const std::int64_t axis, axis_of(*given, shape));
  if (encoding.spread == Spread::blocks) {
    return place_blocks(encoding, shape, axis, encoding.axis.has_value());
  }
  return Placed{Granularity::per_axis(axis), {}};
}

struct Codes {
  int bits = 0;
  bool is_strict = false;
  CodeSign sign = CodeSign::unsigned_codes;
};

Expected<Codes> codes_of(const UniformType& type) {
  const std::int64_t steps = type.storage_max - type.storage_min;
  if (steps >= 2 && steps <= std::int64_t{std::numeric_limits<std::uint32_t>::max()}) {
    Codes codes;
    codes.bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(steps)));
    const std::int64_t all = (std::int64_t{1} << codes.bits) - 1;
    codes.is_strict = steps == all - 1;
    codes.sign = type.storage_min == 0 ? CodeSign::unsigned_codes : CodeSign::signed_codes;
    const bool fits = type.storage_min == 0 || type.storage_min == -((steps + 1) / 2);
    if (fits && (steps == all || codes.is_strict)) return codes;
  }
  return refuse(fmt::format("codes from {} to {} are not all of a number of bits", type.storage_min,
                            type.storage_max));
}

Expected<EncodingSymmetry> symmetry_of_storage(const UniformType& type, const Codes& codes,
                                               std::span<const std::int64_t> zero_points) {
  const std::int64_t middle = (type.storage_max - type.storage_min + 1) / 2;
  const bool centred =
      std::ranges::all_of(zero_points, [middle](std::int64_t found) { return found == middle; });
  if (!codes.is_strict) {
    return centred && codes.sign == CodeSign::signed_codes ? EncodingSymmetry::symmetric
                                                           : EncodingSymmetry::asymmetric;
  }
  if (centred) return EncodingSymmetry::symmetric_strict;
  return refuse(
      fmt::format("codes from {} to {} leave out one of {} bits, and zero is not in the "
                  "middle of them",
                  type.storage_min, type.storage_max, codes.bits));
}

}  // namespace

Encoding TensorEncoding::encoding(std::size_t index) const {
  return encoding_of(scales[index], zero_points[index], rule_of(*this));
}

Expected<void> check(const TensorEncoding& encoding) {
  if (encoding.kind == TensorEncoding::Kind::floating) {
    if (encoding.bits == 16 || encoding.bits == 32) return {};
    return refuse(fmt::format("floats of {} bits: 16 and 32 are known", encoding.bits));
  }
  if (encoding.bits < 2 || encoding.bits > 32) {
    return refuse(fmt::format("{} bits: 2 to 32 are possible", encoding.bits));
  }
  if (encoding.scales.empty() || encoding.scales.size() != encoding.zero_points.size()) {
    return refuse(
        fmt::format("{} scales and {} zero points: there must be as many, and one at "
                    "least",
                    encoding.scales.size(), encoding.zero_points.size()));
  }
  QUADRANT_CHECK(check_spread(encoding));
  QUADRANT_CHECK(check_scales(encoding));
  QUADRANT_CHECK(check_symmetry(encoding));
  if (encoding.low_power) QUADRANT_CHECK(check_low_power(encoding, *encoding.low_power));
  return {};
}

Expected<UniformType> to_uniform_type(const TensorEncoding& encoding, const Shape& shape,
                                      std::optional<std::int64_t> channel_axis, CodeSign sign) {
  QUADRANT_CHECK(check(encoding));
  if (encoding.kind == TensorEncoding::Kind::floating) {
    return refuse(fmt::format("a float of {} bits has no codes", encoding.bits));
  }
  QUADRANT_TRY(const Placed placed, place(encoding, shape, channel_axis));
  std::vector<Encoding> encodings(encoding.scales.size());
  for (std::size_t i = 0; placed.in_order && i < encodings.size(); ++i) {
    encodings[i] = encoding.encoding(i);
  }
  for (std::size_t i = 0; !placed.in_order && i < encodings.size(); ++i) {
    encodings[placed.from.index(i / placed.from.blocks, i % placed.from.blocks)] =
        encoding.encoding(i);
  }
  return uniform_type(encodings, shape, placed.granularity, sign);
}

Expected<TensorEncoding> to_tensor_encoding(const UniformType& type, const Shape& shape) {
  QUADRANT_TRY(const Codes codes, codes_of(type));
  QUADRANT_TRY([[maybe_unused]] const Groups groups, Groups::of(shape, type.granularity));
  if (!type.scales || type.scales.shape() != parameter_shape(shape, type.granularity)) {
    return refuse(
        fmt::format("the type's scales are not those of a tensor of shape [{}]", to_string(shape)));
  }
  TensorEncoding encoding;
  encoding.bits = codes.bits;
  encoding.sign = codes.sign;
  QUADRANT_TRY(encoding.scales, read_exact_scales(type.scales));
  QUADRANT_TRY(encoding.zero_points, read_zero_points(type));
  for (std::int64_t& zero_point : encoding.zero_points) zero_point -= type.storage_min;
  QUADRANT_TRY(encoding.symmetry, symmetry_of_storage(type, codes, encoding.zero_points));
  switch (type.granularity.kind) {
    case Granularity::Kind::tensor:
      break;
    case Granularity::Kind::axis:
      encoding.spread = Spread::channels;
      encoding.axis = type.granularity.axis;
      break;
    case Granularity::Kind::block: {
      const std::span<const std::int64_t> extents = type.scales.shape().known_extents();
      encoding.spread = Spread::blocks;
      encoding.axis = type.granularity.axis;
      encoding.block_size = type.granularity.block_size;
      encoding.grid.assign(extents.begin(), extents.end());
      break;
    }
  }
  QUADRANT_CHECK(check(encoding));
  return encoding;
}

}  // namespace quadrant::inline v0
