// Graphs made of the fuzzer's bytes are run by the interpreter, in little memory: an error, or
// results that are of the types that shape inference says, and the same each time, in each thread,
// whatever else is watched.
#include <fuzzer/FuzzedDataProvider.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/text.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "random_graph.hpp"
#include "require.hpp"
#include "runs.hpp"

namespace {

using namespace quadrant;

const Interpreter interpreter({}, fuzz::small_memory);

void require_same(const Graph& graph, const Expected<Tensors>& first,
                  const Expected<Tensors>& second) {
  const auto show = [&] {
    return (first ? "" : to_string(first.error())) + (second ? "" : to_string(second.error())) +
           '\n' + print_graph(graph);
  };
  fuzz::require(first.has_value() == second.has_value(), "it runs only once", show);
  if (!first) {
    fuzz::require(first.error() == second.error(), "two errors", show);
    return;
  }
  for (std::size_t i = 0; i < first->size(); ++i) {
    fuzz::require(fuzz::same((*first)[i], (*second)[i]), "two results", show);
  }
}

// Of all values that anybody computes: what can be said of each, and the outputs.
void check_inner_values(const Graph& graph, const Tensors& inputs, const Tensors& outputs) {
  std::vector<Value> watched = output_values(graph);
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    if (!node.is_valid()) continue;
    for (std::uint32_t i = 0; i < graph.result_count(node); ++i) watched.push_back({node, i});
  }
  const auto show = [&] { return print_graph(graph); };
  const auto model = interpreter.load(graph, watched);
  if (!model) return;  // a node that no output needs
  const auto observe = [&](std::size_t index, const Tensor& tensor) -> Expected<void> {
    if (index < outputs.size()) {
      fuzz::require(fuzz::same(outputs[index], tensor), "who is watched changes a result", show);
    }
    const std::string other = fuzz::contradiction(graph.type(watched[index]), tensor);
    fuzz::require(other.empty(), "a value of another type than is said", [&] {
      return std::string(graph.value_name(watched[index])) + ": " + other + '\n' + show();
    });
    return {};
  };
  (void)(*model)->run(inputs, observe);
}

void check(const Graph& graph, const Tensors& inputs, bool has_threads) {
  const std::vector<Value> watched = output_values(graph);
  const auto model = interpreter.load(graph, watched);
  if (!model) return;
  const auto run = [&] { return run_model(**model, inputs, watched.size()); };
  const Expected<Tensors> first = run();
  require_same(graph, first, run());
  if (has_threads) {
    std::optional<Expected<Tensors>> beside;
    std::thread other([&] { beside = run(); });
    const Expected<Tensors> here = run();
    other.join();
    require_same(graph, here, *beside);
    require_same(graph, first, here);
  }
  require_same(graph, first, fuzz::run(graph, inputs));
  if (!first) return;
  fuzz::require_stated_types(graph, *first);
  check_inner_values(graph, inputs, *first);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  FuzzedDataProvider data(bytes, size);
  const bool has_threads = data.ConsumeIntegralInRange(0, 15) == 15;
  const auto of_inputs = data.ConsumeBytes<std::uint8_t>(24);
  const Graph graph = fuzz::random_graph(data, fuzz::Purpose::computed, fuzz::computed_kinds());
  if (!verify(graph)) return 0;
  FuzzedDataProvider rest(of_inputs.data(), of_inputs.size());
  fuzz::RandomValues random(rest, fuzz::Purpose::computed);
  if (const auto inputs = fuzz::random_inputs(random, graph)) check(graph, *inputs, has_threads);
  return 0;
}
