// NF4 (arXiv 2305.14314) as a number format of one's own: the operations are weight_only's, the
// codes are found here.
//
//   build/release/bin/example_own_format model.onnx small.onnx
#include <algorithm>
#include <array>
#include <iostream>

#include "quadrant/engine/macros.hpp"
#include "quadrant/quadrant.hpp"

using namespace quadrant;

// clang-format off
constexpr std::array<float, 16> levels{
    -1.0F,        -0.69619280F, -0.52507305F, -0.39491749F, -0.28444138F, -0.18477343F, -0.09105004F, 0.0F,
    0.07958030F,  0.16093020F,  0.24611230F,  0.33791524F,  0.44070983F,  0.56261700F,  0.72295684F,  1.0F};
// clang-format on

class NormalFloat final : public WeightOnly {
 public:
  NormalFloat() : WeightOnly({.type = "table<16 x f32>[tensor] * f32[block=64] : f32"}) {}
  QUADRANT_DERIVED_SCHEME(NormalFloat, WeightOnly, "normal_float")
  [[nodiscard]] std::string describe() const override { return "NF4 in blocks of 64"; }
  [[nodiscard]] Expected<EncodedConstant> encode(const WeightToEncode& weight) const override;
};

QUADRANT_METHODS(NormalFloat) { add_all_of<WeightOnly>(); }

Expected<EncodedConstant> NormalFloat::encode(const WeightToEncode& weight) const {
  return encode_constant(weight.real, weight.format, {.table = levels});
}

namespace {

Expected<void> quantize_file(const std::string& in, const std::string& out) {
  QUADRANT_TRY(const Graph model, read_model(in));
  QUADRANT_TRY(const Registry registry, RegistryBuilder::of(NormalFloat()).freeze());
  QUADRANT_TRY(const QuantizeResult result, quantize(model, registry));
  QUADRANT_TRY(const WrittenModel written, write_model(result.graph, out));
  std::cout << result.analysis.plan.values.size() << " values, " << written.bytes << " bytes\n";
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: " << argv[0] << " MODEL OUT\n";
    return 2;
  }
  const auto done = quantize_file(argv[1], argv[2]);
  if (!done) std::cerr << to_string(done.error()) << '\n';
  return done ? 0 : 1;
}
