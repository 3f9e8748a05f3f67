// FakeQuantize, interpreted: simulated quantization becomes operations on codes.
//
//   x -> fake_quantize -> conv(., fake_quantize(w)) -> add bias -> relu -> fake_quantize -> conv
//   ... x -> quantize u8 -> conv i32 -> add i32 -> relu u8 -> conv i32 ...             (codes
//   throughout)
//
// Each fake_quantize is a `quantize` and a `dequantize`. The `dequantize` is not computed but kept
// in mind, as the type of a value, through all that is linear or only chooses elements; the next
// `quantize` takes over from there. Results of the model are float.
//
//   auto lowered = quantize_simulated(graph, {.target = KernelsTarget::openvino_cpu});
//
// docs/schemes/fake_quantize.md has the rules.
#pragma once

#include <array>
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
#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/targets/runtime_profile.hpp"

namespace quadrant::inline v0 {

/// Those whose kernels compute on codes: each is a table of types and granularities for each
/// operation and port, `describe_low_precision`.
inline constexpr std::array low_precision_targets{
    KernelsTarget::openvino_cpu, KernelsTarget::openvino_gpu, KernelsTarget::openvino_generic};

struct FakeQuantizeOptions {
  /// Of `low_precision_targets`; `usage` for another.
  KernelsTarget target = KernelsTarget::openvino_cpu;
  /// Ranges whose grid misses zero are moved: stretched until zero lies inside, then shifted by at
  /// most half a step. Otherwise their fake_quantize stays, and is reported.
  bool repair = false;
  /// By how much of a 256th of the range zero may lie beside the grid, to count as the nearest
  /// code: of 256 levels, in steps. Bounds that were rounded to float16 miss it by a few
  /// hundredths; 0.1 is what OpenVINO's own transformations round away. More than 1/256 of a step
  /// is in the notes.
  double zero_tolerance = 0.1;
  /// Types of codes for data, instead of those of the target: for `split_fake_quantize` alone.
  std::optional<Storages> data;
};

// --- step 0: fake_quantize is quantize and dequantize -------------------------------------------

/// A fake_quantize that was split: what it takes to put it back.
struct SplitNode {
  std::string value;  ///< the name of its result, which the `dequantize` has now
  std::string codes;  ///< of the result of the `quantize`
  std::string meant;  ///< of what is dequantized: `codes`, or what they were cast to
  std::string name;   ///< its own
  Attributes attributes;
  std::array<NodeSpec, 4> bounds;  ///< the constants
};

struct SplitGraph {
  Graph graph;
  std::vector<SplitNode> splits;
  /// Each fake_quantize that stayed, and each one that changed by `repair`, with the reason.
  std::vector<LeftAlone> notes;
};

/// Each fake_quantize of `graph` whose bounds are constants, along one axis at most, becomes
/// `quantize` and `dequantize`; of a constant, codes that are computed when they are read, and
/// `dequantize`. So do weights that are stored as integers, a cast, a subtraction and a
/// multiplication. Where input and output ranges differ, the codes are cast from one meaning to the
/// other
/// (`storage_cast`).
///
/// `quantize` rounds x / scale where fake_quantize rounds (x - low) / (high - low) * (levels - 1):
/// within float32 the same, but for elements that lie on a tie. Linear; `graph` is not changed.
/// Fails only where constants cannot be read. May be called from any thread.
[[nodiscard]] Expected<SplitGraph> split_fake_quantize(const Graph& graph,
                                                       const FakeQuantizeOptions& options = {});

/// The opposite, wherever only a `dequantize` reads the codes of a `quantize` that was made by the
/// split: the same node, of the same name and bounds. Where codes are read, their float values get
/// the name back that the fake_quantize gave them. Returns how many were fused. Linear in `splits`.
std::int64_t fuse_back_fake_quantize(Graph& graph, const std::vector<SplitNode>& splits);

/// For formats whose codes are always all that their type has: float values are clamped in front of
/// each `quantize` to those that its codes stand for, and the types of computed codes lose their
/// limits. The numbers stay the same. Returns how many it were. Fails where parameters cannot be
/// read. Linear.
[[nodiscard]] Expected<std::int64_t> limit_before_quantize(Graph& graph);

// --- the scheme ---------------------------------------------------------------------------------

/// What is known of the results of a node: the codes that they can be, and from which operands.
struct PendingDequantize {
  std::optional<GivenForm> form;        ///< the results are this form's float values
  std::vector<std::uint32_t> operands;  ///< which are read as codes, in their own pending forms
  /// Whether the node can make codes of any other form from its sum, too.
  bool requantizes = false;
  std::string why;  ///< there is no `form`
};

/// The scheme, for one graph. Roots are dequantized values; operations ask for themselves.
class FakeQuantizeScheme final : public Scheme {
 public:
  QUADRANT_SCHEME(FakeQuantizeScheme, GivenForm, "fake_quantize")

  /// Follows what was dequantized through `graph`, whose ids the scheme keeps: it is for this
  /// graph, or copies of it. Linear. `invalid_model` for a cycle.
  [[nodiscard]] static Expected<FakeQuantizeScheme> make(const GraphView& graph,
                                                         FakeQuantizeOptions options = {});

  [[nodiscard]] const FakeQuantizeOptions& options() const noexcept { return options_; }
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] const PendingDequantize& pending(NodeId node) const noexcept;

  [[nodiscard]] std::optional<GivenForm> recognize(const TensorType& type) const;
  /// Requantize, where the operation in front does not do it: `dequantize`, `quantize`.
  [[nodiscard]] Expected<Value> convert(Value quantized, const GivenForm& to,
                                        RewriteContext& context) const;
  [[nodiscard]] static std::optional<TensorType> type_of(const GivenForm& form,
                                                         const TensorType& real) {
    if (form.type == nullptr) return std::nullopt;
    return TensorType{form.storage(), real.shape, form.type};
  }
  [[nodiscard]] static ElementType storage_type(const GivenForm& form) noexcept {
    return form.storage();
  }

 private:
  explicit FakeQuantizeScheme(FakeQuantizeOptions options) : options_(options) {}

  FakeQuantizeOptions options_;
  std::shared_ptr<const std::unordered_map<NodeId, PendingDequantize>> pending_;
};

/// The registry of the scheme's methods for `graph`, which is a `LowPrecision::model`.
[[nodiscard]] Expected<Registry> fake_quantize_registry(const GraphView& graph,
                                                        const FakeQuantizeOptions& options = {});

struct LowPrecision {
  Graph model;        ///< what was given, split
  Graph graph;        ///< types say what computes on codes; what is left was fused back
  Analysis analysis;  ///< node ids in it are those of `model`
  std::int64_t fused_back = 0;
  std::vector<LeftAlone> notes;  ///< of the split, and of branches that were aligned
};

/// Split, all four phases, fused back; where `run` names no gains, by OperationsGain and the
/// optimal policy. `graph` is not changed; the result shares its constants. `invalid_model` for a
/// cycle; else what `quantize` fails with.
[[nodiscard]] Expected<LowPrecision> quantize_simulated(const Graph& graph,
                                                        const FakeQuantizeOptions& options = {},
                                                        const QuantizeOptions& run = {});

/// A row of a target's table, for people.
struct LowPrecisionRuleText {
  std::string kind;         ///< of the operation, in the graph
  std::string data;         ///< types of the codes that it reads: `u8, i8`
  std::string weight;       ///< of its second port, where that is one of its own
  std::string granularity;  ///< of its data: `tensor`, `tensor or channel`
  std::string result;       ///< what it makes of codes
};
[[nodiscard]] std::vector<LowPrecisionRuleText> describe_low_precision(KernelsTarget target);

// Names of 0.1.

using LowPrecisionTarget [[deprecated("KernelsTarget")]] = KernelsTarget;

/// `cpu`, `gpu`, `generic`.
[[deprecated("parse_kernels_target")]] [[nodiscard]] inline std::optional<KernelsTarget>
parse_low_precision_target(std::string_view text) noexcept {
  for (const KernelsTarget target : low_precision_targets) {
    if (to_string(target).substr(std::string_view("openvino-").size()) == text) return target;
  }
  return std::nullopt;
}

[[deprecated("quantize_simulated")]] [[nodiscard]] inline Expected<LowPrecision>
lower_fake_quantize(const Graph& graph, const FakeQuantizeOptions& options = {},
                    const QuantizeOptions& run = {}) {
  return quantize_simulated(graph, options, run);
}

}  // namespace quadrant::inline v0
