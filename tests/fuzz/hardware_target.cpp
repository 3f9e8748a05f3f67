// Hardware profiles as JSON: what is read keeps the rules, reads back the same, and predicts times
// that are numbers.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "quadrant/engine/gains/gain.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/ir/text.hpp"
#include "quadrant/methods/weight_only.hpp"
#include "quadrant/recipe/documents.hpp"
#include "require.hpp"

namespace {

using namespace quadrant;

// Products, moves and a table: what takes time in different ways.
constexpr std::string_view graph_text = R"(
%x: tensor<2x64xf32> = input()
%i: tensor<4xi64> = input()
%w: tensor<64x64xf32> = constant() <...>
%table: tensor<1024x64xf32> = constant() <...>
%a: tensor<2x64xf32> = matmul(%x, %w)
%r: tensor<2x64xf32> = onnx.Relu(%a)
%t: tensor<64x64xf32> = transpose(%w) {perm = [1, 0]}
%c: tensor<2x64xf32> = gemm(%r, %t, _)
%e: tensor<4x64xf32> = gather(%table, %i) {axis = 0}
output(%c)
output(%e)
)";

struct Fixture {
  Graph graph = parse_graph(graph_text).value();
  Registry registry = weight_only_registry({.bits = 4}).value();
};

void check_times(const HardwareProfile& profile, const std::string& printed) {
  static const Fixture fixture;
  const auto text_of_it = [&] { return printed; };
  const LatencyGain gain(profile);
  const auto total = gain.in_float(fixture.graph);
  fuzz::require(total && *total > Gain{}, "the model takes no time", text_of_it);
  QuantizeOptions options;
  options.gains = &gain;
  const auto analysis = analyze(fixture.graph, fixture.registry, options);
  fuzz::require_value(analysis, "nothing can be planned", text_of_it);
  for (const PlannedValue& planned : analysis->plan.values) {
    fuzz::require(planned.gain <= *total, "more is saved than there is", text_of_it);
  }
}

void check(std::string_view text) {
  const auto profile = parse_hardware(text);
  if (!profile) return;
  const std::string printed = print_hardware(*profile);
  const auto text_of_it = [&] { return printed; };
  fuzz::require_value(check(*profile), "what was read breaks a rule", text_of_it);
  for (const HardwareNumber& number : hardware_numbers()) {
    const double value = (*profile).*number.member;
    fuzz::require(std::isfinite(value) && (value > 0 || (number.may_be_zero && value == 0)),
                  "a number is none", text_of_it);
  }
  const auto again = parse_hardware(printed);
  fuzz::require_value(again, "what was printed cannot be read", text_of_it);
  fuzz::require(*again == *profile, "it reads back as another profile", text_of_it);
  fuzz::require(print_hardware(*again) == printed, "printed twice, it differs", text_of_it);
  check_times(*profile, printed);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check({reinterpret_cast<const char*>(data), size});
  return 0;
}
