#include "numerics/elementary_fake_quantize.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "ir/ops/elementwise.hpp"
#include "numerics/reals.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0 {
namespace {

class ElementaryFakeQuantize {
 public:
  ElementaryFakeQuantize(Graph& graph, NodeId node)
      : graph_(graph), view_{graph.ref(node)}, name_(graph.value_name({node})) {}

  Expected<std::vector<NodeId>> add_operators() {
    const auto levels = view_.levels();
    if (!levels) {
      return fail(ErrorCode::impossible, "the attribute 'levels' is missing or less than 2");
    }
    for (std::size_t i = 0; i <= bounds_.size(); ++i) {
      if (view_.node.operand(i).is_absent()) {
        return fail(ErrorCode::impossible, "a fake_quantize has five operands");
      }
    }
    const Value given = view_.node.operand(0);
    const ElementType element = graph_.type(given).element;
    if (!is_float(element)) {
      return fail(ErrorCode::impossible,
                  fmt::format("a fake_quantize of elements of type {}", to_string(element)));
    }
    // Half floats are computed in float32.
    const ElementType wide = is_wide_float(element) ? element : ElementType::float32;
    real_ = {wide, graph_.type(given).shape, nullptr};
    for (std::size_t i = 0; i < bounds_.size(); ++i) {
      QUADRANT_TRY(const Value bound, aligned(i + 1));
      bounds_[i] = cast(bound, wide);
    }
    cast(result(cast(given, wide), *levels), element);
    return std::move(made_);
  }

 private:
  Value result(Value x, std::int64_t levels) {
    const TensorType one_a_bound{real_.element, {}, nullptr};
    const TensorType condition{ElementType::boolean, real_.shape, nullptr};
    const std::array last{static_cast<double>(levels - 1)};
    const Value steps = graph_.add_constant(name_ + "_levels",
                                            rounded_constant(real_.element, Shape::scalar(), last));
    const auto [input_low, input_high, output_low, output_high] = bounds_;

    const Value input_span = add(ops::Sub::kind, {input_high, input_low}, one_a_bound);
    const Value output_span = add(ops::Sub::kind, {output_high, output_low}, one_a_bound);
    Value y = add(ops::Sub::kind, {x, input_low}, real_);
    y = add(ops::Div::kind, {y, input_span}, real_);
    y = add(ops::Multiply::kind, {y, steps}, real_);
    y = add(ops::Round::kind, {y}, real_);
    y = add(ops::Div::kind, {y, steps}, real_);
    y = add(ops::Multiply::kind, {y, output_span}, real_);
    y = add(ops::Add::kind, {y, output_low}, real_);

    const Value highest = add(ops::Max::kind, {input_low, input_high}, one_a_bound);
    const Value above = add(ops::Greater::kind, {x, highest}, condition);
    y = add(ops::Where::kind, {above, output_high, y}, real_);
    const Value lowest = add(ops::Min::kind, {input_low, input_high}, one_a_bound);
    const Value below = add(ops::LessOrEqual::kind, {x, lowest}, condition);
    return add(ops::Where::kind, {below, output_low, y}, real_);
  }

  /// A bound, of a shape that goes with X by numpy's rules, and has no more axes.
  Expected<Value> aligned(std::size_t operand) {
    const Value bound = view_.node.operand(operand);
    const TensorType type = graph_.type(bound);
    QUADRANT_TRY(const Shape wanted, view_.aligned(type.shape, real_.shape));
    const bool is_numpy = view_.broadcast() != ops::FakeQuantize::Broadcast::pdpd;
    if (is_numpy && (!wanted.is_ranked() || type.shape.rank() <= wanted.rank())) return bound;
    const auto asked = ops::Reshape::request(wanted);
    if (!asked) {
      return fail(ErrorCode::impossible, "bounds of a shape that is not known");
    }
    const std::string name(graph_.value_name(bound));
    if (const Constant* constant = view_.node.operand_constant(operand)) {
      return graph_.add_constant(name, constant->reshaped(wanted));
    }
    const Value shape = graph_.add_constant(
        name + "_shape",
        Constant::from_values<std::int64_t>(ElementType::int64, Shape{wanted.rank()}, *asked));
    return add(ops::Reshape::kind, {bound, shape}, {type.element, wanted, nullptr});
  }

  Value cast(Value value, ElementType to) {
    TensorType type = graph_.type(value);
    if (type.element == to) return value;
    type.element = to;
    return add(ops::Cast::kind, {value}, std::move(type), {{"to", element_type_number(to)}});
  }

  Value add(std::string_view kind, std::vector<Value> operands, TensorType type,
            Attributes attributes = {}) {
    made_.push_back(graph_.add({.kind = std::string(kind),
                                .operands = std::move(operands),
                                .results = {{name_, std::move(type)}},
                                .attributes = std::move(attributes)}));
    return {made_.back()};
  }

  Graph& graph_;
  ops::FakeQuantize view_;
  std::string name_;  // of the result
  TensorType real_;   // of X, and of what is computed of it
  std::array<Value, 4> bounds_;
  std::vector<NodeId> made_;
};

}  // namespace

Expected<std::vector<NodeId>> add_elementary_fake_quantize(Graph& graph, NodeId node) {
  return ElementaryFakeQuantize(graph, node).add_operators();
}

}  // namespace quadrant::inline v0
