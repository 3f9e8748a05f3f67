// The same graph, built in other orders, is quantized in the same way.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "build.hpp"
#include "quantized_types.hpp"
#include "random_models.hpp"
#include "shortened.hpp"

using namespace quadrant;
using quadrant::test::Model;

namespace {

// Builds a graph anew, node by node: whichever is drawn of those whose operands are there.
class Reordered {
 public:
  Reordered(const Graph& from, std::mt19937& random) : from_(from) {
    graph.attributes() = from.attributes();
    std::vector<NodeId> ready;
    std::unordered_map<NodeId, std::size_t> open;  // operands that are not there yet
    for (std::uint32_t i = 0; i < from.index_bound(); ++i) {
      const NodeId node = from.node_at(i);
      if (!node.is_valid()) continue;
      const auto operands = from.operands(node);
      open[node] = static_cast<std::size_t>(
          std::ranges::count_if(operands, [](Value operand) { return !operand.is_absent(); }));
      if (open[node] == 0) ready.push_back(node);
    }
    while (!ready.empty()) {
      std::swap(ready[random() % ready.size()], ready.back());
      const NodeId node = ready.back();
      ready.pop_back();
      copy(node);
      for (const Use& use : from.uses(node)) {
        if (--open[use.user] == 0) ready.push_back(use.user);
      }
    }
    REQUIRE(graph.node_count() == from.node_count());
  }

  Graph graph;

 private:
  void copy(NodeId node) {
    const auto name = [&] { return std::string(from_.value_name({node})); };
    if (from_.kind(node) == ops::Input::kind) {
      made_[node] = graph.add_input(name(), from_.type({node})).node;
    } else if (const Constant* const constant = from_.constant(node)) {
      made_[node] = graph.add_constant(name(), *constant).node;
    } else if (from_.kind(node) == ops::Output::kind) {
      made_[node] = graph.add_output(std::string(from_.name(node)), operands(node)[0]);
    } else {
      std::vector<ResultSpec> results;
      for (std::uint32_t i = 0; i < from_.result_count(node); ++i) {
        results.push_back({std::string(from_.value_name({node, i})), from_.type({node, i})});
      }
      made_[node] = graph.add({.kind = std::string(from_.kind(node)),
                               .name = std::string(from_.name(node)),
                               .operands = operands(node),
                               .results = std::move(results),
                               .attributes = from_.attributes(node)});
    }
  }

  std::vector<Value> operands(NodeId node) const {
    std::vector<Value> copies;
    for (const Value operand : from_.operands(node)) {
      copies.push_back(operand.is_absent() ? operand
                                           : Value{made_.at(operand.node), operand.result});
    }
    return copies;
  }

  const Graph& from_;
  std::unordered_map<NodeId, NodeId> made_;
};

struct ParametersOfCodes {
  ElementType storage = ElementType::undefined;
  Granularity granularity;
  std::vector<float> scales;
  std::vector<std::int64_t> zero_points;
  friend bool operator==(const ParametersOfCodes&, const ParametersOfCodes&) = default;
};

// By name: the parameters of each value that is codes, and how often each kind of node occurs.
struct Summary {
  std::map<std::string, ParametersOfCodes> parameters;
  std::map<std::string, int> kinds;
  friend bool operator==(const Summary&, const Summary&) = default;
};

Summary summary_of(const Graph& graph) {
  Summary summary;
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    const NodeId node = graph.node_at(i);
    if (!node.is_valid()) continue;
    ++summary.kinds[std::string(graph.kind(node))];
    for (std::uint32_t k = 0; k < graph.result_count(node); ++k) {
      const TensorType& type = graph.type({node, k});
      if (!type.is_quantized()) continue;
      const UniformType& codes = *type.uniform();
      summary.parameters.emplace(
          std::string(graph.value_name({node, k})),
          ParametersOfCodes{codes.storage, codes.granularity, test::scales_of(codes),
                            test::zero_points_of(codes)});
    }
  }
  return summary;
}

// Random layers, and beside them what makes forms compete: a weight and a bias that two products
// read, a weight that is read turned and as it is, an operation that nobody knows, several outputs.
void make(Model& model) {
  test::random_models::make(model);
  const Value x{model.graph.inputs()[0]};
  const Value w = model.weight("shared_w", {4, 4, 1, 1});
  const Value b = model.weight("shared_b", {4});
  const Value first = model.add("conv", {x, w, b}, "first");
  const Value second =
      model.add("conv", {model.add("onnx.Exp", {first}, "island"), w, b}, "second");
  model.output(model.add("onnx.Relu", {second}, "limited"));
  model.output(second);
  const Value mean = model.add("onnx.GlobalAveragePool", {first}, "mean_of_first");
  const Value row = model.add("flatten", {mean}, "row_of_first");
  const Value m = model.weight("both_ways", {4, 4});
  const Value straight = model.add("matmul", {row, m}, "straight");
  const Value turned = model.add("transpose", {m}, "turned");
  const Value back = model.add("gemm", {straight, turned}, "back");
  model.output(model.add("concat", {back, straight}, "joined", {{"axis", std::int64_t{1}}}));
}

// Gives the number of values that were quantized.
std::size_t check_orders(Model& model, const StaticAffineOptions& options,
                         const QuantizeOptions& run, std::mt19937& random, int orders) {
  const QuantizeResult first = test::quantized(model.graph, options, run);
  const Summary expected = summary_of(first.graph);
  for (int order = 0; order < orders; ++order) {
    CAPTURE(order);
    const Reordered built(model.graph, random);
    const QuantizeResult result = test::quantized(built.graph, options, run);
    CHECK(result.analysis.plan == first.analysis.plan);
    CHECK(summary_of(result.graph) == expected);
  }
  return first.analysis.plan.values.size();
}

}  // namespace

TEST_CASE("static_affine: the order in which a graph was built changes neither plan nor scales") {
  std::mt19937 random(20261122);
  std::size_t quantized = 0;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    Model model(seed);
    make(model);
    StaticAffineOptions options;
    options.statistics = model.statistics(2);
    options.quantized_inputs = seed % 2 == 0;
    options.quantized_outputs = seed % 3 == 0;
    if (seed % 5 == 0) options.weight_granularity = Granularity::Kind::tensor;
    if (seed % 7 == 0) options.bias_bits = 8;
    const bool by_operands = seed % 4 != 0;
    quantized += check_orders(model, options, by_operands ? test::by_operands() : QuantizeOptions{},
                              random, test::is_whole() ? 10 : 2);
  }
  CHECK(quantized > 200);
}
