// Weights in number formats: what each takes and leaves of them, and a file of the one with the
// best ratio.
//
//   build/release/bin/example_number_formats examples/models/tiny_transformer.onnx /tmp/small.onnx
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <limits>
#include <string>

#include "quadrant/io/onnx.hpp"
#include "quadrant/ir/number_format.hpp"
#include "quadrant/methods/weight_only.hpp"
#include "quadrant/numerics/round_weights.hpp"

namespace {

struct Total {
  double bits = 0;
  double weights = 0;
  double error = 0;
};

// Of all matrices of the model, rows being channels.
quadrant::Expected<Total> measure(const quadrant::Graph& graph,
                                  const quadrant::NumberFormat& format) {
  Total total;
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    const quadrant::NodeId node = graph.node_at(i);
    const quadrant::Constant* const weight = node.is_valid() ? graph.constant(node) : nullptr;
    if (weight == nullptr || !quadrant::is_float(weight->element())) continue;
    if (weight->shape().rank() != 2) continue;
    // Codes and scales of least squared error, and what they stand for: see encode.hpp.
    QUADRANT_TRY(const quadrant::EncodedConstant encoded,
                 quadrant::encode_constant(*weight, format));
    total.bits += quadrant::stored_bits(format, weight->shape());
    total.weights += static_cast<double>(weight->element_count());
    total.error += encoded.error;
  }
  return total;
}

quadrant::Expected<void> run(const std::string& in, const std::string& out) {
  QUADRANT_TRY(const quadrant::Graph graph, quadrant::read_onnx(in));
  std::string best;
  double least = std::numeric_limits<double>::infinity();
  for (const char* const name : {"int4", "nf4", "mxfp4", "nvfp4", "q4_k", "fp8-e4m3"}) {
    QUADRANT_TRY(const quadrant::NumberFormat format, quadrant::parse_number_format(name));
    QUADRANT_TRY(const Total total, measure(graph, format));
    const double bits = total.weights == 0 ? 0 : total.bits / total.weights;
    std::cout << std::setw(9) << name << "  " << std::fixed << std::setprecision(2) << bits
              << " bits, error " << std::scientific << total.error << '\n';
    // A bit more is worth a quarter of the error, which is what it brings at best.
    const double cost = total.error * std::exp2(2 * bits);
    if (cost < least) best = name;
    least = std::min(least, cost);
  }

  QUADRANT_TRY(const quadrant::QuantizeResult result,
               quadrant::quantize_weight_only(graph, {.type = best}));
  QUADRANT_TRY(const quadrant::OnnxWriteReport report, quadrant::write_onnx(result.graph, out));
  std::cout << out << ": " << best << ", " << report.model_bytes << " bytes\n";
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
