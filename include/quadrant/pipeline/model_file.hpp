// Models and the documents beside them, read and written; the context of the pipeline's calls.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/calibration/second_moments.hpp"
#include "quadrant/engine/gains/gain.hpp"
#include "quadrant/engine/phases/plan.hpp"
#include "quadrant/io/onnx.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/numerics/statistics.hpp"
#include "quadrant/recipe/recipe.hpp"
#include "quadrant/recipe/scheme_table.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/support/executor.hpp"
#include "quadrant/support/files.hpp"
#include "quadrant/support/ranks.hpp"

namespace quadrant::inline v0 {

// The context of the pipeline's calls: what they may use, and where they report.

/// All of it may be left as it is. What it points to outlives the call, and what the call returns.
struct RunContext {
  Executor* executor = nullptr;  ///< null: the calling thread works alone. Results are the same
  Sink* sink = nullptr;          ///< hears of notes, warnings and progress; null: none
  /// Hears of models, samples and hardware that are read, and gets what is written, which its owner
  /// commits; a cache of sensitivities is put in place as the work goes on. Null: files are put in
  /// place one by one, as they are complete.
  FileTransaction* files = nullptr;
  /// Other processes that make the same calls, to share the work with: samples, weights and layers
  /// are dealt to them, and results are the same on all. What is written is the first's to write.
  /// Null: there are no others.
  Ranks* ranks = nullptr;
  /// Once a stop is asked for, from any thread, the call ends with `cancelled` before its next step
  /// or sample; no file of it is put in place.
  std::stop_token stop{};
  /// Bytes that the interpreter may take for what it computes from a sample.
  std::uint64_t run_memory = Interpreter::default_memory;
  /// Bytes for second moments, and for rounding by them (`gather_moments`); 0: 4 GiB for the sums
  /// that are gathered in one run of the samples, and whatever rounding takes.
  std::uint64_t moments_memory = 0;
  std::string scratch{};  ///< a folder for files of what waits to be used; empty: memory
  const SchemeTable* schemes = nullptr;  ///< that recipes may name; null: the library's
  bool follow_links = false;             ///< models' data may be symbolic links to anywhere
  bool convert_samples = false;          ///< of other element types than the model's inputs
  bool allow_non_finite_samples = false;

  /// What `schemes` means.
  [[nodiscard]] const SchemeTable& all_schemes() const;
  void note(std::string message, Place place = {}) const;
  void warn(std::string message, Place place = {}) const;
  /// `cancelled` where a stop was asked for.
  [[nodiscard]] Expected<void> check_stop() const;
};

// Models, read and written in the format that the ending of the file's name says.
//
//   auto model = read_model("model.onnx");
//   auto written = write_model(*model, "model.tflite");

enum class ModelFormat : std::uint8_t {
  onnx,
  tflite,
  openvino,  ///< `.xml`, and a `.bin` beside it
  mlir,      ///< `.mlir`, which is only written
  text,      ///< `.qd`, what ir/text.hpp prints
};

/// `ONNX`, `TFLite`, `OpenVINO`, `MLIR`, `text`
[[nodiscard]] std::string_view to_string(ModelFormat format) noexcept;
/// Of a file that is to be written. `usage` for another ending, with those that there are, and for
/// a link to a file whose ending says another format.
[[nodiscard]] Expected<ModelFormat> model_format(const std::string& path);
/// `usage` where the file is a link to one whose ending says another format than `format`, which is
/// to be written.
[[nodiscard]] Expected<void> check_ending(const std::string& path, ModelFormat format);
/// Of a file that is read: ONNX's have any ending.
[[nodiscard]] ModelFormat read_format(const std::string& path);

/// Contents stay in the file until they are needed: it must not change while the graph lives.
/// Errors are those of the format's reader; `usage` for MLIR, which is written alone, and where
/// ranks do not read the same model.
[[nodiscard]] Expected<Graph> read_model(const std::string& path, const RunContext& context = {});

/// What was written, in the terms of one format.
struct WrittenModel {
  std::uint64_t bytes = 0;           ///< of all files
  std::string summary;               ///< what it consists of; may be empty
  std::vector<std::string> remarks;  ///< operation by operation, where there is something to say
};

struct WriteModelOptions {
  bool qoperators = false;  ///< ONNX's operators on codes
};

/// In the format of `model_format(path)`. Files appear complete or not at all. On ranks, which all
/// call it, ONNX is written by all, and other formats by the first. `impossible` for
/// what the format cannot say.
[[nodiscard]] Expected<WrittenModel> write_model(const Graph& graph, const std::string& path,
                                                 const WriteModelOptions& options = {},
                                                 const RunContext& context = {});

/// Another opset than the graph's, and what an ONNX file says otherwise than the graph, or ONNX
/// Runtime computes otherwise than it.
[[nodiscard]] std::vector<std::string> remarks_of(const OnnxWriteReport& report);
/// Adds `what: name: reason` for each.
void add_remarks(std::vector<std::string>& remarks, std::string_view what,
                 const std::vector<LeftAlone>& items);

/// Bytes of a file; 0 where it cannot be asked.
[[nodiscard]] std::uint64_t file_bytes(const std::string& path);
/// Bytes of the file of a model and of its data files, if it has some.
[[nodiscard]] std::uint64_t model_bytes(const std::string& path, const Graph& graph);

// Files beside models: plans, recipes, statistics, measurements, profiles of machines. Errors name
// the file.

/// A recipe, and what messages call it.
struct NamedRecipe {
  Recipe recipe{};
  std::string label{};
};

/// A recipe of a file.
[[nodiscard]] Expected<NamedRecipe> read_recipe(const std::string& path,
                                                const RunContext& context = {});
/// One that comes with the library, called `preset int8`; `usage`, with near names, for another.
[[nodiscard]] Expected<NamedRecipe> recipe_of_preset(const std::string& name);

/// What `print_plan` printed.
[[nodiscard]] Expected<Plan> read_plan(const std::string& path);

/// Whether a path of calibration is of statistics, not of samples: it ends in `.json`.
[[nodiscard]] bool is_statistics_file(const std::string& path);
/// What `print_statistics` printed.
[[nodiscard]] Expected<StatisticsTable> read_statistics(const std::string& path);
/// The same, of this model: `usage` for a value that it does not have, and where they were gathered
/// on a model of another hash than `model_hash`, the graph's own when it was read; 0: not known.
[[nodiscard]] Expected<StatisticsTable> read_statistics_of(const Graph& graph,
                                                           const std::string& path,
                                                           std::uint64_t model_hash = 0);

/// What `print_moments` printed, of whatever model.
[[nodiscard]] Expected<SavedMoments> read_moments(const std::string& path);
/// That what was read from `path` is of the model of this hash; `usage` where it is not. 0: not
/// known.
[[nodiscard]] Expected<void> check_model(std::uint64_t saved, std::uint64_t model,
                                         const std::string& path);

/// The profile of this name that comes with the library; otherwise the file is read.
[[nodiscard]] Expected<HardwareProfile> read_hardware(const std::string& name_or_file,
                                                      const RunContext& context = {});

}  // namespace quadrant::inline v0
