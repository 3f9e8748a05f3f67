// What makes one element of all along some axes, and what spreads such sums again: softmax, running
// sums.
#include "ir/ops/reductions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "io/openvino/chain.hpp"
#include "io/openvino/failure.hpp"
#include "io/openvino/real_operand.hpp"
#include "io/openvino/rules.hpp"
#include "ir/ops/elementwise.hpp"
#include "ir/ops/normalization.hpp"
#include "ir/ops/windows.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::openvino_ir {
namespace {

// --- reductions ----------------------------------------------------------------------------------

struct SameReduction {
  std::string_view type;
  std::string_view kind;
  std::string_view version = "opset1";
};
constexpr std::array same_reductions{
    SameReduction{"ReduceL1", ops::ReduceL1::kind, "opset4"},
    SameReduction{"ReduceL2", ops::ReduceL2::kind, "opset4"},
    SameReduction{"ReduceMax", ops::ReduceMax::kind},
    SameReduction{"ReduceMean", ops::ReduceMean::kind},
    SameReduction{"ReduceMin", ops::ReduceMin::kind},
    SameReduction{"ReduceProd", ops::ReduceProd::kind},
    SameReduction{"ReduceSum", ops::ReduceSum::kind},
};

/// The axes that are there are few: not all of them where the list is empty.
bool raise_reduction(RaisedLayer& layer) {
  const auto axes = layer.constant_integers(1);
  const Value list = axes ? layer.list("axes", *axes) : layer.wide(layer.input(1), "axes");
  const std::int64_t keeps = layer.flag("keep_dims", false) ? 1 : 0;
  const Attributes attributes{{"keepdims", keeps}, {"noop_with_empty_axes", std::int64_t{1}}};
  const auto* const found = std::ranges::find(same_reductions, layer.type(), &SameReduction::type);
  if (found != same_reductions.end()) {
    layer.make(found->kind, {layer.input(0), list}, attributes);
    return true;
  }
  // ReduceLogicalAnd and ReduceLogicalOr: the least and the largest of zeros and ones.
  const Value numbers =
      stepped(layer, ops::Cast::kind, {layer.input(0)},
              {{"to", element_type_number(ElementType::uint8)}}, ElementType::uint8);
  const bool is_and = layer.type() == "ReduceLogicalAnd";
  const Value extreme = stepped(layer, is_and ? ops::ReduceMin::kind : ops::ReduceMax::kind,
                                {numbers, list}, attributes);
  layer.make(ops::Cast::kind, {extreme}, {{"to", element_type_number(ElementType::boolean)}});
  return true;
}

/// Over which axes, and whether they stay.
struct ReducedAxes {
  Output axes;
  Data data;
};

/// Counted from the front on, for OpenVINO computes ahead what follows from constants, and then
/// treats it as it does constants; and all axes where the list is empty, which is none there.
Output computed_axes(LoweredNode& node) {
  const Output given = node.operand(1);
  const std::int64_t rank = node.type(0).shape.rank();
  if (rank == 0) return given;  // or unknown
  LayerChain chain(node);
  const Output count = chain.integer(rank);
  const Output axes = chain.pair({"FloorMod"}, given, count);
  const bool is_idle = node.attribute_or<std::int64_t>("noop_with_empty_axes", 0) != 0;
  if (is_idle || node.type(1).shape.element_count().value_or(0) > 0) return axes;
  const Output given_count = chain.element_of(chain.extents(given), 0);
  const Output is_given = chain.pair({"Minimum"}, given_count, chain.integer(1));
  const Output first = chain.pair({"Multiply"}, is_given, count);
  return chain.joined({axes, chain.apply({"Range", "opset4"}, {first, count, chain.integer(1)},
                                         {{"output_type", "i64"}})});
}

/// Empty where nothing is reduced.
std::optional<ReducedAxes> reduced_axes(LoweredNode& node) {
  ReducedAxes found;
  const bool keeps = node.attribute_or<std::int64_t>("keepdims", 1) != 0;
  found.data = {{"keep_dims", text_of(keeps)}};
  const bool is_computed = node.has(1) && !node.known_list(1);
  if (is_computed) {
    found.axes = computed_axes(node);
    return found;
  }
  const auto given = node.list(1, "axes");
  const bool has_axes = given && !given->empty();
  if (!has_axes && node.attribute_or<std::int64_t>("noop_with_empty_axes", 0) != 0) {
    return std::nullopt;
  }
  const Shape& shape = node.type(0).shape;
  if (has_axes || shape.is_ranked()) {
    auto axes = has_axes ? *given : axes_from(0, shape.rank());
    // OpenVINO takes those from the end for others where a Reshape in front adds axes.
    for (std::int64_t& axis : axes) {
      if (shape.is_ranked()) axis = normalize_axis(axis, shape.rank()).value_or(axis);
    }
    found.axes = node.integers("axes", axes);
    return found;
  }
  LayerChain chain(node);
  const Output rank = chain.element_of(chain.extents(chain.extents(node.operand(0))), 0);
  found.axes = chain.apply({"Range", "opset4"}, {chain.integer(0), rank, chain.integer(1)},
                           {{"output_type", "i64"}});
  return found;
}

/// Whether OpenVINO (in release 2026.4) exchanges the reduction and what moves axes in front of it,
/// and gives the result another shape.
bool is_exchanged(const NodeRef& node) {
  NodeRef maker{node.graph, node.operand(0).node};
  while (maker.kind() == ops::Identity::kind || maker.kind() == ops::Dropout::kind) {
    maker.id = maker.operand(0).node;
  }
  const bool keeps = node.attribute_or<std::int64_t>("keepdims", 1) != 0;
  return is_float(node.type().element) &&
         maker.kind() == (keeps ? ops::Unsqueeze::kind : ops::Transpose::kind);
}

/// Numbers for channels, or more, that are constants, or made of constants alone.
bool is_list(const GraphView& graph, Value value) {
  if (value.is_absent() || graph.type(value).shape.element_count() == 1) return false;
  constexpr std::size_t most = 32;  // operations that make it
  std::vector<NodeId> makers{value.node};
  for (std::size_t i = 0; i < makers.size(); ++i) {
    if (graph.constant(makers[i]) != nullptr) continue;
    if (graph.operands(makers[i]).empty() || makers.size() > most) return false;
    for (const Value operand : graph.operands(makers[i])) {
      if (!operand.is_absent()) makers.push_back(operand.node);
    }
  }
  return true;
}

/// Whether OpenVINO (in release 2026.4) computes the node's result and such a list in one loop:
/// behind a reduction of three axes, it takes the numbers of other channels.
bool reaches_a_list(const NodeRef& node) {
  constexpr std::size_t most = 32;  // operations on the way
  const GraphView& graph = *node.graph;
  const TensorType* const image = node.operand_type(0);
  if (image == nullptr || image->shape.rank() != 3 || !is_float(image->element)) return false;
  std::vector<NodeId> makers{node.id};
  for (std::size_t i = 0; i < makers.size(); ++i) {
    for (const Use& use : graph.uses(makers[i])) {
      const NodeRef reader{&graph, use.user};
      // What is stretched over the operand again is another loop.
      const bool is_joined =
          (has_trait(reader, Trait::keeps_shape) || has_trait(reader, Trait::stretches)) &&
          may_equal(reader.type().shape, node.type().shape);
      if (!is_joined) continue;
      if (std::ranges::any_of(reader.operands(),
                              [&](Value operand) { return is_list(graph, operand); })) {
        return true;
      }
      if (makers.size() < most && std::ranges::find(makers, use.user) == makers.end()) {
        makers.push_back(use.user);
      }
    }
  }
  return false;
}

/// A layer on the way that reduces `x`: of four axes where three are computed wrongly. Without what
/// keeps them apart, OpenVINO exchanges Unsqueeze and the reduction, and is back at three.
Output reduced(LoweredNode& node, const OpName& op, Output x, Output axes, const Data& data) {
  LayerChain chain(node);
  if (!reaches_a_list(node.node())) return chain.apply(op, {x, axes}, data);
  const Output longer = kept_apart(node, chain.apply({"Unsqueeze"}, {x, chain.integers({3})}));
  const Output less = chain.apply(op, {longer, axes}, data);
  // Of axes that are computed, the graph may not say how many are left.
  const Shape& made = node.result_type().shape;
  const std::int64_t last = made.is_ranked() ? made.rank() : -1;
  return chain.apply({"Squeeze"}, {less, chain.integers({last})});
}

void make_reduction(LoweredNode& node, const OpName& op, Output axes, const Data& data) {
  const Output image = is_exchanged(node.node())
                           ? kept_apart(node, node.operand(0))
                           : real_operand(node, 0, Scales::several_or_shifted);
  const bool is_extreme = op.type == "ReduceMax" || op.type == "ReduceMin";
  if (reaches_a_list(node.node())) {
    const Output made = reduced(node, op, image, axes, data);
    node.finish(is_extreme && node.is_among_codes() ? kept_apart(node, made) : made);
    return;
  }
  const std::array inputs{image, axes};
  is_extreme ? make_real(node, op, inputs, data) : node.make(op, inputs, data);
}

void lower_reduction(LoweredNode& node) {
  const auto* const found =
      std::ranges::find(same_reductions, node.node().kind(), &SameReduction::kind);
  const auto over = reduced_axes(node);
  if (!over) {
    node.alias(node.operand(0));
    return;
  }
  std::string_view type = found->type;
  if (node.type(0).element == ElementType::boolean) {
    type = type == "ReduceMin" ? "ReduceLogicalAnd" : "ReduceLogicalOr";
  }
  make_reduction(node, {type, found->version}, over->axes, over->data);
}

void lower_sum_of_squares(LoweredNode& node) {
  LayerChain chain(node);
  const Output square = chain.pair({"Multiply"}, node.operand(0), node.operand(0));
  const auto over = reduced_axes(node);
  if (!over) {
    node.finish(square);
    return;
  }
  node.finish(reduced(node, {"ReduceSum"}, square, over->axes, over->data));
}

void lower_log_of_sum(LoweredNode& node) {
  const auto over = reduced_axes(node);
  const Output sum = over ? reduced(node, {"ReduceSum"}, node.operand(0), over->axes, over->data)
                          : node.operand(0);
  node.make({"Log"}, std::array{sum});
}

/// m + log(sum(exp(x - m))) with m = max(x): no number on the way is too large.
void lower_log_of_sum_of_exponents(LoweredNode& node) {
  LayerChain chain(node);
  const Output x = node.operand(0);
  const auto over = reduced_axes(node);
  if (!over) {
    node.alias(x);
    return;
  }
  const Output kept = chain.apply({"ReduceMax"}, {x, over->axes}, {{"keep_dims", "true"}});
  const Output exponents = chain.apply({"Exp"}, {chain.pair({"Subtract"}, x, kept)});
  const Output sum = chain.apply({"ReduceSum"}, {exponents, over->axes}, over->data);
  const Output largest = chain.apply({"ReduceMax"}, {x, over->axes}, over->data);
  node.make({"Add"}, std::array{chain.apply({"Log"}, {sum}), largest},
            {{"auto_broadcast", "numpy"}});
}

// --- over whole images ---------------------------------------------------------------------------

void lower_global_pool(LoweredNode& node) {
  const std::string_view kind = node.node().kind();
  const auto p = node.attribute_or<std::int64_t>("p", 2);
  std::string_view type = kind == ops::GlobalMaxPool::kind ? "ReduceMax" : "ReduceMean";
  const Output axes = node.integers("axes", axes_from(2, node.ranked(0).rank()));
  const Data data{{"keep_dims", "true"}};
  if (kind == ops::GlobalLpPool::kind) {
    if (p != 1 && p != 2) {
      LayerChain chain(node);
      const Output powers = chain.power(node.operand(0), p);
      node.finish(chain.root(reduced(node, {"ReduceSum"}, powers, axes, data), p));
      return;
    }
    type = p == 1 ? "ReduceL1" : "ReduceL2";
  }
  make_reduction(node, {type, type.starts_with("ReduceL") ? "opset4" : "opset1"}, axes, data);
}

// --- softmax -------------------------------------------------------------------------------------

bool raise_softmax(RaisedLayer& layer) {
  const bool is_log = layer.type() == "LogSoftmax";
  layer.make(is_log ? ops::LogSoftmax::kind : ops::Softmax::kind, {layer.input(0)},
             {{"axis", layer.integer("axis", 1)}});
  return true;
}

void lower_softmax(LoweredNode& node) {
  const bool is_new = node.opset() >= 13;
  const std::int64_t axis = axis_of(node, is_new ? -1 : 1);
  const bool is_log = node.node().kind() == ops::LogSoftmax::kind;
  const OpName op{is_log ? "LogSoftmax" : "SoftMax", is_log ? "opset5" : "opset8"};
  const Data data{{"axis", std::to_string(axis)}};
  const Shape& shape = node.type(0).shape;
  const bool is_last = axis == -1 || (shape.is_ranked() && axis + 1 == shape.rank());
  if (is_new || is_last) {
    node.make(op, std::array{node.operand(0)}, data);
    return;
  }
  // Before opset 13 all axes from this one on were one.
  LayerChain chain(node);
  if (!shape.is_ranked()) impossible("an operand of unknown rank");
  std::vector<std::int64_t> as_they_are(static_cast<std::size_t>(axis), 0);
  Output extents = chain.count(axis, shape.rank());
  if (const auto known = known_count(shape, axis, shape.rank())) {
    as_they_are.push_back(*known);
    extents = chain.integers(as_they_are);
  } else if (axis > 0) {
    extents = chain.joined({chain.integers(as_they_are), extents});
  }
  const Output flat =
      chain.apply({"Reshape"}, {node.operand(0), extents}, {{"special_zero", "true"}});
  node.make({"Reshape"}, std::array{chain.apply(op, {flat}, data), chain.extents(node.operand(0))},
            {{"special_zero", "false"}});
}

// --- running sums --------------------------------------------------------------------------------

bool raise_running_sum(RaisedLayer& layer) {
  std::vector<Value> operands{layer.input(0)};
  if (layer.has_input(1)) {
    operands.push_back(layer.input(1));
  } else {
    operands.push_back(layer.constant(
        "axis", Constant::from_values<std::int64_t>(ElementType::int64, Shape::scalar(),
                                                    std::array{std::int64_t{0}})));
  }
  const auto as_number = [&](const char* name) {
    return std::int64_t{layer.flag(name, false) ? 1 : 0};
  };
  layer.make(ops::CumSum::kind, std::move(operands),
             {{"exclusive", as_number("exclusive")}, {"reverse", as_number("reverse")}});
  return true;
}

void lower_running_sum(LoweredNode& node) {
  LayerChain chain(node);
  const auto is_set = [&](std::string_view name) {
    return text_of(node.attribute_or<std::int64_t>(name, 0) != 0);
  };
  node.make({"CumSum", "opset3"}, std::array{node.operand(0), chain.scalar(1)},
            {{"exclusive", is_set("exclusive")}, {"reverse", is_set("reverse")}});
}

constexpr auto raised_reductions = [] {
  constexpr std::array others{
      RaiseRule{"CumSum", raise_running_sum},
      RaiseRule{"LogSoftmax", raise_softmax},
      RaiseRule{"ReduceLogicalAnd", raise_reduction},
      RaiseRule{"ReduceLogicalOr", raise_reduction},
      RaiseRule{"SoftMax", raise_softmax},
      RaiseRule{"Softmax", raise_softmax},
  };
  std::array<RaiseRule, same_reductions.size() + others.size()> rows{};
  std::size_t next = 0;
  for (const SameReduction& same : same_reductions) rows.at(next++) = {same.type, raise_reduction};
  for (const RaiseRule& other : others) rows.at(next++) = other;
  return rows;
}();

constexpr auto lowered_reductions = [] {
  constexpr std::array others{
      LowerRule{ops::CumSum::kind, lower_running_sum},
      LowerRule{ops::GlobalAveragePool::kind, lower_global_pool},
      LowerRule{ops::GlobalLpPool::kind, lower_global_pool},
      LowerRule{ops::GlobalMaxPool::kind, lower_global_pool},
      LowerRule{ops::LogSoftmax::kind, lower_softmax},
      LowerRule{ops::ReduceLogSum::kind, lower_log_of_sum},
      LowerRule{ops::ReduceLogSumExp::kind, lower_log_of_sum_of_exponents},
      LowerRule{ops::ReduceSumSquare::kind, lower_sum_of_squares},
      LowerRule{ops::Softmax::kind, lower_softmax},
  };
  std::array<LowerRule, same_reductions.size() + others.size()> rows{};
  std::size_t next = 0;
  for (const SameReduction& same : same_reductions) rows.at(next++) = {same.kind, lower_reduction};
  for (const LowerRule& other : others) rows.at(next++) = other;
  return rows;
}();

}  // namespace

Rules reductions_rules() noexcept { return {raised_reductions, lowered_reductions}; }

}  // namespace quadrant::inline v0::openvino_ir
