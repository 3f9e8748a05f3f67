#include "io/openvino/lower.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <ranges>
#include <sstream>

#include "io/openvino/element.hpp"
#include "io/openvino/failure.hpp"
#include "io/openvino/filled.hpp"
#include "io/openvino/names.hpp"
#include "io/openvino/net.hpp"
#include "io/openvino/rules.hpp"
#include "ir/find_quantization.hpp"
#include "ir/known_integers.hpp"
#include "ir/opset.hpp"
#include "ir/scales.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/number_format.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::openvino_ir {
namespace {

std::string text_of_opaque(const Attribute* attribute) {
  const auto* opaque = attribute ? std::get_if<Opaque>(attribute) : nullptr;
  if (!opaque || opaque->format != xml_format || !opaque->bytes) return {};
  std::string text(opaque->bytes.byte_size(), '\0');
  value_of(opaque->bytes.read(0, std::as_writable_bytes(std::span(text))));
  return text;
}

/// Appends what `text`, well-formed elements, has.
void append_xml(pugi::xml_node& to, const std::string& text) {
  if (text.empty()) return;
  pugi::xml_document parsed;
  constexpr auto options = pugi::parse_default | pugi::parse_fragment;
  if (!parsed.load_buffer(text.data(), text.size(), options)) invalid("damaged XML of a layer");
  for (const pugi::xml_node& child : parsed.children()) to.append_copy(child);
}

void set(pugi::xml_node& node, const char* name, std::string_view value) {
  node.append_attribute(name).set_value(std::string(value).c_str());
}

void set(pugi::xml_node& node, const char* name, std::size_t value) {
  node.append_attribute(name).set_value(static_cast<unsigned long long>(value));
}

void describe_port(pugi::xml_node& port, std::size_t id, const TensorType& type) {
  set(port, "id", id);
  set(port, "precision", precision_of(type.element));
  for (const Extent extent : type.shape.extents()) {
    if (extent.value_or(0) > largest_extent) {
      impossible(fmt::format("an extent of {}", to_string(extent)));
    }
    port.append_child("dim").text().set(static_cast<long long>(extent.value_or(-1)));
  }
}

std::string shape_text(const Shape& shape) {
  if (!shape.is_ranked()) return "...";
  std::string text;
  for (const Extent extent : shape.extents()) {
    if (!text.empty()) text += ',';
    text += to_string(extent);
  }
  return text;
}

template <class T>
Constant one_of(ElementType element, const Shape& shape, T value) {
  return Constant::from_values(element, shape, std::span<const T>(&value, 1));
}

}  // namespace

std::string text_of(std::span<const std::int64_t> values) {
  return fmt::format("{}", fmt::join(values, ","));
}

std::string text_of(bool value) { return value ? "true" : "false"; }

std::string text_of(double value) { return fmt::format("{}", value); }

// --- LoweredNode ---------------------------------------------------------------------------------

std::int64_t LoweredNode::opset() const noexcept { return lowering_.opset_; }

bool LoweredNode::is_among_codes() const noexcept { return lowering_.has_codes_; }

bool LoweredNode::has(std::size_t index) const noexcept {
  return index < node_.operands().size() && !node_.operands()[index].is_absent();
}

Output LoweredNode::operand(std::size_t index) const {
  if (!has(index)) invalid(fmt::format("operand {} is missing", index));
  return lowering_.output_of(node_.operands()[index]);
}

const TensorType& LoweredNode::type(std::size_t index) const {
  if (!has(index)) invalid(fmt::format("operand {} is missing", index));
  return lowering_.graph_.type(node_.operands()[index]);
}

const Shape& LoweredNode::ranked(std::size_t index) const {
  const Shape& shape = type(index).shape;
  if (!shape.is_ranked()) impossible("an operand of unknown rank");
  return shape;
}

const Constant* LoweredNode::constant(std::size_t index) const noexcept {
  if (!has(index)) return nullptr;
  const Constant* found = lowering_.graph_.constant(node_.operands()[index].node);
  return found && *found ? found : nullptr;
}

std::optional<std::vector<std::int64_t>> LoweredNode::list(std::size_t index,
                                                           std::string_view attribute) const {
  if (const Attribute* found = node_.graph->attribute(node_.id, attribute)) {
    if (const auto* values = std::get_if<std::vector<std::int64_t>>(found)) return *values;
    if (const auto* value = std::get_if<std::int64_t>(found)) return std::vector{*value};
  }
  if (!has(index)) return std::nullopt;
  auto known = known_list(index);
  if (!known) impossible(fmt::format("{} that are computed", attribute));
  return known;
}

std::optional<std::vector<std::int64_t>> LoweredNode::known_list(std::size_t index) const {
  if (const Constant* contents = constant(index)) return value_of(read_integers(*contents));
  if (!has(index)) return std::nullopt;
  return detail::all_known_integers(lowering_.graph_, node_.operands()[index]);
}

TensorType LoweredNode::type(Output output) const { return lowering_.made(output).type; }

std::string LoweredNode::name_with(std::string_view ending) const {
  return fmt::format("{}/{}", node_.graph->value_name(node_.result()), ending);
}

Output LoweredNode::constant(std::string_view ending, const Constant& contents) {
  return lowering_.add_constant(name_with(ending), contents);
}

Output LoweredNode::integers(std::string_view ending, std::span<const std::int64_t> values) {
  const Shape shape{static_cast<std::int64_t>(values.size())};
  return constant(ending, Constant::from_values(ElementType::int64, shape, values));
}

Output LoweredNode::integer(std::string_view ending, std::int64_t value) {
  return constant(ending, one_of(ElementType::int64, Shape::scalar(), value));
}

Output LoweredNode::number(std::string_view ending, ElementType element, double value) {
  if (!is_float(element)) impossible("a number beside an operand of a type that has none");
  return constant(ending, filled(element, Shape::scalar(), value));
}

Output LoweredNode::step(const OpName& op, std::span<const Output> inputs, const Data& data,
                         TensorType type, std::string_view ending) {
  type.quantization = nullptr;
  return steps(op, inputs, data, std::span(&type, 1), ending);
}

Output LoweredNode::steps(const OpName& op, std::span<const Output> inputs, const Data& data,
                          std::span<const TensorType> types, std::string_view ending) {
  return {lowering_.add_layer(op, name_with(ending), inputs, data, types), 0};
}

void LoweredNode::make(const OpName& op, std::span<const Output> inputs, const Data& data,
                       std::span<const TensorType> unused) {
  std::vector<TensorType> types;
  types.reserve(node_.graph->result_count(node_.id) + unused.size());
  for (std::uint32_t i = 0; i < node_.graph->result_count(node_.id); ++i) {
    types.push_back(node_.type(i));
  }
  types.insert(types.end(), unused.begin(), unused.end());
  const std::size_t layer =
      lowering_.add_layer(op, std::string(label(*node_.graph, node_.id)), inputs, data, types);
  for (std::uint32_t i = 0; i < node_.graph->result_count(node_.id); ++i) {
    lowering_.add_name({layer, i}, node_.graph->value_name(node_.result(i)));
    lowering_.define(node_.result(i), {layer, i});
  }
}

void LoweredNode::finish(Output output, std::uint32_t result) {
  lowering_.rename(output, node_, result);
  lowering_.define(node_.result(result), output);
}

void LoweredNode::alias(Output output, std::uint32_t result) {
  lowering_.add_name(output, node_.graph->value_name(node_.result(result)));
  lowering_.define(node_.result(result), output);
}

std::string_view LoweredNode::made_by(Output output) const {
  return lowering_.layers_[output.layer].node.attribute("type").as_string();
}

Output LoweredNode::source(Output output, std::size_t index) const {
  return lowering_.layers_[output.layer].sources[index];
}

Output LoweredNode::before(std::string_view type, Output output) const {
  return made_by(output) == type ? source(output, 0) : output;
}

Output LoweredNode::reshaped(Output output, const Shape& shape, std::string_view ending) {
  if (type(output).shape == shape) return output;
  output = before_reshape(output);
  const TensorType from = type(output);
  if (from.shape == shape) return output;
  const auto asked = ops::Reshape::request(shape);
  if (!asked) impossible("a reshape to extents that are not known");
  const Output extents = integers(fmt::format("{}_shape", ending), *asked);
  return step({"Reshape"}, std::array{output, extents}, {{"special_zero", "false"}},
              {from.element, shape, nullptr}, ending);
}

Output LoweredNode::converted(Output output, ElementType element, std::string_view ending) {
  const TensorType from = type(output);
  if (from.element == element) return output;
  return step({"Convert"}, std::array{output},
              {{"destination_type", std::string(name_of(element))}}, {element, from.shape, nullptr},
              ending);
}

void LoweredNode::decomposed(std::string how) {
  const std::string_view name = node_.graph->value_name(node_.result());
  if (lowering_.options_.sink) {
    lowering_.options_.sink->report(
        {Severity::note, how, {.node = std::string(label(*node_.graph, node_.id))}});
  }
  lowering_.report_.decomposed.push_back({std::string(name), std::move(how)});
}

// --- Lowering ------------------------------------------------------------------------------------

Lowering::Lowering(Graph graph, const OpenVinoWriteOptions& options, OpenVinoWriteReport& report)
    : graph_(std::move(graph)),
      options_(options),
      report_(report),
      opset_(opset_version(graph_)),
      has_codes_(find_quantization(graph_).has_value()) {
  pugi::xml_node declaration = document_.append_child(pugi::node_declaration);
  set(declaration, "version", "1.0");
  pugi::xml_node net = document_.append_child("net");
  set(net, "name", graph_.attributes().get_or<std::string>(model_name_key, "model"));
  set(net, "version", "11");
  layers_node_ = net.append_child("layers");
  edges_node_ = net.append_child("edges");
}

std::string Lowering::xml() const {
  std::ostringstream text;
  document_.save(text, "\t", pugi::format_default, pugi::encoding_utf8);
  return text.str();
}

std::string Lowering::unique_name(std::string_view wanted) {
  std::string name(wanted);
  while (true) {
    // Counts on from the last time that this name was taken.
    const auto [known, is_new] = layer_names_.try_emplace(name, 0);
    if (is_new) return name;
    name = fmt::format("{}_{}", wanted, ++layer_names_[std::string(wanted)]);
  }
}

std::size_t Lowering::add_layer(const OpName& op, const std::string& name,
                                std::span<const Output> inputs, const Data& data,
                                std::span<const TensorType> outputs) {
  const std::size_t id = layers_.size();
  MadeLayer layer;
  layer.node = layers_node_.append_child("layer");
  layer.sources.assign(inputs.begin(), inputs.end());
  set(layer.node, "id", id);
  set(layer.node, "name", unique_name(name));
  set(layer.node, "type", op.type);
  set(layer.node, "version", op.version);
  if (!data.empty()) {
    pugi::xml_node node = layer.node.append_child("data");
    for (const auto& [key, value] : data) set(node, key.c_str(), value);
  }
  if (!inputs.empty()) {
    pugi::xml_node side = layer.node.append_child("input");
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      pugi::xml_node port = side.append_child("port");
      describe_port(port, i, made(inputs[i]).type);
      ++layers_[inputs[i].layer].users;
    }
  }
  if (!outputs.empty()) {
    pugi::xml_node side = layer.node.append_child("output");
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      pugi::xml_node port = side.append_child("port");
      describe_port(port, inputs.size() + i, outputs[i]);
      layer.outputs.push_back({outputs[i], port, {}});
    }
  }
  layers_.push_back(std::move(layer));
  return id;
}

void Lowering::add_name(Output output, std::string_view name) {
  MadeOutput& to = layers_[output.layer].outputs[output.index];
  const auto add = [&](const std::string& wanted) {
    if (given_names_.insert(wanted).second) to.names.push_back(wanted);
  };
  const auto known = tensor_names_.find(std::string(name));
  if (known == tensor_names_.end()) {
    add(std::string(name));
  } else {
    for (const std::string& one : known->second) add(one);
  }
  if (to.names.empty()) return;
  to.port.remove_attribute("names");
  to.port.append_attribute("names").set_value(join_names(to.names).c_str());
}

void Lowering::rename(Output output, NodeRef node, std::uint32_t result) {
  if (result == 0) {
    layers_[output.layer].node.attribute("name").set_value(
        unique_name(label(*node.graph, node.id)).c_str());
  }
  add_name(output, graph_.value_name(node.result(result)));
}

Output Lowering::output_of(Value value) const {
  const auto found = values_.find(value);
  if (found == values_.end()) {
    impossible(fmt::format("result {} of a {}", value.result, graph_.kind(value.node)));
  }
  return found->second;
}

void Lowering::define(Value value, Output output) { values_.insert_or_assign(value, output); }

namespace {

// The elements of a constant of codes by their own name, not that of the integers that hold them.
void name_codes(pugi::xml_node layer, const ScaledFormat& format) {
  const CodeName* const known = find_code_name(format.format.code);
  if (known == nullptr || !format.format.scales.empty()) {
    impossible(fmt::format("a constant of {}", to_string(format.format)));
  }
  const std::string name(known->name);
  layer.child("data").attribute("element_type").set_value(name.c_str());
  const std::string precision(known->precision);
  layer.child("output").child("port").attribute("precision").set_value(precision.c_str());
}

}  // namespace

Output Lowering::add_constant(const std::string& name, const Constant& contents) {
  const ElementType element = contents.element();
  if (name_of(element).empty()) impossible("a constant of a type that OpenVINO has no name for");
  const bool is_half = is_compressed_ && element == ElementType::float32 && fits_float16(contents);
  const ElementType stored = is_half ? ElementType::float16 : element;
  const TensorType type{stored, contents.shape(), nullptr};
  const Data data{{"element_type", std::string(name_of(stored))},
                  {"shape", shape_text(contents.shape())}};
  const std::size_t constant =
      add_layer({"Const"}, is_half ? name + "_compressed" : name, {}, data, std::span(&type, 1));
  layers_[constant].contents = contents;
  if (!is_half) return {constant, 0};
  const TensorType wide{element, contents.shape(), nullptr};
  const std::size_t layer = add_layer({"Convert"}, name, std::array{Output{constant, 0}},
                                      {{"destination_type", "f32"}}, std::span(&wide, 1));
  pugi::xml_node info =
      layers_[layer].node.insert_child_after("rt_info", layers_[layer].node.child("data"));
  pugi::xml_node fact = info.append_child("attribute");
  set(fact, "name", "decompression");
  set(fact, "version", "0");
  return {layer, 0};
}

void Lowering::read_facts() {
  const Attributes& facts = graph_.attributes();
  is_compressed_ = facts.get_or<std::int64_t>(compressed_key, 0) != 0;
  const auto names = facts.get_or<std::vector<std::string>>(tensor_names_key, {});
  for (std::size_t i = 0; i + 1 < names.size(); i += 2) {
    tensor_names_.emplace(names[i], split_names(names[i + 1]));
  }
  const auto shapes = facts.get_or<std::vector<std::string>>(input_shapes_key, {});
  for (std::size_t i = 0; i + 1 < shapes.size(); i += 2) {
    input_shapes_.emplace(shapes[i], shapes[i + 1]);
  }
  const auto info = facts.get_or<std::vector<std::string>>(layer_info_key, {});
  for (std::size_t i = 0; i + 1 < info.size(); i += 2) layer_info_.emplace(info[i], info[i + 1]);
}

void Lowering::lower_input(NodeRef node) {
  LoweredNode lowered(*this, node);
  const TensorType& type = node.type();
  if (name_of(type.element).empty()) impossible("an input of unknown type");
  // With the bounds of open extents, unless the shape has changed since.
  std::string shape = shape_text(type.shape);
  const auto read = input_shapes_.find(std::string(graph_.value_name(node.result())));
  if (read != input_shapes_.end() && parse_shape(read->second) == type.shape) shape = read->second;
  lowered.make({"Parameter"}, {},
               {{"shape", shape}, {"element_type", std::string(name_of(type.element))}});
  layers_.back().is_kept = true;
}

void Lowering::lower_constant(NodeRef node) {
  const Constant* contents = graph_.constant(node.id);
  if (!contents || !*contents) impossible("a constant without contents");
  const Output output = add_constant(std::string(label(graph_, node.id)), *contents);
  if (const ScaledFormat* const format = node.type().quantization.other().get()) {
    name_codes(layers_[output.layer].node, *format);
  }
  // That of the layer is enough, unless the file had more.
  const std::string_view name = graph_.value_name(node.result());
  if (tensor_names_.contains(std::string(name))) add_name(output, name);
  define(node.result(), output);
}

void Lowering::lower_output(NodeRef node) {
  const Output output = output_of(node.operand(0));
  add_name(output, node.name().empty() ? graph_.value_name(node.operand(0)) : node.name());
  const std::string name = std::string(node.name()) + "/result";
  const std::size_t layer = add_layer({"Result"}, name, std::array{output}, {}, {});
  layers_[layer].is_kept = true;
  // Its own name first: a value that is several outputs has those of all.
  std::vector<std::string> names = made(output).names;
  const auto own = std::ranges::find(names, node.name());
  if (own == names.end()) {
    names = {std::string(node.name())};
  } else {
    std::rotate(names.begin(), own, own + 1);
  }
  set(layers_[layer].node, "output_names", join_names(names));
}

void Lowering::lower_carried(NodeRef node) {
  const auto kind = parse_carried_kind(node.kind());
  if (!kind) impossible(std::string(node.kind()));
  LoweredNode lowered(*this, node);
  std::vector<Output> inputs;
  inputs.reserve(lowered.operand_count());
  for (std::size_t i = 0; i < lowered.operand_count(); ++i) inputs.push_back(lowered.operand(i));
  Data data;
  std::vector<const Constant*> contents;  // in the order in which they were carried
  for (const auto& [name, value] : graph_.attributes(node.id)) {
    if (const auto* text = std::get_if<std::string>(&value)) data.emplace_back(name, *text);
    const auto* constant = std::get_if<Constant>(&value);
    if (constant != nullptr && name == fmt::format("{}{}", bytes_key, contents.size())) {
      contents.push_back(constant);
    }
  }
  const bool is_constant = kind->type == "Const";
  lowered.make({kind->type, kind->version}, inputs, is_constant ? Data{} : data);
  layers_.back().is_kept = true;
  const std::string xml = text_of_opaque(graph_.attribute(node.id, layer_key));
  if (xml.empty()) return;
  pugi::xml_node made_node = layers_.back().node;
  append_xml(made_node, xml);
  class Placer final : public pugi::xml_tree_walker {
   public:
    Placer(Weights& weights, const std::vector<const Constant*>& contents)
        : weights_(weights), contents_(contents) {}
    bool for_each(pugi::xml_node& element) override {
      pugi::xml_attribute offset = element.attribute("offset");
      const std::string_view type = element.parent().attribute("type").as_string();
      if (type != "Const" || !offset || !element.attribute("size")) return true;
      const std::size_t index = offset.as_ullong();
      if (index >= contents_.size()) invalid("a body with contents that are not there");
      offset.set_value(weights_.add(*contents_[index], ElementType::uint8).offset);
      return true;
    }

   private:
    Weights& weights_;
    const std::vector<const Constant*>& contents_;
  };
  Placer placer(weights_, contents);
  made_node.traverse(placer);
}

void Lowering::compute(NodeRef node) {
  const std::string_view kind = node.kind();
  if (kind == ops::Input::kind) {
    lower_input(node);
    return;
  }
  if (kind == ops::Constant::kind) {
    lower_constant(node);
    return;
  }
  if (kind == ops::Output::kind) {
    lower_output(node);
    return;
  }
  for (const Rules& rules : all_rules()) {
    const auto rule = std::ranges::find(rules.lower, kind, &LowerRule::kind);
    if (rule == rules.lower.end()) continue;
    LoweredNode lowered(*this, node);
    rule->lower(lowered);
    return;
  }
  lower_carried(node);
}

void Lowering::lower(NodeRef node) {
  const auto results = graph_.result_count(node.id);
  const auto give_up = [&] {
    for (std::uint32_t i = 0; i < results; ++i) missing_.insert(node.result(i));
  };
  for (const Value operand : node.operands()) {
    if (!missing_.contains(operand)) continue;
    give_up();
    return;
  }
  const std::size_t before = layers_.size();
  try {
    in_node(label(graph_, node.id), [&] { compute(node); });
  } catch (const Failure& failure) {
    if (failure.error.code != ErrorCode::impossible) throw;
    const std::string why = failure.error.message == node.kind()
                                ? failure.error.message
                                : fmt::format("{}: {}", node.kind(), failure.error.message);
    refusals_.add(why, label(graph_, node.id));
    give_up();
    return;
  }
  if (layers_.size() == before) return;
  if (const auto info = layer_info_.find(std::string(node.name())); info != layer_info_.end()) {
    pugi::xml_node& made_node = layers_.back().node;
    if (made_node.attribute("name").as_string() == info->first && !made_node.child("rt_info")) {
      append_xml(made_node, info->second);
    }
  }
}

void Lowering::drop_unused() {
  for (MadeLayer& layer : std::views::reverse(layers_)) {
    if (layer.users > 0 || layer.is_kept) continue;
    for (const Output source : layer.sources) --layers_[source.layer].users;
    layer.sources.clear();
    layer.contents = {};
    layers_node_.remove_child(layer.node);
  }
}

void Lowering::place_constants() {
  for (MadeLayer& layer : layers_) {
    if (!layer.contents) continue;
    in_node(layer.node.attribute("name").as_string(), [&] {
      const Weights::Place place = weights_.add(layer.contents, layer.outputs.front().type.element);
      pugi::xml_node data = layer.node.child("data");
      set(data, "offset", place.offset);
      set(data, "size", place.size);
    });
  }
}

void Lowering::add_edges() {
  for (std::size_t to = 0; to < layers_.size(); ++to) {
    for (std::size_t i = 0; i < layers_[to].sources.size(); ++i) {
      const Output source = layers_[to].sources[i];
      pugi::xml_node edge = edges_node_.append_child("edge");
      set(edge, "from-layer", source.layer);
      set(edge, "from-port", layers_[source.layer].sources.size() + source.index);
      set(edge, "to-layer", to);
      set(edge, "to-port", i);
    }
  }
}

void Lowering::run() {
  note_rounded_scales(graph_, options_.sink);
  read_facts();
  // Inputs first, in the model's order: readers number them by it.
  for (const NodeId input : graph_.inputs()) lower(graph_.ref(input));
  const std::vector<NodeId> order = value_of(topological_order(graph_));
  for (const NodeId id : order) {
    const std::string_view kind = graph_.kind(id);
    if (kind != ops::Input::kind && kind != ops::Output::kind) lower(graph_.ref(id));
  }
  for (const NodeId output : graph_.outputs()) lower(graph_.ref(output));
  if (!refusals_.empty()) {
    impossible("OpenVINO's IR has no counterpart for: " + refusals_.text());
  }
  drop_unused();
  place_constants();
  add_edges();
  pugi::xml_node net = document_.child("net");
  append_xml(net, text_of_opaque(graph_.attributes().find(extras_key)));
  report_.layers = std::ranges::distance(layers_node_.children());
}

}  // namespace quadrant::inline v0::openvino_ir
