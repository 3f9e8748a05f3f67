// fake_quant_ranges GRAPH
//
// What `nudged_range` makes of each const_fake_quant of a graph in text form: a line for each
// channel, `NAME MIN MAX SCALE ZERO_POINT`, the scale as a hexadecimal real; or `NAME refused`.
#include <cstdio>
#include <fstream>
#include <sstream>

#include "numerics/fake_quantize.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/text.hpp"

namespace {

using namespace quadrant;

Expected<void> print_ranges(NodeRef node) {
  QUADRANT_TRY(const auto ranges, ops::ConstFakeQuant{node}.ranges());
  const std::string name(node.graph->value_name(node.result()));
  for (const FakeQuantRange& range : ranges) {
    QUADRANT_TRY(const NudgedRange codes, nudged_range(range));
    std::printf("%s %lld %lld %a %lld\n", name.c_str(), static_cast<long long>(codes.storage_min),
                static_cast<long long>(codes.storage_max), codes.scale,
                static_cast<long long>(codes.zero_point));
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: fake_quant_ranges GRAPH\n");
    return 2;
  }
  std::ostringstream text;
  text << std::ifstream(argv[1]).rdbuf();
  const auto graph = parse_graph(text.str());
  if (!graph) {
    std::fprintf(stderr, "%s\n", to_string(graph.error()).c_str());
    return 1;
  }
  for (std::uint32_t index = 0; index < graph->index_bound(); ++index) {
    const NodeId node = graph->node_at(index);
    if (!node.is_valid() || graph->kind(node) != ops::ConstFakeQuant::kind) continue;
    if (!print_ranges(graph->ref(node))) {
      std::printf("%s refused\n", std::string(graph->value_name({node})).c_str());
    }
  }
  return 0;
}
