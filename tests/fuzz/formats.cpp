#include "formats.hpp"

#include <string>
#include <utility>

#include "quadrant/io/mlir.hpp"
#include "quadrant/io/openvino.hpp"
#include "quadrant/io/tflite.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/text.hpp"
#include "quantize_and_write.hpp"
#include "require.hpp"

namespace fuzz {
namespace {

using namespace quadrant;

// What was read, where something was written at all.
std::optional<Expected<Graph>> through(const Graph& graph, Format format) {
  switch (format) {
    case Format::tflite: {
      const auto bytes = tflite_bytes(graph);
      if (bytes) return read_tflite(*bytes);
      break;
    }
    case Format::openvino: {
      const auto files = openvino_files(graph);
      if (files) return parse_openvino(files->xml, files->bin);
      break;
    }
    case Format::text: {
      const auto text = print_model(graph);
      if (text) return parse_model(*text);
      break;
    }
    default: {
      const auto text = mlir_text(graph);
      if (!text) break;
      require(text->ends_with('\n'), "a module without an end", [&] { return *text; });
    }
  }
  return {};
}

}  // namespace

std::string_view to_string(Format format) noexcept {
  constexpr std::array<std::string_view, formats.size()> names{"onnx", "tflite", "openvino", "text",
                                                               "mlir"};
  return names.at(static_cast<std::size_t>(format));
}

std::optional<Graph> write_and_read(const Graph& graph, Format format, std::uint64_t choices) {
  if (format == Format::onnx) {
    auto written = write_and_read(graph, choices);
    return written ? std::optional(std::move(written->graph)) : std::nullopt;
  }
  auto again = through(graph, format);
  if (!again) return {};
  const auto show = [&] {
    return std::string(to_string(format)) + '\n' + print_model(graph).value_or(print_graph(graph));
  };
  require_value(*again, "what was written cannot be read", show);
  require_value(verify(**again), "what was written is not valid",
                [&] { return show() + "\nbecame\n" + print_graph(**again); });
  return **std::move(again);
}

}  // namespace fuzz
