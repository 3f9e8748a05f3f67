// Weights behind moves whose results are coupled.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "model_text.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/ir/text.hpp"
#include "quadrant/methods/weight_only.hpp"

using namespace quadrant;

TEST_CASE("a chain of moves of one weight, all of them coupled, is walked once") {
  const auto products = [](int moves) {
    std::string text =
        "graph {}\n%x: tensor<?x2xf32> = input()\n"
        "%t0: tensor<2x2xf32> = constant() [1, 2, 3, 4]\n";
    for (int i = 1; i <= moves; ++i) {
      text += fmt::format("%t{}: tensor<2x2xf32> = transpose(%t{}) {{perm = [1, 0]}}\n", i, i - 1);
    }
    return text + fmt::format("%y: tensor<?x2xf32> = matmul(%x, %t{})\noutput(%y)\n", moves);
  };
  const Registry registry =
      test::value_of(weight_only_registry({.granularity = Granularity::Kind::tensor}));
  constexpr int moves = 16000;
  const Graph graph = test::value_of(parse_graph(products(moves)));
  std::vector<Value> all;
  for (int i = 1; i <= moves; ++i) all.push_back(graph.find_value(fmt::format("t{}", i)));
  const auto seconds = [&](const Couplings& couplings) {
    QuantizeOptions options;
    options.couplings = couplings;
    double least = std::numeric_limits<double>::infinity();  // what else runs takes longer
    for (int round = 0; round < 3; ++round) {
      const auto start = std::chrono::steady_clock::now();
      const Analysis analysis = test::value_of(analyze(graph, registry, options));
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
      CHECK(analysis.plan.values.size() == std::size_t{moves} + 1);
      least = std::min(least, taken.count());
    }
    return least;
  };
  // About as long as without; a walk for each member takes a thousand times as long.
  CHECK(seconds({all}) < 20 * seconds({}));
}
