// TFLite files: what is read is valid, and what is written of it can be read and written again.
#include <cstddef>
#include <cstdint>
#include <span>

#include "quadrant/io/tflite.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/text.hpp"
#include "require.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto graph = quadrant::read_tflite(std::as_bytes(std::span(data, size)));
  if (!graph) return 0;
  const auto show = [&] { return print_graph(*graph); };
  fuzz::require_value(quadrant::verify(*graph), "what was read is not valid", show);
  const auto bytes = quadrant::tflite_bytes(*graph);
  if (!bytes) return 0;
  const auto again = quadrant::read_tflite(*bytes);
  fuzz::require_value(again, "what was written cannot be read", show);
  fuzz::require_value(quadrant::tflite_bytes(*again), "what was read again cannot be written",
                      show);
  return 0;
}
