#include "quadrant/pipeline/gather.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "calibration/layer_weights.hpp"
#include "pipeline/checkpoint.hpp"
#include "pipeline/sample_parts.hpp"
#include "quadrant/calibration/second_moments.hpp"
#include "quadrant/recipe/documents.hpp"
#include "quadrant/support/files.hpp"
#include "quadrant/support/ranks.hpp"
#include "support/content_hash.hpp"
#include "support/merge_left.hpp"
#include "support/saturating.hpp"
#include "support/shared_room.hpp"

namespace quadrant::inline v0 {
namespace {

// That all ranks have the same samples; of contents, names must do.
Expected<void> check_names(const DataSet& samples, Ranks& ranks) {
  ContentHash hash;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::string name = samples.name(i) + '\n';
    hash.add(std::as_bytes(std::span(name)));
  }
  return ranks.check_same("the list of samples", std::to_string(hash.value()));
}

std::string print(const StatisticsTable& table) { return print_statistics(table); }
std::string print(const MomentsGrid& grid) { return print_moments(grid); }
std::string print(const SecondMomentsTable& moments) { return print_moments(moments); }

template <class Table>
Expected<Table> parse(const std::string& bytes) {
  if constexpr (std::is_same_v<Table, StatisticsTable>) {
    return parse_statistics(bytes);
  } else {
    QUADRANT_TRY(SavedMoments saved, parse_moments(bytes));
    if (auto* const table = std::get_if<Table>(&saved)) return std::move(*table);
    return fail(ErrorCode::invalid_model, "it holds a table of another kind");
  }
}

template <class Table>
Expected<void> merge_into(Table& table, const Table& other) {
  if constexpr (std::is_same_v<Table, StatisticsTable>) {
    table.merge(other);
    return {};
  } else {
    return table.merge(other);
  }
}

// That of all ranks.
template <class Table>
Expected<Table> over_ranks(Expected<Table> own, Ranks& ranks) {
  // Tables may be as large as all else: a text goes when it is a table, and a table when it is a
  // text, but for that of all, which the first rank has already.
  const auto add = [&](std::string theirs) -> Expected<void> {
    QUADRANT_TRY(const Table other, parse<Table>(std::exchange(theirs, {})));
    return merge_into(*own, other);
  };
  const auto print_own = [&] {
    std::string text = print(*own);
    if (!ranks.is_first()) own = Table();
    return text;
  };
  QUADRANT_TRY(const std::string all, ranks.combine(own.map([](const Table&) {}), add, print_own));
  if (ranks.is_first()) return own;
  return parse<Table>(all);
}

// What `run` makes of all samples, or of this rank's, and then of all ranks'. `may_be_none`: of
// samples that are a part.
template <class Table, class Run>
Expected<Table> gather_at_once(const DataSet& samples, bool may_be_none, const RunContext& context,
                               Run run) {
  if (context.ranks == nullptr) {
    return samples.size() == 0 && may_be_none ? Expected<Table>(Table()) : run(samples);
  }
  const std::unique_ptr<DataSet> share =
      part_of(samples, {context.ranks->rank(), context.ranks->size()});
  const bool is_idle = share->size() == 0 && (samples.size() != 0 || may_be_none);
  return over_ranks(is_idle ? Expected<Table>(Table()) : run(*share), *context.ranks);
}

// Samples from `first` on, as many as a checkpoint is written after.
PartOfSamples next_of(const DataSet& samples, std::size_t first, std::size_t most) {
  std::vector<std::size_t> chosen(std::min(most, samples.size() - first));
  std::iota(chosen.begin(), chosen.end(), first);
  return {samples, std::move(chosen)};
}

// What `run` makes of the samples of `what`, of some after the other where a checkpoint is kept,
// under this name.
template <class Table, class Run>
Expected<Table> gather(const Gathering& what, const RunContext& context, Checkpoint& checkpoint,
                       const std::string& name, Run run) {
  const std::unique_ptr<DataSet> part = part_of(what.samples, what.part);
  const bool may_be_none = what.part.count > 1;
  if (!checkpoint.is_kept() || part->size() == 0) {
    return gather_at_once<Table>(*part, may_be_none, context, run);
  }
  Table table;
  std::size_t done = 0;
  if (const Checkpoint::Table* const saved = checkpoint.find(name)) {
    QUADRANT_TRY(table, in_file(parse<Table>(saved->contents), checkpoint.options().path));
    done = std::min<std::uint64_t>(saved->samples, part->size());
    context.note(fmt::format("goes on with the {} of {} of {} samples", name, done, part->size()),
                 {.file = checkpoint.options().path});
  }
  while (done < part->size()) {
    QUADRANT_CHECK(context.check_stop());
    const PartOfSamples some = next_of(*part, done, checkpoint.options().every);
    QUADRANT_TRY(const Table found, gather_at_once<Table>(some, may_be_none, context, run));
    QUADRANT_CHECK(merge_into(table, found));
    done += some.size();
    QUADRANT_CHECK(checkpoint.keep(name, {done, print(table)}));
  }
  return table;
}

Expected<Checkpoint> open_checkpoint(const Gathering& what, const RunContext& context,
                                     Checkpoint::Facts facts) {
  if (context.ranks != nullptr) QUADRANT_CHECK(check_names(what.samples, *context.ranks));
  if (what.checkpoint.path.empty()) return Checkpoint();
  if (what.checkpoint.every == 0) {
    return fail(ErrorCode::usage,
                "a checkpoint is written after so many samples, of which 0 are none");
  }
  QUADRANT_TRY(std::string model, fact_of(what.graph, context));
  QUADRANT_TRY(std::string samples, fact_of(what.samples, context));
  facts.insert(facts.begin(),
               {{"the model", std::move(model)},
                {"the samples", std::move(samples)},
                {"the part", fmt::format("{} of {}", what.part.index + 1, what.part.count)}});
  QUADRANT_TRY(Checkpoint made, Checkpoint::open(what.checkpoint, std::move(facts), context));
  made.remove_at_end();
  return made;
}

/// What second moments may take.
struct MomentsRoom {
  std::uint64_t at_a_time = std::uint64_t{4} << 30U;  ///< sums of all layers, and their probes
  std::uint64_t of_weight = at_a_time;                ///< sums of one
};

MomentsRoom room_of(const RunContext& context) {
  const std::uint64_t memory = context.moments_memory;
  return memory == 0 ? MomentsRoom() : MomentsRoom{memory / 2, memory / 16};
}

Expected<MomentsGrid> gather_grid(const Gathering& what, const RunContext& context,
                                  Checkpoint& checkpoint) {
  return gather<MomentsGrid>(what, context, checkpoint, "grid", [&](const DataSet& samples) {
    return find_moments_grid(what.graph, what.runtime, samples,
                             {.most_bytes = saturated<std::uint64_t>,
                              .most_bytes_of_weight = room_of(context).of_weight,
                              .block = what.block,
                              .executor = context.executor,
                              .sink = context.sink});
  });
}

// Weights whose moments find room at the same time, in the order of the layers.
using Names = std::set<std::string, std::less<>>;
std::vector<Names> groups_of(const Graph& graph, const MomentsGrid& grid, std::uint64_t most) {
  std::vector<LeftAlone> left;
  std::vector<std::string> order;
  std::map<std::string, std::uint64_t, std::less<>> bytes;
  for (const LayerWeight& weight : layer_weights(graph, left)) {
    const std::string name(graph.value_name({weight.constant}));
    const auto [own, is_new] = bytes.try_emplace(name, 0);
    if (is_new) order.push_back(name);
    const auto found = grid.weights.find(name);
    if (found == grid.weights.end()) continue;
    own->second = saturating_add(own->second, bytes_of_probe(weight));
    if (!is_new) continue;
    own->second = saturating_add(
        own->second, SecondMoments::bytes_of(found->second.layout, found->second.block));
  }
  std::vector<Names> groups(1);
  std::uint64_t used = 0;
  for (const std::string& name : order) {
    const std::uint64_t more = bytes.at(name);
    if (used != 0 && saturating_add(used, more) > most) {
      groups.emplace_back();
      used = 0;
    }
    used = saturating_add(used, more);
    groups.back().insert(name);
  }
  return groups;
}

// The sums of all layers, those of some after the others.
class MomentsGatherer {
 public:
  MomentsGatherer(const Gathering& what, const MomentsGrid& grid, const RunContext& context,
                  Checkpoint& checkpoint)
      : what_(what), grid_(grid), context_(context), checkpoint_(checkpoint) {}

  Expected<SecondMomentsTable> run() {
    const std::vector<Names> groups = groups_of(what_.graph, grid_, room_of(context_).at_a_time);
    const bool puts_away = groups.size() > 1 || context_.moments_memory != 0;
    std::shared_ptr<ScratchFile> file;
    if (puts_away && !context_.scratch.empty()) {
      QUADRANT_TRY(file, ScratchFile::create(context_.scratch));
    }
    if (groups.size() > 1) {
      context_.note(
          fmt::format("the sums of all layers find no room at the same time: the samples "
                      "run {} times for them",
                      groups.size()));
    }
    SecondMomentsTable all;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const std::string name = i == 0 ? "moments" : fmt::format("moments, run {}", i + 1);
      QUADRANT_TRY(SecondMomentsTable some, gather_group(groups[i], name));
      for (auto& [weight, moments] : some.weights) {
        if (file != nullptr) QUADRANT_CHECK(moments.put_away(file));
      }
      all.weights.merge(some.weights);
      merge_left(all.left, some.left);
      all.samples = some.samples;
    }
    if (context_.moments_memory != 0) {
      all.room = std::make_shared<SharedRoom>(context_.moments_memory / 2);
    }
    return all;
  }

 private:
  Expected<SecondMomentsTable> gather_group(const Names& group, const std::string& name) {
    return gather<SecondMomentsTable>(
        what_, context_, checkpoint_, name, [&](const DataSet& samples) {
          return collect_second_moments(what_.graph, what_.runtime, samples,
                                        {.most_bytes = saturated<std::uint64_t>,
                                         .only = &group,
                                         .executor = context_.executor,
                                         .sink = context_.sink,
                                         .grid = &grid_});
        });
  }

  const Gathering& what_;
  const MomentsGrid& grid_;
  const RunContext& context_;
  Checkpoint& checkpoint_;
};

// What statistics are asked for, in short.
std::string describe(const Graph& graph, const CalibrateOptions& options) {
  std::string text = options.histograms ? "" : "without histograms";
  for (const WatchedValue& each : options.values) {
    text += fmt::format(" {} {}", graph.value_name(each.value),
                        each.channel_axis ? fmt::to_string(*each.channel_axis) : "-");
  }
  return fact_of(text);
}

// What of them depends on the call.
std::pair<std::string, std::string> how_moments(const Gathering& what, const RunContext& context) {
  return {"the blocks and the memory of moments",
          fmt::format("{}, {}", what.block, context.moments_memory)};
}

}  // namespace

Expected<StatisticsTable> gather_statistics(const Gathering& what, CalibrateOptions options,
                                            const RunContext& context) {
  options.executor = context.executor;
  options.sink = context.sink;
  // Statistics without have no text, and with them they have the same ranges and sums.
  options.histograms =
      options.histograms || context.ranks != nullptr || !what.checkpoint.path.empty();
  QUADRANT_TRY(Checkpoint checkpoint,
               open_checkpoint(what, context,
                               {{"what is gathered", "statistics"},
                                {"the values", describe(what.graph, options)}}));
  return gather<StatisticsTable>(what, context, checkpoint, "statistics",
                                 [&](const DataSet& samples) {
                                   return calibrate(what.graph, what.runtime, samples, options);
                                 });
}

Expected<MomentsGrid> gather_moments_grid(const Gathering& what, const RunContext& context) {
  QUADRANT_TRY(
      Checkpoint checkpoint,
      open_checkpoint(what, context, {{"what is gathered", "grids"}, how_moments(what, context)}));
  return gather_grid(what, context, checkpoint);
}

Expected<SecondMomentsTable> gather_moments(const Gathering& what, const MomentsGrid* grid,
                                            const RunContext& context) {
  QUADRANT_TRY(
      Checkpoint checkpoint,
      open_checkpoint(what, context,
                      {{"what is gathered", "moments"},
                       {"the grid", grid == nullptr ? "its own" : fact_of(print_moments(*grid))},
                       how_moments(what, context)}));
  MomentsGrid found;
  if (grid == nullptr) {
    QUADRANT_TRY(found, gather_grid(what, context, checkpoint));
    grid = &found;
  }
  return MomentsGatherer(what, *grid, context, checkpoint).run();
}

}  // namespace quadrant::inline v0
