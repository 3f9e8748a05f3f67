#include "cli/data_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "cli/runtimes.hpp"
#include "support/near_names.hpp"

namespace quadrant::cli {
namespace {

/// `2x3x4`, or nothing for a scalar.
Expected<Shape> parse_shape(std::string_view option, std::string_view text) {
  std::vector<std::int64_t> extents;
  while (!text.empty()) {
    std::int64_t extent = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
    const auto size = static_cast<std::size_t>(end - text.data());
    const bool goes_on = size + 1 < text.size() && text[size] == 'x';
    if (error != std::errc{} || extent < 0 || (size != text.size() && !goes_on)) {
      return fail(ErrorCode::usage,
                  fmt::format("--shape {}: extents are written like 1x3x224x224", option));
    }
    extents.push_back(extent);
    text.remove_prefix(size + (goes_on ? 1 : 0));
  }
  return Shape(std::move(extents));
}

Expected<std::map<std::string, Shape>> parse_shapes(const std::vector<std::string>& options,
                                                    const Graph& graph) {
  std::vector<std::string_view> inputs;
  for (const NodeId input : graph.inputs()) inputs.push_back(graph.value_name({input, 0}));
  std::map<std::string, Shape> shapes;
  for (const std::string& option : options) {
    // The last one: names may have others.
    const std::size_t equals = option.rfind('=');
    if (equals == std::string::npos) {
      return fail(ErrorCode::usage, fmt::format("--shape {}: it is written INPUT=1x3", option));
    }
    std::string name = option.substr(0, equals);
    if (std::ranges::find(inputs, name) == inputs.end()) {
      return fail(ErrorCode::usage, fmt::format("--shape {}: the model has no input '{}'{}", option,
                                                name, did_you_mean(name, inputs)));
    }
    QUADRANT_TRY(Shape shape, parse_shape(option, std::string_view(option).substr(equals + 1)));
    shapes.insert_or_assign(std::move(name), std::move(shape));
  }
  return shapes;
}

}  // namespace

void declare(CLI::App& command, DataOptions& options) {
  CLI::Option* data =
      command
          .add_option("--data", options.path,
                      "Samples: a folder of .npz, .npy, .pb, .raw or folders, or input_list.txt "
                      "(docs/formats/data.md), or one of these files")
          ->type_name("PATH");
  CLI::Option* random =
      command.add_option("--random", options.random, "This many samples of random numbers instead")
          ->check(CLI::Range(std::size_t{1}, std::numeric_limits<std::size_t>::max() / 2)
                      .description(""))
          ->type_name("N");
  data->excludes(random);
  command.add_option("--seed", options.seed, "Which random numbers")
      ->type_name("N")
      ->capture_default_str()
      ->needs(random);
  command
      .add_option("--shape", options.shapes,
                  "Shape of random samples of an input, as x=1x3x224x224, where the model does not "
                  "know it; extents that nobody knows are 1. Repeatable")
      ->type_name("INPUT=SHAPE")
      ->allow_extra_args(false)
      ->needs(random);
  command
      .add_flag("--convert", options.convert,
                "Convert samples of other element types to those of the model's inputs")
      ->needs(data);
  command
      .add_flag("--allow-non-finite", options.allow_non_finite, "Take samples with NaN or infinity")
      ->needs(data);
  declare_run_memory(command);
}

Expected<void> check(const DataOptions& options) {
  if (options.path.empty() && options.random == 0) {
    return fail(ErrorCode::usage, "samples are missing: --data PATH, or --random N");
  }
  return {};
}

Expected<std::unique_ptr<DataSet>> open_data(const DataOptions& options, const Graph& graph,
                                             Console& console) {
  QUADRANT_CHECK(check(options));
  if (!options.path.empty()) {
    return open_data_set(options.path, graph,
                         {.convert = options.convert,
                          .allow_non_finite = options.allow_non_finite,
                          .sink = &console,
                          .files = &console.files()});
  }
  QUADRANT_TRY(auto shapes, parse_shapes(options.shapes, graph));
  QUADRANT_TRY(const std::uint64_t memory, run_memory());
  return random_data_set(graph, options.random, options.seed,
                         {.shapes = std::move(shapes), .largest_input = memory, .sink = &console});
}

}  // namespace quadrant::cli
