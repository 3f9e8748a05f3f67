// The library call: a model in, a quantized model out, and what was decided in between.
//
//   build/release/bin/example_weight_only examples/models/digits_cnn.onnx /tmp/digits_cnn.int8.onnx
#include "quadrant/methods/weight_only.hpp"

#include <iostream>
#include <string>

#include "quadrant/io/onnx.hpp"

namespace {

quadrant::Expected<void> run(const std::string& in, const std::string& out) {
  // Structure only: the weights stay in the file until they are needed.
  QUADRANT_TRY(const quadrant::Graph graph, quadrant::read_onnx(in));

  // The four phases. The result shares the file's weights; integers are computed while writing.
  QUADRANT_TRY(const quadrant::QuantizeResult result, quadrant::quantize_weight_only(graph));
  for (const quadrant::PlannedValue& value : result.analysis.plan.values) {
    std::cout << value.value << ": " << value.constraint << ", saves " << value.gain.amount()
              << " bytes\n";
  }

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
