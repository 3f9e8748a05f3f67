// Explicit quantize and dequantize become types: an operation between them computes on codes.
//
//   dequantize -> conv -> quantize        (float in between)
//   conv                                  (codes in, codes out, with the same parameters)
//
// Parameters are given with the model and do not change: an operation is fused where the kernels of
// a target compute, from exactly these codes, what the float operation and the roundings around it
// give, to one step. What cannot be fused stays as it is, with the reason.
//
//   auto fused = quantize_qdq(graph, {.target = KernelsTarget::tflite});
//
// docs/schemes/qdq_fusion.md has the rules.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "quadrant/engine/declare/scheme.hpp"
#include "quadrant/engine/macros.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/targets/runtime_profile.hpp"

namespace quadrant::inline v0 {

/// Those whose integer kernels operations are fused for.
inline constexpr std::array fusion_targets{KernelsTarget::tflite, KernelsTarget::webnn,
                                           KernelsTarget::onnx_qoperator};

struct QdqFusionOptions {
  KernelsTarget target = KernelsTarget::tflite;  ///< of `fusion_targets`; `usage` for another
};

/// The forms in which a node's results can be codes without changing any value that is read.
struct FusedForms {
  /// All that reads the results quantizes them so, at once or behind operations that commute with
  /// rounding.
  std::optional<GivenForm> sink;
  /// The results are dequantized codes of this form already: they are chosen from dequantized
  /// values.
  std::optional<GivenForm> origin;
  /// Why there is no `sink`: a literal.
  const char* why_no_sink = nullptr;
};

/// The scheme, for one graph. Roots are dequantized values; requests come from the `quantize`
/// behind an operation.
class QdqFusion final : public Scheme {
 public:
  QUADRANT_SCHEME(QdqFusion, GivenForm, "qdq_fusion")

  /// Finds the forms of `graph`, whose ids they are kept by: the scheme is for this graph, or
  /// copies of it. Linear. `invalid_model` for a cycle.
  [[nodiscard]] static Expected<QdqFusion> make(const GraphView& graph,
                                                QdqFusionOptions options = {});

  [[nodiscard]] const QdqFusionOptions& options() const noexcept { return options_; }
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] const FusedForms& forms(NodeId node) const noexcept;

  [[nodiscard]] std::optional<GivenForm> recognize(const TensorType& type) const;
  /// Float values that all their readers quantize so, if behind operations that choose elements,
  /// are quantized at once.
  [[nodiscard]] Expected<Value> enter(Value real, const GivenForm& to,
                                      RewriteContext& context) const;
  /// A requantize: `dequantize` and `quantize`, one behind the other.
  [[nodiscard]] Expected<Value> convert(Value quantized, const GivenForm& to,
                                        RewriteContext& context) const;
  [[nodiscard]] std::optional<Gain> price(const ConversionOf<GivenForm>& conversion,
                                          const GainModel& gains) const;
  [[nodiscard]] static std::optional<TensorType> type_of(const GivenForm& form,
                                                         const TensorType& real) {
    if (form.type == nullptr) return std::nullopt;
    return TensorType{form.storage(), real.shape, form.type};
  }
  [[nodiscard]] static ElementType storage_type(const GivenForm& form) noexcept {
    return form.storage();
  }

 private:
  explicit QdqFusion(QdqFusionOptions options) : options_(options) {}

  QdqFusionOptions options_;
  std::shared_ptr<const std::unordered_map<NodeId, FusedForms>> forms_;
};

/// The registry of the scheme's methods for `graph`, which is a `FusedGraph::model`.
[[nodiscard]] Expected<Registry> qdq_fusion_registry(const GraphView& graph,
                                                     const QdqFusionOptions& options = {});

struct FusedGraph {
  /// What was given, ready to be fused: `quantize` and `dequantize` stand where types alone said
  /// what is quantized, and constants behind a `quantize` are codes.
  Graph model;
  /// Fused: types say what is quantized; `quantize` and `dequantize` are left where floats are
  /// read.
  Graph graph;
  Analysis analysis;  ///< node ids in it are those of `model`
  /// How many values of uint8 became int8, which stands for the same numbers with a zero point 128
  /// less: for `tflite`, where more products have kernels then.
  std::int64_t made_signed = 0;
};

/// All four phases; where `run` names no gains, by OperationsGain and the optimal policy. `graph`
/// is not changed; the result shares its constants. `invalid_model` for a cycle; else what
/// `quantize` fails with.
[[nodiscard]] Expected<FusedGraph> quantize_qdq(const Graph& graph,
                                                const QdqFusionOptions& options = {},
                                                const QuantizeOptions& run = {});

/// The tensors that would have to be quantized for all operations with a kernel to compute on
/// codes, and are not, producers first, each with the reason: operands and results of these
/// operations that no quantization is put on, neither at once nor behind operations that only
/// choose elements. A model is quantized whole, as simulated quantization at training time should
/// leave it, where there are none; biases need none. `model` is a `FusedGraph::model`. Linear.
/// `invalid_model` for a cycle.
[[nodiscard]] Expected<std::vector<LeftAlone>> unquantized_tensors(
    const GraphView& model, const QdqFusionOptions& options = {});

/// A rule for people.
struct FusionRuleText {
  std::string kind;        ///< of the operation, in the graph
  std::string operation;   ///< what the target calls it
  std::string storages;    ///< types of the codes that its kernels compute on: `i8, u8`
  std::string parameters;  ///< what they ask of scales and zero points
};

/// One for each operation that one of `fusion_targets` computes on codes.
[[nodiscard]] std::vector<FusionRuleText> describe_rules(KernelsTarget target);

// Names of 0.1.

using FusionTarget [[deprecated("KernelsTarget")]] = KernelsTarget;

[[deprecated("parse_kernels_target")]] [[nodiscard]] inline std::optional<KernelsTarget>
parse_fusion_target(std::string_view text) noexcept {
  return parse_kernels_target(text);
}

[[deprecated("quantize_qdq")]] [[nodiscard]] inline Expected<FusedGraph> fuse_qdq(
    const Graph& graph, const QdqFusionOptions& options = {}, const QuantizeOptions& run = {}) {
  return quantize_qdq(graph, options, run);
}

}  // namespace quadrant::inline v0
