// Weights that meet in couplings: each has scales of its own.
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "ir/of_one_type.hpp"
#include "model_text.hpp"
#include "quadrant/engine/explain/explain.hpp"
#include "quadrant/methods/weight_only.hpp"

using namespace quadrant;
using test::OfOneType;
using test::value_of;

namespace {

// `joined` is made of a and b, which no move is; c is another weight of its shape.
Graph joined_weights() {
  return test::parsed(R"(%x: tensor<1x4xf32> = input()
%a: tensor<4x2xf32> = constant() [1, 2, 3, 4, 5, 6, 7, 8]
%b: tensor<4x1xf32> = constant() [1, 2, 3, 9]
%c: tensor<4x3xf32> = constant() [1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 8]
%joined: tensor<4x3xf32> = concat(%a, %b) {axis = 1}
%y: tensor<1x3xf32> = matmul(%x, %joined)
%z: tensor<1x3xf32> = matmul(%x, %c)
output(%y)
output(%z)
)");
}

}  // namespace

TEST_CASE("weights that meet behind an operation that is no move stay float, and say why") {
  const Graph graph = joined_weights();
  const Registry registry = value_of(weight_only_registry());
  const Value joined = graph.find_value("joined");
  const Value c = graph.find_value("c");
  for (const SelectionPolicy policy : {SelectionPolicy::greedy, SelectionPolicy::optimal}) {
    QuantizeOptions options;
    options.policy = policy;
    REQUIRE(value_of(analyze(graph, registry, options)).plan.values.size() == 4);

    const OfOneType view(graph, {{joined, c}});
    const Analysis analysis = value_of(analyze(view, registry, options));
    CHECK(analysis.plan.values.empty());
    for (const char* const name : {"a", "b"}) {
      const NodeId weight = graph.find_value(name).node;
      CHECK(explain(view, registry, analysis, weight).reason.find("it is coupled with 'c'") !=
            std::string::npos);
    }

    // Of a coupling that need not hold for all, one remains; with its own kind alone, all do.
    options.couplings = {{joined, c}};
    const Analysis one = value_of(analyze(graph, registry, options));
    CHECK(one.selection.is_selected(c));
    CHECK_FALSE(one.selection.is_selected(joined));
    options.couplings = {{joined, joined}};
    CHECK(value_of(analyze(graph, registry, options)).plan.values.size() == 4);
  }
}

TEST_CASE("weights that meet behind a move that makes their codes stay float, and say why") {
  const Graph graph = test::parsed(R"(%x: tensor<1x4xf32> = input()
%a: tensor<3x4xf32> = constant() [1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3]
%b: tensor<4x3xf32> = constant() [1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 8]
%turned: tensor<4x3xf32> = transpose(%a) {perm = [1, 0]}
%y: tensor<1x3xf32> = matmul(%x, %turned)
%z: tensor<1x3xf32> = matmul(%x, %b)
output(%y)
output(%z)
)");
  const Registry registry = value_of(weight_only_registry({.type = "nf4"}));
  const Value turned = graph.find_value("turned");
  const Value b = graph.find_value("b");
  REQUIRE(value_of(analyze(graph, registry, {})).plan.values.size() == 2);

  const OfOneType view(graph, {{turned, b}});
  CHECK(value_of(analyze(view, registry, {})).plan.values.empty());
  QuantizeOptions options;
  options.couplings = {{turned, b}};
  const Analysis one = value_of(analyze(graph, registry, options));
  CHECK(one.plan.values.size() == 1);
  CHECK(one.vetoes.size() == 1);
}
