#include "cli/data_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "cli/arguments.hpp"
#include "cli/shape_options.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/pipeline/run.hpp"

namespace quadrant::cli {
namespace {

/// What names samples of files.
constexpr std::array<const char*, 2> options_of_samples{"--data", "--calibration"};

}  // namespace

void declare(CLI::App& command, DataOptions& options) {
  CLI::Option* data =
      add_value(command, "--data", options.path, "PATH",
                "Samples: a folder of .npz, .npy, .pb, .raw or folders, or input_list.txt "
                "(docs/calibration.md), or one of these files");
  CLI::Option* random = add_value(command, "--random", options.random, "N",
                                  "This many samples of random numbers instead")
                            ->check(whole_number(1, std::numeric_limits<std::int64_t>::max()));
  data->excludes(random);
  add_value(command, "--seed", options.seed, "N", "Which random numbers")
      ->capture_default_str()
      ->needs(random);
  add_value(command, "--shape", options.shapes, "INPUT=SHAPE",
            "Shape of random samples of an input, as x=1x3x224x224, where the model does not "
            "know it; unknown extents are 1. Repeatable")
      ->allow_extra_args(false)
      ->needs(random);
}

void declare_sample_options(CLI::App& command, Console& console) {
  const bool takes_samples = std::ranges::any_of(options_of_samples, [&](const char* name) {
    return command.get_option_no_throw(name) != nullptr;
  });
  if (!takes_samples) return;
  command.add_flag("--convert", console.context().convert_samples,
                   "Convert samples of other element types to those of the model's inputs");
  command.add_flag("--allow-non-finite", console.context().allow_non_finite_samples,
                   "Take samples with NaN or infinity");
}

Expected<void> check_sample_options(const CLI::App& command) {
  std::vector<std::string> names;
  bool are_given = false;
  for (const char* const name : options_of_samples) {
    const CLI::Option* const option = command.get_option_no_throw(name);
    if (option == nullptr) continue;
    names.emplace_back(name);
    are_given = are_given || std::ranges::any_of(option->results(), [](const std::string& path) {
                  return !is_statistics_file(path);
                });
  }
  for (const char* const name : {"--convert", "--allow-non-finite"}) {
    const CLI::Option* const option = command.get_option_no_throw(name);
    if (option == nullptr || option->count() == 0 || are_given) continue;
    return fail(ErrorCode::usage, fmt::format("{} is for samples of files, which {} names", name,
                                              fmt::join(names, " or ")));
  }
  return {};
}

Expected<void> check(const DataOptions& options) {
  if (options.is_given()) return {};
  return fail(ErrorCode::usage, "samples are missing: --data PATH, or --random N");
}

Expected<std::unique_ptr<DataSet>> open_data(const DataOptions& options, const Graph& graph,
                                             Console& console) {
  QUADRANT_CHECK(check(options));
  if (!options.path.empty()) {
    return open_samples({.calibration = options.path}, graph, console.context());
  }
  QUADRANT_TRY(auto shapes, parse_shapes(options.shapes, graph));
  const std::uint64_t memory = console.context().run_memory;
  return random_data_set(graph, options.random, options.seed,
                         {.shapes = std::move(shapes), .largest_input = memory, .sink = &console});
}

}  // namespace quadrant::cli
