#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "quadrant/report/tables.hpp"
#include "report/json.hpp"
#include "targets/models.hpp"

using namespace quadrant;

namespace {

bool text_has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// Of the model's two products, the first with some pairs of 8 that are not exact.
std::vector<PairedProduct> products_of(const Graph& graph, std::uint64_t inexact) {
  return {
      {.node = graph.find_value("h").node,
       .weight = "w",
       .onnxruntime = {8, inexact},
       .openvino = {8, 0},
       .unused_range_db = 3},
      {.node = graph.find_value("z").node, .weight = "v", .onnxruntime = {4, 0}, .openvino = {}}};
}

}  // namespace

TEST_CASE("without products of codes there is nothing to say") {
  const Graph graph = models::floating();
  CHECK(saturation_remark(graph, {}).empty());
  CHECK(to_string(graph, {}).empty());
}

TEST_CASE("where sums stay in 16 bits, it is said what that costs") {
  const Graph graph = models::floating();
  const auto products = products_of(graph, 0);
  const std::string text = to_string(graph, products);
  CAPTURE(text);
  CHECK(text_has(text,
                 "ONNX Runtime                    2             0                        0 %\n"));
  CHECK(text_has(text,
                 "OpenVINO                        1             0                        0 %\n"));
  CHECK(text_has(text, "weights lose at most 1.5 dB by it (mean of 2 operations)"));
  CHECK_FALSE(text_has(text, "can saturate at"));
}

TEST_CASE("of a product and of its weight it is said who adds two by two") {
  const Graph graph = models::floating();
  for (const char* name : {"h", "z", "w", "v"}) {
    const std::string note = pairing_note(graph, graph.find_value(name).node);
    CHECK(text_has(note, "ONNX Runtime and OpenVINO add products of codes"));
  }
  for (const char* name : {"x", "r", "b"}) {
    CHECK(pairing_note(graph, graph.find_value(name).node).empty());
  }
}

TEST_CASE("products that can saturate are named, with runtime and share") {
  const Graph graph = models::floating();
  const auto products = products_of(graph, 2);
  const std::string text = to_string(graph, products);
  CAPTURE(text);
  CHECK(text_has(text,
                 "1 of 2 products of codes can saturate at 16 bits in ONNX Runtime, 'h' the most"));
  CHECK(text_has(text, "  h          w               25 %       0 %\n"));
  const Json json = to_json(products, graph);
  CHECK(json[0]["onnxruntime"] == Json{{"pairs", 8}, {"inexact", 2}});
  CHECK(json[1]["openvino"] == Json{{"pairs", 0}, {"inexact", 0}});
}
