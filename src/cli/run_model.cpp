// quadrant run MODEL -o OUTDIR: what a model gives for samples, as files.
#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/command.hpp"
#include "cli/data_options.hpp"
#include "cli/resources.hpp"
#include "cli/runtimes.hpp"
#include "pipeline/run_samples.hpp"
#include "quadrant/calibration/data_set.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/report/tables.hpp"
#include "recipe/node_names.hpp"
#include "report/terminal_text.hpp"
#include "support/counted.hpp"

namespace quadrant::cli {
namespace {

namespace fs = std::filesystem;

/// The results must not take the place of the samples.
Expected<void> check_folder(const std::string& folder, const std::string& data) {
  if (data.empty()) return {};
  std::error_code ignored;
  const fs::path samples =
      fs::is_directory(data, ignored) ? fs::path(data) : fs::absolute(data, ignored).parent_path();
  if (!fs::equivalent(folder, samples, ignored)) return {};
  return fail(ErrorCode::usage, "the samples are here: name another folder for the results",
              {.file = folder});
}

class Run final : public Command {
 public:
  Run()
      : Command({.name = "run",
                 .about = "Run a model on samples and write what it gives",
                 .runs_models = true}) {}

  void declare(CLI::App& command) override {
    add_model(command, model_);
    cli::declare(command, data_);
    declare_threads(command, threads_);
    add_value(command, "-o,--output", folder_, "DIR",
              "Folder to write to: a .npz for each sample, called after it, with an array "
              "for each output. Files that are there are replaced")
        ->required();
    add_value(command, "--outputs", wanted_, "NAME,...",
              "Values to write instead of the model's outputs, inner ones too: by their own "
              "names, not those of the operations that make them")
        ->delimiter(',')
        ->allow_extra_args(false);
    command.add_flag("--compress", compress_, "Deflate the arrays");
    declare_runtime(command, runtime_);
    declare_json(command, json_);
    command.footer(
        "Examples:\n"
        "  quadrant run model.onnx --data samples -o results\n"
        "  quadrant run model.onnx --random 8 -o results --outputs hidden,logits");
  }

  Expected<void> run(Console& console) override {
    QUADRANT_CHECK(check(data_));
    QUADRANT_CHECK(check_folder(folder_, data_.path));
    QUADRANT_TRY(const auto runtime, make_runtime(runtime_, console));
    QUADRANT_TRY(const Graph graph, read_model(model_, console.context()));
    QUADRANT_TRY(const NamedValues watched, find_wanted(graph));
    QUADRANT_TRY(const auto data, open_data(data_, graph, console));
    QUADRANT_TRY(const auto executor, in_file(runtime->load(graph, watched.values), model_));
    console.use_threads(threads_);
    QUADRANT_TRY(const SampleResults results,
                 run_samples(*executor, *data, watched,
                             {.folder = folder_, .compress = compress_, .model = model_},
                             console.context()));
    print(watched.names, results, *data, console);
    return {};
  }

 private:
  [[nodiscard]] Expected<NamedValues> find_wanted(const Graph& graph) const {
    auto found = find_values(graph, wanted_);
    if (!found) found.error().message = "--outputs: " + found.error().message;
    return found;
  }
  void print(const std::vector<std::string>& outputs, const SampleResults& results,
             const DataSet& data, Console& console) const {
    if (json_) {
      console.print_json(to_json(outputs, results, data));
      return;
    }
    Table table({{"output"}, {"type"}});
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      table.add({outputs[k], to_string(results.types[k])});
    }
    console.print(fmt::format("{}\n  {}, written to {}\n", table.print(),
                              counted(data.size(), "sample"), printable(folder_)));
  }

  [[nodiscard]] Json to_json(const std::vector<std::string>& outputs, const SampleResults& results,
                             const DataSet& data) const {
    Json arrays = Json::array();
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      Json array = {{"name", outputs[k]}};
      array.update(quadrant::to_json(results.types[k]));
      arrays.push_back(std::move(array));
    }
    Json samples = Json::array();
    for (std::size_t i = 0; i < results.files.size(); ++i) {
      samples.push_back({{"name", data.name(i)}, {"file", results.files[i]}});
    }
    return {{"model", model_},
            {"output", folder_},
            {"outputs", std::move(arrays)},
            {"samples", std::move(samples)}};
  }

  std::string model_;
  DataOptions data_;
  unsigned threads_ = 0;
  std::string folder_;
  std::vector<std::string> wanted_;
  bool compress_ = false;
  std::string runtime_ = std::string(runtime_names.front());
};

}  // namespace

std::unique_ptr<Command> make_run(const SchemeTable& /*schemes*/) {
  return std::make_unique<Run>();
}

}  // namespace quadrant::cli
