#include "quadrant/calibration/compare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <span>

#include "calibration/agreement_bytes.hpp"
#include "calibration/counterparts.hpp"
#include "calibration/handed_out.hpp"
#include "calibration/located.hpp"
#include "calibration/measure.hpp"
#include "calibration/read_detections.hpp"
#include "calibration/sample_loop.hpp"
#include "ir/tensor_bytes.hpp"
#include "quadrant/support/ranks.hpp"
#include "support/shared_items.hpp"

namespace quadrant::inline v0 {

namespace {

// What both models say of a sample.
struct Slot {
  // By pair: a tensor for each time that it was computed, which in bodies may be none or many.
  // Those of layers only until the second model has run.
  std::vector<Tensors> first;
  std::vector<std::size_t> visits;    // by pair: how often the second model has computed it
  std::vector<Tensor> second;         // by output
  std::vector<Agreement> agreements;  // by pair
};

constexpr std::string_view task = "compare";

// For other ranks: agreements, and of both models the outputs that are named.
ByteWriter written(const Slot& slot, std::span<const std::size_t> outputs) {
  ByteWriter out;
  for (const Agreement& agreement : slot.agreements) write(out, agreement);
  for (const std::size_t output : outputs) {
    // Outputs lie in no body.
    for (const Tensor& tensor : {slot.first[output].front(), slot.second[output]}) {
      write(out, {tensor.element(), tensor.shape(), tensor.bytes()});
    }
  }
  return out;
}

Tensor read_output(ByteReader& in) {
  TensorBytes read = read_tensor(in);
  if (in.failed()) return {};
  return Tensor::from_bytes(read.element, std::move(read.shape), read.bytes);
}

Slot read_slot(ByteReader& in, std::span<const std::size_t> outputs, std::size_t pairs) {
  Slot slot;
  slot.first.resize(pairs);
  slot.second.resize(pairs);
  for (std::size_t i = 0; i < pairs; ++i) slot.agreements.push_back(read_agreement(in));
  for (const std::size_t output : outputs) {
    slot.first[output] = {read_output(in)};
    slot.second[output] = read_output(in);
  }
  return slot;
}

class Comparer {
 public:
  Comparer(const Graph& first, const Graph& second, const DataSet& data,
           const CompareOptions& options)
      : first_(first), second_(second), data_(data), options_(options) {}

  Expected<Comparison> run(const Runtime& runtime);

 private:
  Expected<void> find_pairs();
  [[nodiscard]] Expected<std::size_t> output_named(const std::string& name) const;
  [[nodiscard]] Expected<std::optional<std::size_t>> find_label_output() const;
  [[nodiscard]] bool has_classes(std::size_t output) const;
  Expected<void> load(const Runtime& runtime);

  Expected<void> compute(std::size_t sample, Slot& slot) const;
  Expected<void> settle(std::size_t sample, Slot& slot);
  Expected<void> add_labels(std::size_t sample, const Tensor& first, const Tensor& second,
                            std::span<const std::int64_t> labels);
  Expected<void> add_detections(std::size_t sample, const Slot& slot, const DetectionOutputs& how);
  [[nodiscard]] Expected<void> check_objects(std::span<const Detection> objects,
                                             std::int64_t background) const;
  Expected<Comparison> result();
  Expected<void> run_alone();
  Expected<void> run_on(Ranks& ranks);
  [[nodiscard]] std::vector<std::size_t> settled_outputs() const;

  const Graph& first_;
  const Graph& second_;
  const DataSet& data_;
  const CompareOptions& options_;

  std::vector<std::size_t> inputs_;  // of the first model, for each of the second
  std::vector<Counterpart> pairs_;   // outputs, then layers
  std::size_t outputs_ = 0;          // how many of the pairs are
  std::optional<std::size_t> label_output_;
  std::size_t boxes_ = 0;   // an output, where there are detections
  std::size_t scores_ = 0;  // the same
  std::unique_ptr<ModelExecutor> first_model_;
  std::unique_ptr<ModelExecutor> second_model_;

  std::vector<Agreement> agreements_;  // by pair
  Comparison result_;
  ClassificationScore first_score_;  // where there are labels
  ClassificationScore second_score_;
  std::size_t rows_ = 0;      // of scores, so far
  std::size_t images_ = 0;    // the same
  std::int64_t classes_ = 0;  // of detections
  std::vector<Detection> first_detections_;
  std::vector<Detection> second_detections_;
};

Expected<std::size_t> Comparer::output_named(const std::string& name) const {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < outputs_; ++i) {
    if (pairs_[i].name == name) return i;
    names.push_back(pairs_[i].name);
  }
  return fail(ErrorCode::usage, fmt::format("there is no output '{}' to compare; there are: {}",
                                            name, fmt::join(names, ", ")));
}

// Whether an output can be scores of classes: a list of lists, unless labels say that it is.
bool Comparer::has_classes(std::size_t output) const {
  const TensorType& type = first_.type(pairs_[output].first);
  if (!may_be_real(type.element) || !type.shape.is_ranked() || type.shape.rank() == 0) return false;
  const auto classes = type.shape[type.shape.rank() - 1].known();
  if (classes && *classes < 2) return false;
  return type.shape.rank() == 2 || options_.labels;
}

Expected<std::optional<std::size_t>> Comparer::find_label_output() const {
  if (!options_.label_output.empty()) return output_named(options_.label_output);
  if (options_.detections && !options_.labels) return std::nullopt;
  for (std::size_t i = 0; i < outputs_; ++i) {
    if (has_classes(i)) return i;
  }
  if (!options_.labels) return std::nullopt;
  return fail(ErrorCode::usage, "labels are given, but no output has scores of classes");
}

Expected<void> Comparer::find_pairs() {
  QUADRANT_TRY(inputs_, input_counterparts(first_, second_, options_.names));
  QUADRANT_TRY(pairs_, output_counterparts(first_, second_, options_.names, options_.sink));
  outputs_ = pairs_.size();
  if (options_.layers) {
    QUADRANT_TRY(const auto layers, layer_counterparts(first_, second_));
    pairs_.insert(pairs_.end(), layers.begin(), layers.end());
  }
  agreements_.resize(pairs_.size());
  QUADRANT_TRY(label_output_, find_label_output());
  if (options_.detections) {
    QUADRANT_TRY(boxes_, output_named(options_.detections->boxes));
    QUADRANT_TRY(scores_, output_named(options_.detections->scores));
  }
  return {};
}

Expected<void> Comparer::load(const Runtime& runtime) {
  std::vector<Value> first;
  std::vector<Value> second;
  for (const Counterpart& pair : pairs_) {
    first.push_back(pair.first);
    second.push_back(pair.second);
  }
  QUADRANT_TRY(first_model_, in_file(load_checked(runtime, first_, first), options_.names.first));
  QUADRANT_TRY(second_model_,
               in_file(load_checked(runtime, second_, second), options_.names.second));
  return {};
}

Expected<void> Comparer::compute(std::size_t sample, Slot& slot) const {
  QUADRANT_TRY(const Sample data, read_sample(data_, sample));
  slot.first.assign(pairs_.size(), {});
  slot.visits.assign(pairs_.size(), 0);
  slot.second.assign(outputs_, {});
  slot.agreements.assign(pairs_.size(), {});
  const auto keep = [&](std::size_t i, const Tensor& tensor) -> Expected<void> {
    slot.first[i].push_back(tensor);
    return {};
  };
  QUADRANT_CHECK(in_file(on_sample(first_model_->run(data.inputs, keep), data_, sample),
                         options_.names.first));
  std::vector<Tensor> inputs;
  inputs.reserve(inputs_.size());
  for (const std::size_t input : inputs_) inputs.push_back(data.inputs[input]);
  const auto measure = [&](std::size_t i, const Tensor& tensor) -> Expected<void> {
    const std::size_t visit = slot.visits[i]++;
    // The other model may have gone through another branch, or left a loop before.
    if (visit >= slot.first[i].size()) return {};
    Tensor& first = slot.first[i][visit];
    QUADRANT_CHECK(measure_agreement(pairs_[i].name, first, tensor, slot.agreements[i]));
    if (i < outputs_) {
      slot.second[i] = tensor;
    } else {
      first = Tensor();
    }
    return {};
  };
  return in_file(on_sample(second_model_->run(inputs, measure), data_, sample),
                 options_.names.second);
}

Expected<void> Comparer::add_labels(std::size_t sample, const Tensor& first, const Tensor& second,
                                    std::span<const std::int64_t> labels) {
  const auto rows = static_cast<std::size_t>(row_count(first));
  rows_ += rows;
  if (rows_ > labels.size()) return {};  // `result` says how many are needed
  const auto own = labels.subspan(rows_ - rows, rows);
  QUADRANT_CHECK(in_file(on_sample(add_scores(first_score_, first, own), data_, sample),
                         options_.names.labels));
  return add_scores(second_score_, second, own);
}

// Both models have the same shapes: one that does not fit is found in the first.
Expected<void> Comparer::add_detections(std::size_t sample, const Slot& slot,
                                        const DetectionOutputs& how) {
  auto read = read_detections(slot.first[boxes_].front(), slot.first[scores_].front(), how, images_,
                              first_detections_);
  QUADRANT_TRY(const std::size_t images,
               in_file(on_sample(std::move(read), data_, sample), options_.names.first));
  QUADRANT_CHECK(
      read_detections(slot.second[boxes_], slot.second[scores_], how, images_, second_detections_));
  images_ += images;
  classes_ = slot.first[scores_].front().extents().back();
  return {};
}

Expected<void> Comparer::settle(std::size_t sample, Slot& slot) {
  for (std::size_t i = 0; i < pairs_.size(); ++i) agreements_[i].merge(slot.agreements[i]);
  if (label_output_) {
    const Tensor& first = slot.first[*label_output_].front();
    const Tensor& second = slot.second[*label_output_];
    QUADRANT_TRY(const std::vector<std::int64_t> top, top_classes(first));
    QUADRANT_CHECK(add_scores(result_.same_class, second, top));
    if (options_.labels) QUADRANT_CHECK(add_labels(sample, first, second, *options_.labels));
  }
  if (options_.detections) QUADRANT_CHECK(add_detections(sample, slot, *options_.detections));
  slot = {};
  return {};
}

Expected<void> Comparer::check_objects(std::span<const Detection> objects,
                                       std::int64_t background) const {
  const Place place{.file = options_.names.objects};
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const Detection& object = objects[i];
    if (object.sample >= images_) {
      return fail(ErrorCode::usage,
                  fmt::format("object {} is in sample {}, but the number of images is {}", i,
                              object.sample, images_),
                  place);
    }
    if (object.label < 0 || object.label >= classes_ || object.label == background) {
      return fail(ErrorCode::usage,
                  fmt::format("object {} is of class {}, but the number of classes is {}{}", i,
                              object.label, classes_,
                              background < 0 ? "" : fmt::format(", and {} is nothing", background)),
                  place);
    }
  }
  return {};
}

Comparison::Precision precision(std::span<const Detection> objects,
                                std::span<const Detection> detections) {
  return {mean_average_precision(objects, detections, 0.5),
          mean_average_precision(objects, detections)};
}

Expected<Comparison> Comparer::result() {
  if (options_.labels && rows_ != options_.labels->size()) {
    return fail(ErrorCode::usage,
                fmt::format("{} labels for {} rows of scores", options_.labels->size(), rows_),
                {.file = options_.names.labels});
  }
  if (options_.objects && options_.detections) {
    QUADRANT_CHECK(check_objects(*options_.objects, options_.detections->background));
    result_.first_precision = precision(*options_.objects, first_detections_);
    result_.second_precision = precision(*options_.objects, second_detections_);
  } else if (options_.detections) {
    result_.second_precision = precision(first_detections_, second_detections_);
  }
  if (label_output_) result_.label_output = pairs_[*label_output_].name;
  if (options_.labels) {
    result_.first = first_score_;
    result_.second = second_score_;
  }
  std::size_t unseen = 0;  // in a branch that was not taken, say: of nothing all would be exact
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    if (i >= outputs_ && agreements_[i].elements == 0) {
      ++unseen;
      continue;
    }
    (i < outputs_ ? result_.outputs : result_.layers)
        .push_back(
            {pairs_[i].name, std::string(first_.kind(pairs_[i].first.node)), agreements_[i]});
  }
  if (unseen != 0 && options_.sink != nullptr) {
    options_.sink->report(
        {Severity::note, fmt::format("{} layers are not compared: no sample computes them, or the "
                                     "runtime does not show them",
                                     unseen)});
  }
  result_.samples = data_.size();
  return std::move(result_);
}

Expected<void> Comparer::run_alone() {
  std::array<Slot, sample_slots> slots;
  const SampleLoop loop{.executor = options_.executor, .sink = options_.sink, .task = task};
  return for_each_sample(
      data_.size(), loop,
      [&](std::size_t sample, std::size_t slot) { return compute(sample, slots[slot]); },
      [&](std::size_t sample, std::size_t slot) { return settle(sample, slots[slot]); });
}

// Outputs that `settle` looks at itself.
std::vector<std::size_t> Comparer::settled_outputs() const {
  std::vector<std::size_t> outputs;
  if (label_output_) outputs.push_back(*label_output_);
  if (options_.detections) outputs.insert(outputs.end(), {boxes_, scores_});
  return outputs;
}

// Each rank computes every size-th sample, some at a time, and all settle all, in their order.
Expected<void> Comparer::run_on(Ranks& ranks) {
  const std::vector<std::size_t> outputs = settled_outputs();
  const std::size_t at_a_time = sample_slots * ranks.size();
  for (std::size_t first = 0; first < data_.size(); first += at_a_time) {
    const std::size_t count = std::min(at_a_time, data_.size() - first);
    const std::size_t own = (count + ranks.size() - 1 - ranks.rank()) / ranks.size();
    const auto number_of = [&](std::size_t i) { return first + i * ranks.size() + ranks.rank(); };
    std::array<Slot, sample_slots> slots;
    SharedItems samples(count);
    auto computed = for_each_sample(
        own, {.executor = options_.executor},
        [&](std::size_t i, std::size_t slot) { return compute(number_of(i), slots[slot]); },
        [&](std::size_t i, std::size_t slot) -> Expected<void> {
          samples.add(number_of(i) - first, written(slots[slot], outputs));
          return {};
        });
    std::vector<Slot> all(count);
    QUADRANT_CHECK(samples.share(ranks, std::move(computed),
                                 [&](std::size_t i, ByteReader& in) -> Expected<void> {
                                   all[i] = read_slot(in, outputs, pairs_.size());
                                   return {};
                                 }));
    for (std::size_t i = 0; i < count; ++i) QUADRANT_CHECK(settle(first + i, all[i]));
    if (options_.sink != nullptr) options_.sink->progress(task, first + count, data_.size());
  }
  return {};
}

Expected<Comparison> Comparer::run(const Runtime& runtime) {
  QUADRANT_CHECK(find_pairs());
  QUADRANT_CHECK(load(runtime));
  QUADRANT_CHECK(options_.ranks == nullptr ? run_alone() : run_on(*options_.ranks));
  return result();
}

}  // namespace

Expected<Comparison> compare(const Graph& first, const Graph& second, const Runtime& runtime,
                             const DataSet& data, const CompareOptions& options) {
  return Comparer(first, second, data, options).run(runtime);
}

}  // namespace quadrant::inline v0
