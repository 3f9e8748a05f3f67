// Why a quantized model is worse than the float one: where errors enter, of what kind they are, and
// what mends them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/numerics/statistics.hpp"
#include "quadrant/pipeline/kernels_target.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/pipeline/run.hpp"
#include "quadrant/recipe/recipe.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/support/executor.hpp"

namespace quadrant::inline v0 {

enum class CauseKind : std::uint8_t {
  magnified,        ///< small errors in front of a logarithm, a reciprocal, ... are large behind it
  clipped,          ///< values lie outside of the range that codes have
  dead_channels,    ///< channels are constant for codes, and were not
  outlier_channel,  ///< one channel is far larger than the others that share its scale
  wide_range,       ///< a few values are far larger than the others: most codes are in no use
  rounding,         ///< nothing is odd, codes are few
  shifted_means,    ///< channels are shifted as a whole
  saturation,       ///< sums leave 16 bits, on some processors
  float_island,     ///< stays float between what is quantized: costs time, not accuracy
};
/// `outlier_channel`
[[nodiscard]] std::string_view to_string(CauseKind kind) noexcept;

/// A remedy that was tried, and is better than the quantized model.
struct TriedRemedy {
  Recipe recipe;    ///< to quantize the float model with
  Agreement worst;  ///< of the output that agrees least then
};

/// Something that makes the quantized model worse.
struct Cause {
  std::string name;  ///< of a value or a weight of the float model, or of an operation
  CauseKind kind = CauseKind::rounding;
  bool is_weight = false;
  std::string found;  ///< what was seen, in a sentence
  /// Its share of the outputs' error, measured with all else exact: 0 to 1. Shares need not add up
  /// to 1: errors meet. Empty where that cannot be measured.
  std::optional<double> share{};
  std::optional<double> sqnr_db_before{};  ///< of the worst value that its operation reads
  std::optional<double> sqnr_db{};         ///< of the value itself, with all errors in front of it
  std::optional<TriedRemedy> remedy{};     ///< the first of those for its kind that helps enough
};

struct Diagnosis {
  std::size_t samples = 0;
  std::string output;  ///< the one that agrees least
  Agreement worst;     ///< of it
  /// The error that is left where all that can be exact is; a large one means that the float model
  /// is not the one that was quantized.
  Agreement floor;
  std::size_t places = 0;    ///< where the model quantizes, as far as they can be made exact
  std::size_t measured = 0;  ///< of these: those with the largest errors of their own
  /// Weights that cannot be made exact, since their numbers are not those of the float model.
  std::vector<LeftAlone> left_alone{};
  std::vector<Cause> causes;  ///< worst first
  /// All remedies in one, where they are better together than the best alone.
  std::optional<TriedRemedy> together{};
};

struct DiagnoseOptions {
  std::size_t most = 10;  ///< causes
  /// Where places are many, how many of them are measured.
  std::size_t most_places = 48;
  bool try_remedies = true;
  /// What remedies calibrate on; empty: the samples of the diagnosis.
  RunInputs calibration{};
  Destination destination{};  ///< of what remedies make: where the quantized model's kernels run
  std::string real_name = "float model";  ///< for messages
  std::string quantized_name = "quantized model";
};

/// Runs both on the samples, and then the quantized model again with one place quantized and all
/// others exact; names causes by what values occur; and quantizes `real` anew with what could mend
/// them, to say what that gives. Float and quantized models are as for `compare`: inner values
/// belong together by name. Takes as many runs of the model as `most_places`, and a quantization
/// for each remedy that is tried. Errors are those of `compare` and `run`.
[[nodiscard]] Expected<Diagnosis> diagnose(const Graph& real, const Graph& quantized,
                                           const RunInputs& samples,
                                           const DiagnoseOptions& options = {},
                                           const RunContext& context = {});

/// A paragraph for each cause. `remedy` says a recipe as the caller's users would type it.
[[nodiscard]] std::string to_string(const Diagnosis& diagnosis,
                                    FunctionRef<std::string(const Recipe&)> remedy);

}  // namespace quadrant::inline v0
