// Graphs made of the fuzzer's bytes, as they are or with quantized weights, are written in any
// format, if it takes them: what is read again is valid, has the same inputs and outputs, and
// computes the same up to rounding.
#include <fuzzer/FuzzedDataProvider.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "comparison.hpp"
#include "formats.hpp"
#include "ir/aliases.hpp"
#include "ir/opset.hpp"
#include "quadrant/ir/graph.hpp"
#include "quantize_and_write.hpp"
#include "random_graph.hpp"
#include "require.hpp"
#include "runs.hpp"

namespace {

using namespace quadrant;

void check(Graph graph, fuzz::RandomValues& random, std::uint64_t choices) {
  if (random.one_in(4)) {
    if (auto quantized = fuzz::quantize_and_write(graph, choices)) graph = *std::move(quantized);
  }
  if (random.one_in(2) && !resolve_aliases(graph)) return;
  const fuzz::Format format = random.pick(fuzz::formats);
  const auto again = fuzz::write_and_read(graph, format, choices);
  if (!again) return;
  const std::string name(to_string(format));
  fuzz::require_same_signature(graph, *again, "another signature in " + name);
  if (format == fuzz::Format::text) {
    fuzz::require_same_names(graph, *again, "other names in " + name);
  }
  // Where operators have the forms of another opset than the model's, readers differ.
  constexpr std::int64_t first_with_all_forms = 18;
  if (opset_version(graph) < first_with_all_forms) return;
  if (auto inputs = fuzz::random_inputs(random, graph)) {
    const auto reference = fuzz::reference(graph, *std::move(inputs));
    if (reference) fuzz::require_near(*reference, *again, graph, "other results in " + name);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  FuzzedDataProvider data(bytes, size);
  const auto choices = data.ConsumeIntegral<std::uint64_t>();
  const auto of_choices = data.ConsumeBytes<std::uint8_t>(24);
  Graph graph = fuzz::random_graph(data, fuzz::Purpose::computed, fuzz::computed_kinds());
  if (!verify(graph)) return 0;
  FuzzedDataProvider rest(of_choices.data(), of_choices.size());
  fuzz::RandomValues random(rest, fuzz::Purpose::computed);
  check(std::move(graph), random, choices);
  return 0;
}
