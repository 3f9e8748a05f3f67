// A float ONNX model becomes a TFLite model of integers: calibrate, quantize, fuse, write.
//
//   build/release/bin/example_tflite examples/models/digits_cnn.onnx /tmp/digits_cnn.tflite
//
// The samples are random here; quadrant::open_data_set reads files.
#include "quadrant/io/tflite.hpp"

#include <iostream>
#include <memory>
#include <string>

#include "quadrant/calibration/calibrate.hpp"
#include "quadrant/io/onnx.hpp"
#include "quadrant/methods/qdq_fusion.hpp"
#include "quadrant/methods/static_affine.hpp"
#include "quadrant/report/summary.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "quadrant/transforms/prepare.hpp"

namespace {

quadrant::Expected<void> run(const std::string& in, const std::string& out) {
  QUADRANT_TRY(quadrant::Graph graph, quadrant::read_onnx(in));
  QUADRANT_CHECK(quadrant::fold_batch_norm(graph));

  const auto samples = quadrant::random_data_set(graph, 16, /*seed=*/1);
  QUADRANT_TRY(quadrant::StatisticsTable statistics,
               quadrant::calibrate(graph, quadrant::Interpreter(), *samples));

  // With the parameters that LiteRT's kernels want.
  quadrant::StaticAffineOptions options;
  options.statistics = std::make_shared<const quadrant::StatisticsTable>(std::move(statistics));
  options.kernels = quadrant::KernelsTarget::tflite;
  QUADRANT_TRY(quadrant::QuantizeResult quantized,
               quadrant::quantize_static(graph, std::move(options)));

  // A model that came with QuantizeLinear and DequantizeLinear begins here.
  QUADRANT_TRY(
      const quadrant::FusedGraph fused,
      quadrant::quantize_qdq(quantized.graph, {.target = quadrant::KernelsTarget::tflite}));
  const quadrant::ComputationReport report =
      quadrant::report_computation(fused.model, fused.analysis.registry, fused.analysis);
  for (const quadrant::Computation& row : report.operations) {
    if (!row.on_codes) std::cout << row.name << " computes in float: " << row.reason << '\n';
  }

  QUADRANT_TRY(const quadrant::TfliteWriteReport written, quadrant::write_tflite(fused.graph, out));
  std::cout << report.on_codes << " of " << report.operations.size()
            << " operations compute on codes; " << out << ": " << written.file_bytes << " bytes\n";
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: " << argv[0] << " MODEL OUT\n";
    return 2;
  }
  const auto done = run(argv[1], argv[2]);
  if (!done) std::cerr << quadrant::to_string(done.error()) << '\n';
  return done ? 0 : 1;
}
