#include "cli/moments.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <utility>
#include <variant>

#include "cli/arguments.hpp"
#include "quadrant/calibration/second_moments.hpp"
#include "quadrant/pipeline/gather.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/report/tables.hpp"
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
std::int64_t inputs_of(const SecondMoments& weight) {
  return weight.layout().matrices.empty() ? 0 : weight.count(0);
}
const WeightMatrices& layout_of(const MomentsGrid::Weight& weight) { return weight.layout; }
const WeightMatrices& layout_of(const SecondMoments& weight) { return weight.layout(); }

template <class Kept>
class Moments {
 public:
  Moments(const MomentsOptions& options, const MomentsCall& call, Console& console)
      : options_(options), call_(call), console_(console) {}

  Expected<void> run() {
    QUADRANT_CHECK(merge_saved());
    if (call_.data.is_given()) {
      QUADRANT_TRY(const auto data, open_data(call_.data, call_.graph, console_));
      QUADRANT_TRY(CheckpointOptions checkpoint,
                   checkpoint_of(call_.keep, call_.output, call_.runtime_name, print_moments(kept_),
                                 console_));
      QUADRANT_TRY(const Kept found,
                   gather({call_.graph, call_.runtime, *data, call_.part, std::move(checkpoint)}));
      QUADRANT_CHECK(in_file(kept_.merge(found), call_.model));
    }
    if constexpr (std::is_same_v<Kept, SecondMomentsTable>) {
      QUADRANT_CHECK(in_file(check_moments(call_.graph, kept_), call_.model));
    }
    kept_.model = std::filesystem::path(call_.model).filename().string();
    kept_.model_hash = call_.hash;
    if (!is_first(console_.context().ranks)) return {};
    if (!call_.output.empty()) {
      QUADRANT_CHECK(console_.write_text(call_.output, print_moments(kept_)));
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
      QUADRANT_CHECK(in_file(kept_.merge(*table), path));
      if (!grid_ && !options_.grid_only) grid_ = grid_of(std::move(saved));
    }
    if (options_.grid.empty()) return {};
    QUADRANT_TRY(SavedMoments saved, read_moments(options_.grid));
    grid_ = grid_of(std::move(saved));
    return check_model(grid_->model_hash, call_.hash, options_.grid);
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
    Table table({{"weight"}, {"matrices", right}, {"columns", right}, {"inputs", right}});
    Json weights = Json::array();
    for (const auto& [name, weight] : kept_.weights) {
      const WeightMatrices& layout = layout_of(weight);
      table.add({name, fmt::to_string(layout.matrices.size()),
                 fmt::to_string(layout.columns.size()), fmt::to_string(inputs_of(weight))});
      weights.push_back({{"weight", name},
                         {"matrices", layout.matrices.size()},
                         {"columns", layout.columns.size()},
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
      command.add_flag("--moments", options.moments,
                       "Gather second moments of the layers' inputs, for rounding weights "
                       "('quantize --moments'), in place of statistics");
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
}

Expected<void> run_moments(const MomentsOptions& options, const MomentsCall& call,
                           Console& console) {
  if (options.grid_only) return Moments<MomentsGrid>(options, call, console).run();
  return Moments<SecondMomentsTable>(options, call, console).run();
}

}  // namespace quadrant::cli
