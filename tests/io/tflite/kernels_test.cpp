// What is fused for LiteRT's kernels is what the writer knows of them.
#include "io/tflite/kernels.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "qdq_fusion/rules.hpp"
#include "quadrant/ir/scales.hpp"

using namespace quadrant;
namespace schema = quadrant::tflite::schema;

namespace {

/// The first operator that a rule names.
schema::BuiltinOperator operator_of(std::string_view operation) {
  const std::string name(operation.substr(0, operation.find_first_of(",;")));
  for (const auto code : schema::EnumValuesBuiltinOperator()) {
    if (name == schema::EnumNameBuiltinOperator(code)) return code;
  }
  FAIL("no operator " << name);
  return {};
}

UniformType codes_of(ElementType storage) {
  const IntegerRange range = *integer_range(storage);
  return {.storage = storage,
          .storage_min = range.min,
          .storage_max = range.max,
          .scales = make_scales(ElementType::float32, Shape::scalar(), {0.5F})};
}

/// Kernels that compute on codes which are not fused, with the reason.
constexpr std::array exceptions{
    std::pair{"matmul", ElementType::uint8},          // BATCH_MATMUL takes none
    std::pair{"onnx.Exp", ElementType::int16},        // many steps off
    std::pair{"onnx.Gelu", ElementType::int16},       // two steps off
    std::pair{"onnx.Softmax", ElementType::int16},    // up to 18 steps off
    std::pair{"onnx.Tanh", ElementType::int16},       // two steps off
    std::pair{"onnx.ReduceSum", ElementType::int16},  // sums leave the codes
    std::pair{"onnx.Sqrt", ElementType::int16},       // half of its codes are negative numbers
};

}  // namespace

TEST_CASE("kernels are fused for the codes that they take") {
  for (const qdq_fusion::FusionRule& rule : qdq_fusion::rules(FusionTarget::tflite)) {
    if (rule.operation.empty()) continue;
    const schema::BuiltinOperator code = operator_of(rule.operation);
    for (const ElementType storage : {ElementType::int8, ElementType::uint8, ElementType::int16}) {
      CAPTURE(rule.kind);
      CAPTURE(to_string(storage));
      const bool is_exception =
          std::ranges::find(exceptions, std::pair{rule.kind, storage}, [](const auto& row) {
            return std::pair{std::string_view(row.first), row.second};
          }) != exceptions.end();
      CHECK(rule.storages.contains(storage) ==
            (tflite::takes_codes(code, codes_of(storage)) && !is_exception));
    }
  }
}

TEST_CASE("results of fixed parameters are those that are fused") {
  for (const qdq_fusion::FusionRule& rule : qdq_fusion::rules(FusionTarget::tflite)) {
    if (rule.operation.empty()) continue;
    const schema::BuiltinOperator code = operator_of(rule.operation);
    for (const ElementType storage : {ElementType::int8, ElementType::uint8, ElementType::int16}) {
      if (!rule.storages.contains(storage)) continue;
      CAPTURE(rule.kind);
      CAPTURE(to_string(storage));
      const auto fixed = tflite::result_codes(code, storage);
      REQUIRE(fixed.has_value() == (rule.family == qdq_fusion::Family::fixed));
      if (!fixed) continue;
      const GivenForm form = rule.result(storage);
      CHECK(form.scale == fixed->scale);
      CHECK(form.zero_point == fixed->zero);
      CHECK((fixed->has_any_zero) == (rule.has_any_zero_of_8_bits && bit_width(storage) == 8));
    }
  }
}
