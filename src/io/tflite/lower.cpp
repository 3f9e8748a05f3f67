#include "io/tflite/lower.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "io/tflite/element.hpp"
#include "io/tflite/failure.hpp"
#include "io/tflite/reals.hpp"
#include "io/tflite/rules.hpp"
#include "ir/result_type.hpp"
#include "ir/scales.hpp"
#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::tflite {
namespace {

/// Which scales those are that it has none for, and what would stay codes, where that is near.
std::string groups_text(const Quantization& type) {
  const Granularity groups = granularity_of(type);
  const bool has_blocks = groups.kind == Granularity::Kind::block;
  const bool is_near = bit_width(type.storage()) <= 8 && !Model::is_labelled(type);
  return fmt::format(
      "{}{}{}", groups.print(), is_near && !has_blocks ? ", with scales below zero" : "",
      is_near ? "; with scales above zero, for each channel or for the tensor, it has" : "");
}

/// The shape with what `other` knows besides.
Shape with_known(const Shape& stated, const Shape& other) {
  auto both = merged(stated, other);
  if (!both) {
    invalid(fmt::format("the result has shape [{}], but [{}] follows from the operands",
                        to_string(stated), to_string(other)));
  }
  return *std::move(both);
}

}  // namespace

schema::ShapeOptionsT int32_shape() {
  schema::ShapeOptionsT options;
  options.out_type = schema::TensorType::INT32;
  return options;
}

bool have_same_parameters(const TensorType& a, const TensorType& b) {
  if (a.is_quantized() != b.is_quantized() || a.element != b.element) return false;
  if (!a.is_quantized() || a.quantization == b.quantization) return true;
  if (!Model::is_labelled(a.quantization) || !Model::is_labelled(b.quantization)) return false;
  const Axes plain = plain_axes(a.shape.rank());
  return *Model::parameters(a.quantization, plain) == *Model::parameters(b.quantization, plain);
}

// --- values -------------------------------------------------------------------------------------

const TensorType& Lowering::type(Value value) const {
  if (value.is_absent()) invalid("an operand that it needs is missing");
  return graph_.type(value);
}

const Shape& Lowering::ranked(Value value) const {
  const Shape& shape = type(value).shape;
  if (!shape.is_ranked()) {
    impossible("its shape is not known", {.tensor = std::string(graph_.value_name(value))});
  }
  return shape;
}

const Constant* Lowering::constant(Value value) const noexcept {
  if (value.is_absent()) return nullptr;
  const Constant* found = graph_.constant(value.node);
  return found != nullptr && *found ? found : nullptr;
}

bool Lowering::is_free(Value value) const noexcept {
  if (constant(value)) return true;
  if (value.is_absent() || graph_.kind(value.node) != ops::Dequantize::kind) return false;
  return constant(graph_.operands(value.node)[0]) != nullptr;
}

std::vector<double> Lowering::exact_reals(Value value) const {
  if (!is_free(value)) impossible("is computed where a constant is needed");
  const bool is_real = graph_.kind(value.node) == ops::Dequantize::kind;
  const Value codes = is_real ? graph_.operands(value.node)[0] : value;
  return reals_of(*constant(codes), type(codes).quantization);
}

std::vector<float> Lowering::reals(Value value) const {
  const std::vector<double> exact = exact_reals(value);
  std::vector<float> result(exact.size());
  std::ranges::transform(exact, result.begin(),
                         [](double real) { return static_cast<float>(real); });
  return result;
}

std::vector<std::int64_t> Lowering::integers(Value value) const {
  const auto found = open_integers(value);
  std::vector<std::int64_t> numbers;
  for (const KnownInteger& integer : found.value_or(IntegerList{})) {
    if (integer.number) numbers.push_back(*integer.number);
  }
  if (!found || numbers.size() != found->size()) {
    impossible("integers that are computed where a constant is needed",
               {.tensor = value.is_absent() ? "" : std::string(graph_.value_name(value))});
  }
  return numbers;
}

bool Lowering::has_one_use(Value value) const noexcept {
  const std::span<const Use> uses = graph_.uses(value.node);
  const auto first = std::ranges::find(uses, value.result, &Use::result);
  return first != uses.end() &&
         std::ranges::find(first + 1, uses.end(), value.result, &Use::result) == uses.end();
}

// --- operands -----------------------------------------------------------------------------------

Axes Lowering::axes(Value value) const {
  const auto found = forms_.find(value);
  const bool has_form = found != forms_.end() && !found->second.empty();
  return !has_form || is_free(value) ? plain_axes(ranked(value).rank())
                                     : found->second.front().axes;
}

Axes Lowering::common_axes(std::span<const Value> values, std::int64_t rank) const {
  const auto moves = [&](Value value, const Axes& axes) {
    if (value.is_absent() || is_free(value)) return false;
    const Shape& shape = ranked(value);
    if (shape.rank() != rank) return shape.element_count() != 1 && !is_plain(axes);
    const auto found = forms_.find(value);
    return found != forms_.end() && std::ranges::none_of(found->second, [&](const Form& form) {
             return same_order(shape, form.axes, axes);
           });
  };
  // Few, so that what is compared does not grow with the square of the operands.
  constexpr std::size_t most_candidates = 8;
  std::vector<Axes> candidates;
  for (const Value value : values) {
    if (candidates.size() == most_candidates) break;
    if (value.is_absent() || is_free(value) || ranked(value).rank() != rank) continue;
    Axes axes = this->axes(value);
    if (std::ranges::find(candidates, axes) == candidates.end()) {
      candidates.push_back(std::move(axes));
    }
  }
  Axes best = plain_axes(rank);
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const Axes& axes : candidates) {
    std::int64_t moved = 0;
    for (const Value value : values) {
      if (moves(value, axes)) moved += shape(value).element_count().value_or(1);
    }
    if (moved < least) {
      least = moved;
      best = axes;
    }
  }
  return best;
}

TensorId Lowering::rearrange(TensorId from, const TensorType& type, const Axes& old_axes,
                             const Axes& new_axes, std::string_view name) {
  const TensorId to = model_.add_tensor(std::string(name), type, new_axes);
  if (same_order(type.shape, old_axes, new_axes)) {
    reshape(from, to, between(old_axes, new_axes));
    return to;
  }
  ++report_.transposes;
  model_.emit({BuiltinOperator::TRANSPOSE}, {from, model_.integers(between(old_axes, new_axes))},
              {to}, schema::TransposeOptionsT{});
  return to;
}

void Lowering::check_rank(Value value, const Axes& axes) const {
  if (ranked(value).rank() != static_cast<std::int64_t>(axes.size())) {
    invalid(fmt::format("{} dimensions, where {} follow", shape(value).rank(), axes.size()),
            {.tensor = std::string(graph_.value_name(value))});
  }
}

bool Lowering::is_read_by(Value value, std::string_view kind) const {
  return std::ranges::any_of(graph_.uses(value.node), [&](const Use& use) {
    return use.result == value.result && graph_.kind(use.user) == kind;
  });
}

TensorId Lowering::free_tensor(Value value, const Axes& axes, const Shape& shape) {
  const std::string name(graph_.value_name(value));
  if (const Constant* found = constant(value)) {
    return model_.add_constant(name, found->reshaped(shape), type(value).quantization, axes);
  }
  const Value codes = graph_.operands(value.node)[0];
  const Quantization quantization = type(codes).quantization;
  // LiteRT's XNNPACK leaves such an output as it was in memory.
  const bool is_given = is_plain(axes) && is_read_by(value, ops::Output::kind);
  if (is_given || !Model::has_kernel(BuiltinOperator::DEQUANTIZE, quantization)) {
    changed(graph_.ref(value.node),
            is_given ? "written as float: it is an output"
                     : fmt::format("written as float: TFLite has no DEQUANTIZE of {} by {}",
                                   to_string(quantization.storage()), groups_text(quantization)));
    const std::vector<float> numbers = reals(codes);
    return model_.add_constant(
        name, Constant::from_values(ElementType::float32, shape, std::span<const float>(numbers)),
        nullptr, axes);
  }
  const bool is_reshaped = shape != this->shape(value);
  const TensorId stored =
      is_reshaped ? model_.add_constant(std::string(graph_.value_name(codes)),
                                        constant(codes)->reshaped(shape), quantization, axes)
                  : tensor(codes, axes);
  const TensorId to = model_.add_tensor(name, {type(value).element, shape, nullptr}, axes);
  model_.emit({BuiltinOperator::DEQUANTIZE}, {stored}, {to}, schema::DequantizeOptionsT{});
  return to;
}

TensorId Lowering::tensor(Value value, const Axes& axes) {
  if (value.is_absent()) return no_tensor;
  check_rank(value, axes);
  const bool is_free_value = is_free(value);
  if (forms_[value].empty() && known_.contains(value)) compute(graph_.ref(value.node));
  const std::vector<Form>& forms = forms_[value];
  const auto found = std::ranges::find(forms, axes, &Form::axes);
  if (found != forms.end()) return found->tensor;
  if (forms.empty() && !is_free_value) {
    impossible(fmt::format("result {} of {}", value.result, graph_.kind(value.node)),
               {.tensor = std::string(graph_.value_name(value))});
  }
  TensorId made = no_tensor;
  if (is_free_value) {
    made = free_tensor(value, axes, shape(value));
  } else {
    // From one whose elements are in the right order already, if there is one.
    const auto near = std::ranges::find_if(
        forms, [&](const Form& form) { return same_order(shape(value), form.axes, axes); });
    const Form& from = near == forms.end() ? forms.front() : *near;
    made = rearrange(from.tensor, type(value), from.axes, axes,
                     fmt::format("{}_{}", graph_.value_name(value), fmt::join(axes, "")));
  }
  forms_[value].push_back({axes, made});
  return made;
}

TensorId Lowering::blocks(Value value, const Axes& axes, BuiltinOperator code) {
  if (value.is_absent() || constant(value) || !is_free(value)) return no_tensor;
  const Value codes = graph_.operands(value.node)[0];
  const Quantization quantization = type(codes).quantization;
  const Constant& contents = *constant(codes);
  // Blocks lie along the last axis.
  if (granularity_of(quantization).axis != axes.back() ||
      !litert_kernel(code).takes_blocks(quantization, contents.shape())) {
    return no_tensor;
  }
  std::vector<Form>& forms = blocks_[codes];
  const auto found = std::ranges::find(forms, axes, &Form::axes);
  if (found != forms.end()) return found->tensor;
  const TensorId made = model_.add_blocks(std::string(graph_.value_name(codes)), contents,
                                          *uniform_of(quantization), axes);
  forms.push_back({axes, made});
  return made;
}

TensorId Lowering::in_plain_order(Value value) {
  const Axes plain = plain_axes(ranked(value).rank());
  if (!is_free(value)) {
    for (const Form& form : forms_[value]) {
      if (same_order(shape(value), form.axes, plain)) return form.tensor;
    }
  }
  return tensor(value, plain);
}

TensorId Lowering::broadcast(Value value, const Axes& axes) {
  const Shape& from = ranked(value);
  const auto rank = static_cast<std::int64_t>(axes.size());
  if (from.rank() == rank) return tensor(value, axes);
  if (is_plain(axes) || from.rank() == 0 || from.element_count() == 1) return plain(value);
  TensorType wide = type(value);
  std::vector<Extent> extents(static_cast<std::size_t>(rank - from.rank()), 1);
  extents.insert(extents.end(), from.extents().begin(), from.extents().end());
  wide.shape = Shape(std::move(extents));
  const std::string name = fmt::format("{}_wide", graph_.value_name(value));
  if (granularity_of(wide.quantization).kind != Granularity::Kind::tensor) {
    impossible("scales for each index of an axis in an operation that broadcasts");
  }
  if (const Constant* found = constant(value)) {
    return model_.add_constant(name, found->reshaped(wide.shape), wide.quantization, axes);
  }
  const TensorId made = model_.add_tensor(name, wide, plain_axes(rank));
  Axes sources(static_cast<std::size_t>(rank - from.rank()), no_axis);
  std::ranges::copy(plain_axes(from.rank()), std::back_inserter(sources));
  reshape(plain(value), made, sources);
  return rearrange(made, wide, plain_axes(rank), axes, name + "_arranged");
}

// --- results ------------------------------------------------------------------------------------

void Lowering::settle(Value result, ElementType element, const Shape& shape) {
  TensorType settled = graph_.type(result);
  if (settled.element == ElementType::undefined) settled.element = element;
  settled.shape = with_known(settled.shape, shape);
  graph_.set_type(result, std::move(settled));
}

TensorId Lowering::define(Value result, const Axes& axes) {
  const TensorType& known = type(result);
  if (!known.shape.is_ranked() || known.element == ElementType::undefined) {
    impossible("its type is not known", {.tensor = std::string(graph_.value_name(result))});
  }
  check_rank(result, axes);
  if (known.is_quantized()) {
    const auto codes = uniform_of(known.quantization);
    if (integer_range(codes->storage) != IntegerRange{codes->storage_min, codes->storage_max}) {
      not_honoured(graph_.ref(result.node),
                   fmt::format("codes of {} from {} to {} alone", to_string(codes->storage),
                               codes->storage_min, codes->storage_max));
    }
  }
  const TensorId made = model_.add_tensor(std::string(graph_.value_name(result)), known, axes);
  alias(result, made, axes);
  return made;
}

void Lowering::alias(Value result, TensorId tensor, const Axes& axes) {
  forms_[result].push_back({axes, tensor});
  makers_.try_emplace(tensor, result);  // those that come later only have it, too
}

void Lowering::alias(Value result, Value source) {
  if (const Constant* found = constant(source)) {
    define_constant(result, *found);
    return;
  }
  if (is_free(source)) {
    alias(result, plain(source), plain_axes(shape(source).rank()));
    return;
  }
  forms_[result] = forms_[source];
}

void Lowering::define_constant(Value result, const Constant& constant) {
  const TensorType known = type(result);
  const NodeId made =
      graph_.add({.kind = std::string(ops::Constant::kind),
                  .results = {{fmt::format("{}_constant", graph_.value_name(result)),
                               {constant.element(), constant.shape(), known.quantization}}},
                  .constant = constant});
  graph_.replace_uses(result, {made});
}

std::string Lowering::name(NodeRef node, std::string_view what) const {
  return fmt::format("{}_{}", label(graph_, node.id), what);
}

TensorId Lowering::temporary(NodeRef node, std::string_view what, const TensorType& type) {
  return model_.add_tensor(name(node, what), type, plain_axes(type.shape.rank()));
}

// --- operators ----------------------------------------------------------------------------------

void Lowering::reshape(TensorId from, TensorId to) {
  const schema::TensorT& target = model_.tensor(to);
  schema::ReshapeOptionsT options;
  options.new_shape = target.shape_signature.empty() ? target.shape : target.shape_signature;
  if (std::ranges::count(options.new_shape, -1) > 1) {
    impossible("a shape of which more than one extent is unknown");
  }
  const TensorId shape = model_.integers(options.new_shape);
  model_.emit({BuiltinOperator::RESHAPE}, {from, shape}, {to}, std::move(options));
}

void Lowering::reshape(TensorId from, TensorId to, const Axes& sources) {
  if (std::ranges::count(model_.tensor(to).shape_signature, -1) <= 1) {
    reshape(from, to);
    return;
  }
  model_.emit({BuiltinOperator::RESHAPE}, {from, extents(from, to, sources)}, {to});
}

TensorId Lowering::extents(TensorId from, TensorId to, const Axes& sources) {
  const schema::TensorT& target = model_.tensor(to);
  if (target.shape_signature.empty()) return model_.integers(target.shape);
  const std::vector<std::int32_t> signature = target.shape_signature;
  const std::string name = target.name;
  const auto temporary = [&](std::string_view what, std::size_t count) {
    return model_.add_tensor(fmt::format("{}_{}", name, what),
                             {ElementType::int32, Shape{static_cast<std::int64_t>(count)}, nullptr},
                             plain_axes(1));
  };
  // All that there is to choose from: the extents of `from`, and numbers.
  const std::size_t rank = model_.tensor(from).shape.size();
  std::vector<std::int32_t> numbers;
  std::vector<std::int32_t> chosen;
  for (std::size_t i = 0; i < signature.size(); ++i) {
    const bool is_source = sources[i] != no_axis && signature[i] == -1;
    chosen.push_back(is_source ? sources[i] : static_cast<std::int32_t>(rank + numbers.size()));
    if (!is_source) numbers.push_back(signature[i]);
  }
  if (std::ranges::count(numbers, -1) > 1) {
    impossible("a shape of which more than one extent is unknown");
  }
  TensorId pool = temporary("operand_shape", rank);
  model_.emit({BuiltinOperator::SHAPE}, {from}, {pool}, int32_shape());
  if (!numbers.empty()) {
    const TensorId both = temporary("numbers", rank + numbers.size());
    model_.emit({BuiltinOperator::CONCATENATION}, {pool, model_.integers(numbers)}, {both},
                schema::ConcatenationOptionsT{});
    pool = both;
  }
  const TensorId made = temporary("extents", chosen.size());
  model_.emit({BuiltinOperator::GATHER}, {pool, model_.integers(chosen)}, {made},
              schema::GatherOptionsT{});
  return made;
}

namespace {

/// The activation that the operator applies to its result; null for one that cannot.
schema::ActivationFunctionType* activation_of(schema::OperatorT& op) {
  schema::BuiltinOptionsUnion& options = op.builtin_options;
  if (auto* conv = options.AsConv2DOptions()) return &conv->fused_activation_function;
  if (auto* depthwise = options.AsDepthwiseConv2DOptions()) {
    return &depthwise->fused_activation_function;
  }
  if (auto* transposed = options.AsTransposeConvOptions()) {
    return &transposed->fused_activation_function;
  }
  if (auto* dense = options.AsFullyConnectedOptions()) return &dense->fused_activation_function;
  if (auto* pool = options.AsPool2DOptions()) return &pool->fused_activation_function;
  if (auto* sum = options.AsAddOptions()) return &sum->fused_activation_function;
  if (auto* difference = options.AsSubOptions()) return &difference->fused_activation_function;
  if (auto* product = options.AsMulOptions()) return &product->fused_activation_function;
  return nullptr;
}

}  // namespace

bool Lowering::fuse(schema::ActivationFunctionType activation, Value operand, Value result) {
  const auto found = forms_.find(operand);
  if (is_free(operand) || found == forms_.end() || found->second.size() != 1) return false;
  const Form form = found->second.front();
  schema::OperatorT* op = model_.producer(form.tensor);
  schema::ActivationFunctionType* place = op ? activation_of(*op) : nullptr;
  if (!place || *place != schema::ActivationFunctionType::NONE) return false;
  // LiteRT's own kernel for these does not apply it.
  if (model_.reads_blocks(*op)) return false;
  // Each value that has the tensor, from the one that it was made for on, is read by the next
  // alone.
  const Value made = makers_[form.tensor];
  for (Value value = operand; value != made; value = graph_.operands(value.node)[0]) {
    const bool goes_on = has_one_use(value) && !graph_.operands(value.node).empty() &&
                         !graph_.operands(value.node)[0].is_absent();
    if (!goes_on) return false;
  }
  if (!has_one_use(operand) || !has_one_use(made) || type(operand).shape != type(result).shape) {
    return false;
  }
  const bool is_real = type(operand).is_quantized() || is_float(type(operand).element);
  if (!is_real || !have_same_parameters(type(operand), type(result))) return false;
  *place = activation;
  model_.tensor(form.tensor).name = std::string(graph_.value_name(result));
  alias(result, form.tensor, form.axes);
  makers_[form.tensor] = result;
  return true;
}

// --- the report ---------------------------------------------------------------------------------

void Lowering::report(std::vector<LeftAlone>& list, NodeRef node, std::string what) {
  const std::string_view who = label(graph_, node.id);
  if (options_.sink) options_.sink->report({Severity::note, what, {.node = std::string(who)}});
  list.push_back({std::string(who), std::move(what)});
}

void Lowering::decomposed(NodeRef node, std::string how) {
  report(report_.decomposed, node, std::move(how));
}
void Lowering::changed(NodeRef node, std::string how) {
  report(report_.changed, node, std::move(how));
}
void Lowering::not_honoured(NodeRef node, std::string what) {
  report(report_.not_honoured, node, std::move(what));
}

}  // namespace quadrant::inline v0::tflite
