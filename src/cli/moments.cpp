#include "cli/moments.hpp"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

#include "cli/arguments.hpp"
#include "cli/resources.hpp"
#include "quadrant/calibration/second_moments.hpp"
#include "quadrant/pipeline/gather.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/report/tables.hpp"
#include "quadrant/support/files.hpp"
#include "quadrant/support/ranks.hpp"
#include "report/terminal_text.hpp"
#include "support/counted.hpp"

namespace quadrant::cli {
namespace {

MomentsGrid grid_of(SavedMoments saved) {
  if (auto* const grid = std::get_if<MomentsGrid>(&saved)) return std::move(*grid);
  return grid_of(std::get<SecondMomentsTable>(saved));
}

std::int64_t inputs_of(const MomentsGrid::Weight& /*weight*/) { return 0; }
std::int64_t inputs_of(const KeptMoments& weight) {
  return weight.layout().matrices.empty() ? 0 : weight.count(0);
}
const WeightMatrices& layout_of(const MomentsGrid::Weight& weight) { return weight.layout; }
const WeightMatrices& layout_of(const KeptMoments& weight) { return weight.layout(); }
std::size_t block_of(const MomentsGrid::Weight& weight) { return weight.block; }
std::size_t block_of(const KeptMoments& weight) { return weight.block(); }

constexpr std::string_view blocks_of = "blocks:";

// Columns that are counted together; nothing where the word says none.
std::optional<std::size_t> parse_block(std::string_view word) {
  if (word == "full") return SecondMoments::whole;
  if (word == "diagonal") return 1;
  if (!word.starts_with(blocks_of)) return std::nullopt;
  std::size_t block = 0;
  const char* const end = word.data() + word.size();
  const auto read = std::from_chars(word.data() + blocks_of.size(), end, block);
  const bool is_one = read.ec == std::errc() && read.ptr == end && block > 0;
  return is_one ? std::optional(block) : std::nullopt;
}

std::string print_block(std::size_t block, std::size_t columns) {
  if (block >= columns) return "full";
  return block == 1 ? "diagonal" : fmt::format("{}{}", blocks_of, block);
}

template <class Kept>
class Moments {
 public:
  Moments(const MomentsOptions& options, const MomentsCall& call, Console& console)
      : options_(options), call_(call), console_(console) {}

  Expected<void> run() {
    RunContext& context = console_.context();
    if (!options_.memory.empty()) {
      QUADRANT_TRY(context.moments_memory, parse_bytes("--memory", options_.memory));
    }
    const auto folder = std::filesystem::path(call_.output).parent_path();
    context.scratch = folder.empty() ? "." : folder.string();
    QUADRANT_CHECK(merge_saved());
    if (call_.data.is_given()) {
      QUADRANT_TRY(const auto data, open_data(call_.data, call_.graph, console_));
      QUADRANT_TRY(CheckpointOptions checkpoint,
                   checkpoint_of(call_.keep, call_.output, call_.runtime_name, print_moments(kept_),
                                 console_));
      QUADRANT_TRY(const Kept found, gather({.graph = call_.graph,
                                             .runtime = call_.runtime,
                                             .samples = *data,
                                             .part = call_.part,
                                             .checkpoint = std::move(checkpoint),
                                             .block = options_.block}));
      QUADRANT_CHECK(in_file(kept_.merge(found), call_.model));
    }
    if constexpr (std::is_same_v<Kept, SecondMomentsTable>) {
      QUADRANT_CHECK(in_file(check_moments(call_.graph, kept_), call_.model));
    }
    kept_.model = std::filesystem::path(call_.model).filename().string();
    kept_.model_hash = call_.hash;
    if (!is_first(console_.context().ranks)) return {};
    if (!call_.output.empty()) {
      QUADRANT_CHECK(write());
    }
    print();
    return {};
  }

 private:
  Expected<void> merge_saved() {
    for (const std::string& path : call_.merged) {
      QUADRANT_TRY(SavedMoments saved, read_moments(path));
      const auto* const table = std::get_if<Kept>(&saved);
      if (table == nullptr) {
        return fail(ErrorCode::usage,
                    options_.grid_only ? "moments are no grid: this one is found without sums"
                                       : "a grid has no sums to add: it is what --grid counts on",
                    {.file = path});
      }
      QUADRANT_CHECK(check_model(table->model_hash, call_.hash, path));
      QUADRANT_CHECK(check_word(*table, path));
      QUADRANT_CHECK(in_file(kept_.merge(*table), path));
      if (!grid_ && !options_.grid_only) grid_ = grid_of(std::move(saved));
    }
    if (options_.grid.empty()) return {};
    QUADRANT_TRY(SavedMoments saved, read_moments(options_.grid));
    grid_ = grid_of(std::move(saved));
    QUADRANT_CHECK(check_model(grid_->model_hash, call_.hash, options_.grid));
    return check_word(*grid_, options_.grid);
  }

  // That a file has the moments that --moments says, if it says any: files decide.
  template <class Saved>
  [[nodiscard]] Expected<void> check_word(const Saved& saved, const std::string& path) const {
    if (!options_.says_block) return {};
    for (const auto& [name, weight] : saved.weights) {
      const WeightMatrices& layout = layout_of(weight);
      if (block_of(weight) == SecondMoments::block_of(layout, options_.block)) continue;
      return fail(
          ErrorCode::usage,
          fmt::format("the moments of '{}' are {} here, which decides: --moments goes "
                      "without '{}'",
                      name, print_block(block_of(weight), layout.columns.size()), options_.moments),
          {.file = path});
    }
    return {};
  }

  // Piece by piece: the sums may be more than there is memory for.
  Expected<void> write() {
    if constexpr (std::is_same_v<Kept, MomentsGrid>) {
      return console_.write_text(call_.output, print_moments(kept_));
    } else {
      QUADRANT_TRY(NewFile file, console_.files().create(call_.output));
      QUADRANT_CHECK(write_moments(kept_, [&](std::string_view part) {
        return file.write(std::as_bytes(std::span(part)));
      }));
      return console_.files().add(std::move(file));
    }
  }

  [[nodiscard]] Expected<Kept> gather(const Gathering& what) {
    const RunContext& context = console_.context();
    if constexpr (std::is_same_v<Kept, MomentsGrid>) {
      return in_file(gather_moments_grid(what, context), call_.model);
    } else {
      if (call_.part.count > 1 && !grid_) {
        return fail(ErrorCode::usage,
                    "parts that are to be added up count on one grid: find it first, with "
                    "--grid-only for each part, merge these, and name that file with --grid");
      }
      return in_file(gather_moments(what, grid_ ? &*grid_ : nullptr, context), call_.model);
    }
  }

  void print() {
    constexpr auto right = Table::Align::right;
    Table table(
        {{"weight"}, {"matrices", right}, {"columns", right}, {"moments"}, {"inputs", right}});
    Json weights = Json::array();
    for (const auto& [name, weight] : kept_.weights) {
      const WeightMatrices& layout = layout_of(weight);
      const std::string moments = print_block(block_of(weight), layout.columns.size());
      table.add({name, fmt::to_string(layout.matrices.size()),
                 fmt::to_string(layout.columns.size()), moments,
                 fmt::to_string(inputs_of(weight))});
      weights.push_back({{"weight", name},
                         {"matrices", layout.matrices.size()},
                         {"columns", layout.columns.size()},
                         {"moments", moments},
                         {"inputs", inputs_of(weight)}});
    }
    if (call_.json) {
      Json left = Json::array();
      for (const LeftAlone& each : kept_.left) {
        left.push_back({{"weight", each.name}, {"reason", each.reason}});
      }
      console_.print_json(Json{{"model", call_.model},
                               {"output", text_or_null(call_.output)},
                               {"samples", kept_.samples},
                               {"weights", std::move(weights)},
                               {"left", std::move(left)}});
      return;
    }
    console_.print(fmt::format("{}\n  {}\n", table.print(), counted(kept_.samples, "sample")));
    for (const LeftAlone& each : kept_.left) {
      console_.print(
          fmt::format("  without '{}': {}\n", printable(each.name), printable(each.reason)));
    }
    console_.print(file_line("  saved in", call_.output));
  }

  const MomentsOptions& options_;
  const MomentsCall& call_;
  Console& console_;
  Kept kept_;
  std::optional<MomentsGrid> grid_;
};

}  // namespace

void declare(CLI::App& command, MomentsOptions& options) {
  CLI::Option* const moments =
      add_value(command, "--moments", options.moments, "full|diagonal|blocks:N",
                "Gather second moments of the layers' inputs, for rounding weights ('quantize "
                "--moments'), in place of statistics: of all pairs of inputs (full, also "
                "without a word), of blocks of N neighbours, which takes less memory, or of "
                "each with itself (diagonal)")
          ->expected(0, 1);
  options.option = moments;
  CLI::Option* const grid_only = command
                                     .add_flag("--grid-only", options.grid_only,
                                               "Find only their grids, on which runs on parts of "
                                               "the samples count, so that they can be merged")
                                     ->needs(moments);
  add_value(command, "--grid", options.grid, "FILE",
            "The grid to count on: a file of --grid-only, or of moments to add to (default: "
            "that of the merged files, or one that is found first)")
      ->needs(moments)
      ->excludes(grid_only);
  add_value(command, "--memory", options.memory, "SIZE",
            "Memory for second moments: the samples run several times, for some layers each, "
            "where all find no room in it (default: 4GiB of sums)")
      ->needs(moments);
}

Expected<void> settle(MomentsOptions& options, std::string& model) {
  if (!options.moments.empty()) {
    const auto block = parse_block(options.moments);
    options.says_block = block.has_value();
    options.block = block.value_or(SecondMoments::whole);
    if (!block && !model.empty()) {
      return fail(ErrorCode::usage,
                  fmt::format("--moments: there is no '{}': it is full, diagonal or blocks:N, with "
                              "N columns, 1 or more",
                              options.moments));
    }
    if (!block) model = std::exchange(options.moments, "full");
  } else if (options.option->count() != 0) {
    options.moments = "full";
  }
  if (!model.empty()) return {};
  return fail(ErrorCode::usage, "MODEL is required (see 'quadrant calibrate --help')");
}

Expected<void> run_moments(const MomentsOptions& options, const MomentsCall& call,
                           Console& console) {
  if (options.grid_only) return Moments<MomentsGrid>(options, call, console).run();
  return Moments<SecondMomentsTable>(options, call, console).run();
}

}  // namespace quadrant::cli
