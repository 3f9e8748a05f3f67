#include "quadrant/calibration/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "calibration/handed_out.hpp"
#include "calibration/located.hpp"
#include "calibration/sample_loop.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0 {
namespace {

// Statistics of one value. Threads add to the same ones: a set for each thread would take far more
// memory than the model, and what they have added, not who added it when, is what counts.
class SharedStatistics {
 public:
  SharedStatistics(std::optional<std::int64_t> channel_axis, bool histograms)
      : channel_axis_(channel_axis), statistics_(channel_axis, histograms) {}

  void add(std::size_t sample, const Tensor& tensor) {
    // Counting many elements takes longer than merging, and nobody should wait for it.
    constexpr std::int64_t many = std::int64_t{1} << 15;
    if (tensor.element_count() < many) {
      const std::lock_guard lock(mutex_);
      const std::uint64_t before = statistics_.histogram.non_finite_count();
      statistics_.add(tensor);
      note(sample, statistics_.histogram.non_finite_count() - before);
      return;
    }
    TensorStatistics part(channel_axis_, statistics_.histogram.has_bins());
    part.add(tensor);
    const std::lock_guard lock(mutex_);
    statistics_.merge(part);
    note(sample, part.histogram.non_finite_count());
  }

  // For when no thread adds any more.
  [[nodiscard]] TensorStatistics& result() noexcept { return statistics_; }
  /// That had NaN or infinity; `data.size()` or more: none.
  [[nodiscard]] std::size_t first_bad_sample() const noexcept { return first_bad_sample_; }

 private:
  void note(std::size_t sample, std::uint64_t non_finite) noexcept {
    if (non_finite != 0) first_bad_sample_ = std::min(first_bad_sample_, sample);
  }

  std::mutex mutex_;
  std::optional<std::int64_t> channel_axis_;
  TensorStatistics statistics_;
  std::size_t first_bad_sample_ = std::numeric_limits<std::size_t>::max();
};

class Calibrator {
 public:
  Calibrator(const Graph& graph, const DataSet& data, const CalibrateOptions& options)
      : graph_(graph), data_(data), options_(options) {}

  Expected<StatisticsTable> run(const Runtime& runtime);

 private:
  Expected<void> choose_values(const Runtime& runtime);
  [[nodiscard]] Expected<std::vector<WatchedValue>> within_reach(const Runtime& runtime) const;
  Expected<void> run_sample(std::size_t sample);
  void warn() const;
  StatisticsTable result();

  [[nodiscard]] std::string name(Value value) const {
    return std::string(graph_.value_name(value));
  }

  const Graph& graph_;
  const DataSet& data_;
  const CalibrateOptions& options_;
  std::vector<Value> values_;
  std::vector<std::unique_ptr<SharedStatistics>> statistics_;  // of each value
  std::unique_ptr<ModelExecutor> model_;
};

bool may_be_watched(const Graph& graph, Value value) {
  const TensorType& type = graph.type(value);
  return !type.is_quantized() && may_be_real(type.element);
}

bool may_have_axis(const Graph& graph, const WatchedValue& watched) {
  const Shape& shape = graph.type(watched.value).shape;
  return !watched.channel_axis || !shape.is_ranked() ||
         normalize_axis(*watched.channel_axis, shape.rank()).has_value();
}

// Without those that the runtime does not show, which are told; all of them alone is an error.
Expected<std::vector<WatchedValue>> Calibrator::within_reach(const Runtime& runtime) const {
  std::vector<WatchedValue> watched = options_.values;
  if (watched.empty()) {
    QUADRANT_TRY(const std::vector<Value> all, real_values(graph_));
    for (const Value value : all) watched.push_back({value, std::nullopt});
  }
  std::vector<Value> values;
  values.reserve(watched.size());
  for (const WatchedValue& each : watched) values.push_back(each.value);
  QUADRANT_TRY(const std::set<Value> beyond, out_of_reach(runtime, graph_, values));
  if (beyond.empty()) return watched;
  std::string message = fmt::format(
      "{} values in bodies of loops and branches have no statistics: this runtime does not show "
      "them, the interpreter does",
      beyond.size());
  const Place first{.tensor = name(*beyond.begin())};
  std::erase_if(watched, [&](const WatchedValue& each) { return beyond.contains(each.value); });
  if (watched.empty()) return fail(ErrorCode::usage, std::move(message), first);
  if (options_.sink != nullptr) {
    options_.sink->report({Severity::warning, std::move(message), first});
  }
  return watched;
}

Expected<void> Calibrator::choose_values(const Runtime& runtime) {
  QUADRANT_TRY(const std::vector<WatchedValue> watched, within_reach(runtime));
  for (const WatchedValue& each : watched) {
    if (!may_be_watched(graph_, each.value)) {
      return fail(ErrorCode::usage,
                  fmt::format("the value is {}: only of floats there are statistics",
                              to_string(graph_.type(each.value))),
                  {.tensor = name(each.value)});
    }
    if (!may_have_axis(graph_, each)) {
      return fail(ErrorCode::usage,
                  fmt::format("the value is {}: it has no axis {} to keep channels of",
                              to_string(graph_.type(each.value)), each.channel_axis.value_or(0)),
                  {.tensor = name(each.value)});
    }
    values_.push_back(each.value);
    statistics_.push_back(
        std::make_unique<SharedStatistics>(each.channel_axis, options_.histograms));
  }
  std::vector<Value> sorted = values_;
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice == sorted.end()) return {};
  return fail(ErrorCode::usage, "the value is asked for twice", {.tensor = name(*twice)});
}

Expected<void> Calibrator::run_sample(std::size_t sample) {
  const auto observe = [&](std::size_t i, const Tensor& tensor) -> Expected<void> {
    if (is_float(tensor.element())) statistics_[i]->add(sample, tensor);
    return {};
  };
  QUADRANT_TRY(const Sample inputs, read_sample(data_, sample));
  return on_sample(model_->run(inputs.inputs, observe), data_, sample);
}

void Calibrator::warn() const {
  if (options_.sink == nullptr) return;
  constexpr std::size_t most = 10;  // NaN spreads: the first values tell where it comes from
  std::size_t warnings = 0;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const Histogram& histogram = statistics_[i]->result().histogram;
    const std::size_t sample = statistics_[i]->first_bad_sample();
    if (sample >= data_.size() || ++warnings > most) continue;
    options_.sink->report(
        {Severity::warning,
         fmt::format("{} NaN and {} infinite elements are left out; the first sample with any is "
                     "'{}'",
                     histogram.nan_count(), histogram.non_finite_count() - histogram.nan_count(),
                     data_.name(sample)),
         {.tensor = name(values_[i])}});
  }
  if (warnings <= most) return;
  options_.sink->report(
      {Severity::warning,
       fmt::format("there are {} more values with NaN or infinity", warnings - most)});
}

StatisticsTable Calibrator::result() {
  StatisticsTable table;
  table.samples = data_.size();
  for (std::size_t i = 0; i < values_.size(); ++i) {
    TensorStatistics& statistics = statistics_[i]->result();
    if (statistics.samples != 0) table.values.emplace(name(values_[i]), std::move(statistics));
  }
  return table;
}

Expected<StatisticsTable> Calibrator::run(const Runtime& runtime) {
  if (data_.size() == 0) {
    return fail(ErrorCode::usage, "there are no samples to calibrate with");
  }
  QUADRANT_CHECK(choose_values(runtime));
  QUADRANT_TRY(model_, load_checked(runtime, graph_, values_));
  const SampleLoop loop{.executor = options_.executor, .sink = options_.sink, .task = "calibrate"};
  QUADRANT_CHECK(for_each_sample(
      data_.size(), loop, [this](std::size_t sample, std::size_t) { return run_sample(sample); },
      [](std::size_t, std::size_t) { return Expected<void>(); }));
  warn();
  return result();
}

}  // namespace

Expected<std::vector<Value>> real_values(const Graph& graph) {
  QUADRANT_TRY(const std::vector<NodeId> order, topological_order(graph));
  std::vector<Value> values;
  for (const NodeId node : order) {
    if (graph.kind(node) == ops::Constant::kind) continue;
    std::vector<bool> is_read(graph.result_count(node));
    for (const Use& use : graph.uses(node)) is_read[use.result] = true;
    for (std::uint32_t i = 0; i < graph.result_count(node); ++i) {
      const Value value{node, i};
      if (is_read[i] && may_be_watched(graph, value)) values.push_back(value);
    }
  }
  return values;
}

Expected<StatisticsTable> calibrate(const Graph& graph, const Runtime& runtime, const DataSet& data,
                                    const CalibrateOptions& options) {
  return Calibrator(graph, data, options).run(runtime);
}

}  // namespace quadrant::inline v0
