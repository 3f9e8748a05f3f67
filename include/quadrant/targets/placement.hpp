// Where a model can run, and which file of it to ship.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/ir/graph_view.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/targets/runtime_profile.hpp"

namespace quadrant::inline v0 {

// Where a model can run, and what loading it costs there.
//
//   Expected<Placement> placement = place(graph);
//   for (const RuntimePlacement& runtime : placement->runtimes) ...  // CPU, GPU, DSP, AIP
//
// The rules are those of the Snapdragon Neural Processing Engine's documentation, "Quantized vs
// Non-Quantized Models"; the runtimes are data that can be changed and added to.

struct PlacementOptions {
  std::vector<RuntimeProfile> runtimes = snpe_runtimes();
  /// Elements that a device converts in a second: an assumption, from which times are estimated.
  double elements_per_second = 1e8;
};

/// What the parameters of a model are, all together.
enum class ModelForm : std::uint8_t { none, floating, quantized, mixed };

[[nodiscard]] std::string_view to_string(ModelForm form) noexcept;

/// What the first axes of the inputs say of the batch. A model that is to be quantized must have a
/// batch of 1; running it with another one later is another matter.
enum class BatchExtent : std::uint8_t {
  one,
  other,    ///< the first axis of an input is not 1
  unknown,  ///< of no input another number, but of one the rank or the first axis is not known
  none,     ///< no input has an axis
};

[[nodiscard]] std::string_view to_string(BatchExtent batch) noexcept;

struct InputBatch {
  std::string name;
  Shape shape;
};

enum class PlacementVerdict : std::uint8_t {
  native,     ///< parameters are used as they are stored
  converted,  ///< some parameters are converted while the model is loaded
  refused,
};

[[nodiscard]] std::string_view to_string(PlacementVerdict verdict) noexcept;

/// What loading costs in conversions. Counted are the parameters of `ParameterList`: no
/// activations, no code, no structure of the model, no buffers of the runtime. Bytes saturate.
struct LoadCost {
  ParameterTotals converted;        ///< as stored: `bytes` are read for the conversion
  std::uint64_t bytes_written = 0;  ///< of what they become, in memory
  /// All parameters as they are stored, and what becomes of some, while both are alive. A runtime
  /// that frees each as soon as it is converted needs less.
  std::uint64_t peak_bytes = 0;
  std::uint64_t bytes_after = 0;  ///< those that are used as stored, and what became of the others
  double seconds =
      0;  ///< an estimate: converted elements by `PlacementOptions::elements_per_second`
};

/// What is lost in comparison with a float model.
struct AccuracyNote {
  bool noise_in_file = false;        ///< parameters are quantized in the file, which is lossy
  bool noise_at_load = false;        ///< a conversion at load loses something
  bool quantized_at_run = false;     ///< the runtime computes with quantized parameters
  bool float_may_be_better = false;  ///< it computes with floats that were quantized before

  friend bool operator==(const AccuracyNote&, const AccuracyNote&) = default;
};

struct RuntimePlacement {
  std::string runtime;
  PlacementVerdict verdict = PlacementVerdict::native;
  ParameterTotals refused;               ///< parameters that it does not accept
  std::string largest_refused;           ///< name of one of them; empty where there is none
  bool refuses_activations = false;      ///< some have no scale, which it needs
  std::optional<LoadCost> load;          ///< empty where refused
  std::optional<AccuracyNote> accuracy;  ///< empty where refused
  /// Whether a float and a quantized file of the same model may run at different speeds: only where
  /// the runtime computes with both forms. One that computes with one form has made it at load.
  bool execution_depends_on_form = false;
  /// Where the profile divides; where the model is refused, what it would be once it is accepted.
  std::vector<Subnet> subnets;
};

struct Placement {
  ModelForm form = ModelForm::none;
  ParameterList parameters;
  ActivationCount activations;
  BatchExtent batch = BatchExtent::none;
  std::vector<InputBatch> inputs;
  double elements_per_second = 0;
  std::vector<RuntimeProfile> profiles;    ///< as given
  std::vector<RuntimePlacement> runtimes;  ///< in the order of the profiles
  /// What the figures leave out, and what to do about a refusal, for people.
  std::vector<std::string> notes;
};

/// Reads metadata only, in time linear in the graph for each runtime. Nodes in the result are of
/// `graph`. Safe to call from several threads.
///
/// `usage` for no runtimes, two of one name, a profile that `check` refuses, and a throughput that
/// is not a positive number; `invalid_model` for a cycle, and for quantized types that contradict
/// their constants.
[[nodiscard]] Expected<Placement> place(const GraphView& graph,
                                        const PlacementOptions& options = {});

// Which file of a model to ship: the float one or the quantized one.

/// One of two files of the same model.
struct ModelFile {
  std::uint64_t bytes = 0;  ///< with its data files
  const Placement& placement;
};

enum class FileAdvice : std::uint8_t {
  floating,
  quantized,
  either,   ///< it depends on what matters: size, time to load, or accuracy
  both,     ///< no file runs everywhere, but each runtime has one
  neither,  ///< a runtime takes neither
};

[[nodiscard]] std::string_view to_string(FileAdvice advice) noexcept;

/// The two files on one runtime.
struct RuntimeChoice {
  std::string runtime;
  /// `neither` where both are refused, `either` where both are loaded with as many conversions.
  FileAdvice loads_faster = FileAdvice::either;
  bool takes_float = false;
  bool takes_quantized = false;
};

struct FileChoice {
  FileAdvice advice = FileAdvice::either;
  std::vector<std::string> reasons;  ///< for people, one sentence each
  FileAdvice smaller = FileAdvice::either;
  std::vector<RuntimeChoice> runtimes;
};

/// Decides for all runtimes of the two placements together, by "Balancing DLC File Size, Network
/// Initialization Time and Accuracy" of the Snapdragon Neural Processing Engine's documentation:
///
///   only one file is taken by all runtimes            that one
///   no file is, but each runtime takes one            both
///   a runtime takes neither                           neither
///   some load the quantized file faster, none float   quantized: float has no benefit there
///   some load the float file faster, none quantized   either: size against load and accuracy;
///                                                     float, if the quantized one is not smaller
///   some load the one faster, some the other          quantized, with the cost for the others
///   all convert as much of both                       either
///
/// "Faster" means that fewer elements are converted. `usage` where the runtimes of the two differ,
/// where the first file has quantized parameters, and where the second has none.
[[nodiscard]] Expected<FileChoice> choose_file(const ModelFile& floating,
                                               const ModelFile& quantized);

}  // namespace quadrant::inline v0
