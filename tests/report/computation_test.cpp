#include "methods/qdq_fusion/fuse.hpp"
#include "quadrant/report/summary.hpp"

using namespace quadrant;

namespace {

constexpr std::string_view two_kinds = R"(
graph {opset = 21}
%xq: tensor<2x8x!quant.uniform<i8:f32, 0.1:5>> = input()
%x: tensor<2x8xf32> = dequantize(%xq)
%r: tensor<2x8xf32> = onnx.Relu(%x) {name = "limit"}
%q: tensor<2x8x!quant.uniform<i8:f32, 0.2:-128>> = quantize(%r)
%n: tensor<1xi64> = onnx.Shape(%x) {start = 1}
%y: tensor<2x8xf32> = dequantize(%q)
%e: tensor<2x8xf32> = onnx.Erf(%y) {name = "curve"}
output(%e)
output(%n)
)";

}  // namespace

TEST_CASE("operations on codes and on real numbers, with the reason") {
  const test::Fused fused = test::fused(two_kinds);
  const Analysis& analysis = fused.result.analysis;
  const ComputationReport report =
      report_computation(fused.result.model, analysis.registry, analysis);
  REQUIRE(report.operations.size() == 2);  // shapes, quantize and dequantize are not computation
  CHECK(report.operations[0].name == "limit");
  CHECK(report.operations[0].on_codes);
  CHECK(report.operations[1].name == "curve");
  CHECK_FALSE(report.operations[1].on_codes);
  CHECK(report.operations[1].reason == "there is no kernel for it on codes");
  CHECK(report.on_codes == 1);
  CHECK(report.requantized == 0);
  CHECK(table_of_kinds(report).print() ==
        "  operation  on codes  in float\n"
        "  onnx.Erf          0         1\n"
        "  onnx.Relu         1         0\n");
  CHECK(table_of_reals(report, 0).is_empty());
  CHECK(table_of_reals(report, 5).print().find("curve") != std::string::npos);
}
