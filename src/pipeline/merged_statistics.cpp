#include "pipeline/merged_statistics.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

namespace quadrant::inline v0 {
namespace {

SavedStatistics summary_of(const StatisticsTable& table, const std::string& path) {
  SavedStatistics saved{path, table.model, {}, {}};
  for (const auto& [name, statistics] : table.values) {
    saved.values.insert(name);
    if (statistics.by_channel) saved.with_channels.insert(name);
  }
  return saved;
}

// Values that only one of a file and the run has are of other samples than the rest.
void warn_of_other_values(const SavedStatistics& saved, const StatisticsTable& gathered,
                          const RunContext& context) {
  std::vector<std::string_view> in_file;
  std::vector<std::string_view> in_run;
  for (const std::string& name : saved.values) {
    if (gathered.find(name) == nullptr) in_file.push_back(name);
  }
  for (const auto& [name, statistics] : gathered.values) {
    if (!saved.values.contains(name)) in_run.push_back(name);
  }
  if (in_file.empty() && in_run.empty()) return;
  context.warn(
      fmt::format("of {} values {} are not in this run, of whose {} values {} are not in the file, "
                  "such as '{}': it was saved for '{}'",
                  saved.values.size(), in_file.size(), gathered.values.size(), in_run.size(),
                  (in_file.empty() ? in_run : in_file).front(), saved.model),
      {.file = saved.path});
}

// Channels remain where all that is merged has them along the same axis.
void warn_of_lost_channels(const SavedStatistics& saved, const StatisticsTable& table,
                           const RunContext& context) {
  constexpr std::size_t most = 3;
  std::string names;
  std::size_t lost = 0;
  for (const std::string& name : saved.with_channels) {
    if (table.find(name)->by_channel || ++lost > most) continue;
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", name);
  }
  if (lost == 0) return;
  if (lost > most) names += fmt::format(" and {} more", lost - most);
  context.warn(fmt::format("statistics by channel are lost, as not all that is merged has them "
                           "along the same axis: of {}",
                           names),
               {.file = saved.path});
}

}  // namespace

Expected<MergedStatistics> MergedStatistics::read(const Graph& graph, std::uint64_t hash,
                                                  std::span<const std::string> paths) {
  MergedStatistics merged;
  merged.hash_ = hash;
  for (const std::string& path : paths) {
    QUADRANT_TRY(const StatisticsTable saved, read_statistics_of(graph, path, hash));
    merged.saved_.push_back(summary_of(saved, path));
    merged.table_.merge(saved);
  }
  return merged;
}

Expected<std::vector<WatchedValue>> MergedStatistics::wanted(const Graph& graph) const {
  QUADRANT_TRY(const std::vector<Value> values, real_values(graph));
  std::vector<WatchedValue> watched;
  for (const Value value : values) {
    const TensorStatistics* known = table_.find(graph.value_name(value));
    watched.push_back({value, known != nullptr && known->by_channel
                                  ? std::optional(known->by_channel->axis)
                                  : std::nullopt});
  }
  return watched;
}

void MergedStatistics::add(const StatisticsTable& gathered, const RunContext& context) {
  for (const SavedStatistics& saved : saved_) warn_of_other_values(saved, gathered, context);
  table_.merge(gathered);
}

StatisticsTable MergedStatistics::finish(const std::string& model, const RunContext& context) && {
  for (const SavedStatistics& saved : saved_) warn_of_lost_channels(saved, table_, context);
  table_.model = std::filesystem::path(model).filename().string();
  table_.model_hash = hash_;
  return std::move(table_);
}

}  // namespace quadrant::inline v0
