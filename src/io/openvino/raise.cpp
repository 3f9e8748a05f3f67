#include "io/openvino/raise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <set>
#include <sstream>
#include <tuple>
#include <utility>

#include "io/openvino/element.hpp"
#include "io/openvino/failure.hpp"
#include "io/openvino/filled.hpp"
#include "io/openvino/names.hpp"
#include "io/openvino/rules.hpp"
#include "ir/opset.hpp"
#include "ir/shape_inference.hpp"
#include "numerics/reals.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/number_format.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::openvino_ir {
namespace {

std::string xml_of(const std::vector<pugi::xml_node>& nodes) {
  std::ostringstream text;
  for (const pugi::xml_node& node : nodes) node.print(text, "", pugi::format_raw);
  return text.str();
}

Opaque opaque_xml(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {std::string(xml_format),
          Constant::from_bytes(ElementType::uint8, Shape{static_cast<std::int64_t>(bytes.size())},
                               {bytes.begin(), bytes.end()})};
}

/// IRs of version 10 are older than the way in which OpenVINO hands tensors over today: it keeps up
/// the types that their users knew (measured with OpenVINO 2026.4).
namespace version_10 {

ElementType input_type(ElementType element) {
  return element == ElementType::float16 ? ElementType::float32 : element;
}

ElementType output_type(ElementType element) {
  const bool is_index = is_integer(element) && bit_width(element) >= 32;
  return is_index ? ElementType::int32 : ElementType::float32;
}

}  // namespace version_10

/// What `rt_info` says to those who read a float16 constant.
bool is_decompression(const Layer& layer) {
  const auto facts = layer.node.child("rt_info").children("attribute");
  // NOLINTNEXTLINE(modernize-use-ranges): the library knows nothing of ranges
  return std::any_of(facts.begin(), facts.end(), [](const pugi::xml_node& fact) {
    return std::string_view(fact.attribute("name").as_string()) == "decompression";
  });
}

/// The attributes of the `<data>` of a layer that is carried, each as its text.
std::vector<Attributes::Entry> carried_attributes(const Layer& layer) {
  std::vector<Attributes::Entry> attributes;
  for (const pugi::xml_attribute& attribute : layer.node.child("data").attributes()) {
    attributes.emplace_back(attribute.name(), std::string(attribute.value()));
  }
  return attributes;
}

/// Finds elements that name a range of the .bin file, in order, in what a layer has. Those are of a
/// Const: the layer itself, or one in its bodies.
class RangeFinder final : public pugi::xml_tree_walker {
 public:
  explicit RangeFinder(bool is_of_constant) : is_of_constant_(is_of_constant) {}

  bool for_each(pugi::xml_node& node) override {
    const std::string_view type = node.parent().attribute("type").as_string();
    const bool is_constant = type == "Const" || (is_of_constant_ && node.parent().parent().empty());
    const bool is_range = !node.attribute("offset").empty() && !node.attribute("size").empty();
    if (is_constant && is_range) found.push_back(node);
    return true;
  }
  std::vector<pugi::xml_node> found;

 private:
  bool is_of_constant_;
};

}  // namespace

// --- RaisedLayer ---------------------------------------------------------------------------------

std::optional<std::string> RaisedLayer::text(const char* name) {
  read_.insert(name);
  const pugi::xml_attribute attribute = layer_.node.child("data").attribute(name);
  if (!attribute) return std::nullopt;
  return attribute.value();
}

std::optional<std::int64_t> RaisedLayer::integer(const char* name) {
  const auto given = text(name);
  if (!given) return std::nullopt;
  const auto value = parse_integer(*given);
  if (!value) invalid(fmt::format("{}=\"{}\", which is an integer", name, printable(*given)));
  return value;
}

double RaisedLayer::real(const char* name, double fallback) {
  const auto given = text(name);
  if (!given) return fallback;
  double value = 0;
  const char* const end = given->data() + given->size();
  const auto [stopped, error] = std::from_chars(given->data(), end, value);
  if (error == std::errc() && stopped == end) return value;
  invalid(fmt::format("{}=\"{}\", which is a number", name, printable(*given)));
}

bool RaisedLayer::flag(const char* name, bool fallback) {
  const auto given = text(name);
  if (!given) return fallback;
  if (*given == "true" || *given == "True" || *given == "1") return true;
  if (*given == "false" || *given == "False" || *given == "0") return false;
  invalid(fmt::format("{}=\"{}\", which is true or false", name, printable(*given)));
}

std::vector<std::int64_t> RaisedLayer::integers(const char* name) {
  const auto given = text(name);
  if (!given) return {};
  auto values = parse_integers(*given);
  if (!values) invalid(fmt::format("{}=\"{}\", which are integers", name, printable(*given)));
  return *std::move(values);
}

ElementType RaisedLayer::element(const char* name) {
  const auto given = text(name);
  if (!given) return ElementType::undefined;
  const ElementType named = element_named(*given);
  const bool is_wider = named == ElementType::float16 && raising_.net_.stores_halves();
  return is_wider ? ElementType::float32 : named;
}

bool RaisedLayer::has_input(std::size_t index) const noexcept {
  return index < layer_.sources.size() && layer_.sources[index].has_value();
}

Value RaisedLayer::input(std::size_t index) const {
  const auto source = has_input(index) ? layer_.sources[index] : std::nullopt;
  if (!source) invalid(fmt::format("nothing comes to input {}", index));
  return raising_.value_from(*source);
}

TensorType RaisedLayer::type_of(Value value) const { return raising_.graph_.type(value); }

NodeRef RaisedLayer::producer(Value value) const { return raising_.graph_.ref(value.node); }

Constant RaisedLayer::constant(std::size_t input_index) const {
  if (!has_input(input_index)) return {};
  const Constant* found = raising_.graph_.constant(input(input_index).node);
  return found != nullptr ? *found : Constant();
}

std::optional<std::vector<std::int64_t>> RaisedLayer::constant_integers(
    std::size_t input_index) const {
  const Constant found = constant(input_index);
  if (!found || !is_integer(found.element())) return std::nullopt;
  auto values = read_integers(found);
  if (!values) return std::nullopt;
  return *std::move(values);
}

std::optional<double> RaisedLayer::constant_number(std::size_t input_index) const {
  const Constant found = constant(input_index);
  if (!found || found.element_count() != 1) return std::nullopt;
  if (is_integer(found.element())) {
    const auto values = read_integers(found);
    return values ? std::optional(static_cast<double>(values->front())) : std::nullopt;
  }
  const auto values = read_reals(found);
  return values ? std::optional(values->front()) : std::nullopt;
}

const TensorType& RaisedLayer::result_type(std::size_t output) const {
  if (output >= layer_.outputs.size()) invalid(fmt::format("there is no output {}", output));
  return layer_.outputs[output].type;
}

bool RaisedLayer::is_read(std::size_t output) const {
  const std::vector<bool>& outputs = raising_.is_read_[index_];
  return output < outputs.size() && outputs[output];
}

std::string RaisedLayer::name_with(std::string_view ending) const {
  return fmt::format("{}_{}", Raising::result_name(layer_, 0), ending);
}

void RaisedLayer::make(std::string_view kind, std::vector<Value> operands, Attributes attributes) {
  NodeSpec spec;
  spec.kind = kind;
  spec.name = layer_.name;
  spec.operands = std::move(operands);
  spec.attributes = std::move(attributes);
  for (std::size_t i = 0; i < layer_.outputs.size(); ++i) {
    spec.results.push_back({Raising::result_name(layer_, i), layer_.outputs[i].type});
  }
  const NodeId node = raising_.graph_.add(std::move(spec));
  for (std::uint32_t i = 0; i < layer_.outputs.size(); ++i) raising_.define(index_, i, {node, i});
}

void RaisedLayer::alias(Value value) { raising_.define(index_, 0, value); }

void RaisedLayer::finish(Value value, std::size_t output) {
  raising_.graph_.set_value_name(value, Raising::result_name(layer_, output));
  if (output == 0) raising_.graph_.set_node_name(value.node, layer_.name);
  raising_.define(index_, output, value);
}

Value RaisedLayer::step(std::string_view kind, std::vector<Value> operands, TensorType type,
                        std::string_view ending, Attributes attributes) {
  return {steps(kind, std::move(operands), std::span(&type, 1), ending, std::move(attributes))};
}

NodeId RaisedLayer::steps(std::string_view kind, std::vector<Value> operands,
                          std::span<const TensorType> types, std::string_view ending,
                          Attributes attributes) {
  NodeSpec spec;
  spec.kind = kind;
  spec.operands = std::move(operands);
  for (const TensorType& type : types) spec.results.push_back({name_with(ending), type});
  spec.attributes = std::move(attributes);
  return raising_.graph_.add(std::move(spec));
}

Value RaisedLayer::constant(std::string_view ending, const Constant& contents) {
  return raising_.graph_.add_constant(name_with(ending), contents);
}

Value RaisedLayer::list(std::string_view ending, std::span<const std::int64_t> values) {
  const Shape shape{static_cast<std::int64_t>(values.size())};
  return constant(ending, Constant::from_values(ElementType::int64, shape, values));
}

Value RaisedLayer::number(std::string_view ending, ElementType element, double value) {
  if (!is_float(element)) invalid(fmt::format("a {}, of a type that has none", ending));
  return constant(ending, filled(element, Shape::scalar(), value));
}

Value RaisedLayer::wide(Value value, std::string_view ending) {
  const TensorType type = type_of(value);
  if (type.element == ElementType::int64) return value;
  const Constant* known = raising_.graph_.constant(value.node);
  if (known != nullptr && *known && is_integer(known->element())) {
    if (const auto values = read_integers(*known)) {
      return constant(ending, Constant::from_values(ElementType::int64, known->shape(),
                                                    std::span<const std::int64_t>(*values)));
    }
  }
  return step(ops::Cast::kind, {value}, {ElementType::int64, type.shape, nullptr}, ending,
              {{"to", element_type_number(ElementType::int64)}});
}

Value RaisedLayer::reshaped(Value value, const Shape& shape, std::string_view ending) {
  if (shape_of(value) == shape) return value;
  const NodeRef producer = raising_.graph_.ref(value.node);
  if (producer.kind() == ops::Reshape::kind) {  // this one alone says as much as both
    raising_.looked_through_.push_back(value.node);
    value = producer.operand(0);
    if (shape_of(value) == shape) return value;
  }
  const TensorType type = type_of(value);
  const Constant* known = raising_.graph_.constant(value.node);
  if (known != nullptr && *known && known->element_count() == shape.element_count()) {
    return constant(ending, known->reshaped(shape));
  }
  const auto asked = ops::Reshape::request(shape);
  if (!asked) impossible("a reshape to extents that are not known");
  const Value extents = list(fmt::format("{}_shape", ending), *asked);
  return step(ops::Reshape::kind, {value, extents}, {type.element, shape, nullptr}, ending);
}

std::vector<std::string> RaisedLayer::unread() const {
  std::vector<std::string> names;
  for (const pugi::xml_attribute& attribute : layer_.node.child("data").attributes()) {
    if (!read_.contains(attribute.name())) names.emplace_back(attribute.name());
  }
  return names;
}

// --- Raising -------------------------------------------------------------------------------------

namespace {

// Whether it converts to real numbers.
bool makes_reals(const Layer& layer) {
  const std::string_view to = layer.node.child("data").attribute("destination_type").as_string();
  return layer.type == "Convert" && is_float(element_named(to));
}

}  // namespace

Raising::Raising(const Net& net, std::shared_ptr<const Bin> bin, const OpenVinoReadOptions& options)
    : net_(net),
      bin_(std::move(bin)),
      options_(options),
      values_(net.layers().size()),
      is_converted_(net.layers().size(), true) {
  for (const Layer& layer : net.layers()) is_read_.emplace_back(layer.outputs.size());
  for (const Layer& layer : net.layers()) {
    for (const auto& source : layer.sources) {
      if (!source) continue;
      is_read_[source->layer][source->output] = true;
      is_converted_[source->layer] = is_converted_[source->layer] && makes_reals(layer);
    }
  }
}

std::string Raising::result_name(const Layer& layer, std::size_t output) {
  const std::vector<std::string>& names = layer.outputs[output].names;
  if (!names.empty()) return names.front();
  return layer.outputs.size() == 1 ? layer.name : fmt::format("{}.{}", layer.name, output);
}

void Raising::note(const Layer& layer, std::string message) const {
  if (options_.sink == nullptr) return;
  options_.sink->report({Severity::note, std::move(message), {.node = printable(layer.name)}});
}

Value Raising::value_from(const OutputRef& source) const {
  const Value value = values_[source.layer][source.output];
  if (value.is_absent()) {
    const Layer& from = net_.layers()[source.layer];
    invalid(fmt::format("it reads output {} of '{}', which a {} does not have", source.output,
                        printable(from.name), printable(from.type)));
  }
  return value;
}

void Raising::define(std::size_t layer, std::size_t output, Value value) {
  values_[layer][output] = value;
  const std::vector<std::string>& names = net_.layers()[layer].outputs[output].names;
  auto& known = tensor_names_[value];
  if (known.empty() && !names.empty()) named_.push_back(value);
  known.insert(known.end(), names.begin(), names.end());
}

void Raising::raise_parameter(RaisedLayer& layer) {
  const Layer& from = layer.layer();
  const std::string given = layer.text("shape", "");
  const auto shape = parse_shape(given);
  if (!shape) invalid(fmt::format("shape=\"{}\"", printable(given)));
  const ElementType element = layer.element("element_type");
  if (from.outputs.size() != 1) invalid("an input of the model with other than one output");
  const ElementType given_as = net_.version() == 10 ? version_10::input_type(element) : element;
  const Value value = graph_.add_input(result_name(from, 0), TensorType{given_as, *shape, nullptr});
  graph_.set_node_name(value.node, from.name);
  layer.alias(value);
  if (given.find("..") != std::string::npos && shape->is_ranked()) {  // as of `1..8`
    input_shapes_.emplace_back(graph_.value_name(value));
    input_shapes_.push_back(given);
  }
  if (given_as == element) return;
  values_[layer.index()].front() =
      layer.step(ops::Cast::kind, {value}, {element, *shape, nullptr}, to_string(element),
                 {{"to", element_type_number(element)}});
}

bool Raising::raise_constant(RaisedLayer& layer) {
  const Layer& from = layer.layer();
  if (from.outputs.size() != 1) invalid("a constant with other than one output");
  const std::string type = layer.text("element_type", "");
  if (find_code_name(type) != nullptr && layer.is_read(0) && is_converted_[layer.index()]) {
    for (const char* const name : {"shape", "offset", "size"}) std::ignore = layer.text(name);
    return true;  // by raise_codes
  }
  const ElementType element = element_named(type);
  if (is_carried(element)) return false;
  const std::string given = layer.text("shape", "");
  const auto shape = parse_shape(given);
  if (!shape || !shape->is_static()) {
    invalid(fmt::format("a constant of shape \"{}\"", printable(given)));
  }
  const auto offset = layer.integer("offset", -1);
  const auto size = layer.integer("size", -1);
  if (offset < 0 || size < 0) invalid("a constant without offset and size");
  Constant constant = constant_in(bin_, element, *shape, static_cast<std::uint64_t>(offset),
                                  static_cast<std::uint64_t>(size));
  if (element == ElementType::float16 && net_.stores_halves()) {
    constant = widened_constant(constant);
    graph_.attributes().set(std::string(compressed_key), std::int64_t{1});
  }
  const Value value = graph_.add_constant(result_name(from, 0), constant);
  graph_.set_node_name(value.node, from.name);
  layer.alias(value);
  return true;
}

bool Raising::raise_decompression(RaisedLayer& layer) {
  const Constant half = layer.constant(0);
  if (!half || half.element() != ElementType::float16) return false;
  if (layer.element("destination_type") != ElementType::float32) return false;
  if (!is_decompression(layer.layer())) return false;
  const Value compressed = layer.input(0);
  const Value value = graph_.add_constant(result_name(layer.layer(), 0), widened_constant(half));
  graph_.set_node_name(value.node, layer.layer().name);
  layer.alias(value);
  looked_through_.push_back(compressed.node);
  graph_.attributes().set(std::string(compressed_key), std::int64_t{1});
  return true;
}

// Codes of floats and tables, which Convert makes reals of.
bool Raising::raise_codes(RaisedLayer& layer) {
  const auto source = layer.has_input(0) ? layer.layer().sources[0] : std::nullopt;
  if (!source) return false;
  const std::size_t index = source->layer;
  const Layer& from = net_.layers()[index];
  if (from.type != "Const" || !is_converted_[index]) return false;
  RaisedLayer constant(*this, from, index);
  const CodeName* const code = find_code_name(constant.text("element_type", ""));
  if (code == nullptr) return false;
  const ElementType to = layer.element("destination_type");
  const Value known = values_[index].front();
  if (!known.is_absent() && graph_.type(known).expressed().element == to) {
    layer.make(ops::Dequantize::kind, {known});
    return true;
  }
  const auto shape = parse_shape(constant.text("shape", ""));
  if (!shape || !shape->is_static()) invalid("a constant without a shape");
  const ScaledFormat format{NumberFormat{.code = code->code, .expressed = to}, {}, {}, {}};
  const Constant contents = constant_in(bin_, storage_element(format.format), *shape,
                                        static_cast<std::uint64_t>(constant.integer("offset", -1)),
                                        static_cast<std::uint64_t>(constant.integer("size", -1)));
  const Value codes = graph_.add_constant(result_name(from, 0), contents);
  graph_.set_constant(codes.node, contents, format);
  graph_.set_node_name(codes.node, from.name);
  if (known.is_absent()) define(index, 0, codes);
  layer.make(ops::Dequantize::kind, {codes});
  return true;
}

void Raising::carry(RaisedLayer& layer) {
  const Layer& from = layer.layer();
  if (carried_types_.insert(from.type).second) {
    note(from, fmt::format("{} is carried as it is, for OpenVINO alone: there is no such operation "
                           "here, or not with these attributes",
                           printable(from.type)));
  }
  std::vector<Attributes::Entry> attributes = carried_attributes(from);
  std::vector<Value> operands;
  operands.reserve(layer.input_count());
  for (std::size_t i = 0; i < layer.input_count(); ++i) {
    operands.push_back(layer.input(i));
  }
  // Bodies of loops, and contents that their constants have.
  pugi::xml_document copy;
  const bool is_constant = from.type == "Const";
  for (const pugi::xml_node& child : from.node.children()) {
    const std::string_view name = child.name();
    if (name == "input" || name == "output" || name == "rt_info") continue;
    if (name == "data" && !is_constant) continue;
    copy.append_copy(child);
  }
  if (!copy.first_child().empty()) {
    RangeFinder ranges(is_constant);
    copy.traverse(ranges);
    for (std::size_t i = 0; i < ranges.found.size(); ++i) {
      pugi::xml_node& node = ranges.found[i];
      const std::int64_t offset = required_integer(node, "offset");
      const std::int64_t size = required_integer(node, "size");
      if (offset < 0 || size < 0) invalid("a constant before the weights");
      attributes.emplace_back(
          fmt::format("{}{}", bytes_key, i),
          bytes_in(bin_, static_cast<std::uint64_t>(offset), static_cast<std::uint64_t>(size)));
      node.attribute("offset").set_value(i);
    }
    attributes.emplace_back(std::string(layer_key),
                            opaque_xml(xml_of({copy.children().begin(), copy.children().end()})));
  }
  layer.make(carried_kind({from.version, from.type}), std::move(operands),
             Attributes(std::move(attributes)));
}

bool Raising::raise_plain(RaisedLayer& layer) {
  if (layer.type() == "Convert" && (raise_codes(layer) || raise_decompression(layer))) return true;
  for (const Rules& rules : all_rules()) {
    const auto rule = std::ranges::find(rules.raise, layer.type(), &RaiseRule::type);
    if (rule != rules.raise.end() && rule->raise(layer)) return true;
  }
  return false;
}

void Raising::keep_info(const Layer& layer) {
  const pugi::xml_node info = layer.node.child("rt_info");
  if (!info.first_child()) return;
  const bool is_kept_otherwise = is_decompression(layer) && info.first_child() == info.last_child();
  if (is_kept_otherwise) return;
  layer_info_.push_back(layer.name);
  layer_info_.push_back(xml_of({info}));
}

void Raising::raise(std::size_t index) {
  const Layer& from = net_.layers()[index];
  values_[index].resize(from.outputs.size());
  RaisedLayer layer(*this, from, index);
  if (from.type == "Result") {
    for (Value& value : values_[index]) value = layer.input(0);  // what reads it reads that
    return;
  }
  keep_info(from);
  if (from.outputs.empty()) {  // it only has effects: Assign
    carry(layer);
    return;
  }
  if (from.type == "Parameter") {
    raise_parameter(layer);
    std::ignore = layer.text("layout");  // rt_info says it, too
  } else {
    const bool is_plain = from.type == "Const" ? raise_constant(layer) : raise_plain(layer);
    if (!is_plain) {
      carry(layer);
      return;
    }
  }
  for (const std::string& name : layer.unread()) {
    note(from, fmt::format("attribute '{}' of a {} is not known, and dropped", printable(name),
                           printable(from.type)));
  }
}

void Raising::add_outputs() {
  std::set<std::string, std::less<>> taken;
  for (const Layer& layer : net_.layers()) {
    if (layer.type != "Result") continue;
    if (layer.sources.empty() || !layer.sources.front()) {
      invalid("nothing comes to this output of the model", {.node = layer.name});
    }
    Value value = in_node(layer.name, [&] { return value_from(*layer.sources.front()); });
    const auto names = split_names(layer.node.attribute("output_names").as_string());
    // A value that is several outputs has the names of all.
    const auto own =
        std::ranges::find_if(names, [&](const auto& each) { return !taken.contains(each); });
    std::string name = own == names.end() ? std::string(graph_.value_name(value)) : *own;
    taken.insert(name);
    const TensorType& type = graph_.type(value);
    const ElementType given_as =
        net_.version() == 10 ? version_10::output_type(type.element) : type.element;
    if (given_as != type.element) {
      NodeSpec cast;
      cast.kind = ops::Cast::kind;
      cast.operands = {value};
      cast.results.push_back(
          {fmt::format("{}_{}", name, to_string(given_as)), {given_as, type.shape, nullptr}});
      cast.attributes = {{"to", element_type_number(given_as)}};
      value = {graph_.add(std::move(cast))};
    }
    graph_.add_output(std::move(name), value);
  }
}

void Raising::keep_model_facts() {
  Attributes& facts = graph_.attributes();
  facts.set(std::string(opset_domains_key), std::vector<std::string>{""});
  facts.set(std::string(opset_versions_key), std::vector<std::int64_t>{read_opset});
  if (!net_.name().empty()) facts.set(std::string(model_name_key), net_.name());
  if (const auto extras = net_.extras(); !extras.empty()) {
    facts.set(std::string(extras_key), opaque_xml(xml_of(extras)));
  }
  std::vector<std::string> names;
  for (const Value value : named_) {
    if (!graph_.contains(value.node)) continue;  // looked through
    const std::vector<std::string>& all = tensor_names_[value];
    const std::string_view name = graph_.value_name(value);
    if (all.size() == 1 && all.front() == name) continue;
    names.emplace_back(name);
    names.push_back(join_names(all));
  }
  if (!names.empty()) facts.set(std::string(tensor_names_key), std::move(names));
  if (!input_shapes_.empty()) facts.set(std::string(input_shapes_key), std::move(input_shapes_));
  if (!layer_info_.empty()) facts.set(std::string(layer_info_key), std::move(layer_info_));
}

Graph Raising::run() {
  for (const std::size_t index : net_.order()) {
    const Layer& layer = net_.layers()[index];
    in_node(layer.name, [&] { raise(index); });
  }
  add_outputs();
  for (const NodeId node : looked_through_) {
    if (graph_.contains(node) && graph_.uses(node).empty()) graph_.erase(node);
  }
  keep_model_facts();
  value_of(infer_shapes(graph_));
  value_of(verify(graph_));
  return std::move(graph_);
}

}  // namespace quadrant::inline v0::openvino_ir
