#include "quadrant/calibration/second_moments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "calibration/handed_out.hpp"
#include "calibration/layer_inputs.hpp"
#include "calibration/layer_weights.hpp"
#include "calibration/located.hpp"
#include "calibration/reals.hpp"
#include "calibration/sample_loop.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "support/merge_left.hpp"
#include "support/saturating.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr const char* no_samples = "there are no samples to calibrate with";

class Collector {
 public:
  Collector(const Graph& graph, const DataSet& data, const CollectMomentsOptions& options)
      : graph_(graph), data_(data), options_(options) {}

  Expected<MomentsGrid> find_grid(const Runtime& runtime);
  Expected<SecondMomentsTable> count_on(const MomentsGrid& grid, const Runtime& runtime);

 private:
  [[nodiscard]] Expected<void> take(const MomentsGrid& grid) const;
  void tell_cut() const;
  Expected<void> find_weights(const Runtime& runtime);
  void make_room(const MomentsGrid* grid);
  [[nodiscard]] std::size_t block_of(const WatchedWeight& watched, const MomentsGrid* grid) const;
  void tell_blocks(const WatchedWeight& watched, std::uint64_t all) const;
  void load(WatchedWeight& watched) const;
  using Visit = FunctionRef<Expected<void>(WatchedWeight&, const LayerReader&, const LayerData&)>;
  [[nodiscard]] Expected<void> visit(const Runtime& runtime, std::string_view task,
                                     Visit visit) const;
  [[nodiscard]] Expected<void> sum(WatchedWeight& watched, const LayerReader& reader,
                                   const LayerData& data) const;

  const Graph& graph_;
  const DataSet& data_;
  const CollectMomentsOptions& options_;
  std::vector<std::unique_ptr<WatchedWeight>> weights_;
  std::vector<LeftAlone> left_;
};

Expected<void> Collector::find_weights(const Runtime& runtime) {
  std::map<NodeId, WatchedWeight*> by_constant;
  for (LayerWeight& weight : layer_weights(graph_, left_)) {
    WatchedWeight*& watched = by_constant[weight.constant];
    if (watched == nullptr) {
      watched = weights_.emplace_back(std::make_unique<WatchedWeight>()).get();
      watched->name = graph_.value_name({weight.constant});
    } else if (watched->layout() != weight.layout) {
      watched->leave("its layers read it in different ways");
    }
    watched->readers.push_back({std::move(weight), std::nullopt, nullptr});
  }
  std::vector<Value> inputs;
  for (const auto& watched : weights_) {
    const NodeId constant = watched->readers.front().weight.constant;
    for (const LayerReader& reader : watched->readers) inputs.push_back(reader.weight.data);
    if (count_reads(graph_, constant) == watched->readers.size()) continue;
    watched->leave("a lookup, or another that is no layer, reads it, too");
  }
  QUADRANT_TRY(const std::set<Value> beyond, out_of_reach(runtime, graph_, inputs));
  for (const auto& watched : weights_) {
    const bool is_inside = std::ranges::any_of(watched->readers, [&](const LayerReader& reader) {
      return beyond.contains(reader.weight.data);
    });
    if (!is_inside) continue;
    watched->leave(
        "a layer in the body of a loop or a branch reads it: this runtime does not show "
        "its inputs, the interpreter does");
  }
  std::set<std::string, std::less<>> unclear;
  for (const LeftAlone& left : left_) unclear.insert(left.name);
  std::erase_if(weights_, [&](const auto& watched) {
    const bool is_asked = options_.only == nullptr || options_.only->contains(watched->name);
    return unclear.contains(watched->name) || !is_asked;
  });
  return {};
}

// For sums, and the weights of probes. Without a grid, of sums in smaller blocks where those of
// larger ones find none.
void Collector::make_room(const MomentsGrid* grid) {
  std::uint64_t used = 0;
  for (const auto& watched : weights_) {
    const WeightMatrices& layout = watched->layout();
    std::uint64_t probes = 0;
    for (const LayerReader& reader : watched->readers) {
      probes = saturating_add(probes, bytes_of_probe(reader.weight));
    }
    const std::uint64_t left = options_.most_bytes - used;
    const auto fits = [&](std::size_t block) {
      const std::uint64_t sums = SecondMoments::bytes_of(layout, block);
      return sums <= options_.most_bytes_of_weight && saturating_add(sums, probes) <= left;
    };
    const std::size_t wanted = block_of(*watched, grid);
    watched->block = wanted;
    while (grid == nullptr && watched->block > 1 && !fits(watched->block)) {
      watched->block = std::bit_ceil(watched->block) / 2;
    }
    const std::uint64_t all = saturating_add(SecondMoments::bytes_of(layout, wanted), probes);
    if (!fits(watched->block)) {
      watched->leave(fmt::format("its moments take {} bytes: more than is left of {} for all", all,
                                 options_.most_bytes));
    }
    if (!watched->why_not.empty()) continue;
    if (watched->block < wanted) tell_blocks(*watched, all);
    used += saturating_add(SecondMoments::bytes_of(layout, watched->block), probes);
    watched->largest.assign(layout.matrices.size() * layout.columns.size(), 0);
  }
}

std::size_t Collector::block_of(const WatchedWeight& watched, const MomentsGrid* grid) const {
  std::size_t block = options_.block;
  if (grid != nullptr) {
    const auto found = grid->weights.find(watched.name);
    if (found != grid->weights.end()) block = found->second.block;
  }
  return SecondMoments::block_of(watched.layout(), block);
}

void Collector::tell_blocks(const WatchedWeight& watched, std::uint64_t all) const {
  if (options_.sink == nullptr) return;
  const std::string what = watched.block == 1
                               ? "the diagonal alone"
                               : fmt::format("those of blocks of {} columns", watched.block);
  options_.sink->report({Severity::note,
                         fmt::format("its second moments are {}: all that were asked for take {} "
                                     "bytes, for which there is no room",
                                     what, all),
                         {.tensor = watched.name}});
}

void Collector::load(WatchedWeight& watched) const {
  for (LayerReader& reader : watched.readers) {
    if (!reader.weight.is_convolution) continue;
    reader.probe = probe_of(graph_, reader.weight);
    auto loaded = Interpreter().load(reader.probe->graph, std::array{reader.probe->result});
    if (loaded) {
      reader.layer = std::move(*loaded);
    } else {
      watched.leave(std::move(loaded).error().message);
    }
  }
}

// Of the layers' inputs of all samples.
Expected<void> Collector::visit(const Runtime& runtime, std::string_view task, Visit visit) const {
  std::vector<Value> values;
  std::vector<std::vector<std::pair<WatchedWeight*, const LayerReader*>>> readers;
  std::map<Value, std::size_t> places;
  for (const auto& watched : weights_) {
    if (!watched->why_not.empty()) continue;
    for (const LayerReader& reader : watched->readers) {
      const auto [at, is_new] = places.try_emplace(reader.weight.data, values.size());
      if (is_new) {
        values.push_back(reader.weight.data);
        readers.emplace_back();
      }
      readers[at->second].emplace_back(watched.get(), &reader);
    }
  }
  if (values.empty()) return {};
  QUADRANT_TRY(const auto model, load_checked(runtime, graph_, values));
  const auto observe = [&](std::size_t i, const Tensor& tensor) -> Expected<void> {
    LayerData data{tensor, {}};
    QUADRANT_TRY(data.reals, to_doubles(tensor));
    for (const auto& [watched, reader] : readers[i]) {
      QUADRANT_CHECK(visit(*watched, *reader, data));
    }
    return {};
  };
  const SampleLoop loop{.executor = options_.executor, .sink = options_.sink, .task = task};
  return for_each_sample(
      data_.size(), loop,
      [&](std::size_t sample, std::size_t) -> Expected<void> {
        QUADRANT_TRY(const Sample inputs, read_sample(data_, sample));
        return on_sample(model->run(inputs.inputs, observe), data_, sample);
      },
      [](std::size_t, std::size_t) { return Expected<void>(); });
}

Expected<void> Collector::sum(WatchedWeight& watched, const LayerReader& reader,
                              const LayerData& data) const {
  if (const char* const why_not = unfit(reader.weight, data)) {
    const std::lock_guard lock(watched.mutex);
    watched.leave(why_not);
    return {};
  }
  if (!reader.weight.is_convolution) {
    const std::lock_guard lock(watched.mutex);
    return add_matrices(watched, reader.weight, data, options_.most_inputs_of_sample);
  }
  const std::vector<float> reals(data.reals.begin(), data.reals.end());
  const Tensor input =
      Tensor::from_values<float>(ElementType::float32, data.tensor.shape(), std::span(reals));
  auto patches = run_model(*reader.layer, std::array{input}, 1);
  if (!patches && patches.error().code != ErrorCode::impossible) {
    return fail(std::move(patches).error());
  }
  const std::lock_guard lock(watched.mutex);
  if (patches) {
    return add_positions(watched, patches->front(), options_.most_inputs_of_sample);
  }
  watched.leave(std::move(patches).error().message);
  return {};
}

Expected<MomentsGrid> Collector::find_grid(const Runtime& runtime) {
  if (data_.size() == 0) return fail(ErrorCode::usage, no_samples);
  QUADRANT_CHECK(find_weights(runtime));
  make_room(nullptr);
  QUADRANT_CHECK(visit(runtime, "ranges of inputs",
                       [](WatchedWeight& watched, const LayerReader& reader,
                          const LayerData& data) { return reach(watched, reader, data); }));
  MomentsGrid grid{.left = std::move(left_), .samples = data_.size()};
  for (const auto& watched : weights_) {
    if (!watched->why_not.empty()) {
      grid.left.push_back({std::move(watched->name), std::move(watched->why_not)});
      continue;
    }
    for (double& largest : watched->largest) largest /= SecondMoments::most_steps;
    grid.weights.emplace(
        std::move(watched->name),
        MomentsGrid::Weight{watched->layout(), std::move(watched->largest), watched->block});
  }
  return grid;
}

// What is on the grid, made ready to be counted.
Expected<void> Collector::take(const MomentsGrid& grid) const {
  for (const auto& watched : weights_) {
    if (!watched->why_not.empty()) continue;
    const auto found = grid.weights.find(watched->name);
    if (found == grid.weights.end()) {
      const auto left = std::ranges::find(grid.left, watched->name, &LeftAlone::name);
      if (left == grid.left.end()) {
        return fail(ErrorCode::usage, "the grid, of another model, has nothing of this weight",
                    {.tensor = watched->name});
      }
      watched->leave(left->reason);
      continue;
    }
    const auto& [layout, steps, block] = found->second;
    if (layout != watched->layout()) {
      return fail(ErrorCode::usage, read_in_another_way, {.tensor = watched->name});
    }
    if (std::ranges::count(steps, 0.0) == std::ssize(steps)) {
      watched->leave("its layer has no inputs but zeros in the samples");
      continue;
    }
    load(*watched);
    if (watched->why_not.empty())
      watched->moments = std::make_unique<SecondMoments>(layout, steps, block);
  }
  return {};
}

void Collector::tell_cut() const {
  std::uint64_t cut = 0;
  const WatchedWeight* first = nullptr;
  for (const auto& watched : weights_) {
    if (watched->cut != 0 && first == nullptr) first = watched.get();
    cut += watched->cut;
  }
  if (cut == 0 || options_.sink == nullptr) return;
  options_.sink->report(
      {Severity::warning,
       fmt::format("{} numbers of inputs are larger than the grid, of other samples, reaches, and "
                   "count as its largest",
                   cut),
       {.tensor = first->name}});
}

Expected<SecondMomentsTable> Collector::count_on(const MomentsGrid& grid, const Runtime& runtime) {
  if (data_.size() == 0) return fail(ErrorCode::usage, no_samples);
  QUADRANT_CHECK(find_weights(runtime));
  make_room(&grid);
  QUADRANT_CHECK(take(grid));
  QUADRANT_CHECK(visit(runtime, "moments of inputs",
                       [this](WatchedWeight& watched, const LayerReader& reader,
                              const LayerData& data) { return sum(watched, reader, data); }));
  tell_cut();
  SecondMomentsTable table;
  table.samples = data_.size();
  table.left = std::move(left_);
  for (const auto& watched : weights_) {
    if (watched->why_not.empty()) {
      table.weights.emplace(std::move(watched->name), std::move(*watched->moments));
    } else {
      table.left.push_back({std::move(watched->name), std::move(watched->why_not)});
    }
  }
  return table;
}

}  // namespace

Expected<MomentsGrid> find_moments_grid(const Graph& graph, const Runtime& runtime,
                                        const DataSet& data, const CollectMomentsOptions& options) {
  return Collector(graph, data, options).find_grid(runtime);
}

Expected<SecondMomentsTable> collect_second_moments(const Graph& graph, const Runtime& runtime,
                                                    const DataSet& data,
                                                    const CollectMomentsOptions& options) {
  if (options.grid != nullptr) {
    return Collector(graph, data, options).count_on(*options.grid, runtime);
  }
  QUADRANT_TRY(const MomentsGrid grid, find_moments_grid(graph, runtime, data, options));
  return Collector(graph, data, options).count_on(grid, runtime);
}

}  // namespace quadrant::inline v0
