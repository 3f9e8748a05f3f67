// quadrant run MODEL -o OUTDIR: what a model gives for samples, as files.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calibration/located.hpp"
#include "calibration/sample_loop.hpp"
#include "cli/arguments.hpp"
#include "cli/command.hpp"
#include "cli/data_options.hpp"
#include "cli/resources.hpp"
#include "cli/runtimes.hpp"
#include "quadrant/calibration/data_set.hpp"
#include "quadrant/io/npy.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/report/tables.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "recipe/node_names.hpp"
#include "report/terminal_text.hpp"
#include "support/near_names.hpp"

namespace quadrant::cli {
namespace {

namespace fs = std::filesystem;

/// What a sample's file or folder is called, without the ending of a file of data.
std::string bare_name(const std::string& sample) {
  std::error_code ignored;  // where there is no working directory
  fs::path path = fs::absolute(sample, ignored).lexically_normal();
  if (path.filename().empty()) path = path.parent_path();  // a/b/
  constexpr std::array<std::string_view, 5> endings{".npz", ".npy", ".pb", ".raw", ".bin"};
  const bool is_data = std::ranges::find(endings, path.extension().string()) != endings.end();
  return (is_data ? path.stem() : path.filename()).string();
}

/// A file for each sample, called after it; with its number where that is taken.
std::vector<std::string> file_names(const DataSet& data) {
  std::set<std::string> taken;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const std::string bare = bare_name(data.name(i));
    std::string name = bare + ".npz";
    for (std::size_t number = i; !taken.insert(name).second; ++number) {
      name = fmt::format("{}_{}.npz", bare, number);
    }
    names.push_back(std::move(name));
  }
  return names;
}

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

/// What two arrays have in common: an extent that differs is not known.
TensorType common(const TensorType& a, const TensorType& b) {
  if (a.shape.rank() != b.shape.rank()) return {a.element, Shape(), nullptr};
  std::vector<Extent> extents(a.shape.extents().begin(), a.shape.extents().end());
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    if (!surely_equal(extents[axis], b.shape.extents()[axis])) extents[axis] = Extent::open();
  }
  return {a.element, Shape(std::move(extents)), nullptr};
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
    const std::vector<std::string> names = file_names(*data);
    FileTransaction& files = console.files();
    QUADRANT_CHECK(files.make_folder(folder_));
    for (const std::string& name : names) {
      QUADRANT_CHECK(files.announce((fs::path(folder_) / name).string(), "--output"));
    }

    std::vector<TensorType> types;
    std::array<std::vector<TensorType>, sample_slots> found;
    const auto compute = [&](std::size_t i, std::size_t slot) -> Expected<void> {
      QUADRANT_TRY(const auto results, run_sample(*executor, *data, i, watched));
      found[slot].clear();
      for (const auto& [name, tensor] : results) {
        found[slot].push_back({tensor.element(), tensor.shape(), nullptr});
      }
      return write_npz((fs::path(folder_) / names[i]).string(), results,
                       {.compress = compress_, .files = &files});
    };
    const auto settle = [&](std::size_t i, std::size_t slot) -> Expected<void> {
      if (i == 0) types = found[slot];
      std::ranges::transform(types, found[slot], types.begin(), common);
      return {};
    };
    console.use_threads(threads_);
    const SampleLoop loop{
        .executor = console.context().executor, .sink = &console, .task = "running"};
    QUADRANT_CHECK(for_each_sample(data->size(), loop, compute, settle));
    print(watched.names, types, *data, names, console);
    return {};
  }

 private:
  [[nodiscard]] Expected<NamedValues> find_wanted(const Graph& graph) const {
    auto found = find_values(graph, wanted_);
    if (!found) found.error().message = "--outputs: " + found.error().message;
    return found;
  }
  [[nodiscard]] Expected<std::vector<NamedTensor>> run_sample(const ModelExecutor& executor,
                                                              const DataSet& data, std::size_t i,
                                                              const NamedValues& watched) const {
    QUADRANT_TRY(const Sample sample, read_sample(data, i));
    auto run = run_model(executor, sample.inputs, watched.values.size());
    QUADRANT_TRY(Tensors tensors, in_file(on_sample(std::move(run), data, i), model_));
    std::vector<NamedTensor> results;
    results.reserve(tensors.size());
    for (std::size_t k = 0; k < tensors.size(); ++k) {
      if (!tensors[k]) {
        return on_sample(Expected<std::vector<NamedTensor>>(fail(
                             ErrorCode::impossible,
                             "it was not computed: it is in a branch or a loop that did not run",
                             {.file = model_, .tensor = watched.names[k]})),
                         data, i);
      }
      results.push_back({watched.names[k], std::move(tensors[k])});
    }
    return results;
  }

  void print(const std::vector<std::string>& outputs, const std::vector<TensorType>& types,
             const DataSet& data, const std::vector<std::string>& names, Console& console) const {
    if (json_) {
      console.print_json(to_json(outputs, types, data, names));
      return;
    }
    Table table({{"output"}, {"type"}});
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      table.add({outputs[k], to_string(types[k])});
    }
    console.print(fmt::format("{}\n  {} sample{}, written to {}\n", table.print(), data.size(),
                              data.size() == 1 ? "" : "s", printable(folder_)));
  }

  [[nodiscard]] Json to_json(const std::vector<std::string>& outputs,
                             const std::vector<TensorType>& types, const DataSet& data,
                             const std::vector<std::string>& names) const {
    Json arrays = Json::array();
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      Json array = {{"name", outputs[k]}};
      array.update(quadrant::to_json(types[k]));
      arrays.push_back(std::move(array));
    }
    Json samples = Json::array();
    for (std::size_t i = 0; i < names.size(); ++i) {
      samples.push_back(
          {{"name", data.name(i)}, {"file", (fs::path(folder_) / names[i]).string()}});
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

std::unique_ptr<Command> make_run() { return std::make_unique<Run>(); }

}  // namespace quadrant::cli
