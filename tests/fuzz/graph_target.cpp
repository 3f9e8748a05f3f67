// Graphs made of the fuzzer's bytes, to be read and written: reaches what hardly any damaged file
// does.
#include <fuzzer/FuzzedDataProvider.h>

#include <cstddef>
#include <cstdint>

#include "quadrant/ir/graph.hpp"
#include "quantize_and_write.hpp"
#include "random_graph.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  FuzzedDataProvider data(bytes, size);
  const auto choices = data.ConsumeIntegral<std::uint64_t>();
  const quadrant::Graph graph = fuzz::random_graph(data, fuzz::Purpose::stored);
  if (!quadrant::verify(graph)) return 0;
  (void)fuzz::write_and_read(graph, choices);
  (void)fuzz::quantize_and_write(graph, choices);
  return 0;
}
