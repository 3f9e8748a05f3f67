// Writing: an entry of each version, and the file around them.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "quadrant/recipe/encodings.hpp"
#include "recipe/block_matrix.hpp"

namespace quadrant::inline v0 {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

tl::unexpected<Error> cannot(EncodingsVersion version, std::string_view what,
                             std::string_view remedy) {
  return fail(ErrorCode::impossible,
              fmt::format("version {} {}: {}", to_string(version), what, remedy));
}

bool is_called_symmetric(const TensorEncoding& encoding) {
  return encoding.symmetry != EncodingSymmetry::asymmetric;
}

std::int64_t half_of(int bits) { return std::int64_t{1} << static_cast<unsigned>(bits - 1); }

const char* python_name(bool flag) { return flag ? "True" : "False"; }

// --- 0.6.1 ---------------------------------------------------------------------------------------

Expected<Json> overrides_of(const TensorEncoding& encoding) {
  if (encoding.kind == TensorEncoding::Kind::floating) {
    return Json::array({{{"bitwidth", encoding.bits}, {"dtype", "float"}}});
  }
  if (encoding.spread == TensorEncoding::Spread::blocks) {
    return cannot(EncodingsVersion::v0_6_1, "has no blocks", "write version 1.0.0 or 2.0.0");
  }
  Json list = Json::array();
  for (std::size_t i = 0; i < encoding.scales.size(); ++i) {
    const Encoding one = encoding.encoding(i);
    list.push_back({{"bitwidth", one.bits},
                    {"dtype", "int"},
                    {"is_symmetric", python_name(is_called_symmetric(encoding))},
                    {"max", one.max},
                    {"min", one.min},
                    {"offset", one.offset()},
                    {"scale", one.scale}});
  }
  return list;
}

// --- 1.0.0 ---------------------------------------------------------------------------------------

// Which scale comes next, channel by channel.
Expected<std::vector<std::size_t>> order_by_channels(const TensorEncoding& encoding) {
  std::vector<std::size_t> order(encoding.scales.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (encoding.grid.empty()) return order;
  const std::optional<BlockMatrix> matrix = block_matrix(encoding.grid, encoding.axis.value_or(0));
  if (!matrix) {
    return cannot(EncodingsVersion::v1_0_0,
                  "has no blocks that several axes besides their own tell apart",
                  "write version 2.0.0");
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = matrix->index(i / matrix->blocks, i % matrix->blocks);
  }
  return order;
}

const char* type_name(TensorEncoding::Spread spread) {
  switch (spread) {
    case TensorEncoding::Spread::channels:
      return "PER_CHANNEL";
    case TensorEncoding::Spread::blocks:
      return "PER_BLOCK";
    case TensorEncoding::Spread::tensor:
      break;
  }
  return "PER_TENSOR";
}

Json low_power_entry(const TensorEncoding& encoding, const LowPowerScales& parts, Json entry,
                     std::span<const std::size_t> order) {
  Json blocks = Json::array();
  for (const std::size_t i : order) blocks.push_back(parts.blocks[i]);
  entry["enc_type"] = "LPBQ";
  entry["bw"] = parts.decompressed_bits;
  entry["compressed_bw"] = encoding.bits;
  entry["is_sym"] = true;
  entry["block_size"] = encoding.block_size;
  entry["scale"] = parts.channels;
  entry["offset"] =
      std::vector<std::int64_t>(parts.channels.size(), -half_of(parts.decompressed_bits));
  entry["per_block_int_scale"] = std::move(blocks);
  return entry;
}

Expected<Json> entry_1_0_0(const std::string& name, const TensorEncoding& encoding) {
  Json entry = {{"name", name}};
  const bool is_float = encoding.kind == TensorEncoding::Kind::floating;
  entry["dtype"] = is_float ? "FLOAT" : "INT";
  if (is_float) {
    entry["enc_type"] = "PER_TENSOR";
    entry["bw"] = encoding.bits;
    return entry;
  }
  QUADRANT_TRY(const std::vector<std::size_t> order, order_by_channels(encoding));
  if (encoding.low_power) {
    return low_power_entry(encoding, *encoding.low_power, std::move(entry), order);
  }
  entry["enc_type"] = type_name(encoding.spread);
  entry["bw"] = encoding.bits;
  entry["is_sym"] = is_called_symmetric(encoding);
  if (encoding.block_size != 0) entry["block_size"] = encoding.block_size;
  Json scales = Json::array();
  Json offsets = Json::array();
  for (const std::size_t i : order) {
    scales.push_back(encoding.scales[i]);
    offsets.push_back(-encoding.zero_points[i]);
  }
  entry["scale"] = std::move(scales);
  entry["offset"] = std::move(offsets);
  return entry;
}

// --- 2.0.0 ---------------------------------------------------------------------------------------

// `values` in lists of lists.
template <class T>
Json nested(const std::vector<T>& values, std::span<const std::int64_t> extents) {
  std::vector<Json> level(values.begin(), values.end());
  for (std::size_t axis = extents.size(); axis > 0; --axis) {
    const auto extent = static_cast<std::size_t>(extents[axis - 1]);
    std::vector<Json> outer(level.size() / extent, Json::array());
    for (std::size_t i = 0; i < level.size(); ++i) {
      outer[i / extent].push_back(std::move(level[i]));
    }
    level = std::move(outer);
  }
  return std::move(level.front());
}

Expected<void> check_2_0_0(const TensorEncoding& encoding) {
  constexpr EncodingsVersion version = EncodingsVersion::v2_0_0;
  constexpr std::string_view older = "write version 0.6.1 or 1.0.0";
  if (encoding.kind == TensorEncoding::Kind::floating) {
    return cannot(version, "has no entries for floats",
                  "leave the tensor out, which then stays float, or write version 0.6.1 or 1.0.0");
  }
  const bool is_known = encoding.bits == 2 || encoding.bits == 4 || encoding.bits == 8 ||
                        encoding.bits == 16 || encoding.bits == 32;
  if (!is_known) {
    return cannot(
        version, fmt::format("has no type of {} bits", encoding.bits),
        encoding.spread == TensorEncoding::Spread::blocks ? "write version 1.0.0" : older);
  }
  if (encoding.spread != TensorEncoding::Spread::tensor && !encoding.axis) {
    return cannot(version, "names the axis of channels and blocks, which is not known here",
                  "set it, or write the version that was read");
  }
  if (encoding.low_power && encoding.low_power->decompressed_bits != 2 * encoding.bits) {
    return cannot(version,
                  fmt::format("decompresses codes of {} bits to {}, not {}", encoding.bits,
                              2 * encoding.bits, encoding.low_power->decompressed_bits),
                  "write version 1.0.0");
  }
  return {};
}

Expected<Json> entry_2_0_0(const std::string& name, const TensorEncoding& encoding) {
  QUADRANT_CHECK(check_2_0_0(encoding));
  std::vector<std::int64_t> extents = encoding.grid;
  if (encoding.spread == TensorEncoding::Spread::channels) {
    extents = {static_cast<std::int64_t>(encoding.scales.size())};
  }
  const bool is_signed = encoding.sign == CodeSign::signed_codes;
  Json entry = {{"name", name},
                {"output_dtype", fmt::format("{}int{}", is_signed ? "" : "u", encoding.bits)}};
  if (encoding.low_power) {
    std::vector<std::int64_t> of_channels = extents;
    of_channels[static_cast<std::size_t>(encoding.axis.value_or(0))] = 1;
    entry["per_block_int_scale"] = nested(encoding.low_power->blocks, extents);
    entry["per_channel_float_scale"] = nested(encoding.low_power->channels, of_channels);
  } else {
    entry["y_scale"] = nested(encoding.scales, extents);
  }
  // Codes are counted from the lowest of those that are in use.
  const std::int64_t steps = encoding.encoding(0).steps;
  const std::int64_t shift = is_signed ? (steps + 1) / 2 : 0;
  std::vector<std::int64_t> zero_points = encoding.zero_points;
  for (std::int64_t& zero_point : zero_points) zero_point -= shift;
  if (std::ranges::any_of(zero_points, [](std::int64_t point) { return point != 0; })) {
    entry["y_zero_point"] = nested(zero_points, extents);
  }
  if (encoding.axis) entry["axis"] = *encoding.axis;
  if (encoding.block_size != 0) entry["block_size"] = encoding.block_size;
  return entry;
}

// --- the file ------------------------------------------------------------------------------------

// Lines of a list or an object, between its brackets.
class Lines {
 public:
  void add(const std::string& line) { text_ += (text_.empty() ? "\n    " : ",\n    ") + line; }
  [[nodiscard]] std::string in(std::string_view open, std::string_view close) const {
    return fmt::format("{}{}{}{}", open, text_, text_.empty() ? "" : "\n  ", close);
  }

 private:
  std::string text_;
};

Expected<std::string> line_of(const std::string& name, const TensorEncoding& encoding,
                              EncodingsVersion version) {
  QUADRANT_CHECK(check(encoding));
  if (version == EncodingsVersion::v2_0_0) {
    QUADRANT_TRY(const Json entry, entry_2_0_0(name, encoding));
    return text_of(entry);
  }
  if (encoding.role == TensorEncoding::Role::unknown) {
    return cannot(version, "lists activations and parameters apart, and which it is is not known",
                  "set its role, as set_roles does, or write version 2.0.0");
  }
  if (version == EncodingsVersion::v1_0_0) {
    QUADRANT_TRY(const Json entry, entry_1_0_0(name, encoding));
    return text_of(entry);
  }
  QUADRANT_TRY(const Json list, overrides_of(encoding));
  return fmt::format("{}: {}", text_of(name), text_of(list));
}

// Flags are strings in version 0.6.1.
Json to_json(const QuantizerArguments& arguments, EncodingsVersion version) {
  Json json = Json::object();
  const auto add = [&json](const char* key, const auto& value) {
    if (value) json[key] = *value;
  };
  const auto add_flag = [&](const char* key, const std::optional<bool>& flag) {
    if (flag && version == EncodingsVersion::v0_6_1) {
      json[key] = python_name(*flag);
    } else {
      add(key, flag);
    }
  };
  add("activation_bitwidth", arguments.activation_bits);
  add("dtype", arguments.dtype);
  add_flag("is_symmetric", arguments.symmetric);
  add("param_bitwidth", arguments.parameter_bits);
  add_flag("per_channel_quantization", arguments.per_channel);
  add("quant_scheme", arguments.scheme);
  return json;
}

void report_what_2_0_0_lacks(const EncodingsFile& file, Sink& sink) {
  const auto note = [&sink](std::string message, std::string tensor = {}) {
    Diagnostic diagnostic{Severity::note, std::move(message), {}};
    diagnostic.place.tensor = std::move(tensor);
    sink.report(diagnostic);
  };
  if (file.quantizer_arguments) note("version 2.0.0 has no arguments of the quantizer: left out");
  if (!file.excluded_layers.empty()) note("version 2.0.0 has no excluded layers: left out");
  for (const auto& [name, encoding] : file.tensors) {
    if (encoding.symmetry != EncodingSymmetry::symmetric_strict) continue;
    note("version 2.0.0 cannot say that the lowest code is not in use", name);
  }
}

}  // namespace

Expected<std::string> print_encodings(const EncodingsFile& file, EncodingsVersion version,
                                      Sink* sink) {
  const bool is_object = version == EncodingsVersion::v0_6_1;
  const bool has_sections = version != EncodingsVersion::v2_0_0;
  Lines activations;
  Lines others;
  for (const auto& [name, encoding] : file.tensors) {
    Expected<std::string> line = line_of(name, encoding, version);
    if (!line) {
      line.error().place.tensor = name;
      return fail(std::move(line).error());
    }
    const bool is_activation = encoding.role == TensorEncoding::Role::activation;
    (has_sections && is_activation ? activations : others).add(*line);
  }
  const std::string_view open = is_object ? "{" : "[";
  const std::string_view close = is_object ? "}" : "]";
  std::string text = fmt::format("{{\n  \"version\": \"{}\"", to_string(version));
  const auto add = [&text](std::string_view key, std::string_view value) {
    text += fmt::format(",\n  \"{}\": {}", key, value);
  };
  if (!has_sections) {
    add("encodings", others.in(open, close));
    if (sink != nullptr) report_what_2_0_0_lacks(file, *sink);
    return text + "\n}\n";
  }
  add("activation_encodings", activations.in(open, close));
  add("param_encodings", others.in(open, close));
  if (file.quantizer_arguments) {
    add("quantizer_args", text_of(to_json(*file.quantizer_arguments, version)));
  }
  if (!file.excluded_layers.empty()) add("excluded_layers", text_of(file.excluded_layers));
  return text + "\n}\n";
}

}  // namespace quadrant::inline v0
