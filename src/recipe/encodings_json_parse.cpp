// Reading: a reader of one entry for each version, and of the file around them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "numerics/range_encoding.hpp"
#include "quadrant/recipe/encodings_json.hpp"
#include "quadrant/support/input_file.hpp"
#include "recipe/block_matrix.hpp"
#include "recipe/json_reader.hpp"

namespace quadrant::inline v0 {
namespace {

using Role = TensorEncoding::Role;

constexpr std::size_t encodings_depth = 16;
constexpr std::uint64_t largest_encodings_file = std::uint64_t{1} << 30U;
constexpr std::size_t most_tensors = std::size_t{1} << 20U;
constexpr std::size_t most_scales = std::size_t{1} << 24U;  // of one tensor
constexpr std::size_t most_axes = 8;
// Ends and scales are float32 in most files: what they tell of each other is as exact as that.
constexpr double float32_rounding = 0x1p-20;

void say(const EncodingsSource& source, Severity severity, std::string message,
         std::string tensor = {}) {
  if (source.sink == nullptr) return;
  Diagnostic diagnostic{severity, std::move(message), {}};
  diagnostic.place.file = source.file;
  diagnostic.place.tensor = std::move(tensor);
  source.sink->report(diagnostic);
}

tl::unexpected<Error> fail_at(const std::string& path, const std::string& message) {
  return fail(ErrorCode::invalid_model, fmt::format("{}: {}", path, message));
}

// --- fields --------------------------------------------------------------------------------------

bool is_present(ObjectReader& reader, const char* key) {
  const nlohmann::json* member = reader.optional_member(key);
  return member != nullptr && !member->is_null();
}

/// Python's names of the two, as strings, and JSON's own.
bool read_flag(ObjectReader& reader, const char* key) {
  const nlohmann::json* member = reader.optional_member(key);
  if (member != nullptr && member->is_string()) {
    const auto& text = member->get_ref<const std::string&>();
    if (text == "True" || text == "true") return true;
    if (text == "False" || text == "false") return false;
    reader.refuse(key, R"(expected "True" or "False")");
    return false;
  }
  return reader.boolean(key);
}

int read_bits(ObjectReader& reader, const char* key) {
  const std::int64_t bits = reader.integer(key);
  if (bits >= 2 && bits <= 32) return static_cast<int>(bits);
  reader.refuse(key, fmt::format("{} bits: 2 to 32 are possible", bits));
  return 2;
}

std::optional<std::int64_t> whole(double value) {
  if (std::fabs(value) <= 0x1p53 && std::trunc(value) == value) {
    return static_cast<std::int64_t>(value);
  }
  return std::nullopt;
}

std::int64_t read_block_size(ObjectReader& reader) {
  const std::int64_t size = reader.integer("block_size");
  if (size < 1 || size > std::int64_t{1} << 31U) {
    reader.refuse("block_size", fmt::format("{} elements: 1 or more are possible", size));
  }
  return size;
}

// Numbers in lists of lists, which all have the same length at the same depth.
struct Numbers {
  std::vector<double> values;
  std::vector<std::int64_t> extents;  // none: a number alone

  [[nodiscard]] std::size_t size() const noexcept { return values.size(); }
};

Expected<Numbers> read_numbers(const nlohmann::json& root, const std::string& path) {
  Numbers numbers;
  std::vector<const nlohmann::json*> level{&root};
  while (level.front()->is_array()) {
    if (numbers.extents.size() == most_axes) {
      return fail_at(path, fmt::format("lists in more than {} levels", most_axes));
    }
    const std::size_t extent = level.front()->size();
    if (extent == 0 || extent > most_scales / level.size()) {
      return fail_at(path, fmt::format("expected 1 to {} numbers", most_scales));
    }
    numbers.extents.push_back(static_cast<std::int64_t>(extent));
    std::vector<const nlohmann::json*> next;
    next.reserve(level.size() * extent);
    for (const nlohmann::json* list : level) {
      if (!list->is_array() || list->size() != extent) {
        return fail_at(path, "expected lists of the same length");
      }
      for (const nlohmann::json& element : *list) next.push_back(&element);
    }
    level = std::move(next);
  }
  numbers.values.reserve(level.size());
  for (const nlohmann::json* number : level) {
    if (!number->is_number()) {
      return fail_at(path, fmt::format("expected numbers, found {}", number->type_name()));
    }
    numbers.values.push_back(number->get<double>());
  }
  return numbers;
}

Expected<Numbers> read_numbers(ObjectReader& reader, const char* key) {
  const nlohmann::json* member = reader.optional_member(key);
  if (member != nullptr) return read_numbers(*member, reader.path_of(key));
  reader.refuse(key, "is missing");
  return fail(reader.status().error());
}

Expected<std::vector<double>> read_list(ObjectReader& reader, const char* key) {
  QUADRANT_TRY(Numbers numbers, read_numbers(reader, key));
  if (numbers.extents.size() == 1) return std::move(numbers.values);
  return fail_at(reader.path_of(key), "expected a list of numbers");
}

// Zero points: `sign` times the numbers, plus `shift`.
Expected<std::vector<std::int64_t>> zero_points_from(std::span<const double> values, int sign,
                                                     std::int64_t shift, const std::string& path) {
  std::vector<std::int64_t> zero_points;
  zero_points.reserve(values.size());
  for (const double value : values) {
    const std::optional<std::int64_t> number = whole(value);
    if (!number) {
      return fail_at(path,
                     fmt::format("{} is no integer; fractional zero points are not read", value));
    }
    zero_points.push_back(sign * *number + shift);
  }
  return zero_points;
}

bool all_equal(std::span<const std::int64_t> values, std::int64_t wanted) {
  return std::ranges::all_of(values, [wanted](std::int64_t value) { return value == wanted; });
}

Expected<TensorEncoding> read_float(ObjectReader& reader, const char* bits,
                                    std::span<const char* const> numbers) {
  TensorEncoding encoding;
  encoding.kind = TensorEncoding::Kind::floating;
  encoding.bits = read_bits(reader, bits);
  for (const char* key : numbers) {
    if (is_present(reader, key)) reader.refuse(key, "floats have none");
  }
  QUADRANT_CHECK(reader.finish());
  return encoding;
}

// --- 0.6.1 ---------------------------------------------------------------------------------------

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

std::int64_t middle_of(int bits) { return std::int64_t{1} << static_cast<unsigned>(bits - 1); }

// Files do not say which of the symmetric ranges they mean. The lowest code is left out if the
// offset says so and the ends mirror each other; nothing lies below zero if nothing can.
EncodingSymmetry symmetry_of(std::span<const Override> list) {
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
  encoding.symmetry = symmetry_of(list);
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

Expected<TensorEncoding> read_overrides(const nlohmann::json& json, const std::string& path,
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

// --- 1.0.0 ---------------------------------------------------------------------------------------

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
EncodingSymmetry symmetry_of(const TensorEncoding& encoding) {
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

Expected<std::vector<std::uint16_t>> read_factors(std::span<const double> values,
                                                  const std::string& path) {
  std::vector<std::uint16_t> factors;
  factors.reserve(values.size());
  for (const double value : values) {
    const bool is_factor = value >= 1 && value <= 65535 && whole(value).has_value();
    if (!is_factor) {
      return fail_at(path, fmt::format("{} is none of the integers 1 to 65535", value));
    }
    factors.push_back(static_cast<std::uint16_t>(value));
  }
  return factors;
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

Expected<TensorEncoding> read_1_0_0(ObjectReader& reader, const std::string& name,
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
  encoding.symmetry = symmetry_of(encoding);
  if (encoding.symmetry == EncodingSymmetry::asymmetric) {
    say(source, Severity::warning,
        fmt::format("it is called symmetric, but its offset {} is not -{}: read as asymmetric",
                    offsets.front(), middle_of(encoding.bits)),
        name);
  }
  return encoding;
}

// --- 2.0.0 ---------------------------------------------------------------------------------------

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

Expected<TensorEncoding> read_2_0_0(ObjectReader& reader) {
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

// --- the file ------------------------------------------------------------------------------------

class EncodingsParser {
 public:
  explicit EncodingsParser(const EncodingsSource& source) : source_(source) {}

  [[nodiscard]] Expected<EncodingsFile> parse(const nlohmann::json& document) {
    ObjectReader reader(document, "$");
    QUADRANT_TRY(file_.version, version_of(document, reader));
    if (file_.version == EncodingsVersion::v2_0_0) {
      QUADRANT_CHECK(read_entries(reader, "encodings", Role::unknown));
    } else {
      QUADRANT_CHECK(read_section(reader, "activation_encodings", Role::activation));
      QUADRANT_CHECK(read_section(reader, "param_encodings", Role::parameter));
    }
    if (std::optional<ObjectReader> arguments = reader.optional_object("quantizer_args")) {
      QUADRANT_TRY(file_.quantizer_arguments, read_arguments(*arguments));
    }
    if (is_present(reader, "excluded_layers")) {
      file_.excluded_layers = reader.strings("excluded_layers");
    }
    for (const std::string& section : reader.take_unknown()) {
      say(source_, Severity::warning,
          fmt::format("{}: the section is not known, and was not read", reader.path_of(section)));
    }
    QUADRANT_CHECK(reader.finish());
    return std::move(file_);
  }

 private:
  [[nodiscard]] Expected<EncodingsVersion> version_of(const nlohmann::json& document,
                                                      ObjectReader& reader) const {
    const auto has_object = [&document](const char* key) {
      const auto found = document.find(key);
      return found != document.end() && found->is_object();
    };
    if (document.is_object() && !document.contains("version") &&
        (has_object("activation_encodings") || has_object("param_encodings"))) {
      say(source_, Severity::note, "the file does not say its version: it is read as 0.6.1");
      return EncodingsVersion::v0_6_1;
    }
    const std::string text = reader.string("version");
    QUADRANT_CHECK(reader.status());
    for (const EncodingsVersion version :
         {EncodingsVersion::v0_6_1, EncodingsVersion::v1_0_0, EncodingsVersion::v2_0_0}) {
      if (text == to_string(version)) return version;
    }
    return fail_at("$.version", fmt::format(R"(expected "0.6.1", "1.0.0" or "2.0.0", found {})",
                                            nlohmann::json(text).dump()));
  }

  // A missing one has no tensors, if the other is there.
  Expected<void> read_section(ObjectReader& reader, const char* key, Role role) {
    const nlohmann::json* section = reader.optional_member(key);
    if (section == nullptr) {
      if (role == Role::parameter && file_.tensors.empty()) {
        if (reader.optional_member("activation_encodings") == nullptr) {
          return fail_at("$", "neither 'activation_encodings' nor 'param_encodings' is there");
        }
      }
      return {};
    }
    if (file_.version == EncodingsVersion::v1_0_0) return read_entries(reader, key, role);
    if (!section->is_object()) {
      return fail_at(reader.path_of(key),
                     fmt::format("expected an object, found {}", section->type_name()));
    }
    const ObjectReader names(*section, reader.path_of(key));
    for (const auto& [name, list] : section->items()) {
      QUADRANT_CHECK(add(name, role, names.path_of(name),
                         read_overrides(list, names.path_of(name), name, source_)));
    }
    return {};
  }

  Expected<void> read_entries(ObjectReader& reader, const char* key, Role role) {
    std::vector<ObjectReader> entries = reader.objects(key);
    QUADRANT_CHECK(reader.status());
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const std::string path = fmt::format("{}[{}]", reader.path_of(key), i);
      const std::string name = entries[i].string("name");
      QUADRANT_CHECK(entries[i].status());
      QUADRANT_CHECK(add(name, role, path,
                         file_.version == EncodingsVersion::v1_0_0
                             ? read_1_0_0(entries[i], name, source_)
                             : read_2_0_0(entries[i])));
    }
    return {};
  }

  Expected<void> add(const std::string& name, Role role, const std::string& path,
                     Expected<TensorEncoding> encoding) {
    Expected<void> status;
    if (!encoding) {
      status = fail(std::move(encoding).error());
    } else if (status = check(*encoding); !status) {
      status = fail_at(path, status.error().message);
    } else if (name.empty()) {
      status = fail_at(path, "the tensor has no name");
    } else if (file_.tensors.size() == most_tensors) {
      status = fail_at(path, fmt::format("more than {} tensors", most_tensors));
    } else {
      encoding->role = role;
      if (!file_.tensors.emplace(name, *std::move(encoding)).second) {
        status = fail_at(path, "this tensor is there already");
      }
    }
    if (!status) status.error().place.tensor = name;
    return status;
  }

  [[nodiscard]] static Expected<QuantizerArguments> read_arguments(ObjectReader& reader) {
    QuantizerArguments arguments;
    const auto bits = [&reader](const char* key, std::optional<std::int64_t>& value) {
      if (is_present(reader, key)) value = reader.integer(key);
    };
    const auto text = [&reader](const char* key, std::optional<std::string>& value) {
      if (is_present(reader, key)) value = reader.string(key);
    };
    const auto flag = [&reader](const char* key, std::optional<bool>& value) {
      if (is_present(reader, key)) value = read_flag(reader, key);
    };
    bits("activation_bitwidth", arguments.activation_bits);
    bits("param_bitwidth", arguments.parameter_bits);
    text("dtype", arguments.dtype);
    text("quant_scheme", arguments.scheme);
    flag("is_symmetric", arguments.symmetric);
    flag("per_channel_quantization", arguments.per_channel);
    QUADRANT_CHECK(reader.finish());
    return arguments;
  }

  const EncodingsSource& source_;
  EncodingsFile file_;
};

Expected<std::string> read_whole(const std::string& path) {
  QUADRANT_TRY(const InputFile file, InputFile::open(path));
  if (file.size() > largest_encodings_file) {
    return fail(ErrorCode::io, "the file is larger than any that this program reads",
                {.file = path});
  }
  std::string text(static_cast<std::size_t>(file.size()), '\0');
  QUADRANT_CHECK(file.read(0, std::as_writable_bytes(std::span(text))));
  return text;
}

}  // namespace

Expected<EncodingsFile> parse_encodings(std::string_view text, const EncodingsSource& source) {
  const auto parse = [&]() -> Expected<EncodingsFile> {
    QUADRANT_TRY(const nlohmann::json document, parse_json(text, encodings_depth));
    return EncodingsParser(source).parse(document);
  };
  Expected<EncodingsFile> file = parse();
  if (!file) file.error().place.file = source.file;
  return file;
}

Expected<EncodingsFile> read_encodings(const std::string& path, Sink* sink) {
  QUADRANT_TRY(const std::string text, read_whole(path));
  return parse_encodings(text, {.file = path, .sink = sink});
}

}  // namespace quadrant::inline v0
