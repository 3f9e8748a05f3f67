// Static affine quantization: weights and activations become integers, with scales and zero points
// that are found before the model runs, from statistics of its values on sample data.
//
//   StaticAffineOptions options;
//   options.statistics = std::make_shared<const StatisticsTable>(statistics);  // of `calibrate`
//   auto result = quantize_static(graph, std::move(options));
//
// examples/static_affine.cpp is a whole program.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "quadrant/engine/declare/scheme.hpp"
#include "quadrant/engine/macros.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/numerics/encoding.hpp"
#include "quadrant/numerics/statistics.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/targets/runtime_profile.hpp"

namespace quadrant::inline v0 {

/// What static_affine asks of a value: which codes, which elements share a scale, and by which of
/// the scheme's rules their encoding is found.
struct AffineForm {
  enum class Role : std::uint8_t {
    activation,  ///< by what was observed of the value; of a constant, by its contents
    weight,      ///< by the contents of a constant
    bias,        ///< added to sums of products, in their scale, or by its own contents
    sum,         ///< of products, before it is rounded: in the product of both scales
  };

  Role role = Role::activation;
  ElementType storage = ElementType::int8;
  Granularity granularity;

  [[nodiscard]] std::size_t hash() const noexcept;
  /// `activation i8`, `weight i8 axis=0`
  [[nodiscard]] std::string print() const;
  [[nodiscard]] static std::optional<AffineForm> parse(std::string_view text);
  friend auto operator<=>(const AffineForm&, const AffineForm&) = default;
};

/// On x86 without VNNI, kernels of ONNX Runtime and OpenVINO add two products of 8-bit codes in 16
/// bits, which saturate where two neighbouring weights of one sign are large (`is_exact_pair`).
enum class Saturation : std::uint8_t {
  avoid,       ///< scales of weights are the least with which no pair can saturate
  allow,       ///< for kernels that sum in 32 bits: with VNNI, AMX, on other processors
  seven_bits,  ///< weights have 7 bits, as other tools do it
};

/// `avoid`, `allow`, `7bit`.
[[nodiscard]] std::string_view to_string(Saturation saturation) noexcept;
[[nodiscard]] std::optional<Saturation> parse_saturation(std::string_view text) noexcept;

struct StaticAffineOptions {
  /// Statistics of the model's values on samples, by name: `calibrate` gathers them. Values that
  /// are not among them, or that were NaN or infinite, stay float.
  std::shared_ptr<const StatisticsTable> statistics;
  /// Prescribed encodings, which replace those found from statistics and contents, for the values
  /// that they name; may be null. What is prescribed for one of several values that share their
  /// parameters (a ReLU and what it limits, what only moves elements) holds for all of them. Codes
  /// are stored as the other options say: with or without a sign, their meaning is the same; one
  /// scale may be that of each channel. A bias in the scale of its products has that scale,
  /// whatever is prescribed.
  ///
  /// `impossible`, with the value's name: other bits than the options', channels where the value
  /// has one scale, or other channels than the weight's; channels with zero points; two values
  /// that share parameters and have different ones; a bias that does not fit into 32 bits.
  std::shared_ptr<const PrescribedEncodings> prescribed;
  /// 8 or 16 bits.
  EncodingRule activations = EncodingRule::onnx();
  /// 8 or 4 bits. Symmetric: integer kernels want weights without a zero point.
  EncodingRule weights{.symmetry = EncodingSymmetry::symmetric_strict};
  /// Tensor, or axis: a scale for each output channel.
  Granularity::Kind weight_granularity = Granularity::Kind::axis;
  /// Codes of activations without a sign.
  bool unsigned_activations = false;
  /// For whose integer kernels parameters are chosen; `any`: each operand and result has its own.
  /// `onnxruntime`: the same; only how it sums counts (`Saturation`). `tflite`: activations of 16
  /// bits are symmetric, whatever their rule says, and results of Sigmoid, Softmax and Tanh are
  /// fixed. `openvino`: products and means compute on codes, and what only moves or limits
  /// elements; Multiply, Sigmoid, Softmax and LeakyRelu stay float; the factors of products of two
  /// computed matrices are symmetric, of which the first may be on one side of zero. `webnn` counts
  /// as `tflite`, `onnx_qoperator` as `onnxruntime`, each of OpenVINO's devices as `openvino`.
  KernelsTarget kernels = KernelsTarget::any;
  /// Of products of 8-bit codes with 8-bit weights. What is prescribed stays as it is. Weights with
  /// a zero point have 7 bits instead.
  Saturation saturation = Saturation::avoid;
  /// Unsigned codes for weights, with the zero point in the middle: ONNX Runtime adds products of
  /// unsigned factors in 32 bits, which takes longer; OpenVINO computes in float then.
  bool unsigned_weights = false;
  /// 32: in the scale of the products that it is added to; 8: in a scale of its own, by the rule
  /// of the activations.
  int bias_bits = 32;
  /// Weights of recurrent layers, which compute in float, are stored as codes all the same.
  bool quantized_recurrent_weights = false;
  /// The model's inputs and outputs are codes, too.
  bool quantized_inputs = false;
  bool quantized_outputs = false;
};

/// The scheme. real = scale * (code - zero_point); by default activations are int8 with a zero
/// point, from the smallest to the largest value that was observed; weights int8, -127..127, with
/// a scale for each output channel; biases int32, in the product of both scales.
class StaticAffine final : public Scheme {
 public:
  using Role = AffineForm::Role;

  /// Options that `make` accepts.
  explicit StaticAffine(StaticAffineOptions options = {}) noexcept : options_(std::move(options)) {}

  QUADRANT_SCHEME(StaticAffine, AffineForm, "static_affine")

  /// The scheme with these options, or why it cannot be.
  [[nodiscard]] static Expected<StaticAffine> make(StaticAffineOptions options);

  [[nodiscard]] const StaticAffineOptions& options() const noexcept { return options_; }
  [[nodiscard]] std::string describe() const override;
  /// The errors of `make`.
  [[nodiscard]] Expected<void> check() const override;

  [[nodiscard]] AffineForm activation() const noexcept;
  /// `channel`: the axis of the weight that the sum keeps.
  [[nodiscard]] AffineForm weight(std::int64_t channel) const noexcept;
  /// Of a bias with an element for each index of `channel`, added to products with a weight.
  [[nodiscard]] AffineForm bias(std::int64_t channel) const noexcept;

  /// Why no encoding can be found for the value as an activation: a literal; null where one can.
  [[nodiscard]] const char* refusal(const GraphView& graph, Value value) const;

  [[nodiscard]] Expected<Value> enter(Value real, const AffineForm& to,
                                      RewriteContext& context) const;
  [[nodiscard]] std::optional<Gain> price(const ConversionOf<AffineForm>& conversion,
                                          const GainModel& gains) const;
  [[nodiscard]] static ElementType storage_type(const AffineForm& form) noexcept {
    return form.storage;
  }
  /// That of a value of type `real` in the form, without numbers.
  [[nodiscard]] std::optional<TensorType> type_of(const AffineForm& form,
                                                  const TensorType& real) const;
  [[nodiscard]] Expected<std::shared_ptr<const UniformType>> resolve(
      const ParameterQuery<AffineForm>& query) const;

 private:
  StaticAffineOptions options_;
};

/// The registry of the scheme's methods.
[[nodiscard]] Expected<Registry> static_affine_registry(StaticAffineOptions options);

/// All four phases with this scheme, by OperationsGain unless `run` says otherwise. In the result,
/// the types of values say what is quantized: `make_quantization_explicit` puts operators in their
/// place, which writers and runtimes do themselves.
[[nodiscard]] Expected<QuantizeResult> quantize_static(const Graph& graph,
                                                       StaticAffineOptions options,
                                                       const QuantizeOptions& run = {});

// Names of 0.1.

using AffineKernels [[deprecated("KernelsTarget")]] = KernelsTarget;

[[deprecated("parse_kernels_target")]] [[nodiscard]] inline std::optional<KernelsTarget>
parse_affine_kernels(std::string_view text) noexcept {
  return parse_kernels_target(text);
}

[[deprecated("quantize_static")]] [[nodiscard]] inline Expected<QuantizeResult>
quantize_static_affine(const Graph& graph, StaticAffineOptions options,
                       const QuantizeOptions& run = {}) {
  return quantize_static(graph, std::move(options), run);
}

}  // namespace quadrant::inline v0
