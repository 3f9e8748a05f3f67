// The order in which a graph is lowered, and what is the same for all operations.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "io/tflite/element.hpp"
#include "io/tflite/failure.hpp"
#include "io/tflite/lower.hpp"
#include "io/tflite/raw_operator.hpp"
#include "io/tflite/rules.hpp"
#include "ir/ops/places.hpp"
#include "ir/result_type.hpp"
#include "ir/scales.hpp"
#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::tflite {
namespace {

/// Integers and booleans.
bool is_whole(ElementType element) {
  return is_integer(element) || element == ElementType::boolean;
}

bool is_data(const TensorType& type) { return type.is_quantized() || is_float(type.element); }

/// Whether tensors of the file can say what the codes of this node's values mean.
bool has_only_labels(NodeRef node) {
  const auto is_labelled = [](const TensorType* type) {
    return !type || !type->is_quantized() || Model::is_labelled(type->quantization);
  };
  for (std::size_t i = 0; i < node.operands().size(); ++i) {
    if (!is_labelled(node.operand_type(i))) return false;
  }
  for (std::uint32_t result = 0; result < node.graph->result_count(node.id); ++result) {
    if (!is_labelled(&node.type(result))) return false;
  }
  return true;
}

/// The operands of a node that hold its data: the same types have to be there for all of them.
std::vector<std::uint32_t> data_of(const Rule& rule, NodeRef node) {
  std::vector<std::uint32_t> data;
  const std::size_t end = std::min(node.operands().size(), rule.first + rule.data);
  for (std::size_t i = rule.first; i < end; ++i) {
    const TensorType* type = node.operand_type(i);
    if (type && (is_data(*type) || is_whole(type->element))) {
      data.push_back(static_cast<std::uint32_t>(i));
    }
  }
  return data;
}

/// Whether a kernel that computes on codes of type `first` takes others beside it.
bool takes_beside(const Rule& rule, BuiltinOperator code, const TensorType& first,
                  const TensorType& other) {
  if (rule.weights) {
    return litert_kernel(code).refuse_weights(first.element, other.quantization) == nullptr;
  }
  if (!litert_kernel(code).takes_codes(other.quantization)) return false;
  if (!rule.same && other.element != first.element) return false;
  // Comparisons of 8 bits bring their operands to one scale; others compare the codes.
  const bool compares_codes = rule.codes == Codes::operands && bit_width(first.element) > 8;
  return !compares_codes || have_same_parameters(first, other);
}

/// Whether a kernel takes the data operands, which are codes, side by side.
bool agree(const Rule& rule, BuiltinOperator code, NodeRef node,
           const std::vector<std::uint32_t>& data) {
  const TensorType& first = *node.operand_type(data.front());
  return litert_kernel(code).takes_codes(first.quantization) &&
         std::all_of(data.begin() + 1, data.end(), [&](std::uint32_t i) {
           return takes_beside(rule, code, first, *node.operand_type(i));
         });
}

float scale_of(const Quantization& type) { return value_of(read_scales(type)).front(); }

/// Whether the kernel computes on the codes of this node's values.
bool computes_on_codes(const Rule& rule, const Lowering& lowering, NodeRef node) {
  if (rule.codes == Codes::any) return true;
  if (rule.codes == Codes::none || !has_only_labels(node)) return false;
  const std::vector<std::uint32_t> data = data_of(rule, node);
  const auto is_code = [&](std::uint32_t i) { return node.operand_type(i)->is_quantized(); };
  if (data.empty() || !std::ranges::all_of(data, is_code)) return false;
  if (rule.fits && !rule.fits(node)) return false;
  const BuiltinOperator code = kernel_code(rule, lowering, node);
  if (!agree(rule, code, node, data)) return false;
  if (rule.codes == Codes::operands) return true;
  for (std::uint32_t result = 0; result < node.graph->result_count(node.id); ++result) {
    const TensorType& type = node.type(result);
    if (!type.is_quantized() || !litert_kernel(code).takes_codes(type.quantization)) return false;
    if (!rule.same && type.element != node.operand_type(data.front())->element) return false;
    // Finer codes than the kernel's are not to be had from it.
    const auto fixed = litert_kernel(code).results.of(type.element);
    if (!fixed) continue;
    const auto codes = uniform_of(type.quantization);
    const auto scale = static_cast<double>(scale_of(codes));
    const bool is_finer = scale < static_cast<double>(fixed->scale);
    if (is_finer && !fixed->is_near(scale, codes->storage_max - codes->storage_min)) return false;
  }
  return true;
}

bool has_codes(NodeRef node) {
  for (std::size_t i = 0; i < node.operands().size(); ++i) {
    const TensorType* type = node.operand_type(i);
    if (type && type->is_quantized()) return true;
  }
  for (std::uint32_t result = 0; result < node.graph->result_count(node.id); ++result) {
    if (node.type(result).is_quantized()) return true;
  }
  return false;
}

/// Numbers that are codes for some and plain for others of the node's values have no meaning.
void check_mixture(const Rule& rule, NodeRef node) {
  if (rule.codes != Codes::all) return;
  const auto check = [](const TensorType* type) {
    if (type && !type->is_quantized() && is_integer(type->element)) {
      impossible("plain integers and codes in one operation");
    }
  };
  for (std::size_t i = rule.first; i < std::min(node.operands().size(), rule.first + rule.data);
       ++i) {
    check(node.operand_type(i));
  }
  for (std::uint32_t result = 0; result < node.graph->result_count(node.id); ++result) {
    check(&node.type(result));
  }
}

/// Whether all that an operation gives is plain integers. Codes that it moves are such, too, then:
/// their parameters lie along an axis that the result does not have, and somebody else knows them.
bool gives_plain_integers(NodeRef node) {
  for (std::uint32_t result = 0; result < node.graph->result_count(node.id); ++result) {
    const TensorType& type = node.type(result);
    if (type.is_quantized() || !is_integer(type.element)) return false;
  }
  return true;
}

/// Whether codes of both types have the same parameters one after the other, whichever axis these
/// lie along: the types before and behind a move.
bool have_same_numbers(const TensorType& a, const TensorType& b) {
  if (a.is_quantized() != b.is_quantized() || a.element != b.element) return false;
  if (!a.is_quantized() || a.quantization == b.quantization) return true;
  const Granularity::Kind groups = granularity_of(a.quantization).kind;
  if (groups != granularity_of(b.quantization).kind) return false;
  // The scales of blocks move with them; that they did was verified.
  if (groups == Granularity::Kind::block) return true;
  return value_of(read_scales(a.quantization)) == value_of(read_scales(b.quantization)) &&
         value_of(read_zero_points(a.quantization)) == value_of(read_zero_points(b.quantization));
}

/// Kernels compute in float32; the others only hold and convert these.
bool has_kernel_type(ElementType element) {
  constexpr std::array others{ElementType::float16, ElementType::bfloat16, ElementType::float64};
  return std::ranges::find(others, element) == others.end();
}

void check_elements(NodeRef node) {
  if (node.kind() == ops::Cast::kind) return;
  for (std::size_t i = 0; i < node.operands().size(); ++i) {
    const TensorType* type = node.operand_type(i);
    if (type && !has_kernel_type(type->element)) {
      impossible(fmt::format("computes in {}, TFLite in f32", to_string(type->element)));
    }
  }
}

}  // namespace

void Lowering::infer(NodeRef node) {
  const auto inferred = detail::infer_results(node);
  if (!inferred) throw Failure{inferred.error()};
  for (std::uint32_t result = 0; result < inferred->size(); ++result) {
    const TensorType& found = (*inferred)[result];
    if (found.shape.is_ranked() || found.element != ElementType::undefined) {
      settle(node.result(result), found.element, found.shape);
    }
  }
}

void Lowering::take_labels_off(NodeRef node) {
  for (std::uint32_t i = 0; i < node.operands().size(); ++i) {
    const Value codes = node.operand(i);
    if (codes.is_absent() || !type(codes).is_quantized()) continue;
    const NodeId plain = add_conversion(ops::StorageCast::kind, codes, "_plain",
                                        {type(codes).element, shape(codes), nullptr});
    graph_.set_operand(node.id, i, {plain});
    lower(graph_.ref(plain));
  }
}

std::vector<NodeId> Lowering::make_real(NodeRef node) {
  decomposed(
      node, fmt::format("{} computes in float: TFLite has no kernel for these codes", node.kind()));
  for (std::uint32_t i = 0; i < node.operands().size(); ++i) {
    const Value codes = node.operand(i);
    if (codes.is_absent() || !type(codes).is_quantized()) continue;
    auto [entry, is_new] = real_values_.try_emplace(codes);
    if (is_new) {
      entry->second = {add_conversion(ops::Dequantize::kind, codes, dequantized_ending,
                                      type(codes).expressed())};
      if (!is_free(entry->second)) lower(graph_.ref(entry->second.node));
    }
    graph_.set_operand(node.id, i, entry->second);
  }
  const Readers readers = readers_of(node);
  std::vector<NodeId> quantizers;
  for (std::uint32_t i = 0; i < graph_.result_count(node.id); ++i) {
    const Value result = node.result(i);
    if (!type(result).is_quantized()) continue;
    std::ranges::copy(compute_as(result, type(result).expressed(), readers[i]),
                      std::back_inserter(quantizers));
  }
  return quantizers;
}

namespace {

/// The nearest type of integers that the kernel takes, which has room for `narrow`.
ElementType wide_type(BuiltinOperator code, ElementType narrow) {
  for (const ElementType wide : {ElementType::int32, ElementType::int64}) {
    const bool has_room = bit_width(narrow) < bit_width(wide);
    if (has_room && litert_kernel(BuiltinOperator::CAST).takes_plain(narrow) &&
        litert_kernel(code).takes_plain(wide)) {
      return wide;
    }
  }
  impossible(fmt::format(
      "TFLite has no kernel for plain {}, nor one for wider integers: cast the operands "
      "to f32 where that is exact enough, or quantize them",
      to_string(narrow)));
}

}  // namespace

std::vector<NodeId> Lowering::widen(NodeRef node, const Rule& rule) {
  const std::vector<std::uint32_t> data = data_of(rule, node);
  if (rule.codes == Codes::any || data.empty()) return {};
  const ElementType narrow = node.operand_type(data.front())->element;
  const BuiltinOperator code = kernel_code(rule, *this, node);
  if (!is_whole(narrow) || litert_kernel(code).takes_plain(narrow)) return {};
  const ElementType wide = wide_type(code, narrow);
  decomposed(node, fmt::format("computes in {} between CASTs: TFLite has no kernel for plain {}",
                               to_string(wide), to_string(narrow)));
  for (std::uint32_t i = 0; i < node.operands().size(); ++i) {
    const TensorType* type = node.operand_type(i);
    if (type && type->element == narrow)
      graph_.set_operand(node.id, i, widened(node.operand(i), wide));
  }
  const Readers readers = readers_of(node);
  std::vector<NodeId> casts;
  for (std::uint32_t i = 0; i < graph_.result_count(node.id); ++i) {
    const Value result = node.result(i);
    TensorType type = graph_.type(result);
    if (type.element != narrow) continue;
    type.element = wide;
    graph_.set_type(result, std::move(type));
    casts.push_back(add_cast(result, "_narrow", narrow));
    hand_over({casts.back()}, readers[i]);
  }
  return casts;
}

Value Lowering::widened(Value narrow, ElementType wide) {
  auto [entry, is_new] = wide_values_[wide].try_emplace(narrow);
  if (!is_new) return entry->second;
  const Constant* integers = constant(narrow);
  if (integers && is_integer(integers->element())) {
    const auto values = value_of(read_integers(*integers, integers->element_count()));
    const Constant wider = make_zero_points(wide, integers->shape(), values);
    entry->second = {
        graph_.add({.kind = std::string(ops::Constant::kind),
                    .results = {{fmt::format("{}_{}", graph_.value_name(narrow), to_string(wide)),
                                 {wide, wider.shape(), nullptr}}},
                    .constant = wider})};
  } else {
    const NodeId cast = add_cast(narrow, fmt::format("_{}", to_string(wide)), wide);
    entry->second = {cast};
    lower(graph_.ref(cast));
  }
  return entry->second;
}

NodeId Lowering::add_cast(Value operand, std::string_view ending, ElementType to) {
  TensorType type = graph_.type(operand);
  type.element = to;
  const NodeId cast = add_conversion(ops::Cast::kind, operand, ending, std::move(type));
  graph_.set_attribute(cast, "to", element_type_number(to));
  return cast;
}

NodeId Lowering::add_conversion(std::string_view kind, Value operand, std::string_view ending,
                                TensorType type) {
  return graph_.add(
      {.kind = std::string(kind),
       .operands = {operand},
       .results = {{fmt::format("{}{}", graph_.value_name(operand), ending), std::move(type)}}});
}

std::vector<NodeId> Lowering::add_quantize(Value from, TensorType codes) {
  std::vector<NodeId> added;
  const TensorType type = graph_.type(from);
  if (type.is_quantized()) {
    added.push_back(
        add_conversion(ops::Dequantize::kind, from, dequantized_ending, type.expressed()));
  }
  added.push_back(add_conversion(ops::Quantize::kind, added.empty() ? from : Value{added[0]},
                                 quantized_ending, std::move(codes)));
  return added;
}

std::vector<NodeId> Lowering::compute_as(Value result, TensorType computed,
                                         const std::vector<Use>& readers) {
  const TensorType wanted = type(result);
  graph_.set_type(result, std::move(computed));
  std::vector<NodeId> added = add_quantize(result, wanted);
  hand_over({added.back()}, readers);
  return added;
}

void Lowering::compute_by(NodeRef node, Expected<std::vector<NodeId>> (*add)(Graph&, NodeId)) {
  const Value result = node.result();
  const Readers readers = readers_of(node);
  const std::vector<NodeId> made = value_of(add(graph_, node.id));
  hand_over({made.back()}, readers.front());
  std::string name(graph_.value_name(result));
  graph_.set_value_name(result, name + "_replaced");
  graph_.set_value_name({made.back()}, std::move(name));
  for (const NodeId id : made) lower(graph_.ref(id));
}

Lowering::Readers Lowering::readers_of(NodeRef node) const {
  Readers readers(graph_.result_count(node.id));
  for (const Use& use : graph_.uses(node.id)) readers[use.result].push_back(use);
  return readers;
}

void Lowering::hand_over(Value from, const std::vector<Use>& readers) {
  for (const Use& use : readers) graph_.set_operand(use.user, use.operand, from);
}

namespace {

/// `type` of what is moved, as a result of `shape` has it: along the axis that the scales' axis
/// becomes.
TensorType kept_type(NodeRef node, TensorType type, const Shape& shape) {
  type.shape = shape;
  const Move* move = find_move(node);
  const auto codes = uniform_of(type.quantization);
  if (codes->granularity.kind != Granularity::Kind::axis || !move) return type;
  for (std::int64_t axis = 0; axis < shape.rank(); ++axis) {
    const Granularity groups = Granularity::per_axis(axis);
    if (move->source(node, groups) != codes->granularity) continue;
    auto moved = std::make_shared<UniformType>(*codes);
    moved->granularity = groups;
    type.quantization = std::move(moved);
    break;
  }
  return type;
}

}  // namespace

std::vector<NodeId> Lowering::unify(NodeRef node, const Rule& rule) {
  std::vector<std::uint32_t> data;
  const std::size_t end = std::min(node.operands().size(), rule.first + rule.data);
  for (auto i = static_cast<std::uint32_t>(rule.first); i < end; ++i) {
    if (node.operand_type(i) && node.operand_type(i)->is_quantized()) data.push_back(i);
  }
  if (data.empty()) return {};
  // One operand: its parameters stay. Several: those of the result are what they have to share.
  const bool is_single = data.size() == 1 && !rule.as_result;
  TensorType wanted = is_single ? type(node.operand(data.front())) : type(node.result());
  std::unordered_map<Value, Value> anew;
  for (const std::uint32_t i : data) {
    const Value operand = node.operand(i);
    if (have_same_parameters(type(operand), wanted)) continue;
    if (const auto found = anew.find(operand); found != anew.end()) {
      graph_.set_operand(node.id, i, found->second);
      continue;
    }
    changed(node, fmt::format("{} is quantized anew: all operands have the result's parameters",
                              graph_.value_name(operand)));
    TensorType same = wanted;
    same.shape = shape(operand);
    const std::vector<NodeId> added = add_quantize(operand, std::move(same));
    for (const NodeId id : added) lower(graph_.ref(id));
    anew.emplace(operand, Value{added.back()});
    graph_.set_operand(node.id, i, {added.back()});
  }
  const Readers readers = readers_of(node);
  std::vector<NodeId> quantizers;
  for (std::uint32_t i = 0; i < graph_.result_count(node.id); ++i) {
    const Value result = node.result(i);
    if (!type(result).is_quantized()) continue;
    TensorType same = kept_type(node, wanted, shape(result));
    if (have_same_parameters(type(result), same)) continue;
    changed(node, "the result is quantized anew: the operator keeps its operand's parameters");
    std::ranges::copy(compute_as(result, std::move(same), readers[i]),
                      std::back_inserter(quantizers));
  }
  return quantizers;
}

std::vector<NodeId> Lowering::fix_result(NodeRef node, const Rule& rule) {
  const Value result = node.result();
  TensorType type = graph_.type(result);
  const auto fixed = litert_kernel(kernel_code(rule, *this, node)).results.of(type.element);
  if (!fixed) return {};
  if (fixed->has_any_zero && scale_of(type.quantization) == fixed->scale) return {};
  auto codes = std::make_shared<UniformType>(*uniform_of(type.quantization));
  codes->granularity = Granularity::per_tensor();
  codes->scales = make_scales(ElementType::float32, Shape::scalar(), {fixed->scale});
  codes->zero_points = make_zero_points(type.element, Shape::scalar(), std::span(&fixed->zero, 1));
  type.quantization = std::move(codes);
  if (have_same_parameters(graph_.type(result), type)) return {};
  changed(node, "the result is quantized anew: the operator's codes have parameters of their own");
  return compute_as(result, std::move(type), readers_of(node).front());
}

bool Lowering::fold(NodeRef node) {
  auto known = known_integers(graph_, node, known_);
  if (!known) return false;
  const Value result = node.result();
  const auto count = static_cast<std::int64_t>(known->size());
  if (node.kind() == ops::ShapeOf::kind) settle(result, ElementType::int64, Shape{count});
  const Shape shape = type(result).shape;
  if (shape.element_count() != count) return false;
  std::vector<std::int64_t> numbers;
  for (const KnownInteger& integer : *known) {
    if (integer.number) numbers.push_back(*integer.number);
  }
  if (numbers.size() != known->size()) {
    know(result, *std::move(known));  // computed when somebody asks for more
    return true;
  }
  const std::vector<std::int32_t> small(numbers.begin(), numbers.end());
  define_constant(result, type(result).element == ElementType::int32
                              ? Constant::from_values(ElementType::int32, shape,
                                                      std::span<const std::int32_t>(small))
                              : Constant::from_values(ElementType::int64, shape,
                                                      std::span<const std::int64_t>(numbers)));
  return true;
}

bool Lowering::fold_move(NodeRef node) {
  const bool is_transpose = node.kind() == ops::Transpose::kind;
  if (!is_transpose && !has_trait(node, Trait::keeps_order)) return false;
  const Constant* moved_constant = constant(node.operand(0));
  const Value result = node.result();
  if (!moved_constant || !have_same_numbers(type(node.operand(0)), type(result))) return false;
  const Shape shape = type(result).shape;
  if (!shape.is_static() || shape.element_count() != moved_constant->element_count()) return false;
  if (!is_transpose) {
    define_constant(result, moved_constant->reshaped(shape));
    return true;
  }
  const std::vector<std::int64_t> perm = ops::Transpose{node}.perm();
  if (static_cast<std::int64_t>(perm.size()) != moved_constant->shape().rank()) return false;
  define_constant(result, arranged(*moved_constant, Axes(perm.begin(), perm.end())));
  return true;
}

void Lowering::lower(NodeRef node) {
  if (!find_rule(node.kind()) && !is_raw_kind(node.kind())) impossible(std::string(node.kind()));
  infer(node);
  if (!fold(node) && !fold_move(node)) compute(node);
}

void Lowering::compute(NodeRef node) {
  const Rule* rule = find_rule(node.kind());
  if (!rule) {
    lower_raw(*this, node);
    return;
  }
  check_elements(node);
  if (rule->codes == Codes::all && find_move(node) && gives_plain_integers(node)) {
    take_labels_off(node);
  }
  std::vector<NodeId> followers;
  if (!has_codes(node)) {
    followers = widen(node, *rule);
  } else {
    check_mixture(*rule, node);
    if (!computes_on_codes(*rule, *this, node)) {
      followers = make_real(node);
    } else if (rule->same) {
      followers = unify(node, *rule);
    } else if (rule->codes == Codes::all) {
      followers = fix_result(node, *rule);
    }
  }
  rule->lower(*this, node, *rule);
  for (const NodeId follower : followers) lower(graph_.ref(follower));
}

void Lowering::try_lower(NodeRef node) {
  const std::string kind(node.kind());
  for (const Value operand : node.operands()) {
    if (!missing_.contains(operand)) continue;
    for (std::uint32_t i = 0; i < graph_.result_count(node.id); ++i) {
      missing_.insert(node.result(i));
    }
    return;
  }
  try {
    lower(node);
  } catch (Failure& failure) {
    if (failure.error.code != ErrorCode::impossible) {
      if (failure.error.place == Place{}) failure.error.place = detail::place_of(node);
      throw;
    }
    std::string why = failure.error.message == kind
                          ? fmt::format("{} has no counterpart", kind)
                          : fmt::format("{}: {}", kind, failure.error.message);
    const auto found = std::ranges::find(refused_, why, &Refused::why);
    Refused& refused =
        found != refused_.end() ? *found : refused_.emplace_back(Refused{std::move(why), {}});
    refused.nodes.emplace_back(label(graph_, node.id));
    for (std::uint32_t i = 0; i < graph_.result_count(node.id); ++i) {
      missing_.insert(node.result(i));
    }
  }
}

void Lowering::fail_with_all() {
  if (refused_.empty()) return;
  std::vector<std::string> parts;
  parts.reserve(refused_.size());
  for (const Refused& refused : refused_) {
    parts.push_back(fmt::format("{} ({})", refused.why, fmt::join(refused.nodes, ", ")));
  }
  impossible(fmt::format("TFLite cannot hold the model: {}", fmt::join(parts, "; ")));
}

TensorId Lowering::output_tensor(NodeId output) {
  const Value value = graph_.operands(output)[0];
  const std::string_view given = graph_.name(output);
  const std::string name(given.empty() ? graph_.value_name(value) : given);
  const TensorId id = plain(value);
  // A name and a place in the file are for one output; an input or a constant keeps its own.
  const bool is_own = model_.producer(id) != nullptr && !named_.contains(id);
  if (is_own) {
    named_.insert(id);
    model_.tensor(id).name = name;
    return id;
  }
  const TensorId copy = model_.add_tensor(name, type(value), plain_axes(shape(value).rank()));
  reshape(id, copy, plain_axes(shape(value).rank()));
  named_.insert(copy);
  return copy;
}

std::vector<bool> Lowering::needed() const {
  std::vector<bool> is_needed(graph_.index_bound(), false);
  std::vector<NodeId> open(graph_.outputs().begin(), graph_.outputs().end());
  while (!open.empty()) {
    const NodeId node = open.back();
    open.pop_back();
    if (is_needed[node.index]) continue;
    is_needed[node.index] = true;
    for (const Value operand : graph_.operands(node)) {
      if (!operand.is_absent()) open.push_back(operand.node);
    }
  }
  return is_needed;
}

std::vector<std::byte> Lowering::run() {
  Tensors inputs;
  for (const NodeId input : graph_.inputs()) {
    inputs.push_back(define({input}, plain_axes(ranked({input}).rank())));
    if (!graph_.name(input).empty()) model_.tensor(inputs.back()).name = graph_.name(input);
  }
  const std::vector<bool> is_needed = needed();
  for (const NodeId id : value_of(topological_order(graph_))) {
    if (!is_needed[id.index]) continue;
    const NodeRef node = graph_.ref(id);
    const std::string_view kind = node.kind();
    if (kind == ops::Input::kind || kind == ops::Constant::kind || kind == ops::Output::kind) {
      continue;
    }
    try_lower(node);
  }
  fail_with_all();
  Tensors outputs;
  for (const NodeId output : graph_.outputs()) outputs.push_back(output_tensor(output));
  report_.operators = model_.operator_count();
  return model_.finish(inputs, outputs, options_.description);
}

}  // namespace quadrant::inline v0::tflite
