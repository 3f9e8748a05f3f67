// OnnxWriteOptions::qoperators: which operators, with which operands.
#include "methods/qdq_fusion/fuse.hpp"
#include "model_text.hpp"
#include "quadrant/io/onnx.hpp"
#include "temporary_folder.hpp"

using namespace quadrant;
using test::count_of_kind;

namespace {

// A convolution and a limit of its codes; then what has no operator on codes.
constexpr std::string_view chain = R"(
graph {opset = 21}
%x: tensor<1x2x4x4x!quant.uniform<u8:f32, 0.05:3>> = input()
%w: tensor<3x2x1x1x!quant.uniform<i8:f32:0, {0.02, 0.03, 0.04}>> = constant() [1, 2, 3, 4, 5, 6]
%b: tensor<3x!quant.uniform<i32:f32:0, {0.001, 0.0015, 0.002}>> = constant() [1, 2, 3]
%c: tensor<1x3x4x4x!quant.uniform<u8:f32, 0.1:128>> = conv(%x, %w, %b)
%r: tensor<1x3x4x4x!quant.uniform<u8:f32, 0.1:128>> = onnx.Relu(%c)
%t: tensor<1x3x4x4x!quant.uniform<u8:f32, 0.2:9>> = onnx.Tanh(%r)
output(%t)
)";

Graph written(const Graph& graph, bool qoperators) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() + "/model.onnx";
  const auto report = write_onnx(graph, path, {.qoperators = qoperators});
  REQUIRE_MESSAGE(report, (report ? std::string() : to_string(report.error())));
  CHECK(report->qoperators == (qoperators ? 2 : 0));
  return test::value_of(read_onnx(path, {.raise_quantization = false}));
}

}  // namespace

TEST_CASE("what computes on codes is written as operators on codes, the rest as before") {
  // The two types of one value have constants of their own: the limit's are those of the sum.
  Graph graph = test::parsed(chain);
  graph.set_type(graph.find_value("r"), graph.type(graph.find_value("c")));
  const Graph made = written(graph, true);
  CHECK(count_of_kind(made, "onnx.QLinearConv") == 1);
  CHECK(count_of_kind(made, "onnx.Clip") == 1);
  CHECK(count_of_kind(made, "onnx.Relu") == 0);
  CHECK(count_of_kind(made, "onnx.DequantizeLinear") == 1);
  CHECK(count_of_kind(made, "onnx.QuantizeLinear") == 1);
  for (std::uint32_t i = 0; i < made.index_bound(); ++i) {
    const NodeId id = made.node_at(i);
    if (!id.is_valid() || made.kind(id) != "onnx.QLinearConv") continue;
    const NodeRef node = made.ref(id);
    REQUIRE(node.operands().size() == 9);
    CHECK(node.operand_constant(4)->element_count() == 3);             // scales of the weight
    CHECK(node.operand_constant(7)->element() == ElementType::uint8);  // the result's zero point
    CHECK(node.operand_constant(8)->element() == ElementType::int32);  // the bias, last
  }
  CHECK(count_of_kind(written(graph, false), "onnx.QLinearConv") == 0);
}
