#include "quadrant/targets/runtime_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ir/ops/elementwise.hpp"
#include "ir/ops/normalization.hpp"
#include "ir/ops/windows.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0 {
namespace {

// In the order of KernelsTarget.
constexpr std::array<std::string_view, 9> target_names{
    "any",          "onnxruntime",  "tflite",          "openvino", "webnn", "onnx-qoperator",
    "openvino-cpu", "openvino-gpu", "openvino-generic"};

// Convolutions, products and what usually stands between them, without control of data.
std::vector<std::string> assumed_hta_kinds() {
  constexpr std::array kinds{ops::Conv::kind,
                             ops::ConvTranspose::kind,
                             ops::Gemm::kind,
                             ops::Linear::kind,
                             ops::MatMul::kind,
                             ops::Add::kind,
                             ops::Multiply::kind,
                             ops::Concat::kind,
                             ops::Relu::kind,
                             ops::Clip::kind,
                             ops::PRelu::kind,
                             ops::LeakyRelu::kind,
                             ops::MaxPool::kind,
                             ops::AveragePool::kind,
                             ops::GlobalAveragePool::kind,
                             ops::Sigmoid::kind,
                             ops::BatchNormalization::kind,
                             ops::Tanh::kind,
                             ops::HardSwish::kind,
                             ops::HardSigmoid::kind};
  return {kinds.begin(), kinds.end()};
}

bool contains(const std::vector<ElementType>& types, ElementType type) {
  return std::ranges::find(types, type) != types.end();
}

Expected<void> refuse(const RuntimeProfile& profile, std::string_view what) {
  return fail(ErrorCode::usage, fmt::format("runtime profile '{}': {}", profile.name, what));
}

// Codes of 64 bits are nobody's.
bool is_code(ElementType type) { return is_integer(type) && bit_width(type) <= 32; }

Expected<void> check_becomes(const RuntimeProfile& profile, const FormRule& rule) {
  if (!rule.becomes || contains(profile.floating.native, *rule.becomes) ||
      contains(profile.quantized.native, *rule.becomes)) {
    return {};
  }
  return refuse(profile, fmt::format("parameters become {}, which it does not compute with: list "
                                     "it among the native types",
                                     to_string(*rule.becomes)));
}

}  // namespace

std::string_view to_string(KernelsTarget target) noexcept {
  return target_names[static_cast<std::size_t>(target)];
}

std::optional<KernelsTarget> parse_kernels_target(std::string_view text) noexcept {
  const auto* const found = std::ranges::find(target_names, text);
  if (found == target_names.end()) return std::nullopt;
  return static_cast<KernelsTarget>(found - target_names.begin());
}

std::string_view to_string(ParameterForm form) noexcept {
  return form == ParameterForm::floating ? "float" : "quantized";
}

std::vector<RuntimeProfile> snpe_runtimes() {
  using enum ElementType;
  const FormRule floats_as_they_are{.native = {float32}, .becomes = float32};
  const FormRule codes_as_they_are{.native = {int8, uint8, int32}, .becomes = uint8};
  const RuntimeProfile cpu{.name = "CPU",
                           .floating = floats_as_they_are,
                           .quantized = {.native = {}, .becomes = float32}};
  RuntimeProfile gpu = cpu;
  gpu.name = "GPU";
  const RuntimeProfile dsp{
      .name = "DSP", .floating = {.native = {}, .becomes = uint8}, .quantized = codes_as_they_are};
  RuntimeProfile aip{.name = "AIP",
                     .floating = {},
                     .quantized = {.native = codes_as_they_are.native, .becomes = {}},
                     .needs_quantized_activations = true};
  aip.split = {
      .first = "HTA",
      .takes = assumed_hta_kinds(),
      .first_parameters = "the quantized parameters of the file; a quantizer must have made them",
      .second = "HNN",
      .second_parameters = "the quantization parameters in the same way as DSP"};
  return {cpu, gpu, dsp, aip};
}

Expected<void> check(const RuntimeProfile& profile) {
  if (profile.name.empty()) return refuse(profile, "it needs a name");
  if (!std::ranges::all_of(profile.floating.native, is_float)) {
    return refuse(profile, "a native type of its float parameters is no float");
  }
  if (!std::ranges::all_of(profile.quantized.native, is_code)) {
    return refuse(profile,
                  "a native type of its quantized parameters is no integer of at most 32 bits");
  }
  QUADRANT_CHECK(check_becomes(profile, profile.floating));
  QUADRANT_CHECK(check_becomes(profile, profile.quantized));
  if (profile.split && (profile.split->first.empty() || profile.split->second.empty() ||
                        profile.split->first == profile.split->second)) {
    return refuse(profile, "its two kinds of subnets need names that differ");
  }
  return {};
}

}  // namespace quadrant::inline v0
