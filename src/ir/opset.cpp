#include "ir/opset.hpp"

#include <algorithm>

namespace quadrant::inline v0 {

std::int64_t opset_version(const Graph& graph) {
  const auto domains = graph.attributes().get_or(opset_domains_key, std::vector<std::string>{});
  const auto versions = graph.attributes().get_or(opset_versions_key, std::vector<std::int64_t>{});
  std::int64_t opset = 0;
  for (std::size_t i = 0; i < domains.size() && i < versions.size(); ++i) {
    if (domains[i].empty() || domains[i] == "ai.onnx") opset = std::max(opset, versions[i]);
  }
  return opset == 0 ? default_opset : opset;
}

}  // namespace quadrant::inline v0
