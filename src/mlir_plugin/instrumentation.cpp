#include "mlir_plugin/instrumentation.hpp"

#include <fmt/format.h>
#include <mlir/IR/BuiltinAttributes.h>

#include <array>
#include <cmath>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "mlir_plugin/observers.hpp"

namespace quadrant::inline v0::mlir_plugin {
namespace {

Expected<TensorStatistics> parse_stats(mlir::Attribute attribute, std::string_view value) {
  const auto refuse = [&](std::string_view why) {
    return fail(ErrorCode::invalid_model,
                fmt::format("quadrant.stats is [min, max] of f32, or [n x 2]: {}", why),
                {.tensor = std::string(value)});
  };
  const auto dense = llvm::dyn_cast<mlir::DenseFPElementsAttr>(attribute);
  if (!dense) return refuse("this is no dense attribute of float elements");
  const auto shape = dense.getType().getShape();
  if (shape.empty() || shape.size() > 2 || shape.back() != 2) {
    return refuse("this has another shape");
  }
  TensorStatistics made;
  std::array<float, 2> extremes{};
  std::size_t count = 0;
  for (const llvm::APFloat& number : dense.getValues<llvm::APFloat>()) {
    llvm::APFloat single = number;
    bool is_inexact = false;
    single.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &is_inexact);
    extremes[count++ % 2] = single.convertToFloat();
    if (!std::isfinite(extremes[(count - 1) % 2])) return refuse("a number is no finite float32");
    if (count % 2 != 0) continue;
    if (extremes[0] > extremes[1]) return refuse("a minimum is above its maximum");
    made.histogram.add(extremes);
  }
  made.samples = 1;
  return made;
}

// First results with the attribute `name`, in the order of the program.
std::vector<std::pair<Value, mlir::Attribute>> annotated(const FunctionGraph& graph,
                                                         llvm::StringRef name) {
  std::vector<std::pair<Value, mlir::Attribute>> found;
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node{index};
    const mlir::Attribute attribute = graph.annotation(node, name);
    if (attribute && graph.result_count(node) != 0) found.emplace_back(Value{node}, attribute);
  }
  return found;
}

}  // namespace

Expected<StatisticsTable> read_statistics(const FunctionGraph& graph) {
  StatisticsTable made;
  for (const auto& [value, stats] : annotated(graph, "quadrant.stats")) {
    const std::string name(graph.value_name(value));
    QUADRANT_TRY(TensorStatistics parsed, parse_stats(stats, name));
    made.values.insert_or_assign(name, std::move(parsed));
  }
  return made;
}

Expected<void> add_gathered(const FunctionGraph& graph, const StatisticsTable& gathered,
                            StatisticsTable& statistics) {
  std::unordered_map<std::string, std::string_view> names;
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    if (graph.result_count({index}) == 0) continue;
    names.emplace(observed_name(graph, {{index}}), graph.value_name({{index}}));
  }
  const std::string function = fmt::format("{}:", std::string_view(graph.function().getName()));
  for (const auto& [name, of_value] : gathered.values) {
    if (!name.starts_with(function)) continue;
    const auto found = names.find(name);
    if (found == names.end()) {
      return fail(ErrorCode::invalid_model,
                  fmt::format("the statistics have '{}', and the function has no such value: they "
                              "are of another module, or other passes ran in front of "
                              "quadrant-instrument",
                              name));
    }
    statistics.values.try_emplace(std::string(found->second), of_value);
  }
  return {};
}

Expected<Couplings> read_couplings(const FunctionGraph& graph) {
  std::map<std::string, std::vector<Value>> coupled;
  for (const auto& [value, key] : annotated(graph, "quadrant.coupled_ref")) {
    const auto text = llvm::dyn_cast<mlir::StringAttr>(key);
    if (!text) {
      return fail(ErrorCode::invalid_model, "quadrant.coupled_ref is a string",
                  {.tensor = std::string(graph.value_name(value))});
    }
    coupled[text.getValue().str()].push_back(value);
  }
  Couplings made;
  for (auto& [key, values] : coupled) made.push_back(std::move(values));
  return made;
}

}  // namespace quadrant::inline v0::mlir_plugin
