// Two models side by side on the same samples, and how often they are right.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quadrant/calibration/data_set.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/type.hpp"
#include "quadrant/numerics/statistics.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/support/executor.hpp"
#include "quadrant/support/ranks.hpp"

namespace quadrant::inline v0 {

// How often a classifier is right.

/// Rows of scores whose class is known, and how many have it on top.
struct ClassificationScore {
  std::uint64_t rows = 0;
  std::uint64_t top1 = 0;  ///< the class has the highest score
  std::uint64_t top5 = 0;  ///< one of the five highest

  [[nodiscard]] double top1_share() const noexcept;  ///< 0 without rows
  [[nodiscard]] double top5_share() const noexcept;

  friend bool operator==(const ClassificationScore&, const ClassificationScore&) = default;
};

/// Adds rows: `scores` are `[..., classes]`, floats, with a label for each row, in order. Of equal
/// scores the first counts as the higher; NaN as lower than all. Negative labels are passed over.
/// `usage` when the number of labels is not that of the rows, or one is no class.
[[nodiscard]] Expected<void> add_scores(ClassificationScore& score, const Tensor& scores,
                                        std::span<const std::int64_t> labels);

/// The class with the highest score of each row, the first of equal ones; -1 where all are NaN.
[[nodiscard]] Expected<std::vector<std::int64_t>> top_classes(const Tensor& scores);

/// How many rows of scores a tensor `[..., classes]` has.
[[nodiscard]] std::int64_t row_count(const Tensor& scores) noexcept;

// How well a detector finds objects: mean average precision.

/// Corners: x1 <= x2, y1 <= y2, in any unit.
struct Box {
  double x1 = 0;
  double y1 = 0;
  double x2 = 0;
  double y2 = 0;
  friend bool operator==(const Box&, const Box&) = default;
};

/// Area of the intersection by that of the union; 0 for boxes without area.
[[nodiscard]] double intersection_over_union(const Box& a, const Box& b) noexcept;

/// An object in an image (its score means nothing), or one that a model detects.
struct Detection {
  std::size_t sample = 0;
  std::int64_t label = 0;
  double score = 0;
  Box box;
};

/// Of those of a sample and label that overlap by more than `overlap`, the one of the highest score
/// stays (greedy non-maximum suppression; of equal scores, the first). Keeps the order.
[[nodiscard]] std::vector<Detection> suppress_overlaps(std::span<const Detection> detections,
                                                       double overlap);

/// Average precision of all labels' detections whose overlap with an object is at least `overlap`:
/// in the order of their scores (equal ones: as given), each takes the free object of its sample
/// and label that it overlaps most, or is false. Precision is made monotone and averaged at the 101
/// recalls 0, 0.01, ..., 1, and then over the labels that objects have (Lin et al., "Microsoft
/// COCO: Common Objects in Context", arXiv 1405.0312; its evaluation code's rule, without areas and
/// crowds and without a limit of detections). 0 where there are no objects.
[[nodiscard]] double mean_average_precision(std::span<const Detection> objects,
                                            std::span<const Detection> detections, double overlap);

/// The mean of that over overlaps 0.5, 0.55, ..., 0.95.
[[nodiscard]] double mean_average_precision(std::span<const Detection> objects,
                                            std::span<const Detection> detections);

// Labels of samples: classes, and objects in images.

/// Classes, one for each row of scores of all samples, in order: a text file with an integer a line
/// (lines that begin with '#' are passed over), a .npy of integers, or a .npz that holds one array
/// of integers, or one named `labels` or `y`. `invalid_model` for another file.
[[nodiscard]] Expected<std::vector<std::int64_t>> read_labels(const std::string& path);

/// Objects: a .npz with arrays `boxes` [n, 4] (x1, y1, x2, y2), `classes` [n] and `samples` [n],
/// the number of the image, counted from 0, that each is in. `invalid_model` for another file.
[[nodiscard]] Expected<std::vector<Detection>> read_objects(const std::string& path);

// Two models side by side on the same samples: a model and what quantization made of it.

/// How a detector's outputs are read. Boxes are `[samples, n, 4]` or `[n, 4]`, scores `[..., n,
/// classes]`, n the same in both.
struct DetectionOutputs {
  std::string boxes{};   ///< name of the output
  std::string scores{};  ///< name of the output
  /// Boxes are x, y of the centre, width, height; else x1, y1, x2, y2.
  bool centers = false;
  /// The class of the background; negative: there is no such class.
  std::int64_t background = -1;
  double least_score = 0.05;  ///< the least score of a detection
  double overlap = 0.5;       ///< of two that overlap by more, the lesser is dropped; 1: none is
};

/// The names of models and data in errors and warnings: of the files, say. They are in
/// `Place::file`.
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
