#include "case_file.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "ir/float16.hpp"
#include "recipe/json_reader.hpp"
#include "support/input_file.hpp"

namespace quadrant::webnn {
namespace {

using nlohmann::json;

constexpr std::size_t most_memory = std::size_t{4} << 30U;
constexpr std::uint64_t most_file_bytes = std::uint64_t{1} << 30U;
constexpr std::uint64_t most_tensor_bytes = std::uint64_t{1} << 30U;
constexpr std::uint64_t largest_extent = std::uint64_t{1} << 31U;

struct DataType {
  std::string_view name;
  ElementType element;
};

constexpr std::array data_types{
    DataType{"float32", ElementType::float32}, DataType{"float16", ElementType::float16},
    DataType{"int64", ElementType::int64},     DataType{"uint64", ElementType::uint64},
    DataType{"int32", ElementType::int32},     DataType{"uint32", ElementType::uint32},
    DataType{"int8", ElementType::int8},       DataType{"uint8", ElementType::uint8},
    DataType{"int4", ElementType::int4},       DataType{"uint4", ElementType::uint4},
    DataType{"bool", ElementType::boolean},
};

/// An integer of up to 64 bits, exact; JavaScript writes those that it has no number for as text.
template <class T>
bool read_integer(const json& value, T& out) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    out = static_cast<T>(number);
    return std::in_range<T>(number);
  }
  if (value.is_number_integer()) {
    const auto number = value.get<std::int64_t>();
    out = static_cast<T>(number);
    return std::in_range<T>(number);
  }
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc() && end == text.data() + text.size();
  }
  const std::optional<double> number = read_number(value);
  if (!number || std::trunc(*number) != *number || std::abs(*number) > 0x1p53) return false;
  const auto whole = static_cast<std::int64_t>(*number);
  out = static_cast<T>(whole);
  return std::in_range<T>(whole);
}

template <class T>
bool read_element(const json& value, ElementType element, T& out) {
  if constexpr (std::is_same_v<T, bool>) {
    std::uint8_t number = 0;
    if (!read_integer(value, number) || number > 1) return false;
    out = number == 1;
    return true;
  } else if constexpr (std::is_same_v<T, float>) {
    const std::optional<double> number = read_number(value);
    out = static_cast<float>(number.value_or(0));
    return number.has_value();
  } else {
    if (element == ElementType::float16) {
      const std::optional<double> number = read_number(value);
      out = static_cast<T>(round_to_float16(static_cast<float>(number.value_or(0))));
      return number.has_value();
    }
    if (!read_integer(value, out)) return false;
    const auto range = integer_range(element);  // of 4 bits, narrower than T
    return !range || !std::in_range<std::int64_t>(out) ||
           (static_cast<std::int64_t>(out) >= range->min &&
            static_cast<std::int64_t>(out) <= range->max);
  }
}

template <class T>
bool fill(const json& values, ElementType element, Tensor& tensor, std::size_t& wrong) {
  const std::span<T> out = tensor.fill<T>();
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!read_element(values[i], element, out[i])) {
      wrong = i;
      return false;
    }
  }
  return true;
}

using Fill = bool (*)(const json&, ElementType, Tensor&, std::size_t&);

Fill fill_of(ElementType element) {
  switch (element) {
    case ElementType::boolean:
      return fill<bool>;
    case ElementType::int4:
    case ElementType::int8:
      return fill<std::int8_t>;
    case ElementType::uint4:
    case ElementType::uint8:
      return fill<std::uint8_t>;
    case ElementType::int32:
      return fill<std::int32_t>;
    case ElementType::uint32:
      return fill<std::uint32_t>;
    case ElementType::int64:
      return fill<std::int64_t>;
    case ElementType::uint64:
      return fill<std::uint64_t>;
    case ElementType::float16:
      return fill<std::uint16_t>;
    default:
      return fill<float>;
  }
}

std::optional<Shape> shape_of(const std::vector<std::uint64_t>& extents) {
  std::vector<std::int64_t> checked;
  for (const std::uint64_t extent : extents) {
    if (extent > largest_extent) return std::nullopt;
    checked.push_back(static_cast<std::int64_t>(extent));
  }
  return Shape(checked);
}

Tensor read_tensor(ObjectReader& reader) {
  const std::string type = reader.string("dtype");
  const auto shape = shape_of(reader.counts("shape"));
  const json* values = reader.optional_member("values");
  if (!reader.status()) return {};
  const auto element = data_type_named(type);
  if (!element) {
    reader.refuse("dtype", fmt::format("no type of WebNN's: '{}'", type));
    return {};
  }
  if (values == nullptr || !values->is_array()) {
    reader.refuse("values", "expected an array");
    return {};
  }
  const auto count = shape ? shape->element_count() : std::nullopt;
  if (!count || std::cmp_not_equal(*count, values->size())) {
    reader.refuse("values", fmt::format("{} values for the shape [{}]", values->size(),
                                        shape ? to_string(*shape) : "too large"));
    return {};
  }
  auto tensor = Tensor::make(*element, *shape, most_tensor_bytes);
  if (!tensor) {
    reader.refuse("shape", tensor.error().message);
    return {};
  }
  std::size_t wrong = 0;
  if (!fill_of(*element)(*values, *element, *tensor, wrong)) {
    reader.refuse("values", fmt::format("element {} is no {}", wrong, type));
  }
  return *std::move(tensor);
}

CaseNode read_node(ObjectReader& reader) {
  CaseNode node;
  node.op = reader.string("op");
  node.inputs = reader.strings("inputs");
  node.outputs = reader.strings("outputs");
  node.path = reader.path_of("attributes");
  const json* attributes = reader.optional_member("attributes");
  node.attributes = attributes == nullptr || attributes->is_null() ? json::object() : *attributes;
  if (!node.attributes.is_object()) reader.refuse("attributes", "expected an object");
  return node;
}

EmittedOp read_emitted(ObjectReader& reader) {
  EmittedOp emitted;
  emitted.op = reader.string("op");
  emitted.inputs = reader.strings("inputs");
  emitted.outputs = reader.strings("outputs");
  const json* activation = reader.optional_member("act");
  if (activation != nullptr && activation->is_string() && *activation != "NONE") {
    emitted.activation = activation->get<std::string>();
  }
  return emitted;
}

/// Calls `read` with each member of the object under `key`, which may be missing.
template <class Read>
bool for_each_member(ObjectReader& reader, const char* key, Read read) {
  const json* members = reader.optional_member(key);
  if (members == nullptr || members->is_null()) return false;
  if (!members->is_object()) {
    reader.refuse(key, "expected an object");
    return false;
  }
  for (const auto& [name, value] : members->items()) {
    ObjectReader member(value, fmt::format("{}[\"{}\"]", reader.path_of(key), name));
    read(name, member);
    reader.note(member.status());
  }
  return true;
}

std::optional<NamedTensors> read_results(ObjectReader& reader, const char* key) {
  NamedTensors results;
  const bool is_there =
      for_each_member(reader, key, [&](const std::string& name, ObjectReader& member) {
        results.emplace(name, read_tensor(member));
      });
  return is_there ? std::optional(std::move(results)) : std::nullopt;
}

Case read_case(ObjectReader& reader) {
  Case result;
  result.name = reader.string("name");
  const bool has_tensors =
      for_each_member(reader, "tensors", [&](const std::string& name, ObjectReader& member) {
        CaseTensor tensor{read_tensor(member), member.boolean("constant")};
        result.tensors.emplace(name, std::move(tensor));
      });
  if (!has_tensors) reader.refuse("tensors", "expected an object");
  for (ObjectReader& node : reader.objects("nodes")) {
    result.nodes.push_back(read_node(node));
    reader.note(node.status());
  }
  result.outputs = reader.strings("outputs");
  result.expected = read_results(reader, "expected_outputs");
  result.with_fusion = read_results(reader, "result_with_fusion");
  result.without_fusion = read_results(reader, "result_without_fusion");
  const json* error = reader.optional_member("fused_build_error");
  if (error != nullptr && !error->is_null())
    result.build_error = reader.string("fused_build_error");
  if (reader.optional_member("emitted_ops") != nullptr) {
    for (ObjectReader& emitted : reader.objects("emitted_ops")) {
      result.emitted.push_back(read_emitted(emitted));
      reader.note(emitted.status());
    }
  }
  if (result.outputs.empty()) reader.refuse("outputs", "there are none");
  return result;
}

}  // namespace

std::optional<ElementType> data_type_named(std::string_view name) noexcept {
  for (const DataType& type : data_types) {
    if (type.name == name) return type.element;
  }
  return std::nullopt;
}

std::optional<double> read_number(const json& value) {
  if (value.is_number()) return value.get<double>();
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (value == "Infinity") return infinity;
  if (value == "-Infinity") return -infinity;
  if (value == "NaN") return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

Expected<std::vector<Case>> parse_cases(std::string_view text) {
  QUADRANT_TRY(const json document, parse_json(text, most_memory));
  ObjectReader reader(document, "$");
  QUADRANT_CHECK(reader.status());
  std::vector<Case> cases;
  bool has_list = false;
  for (const auto& [key, value] : document.items()) {
    if (!value.is_array()) continue;
    has_list = true;
    for (ObjectReader& one : reader.objects(key.c_str())) {
      cases.push_back(read_case(one));
      QUADRANT_CHECK(one.status());
    }
  }
  if (!has_list) return fail(ErrorCode::invalid_model, "$: no list of cases");
  return cases;
}

Expected<std::vector<Case>> read_case_file(const std::string& path) {
  QUADRANT_TRY(const InputFile file, InputFile::open(path));
  if (file.size() > most_file_bytes) {
    return fail(ErrorCode::invalid_model, fmt::format("{} bytes are too many", file.size()),
                {.file = path});
  }
  std::string text(file.size(), '\0');
  QUADRANT_CHECK(file.read(0, std::as_writable_bytes(std::span(text))));
  auto cases = parse_cases(text);
  if (!cases && cases.error().place.file.empty()) cases.error().place.file = path;
  return cases;
}

}  // namespace quadrant::webnn
