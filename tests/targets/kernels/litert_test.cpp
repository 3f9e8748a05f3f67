// What rules say of LiteRT's kernels, and what its specification of quantization fixes:
// https://ai.google.dev/edge/litert/models/quantization_spec
#include "targets/kernels/litert.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <string_view>

#include "ir/scales.hpp"
#include "targets/kernels/webnn.hpp"

using namespace quadrant;
namespace litert = target_kernels::litert;

namespace {

constexpr std::array fused_types{ElementType::int8, ElementType::uint8, ElementType::int16};

UniformType codes_of(ElementType storage, std::int64_t zero = 0) {
  const IntegerRange range = *integer_range(storage);
  return {.storage = storage,
          .storage_min = range.min,
          .storage_max = range.max,
          .scales = make_scales(ElementType::float32, Shape::scalar(), {0.5F}),
          .zero_points = make_zero_points(storage, Shape::scalar(), std::span(&zero, 1))};
}

Quantization coded(UniformType type) {
  return std::make_shared<const UniformType>(std::move(type));
}

/// Of `A, B; C`: whether A and B take the codes, or C does.
bool kernels_take(std::string_view names, const UniformType& codes) {
  const std::size_t other = names.find("; ");
  if (other != std::string_view::npos) {
    return kernels_take(names.substr(0, other), codes) ||
           kernels_take(names.substr(other + 2), codes);
  }
  const std::size_t next = names.find(", ");
  return target_kernels::litert_kernel(names.substr(0, next)).takes_codes(coded(codes)) &&
         (next == std::string_view::npos || kernels_take(names.substr(next + 2), codes));
}

}  // namespace

TEST_CASE("no rule is narrower than its kernels without a word of why, and none is wider") {
  for (const target_kernels::KernelRule& rule : litert::rules) {
    for (const ElementType storage : fused_types) {
      CAPTURE(rule.kind);
      CAPTURE(to_string(storage));
      const bool is_taken =
          rule.operation.empty() || kernels_take(rule.operation, codes_of(storage));
      const bool is_excepted = rule.except.storages.contains(storage);
      CHECK(rule.storages.contains(storage) == (is_taken && !is_excepted));
      if (is_excepted) CHECK(is_taken);
      if (is_excepted) CHECK_FALSE(rule.except.why.empty());
    }
  }
}

TEST_CASE("results of kernels and of rules that fix them") {
  struct Fixed {
    const char* kernel;
    ElementType codes;
    float scale;
    std::int64_t zero;
  };
  for (const Fixed& fixed : {Fixed{"LOGISTIC", ElementType::int8, 1.0F / 256, -128},
                             Fixed{"LOGISTIC", ElementType::uint8, 1.0F / 256, 0},
                             Fixed{"LOGISTIC", ElementType::int16, 1.0F / 32768, 0},
                             Fixed{"SOFTMAX", ElementType::int8, 1.0F / 256, -128},
                             Fixed{"SOFTMAX", ElementType::uint8, 1.0F / 256, 0},
                             Fixed{"LOG_SOFTMAX", ElementType::int8, 16.0F / 256, 127},
                             Fixed{"LOG_SOFTMAX", ElementType::uint8, 16.0F / 256, 255},
                             Fixed{"TANH", ElementType::int16, 1.0F / 32768, 0}}) {
    CAPTURE(fixed.kernel);
    const auto found = target_kernels::litert_kernel(fixed.kernel).results.of(fixed.codes);
    REQUIRE(found);
    CHECK(found->scale == fixed.scale);
    CHECK(found->zero == fixed.zero);
  }
  for (const target_kernels::KernelRule& rule : litert::rules) {
    for (const ElementType storage : fused_types) {
      CAPTURE(rule.kind);
      const bool is_fixed = rule.family == target_kernels::ParameterFamily::fixed;
      if (rule.storages.contains(storage)) CHECK(rule.results.of(storage).has_value() == is_fixed);
    }
  }
}

TEST_CASE("zero points and weights") {
  using target_kernels::litert_kernel;
  CHECK(litert_kernel("ADD").takes_codes(coded(codes_of(ElementType::int16))));
  CHECK_FALSE(litert_kernel("ADD").takes_codes(coded(codes_of(ElementType::int16, 3))));
  CHECK(litert_kernel("GATHER").takes_codes(coded(codes_of(ElementType::int16, 3))));
  const ScaledFormat nf4{*parse_number_format("nf4 * f32[tensor] : f32"),
                         {make_scales(ElementType::float32, Shape::scalar(), {0.5F})},
                         {},
                         {}};
  CHECK_FALSE(litert_kernel("SHAPE").takes_codes(nf4));
  CHECK(litert_kernel("CONV_2D").refuse_weights(ElementType::int8, nf4) != nullptr);
  CHECK_FALSE(litert_kernel("no such operator").takes_codes(coded(codes_of(ElementType::int8))));
  const auto takes = [](std::string_view kernel, ElementType data, ElementType weight,
                        std::int64_t zero = 0) {
    return litert_kernel(kernel).refuse_weights(data, coded(codes_of(weight, zero))) == nullptr;
  };
  using enum ElementType;
  CHECK(takes("FULLY_CONNECTED", int8, int8, 3));
  CHECK_FALSE(takes("FULLY_CONNECTED", int16, int16));
  CHECK(takes("FULLY_CONNECTED", int16, int4));
  CHECK_FALSE(takes("FULLY_CONNECTED", int8, int4, 3));
  CHECK(takes("BATCH_MATMUL", int16, int16));
  CHECK_FALSE(takes("BATCH_MATMUL", int16, int8));
  CHECK(takes("CONV_2D", int16, int4));
  CHECK_FALSE(takes("CONV_2D", int8, int8, 3));
  CHECK(takes("CONV_2D", uint8, uint8, 3));
  CHECK_FALSE(takes("CONV_2D", uint8, int8));
  CHECK_FALSE(takes("DEPTHWISE_CONV_2D", int16, int4));
  CHECK_FALSE(takes("TRANSPOSE_CONV", int8, int4));
  // Of 2 bits.
  for (const auto data : {int8, int16}) {
    CHECK(litert_kernel("FULLY_CONNECTED").takes_weights(data, int2));
    for (const char* const kernel :
         {"CONV_2D", "DEPTHWISE_CONV_2D", "TRANSPOSE_CONV", "BATCH_MATMUL"}) {
      CHECK_FALSE(litert_kernel(kernel).takes_weights(data, int2));
    }
  }
  CHECK_FALSE(litert_kernel("FULLY_CONNECTED").takes_weights(uint8, int2));
  for (const auto& kernel : litert::kernels) {
    CHECK(((kernel.codes & litert::i2) != 0) == (kernel.name == "DEQUANTIZE"));
  }
}

TEST_CASE("the browsers' converter knows fewer codes, and fixes tanh of 8 bits") {
  namespace webnn = target_kernels::webnn;
  for (const target_kernels::KernelRule& rule : webnn::rules) {
    CAPTURE(rule.kind);
    CHECK_FALSE(rule.storages.contains(ElementType::int16));
    CHECK(target_kernels::find_rule(litert::rules, rule.kind) != nullptr);
  }
  const auto fixed =
      target_kernels::find_rule(webnn::rules, ops::Tanh::kind)->results.of(ElementType::uint8);
  REQUIRE(fixed);
  CHECK(fixed->scale == 1.0F / 128);
  CHECK(fixed->zero == 128);
}

// Measured with and without XNNPACK (tests/peers/tflite_blocks_test.py).
TEST_CASE("weights in blocks") {
  struct Case {
    std::int64_t channels = 4;
    std::int64_t depth = 64;
    std::int64_t size = 32;
    float scale = 0.5F;
    ElementType storage = ElementType::int4;
    std::int64_t zero = 0;
    const char* kernel = "FULLY_CONNECTED";
  };
  const auto takes = [](const Case& given) {
    UniformType type = codes_of(given.storage);
    const Shape shape{given.channels, given.depth};
    type.granularity = Granularity::per_block(1, given.size);
    const Shape groups = parameter_shape(shape, type.granularity);
    const auto count = static_cast<std::size_t>(groups.element_count().value_or(0));
    std::vector<float> scales(count, 0.25F);
    if (count > 0) scales.back() = given.scale;
    type.scales = make_scales(ElementType::float32, groups, scales);
    type.zero_points =
        make_zero_points(given.storage, groups, std::vector<std::int64_t>(count, given.zero));
    return target_kernels::litert_kernel(given.kernel).takes_blocks(coded(type), shape);
  };
  CHECK(takes({}));
  CHECK(takes({.size = 64}));
  CHECK(takes({.depth = 96, .size = 96}));
  CHECK(takes({.scale = 65504}));
  CHECK_FALSE(takes({.channels = 3}));
  CHECK_FALSE(takes({.depth = 80}));
  CHECK_FALSE(takes({.depth = 0}));
  CHECK_FALSE(takes({.size = 16}));
  CHECK_FALSE(takes({.depth = 96, .size = 48}));
  CHECK_FALSE(takes({.scale = -0.5F}));
  CHECK_FALSE(takes({.scale = 0.1F}));
  CHECK_FALSE(takes({.scale = 65536}));
  CHECK_FALSE(takes({.storage = ElementType::int8}));
  CHECK_FALSE(takes({.zero = 1}));
  CHECK_FALSE(takes({.kernel = "CONV_2D"}));
  CHECK_FALSE(takes({.kernel = "DEQUANTIZE"}));
}
