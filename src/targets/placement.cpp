#include "quadrant/targets/placement.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "ir/ops/functions.hpp"
#include "ir/regions.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/ops.hpp"
#include "support/saturating.hpp"

namespace quadrant::inline v0 {
namespace {

Expected<void> check_options(const PlacementOptions& options) {
  if (options.runtimes.empty()) return fail(ErrorCode::usage, "there is no runtime to place on");
  if (!std::isfinite(options.elements_per_second) || options.elements_per_second <= 0) {
    return fail(ErrorCode::usage,
                fmt::format("a throughput of {} elements a second: it must be above 0",
                            options.elements_per_second));
  }
  std::set<std::string_view> names;
  for (const RuntimeProfile& profile : options.runtimes) {
    QUADRANT_CHECK(check(profile));
    if (!names.insert(profile.name).second) {
      return fail(ErrorCode::usage, fmt::format("there are two runtimes '{}'", profile.name));
    }
  }
  return {};
}

ModelForm form_of(const std::vector<StorageTotals>& storage) {
  const auto has = [&](ParameterForm form) {
    return std::ranges::find(storage, form, &StorageTotals::form) != storage.end();
  };
  const bool quantized = has(ParameterForm::quantized);
  if (has(ParameterForm::floating)) return quantized ? ModelForm::mixed : ModelForm::floating;
  return quantized ? ModelForm::quantized : ModelForm::none;
}

std::vector<InputBatch> find_inputs(const GraphView& graph) {
  std::vector<InputBatch> inputs;
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    const NodeId node = graph.node_at(i);
    if (!node.is_valid() || graph.kind(node) != ops::Input::kind) continue;
    const Value value{node, 0};
    inputs.push_back({std::string(graph.value_name(value)), graph.type(value).shape});
  }
  return inputs;
}

BatchExtent batch_of(const std::vector<InputBatch>& inputs) {
  bool is_unknown = false;
  bool is_one = false;
  for (const InputBatch& input : inputs) {
    if (!input.shape.is_ranked()) {
      is_unknown = true;
    } else if (input.shape.rank() > 0) {
      const Extent extent = input.shape[0];
      if (!may_equal(extent, 1)) return BatchExtent::other;
      (extent.is_known() ? is_one : is_unknown) = true;
    }
  }
  if (is_unknown) return BatchExtent::unknown;
  return is_one ? BatchExtent::one : BatchExtent::none;
}

bool is_native(const FormRule& rule, ElementType storage) {
  return std::ranges::find(rule.native, storage) != rule.native.end();
}

// Whether other numbers come out: codes of fewer bits, floats of fewer bits or another exponent.
bool loses(const Parameter& parameter, ElementType becomes) {
  if (parameter.form == ParameterForm::quantized) {
    if (is_float(becomes)) return bit_width(becomes) < bit_width(ElementType::float32);
    return bit_width(becomes) < bit_width(parameter.storage);
  }
  if (!is_float(becomes)) return true;
  return bit_width(becomes) <= bit_width(parameter.storage);
}

// Goes through the parameters for one runtime.
class Loading {
 public:
  explicit Loading(const RuntimeProfile& profile) : profile_(profile) {}

  void add(const Parameter& parameter) {
    const bool is_coded = parameter.form == ParameterForm::quantized;
    const FormRule& rule = is_coded ? profile_.quantized : profile_.floating;
    accuracy_.noise_in_file = accuracy_.noise_in_file || is_coded;
    file_bytes_ = saturating_add(file_bytes_, parameter.bytes);
    if (is_native(rule, parameter.storage)) {
      kept_bytes_ = saturating_add(kept_bytes_, parameter.bytes);
      accuracy_.quantized_at_run = accuracy_.quantized_at_run || is_coded;
    } else if (rule.becomes) {
      convert(parameter, *rule.becomes);
    } else {
      if (refused_.count == 0 || parameter.bytes > largest_refused_->bytes) {
        largest_refused_ = &parameter;
      }
      refused_.add(parameter);
    }
  }

  [[nodiscard]] RuntimePlacement finish(const ActivationCount& activations,
                                        double elements_per_second) const {
    RuntimePlacement placement;
    placement.runtime = profile_.name;
    placement.execution_depends_on_form =
        !profile_.floating.native.empty() && !profile_.quantized.native.empty();
    placement.refused = refused_;
    if (largest_refused_ != nullptr) placement.largest_refused = largest_refused_->name;
    placement.refuses_activations =
        profile_.needs_quantized_activations && activations.quantized < activations.count;
    if (refused_.count != 0 || placement.refuses_activations) {
      placement.verdict = PlacementVerdict::refused;
      return placement;
    }
    placement.verdict =
        load_.converted.count == 0 ? PlacementVerdict::native : PlacementVerdict::converted;
    LoadCost load = load_;
    load.peak_bytes = saturating_add(file_bytes_, load.bytes_written);
    load.bytes_after = saturating_add(kept_bytes_, load.bytes_written);
    load.seconds = static_cast<double>(load.converted.elements) / elements_per_second;
    placement.load = load;
    placement.accuracy = accuracy_;
    return placement;
  }

 private:
  void convert(const Parameter& parameter, ElementType becomes) {
    load_.converted.add(parameter);
    load_.bytes_written = saturating_add(load_.bytes_written, bytes_as(parameter, becomes));
    accuracy_.noise_at_load = accuracy_.noise_at_load || loses(parameter, becomes);
    if (!is_float(becomes)) {
      accuracy_.quantized_at_run = true;
    } else if (parameter.form == ParameterForm::quantized) {
      accuracy_.float_may_be_better = true;
    }
  }

  const RuntimeProfile& profile_;
  LoadCost load_;
  AccuracyNote accuracy_;
  std::uint64_t file_bytes_ = 0;
  std::uint64_t kept_bytes_ = 0;
  ParameterTotals refused_;
  const Parameter* largest_refused_ = nullptr;
};

std::string note_on_batch(const Placement& placement) {
  if (placement.form == ModelForm::quantized) return {};
  switch (placement.batch) {
    case BatchExtent::other:
      return "the batch is not 1: set the first axis of the inputs to 1 before the model is "
             "quantized; a loaded model can be resized to another batch";
    case BatchExtent::unknown:
      return "the batch is not known: set the first axis of the inputs to 1 before the model is "
             "quantized; a loaded model can be resized to another batch";
    case BatchExtent::one:
    case BatchExtent::none:
      break;
  }
  return {};
}

// Operations whose subgraphs may hold constants, and are only carried.
std::string note_on_subgraphs(const GraphView& graph) {
  constexpr std::array<std::string_view, 4> kinds{ops::If::kind, ops::Loop::kind, ops::Scan::kind,
                                                  ops::SequenceMap::kind};
  std::uint64_t count = 0;
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    const NodeId node = graph.node_at(i);
    if (node.is_valid() && std::ranges::find(kinds, graph.kind(node)) != kinds.end() &&
        graph.attribute(node, regions::yields) == nullptr) {
      ++count;
    }
  }
  if (count == 0) return {};
  return fmt::format("not counted: what is inside of the subgraphs of {} operation{}", count,
                     count == 1 ? "" : "s");
}

std::string note_on_unread(std::uint64_t count) {
  if (count == 0) return {};
  return fmt::format("not counted: {} constant{} of a type that is not read", count,
                     count == 1 ? "" : "s");
}

std::string note_on_groups(const std::vector<Parameter>& parameters) {
  const auto count = std::ranges::count_if(parameters, [](const Parameter& parameter) {
    return parameter.granularity.kind != Granularity::Kind::tensor;
  });
  if (count == 0) return {};
  return fmt::format(
      "{} quantized parameter{} a scale for each channel or block: whether a runtime takes those "
      "is "
      "not judged",
      count, count == 1 ? " has" : "s have");
}

std::string note_on_refusals(const std::vector<RuntimePlacement>& runtimes) {
  std::vector<std::string_view> refusing;
  for (const RuntimePlacement& runtime : runtimes) {
    if (runtime.verdict == PlacementVerdict::refused) refusing.push_back(runtime.runtime);
  }
  if (refusing.empty()) return {};
  return fmt::format(
      "for {}, quantize the model: all parameters, and all activations with ranges "
      "of samples",
      fmt::join(refusing, ", "));
}

}  // namespace

std::string_view to_string(ModelForm form) noexcept {
  switch (form) {
    case ModelForm::none:
      return "no parameters";
    case ModelForm::floating:
      return "float";
    case ModelForm::quantized:
      return "quantized";
    case ModelForm::mixed:
      return "mixed";
  }
  return {};
}

std::string_view to_string(BatchExtent batch) noexcept {
  switch (batch) {
    case BatchExtent::one:
      return "1";
    case BatchExtent::other:
      return "not 1";
    case BatchExtent::unknown:
      return "unknown";
    case BatchExtent::none:
      return "none";
  }
  return {};
}

std::string_view to_string(PlacementVerdict verdict) noexcept {
  switch (verdict) {
    case PlacementVerdict::native:
      return "native";
    case PlacementVerdict::converted:
      return "converted at load";
    case PlacementVerdict::refused:
      return "refused";
  }
  return {};
}

Expected<Placement> place(const GraphView& graph, const PlacementOptions& options) {
  QUADRANT_CHECK(check_options(options));
  QUADRANT_TRY(const std::vector<NodeId> order, topological_order(graph));
  Placement placement;
  QUADRANT_TRY(placement.parameters, find_parameters(graph));
  const std::vector<Parameter>& parameters = placement.parameters.parameters;
  placement.form = form_of(placement.parameters.storage);
  placement.activations = count_activations(graph, order);
  placement.inputs = find_inputs(graph);
  placement.batch = batch_of(placement.inputs);
  placement.elements_per_second = options.elements_per_second;
  placement.profiles = options.runtimes;
  for (const RuntimeProfile& profile : options.runtimes) {
    Loading loading(profile);
    for (const Parameter& parameter : parameters) loading.add(parameter);
    RuntimePlacement runtime = loading.finish(placement.activations, options.elements_per_second);
    if (profile.split) runtime.subnets = divide(graph, order, *profile.split, parameters);
    placement.runtimes.push_back(std::move(runtime));
  }
  placement.notes = {note_on_refusals(placement.runtimes), note_on_batch(placement),
                     note_on_groups(parameters), note_on_subgraphs(graph),
                     note_on_unread(placement.parameters.unread)};
  std::erase(placement.notes, "");
  return placement;
}

}  // namespace quadrant::inline v0
