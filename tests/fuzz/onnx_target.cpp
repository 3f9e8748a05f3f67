// ONNX files: what is read is valid, survives being written, and can be quantized.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "quadrant/io/onnx.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/text.hpp"
#include "quantize_and_write.hpp"
#include "require.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto graph = quadrant::read_onnx(fuzz::model_file(std::as_bytes(std::span(data, size))));
  if (!graph) return 0;
  fuzz::require_value(quadrant::verify(*graph), "what was read is not valid",
                      [&] { return print_graph(*graph); });
  // No byte of a model is free to say how it should be quantized.
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::uint64_t choices = std::hash<std::string_view>{}(bytes);
  if (const auto first = fuzz::write_and_read(*graph, choices)) {
    const auto second = fuzz::write_and_read(first->graph, choices);
    fuzz::require(second && second->bytes == first->bytes, "written twice, it differs",
                  [&] { return print_graph(*graph) + print_graph(first->graph); });
  }
  (void)fuzz::quantize_and_write(*graph, choices);
  return 0;
}
