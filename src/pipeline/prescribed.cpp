#include "pipeline/prescribed.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "quadrant/ir/ops.hpp"
#include "quadrant/recipe/encodings.hpp"

namespace quadrant::inline v0 {
namespace {

// What the value of that name is quantized by; null where it is not.
std::shared_ptr<const UniformType> type_of(const Graph& graph, std::string_view name) {
  const Value value = graph.find_value(name);
  if (value.is_absent()) return nullptr;
  if (graph.type(value).is_quantized()) return graph.type(value).uniform();
  if (graph.kind(value.node) == ops::Dequantize::kind) {
    return graph.type(graph.operands(value.node)[0]).uniform();
  }
  for (const Use& use : graph.uses(value.node)) {
    if (use.result == value.result && graph.kind(use.user) == ops::Quantize::kind) {
      return graph.type({use.user}).uniform();
    }
  }
  return nullptr;
}

// To as many digits as files of encodings have.
bool is_same(const TensorEncoding& made, const TensorEncoding& prescribed) {
  constexpr double agreement = 1e-6;
  const auto at = [](const auto& numbers, std::size_t i) {
    return numbers[numbers.size() == 1 ? 0 : i];
  };
  for (std::size_t i = 0; i < made.scales.size(); ++i) {
    const bool has_both = prescribed.scales.size() == 1 || i < prescribed.scales.size();
    if (!has_both || at(made.zero_points, i) != at(prescribed.zero_points, i)) return false;
    const double scale = at(prescribed.scales, i);
    if (std::abs(made.scales[i] - scale) > agreement * scale) return false;
  }
  return made.bits == prescribed.bits;
}

}  // namespace

Expected<Prescribed> Prescribed::read(const std::string& path, const Graph& graph,
                                      const RunContext& context) {
  Prescribed made;
  made.path_ = path;
  QUADRANT_TRY(made.file_, read_encodings(path, context.sink));
  for (const auto& [name, encoding] : made.file_.tensors) {
    if (!graph.find_value(name).is_absent()) made.original_.insert(name);
  }
  return made;
}

Expected<void> Prescribed::check_names(const Graph& graph) const {
  EncodingsFile rest;
  for (const auto& [name, encoding] : file_.tensors) {
    if (!original_.contains(name)) rest.tensors.emplace(name, encoding);
  }
  return in_file(quadrant::check_names(rest, graph), path_);
}

Expected<std::shared_ptr<const PrescribedEncodings>> Prescribed::table() const {
  QUADRANT_TRY(PrescribedEncodings table, in_file(prescribed_encodings(file_), path_));
  return std::make_shared<const PrescribedEncodings>(std::move(table));
}

void Prescribed::tell_unused(const Graph& graph, const QuantizeResult& result,
                             const RunContext& context) const {
  constexpr std::size_t most = 20;
  std::size_t count = 0;
  const auto tell = [&](std::string_view name, std::string message) {
    if (++count > most) return;
    context.warn(std::move(message), {.file = path_, .tensor = std::string(name)});
  };
  for (const auto& [name, prescribed] : file_.tensors) {
    const auto type = type_of(result.graph, name);
    const Value value = graph.find_value(name);
    if (type == nullptr) {
      // Where it was replaced by the limit that shares its parameters, it has no name any more.
      const bool is_gone = result.graph.find_value(name).is_absent();
      if (is_gone && !value.is_absent() && result.analysis.selection.is_selected(value)) continue;
      tell(name, "its encoding is not used: the value is not quantized");
      continue;
    }
    const bool is_whole = type->granularity.kind == Granularity::Kind::tensor;
    const Shape shape = is_whole || value.is_absent() ? Shape::scalar() : graph.type(value).shape;
    const auto made = to_tensor_encoding(*type, shape);
    if (!made) {
      tell(name, "whether its encoding is used cannot be told: " + made.error().message);
    } else if (!is_same(*made, prescribed)) {
      tell(name, fmt::format("its encoding is not used: its scale {}is {}, {}",
                             made->scales.size() == 1 ? "" : "0 ", made->scales.front(),
                             type->storage == ElementType::int32
                                 ? "the product of those of data and weight"
                                 : "that of what it is made of"));
    }
  }
  if (count > most) {
    context.warn(fmt::format("encodings of {} more values are not used", count - most),
                 {.file = path_});
  }
}

Expected<void> tell_unknown_ranges(const Graph& graph, const StaticAffineOptions& options,
                                   const QuantizeOptions& run, const std::string& path,
                                   const RunContext& context) {
  // What would be quantized if every value were known to be, say, from 0 to 1?
  StatisticsTable any;
  TensorStatistics unit;
  constexpr std::array ends{0.0F, 1.0F};
  unit.histogram.add(ends);
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    const NodeId node = graph.node_at(i);
    if (!node.is_valid()) continue;
    for (std::uint32_t result = 0; result < graph.result_count(node); ++result) {
      any.values.emplace(graph.value_name({node, result}), unit);
    }
  }
  StaticAffineOptions supposed = options;
  supposed.statistics = std::make_shared<const StatisticsTable>(std::move(any));
  QUADRANT_TRY(const Registry registry, static_affine_registry(std::move(supposed)));
  QUADRANT_TRY(const Analysis analysis, analyze(graph, registry, run));
  const StaticAffine scheme(options);
  std::set<std::string> unknown;
  const auto look_at = [&](const std::string& name) {
    const Value value = graph.find_value(name);
    if (!value.is_absent() && scheme.refusal(graph, value) != nullptr) unknown.insert(name);
  };
  for (const PlannedValue& planned : analysis.plan.values) look_at(planned.value);
  for (const PlannedConversion& planned : analysis.plan.conversions) look_at(planned.value);
  if (unknown.empty()) return {};
  constexpr std::size_t most = 5;
  const std::vector<std::string> shown(
      unknown.begin(),
      std::next(unknown.begin(), static_cast<std::ptrdiff_t>(std::min(most, unknown.size()))));
  const std::string more =
      unknown.size() > most ? fmt::format(" and {} more", unknown.size() - most) : "";
  context.warn(fmt::format("nothing is known of the range of '{}'{}: what needs it stays in float; "
                           "prescribe it too, or find it by calibration",
                           fmt::join(shown, "', '"), more),
               {.file = path});
  return {};
}

}  // namespace quadrant::inline v0
