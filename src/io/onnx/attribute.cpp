#include "io/onnx/attribute.hpp"

#include <bit>
#include <optional>

#include "io/onnx/failure.hpp"
#include "io/onnx/fields.hpp"
#include "io/onnx/names.hpp"
#include "io/onnx/tensor.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::onnx {
namespace {

/// An AttributeProto's fields. Which of them holds the value is for `type` to say.
struct AttributeFields {
  std::string_view name;
  std::int64_t type = attribute::type_undefined;
  std::int64_t i = 0;
  float f = 0;
  std::string_view s;
  Range t;
  std::vector<std::int64_t> ints;
  std::vector<double> floats;
  std::vector<std::string> strings;
  std::vector<Range> extra;
  std::vector<std::int64_t> values;  ///< the types whose value fields are there, without repetition
  bool carried_only = false;         ///< it has a value that has no typed form

  void found(std::int64_t value_type) {
    if (values.empty() || values.back() != value_type) values.push_back(value_type);
  }
};

AttributeFields read_attribute_fields(const Source& source, Range range) {
  AttributeFields fields;
  Message message = source.message(range);
  while (message.next()) {
    switch (message.field()) {
      case attribute::name:
        fields.name = message.text();
        break;
      case attribute::type:
        fields.type = message.integer();
        break;
      case attribute::f:
        fields.f = std::bit_cast<float>(message.fixed32());
        fields.found(attribute::type_float);
        break;
      case attribute::i:
        fields.i = message.integer();
        fields.found(attribute::type_int);
        break;
      case attribute::s:
        fields.s = message.text();
        fields.found(attribute::type_string);
        break;
      case attribute::t:
        // A second one would have to be merged with the first, which no writer makes use of.
        if (fields.t.size > 0) fields.carried_only = true;
        fields.t = message.payload();
        fields.found(attribute::type_tensor);
        break;
      case attribute::floats:
        message.append_floats(fields.floats);
        fields.found(attribute::type_floats);
        break;
      case attribute::ints:
        message.append_integers(fields.ints);
        fields.found(attribute::type_ints);
        break;
      case attribute::strings:
        fields.strings.emplace_back(message.text());
        fields.found(attribute::type_strings);
        break;
      case attribute::g:
      case attribute::graphs:
      case attribute::tensors:
      case attribute::tp:
      case attribute::type_protos:
      case attribute::sparse_tensor:
      case attribute::sparse_tensors:
      case attribute::ref_attr_name:
        fields.carried_only = true;
        break;
      default:
        fields.extra.push_back(message.whole());
    }
  }
  // The oldest models state no type.
  if (fields.type == attribute::type_undefined && fields.values.size() == 1) {
    fields.type = fields.values.front();
  }
  // A value of another type than the stated one is not understood; none at all is a zero, or an
  // empty list, which proto3 writers leave out.
  if (fields.values.size() > 1 ||
      (fields.values.size() == 1 && fields.values.front() != fields.type)) {
    fields.carried_only = true;
  }
  return fields;
}

/// Empty when only the bytes can say it.
std::optional<Attribute> typed_value(Source& source, AttributeFields& fields, Attributes& out) {
  if (fields.carried_only) return std::nullopt;
  switch (fields.type) {
    case attribute::type_float:
      return static_cast<double>(fields.f);
    case attribute::type_int:
      return fields.i;
    case attribute::type_string:
      return std::string(fields.s);
    case attribute::type_floats:
      return std::move(fields.floats);
    case attribute::type_ints:
      return std::move(fields.ints);
    case attribute::type_strings:
      return std::move(fields.strings);
    case attribute::type_tensor: {
      if (fields.values.empty()) return std::nullopt;
      Tensor tensor = read_tensor(source, fields.t);
      if (!tensor.constant) return std::nullopt;
      if (tensor.name_field.size > 0) tensor.extra.push_back(tensor.name_field);
      if (!tensor.extra.empty()) {
        out.set(std::string(key::tensor_extra).append(fields.name),
                carried(source.file(), std::move(tensor.extra), fields_format));
      }
      return std::move(tensor.constant);
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

void check_attribute_name(std::string_view name, Range range, const Attributes& others) {
  if (name.empty()) invalid("an attribute without a name", {.offset = range.offset});
  if (others.find(name) != nullptr || name.starts_with(prefix)) {
    invalid(others.find(name) ? fmt::format("the attribute '{}' is given twice", name)
                              : fmt::format("an attribute is called '{}'", name),
            {.offset = range.offset});
  }
}

void check_attribute_count(std::size_t count) {
  constexpr std::size_t most = 4096;
  if (count > most) invalid(fmt::format("{} attributes, more than any operator has", count));
}

void read_attribute(Source& source, Range range, Attributes& out, SubgraphNames& names) {
  AttributeFields fields = read_attribute_fields(source, range);
  check_attribute_name(fields.name, range, out);
  if (auto value = typed_value(source, fields, out)) {
    out.set(std::string(fields.name), *std::move(value));
    if (!fields.extra.empty()) {
      out.set(std::string(key::attribute_extra).append(fields.name),
              carried(source.file(), std::move(fields.extra), fields_format));
    }
    return;
  }
  out.set(std::string(fields.name), carried(source.file(), {range}, attribute_format));
  collect_attribute_names(source.bytes(), range, names);
}

// --- writing ------------------------------------------------------------------------------------

namespace {

template <class... Cases>
struct Overload : Cases... {
  using Cases::operator()...;
};

}  // namespace

void add_carried(Rope& message, const Attributes& attributes, std::string_view name) {
  const Attribute* found = attributes.find(name);
  const Opaque* opaque = found ? std::get_if<Opaque>(found) : nullptr;
  if (opaque && opaque->bytes) message.add_raw(opaque->bytes);
}

void add_tensor_type(Rope& tensor, ElementType element, const Shape& shape,
                     std::int64_t data_type) {
  const std::int64_t number = data_type != 0 ? data_type : element_type_number(element);
  if (number == 0) impossible(fmt::format("ONNX has no tensors of {}", to_string(element)));
  for (const std::int64_t extent : shape.known_extents()) tensor.add_integer(tensor::dims, extent);
  tensor.add_integer(tensor::data_type, number);
}

void add_tensor(Rope& tensor, const Constant& constant) {
  add_tensor_type(tensor, constant.element(), constant.shape());
  tensor.add_contents(tensor::raw_data, constant);
}

void add_attribute(Rope& node, std::string_view name, const Attribute& value,
                   const Attributes& all) {
  if (const auto* opaque = std::get_if<Opaque>(&value)) {
    if (opaque->format != attribute_format) {
      impossible(fmt::format("the attribute '{}' has the format '{}'", name, opaque->format));
    }
    node.add_contents(node::attribute, opaque->bytes);
    return;
  }
  Rope message;
  message.add_text(attribute::name, name);
  const std::int64_t type =
      std::visit(Overload{
                     [&](std::int64_t integer) {
                       message.add_integer(attribute::i, integer);
                       return attribute::type_int;
                     },
                     [&](double real) {
                       message.add_float(attribute::f, static_cast<float>(real));
                       return attribute::type_float;
                     },
                     [&](const std::string& text) {
                       message.add_text(attribute::s, text);
                       return attribute::type_string;
                     },
                     [&](const std::vector<std::int64_t>& integers) {
                       for (const std::int64_t integer : integers) {
                         message.add_integer(attribute::ints, integer);
                       }
                       return attribute::type_ints;
                     },
                     [&](const std::vector<double>& reals) {
                       for (const double real : reals) {
                         message.add_float(attribute::floats, static_cast<float>(real));
                       }
                       return attribute::type_floats;
                     },
                     [&](const std::vector<std::string>& texts) {
                       for (const std::string& text : texts)
                         message.add_text(attribute::strings, text);
                       return attribute::type_strings;
                     },
                     [&](const Constant& constant) {
                       Rope tensor;
                       add_tensor(tensor, constant);
                       add_carried(tensor, all, std::string(key::tensor_extra).append(name));
                       message.add_message(attribute::t, tensor);
                       return attribute::type_tensor;
                     },
                     [](const Opaque&) { return attribute::type_undefined; },
                 },
                 value);
  message.add_integer(attribute::type, type);
  add_carried(message, all, std::string(key::attribute_extra).append(name));
  node.add_message(node::attribute, message);
}

}  // namespace quadrant::inline v0::onnx
