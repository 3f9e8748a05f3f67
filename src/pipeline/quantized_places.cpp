#include "pipeline/quantized_places.hpp"

#include <fmt/format.h>

#include <span>
#include <utility>

#include "ir/float_name.hpp"
#include "ir/ops/elementwise.hpp"
#include "ir/ops/normalization.hpp"
#include "quadrant/calibration/sensitivity.hpp"
#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/numerics/encode.hpp"
#include "quadrant/numerics/statistics.hpp"
#include "quadrant/pipeline/kernels_target.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "quadrant/transforms/prepare.hpp"

namespace quadrant::inline v0 {
namespace {

// A weight that was equalized is no rounded form of the float one: codes of 2 bits have more.
constexpr double least_weight_sqnr_db = 6;

std::vector<Use> uses_of(const Graph& graph, Value value) {
  std::vector<Use> found;
  for (const Use& use : graph.uses(value.node)) {
    if (use.result == value.result) found.push_back(use);
  }
  return found;
}

Value dequantized_in(Graph& graph, Value codes) {
  for (const Use& use : uses_of(graph, codes)) {
    if (graph.kind(use.user) == ops::Dequantize::kind) return {use.user};
  }
  return {graph.add({.kind = std::string(ops::Dequantize::kind),
                     .operands = {codes},
                     .results = {{{}, graph.type(codes).expressed()}}})};
}

// What moves codes, once more, on real values: `real` is operand `operand` of it.
NodeId move_reals(Graph& graph, NodeId node, std::uint32_t operand, Value real) {
  NodeSpec spec{.kind = std::string(graph.kind(node)), .attributes = graph.attributes(node)};
  const std::vector<Value> operands(graph.operands(node).begin(), graph.operands(node).end());
  for (std::uint32_t i = 0; i < operands.size(); ++i) {
    Value value = i == operand ? real : operands[i];
    const bool is_coded = !value.is_absent() && graph.type(value).is_quantized();
    if (is_coded) value = dequantized_in(graph, value);
    spec.operands.push_back(value);
  }
  for (std::uint32_t i = 0; i < graph.result_count(node); ++i) {
    spec.results.push_back({{}, graph.type({node, i}).expressed()});
  }
  return graph.add(std::move(spec));
}

void replace(Graph& graph, Value codes, Value real) {
  for (const Use& use : uses_of(graph, codes)) {
    if (graph.kind(use.user) == ops::Dequantize::kind) {
      graph.replace_uses({use.user}, real);
    } else if (graph.type({use.user}).is_quantized() &&
               !is_defined_on_codes(graph.kind(use.user))) {
      const NodeId moved = move_reals(graph, use.user, use.operand, real);
      for (std::uint32_t i = 0; i < graph.result_count(use.user); ++i) {
        replace(graph, {use.user, i}, {moved, i});
      }
    }
  }
}

// The values within limits.
Value limited(Graph& graph, Value value, const FloatRange& limits) {
  const TensorType type = graph.type(value);
  if (type.element != ElementType::float32) return value;
  for (const auto& [kind, limit] :
       {std::pair(ops::Max::kind, limits.min), std::pair(ops::Min::kind, limits.max)}) {
    const Value constant = graph.add_constant(
        {}, Constant::from_values<float>(ElementType::float32, Shape::scalar(), {{limit}}));
    value = {graph.add(
        {.kind = std::string(kind), .operands = {value, constant}, .results = {{{}, type}}})};
  }
  return value;
}

// The same weight, and what there is of it in codes: how much of it they are.
Expected<double> sqnr_of_codes(const Constant& weight, const Constant& codes,
                               const Quantization& type) {
  QUADRANT_TRY(const Constant stored, dequantized(codes, type));
  QUADRANT_TRY(const ConstantBytes ours, weight.read());
  QUADRANT_TRY(const ConstantBytes theirs, stored.read());
  Agreement agreement;
  agreement.add(ours.as<float>(), theirs.as<float>());
  return agreement.sqnr_db();
}

Expected<void> add_weight(const Graph& quantized, const Graph& real, NodeId node,
                          std::vector<QuantizedPlace>& places, std::vector<LeftAlone>& left_alone) {
  const TensorType& type = quantized.type({node});
  if (!type.is_quantized() || type.element == ElementType::int32) return {};
  const std::string name = float_name(quantized, real, {node});
  const Value float_value = real.find_value(name);
  const Constant* const weight =
      float_value.is_absent() ? nullptr : real.constant(float_value.node);
  const Constant& codes = *quantized.constant(node);
  if (weight == nullptr || !(weight->shape() == codes.shape()) ||
      weight->element() != type.quantization.expressed()) {
    return {};
  }
  if (weight->element() != ElementType::float32) {
    left_alone.push_back({name, "it is no float32"});
    return {};
  }
  QUADRANT_TRY(const double sqnr_db, sqnr_of_codes(*weight, codes, type.quantization));
  if (sqnr_db >= least_weight_sqnr_db) {
    places.push_back({name, {node}, {}, *weight, codes});
  } else {
    left_alone.push_back(
        {name,
         fmt::format("its codes are {:.1f} dB of the float weight: scaled since, or rounded so "
                     "badly that this cannot be told apart",
                     sqnr_db)});
  }
  return {};
}

int count_normalizations(const Graph& graph) {
  int count = 0;
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    if (node.is_valid() && graph.kind(node) == ops::BatchNormalization::kind) ++count;
  }
  return count;
}

}  // namespace

Expected<Graph> spelled_out(Graph quantized) {
  std::vector<std::string> remarks;
  if (has_simulated_quantization(quantized)) {
    QUADRANT_CHECK(convert_simulated(quantized, remarks));
  }
  QUADRANT_TRY(quantized, without_fake_quantize(std::move(quantized), {}, remarks));
  make_borders_real(quantized);
  make_quantization_explicit(quantized);
  QUADRANT_CHECK(hold_constants(quantized));
  return quantized;
}

Expected<Graph> as_it_was_quantized(Graph real, const Graph& quantized) {
  QUADRANT_CHECK(fold_constants(real, [](NodeRef node) { return find_move(node) == nullptr; }));
  Graph folded = real;
  QUADRANT_CHECK(fold_batch_norm(folded));
  if (count_normalizations(quantized) <= count_normalizations(folded)) real = std::move(folded);
  QUADRANT_CHECK(hold_constants(real));
  return real;
}

Expected<std::vector<QuantizedPlace>> find_places(const Graph& quantized, const Graph& real,
                                                  std::vector<LeftAlone>& left_alone) {
  QUADRANT_TRY(const std::vector<NodeId> order, topological_order(quantized));
  std::vector<QuantizedPlace> places;
  for (const NodeId node : order) {
    if (quantized.constant(node) != nullptr) {
      QUADRANT_CHECK(add_weight(quantized, real, node, places, left_alone));
    } else if (quantized.kind(node) == ops::Quantize::kind) {
      places.push_back({.name = float_name(quantized, real, {node}),
                        .codes = {node},
                        .real = quantized.operands(node)[0]});
    }
  }
  return places;
}

void make_exact(Graph& quantized, const QuantizedPlace& place) {
  Value real = place.is_weight() ? quantized.add_constant(place.name, place.weight) : place.real;
  if (place.limits) real = limited(quantized, real, *place.limits);
  replace(quantized, place.codes, real);
}

}  // namespace quadrant::inline v0
