// quadrant calibrate MODEL --data DIR -o FILE: what the values of a model are on data.
#include "quadrant/calibration/calibrate.hpp"

#include <fmt/format.h>

#include <charconv>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/checkpoint_options.hpp"
#include "cli/command.hpp"
#include "cli/data_options.hpp"
#include "cli/moments.hpp"
#include "cli/resources.hpp"
#include "cli/runtimes.hpp"
#include "pipeline/merged_statistics.hpp"
#include "quadrant/pipeline/gather.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/recipe/documents.hpp"
#include "quadrant/support/ranks.hpp"
#include "report/statistics_rows.hpp"
#include "report/terminal_text.hpp"
#include "support/counted.hpp"

namespace quadrant::cli {
namespace {

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
  Calibrate()
      : Command({.name = "calibrate",
                 .about = "Run a model on samples and keep statistics of its values",
                 .runs_models = true,
                 .shares_work = true,
                 .replaceable = "--merge"}) {}

  void declare(CLI::App& command) override {
    add_model(command, model_)->required(false);  // settle() asks for it
    cli::declare(command, data_);
    add_value(command, "--part", part_, "I/N",
              "Only part I, counted from 1, of N equal parts of the samples: all parts merged, "
              "in any order, give what one run gives");
    declare_threads(command, threads_);
    add_value(command, "-o,--output", output_, "FILE", "File to save the statistics in");
    add_value(command, "--merge", merged_, "FILE",
              "Earlier results to add, with samples or without. Repeatable; may be the file "
              "that is written")
        ->allow_extra_args(false);
    cli::declare(command, moments_);
    cli::declare(command, keep_);
    declare_runtime(command, runtime_);
    declare_json(command, json_);
    command.footer(
        "Examples:\n"
        "  quadrant calibrate model.onnx --data samples -o statistics.json\n"
        "  quadrant calibrate model.onnx --data more -o statistics.json --merge statistics.json\n"
        "  quadrant calibrate model.onnx --merge statistics.json\n"
        "  quadrant calibrate model.onnx --data samples --part 2/8 -o part2.json\n"
        "  quadrant calibrate model.onnx --data samples --moments -o model.moments\n"
        "  quadrant calibrate model.onnx --data samples --moments blocks:512 -o model.moments\n"
        "  quadrant calibrate model.onnx --data samples -o statistics.json --checkpoint 1000");
  }

  Expected<void> run(Console& console) override {
    QUADRANT_CHECK(settle(moments_, model_));
    if (!data_.is_given() && (merged_.empty() || keep_.every != 0)) QUADRANT_CHECK(check(data_));
    QUADRANT_TRY(const SamplePart part, parse_part(part_));
    console.use_threads(threads_);
    QUADRANT_TRY(const auto runtime, make_runtime(runtime_, console));
    QUADRANT_TRY(const Graph graph, read_model(model_, console.context()));
    QUADRANT_TRY(const std::uint64_t hash,
                 in_file(model_hash(graph, console.context().executor), model_));
    if (!moments_.moments.empty()) {
      return run_moments(
          moments_,
          {model_, graph, hash, runtime_, *runtime, data_, part, keep_, merged_, output_, json_},
          console);
    }
    QUADRANT_TRY(MergedStatistics merged, MergedStatistics::read(graph, hash, merged_));
    if (data_.is_given()) {
      QUADRANT_TRY(const StatisticsTable gathered, gather(graph, merged, *runtime, part, console));
      merged.add(gathered, console.context());
    }
    const StatisticsTable table = std::move(merged).finish(model_, console.context());
    if (!is_first(console.context().ranks)) return {};
    QUADRANT_TRY(const std::vector<StatisticsRow> rows, statistics_rows(graph, table));
    if (!output_.empty()) QUADRANT_CHECK(console.write_text(output_, print_statistics(table)));
    print_result(table, rows, console);
    return {};
  }

 private:
  [[nodiscard]] Expected<StatisticsTable> gather(const Graph& graph, const MergedStatistics& merged,
                                                 const Runtime& runtime, SamplePart part,
                                                 Console& console) const {
    QUADRANT_TRY(const auto data, open_data(data_, graph, console));
    QUADRANT_TRY(std::vector<WatchedValue> watched, merged.wanted(graph));
    QUADRANT_TRY(
        CheckpointOptions checkpoint,
        checkpoint_of(keep_, output_, runtime_, print_statistics(merged.table()), console));
    return in_file(gather_statistics({graph, runtime, *data, part, std::move(checkpoint)},
                                     {.values = std::move(watched)}, console.context()),
                   model_);
  }

  void print_result(const StatisticsTable& table, std::span<const StatisticsRow> rows,
                    Console& console) const {
    if (json_) {
      console.print_json(Json{{"model", model_},
                              {"output", text_or_null(output_)},
                              {"samples", table.samples},
                              {"values", to_json(rows)}});
      return;
    }
    console.print(fmt::format("{}\n  {}\n", to_string(rows), counted(table.samples, "sample")));
    console.print(file_line("  saved in", output_));
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
};

}  // namespace

std::unique_ptr<Command> make_calibrate(const SchemeTable& /*schemes*/) {
  return std::make_unique<Calibrate>();
}

}  // namespace quadrant::cli
