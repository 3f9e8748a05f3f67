#include "quadrant/pipeline/kernels_target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ir/aliases.hpp"
#include "numerics/code_limits.hpp"
#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/recipe/scheme_table.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "quadrant/transforms/prepare.hpp"
#include "support/counted.hpp"
#include "support/near_names.hpp"
#include "support/printable.hpp"

namespace quadrant::inline v0 {
namespace {

bool has_kind(const Graph& graph, std::string_view kind) {
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    if (node.is_valid() && graph.kind(node) == kind) return true;
  }
  return false;
}

bool has_fake_quantize(const Graph& graph) { return has_kind(graph, ops::FakeQuantize::kind); }

// Whether codes are computed that are part of their type.
bool has_limited_results(const Graph& graph) {
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    if (!node.is_valid() || graph.constant(node) != nullptr) continue;
    for (std::uint32_t i = 0; i < graph.result_count(node); ++i) {
      const TensorType& type = graph.type({node, i});
      if (type.uniform() && is_part_of_storage(*type.uniform())) return true;
    }
  }
  return false;
}

void add_notes(std::vector<std::string>& remarks, const std::vector<LeftAlone>& notes,
               std::string_view about = ops::FakeQuantize::kind) {
  for (const LeftAlone& note : notes) {
    remarks.push_back(
        fmt::format("{}: {}: {}", about, failures::printable(note.name), note.reason));
  }
}

Expected<OnTarget> on_fusion_target(const Graph& graph, KernelsTarget target,
                                    const QuantizeOptions& run) {
  QUADRANT_TRY(FusedGraph fused, quantize_qdq(graph, {.target = target}, run));
  OnTarget made{std::move(fused.model), std::move(fused.graph), std::move(fused.analysis), {}};
  if (fused.made_signed > 0) {
    made.remarks.push_back(
        fmt::format("{} of type u8 became i8, for which there are more kernels: the same "
                    "numbers, zero points 128 less",
                    counted(fused.made_signed, "tensor")));
  }
  return made;
}

Expected<OnTarget> on_low_precision(const Graph& graph, KernelsTarget target, bool repair_ranges,
                                    const QuantizeOptions& run) {
  const FakeQuantizeOptions options{.target = target, .repair = repair_ranges};
  QUADRANT_TRY(LowPrecision lowered, quantize_simulated(graph, options, run));
  OnTarget made{
      std::move(lowered.model), std::move(lowered.graph), std::move(lowered.analysis), {}};
  add_notes(made.remarks, lowered.notes);
  return made;
}

}  // namespace

std::vector<std::string> kernels_targets() {
  std::vector<std::string> names;
  names.reserve(fusion_targets.size() + low_precision_targets.size());
  for (const KernelsTarget target : fusion_targets) names.emplace_back(to_string(target));
  for (const KernelsTarget target : low_precision_targets) names.emplace_back(to_string(target));
  std::ranges::sort(names);
  return names;
}

Expected<Destination> destination_of(const std::string& path, std::string_view target) {
  Destination made;
  QUADRANT_TRY(made.format, model_format(path));
  if (target.empty() && made.format == ModelFormat::tflite) made.target = KernelsTarget::tflite;
  if (target.empty()) return made;
  made.target = parse_kernels_target(target);
  if (made.target && !scheme_of(*made.target).empty()) return made;
  const std::vector<std::string> known = kernels_targets();
  const std::vector<std::string_view> names(known.begin(), known.end());
  return fail(ErrorCode::usage,
              fmt::format("there is no target '{}'{}", target, did_you_mean_or_all(target, names)));
}

bool is_openvino(const std::optional<KernelsTarget>& target) {
  return target && scheme_of(*target) == low_precision_scheme;
}

std::string_view scheme_of(KernelsTarget target) {
  const auto is_of = [&](const auto& targets) {
    return std::ranges::find(targets, target) != targets.end();
  };
  if (is_of(fusion_targets)) return fusion_scheme;
  return is_of(low_precision_targets) ? low_precision_scheme : std::string_view();
}

Expected<std::optional<KernelsTarget>> target_of(std::string_view scheme, std::string_view name) {
  const std::string wanted = key_of(scheme);
  constexpr std::array firsts{fusion_targets.front(), low_precision_targets.front()};
  const auto* const first = std::ranges::find(firsts, wanted, scheme_of);
  if (first == firsts.end()) return std::nullopt;
  const auto named = name.empty() ? *first : parse_kernels_target(name);
  if (named && scheme_of(*named) == wanted) return named;
  return fail(ErrorCode::usage,
              fmt::format("the target {} is not of {}: 'quadrant list {}' shows its targets", name,
                          wanted, option_of(wanted)));
}

Expected<void> resolve_for(Graph& graph, ModelFormat format) {
  const bool is_onnx = format == ModelFormat::onnx || format == ModelFormat::text;
  if (!is_onnx) QUADRANT_CHECK(resolve_aliases(graph));
  return {};
}

bool has_quantization(const Graph& graph) {
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    if (!node.is_valid()) continue;
    for (std::uint32_t i = 0; i < graph.result_count(node); ++i) {
      if (graph.type({node, i}).is_quantized()) return true;
    }
  }
  return has_fake_quantize(graph);
}

bool has_simulated_quantization(const Graph& graph) {
  return has_kind(graph, ops::ConstFakeQuant::kind) || has_kind(graph, ops::FakeQuant::kind);
}

Expected<void> convert_simulated(Graph& graph, std::vector<std::string>& remarks) {
  // Bounds and weights may be computed from constants.
  QUADRANT_TRY(const FoldedConstants folded, fold_constants(graph));
  add_notes(remarks, folded.left, "not folded");
  QUADRANT_TRY(const ConvertedFakeQuants done, convert_fake_quant(graph));
  add_notes(remarks, done.left, ops::FakeQuant::kind);
  return {};
}

Expected<Graph> without_fake_quantize(Graph graph, const SplitForFormat& format,
                                      std::vector<std::string>& remarks) {
  if (has_fake_quantize(graph)) {
    // Data of 4 bits is what runtimes of these formats compute least.
    FakeQuantizeOptions options;
    options.target = KernelsTarget::openvino_generic;
    options.data = Storages{ElementType::uint8, ElementType::int8};
    options.repair = format.repair_ranges;
    QUADRANT_TRY(SplitGraph split, split_fake_quantize(graph, options));
    add_notes(remarks, split.notes);
    graph = std::move(split.graph);
  }
  if (format.has_limits || !has_limited_results(graph)) return graph;
  make_quantization_explicit(graph);
  QUADRANT_TRY(const std::int64_t limited, limit_before_quantize(graph));
  if (limited > 0) {
    remarks.push_back(
        fmt::format("values quantized to fewer codes than their type has: {}; float values are "
                    "clamped in front of them",
                    limited));
  }
  return graph;
}

Expected<OnTarget> compute_on(const Graph& graph, KernelsTarget target, bool repair_ranges,
                              Executor* executor) {
  QuantizeOptions run;
  run.executor = executor;
  if (is_openvino(target)) return on_low_precision(graph, target, repair_ranges, run);
  return on_fusion_target(graph, target, run);
}

namespace {

PairingRuntimes runtimes_of(ModelFormat format) {
  switch (format) {
    case ModelFormat::openvino:
      return {.onnxruntime = false};
    case ModelFormat::tflite:
      return {.onnxruntime = false, .openvino = false};
    default:
      return {};
  }
}

}  // namespace

Expected<std::vector<PairedProduct>> paired_products(const Graph& graph, ModelFormat format) {
  return find_paired_products(graph, runtimes_of(format));
}

Expected<std::vector<PairedProduct>> paired_products(const Graph& graph, ModelFormat format,
                                                     const Recipe& recipe) {
  PairingRuntimes runtimes = runtimes_of(format);
  for (const SchemeChoice& choice : recipe.schemes) {
    const auto* const name = given<std::string>(choice.options, "kernels");
    if (choice.scheme != "static_affine" || name == nullptr) continue;
    // Who chose LiteRT's kernels, and then a file for these, is to know.
    runtimes.onnxruntime &= *name != "openvino";
    runtimes.openvino &= *name != "onnxruntime";
  }
  return find_paired_products(graph, runtimes);
}

}  // namespace quadrant::inline v0
