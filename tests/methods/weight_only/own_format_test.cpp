// A scheme that is derived from weight_only: its operations, codes of its own.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "model_text.hpp"
#include "quadrant/engine/explain/explain.hpp"
#include "quadrant/engine/macros.hpp"
#include "quadrant/ir/number_format.hpp"
#include "quadrant/ir/type.hpp"
#include "quadrant/methods/weight_only.hpp"
#include "quadrant/numerics/encode.hpp"
#include "quadrant/numerics/round_weights.hpp"

using namespace quadrant;
using test::value_of;

namespace {

// A table of its own; a weight called `bad` is refused, and one called `worse` ends the run.
class Ternary final : public WeightOnly {
 public:
  explicit Ternary(std::string type = "table<4 x f32>[tensor] * f32[block=2] : f32")
      : WeightOnly({.type = std::move(type)}) {}
  QUADRANT_SCHEME(Ternary, Granularity, "ternary")
  [[nodiscard]] std::string describe() const override { return "ternary"; }
  [[nodiscard]] Expected<EncodedConstant> encode(const WeightToEncode& weight) const override {
    if (weight.name == "bad") return fail(ErrorCode::impossible, "it is called bad");
    if (weight.name == "worse") return fail(ErrorCode::io, "no luck");
    const std::vector<float> levels{-1, -0.25, 0, 1};
    return encode_constant(weight.real, weight.format, {.table = levels});
  }
};

QUADRANT_METHODS(Ternary) { add_all_of<WeightOnly>(); }

QUADRANT_DEQUANTIZER(Ternary)(Value quantized, RewriteContext& context) const {
  return WeightOnly::leave(quantized, context);
}

constexpr std::int64_t rows = 16;
constexpr std::int64_t columns = 8;

// In blocks of two rows, each number is -1, 0 or 1 times the largest magnitude.
std::vector<float> numbers() {
  std::vector<float> made;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t block = row / 2;
    for (std::int64_t column = 0; column < columns; ++column) {
      const auto scale = static_cast<float>(block + column + 1);
      made.push_back(row % 2 == 0 ? scale : static_cast<float>(column % 3 - 1) * scale);
    }
  }
  return made;
}

Graph model_with(const std::string& name) {
  std::string text;
  for (const float number : numbers()) {
    text += (text.empty() ? "" : ", ") + std::to_string(number);
  }
  return test::parsed("%x: tensor<1x16xf32> = input()\n%" + name +
                      ": tensor<16x8xf32> = constant() [" + text +
                      "]\n%y: tensor<1x8xf32> = matmul(%x, %" + name + ")\noutput(%y)\n");
}

Expected<QuantizeResult> quantized_as_ternary(const Graph& graph) {
  QUADRANT_TRY(const Registry registry, RegistryBuilder::of(Ternary()).freeze());
  return quantize(graph, registry);
}

}  // namespace

TEST_CASE("it has all operations of the scheme that it is derived from") {
  const Registry ours = value_of(RegistryBuilder::of(Ternary()).freeze());
  const Registry theirs = value_of(weight_only_registry());
  REQUIRE(ours.methods().size() == theirs.methods().size());
  for (const QuantizationMethod* const method : theirs.methods()) {
    CAPTURE(method->op());
    CHECK(ours.find(method->op()) != nullptr);
  }
}

TEST_CASE("codes and tables are its own") {
  const QuantizeResult result = value_of(quantized_as_ternary(model_with("w")));
  REQUIRE(result.analysis.plan.values.size() == 1);
  CHECK(result.analysis.plan.schemes[0].options == "ternary");
  const Value w = result.graph.find_value("w_quantized");
  REQUIRE(!w.is_absent());
  const Quantization& type = result.graph.type(w).quantization;
  const Tensor table = value_of(Tensor::from_constant(scaled_format(type).table));
  CHECK(table.as<float>()[1] == -0.25F);
  const Constant real = value_of(dequantized(*result.graph.constant(w.node), type));
  const Tensor values = value_of(Tensor::from_constant(real));
  CHECK(std::ranges::equal(values.as<float>(), numbers()));
}

TEST_CASE("what it cannot encode stays float, with its reason, and what fails ends the run") {
  const Registry registry = value_of(RegistryBuilder::of(Ternary()).freeze());
  QuantizeOptions leave;
  leave.non_finite = NonFinitePolicy::leave_float;
  const Graph bad = model_with("bad");
  const QuantizeResult left = value_of(quantize(bad, registry, leave));
  CHECK(left.analysis.plan.values.empty());
  const Explanation why = explain(bad, registry, left.analysis, bad.find_value("bad").node);
  CHECK(why.reason.find("it is called bad") != std::string::npos);

  const auto failed = quantize(model_with("worse"), registry, leave);
  REQUIRE(!failed);
  CHECK(failed.error().code == ErrorCode::io);
}

TEST_CASE("options that no weight_only can have are an error of the registry, derived or not") {
  for (const char* type : {"int44", "i4 * f32[blok=32] : f32"}) {
    CAPTURE(type);
    const auto made = WeightOnly::make({.type = type});
    const auto frozen = RegistryBuilder::of(WeightOnly({.type = type})).freeze();
    REQUIRE_FALSE(made.has_value());
    REQUIRE_FALSE(frozen.has_value());
    CHECK_FALSE(RegistryBuilder::of(Ternary(type)).freeze().has_value());
    CHECK(frozen.error().message == made.error().message);
  }
}
