// Two models side by side on the same samples: a model and what quantization made of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quadrant/calibration/classification.hpp"
#include "quadrant/calibration/data_set.hpp"
#include "quadrant/calibration/detections.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/numerics/agreement.hpp"
#include "quadrant/runtime/runtime.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/executor.hpp"
#include "quadrant/support/ranks.hpp"

namespace quadrant::inline v0 {

/// How a detector's outputs are read. Boxes are `[samples, n, 4]` or `[n, 4]`, scores `[..., n,
/// classes]`, n the same in both.
struct DetectionOutputs {
  std::string boxes{};   ///< name of the output
  std::string scores{};  ///< name of the output
  /// Boxes are x, y of the centre, width, height; else x1, y1, x2, y2.
  bool centers = false;
  /// This class is "nothing"; negative: there is no such class.
  std::int64_t background = -1;
  double least_score = 0.05;  ///< what scores less is no detection
  double overlap = 0.5;       ///< of two that overlap by more, the lesser is dropped; 1: none is
};

/// What errors and warnings call what was given: the files, say. They are in `Place::file`.
struct CompareNames {
  std::string first = "first model";
  std::string second = "second model";
  std::string labels = "labels";
  std::string objects = "objects";
};

struct CompareOptions {
  bool layers = false;           ///< compare inner values too
  Executor* executor = nullptr;  ///< null: one thread. The result does not depend on it.
  Sink* sink = nullptr;          ///< progress, and notes on what has no counterpart; may be null
  /// Classes, one for each row of scores of all samples, in order. Negative ones are passed over.
  std::optional<std::vector<std::int64_t>> labels{};
  std::string label_output{};  ///< name of the output with scores; empty: the first with two or
                               ///< more classes along its last axis
  std::optional<DetectionOutputs> detections{};
  /// Objects that are there, their samples counted as images are: those of a batch one by one.
  /// Without it, what the first model detects is held to be there.
  std::optional<std::vector<Detection>> objects{};
  CompareNames names{};
  /// To deal samples to: all of them make the same call. Null: there are no others.
  Ranks* ranks = nullptr;
};

/// One value that both models have.
struct ValueAgreement {
  std::string name;
  std::string kind;  ///< of the node that produces it in the first model
  Agreement agreement;
};

/// How often two models, or a model and the labels, say the same.
struct Comparison {
  std::size_t samples = 0;
  std::vector<ValueAgreement> outputs;        ///< in the first model's order
  std::vector<ValueAgreement> layers;         ///< inner values, producers before users
  std::string label_output;                   ///< which output the following are of; empty: of none
  ClassificationScore same_class;             ///< rows of which both have the same class on top
  std::optional<ClassificationScore> first;   ///< where there are labels
  std::optional<ClassificationScore> second;  ///< where there are labels
  /// Mean average precision at an overlap of 0.5, and over 0.5 to 0.95.
  struct Precision {
    double at_half = 0;
    double mean = 0;
  };
  std::optional<Precision> first_precision;  ///< where objects are given
  std::optional<Precision> second_precision;
};

/// Runs `data`, which is for `first`, through both. They must have the same inputs. Inputs and
/// outputs belong together by name, or by place where no name is in both; inner values by name,
/// where both have them as numbers that are not constants. Memory: the values that are compared,
/// for as many samples as run at the same time.
///
/// `usage`: the models' inputs differ, no output belongs to one of the other, an output that is
/// named is not there, the number of labels is not that of the rows, a label or an object is of a
/// class or an image that is not there. `impossible` when values that belong together have
/// different shapes. Errors of the runtime and the data are handed on, with the names of the model
/// and the sample.
[[nodiscard]] Expected<Comparison> compare(const Graph& first, const Graph& second,
                                           const Runtime& runtime, const DataSet& data,
                                           const CompareOptions& options = {});

}  // namespace quadrant::inline v0
