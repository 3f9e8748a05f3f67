// Which values a model computes, and how they would be quantized: from samples to encodings.
//
//   build/release/bin/example_calibrate examples/models/digits_cnn.onnx /tmp/statistics.json
//
// The samples are random here; quadrant::open_data_set reads files.
#include "quadrant/calibration/calibrate.hpp"

#include <fstream>
#include <iostream>
#include <string>

#include "quadrant/io/onnx.hpp"
#include "quadrant/numerics/encoding.hpp"
#include "quadrant/recipe/documents.hpp"
#include "quadrant/runtime/interpreter.hpp"

namespace {

quadrant::Expected<void> run(const std::string& in, const std::string& out) {
  QUADRANT_TRY(const quadrant::Graph graph, quadrant::read_onnx(in));
  const auto data = quadrant::random_data_set(graph, 16, /*seed=*/1);

  // Runs all samples. What is kept of a value does not grow with their number.
  QUADRANT_TRY(const quadrant::StatisticsTable table,
               quadrant::calibrate(graph, quadrant::Interpreter(), *data));

  quadrant::EncodingRule rule = quadrant::EncodingRule::onnx();
  rule.method = quadrant::EncodingMethod::mse;
  for (const auto& [name, statistics] : table.values) {
    const quadrant::Histogram& histogram = statistics.histogram;
    QUADRANT_TRY(
        const quadrant::Encoding encoding,
        quadrant::find_encoding(histogram.values(), histogram.min(), histogram.max(), rule));
    std::cout << name << ": " << histogram.min() << " to " << histogram.max() << ", as 8 bits "
              << encoding.min << " to " << encoding.max << ", scale " << encoding.scale
              << ", zero point " << encoding.zero_point << '\n';
  }

  // To go on from, or to merge with those of other samples.
  std::ofstream(out) << quadrant::print_statistics(table);
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
