#include "io/onnx/node_fields.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <variant>

#include "io/onnx/failure.hpp"
#include "io/onnx/fields.hpp"
#include "io/onnx/tensor.hpp"
#include "io/onnx/value_info.hpp"
#include "ir/regions.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::onnx {
namespace {

/// Whether an input of the graph has contents as well: not what a loop gives it, then.
bool has_listed_initializer(Source& source, Range graph) {
  std::unordered_set<std::string_view> names;
  for (Message message = source.message(graph); message.next();) {
    if (message.field() == graph::initializer) {
      names.insert(outline_of_tensor(source.bytes(), message.payload()).name);
    }
  }
  for (Message message = source.message(graph); message.next();) {
    if (message.field() == graph::input &&
        names.contains(read_value_info(source.bytes(), message.payload()).name)) {
      return true;
    }
  }
  return false;
}

Constant constant_from(std::string_view name, const Attribute& value) {
  if (const auto* tensor = std::get_if<Constant>(&value); tensor && name == "value") {
    return *tensor;
  }
  const auto make = [](ElementType element, Shape shape, const auto& values) {
    return Constant::from_values(element, std::move(shape),
                                 std::span(values.data(), values.size()));
  };
  if (const auto* integer = std::get_if<std::int64_t>(&value); integer && name == "value_int") {
    return make(ElementType::int64, Shape(std::vector<std::int64_t>{}), std::array{*integer});
  }
  if (const auto* real = std::get_if<double>(&value); real && name == "value_float") {
    return make(ElementType::float32, Shape(std::vector<std::int64_t>{}),
                std::array{static_cast<float>(*real)});
  }
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value);
      integers && name == "value_ints") {
    return make(ElementType::int64, Shape{static_cast<std::int64_t>(integers->size())}, *integers);
  }
  if (const auto* reals = std::get_if<std::vector<double>>(&value);
      reals && name == "value_floats") {
    std::vector<float> floats;
    floats.reserve(reals->size());
    for (const double element : *reals) floats.push_back(static_cast<float>(element));
    return make(ElementType::float32, Shape{static_cast<std::int64_t>(floats.size())}, floats);
  }
  return {};
}

}  // namespace

NodeFields read_fields(Source& source, Range range) {
  NodeFields fields;
  Message message = source.message(range);
  while (message.next()) {
    switch (message.field()) {
      case node::input:
        fields.inputs.push_back(message.text());
        break;
      case node::output:
        fields.outputs.push_back(message.text());
        break;
      case node::name:
        fields.name = message.text();
        break;
      case node::op_type:
        fields.op.op_type = message.text();
        break;
      case node::domain:
        fields.op.domain = message.text();
        break;
      case node::attribute:
        fields.attributes.push_back(message.payload());
        break;
      default:
        fields.extra.push_back(message.whole());
    }
  }
  if (fields.op.op_type.empty()) {
    invalid("a node without an operator type",
            {.node = std::string(fields.label()), .offset = range.offset});
  }
  return fields;
}

std::vector<Body> bodies_of(Source& source, const NodeFields& fields) {
  std::vector<Body> bodies;
  if (!in_default_domain(fields.op)) return bodies;
  const auto wanted = regions::bodies_of(kind_of(fields.op));
  for (const Range& range : fields.attributes) {
    std::string_view name;
    std::size_t graphs = 0;
    Body body;
    bool plain = true;
    for (Message message = source.message(range); message.next();) {
      if (message.field() == attribute::name) {
        name = message.text();
      } else if (message.field() == attribute::g) {
        ++graphs;
        body.graph = message.payload();
      } else {
        plain = plain && message.field() == attribute::type;
      }
    }
    const auto found = std::ranges::find(wanted, name);
    if (found == wanted.end()) continue;
    if (!plain || graphs != 1 || body.graph.size == 0 ||
        has_listed_initializer(source, body.graph)) {
      return {};
    }
    body.attribute = *found;
    bodies.push_back(body);
  }
  if (bodies.size() != wanted.size()) return {};
  std::ranges::sort(bodies, {}, [&](const Body& body) {
    return std::ranges::find(wanted, body.attribute) - wanted.begin();
  });
  const bool repeated = std::ranges::adjacent_find(bodies, {}, &Body::attribute) != bodies.end();
  return repeated ? std::vector<Body>() : bodies;
}

bool make_constant(const NodeFields& fields, NodeSpec& spec) {
  if (fields.op.op_type != "Constant" || !in_default_domain(fields.op)) return false;
  if (!fields.inputs.empty() || fields.outputs.size() != 1 || fields.outputs[0].empty() ||
      fields.attributes.size() != 1) {
    return false;
  }
  for (const auto& [name, value] : spec.attributes) {
    if (name.starts_with(prefix)) continue;
    Constant constant = constant_from(name, value);
    if (!constant) return false;
    const std::string form = name;
    spec.attributes.erase(form);
    spec.attributes.set(std::string(key::constant_form), form);
    spec.kind = ops::Constant::kind;
    spec.results[0].type = {constant.element(), constant.shape(), nullptr};
    spec.constant = std::move(constant);
    return true;
  }
  return false;
}

}  // namespace quadrant::inline v0::onnx
