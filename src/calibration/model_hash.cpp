#include "quadrant/calibration/calibrate.hpp"

#define XXH_INLINE_ALL  // NOLINT(cppcoreguidelines-macro-usage): the library's own way
#include <xxhash.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "quadrant/ir/text.hpp"
#include "support/content_hash.hpp"

namespace quadrant::inline v0 {

Expected<std::uint64_t> model_hash(const Graph& graph, Executor* executor) {
  std::vector<const Constant*> constants;
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    const NodeId node = graph.node_at(i);
    const Constant* const constant = node.is_valid() ? graph.constant(node) : nullptr;
    if (constant != nullptr) constants.push_back(constant);
  }
  std::vector<Expected<std::uint64_t>> hashes(constants.size(), 0);
  SerialExecutor serial;
  (executor != nullptr ? *executor : serial).parallel_for(constants.size(), [&](std::size_t i) {
    // A model may be larger than memory: at the speed of reading it.
    hashes[i] = constants[i]->read().map([](const ConstantBytes& contents) -> std::uint64_t {
      return XXH3_64bits(contents.bytes().data(), contents.bytes().size());
    });
  });
  ContentHash all;
  const std::string structure = print_graph(graph, {.largest_constant = 0});
  all.add(std::as_bytes(std::span(structure)));
  for (const auto& hash : hashes) {
    QUADRANT_TRY(const std::uint64_t value, hash);
    all.add(std::as_bytes(std::span(&value, 1)));
  }
  return std::max<std::uint64_t>(all.value(), 1);
}

}  // namespace quadrant::inline v0
