// The text form of graphs: what is read is printed, and reads back as the same text.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "ir/shape_inference.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/text.hpp"
#include "require.hpp"

namespace {

using namespace quadrant;

// The printer promises nothing about quantized types that break the verifier's rules.
bool has_valid_types(const Graph& graph) {
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    for (std::uint32_t result = 0; result < graph.result_count(node); ++result) {
      const TensorType& type = graph.type({node, result});
      if (type.is_quantized() && !verify(*type.uniform(), type.shape)) return false;
    }
  }
  return true;
}

void check(std::string_view text) {
  auto graph = parse_graph(text);
  if (!graph) return;
  const PrintOptions in_full{.largest_constant = std::numeric_limits<std::int64_t>::max()};
  const std::string printed = print_graph(*graph, in_full);
  const auto text_of_it = [&] { return printed; };
  if (has_valid_types(*graph)) {
    const auto again = parse_graph(printed);
    fuzz::require_value(again, "what was printed cannot be read", text_of_it);
    const std::string reprinted = print_graph(*again, in_full);
    fuzz::require(reprinted == printed, "printed twice, it differs",
                  [&] { return printed + reprinted; });
    fuzz::require(again->node_count() == graph->node_count(), "nodes were lost", text_of_it);
    fuzz::require(verify(*again).has_value() == verify(*graph).has_value(),
                  "only one of the two is valid", text_of_it);
  }
  const bool is_valid = verify(*graph).has_value();
  if (infer_shapes(*graph) && is_valid) {
    fuzz::require_value(verify(*graph), "inferring shapes made a valid graph invalid", text_of_it);
  }
}

// What commands read is valid, and can be written and read again.
void check_model(std::string_view text) {
  const auto graph = parse_model(text);
  if (!graph) return;
  const std::string in_short = print_graph(*graph);
  const auto text_of_it = [&] { return in_short; };
  fuzz::require_value(verify(*graph), "a model that was read breaks the rules", text_of_it);
  const auto printed = print_model(*graph);
  fuzz::require_value(printed, "a model cannot be printed", text_of_it);
  const auto again = parse_model(*printed);
  fuzz::require_value(again, "a model that was printed cannot be read", text_of_it);
  fuzz::require(print_model(*again) == printed, "printed twice, a model differs", text_of_it);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(text);
  check_model(text);
  return 0;
}
