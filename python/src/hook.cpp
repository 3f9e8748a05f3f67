#include "hook.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <concepts>
#include <string>
#include <utility>
#include <variant>

#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/number_format.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"
#include "session.hpp"
#include "support/near_names.hpp"

namespace quadrant::python {
namespace {

[[noreturn]] void refuse_call(std::string message) {
  throw Failure(Error{ErrorCode::usage, std::move(message), {}, {}});
}

Constant constant_of(nb::handle array) { return to_tensor(array).to_constant(); }

ElementType element_of(std::string_view name) {
  const auto known = parse_element_type(name);
  if (!known) refuse_call("there is no element type '" + std::string(name) + "'");
  return *known;
}

Shape shape_of(const Extents& extents) {
  if (!extents) return {};
  std::vector<Extent> all;
  all.reserve(extents->size());
  for (const auto& each : *extents) all.push_back(Extent::of(each));
  return Shape(std::move(all));
}

nb::object attribute_to_python(const Attribute& attribute) {
  return std::visit(
      []<class T>(const T& value) -> nb::object {
        if constexpr (std::same_as<T, Opaque>) {
          return nb::none();
        } else if constexpr (std::same_as<T, Constant>) {
          return to_python(value, value_of(value.read()));
        } else {
          return nb::cast(value);
        }
      },
      attribute);
}

template <class T>
bool all_are(nb::handle list) {
  return std::all_of(list.begin(), list.end(),
                     [](nb::handle each) { return nb::isinstance<T>(each); });
}

Attribute attribute_of(const std::string& name, nb::handle given) {
  const auto as = [&]<class T>(T made) -> Attribute {
    if (nb::try_cast(given, made)) return made;
    const auto text = nb::cast<std::string>(nb::steal<nb::str>(PyObject_ASCII(given.ptr())));
    refuse_call(
        "attribute '" + name + "' is " + text +
        ", and holds integers of 64 bits, numbers, texts in Unicode, or lists of one of these");
  };
  if (nb::isinstance<nb::int_>(given)) return as(std::int64_t{});
  if (nb::isinstance<nb::float_>(given)) return as(double{});
  if (nb::isinstance<nb::str>(given)) return as(std::string());
  if (nb::isinstance<nb::tuple>(given)) return constant_of(given);  // an array, packed
  if (nb::isinstance<nb::list>(given)) {
    if (all_are<nb::int_>(given)) return as(std::vector<std::int64_t>());
    if (all_are<nb::str>(given)) return as(std::vector<std::string>());
    return as(std::vector<double>());
  }
  refuse_call("attribute '" + name + "' is no number, string or array, nor a list of these");
}

bool is_known(std::string_view kind, const GraphView& graph) {
  // Of another domain.
  if (kind.starts_with("onnx.") && kind.find("::") != std::string_view::npos) return true;
  if (find_operation(kind) != nullptr) return true;
  if (std::ranges::find(graph.operations(), kind, &Operation::kind) != graph.operations().end()) {
    return true;
  }
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    if (node.is_valid() && graph.kind(node) == kind) return true;
  }
  return false;
}

// Throws where codes of that type do not go with the shape.
const Quantization& fitting(const CodesType& type, const Shape& shape) {
  const auto& uniform = type.quantization.uniform();
  if (uniform != nullptr) {
    value_of(of_arguments(verify(*uniform, shape)));
  } else if (type.quantization.other() != nullptr) {
    value_of(of_arguments(verify(*type.quantization.other(), shape)));
  }
  return type.quantization;
}

Quantization fitting(const std::optional<CodesType>& type, const Shape& shape) {
  return type ? fitting(*type, shape) : nullptr;
}

Attributes attributes_of(const nb::dict& given) {
  Attributes made;
  for (const auto& [key, value] : given) {
    const auto name = nb::cast<std::string>(key);
    made.set(name, attribute_of(name, value));
  }
  return made;
}

// None where they are no integers.
std::optional<std::pair<std::int64_t, std::int64_t>> code_range_of(const ScaledFormat* type) {
  if (type == nullptr || is_float(storage_element(type->format))) return std::nullopt;
  const NumberCode& code = type->format.code;
  if (const auto* integer = std::get_if<IntegerCode>(&code)) return {{integer->min, integer->max}};
  if (const auto* table = std::get_if<StoredTable>(&code)) return {{0, table->levels - 1}};
  return {{0, (std::int64_t{1} << bit_width(code)) - 1}};
}

}  // namespace

const GraphView& Node::graph() const {
  const GraphView& graph = hook_->graph();
  const bool is_there = value_.node.index < graph.index_bound() &&
                        graph.node_at(value_.node.index) == value_.node &&
                        value_.result < graph.result_count(value_.node);
  if (!is_there) refuse_call("the operation is no longer in the graph, or has no such result");
  return graph;
}

Value Node::value(const Hook& hook) const {
  if (hook_.get() != &hook) refuse_call("an operation is good in the call that it was given to");
  static_cast<void>(graph());
  return value_;
}

std::string_view Node::kind() const { return graph().kind(value_.node); }

std::string_view Node::name() const { return graph().value_name(value_); }

std::string_view Node::label() const { return quadrant::label(graph(), value_.node); }

Extents Node::shape() const {
  const Shape& shape = graph().type(value_).shape;
  if (!shape.is_ranked()) return std::nullopt;
  std::vector<std::optional<std::int64_t>> extents;
  extents.reserve(shape.extents().size());
  for (const Extent extent : shape.extents()) extents.push_back(extent.known());
  return extents;
}

std::string_view Node::element() const { return to_string(graph().type(value_).element); }

std::vector<std::optional<Node>> Node::operands() const {
  std::vector<std::optional<Node>> all;
  all.reserve(graph().operands(value_.node).size());
  for (const Value value : graph().operands(value_.node)) {
    all.push_back(value.is_absent() ? std::nullopt : std::optional(Node(hook_, value)));
  }
  return all;
}

std::optional<std::size_t> Node::most_operands() const {
  const Operation* const row = find_operation(NodeRef{&graph(), value_.node});
  if (row == nullptr || row->operands.most == any_number) return std::nullopt;
  return row->operands.most;
}

std::vector<Node> Node::results() const {
  std::vector<Node> all;
  all.reserve(graph().result_count(value_.node));
  for (std::uint32_t i = 0; i < graph().result_count(value_.node); ++i) {
    all.emplace_back(hook_, Value{value_.node, i});
  }
  return all;
}

std::vector<std::pair<Node, std::uint32_t>> Node::users() const {
  std::vector<std::pair<Node, std::uint32_t>> all;
  for (const Use& use : graph().uses(value_.node)) {
    // An output of the graph reads a value and makes none.
    if (use.result != value_.result || graph().result_count(use.user) == 0) continue;
    all.emplace_back(Node(hook_, Value{use.user, 0}), use.operand);
  }
  return all;
}

Dict Node::attributes() const {
  Dict all;
  const auto* const own = dynamic_cast<const Graph*>(&graph());
  if (own == nullptr) return all;
  for (const auto& [name, value] : own->attributes(value_.node)) {
    all[name.c_str()] = attribute_to_python(value);
  }
  return all;
}

nb::object Node::contents() const {
  const Constant* const constant = graph().constant(value_.node);
  if (constant == nullptr) return nb::none();
  return to_python(*constant, value_of(constant->read()));
}

std::optional<CodesType> Node::codes_type() const {
  const TensorType& type = graph().type(value_);
  return type.is_quantized() ? std::optional(CodesType{type.quantization}) : std::nullopt;
}

template <class Part>
Part& Hook::part(Part* of, std::string_view phase) const {
  if (of != nullptr) return *of;
  if (parts_.graph == nullptr) refuse_call("this is good while the hook runs that it was given to");
  refuse_call("this is for " + std::string(phase));
}

const GraphView& Hook::graph() const { return part(parts_.graph, {}); }

RewriteContext& Hook::rewriting() const { return part(parts_.rewriting, "rewriters"); }

void Hook::check_operand(NodeId node, std::uint32_t operand) const {
  if (operand < graph().operands(node).size()) return;
  refuse_call("'" + std::string(label(graph(), node)) + "' has no operand " +
              std::to_string(operand));
}

unsigned Hook::state(const Node& of) const {
  if (parts_.eligibility != nullptr) {
    return static_cast<unsigned>(parts_.eligibility->state(value(of)));
  }
  const Eligibility& found = part(parts_.found, "hooks that run in a phase");
  // What phase 4 made was not there in phase 1.
  const bool is_known = found.numbering()->contains(value(of));
  return static_cast<unsigned>(is_known ? found.state(value(of)) : State::Unquantized);
}

unsigned Hook::match() const {
  const EligibilityContext& context = part(parts_.eligibility, "check_eligibility");
  return static_cast<unsigned>(
      parts_.method->QuantizationMethod::check_eligibility(parts_.node, context).state);
}

void Hook::need(std::uint32_t operand, const nb::object& constraint) {
  RequestCollector& answers = part(parts_.answers, "callback");
  check_operand(parts_.node.id, operand);
  const Constraint wanted(constraint);
  answers.need(operand, &wanted);
}

void Hook::end_alternative() { part(parts_.answers, "callback").end_alternative(Gain{}); }

void Hook::benefit(std::uint32_t operand, const nb::object& constraint, bool takes_codes) {
  RequestCollector& asks = part(parts_.asks, "request");
  check_operand(parts_.node.id, operand);
  const Constraint wanted(constraint);
  const auto gain = parts_.carries_gains ? std::optional(wanted.gain()) : std::nullopt;
  asks.benefit(operand, &wanted, gain, takes_codes);
}

void Hook::produce(const nb::object& constraint) {
  RequestCollector& asks = part(parts_.asks, "request");
  const Constraint wanted(constraint);
  asks.produce(&wanted);
}

void Hook::refuse(std::string_view why) {
  if (parts_.offers != nullptr) {
    parts_.offers->refuse(why);
  } else if (parts_.data != nullptr) {
    parts_.data->refuse(std::string(why));
  } else {
    RequestCollector* const asks = parts_.asks != nullptr ? parts_.asks : parts_.answers;
    part(asks, "request, callback, forward and examine").refuse(why);
  }
}

nb::object Hook::form(const Node& of) const {
  const Constraint* found = nullptr;
  if (parts_.offers != nullptr) {
    found = static_cast<const Constraint*>(parts_.offers->selected(value(of)));
  } else {
    found = part(parts_.rewriting, "forward and rewriters").form<Constraint>(value(of));
  }
  return found == nullptr ? nb::none() : found->object();
}

nb::object Hook::read(std::uint32_t operand) const {
  check_operand(parts_.node.id, operand);
  const auto* const found = rewriting().read<Constraint>(parts_.node, operand);
  return found == nullptr ? nb::none() : found->object();
}

void Hook::offer(const nb::object& constraint) {
  ForwardContext& offers = part(parts_.offers, "forward");
  const Constraint offered(constraint);
  for (std::uint32_t i = 0; i < parts_.graph->result_count(parts_.node.id); ++i) {
    offers.offer(i, &offered);
  }
}

void Hook::offer_requests() { part(parts_.offers, "forward").offer_requests(); }

void Hook::keep(nb::handle array) { part(parts_.data, "examine").keep(constant_of(array)); }

nb::object Hook::kept(std::size_t index) const {
  const Constant found = rewriting().prepared(parts_.node.id, index);
  if (!found) return nb::none();
  return to_python(found, value_of(found.read()));
}

void Hook::set_type(const Node& of, const CodesType& type) {
  const Shape& shape = rewriting().view().type(value(of)).shape;
  value_of(rewriting().set_quantized(value(of), fitting(type, shape)));
}

void Hook::set_constant(const Node& of, nb::handle codes, const CodesType& type) {
  Constant contents = constant_of(codes);
  const NodeId node = value(of).node;
  if (graph().constant(node) == nullptr) {
    refuse_call("'" + std::string(of.name()) + "' is no constant, which could have codes");
  }
  if (contents.shape() != graph().type(value(of)).shape) {
    refuse_call("codes of '" + std::string(of.name()) + "' are of another shape than the weight");
  }
  if (contents.element() != type.quantization.storage()) {
    refuse_call("codes of '" + std::string(of.name()) + "' are " +
                std::string(to_string(contents.element())) + ", and their type says " +
                std::string(to_string(type.quantization.storage())));
  }
  const Quantization& quantization = fitting(type, contents.shape());
  value_of(rewriting().graph().set_constant(node, std::move(contents), quantization));
}

void Hook::set_operand(const Node& user, std::uint32_t operand, const Node& value) {
  const NodeId node = this->value(user).node;
  check_operand(node, operand);
  value_of(rewriting().graph().set_operand(node, operand, this->value(value)));
}

Node Hook::emit(std::string_view kind, const std::vector<std::optional<Node>>& operands,
                std::string name, std::string_view element, const Extents& shape,
                const std::optional<CodesType>& type, const Dict& attributes) {
  if (kind.empty() || kind == ops::Constant::kind || kind == ops::Input::kind ||
      kind == ops::Output::kind) {
    refuse_call("operations are emitted, and not '" + std::string(kind) + "'");
  }
  check_kind(kind, graph());
  std::vector<Value> values;
  values.reserve(operands.size());
  for (const auto& each : operands) values.push_back(each ? value(*each) : Value{});
  TensorType made{element_of(element), shape_of(shape), {}};
  made.quantization = fitting(type, made.shape);
  return node(value_of(rewriting().emit(kind, std::move(values), std::move(name), std::move(made),
                                        attributes_of(attributes))));
}

Node Hook::emit_constant(std::string name, nb::handle array, const std::optional<CodesType>& type) {
  Constant contents = constant_of(array);
  Quantization quantization = fitting(type, contents.shape());
  return node(value_of(
      rewriting().emit_constant(std::move(name), std::move(contents), std::move(quantization))));
}

void Hook::take_place(const Node& of, const Node& made, std::string_view suffix) {
  const Value before = value(of);
  const Value after = value(made);
  // A circle of replacements would have no end.
  if (before == after || rewriting().current(after) != after) {
    refuse_call("'" + std::string(made.name()) + "' is or was replaced, so it replaces nothing");
  }
  value_of(rewriting().take_place(before, after, suffix));
}

void check_kind(std::string_view kind, const GraphView& graph) {
  if (is_known(kind, graph)) return;
  std::string message = "there is no operation '" + std::string(kind) + "'";
  constexpr std::string_view prefix = "onnx.";
  const auto operator_name = kind.starts_with(prefix) ? kind.substr(prefix.size()) : kind;
  if (const Operation* const row = find_onnx_operator(operator_name)) {
    refuse_call(message + "; ONNX's " + std::string(operator_name) + " is '" +
                std::string(row->kind) + "'");
  }
  std::vector<std::string_view> names;
  for (const Operation& row : operations()) names.push_back(row.kind);
  for (const Operation& row : graph.operations()) names.push_back(row.kind);
  refuse_call(message + did_you_mean(kind, names));
}

CodesType uniform(const std::string& storage, const std::string& expressed,
                  std::optional<std::int64_t> axis, std::int64_t block_size,
                  std::pair<std::int64_t, std::int64_t> range, nb::handle scales,
                  std::optional<nb::object> zero_points) {
  if (!axis && block_size > 0) refuse_call("blocks lie along an axis: give axis=");
  UniformType made;
  made.storage = element_of(storage);
  made.expressed = element_of(expressed);
  if (axis) {
    made.granularity =
        block_size > 0 ? Granularity::per_block(*axis, block_size) : Granularity::per_axis(*axis);
  }
  std::tie(made.storage_min, made.storage_max) = range;
  made.scales = constant_of(scales);
  if (!axis && made.scales.shape().rank() != 0) {
    refuse_call("scales of shape [" + to_string(made.scales.shape()) +
                "] without an axis: give axis=");
  }
  if (zero_points) made.zero_points = constant_of(*zero_points);
  value_of(of_arguments(verify(made, Shape())));
  return {std::make_shared<const UniformType>(std::move(made))};
}

Dict describe(const CodesType& type) {
  Dict made;
  made["format"] = to_string(type.quantization);
  made["storage"] = std::string(to_string(type.quantization.storage()));
  made["expressed"] = std::string(to_string(type.quantization.expressed()));
  const auto& uniform = type.quantization.uniform();
  if (uniform == nullptr) {
    const auto range = code_range_of(type.quantization.other().get());
    if (range) made["range"] = nb::make_tuple(range->first, range->second);
    return made;
  }
  const Granularity& groups = uniform->granularity;
  if (groups.kind != Granularity::Kind::tensor) made["axis"] = groups.axis;
  if (groups.kind == Granularity::Kind::block) made["block_size"] = groups.block_size;
  made["range"] = nb::make_tuple(uniform->storage_min, uniform->storage_max);
  made["scales"] = to_python(uniform->scales, value_of(uniform->scales.read()));
  if (uniform->zero_points) {
    made["zero_points"] = to_python(uniform->zero_points, value_of(uniform->zero_points.read()));
  }
  return made;
}

}  // namespace quadrant::python
