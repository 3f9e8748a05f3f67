#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "recipe/block_matrix.hpp"
#include "recipe/encodings_entries.hpp"
#include "recipe/encodings_fields.hpp"
#include "recipe/json_reader.hpp"

namespace quadrant::inline v0::encodings_json {
namespace {

void read_output_type(ObjectReader& reader, TensorEncoding& encoding) {
  const std::string text = reader.string("output_dtype");
  std::string_view rest = text;
  const bool is_unsigned = rest.starts_with('u');
  if (is_unsigned) rest.remove_prefix(1);
  encoding.sign = is_unsigned ? CodeSign::unsigned_codes : CodeSign::signed_codes;
  for (const int bits : {2, 4, 8, 16, 32}) {
    if (rest != fmt::format("int{}", bits)) continue;
    encoding.bits = bits;
    return;
  }
  reader.refuse("output_dtype",
                "expected int or uint of 2, 4, 8, 16 or 32 bits; floats are not read");
}

// Where the scales of `extents` lie.
Expected<void> read_spread(ObjectReader& reader, TensorEncoding& encoding,
                           std::span<const std::int64_t> extents) {
  if (is_present(reader, "axis")) encoding.axis = reader.integer("axis");
  if (is_present(reader, "block_size")) {
    encoding.spread = TensorEncoding::Spread::blocks;
    encoding.block_size = read_block_size(reader);
    encoding.grid.assign(extents.begin(), extents.end());
    const auto rank = static_cast<std::int64_t>(extents.size());
    if (!encoding.axis) {
      reader.refuse("axis", "is missing: blocks need one");
    } else if (*encoding.axis < 0 && *encoding.axis >= -rank) {
      *encoding.axis += rank;
    }
    if (rank == 0) reader.refuse("block_size", "a tensor of blocks has a list of scales");
  } else if (extents.size() == 1 && (encoding.axis || extents[0] > 1)) {
    encoding.spread = TensorEncoding::Spread::channels;
    if (!encoding.axis) reader.refuse("axis", "is missing: channels need one");
  } else if (extents.size() > 1) {
    reader.refuse("block_size", "is missing: lists of lists of scales are those of blocks");
  }
  return reader.finish();
}

// The scales of blocks, of factors that are given for blocks and for channels.
Expected<void> multiply_factors(ObjectReader& reader, TensorEncoding& encoding,
                                std::span<const double> factors, std::vector<double> channels) {
  const auto rank = static_cast<std::int64_t>(encoding.grid.size());
  const bool has_axis = encoding.axis && *encoding.axis >= 0 && *encoding.axis < rank;
  const auto matrix = has_axis ? block_matrix(encoding.grid, *encoding.axis) : std::nullopt;
  if (!matrix || matrix->channels != channels.size()) {
    return fail_at(
        reader.path_of("per_channel_float_scale"),
        fmt::format("{} scales of channels, where blocks along axis {} have the scales "
                    "[{}]",
                    channels.size(), encoding.axis.value_or(0), to_string(Shape(encoding.grid))));
  }
  LowPowerScales parts{2 * encoding.bits, std::move(channels), {}};
  QUADRANT_TRY(parts.blocks, read_factors(factors, reader.path_of("per_block_int_scale")));
  encoding.scales.resize(factors.size());
  for (std::size_t channel = 0; channel < matrix->channels; ++channel) {
    for (std::size_t block = 0; block < matrix->blocks; ++block) {
      const std::size_t i = matrix->index(channel, block);
      encoding.scales[i] = parts.channels[channel] * factors[i];
    }
  }
  encoding.low_power = std::move(parts);
  return {};
}

}  // namespace

Expected<TensorEncoding> entry_of_2_0_0(ObjectReader& reader) {
  TensorEncoding encoding;
  read_output_type(reader, encoding);
  const bool has_zero_points = is_present(reader, "y_zero_point");
  const bool is_low_power = is_present(reader, "per_block_int_scale");
  QUADRANT_TRY(Numbers scales,
               read_numbers(reader, is_low_power ? "per_block_int_scale" : "y_scale"));
  Numbers channels;
  if (is_low_power) {
    QUADRANT_TRY(channels, read_numbers(reader, "per_channel_float_scale"));
  }
  QUADRANT_CHECK(read_spread(reader, encoding, scales.extents));
  const std::int64_t zero = encoding.sign == CodeSign::signed_codes ? middle_of(encoding.bits) : 0;
  encoding.zero_points.assign(scales.size(), zero);
  if (has_zero_points) {
    const std::string path = reader.path_of("y_zero_point");
    QUADRANT_TRY(const Numbers given, read_numbers(reader, "y_zero_point"));
    if (given.extents != scales.extents) {
      return fail_at(path, "expected as many as there are scales, in the same lists");
    }
    QUADRANT_TRY(encoding.zero_points, zero_points_from(given.values, 1, zero, path));
  }
  if (encoding.sign == CodeSign::signed_codes && all_equal(encoding.zero_points, zero)) {
    encoding.symmetry = EncodingSymmetry::symmetric;
  }
  if (is_low_power) {
    QUADRANT_CHECK(multiply_factors(reader, encoding, scales.values, std::move(channels.values)));
  } else {
    encoding.scales = std::move(scales.values);
  }
  return encoding;
}

}  // namespace quadrant::inline v0::encodings_json
