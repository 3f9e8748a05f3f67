#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "numerics/range_encoding.hpp"
#include "recipe/encodings_entries.hpp"
#include "recipe/encodings_fields.hpp"
#include "recipe/json_reader.hpp"

namespace quadrant::inline v0::encodings_json {
namespace {

// Ends and scales are float32 in most files: what they tell of each other is as exact as that.
constexpr double float32_rounding = 0x1p-20;

// One scale as version 0.6.1 has it.
struct Override {
  bool is_float = false;
  int bits = 0;
  bool is_symmetric = false;
  double min = 0;
  double max = 0;
  std::optional<double> scale;
  std::optional<std::int64_t> offset;
};

std::optional<double> read_scale(ObjectReader& reader) {
  if (!is_present(reader, "scale")) return std::nullopt;
  const double scale = reader.real("scale");
  if (!(scale > 0)) reader.refuse("scale", fmt::format("{}: it must be above 0", scale));
  return scale;
}

std::optional<std::int64_t> read_offset(ObjectReader& reader) {
  if (!is_present(reader, "offset")) return std::nullopt;
  const double offset = reader.real("offset");
  const std::optional<std::int64_t> number = whole(offset);
  if (!number) reader.refuse("offset", fmt::format("{} is no integer", offset));
  return number;
}

Override read_override(ObjectReader& reader) {
  Override entry;
  const std::string dtype = is_present(reader, "dtype") ? reader.string("dtype") : "int";
  entry.is_float = dtype == "float";
  if (!entry.is_float && dtype != "int") reader.refuse("dtype", R"(expected "int" or "float")");
  entry.bits = read_bits(reader, "bitwidth");
  if (is_present(reader, "is_symmetric")) entry.is_symmetric = read_flag(reader, "is_symmetric");
  if (entry.is_float) return entry;
  entry.min = reader.real("min");
  entry.max = reader.real("max");
  constexpr double largest = 1e38;
  const bool is_range = entry.min >= -largest && entry.max <= largest && entry.min <= entry.max;
  if (!is_range) {
    reader.refuse("min", fmt::format("a range from {} to {}: its ends must be in order, and "
                                     "within {} of zero",
                                     entry.min, entry.max, largest));
  }
  entry.scale = read_scale(reader);
  entry.offset = read_offset(reader);
  return entry;
}

// Files do not say which of the symmetric ranges they mean. The lowest code is left out if the
// offset says so and the ends mirror each other; nothing lies below zero if nothing can.
EncodingSymmetry symmetry_from_ends(std::span<const Override> list) {
  if (!list.front().is_symmetric) return EncodingSymmetry::asymmetric;
  const std::int64_t middle = middle_of(list.front().bits);
  const auto is_strict = [middle](const Override& entry) {
    const double step = (entry.max - entry.min) / static_cast<double>(2 * middle - 2);
    return entry.offset == 1 - middle && std::fabs(entry.min + entry.max) < step / 2;
  };
  if (std::ranges::all_of(list, is_strict)) return EncodingSymmetry::symmetric_strict;
  const auto is_above_zero = [](const Override& entry) {
    return entry.min >= 0 && entry.max > 0 && entry.offset.value_or(0) == 0;
  };
  if (std::ranges::all_of(list, is_above_zero)) return EncodingSymmetry::symmetric_unsigned;
  return EncodingSymmetry::symmetric;
}

// What follows from ends that disagrees with the rest of the list.
struct Disagreements {
  std::size_t count = 0;
  std::string first;

  void add(const Override& given, const Encoding& computed, std::size_t index) {
    const bool scale_agrees = !given.scale || std::fabs(*given.scale - computed.scale) <=
                                                  float32_rounding * computed.scale;
    const bool offset_agrees = !given.offset || *given.offset == computed.offset();
    // Putting zero on a code takes up to half a step; making ends symmetric, up to one.
    const double allowed =
        computed.scale * ((computed.symmetric ? 1.0 : 0.5) * (1 + float32_rounding) +
                          static_cast<double>(computed.steps) * float32_rounding);
    const bool ends_agree = std::fabs(given.min - computed.min) <= allowed &&
                            std::fabs(given.max - computed.max) <= allowed;
    if (scale_agrees && offset_agrees && ends_agree) return;
    if (count++ > 0) return;
    const auto text = [](const auto& value) { return value ? fmt::format("{}", *value) : "none"; };
    first = fmt::format(
        "encoding {}: the range {} to {}, scale {} and offset {} are given; from the range follow "
        "{} to {}, scale {} and offset {}, which count",
        index, given.min, given.max, text(given.scale), text(given.offset), computed.min,
        computed.max, computed.scale, computed.offset());
  }
};

TensorEncoding encoding_from(std::span<const Override> list, const std::string& name,
                             const EncodingsSource& source) {
  TensorEncoding encoding;
  encoding.bits = list.front().bits;
  encoding.symmetry = symmetry_from_ends(list);
  encoding.sign = list.front().is_symmetric ? CodeSign::signed_codes : CodeSign::unsigned_codes;
  if (list.size() > 1) encoding.spread = TensorEncoding::Spread::channels;
  const EncodingRule rule{
      .symmetry = encoding.symmetry, .bits = encoding.bits, .rounding = RoundingProfile::snpe()};
  Disagreements disagreements;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Override& given = list[i];
    // Not encoding_from_ends(): biases have more bits than it takes.
    const Encoding computed = encoding_with_ends({given.min, given.max}, rule);
    disagreements.add(given, computed, i);
    const bool keeps_scale =
        given.scale && given.offset.value_or(computed.offset()) == computed.offset() &&
        std::fabs(*given.scale - computed.scale) <= float32_rounding * computed.scale;
    encoding.scales.push_back(keeps_scale ? *given.scale : computed.scale);
    encoding.zero_points.push_back(computed.zero_point);
  }
  if (disagreements.count > 0) {
    const std::size_t others = disagreements.count - 1;
    say(source, Severity::warning,
        disagreements.first +
            (others == 0 ? "" : fmt::format("; so it is with {} more of {}", others, list.size())),
        name);
  }
  return encoding;
}

}  // namespace

Expected<TensorEncoding> entry_of_0_6_1(const nlohmann::json& json, const std::string& path,
                                        const std::string& name, const EncodingsSource& source) {
  if (!json.is_array() || json.empty() || json.size() > most_scales) {
    return fail_at(path, fmt::format("expected a list of 1 to {} encodings", most_scales));
  }
  std::vector<Override> list;
  list.reserve(json.size());
  for (const nlohmann::json& element : json) {
    ObjectReader reader(element, fmt::format("{}[{}]", path, list.size()));
    const Override entry = read_override(reader);
    if (entry.is_float) {
      if (json.size() > 1) reader.refuse("dtype", "a float has one encoding, not a list of them");
      static constexpr std::array<const char*, 4> none{"min", "max", "scale", "offset"};
      return read_float(reader, "bitwidth", none);
    }
    QUADRANT_CHECK(reader.finish());
    const auto same = [&](const char* key, bool is_same) {
      if (!is_same) reader.refuse(key, "another than of the first: channels have the same");
    };
    if (!list.empty()) {
      same("bitwidth", entry.bits == list.front().bits);
      same("is_symmetric", entry.is_symmetric == list.front().is_symmetric);
      QUADRANT_CHECK(reader.finish());
    }
    list.push_back(entry);
  }
  return encoding_from(list, name, source);
}

}  // namespace quadrant::inline v0::encodings_json
