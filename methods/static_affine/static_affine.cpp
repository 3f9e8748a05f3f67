#include "quadrant/methods/static_affine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "quadrant/ir/graph_rewriter.hpp"
#include "quadrant/ir/ops.hpp"
#include "static_affine/encodings.hpp"
#include "static_affine/methods.hpp"

namespace quadrant::inline v0 {

QUADRANT_METHODS(StaticAffine) {
  static_affine::register_constants(*this);
  static_affine::register_borders(*this);
  static_affine::register_products(*this);
  static_affine::register_arithmetic(*this);
  static_affine::register_clamps(*this);
  static_affine::register_moves(*this);
  static_affine::register_recurrent(*this);
}

QUADRANT_DEQUANTIZER(StaticAffine)(Value quantized, RewriteContext& context) const {
  return context.dequantize(quantized);
}

namespace {

constexpr std::array<std::string_view, 3> saturation_names{"avoid", "allow", "7bit"};

// Names in the order of an enumeration's values.
template <class E, std::size_t size>
std::optional<E> find_name(const std::array<std::string_view, size>& names, std::string_view name) {
  const auto* const found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<E>(found - names.begin());
}

ElementType storage_of(int bits, bool is_unsigned) {
  switch (bits) {
    case 4:
      return is_unsigned ? ElementType::uint4 : ElementType::int4;
    case 16:
      return is_unsigned ? ElementType::uint16 : ElementType::int16;
    case 32:
      return ElementType::int32;
    default:
      return is_unsigned ? ElementType::uint8 : ElementType::int8;
  }
}

std::string_view text(EncodingMethod method) {
  switch (method) {
    case EncodingMethod::minmax:
      return "minmax";
    case EncodingMethod::enhanced:
      return "enhanced";
    case EncodingMethod::adjusted_weights:
      return "adjusted-weights";
    case EncodingMethod::percentile:
      return "percentile";
    case EncodingMethod::entropy:
      return "entropy";
    case EncodingMethod::mse:
      return "mse";
  }
  return {};
}

std::string_view text(EncodingSymmetry symmetry) {
  switch (symmetry) {
    case EncodingSymmetry::asymmetric:
      return "asymmetric";
    case EncodingSymmetry::symmetric:
      return "symmetric";
    case EncodingSymmetry::symmetric_strict:
      return "symmetric-strict";
    case EncodingSymmetry::symmetric_unsigned:
      return "symmetric-unsigned";
  }
  return {};
}

std::string describe_rule(const EncodingRule& rule, ElementType storage) {
  std::string line =
      fmt::format("{} {} {}", to_string(storage), text(rule.symmetry), text(rule.method));
  if (rule.method == EncodingMethod::percentile) line += fmt::format(" {}", rule.percentile);
  if (rule.method == EncodingMethod::enhanced && rule.gamma != 1) {
    line += fmt::format(" gamma={}", rule.gamma);
  }
  if (rule.minimum_range != 0) line += fmt::format(" minimum-range={}", rule.minimum_range);
  return line;
}

Expected<void> check_bits(std::string_view of, int bits, int first, int second) {
  if (bits == first || bits == second) return {};
  return fail(ErrorCode::impossible,
              fmt::format("static_affine has {} of {} or {} bits; {} are not "
                          "available",
                          of, first, second, bits));
}

// Of a device, or of a way to write operations, the runtime.
KernelsTarget runtime_of(KernelsTarget kernels) noexcept {
  switch (kernels) {
    case KernelsTarget::webnn:
      return KernelsTarget::tflite;
    case KernelsTarget::onnx_qoperator:
      return KernelsTarget::onnxruntime;
    case KernelsTarget::openvino_cpu:
    case KernelsTarget::openvino_gpu:
    case KernelsTarget::openvino_generic:
      return KernelsTarget::openvino;
    default:
      return kernels;
  }
}

}  // namespace

std::string_view to_string(Saturation saturation) noexcept {
  return saturation_names[static_cast<std::size_t>(saturation)];
}

std::optional<Saturation> parse_saturation(std::string_view text) noexcept {
  return find_name<Saturation>(saturation_names, text);
}

Expected<void> StaticAffine::check() const {
  return make(options_).map([](const StaticAffine& /*checked*/) {});
}

Expected<StaticAffine> StaticAffine::make(StaticAffineOptions options) {
  QUADRANT_CHECK(check_bits("activations", options.activations.bits, 8, 16));
  QUADRANT_CHECK(check_bits("weights", options.weights.bits, 8, 4));
  QUADRANT_CHECK(check_bits("biases", options.bias_bits, 32, 8));
  QUADRANT_CHECK(quadrant::check(options.activations));
  QUADRANT_CHECK(quadrant::check(options.weights));
  if (options.activations.method == EncodingMethod::adjusted_weights) {
    return fail(ErrorCode::impossible, "the encoding adjusted-weights is for weights");
  }
  if (options.weights.method == EncodingMethod::adjusted_weights &&
      options.weights.symmetry != EncodingSymmetry::asymmetric) {
    return fail(ErrorCode::impossible,
                "the encoding adjusted-weights moves the zero point: it is for asymmetric weights");
  }
  if (options.weights.symmetry == EncodingSymmetry::asymmetric && options.bias_bits == 32 &&
      options.weight_granularity != Granularity::Kind::tensor) {
    return fail(ErrorCode::impossible,
                "asymmetric weights have one scale and zero point for the tensor, not for each "
                "channel: no runtime has integer kernels for those");
  }
  if (options.weight_granularity == Granularity::Kind::block) {
    return fail(ErrorCode::impossible,
                "weights in blocks are for weight_only: their scales vary along the sum");
  }
  options.kernels = runtime_of(options.kernels);
  if (options.kernels == KernelsTarget::tflite && options.activations.bits == 16) {
    if (options.unsigned_activations) {
      return fail(ErrorCode::impossible,
                  "LiteRT has no kernels for codes of 16 bits without a sign");
    }
    options.activations.symmetry = EncodingSymmetry::symmetric;
  }
  return StaticAffine(std::move(options));
}

std::string StaticAffine::describe() const {
  const auto form = [](bool is_codes) { return is_codes ? "codes" : "float"; };
  return fmt::format(
      "activations={} weights={} granularity={} bias={} recurrent={} inputs={} outputs={}{}{}",
      describe_rule(options_.activations, activation().storage),
      describe_rule(options_.weights, weight(0).storage),
      options_.weight_granularity == Granularity::Kind::axis ? "channel" : "tensor",
      to_string(bias(0).storage), form(options_.quantized_recurrent_weights),
      form(options_.quantized_inputs), form(options_.quantized_outputs),
      options_.kernels == KernelsTarget::any
          ? ""
          : fmt::format(" kernels={}", to_string(options_.kernels)),
      options_.saturation == Saturation::avoid
          ? ""
          : fmt::format(" saturation={}", to_string(options_.saturation)));
}

AffineForm StaticAffine::activation() const noexcept {
  return {Role::activation, storage_of(options_.activations.bits, options_.unsigned_activations),
          Granularity::per_tensor()};
}

AffineForm StaticAffine::weight(std::int64_t channel) const noexcept {
  const bool is_whole = options_.weight_granularity == Granularity::Kind::tensor;
  return {Role::weight, storage_of(options_.weights.bits, options_.unsigned_weights),
          is_whole ? Granularity::per_tensor() : Granularity::per_axis(channel)};
}

AffineForm StaticAffine::bias(std::int64_t channel) const noexcept {
  const bool is_whole =
      options_.weight_granularity == Granularity::Kind::tensor || options_.bias_bits != 32;
  return {Role::bias, storage_of(options_.bias_bits, false),
          is_whole ? Granularity::per_tensor() : Granularity::per_axis(channel)};
}

const char* StaticAffine::refusal(const GraphView& graph, Value value) const {
  return static_affine::activation_refusal(options_, graph, value);
}

// NOLINTNEXTLINE(readability-convert-member-functions-to-static): a hook
Expected<Value> StaticAffine::enter(Value real, const AffineForm& to,
                                    RewriteContext& context) const {
  return context.quantize(real, context.parameters(real, to));
}

std::optional<Gain> StaticAffine::price(const ConversionOf<AffineForm>& conversion,
                                        const GainModel& gains) const {
  const bool is_constant = conversion.graph->constant(conversion.value.node) != nullptr;
  switch (conversion.kind()) {
    case ConversionKind::convert:
      return std::nullopt;
    case ConversionKind::leave:
      // Runtimes compute the real values of constants when they load the model.
      if (is_constant) return Gain{};
      break;
    case ConversionKind::enter:
      // Constants are codes in the file, or not at all.
      if (is_constant || conversion.to()->role != Role::activation ||
          refusal(*conversion.graph, conversion.value) != nullptr) {
        return std::nullopt;
      }
      break;
  }
  return gains.of_conversion(conversion);
}

std::optional<TensorType> StaticAffine::type_of(const AffineForm& form,
                                                const TensorType& real) const {
  const int bits = bit_width(form.storage);
  const bool is_signed = form.storage == storage_element(bits, true);
  const bool is_weight = form.role == Role::weight;
  const EncodingSymmetry symmetry = (is_weight ? options_.weights : options_.activations).symmetry;
  IntegerCode codes = IntegerCode::of(bits, is_signed);
  if (is_weight && is_signed && symmetry == EncodingSymmetry::symmetric_strict) ++codes.min;
  const bool is_even =
      symmetry == EncodingSymmetry::symmetric || symmetry == EncodingSymmetry::symmetric_strict;
  const bool has_zeros = (form.role == Role::activation || is_weight) && (!is_signed || !is_even);
  NumberFormat format{.code = codes,
                      .scales = {{form.granularity, FloatScale{}}},
                      .offset = has_zeros ? Offset::zero_point : Offset::none,
                      .expressed = real.element};
  return type_without_numbers(std::move(format), real.shape);
}

Expected<std::shared_ptr<const UniformType>> StaticAffine::resolve(
    const ParameterQuery<AffineForm>& query) const {
  switch (query.constraint->role) {
    case Role::weight:
      return static_affine::weight_type(options_, query);
    case Role::bias:
      return static_affine::bias_type(options_, query);
    case Role::sum:
      return nullptr;  // it follows from what was found for the factors
    default:
      return static_affine::activation_type(options_, query);
  }
}

Expected<Registry> static_affine_registry(StaticAffineOptions options) {
  QUADRANT_TRY(StaticAffine scheme, StaticAffine::make(std::move(options)));
  return RegistryBuilder::of(std::move(scheme)).freeze();
}

Expected<QuantizeResult> quantize_static(const Graph& graph, StaticAffineOptions options,
                                         const QuantizeOptions& run) {
  QUADRANT_TRY(const Registry registry, static_affine_registry(std::move(options)));
  const OperationsGain operations;
  QuantizeOptions chosen = run;
  if (chosen.gains == nullptr) chosen.gains = &operations;
  return quantize(graph, registry, chosen);
}

}  // namespace quadrant::inline v0
