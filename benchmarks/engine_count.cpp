// Runs phases 1 to 3 once on one graph: `engine_count SHAPE NODES` prints the number of nodes.
// engine_growth.py counts the instructions of it.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iostream>
#include <string_view>

#include "engine_graphs.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/methods/weight_only.hpp"

int main(int argc, char** argv) {
  using namespace quadrant;
  if (argc != 3) return 2;
  const std::string_view nodes_text = argv[2];
  std::int64_t nodes = 0;
  std::from_chars(nodes_text.data(), nodes_text.data() + nodes_text.size(), nodes);
  const auto* shape =
      std::ranges::find(bench::graph_shapes, std::string_view(argv[1]), &bench::GraphShape::name);
  if (shape == bench::graph_shapes.end() || nodes <= 0) return 2;
  const Graph graph = shape->build(nodes);
  const auto analysis = analyze(graph, *weight_only_registry());
  if (!analysis) return 1;
  std::cout << graph.node_count() << '\n';
}
