// OpenVINO's IR: what is read is valid, and what is written of it can be read and written again. An
// input is the .xml file, and behind a byte 0 the .bin file.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "quadrant/io/openvino.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/text.hpp"
#include "require.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(all.find('\0'), size);
  const std::string_view bin = all.substr(std::min(end + 1, size));
  const auto graph = quadrant::parse_openvino(all.substr(0, end), std::as_bytes(std::span(bin)));
  if (!graph) return 0;
  const auto show = [&] { return print_graph(*graph); };
  fuzz::require_value(quadrant::verify(*graph), "what was read is not valid", show);
  const auto files = quadrant::openvino_files(*graph);
  if (!files) return 0;
  const auto again = quadrant::parse_openvino(files->xml, files->bin);
  fuzz::require_value(again, "what was written cannot be read", show);
  fuzz::require_value(quadrant::openvino_files(*again), "what was read again cannot be written",
                      show);
  return 0;
}
