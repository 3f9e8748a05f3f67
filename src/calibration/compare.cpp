#include "quadrant/calibration/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "calibration/counterparts.hpp"
#include "calibration/measure.hpp"
#include "calibration/read_detections.hpp"
#include "calibration/sample_loop.hpp"

namespace quadrant::inline v0 {

namespace {

constexpr std::size_t none = SIZE_MAX;

struct Slot {
  std::vector<Tensor> first;  // by counterpart; those of layers only until the second model has run
  std::vector<Tensor> second;  // by output
  std::vector<Agreement> agreements;
};

class Comparer {
 public:
  Comparer(const Graph& first, const Graph& second, const DataSet& data,
           const CompareOptions& options)
      : first_(first), second_(second), data_(data), options_(options) {}

  Expected<Comparison> run(const Runtime& runtime);

 private:
  Expected<void> pair(const Runtime& runtime);
  [[nodiscard]] Expected<std::size_t> output_named(const std::string& name) const;
  [[nodiscard]] Expected<std::size_t> find_label_output() const;
  [[nodiscard]] bool has_classes(std::size_t output) const;

  Expected<void> compute(std::size_t sample, Slot& slot) const;
  Expected<void> settle(Slot& slot);
  Expected<void> add_classes(const Tensor& first, const Tensor& second);
  Expected<void> add_detections(const Slot& slot);
  Expected<void> finish();

  [[nodiscard]] ValueAgreement value(const Counterpart& pair) const {
    return {pair.name, std::string(first_.kind(pair.first.node)), {}};
  }

  const Graph& first_;
  const Graph& second_;
  const DataSet& data_;
  const CompareOptions& options_;

  std::vector<std::size_t> inputs_;  // of the first model, for each of the second
  std::vector<Counterpart> pairs_;   // outputs, then layers
  std::size_t outputs_ = 0;
  std::size_t label_output_ = none;
  std::size_t boxes_ = none;
  std::size_t scores_ = none;
  std::unique_ptr<ModelExecutor> first_model_;
  std::unique_ptr<ModelExecutor> second_model_;

  Comparison result_;
  std::size_t labels_used_ = 0;
  std::size_t images_ = 0;
  std::vector<Detection> first_detections_;
  std::vector<Detection> second_detections_;
};

Expected<std::size_t> Comparer::output_named(const std::string& name) const {
  for (std::size_t i = 0; i < outputs_; ++i) {
    if (pairs_[i].name == name) return i;
  }
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < outputs_; ++i) names.push_back(pairs_[i].name);
  return fail(ErrorCode::usage, fmt::format("there is no output '{}' to compare; there are: {}",
                                            name, fmt::join(names, ", ")));
}

// Whether an output can be scores of classes: a list of lists, unless labels say that it is.
bool Comparer::has_classes(std::size_t output) const {
  const TensorType& type = first_.type(pairs_[output].first);
  if (!may_be_real(type.element) || !type.shape.is_ranked() || type.shape.rank() == 0) return false;
  const std::int64_t classes = type.shape[type.shape.rank() - 1];
  if (classes != Shape::dynamic && classes < 2) return false;
  return type.shape.rank() == 2 || !options_.labels.empty();
}

Expected<std::size_t> Comparer::find_label_output() const {
  if (!options_.label_output.empty()) return output_named(options_.label_output);
  if (options_.detections && options_.labels.empty()) return none;
  for (std::size_t i = 0; i < outputs_; ++i) {
    if (has_classes(i)) return i;
  }
  if (options_.labels.empty()) return none;
  return fail(ErrorCode::usage, "labels are given, but no output has scores of classes");
}

Expected<void> Comparer::pair(const Runtime& runtime) {
  QUADRANT_TRY(inputs_, input_counterparts(first_, second_));
  QUADRANT_TRY(pairs_, output_counterparts(first_, second_, options_.sink));
  outputs_ = pairs_.size();
  if (options_.layers) {
    QUADRANT_TRY(const auto layers, layer_counterparts(first_, second_));
    pairs_.insert(pairs_.end(), layers.begin(), layers.end());
  }
  QUADRANT_TRY(label_output_, find_label_output());
  if (options_.detections) {
    QUADRANT_TRY(boxes_, output_named(options_.detections->boxes));
    QUADRANT_TRY(scores_, output_named(options_.detections->scores));
  }
  std::vector<Value> first;
  std::vector<Value> second;
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    first.push_back(pairs_[i].first);
    second.push_back(pairs_[i].second);
    (i < outputs_ ? result_.outputs : result_.layers).push_back(value(pairs_[i]));
  }
  QUADRANT_TRY(first_model_, runtime.load(first_, first));
  QUADRANT_TRY(second_model_, runtime.load(second_, second));
  return {};
}

Expected<void> Comparer::compute(std::size_t sample, Slot& slot) const {
  QUADRANT_TRY(const Sample data, data_.sample(sample));
  slot.first.assign(pairs_.size(), {});
  slot.second.assign(outputs_, {});
  slot.agreements.assign(pairs_.size(), {});
  QUADRANT_CHECK(
      first_model_->run(data.inputs, [&](std::size_t i, const Tensor& tensor) -> Expected<void> {
        slot.first[i] = tensor;
        return {};
      }));
  std::vector<Tensor> inputs;
  for (const std::size_t input : inputs_) inputs.push_back(data.inputs[input]);
  return second_model_->run(inputs, [&](std::size_t i, const Tensor& tensor) -> Expected<void> {
    QUADRANT_CHECK(measure_agreement(pairs_[i].name, slot.first[i], tensor, slot.agreements[i]));
    if (i < outputs_) {
      slot.second[i] = tensor;
    } else {
      slot.first[i] = Tensor();
    }
    return {};
  });
}

Expected<void> Comparer::add_classes(const Tensor& first, const Tensor& second) {
  QUADRANT_TRY(const std::vector<std::int64_t> top, top_classes(first));
  QUADRANT_CHECK(add_scores(result_.same_class, second, top));
  if (options_.labels.empty()) return {};
  const auto rows = static_cast<std::size_t>(row_count(first));
  const std::size_t left = options_.labels.size() - labels_used_;
  if (rows > left) {
    return fail(ErrorCode::usage, fmt::format("{} labels are too few for the rows of scores of all "
                                              "samples",
                                              options_.labels.size()));
  }
  const auto labels = std::span(options_.labels).subspan(labels_used_, rows);
  labels_used_ += rows;
  QUADRANT_CHECK(add_scores(*result_.first, first, labels));
  return add_scores(*result_.second, second, labels);
}

Expected<void> Comparer::add_detections(const Slot& slot) {
  const DetectionOutputs& how = *options_.detections;
  QUADRANT_TRY(const std::size_t images, read_detections(slot.first[boxes_], slot.first[scores_],
                                                         how, images_, first_detections_));
  QUADRANT_CHECK(
      read_detections(slot.second[boxes_], slot.second[scores_], how, images_, second_detections_));
  images_ += images;
  return {};
}

Expected<void> Comparer::settle(Slot& slot) {
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    auto& values = i < outputs_ ? result_.outputs : result_.layers;
    values[i < outputs_ ? i : i - outputs_].agreement.merge(slot.agreements[i]);
  }
  if (label_output_ != none) {
    QUADRANT_CHECK(add_classes(slot.first[label_output_], slot.second[label_output_]));
  }
  if (options_.detections) QUADRANT_CHECK(add_detections(slot));
  slot = {};
  return {};
}

Comparison::Precision precision(std::span<const Detection> objects,
                                std::span<const Detection> detections) {
  return {mean_average_precision(objects, detections, 0.5),
          mean_average_precision(objects, detections)};
}

Expected<void> Comparer::finish() {
  if (labels_used_ != options_.labels.size()) {
    return fail(ErrorCode::usage, fmt::format("{} labels for {} rows of scores",
                                              options_.labels.size(), labels_used_));
  }
  if (!options_.detections) return {};
  if (!options_.objects.empty()) {
    result_.first_precision = precision(options_.objects, first_detections_);
  }
  result_.second_precision = precision(
      options_.objects.empty() ? first_detections_ : options_.objects, second_detections_);
  return {};
}

Expected<Comparison> Comparer::run(const Runtime& runtime) {
  QUADRANT_CHECK(pair(runtime));
  if (label_output_ != none) result_.label_output = pairs_[label_output_].name;
  if (!options_.labels.empty()) {
    result_.first.emplace();
    result_.second.emplace();
  }
  std::array<Slot, sample_slots> slots;
  const SampleLoop loop{.executor = options_.executor, .sink = options_.sink, .task = "compare"};
  QUADRANT_CHECK(for_each_sample(
      data_.size(), loop,
      [&](std::size_t sample, std::size_t slot) { return compute(sample, slots[slot]); },
      [&](std::size_t, std::size_t slot) { return settle(slots[slot]); }));
  QUADRANT_CHECK(finish());
  result_.samples = data_.size();
  return std::move(result_);
}

}  // namespace

Expected<Comparison> compare(const Graph& first, const Graph& second, const Runtime& runtime,
                             const DataSet& data, const CompareOptions& options) {
  return Comparer(first, second, data, options).run(runtime);
}

}  // namespace quadrant::inline v0
