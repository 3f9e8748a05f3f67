#include "io/onnx/written_names.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/onnx/names.hpp"

namespace quadrant::inline v0::onnx {

std::string_view name_in_body(std::string_view name, const Region& region) {
  const bool has_path = !region.path.empty() && name.size() > region.path.size() + 1 &&
                        name.starts_with(region.path) && name[region.path.size()] == '/';
  return has_path ? name.substr(region.path.size() + 1) : name;
}

WrittenNames::WrittenNames(const Graph& graph, const Regions& regions)
    : graph_(graph), regions_(regions) {
  if (regions.all().size() == 1) return;
  // Names that stay come first: the model's own, and those that stand in carried bytes.
  enum class Turn : std::uint8_t { model, carried, others };
  for (const Turn turn : {Turn::model, Turn::carried, Turn::others}) {
    for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
      const NodeId node = graph.node_at(index);
      if (!node.is_valid() || regions.of(node) == Regions::nowhere) continue;
      const std::string_view kind = graph.kind(node);
      Turn own = Turn::others;
      if (kind == opaque_initializer_kind || kind == sparse_initializer_kind) own = Turn::carried;
      if (regions.of(node) == Regions::model) own = Turn::model;
      if (own != turn) continue;
      for (std::uint32_t i = 0; i < graph.result_count(node); ++i) {
        name({node, i}, regions.of(node));
      }
    }
  }
}

void WrittenNames::name(Value value, std::uint32_t region) {
  const std::string_view full = graph_.value_name(value);
  std::string chosen(name_in_body(full, regions_[region]));
  if (is_taken(chosen, region)) chosen = full;
  for (std::size_t i = 1; is_taken(chosen, region); ++i) chosen = fmt::format("{}_{}", full, i);
  places_[chosen].push_back(region);
  if (chosen != full) others_.emplace(value, std::move(chosen));
}

bool WrittenNames::is_taken(const std::string& name, std::uint32_t region) const {
  constexpr std::size_t most_compared = 1024;  // beyond, names keep their paths
  const auto found = places_.find(name);
  if (found == places_.end()) return false;
  return found->second.size() > most_compared ||
         std::ranges::any_of(found->second, [&](std::uint32_t other) {
           // NOLINTNEXTLINE(readability-suspicious-call-argument): either may be the outer one
           return regions_.sees(region, other) || regions_.sees(other, region);
         });
}

std::string_view WrittenNames::operator()(Value value) const {
  const auto found = others_.find(value);
  return found == others_.end() ? graph_.value_name(value) : found->second;
}

}  // namespace quadrant::inline v0::onnx
