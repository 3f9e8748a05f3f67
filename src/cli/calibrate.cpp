// quadrant calibrate MODEL --data DIR -o FILE: what the values of a model are on data.
#include "quadrant/calibration/calibrate.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/checkpoint_options.hpp"
#include "cli/command.hpp"
#include "cli/data_options.hpp"
#include "cli/decision.hpp"
#include "cli/moments.hpp"
#include "cli/resources.hpp"
#include "cli/runtimes.hpp"
#include "quadrant/pipeline/gather.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/recipe/documents.hpp"
#include "quadrant/report/tables.hpp"
#include "quadrant/support/ranks.hpp"
#include "recipe/node_names.hpp"
#include "report/terminal_text.hpp"
#include "support/near_names.hpp"

namespace quadrant::cli {
namespace {

/// A value in front of people.
struct Row {
  std::string name;
  const TensorStatistics* statistics = nullptr;

  [[nodiscard]] const Histogram& histogram() const noexcept { return statistics->histogram; }
  [[nodiscard]] std::uint64_t elements() const noexcept {
    return histogram().finite_count() + histogram().non_finite_count();
  }
};

/// Producers before users; values that no operation reads come last.
Expected<std::vector<Row>> rows_of(const Graph& graph, const StatisticsTable& table) {
  QUADRANT_TRY(const std::vector<Value> values, real_values(graph));
  std::vector<Row> rows;
  const auto add = [&](const std::string& name, const TensorStatistics& statistics) {
    rows.push_back({name, &statistics});
  };
  std::map<std::string_view, const TensorStatistics*> left;
  for (const auto& [name, statistics] : table.values) left.emplace(name, &statistics);
  for (const Value value : values) {
    const auto found = left.find(graph.value_name(value));
    if (found == left.end()) continue;
    add(std::string(found->first), *found->second);
    left.erase(found);
  }
  for (const auto& [name, statistics] : left) add(std::string(name), *statistics);
  return rows;
}

std::string print(const std::vector<Row>& rows) {
  using enum Table::Align;
  Table table({{"value"},
               {"elements", right},
               {"min", right},
               {"max", right},
               {"mean", right},
               {"zeros", right},
               {"not finite", right}});
  for (const Row& row : rows) {
    const Histogram& histogram = row.histogram();
    const bool has_range = histogram.finite_count() != 0;
    const auto real = [&](double value) {
      return has_range ? fmt::format("{:.4g}", value) : std::string("-");
    };
    table.add({row.name, fmt::to_string(row.elements()), real(static_cast<double>(histogram.min())),
               real(static_cast<double>(histogram.max())), real(row.statistics->mean()),
               format_share(histogram.zero_count(), row.elements()),
               fmt::to_string(histogram.non_finite_count())});
  }
  return table.print();
}

Json to_json(const std::vector<Row>& rows) {
  Json values = Json::array();
  for (const Row& row : rows) {
    const Histogram::Counts counts = row.histogram().counts();
    values.push_back({{"value", row.name},
                      {"samples", row.statistics->samples},
                      {"elements", row.elements()},
                      {"min", counts.min},
                      {"max", counts.max},
                      {"mean", row.statistics->mean()},
                      {"zeros", counts.zeros},
                      {"nan", counts.nan},
                      {"positive_infinity", counts.positive_infinity},
                      {"negative_infinity", counts.negative_infinity}});
  }
  return values;
}

/// A file that was merged.
struct Saved {
  std::string path;
  std::string model;
  std::set<std::string> values;
  std::set<std::string> with_channels;
};

Saved summary_of(const StatisticsTable& table, const std::string& path) {
  Saved saved{path, table.model, {}, {}};
  for (const auto& [name, statistics] : table.values) {
    saved.values.insert(name);
    if (statistics.by_channel) saved.with_channels.insert(name);
  }
  return saved;
}

/// All values, and channels where there are some to add to.
Expected<std::vector<WatchedValue>> watched_like(const Graph& graph, const StatisticsTable& table) {
  QUADRANT_TRY(const std::vector<Value> values, real_values(graph));
  std::vector<WatchedValue> watched;
  for (const Value value : values) {
    const TensorStatistics* known = table.find(graph.value_name(value));
    watched.push_back({value, known != nullptr && known->by_channel
                                  ? std::optional(known->by_channel->axis)
                                  : std::nullopt});
  }
  return watched;
}

/// Values that only one of a file and the run has are of other samples than the rest.
void warn_of_other_values(const Saved& saved, const StatisticsTable& gathered, Sink& sink) {
  std::vector<std::string_view> in_file;
  std::vector<std::string_view> in_run;
  for (const std::string& name : saved.values) {
    if (gathered.find(name) == nullptr) in_file.push_back(name);
  }
  for (const auto& [name, statistics] : gathered.values) {
    if (!saved.values.contains(name)) in_run.push_back(name);
  }
  if (in_file.empty() && in_run.empty()) return;
  sink.report(
      {Severity::warning,
       fmt::format("of {} values {} are not in this run, of whose {} values {} are not in "
                   "the file, such as '{}': it was saved for '{}'",
                   saved.values.size(), in_file.size(), gathered.values.size(), in_run.size(),
                   (in_file.empty() ? in_run : in_file).front(), saved.model),
       {.file = saved.path}});
}

/// Channels remain where all that is merged has them along the same axis.
void warn_of_lost_channels(const Saved& saved, const StatisticsTable& table, Sink& sink) {
  constexpr std::size_t most = 3;
  std::string names;
  std::size_t lost = 0;
  for (const std::string& name : saved.with_channels) {
    if (table.find(name)->by_channel || ++lost > most) continue;
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", name);
  }
  if (lost == 0) return;
  if (lost > most) names += fmt::format(" and {} more", lost - most);
  sink.report({Severity::warning,
               fmt::format("statistics by channel are lost, as not all that is merged has them "
                           "along the same axis: of {}",
                           names),
               {.file = saved.path}});
}

/// `I/N`, from 1; nothing is all.
Expected<SamplePart> parse_part(std::string_view text) {
  if (text.empty()) return SamplePart{};
  SamplePart part;
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const auto index = std::from_chars(begin, end, part.index);
  if (index.ec == std::errc() && index.ptr != end && *index.ptr == '/') {
    const auto count = std::from_chars(index.ptr + 1, end, part.count);
    const bool is_whole = count.ec == std::errc() && count.ptr == end;
    if (is_whole && part.index >= 1 && part.index <= part.count) {
      --part.index;
      return part;
    }
  }
  return fail(ErrorCode::usage,
              fmt::format("--part {}: it is written I/N, as 2/8: the second of eight", text));
}

class Calibrate final : public Command {
 public:
  CLI::App* declare(CLI::App& app) override {
    CLI::App* command =
        app.add_subcommand("calibrate", "Run a model on samples and keep statistics of its values");
    command->add_option("MODEL", model_, "Model to read: .onnx, .tflite, .xml, or .qd, text")
        ->type_name("");
    cli::declare(*command, data_);
    command
        ->add_option(
            "--part", part_,
            "Only part I, counted from 1, of N equal parts of the samples: all parts merged, "
            "in any order, give what one run gives")
        ->type_name("I/N");
    declare_threads(*command, threads_);
    command->add_option("-o,--output", output_, "File to save the statistics in")
        ->type_name("FILE");
    command
        ->add_option("--merge", merged_,
                     "Earlier results to add, with samples or without. Repeatable; may be the file "
                     "that is written")
        ->type_name("FILE")
        ->allow_extra_args(false);
    cli::declare(*command, moments_);
    cli::declare(*command, keep_);
    declare_runtime(*command, runtime_);
    declare_json(*command, json_);
    command->footer(
        "Examples:\n"
        "  quadrant calibrate model.onnx --data samples -o statistics.json\n"
        "  quadrant calibrate model.onnx --data more -o statistics.json --merge statistics.json\n"
        "  quadrant calibrate model.onnx --merge statistics.json\n"
        "  quadrant calibrate model.onnx --data samples --part 2/8 -o part2.json\n"
        "  quadrant calibrate model.onnx --data samples --moments -o model.moments\n"
        "  quadrant calibrate model.onnx --data samples --moments blocks:512 -o model.moments\n"
        "  quadrant calibrate model.onnx --data samples -o statistics.json --checkpoint 1000");
    return command;
  }

  [[nodiscard]] bool wants_json() const noexcept override { return json_; }
  [[nodiscard]] bool runs_models() const noexcept override { return true; }
  [[nodiscard]] bool shares_work() const noexcept override { return true; }
  [[nodiscard]] std::string_view replaceable() const noexcept override { return "--merge"; }

  Expected<void> run(Console& console) override {
    QUADRANT_CHECK(settle(moments_, model_));
    const bool has_samples = !data_.path.empty() || data_.random != 0;
    if (!has_samples && (merged_.empty() || keep_.every != 0)) QUADRANT_CHECK(check(data_));
    QUADRANT_TRY(const SamplePart part, parse_part(part_));
    console.use_threads(threads_);
    if (!moments_.moments.empty()) {
      return run_moments(moments_, {model_, runtime_, data_, part, keep_, merged_, output_, json_},
                         console);
    }
    QUADRANT_TRY(const auto runtime, make_runtime(runtime_, console));
    QUADRANT_TRY(const Graph graph, read_model(model_, console.context()));
    QUADRANT_TRY(const std::uint64_t hash,
                 in_file(model_hash(graph, console.context().executor), model_));
    StatisticsTable table;
    std::vector<Saved> merged;
    for (const std::string& path : merged_) {
      QUADRANT_TRY(const StatisticsTable saved, read_statistics_of(graph, path, hash));
      merged.push_back(summary_of(saved, path));
      table.merge(saved);
    }
    if (has_samples) {
      QUADRANT_TRY(const StatisticsTable gathered, gather(graph, table, *runtime, part, console));
      for (const Saved& saved : merged) warn_of_other_values(saved, gathered, console);
      table.merge(gathered);
    }
    for (const Saved& saved : merged) warn_of_lost_channels(saved, table, console);
    table.model = std::filesystem::path(model_).filename().string();
    table.model_hash = hash;
    if (!is_first(console.context().ranks)) return {};
    QUADRANT_TRY(const std::vector<Row> rows, rows_of(graph, table));
    if (!output_.empty()) QUADRANT_CHECK(console.write_text(output_, print_statistics(table)));
    print_result(table, rows, console);
    return {};
  }

 private:
  [[nodiscard]] Expected<StatisticsTable> gather(const Graph& graph, const StatisticsTable& merged,
                                                 const Runtime& runtime, SamplePart part,
                                                 Console& console) const {
    QUADRANT_TRY(const auto data, open_data(data_, graph, console));
    QUADRANT_TRY(std::vector<WatchedValue> watched, watched_like(graph, merged));
    QUADRANT_TRY(CheckpointOptions checkpoint,
                 checkpoint_of(keep_, output_, runtime_, print_statistics(merged), console));
    return in_file(gather_statistics({graph, runtime, *data, part, std::move(checkpoint)},
                                     {.values = std::move(watched)}, console.context()),
                   model_);
  }

  void print_result(const StatisticsTable& table, const std::vector<Row>& rows,
                    Console& console) const {
    if (json_) {
      console.print_json(Json{{"model", model_},
                              {"output", output_.empty() ? Json(nullptr) : Json(output_)},
                              {"samples", table.samples},
                              {"values", to_json(rows)}});
      return;
    }
    console.print(fmt::format("{}\n  {} sample{}\n", print(rows), table.samples,
                              table.samples == 1 ? "" : "s"));
    if (!output_.empty()) console.print(fmt::format("  saved in {}\n", printable(output_)));
  }

  std::string model_;
  DataOptions data_;
  std::string part_;
  MomentsOptions moments_;
  KeepOptions keep_;
  unsigned threads_ = 0;
  std::string output_;
  std::vector<std::string> merged_;
  std::string runtime_ = std::string(runtime_names.front());
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_calibrate() { return std::make_unique<Calibrate>(); }

}  // namespace quadrant::cli
