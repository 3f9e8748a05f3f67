#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "recipe/encodings_entries.hpp"
#include "recipe/encodings_fields.hpp"
#include "recipe/json_reader.hpp"

namespace quadrant::inline v0::encodings_json {
namespace {

enum class EncodingType : std::uint8_t { per_tensor, per_channel, per_block, low_power };

EncodingType read_encoding_type(ObjectReader& reader) {
  const std::string text = reader.string("enc_type");
  if (text == "PER_CHANNEL") return EncodingType::per_channel;
  if (text == "PER_BLOCK") return EncodingType::per_block;
  if (text == "LPBQ") return EncodingType::low_power;
  if (text != "PER_TENSOR") {
    reader.refuse("enc_type", "expected PER_TENSOR, PER_CHANNEL, PER_BLOCK or LPBQ");
  }
  return EncodingType::per_tensor;
}

// AIMET calls symmetric what has signed codes, even where zero is not in their middle.
EncodingSymmetry symmetry_from_zero_points(const TensorEncoding& encoding) {
  const std::int64_t middle = middle_of(encoding.bits);
  if (all_equal(encoding.zero_points, middle)) return EncodingSymmetry::symmetric;
  if (all_equal(encoding.zero_points, middle - 1)) return EncodingSymmetry::symmetric_strict;
  if (all_equal(encoding.zero_points, 0)) return EncodingSymmetry::symmetric_unsigned;
  return EncodingSymmetry::asymmetric;
}

Expected<void> check_no_shift(ObjectReader& reader) {
  if (!is_present(reader, "zero_point_shift")) return {};
  QUADRANT_TRY(const Numbers shifts, read_numbers(reader, "zero_point_shift"));
  if (std::ranges::all_of(shifts.values, [](double shift) { return shift == 0; })) return {};
  return fail_at(reader.path_of("zero_point_shift"), "fractional zero points are not read");
}

Expected<TensorEncoding> read_low_power(ObjectReader& reader) {
  TensorEncoding encoding;
  encoding.bits = read_bits(reader, "compressed_bw");
  encoding.symmetry = EncodingSymmetry::symmetric;
  encoding.sign = CodeSign::signed_codes;
  encoding.spread = TensorEncoding::Spread::blocks;
  encoding.block_size = read_block_size(reader);
  LowPowerScales parts;
  parts.decompressed_bits = read_bits(reader, "bw");
  if (!read_flag(reader, "is_sym")) reader.refuse("is_sym", "encodings of type LPBQ are symmetric");
  QUADRANT_TRY(parts.channels, read_list(reader, "scale"));
  QUADRANT_TRY(const std::vector<double> offsets, read_list(reader, "offset"));
  const auto lowest = static_cast<double>(-middle_of(parts.decompressed_bits));
  if (offsets.size() != parts.channels.size() ||
      std::ranges::any_of(offsets, [lowest](double offset) { return offset != lowest; })) {
    reader.refuse("offset", fmt::format("expected {} times {}", parts.channels.size(), lowest));
  }
  QUADRANT_TRY(const Numbers blocks, read_numbers(reader, "per_block_int_scale"));
  QUADRANT_CHECK(check_no_shift(reader));
  if (blocks.size() % parts.channels.size() != 0) {
    reader.refuse("per_block_int_scale",
                  fmt::format("{} scales of blocks do not divide among {} channels", blocks.size(),
                              parts.channels.size()));
  }
  QUADRANT_CHECK(reader.finish());
  const std::size_t each = blocks.size() / parts.channels.size();
  QUADRANT_TRY(parts.blocks, read_factors(blocks.values, reader.path_of("per_block_int_scale")));
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    encoding.scales.push_back(parts.channels[i / each] * blocks.values[i]);
  }
  encoding.zero_points.assign(blocks.size(), middle_of(encoding.bits));
  encoding.low_power = std::move(parts);
  return encoding;
}

}  // namespace

Expected<TensorEncoding> entry_of_1_0_0(ObjectReader& reader, const std::string& name,
                                        const EncodingsSource& source) {
  const std::string dtype = reader.string("dtype");
  const EncodingType type = read_encoding_type(reader);
  if (dtype == "FLOAT" || dtype == "FP") {
    static constexpr std::array<const char*, 2> none{"scale", "offset"};
    if (is_present(reader, "is_sym")) static_cast<void>(read_flag(reader, "is_sym"));
    if (type != EncodingType::per_tensor) reader.refuse("enc_type", "floats are PER_TENSOR");
    return read_float(reader, "bw", none);
  }
  if (dtype != "INT") reader.refuse("dtype", "expected INT or FLOAT");
  if (type == EncodingType::low_power) return read_low_power(reader);
  TensorEncoding encoding;
  encoding.bits = read_bits(reader, "bw");
  const bool is_symmetric = read_flag(reader, "is_sym");
  if (type == EncodingType::per_channel) encoding.spread = TensorEncoding::Spread::channels;
  if (type == EncodingType::per_block) {
    encoding.spread = TensorEncoding::Spread::blocks;
    encoding.block_size = read_block_size(reader);
  }
  QUADRANT_TRY(encoding.scales, read_list(reader, "scale"));
  QUADRANT_TRY(const std::vector<double> offsets, read_list(reader, "offset"));
  QUADRANT_CHECK(check_no_shift(reader));
  QUADRANT_CHECK(reader.finish());
  QUADRANT_TRY(encoding.zero_points, zero_points_from(offsets, -1, 0, reader.path_of("offset")));
  if (!is_symmetric) return encoding;
  encoding.sign = CodeSign::signed_codes;
  encoding.symmetry = symmetry_from_zero_points(encoding);
  if (encoding.symmetry == EncodingSymmetry::asymmetric) {
    say(source, Severity::warning,
        fmt::format("it is called symmetric, but its offset {} is not -{}: read as asymmetric",
                    offsets.front(), middle_of(encoding.bits)),
        name);
  }
  return encoding;
}

}  // namespace quadrant::inline v0::encodings_json
