// Weights and activations become integers: fold, calibrate, quantize, correct, write.
//
//   build/release/bin/example_static_affine examples/models/digits_cnn.onnx
//   /tmp/digits_cnn.int8.onnx
//
// The samples are random here; quadrant::open_data_set reads files.
#include "quadrant/methods/static_affine.hpp"

#include <iostream>
#include <memory>
#include <string>

#include "quadrant/calibration/calibrate.hpp"
#include "quadrant/calibration/correct_bias.hpp"
#include "quadrant/io/onnx.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "quadrant/transforms/equalize.hpp"
#include "quadrant/transforms/prepare.hpp"

namespace {

quadrant::Expected<void> run(const std::string& in, const std::string& out) {
  QUADRANT_TRY(quadrant::Graph graph, quadrant::read_onnx(in));

  // The same function, easier to quantize. Both are optional.
  QUADRANT_TRY(quadrant::FoldReport folded, quadrant::fold_batch_norm(graph));
  QUADRANT_TRY(const quadrant::EqualizationReport equalized,
               quadrant::equalize(graph, folded.moments));
  std::cout << folded.folded.size() << " normalizations folded, " << equalized.pairs.size()
            << " pairs of layers equalized\n";

  // What values are on samples: of the graph as it is now.
  const quadrant::Interpreter interpreter;
  const auto samples = quadrant::random_data_set(graph, 16, /*seed=*/1);
  QUADRANT_TRY(quadrant::StatisticsTable statistics,
               quadrant::calibrate(graph, interpreter, *samples));

  quadrant::StaticAffineOptions options;
  options.statistics = std::make_shared<const quadrant::StatisticsTable>(std::move(statistics));
  QUADRANT_TRY(quadrant::QuantizeResult result,
               quadrant::quantize_static(graph, std::move(options)));
  for (const quadrant::PlannedValue& value : result.analysis.plan.values) {
    std::cout << value.value << ": " << value.constraint << '\n';
  }

  // Slow for large models, and optional, too: the quantized one first, then the float one.
  QUADRANT_TRY(const quadrant::CorrectBiasReport corrected,
               quadrant::correct_bias(result.graph, graph, interpreter, *samples));
  std::cout << corrected.corrected.size() << " biases corrected\n";

  QUADRANT_TRY(const quadrant::OnnxWriteReport report, quadrant::write_onnx(result.graph, out));
  std::cout << out << ": " << report.model_bytes << " bytes\n";
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
