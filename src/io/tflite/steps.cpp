#include "io/tflite/steps.hpp"

#include <fmt/format.h>

#include "io/tflite/failure.hpp"
#include "ir/result_type.hpp"
#include "ir/scales.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::tflite {

std::string Steps::next_name() {
  return fmt::format("{}_part_{}", raising_.name(output_), ++count_);
}

Value Steps::apply(std::string_view kind, std::vector<Value> operands, Attributes attributes,
                   TensorType type) {
  Graph& graph = raising_.graph();
  const NodeId made = graph.add({.kind = std::string(kind),
                                 .operands = std::move(operands),
                                 .results = {{next_name(), std::move(type)}},
                                 .attributes = std::move(attributes)});
  const std::vector<TensorType> found = value_of(detail::infer_results(graph.ref(made)));
  if (!found.empty()) {
    graph.set_type({made}, value_of(detail::merge(graph.type({made}), found.front())));
  }
  return {made};
}

Value Steps::integers(const std::vector<std::int64_t>& values) {
  return raising_.integer_constant(next_name(), values);
}

Value Steps::constant(Constant contents) {
  return raising_.graph().add_constant(next_name(), std::move(contents));
}

Value Steps::number(double value, TensorId like) {
  const ElementType element = raising_.type(like).element;
  if (element == ElementType::float32) {
    const auto single = static_cast<float>(value);
    return constant(Constant::from_values(element, Shape::scalar(), std::span(&single, 1)));
  }
  const auto whole = static_cast<std::int64_t>(value);
  return constant(make_zero_points(element, Shape::scalar(), std::span(&whole, 1)));
}

Value Steps::reshape(Value from, const std::vector<std::int64_t>& extents) {
  return apply(ops::Reshape::kind, {from, integers(extents)});
}

Value Steps::unsqueeze(Value from, const std::vector<std::int64_t>& axes) {
  return apply(ops::Unsqueeze::kind, {from, integers(axes)});
}

Value Steps::cast(Value from, ElementType to) {
  return apply(ops::Cast::kind, {from}, {{"to", element_type_number(to)}});
}

void Steps::finish(std::string_view kind, std::vector<Value> operands, Attributes attributes) {
  raising_.add(kind, std::move(operands), output_, plain_axes(raising_.rank(output_)),
               std::move(attributes));
}

}  // namespace quadrant::inline v0::tflite
