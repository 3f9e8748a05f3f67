// Weights behind moves whose results are coupled.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <string>

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
  const auto seconds = [&](int moves) {
    const Graph graph = test::value_of(parse_graph(products(moves)));
    QuantizeOptions options;
    options.couplings.emplace_back();
    for (int i = 1; i <= moves; ++i) {
      options.couplings[0].push_back(graph.find_value(fmt::format("t{}", i)));
    }
    double least = std::numeric_limits<double>::infinity();  // what else runs takes longer
    for (int round = 0; round < 3; ++round) {
      const auto start = std::chrono::steady_clock::now();
      const Analysis analysis = test::value_of(analyze(graph, registry, options));
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
      CHECK(analysis.plan.values.size() == static_cast<std::size_t>(moves) + 1);
      least = std::min(least, taken.count());
    }
    return least;
  };
  // Eight times as many: 8 if linear, 64 if square.
  CHECK(seconds(16000) < 24 * seconds(2000));
}
