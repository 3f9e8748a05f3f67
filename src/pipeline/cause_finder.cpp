#include "pipeline/cause_finder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calibration/value_errors.hpp"
#include "ir/behind_limits.hpp"
#include "ir/steep_operand.hpp"
#include "pipeline/float_islands.hpp"
#include "pipeline/place_evidence.hpp"
#include "pipeline/recipe_of_model.hpp"
#include "quadrant/calibration/calibrate.hpp"
#include "quadrant/calibration/compare.hpp"
#include "quadrant/calibration/sensitivity.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "support/counted.hpp"
#include "support/decibels.hpp"

namespace quadrant::inline v0 {
namespace {

// What is a matter of rounding errors' own size: none of our business.
constexpr double least_share = 0.01;
// Behind an operation that magnifies, so many decibels less are its work.
constexpr double magnified_db = 6;
// Of a layer's error, so much is a shift.
constexpr double shifted_part = 0.3;

struct Candidate {
  const QuantizedPlace* place = nullptr;
  PlaceEvidence evidence;
  double noise = 0;  // of its own, by its values' power; more where it is magnified
};

double sqnr_of(double relative_noise) { return decibels_of(relative_noise); }

// Channels are where images have them; else along the last axis.
WatchedValue watched(const Graph& graph, Value value) {
  constexpr std::int64_t image_rank = 4;
  const Shape& shape = graph.type(value).shape;
  if (!shape.is_ranked() || shape.rank() < 2) return {value};
  const NodeRef maker = graph.ref(value.node);
  const Product* const product = find_product(maker);
  if (product != nullptr) return {value, product->result_channel};
  return {value, shape.rank() >= image_rank ? 1 : -1};
}

class CauseFinder {
 public:
  CauseFinder(const Graph& real, const Graph& quantized, const DataSet& data,
              const DiagnoseOptions& options, const RunContext& context)
      : real_(real),
        quantized_(quantized),
        data_(data),
        options_(options),
        context_(context),
        runtime_({}, context.run_memory) {}

  Expected<FoundCauses> run() {
    QUADRANT_CHECK(prepare());
    QUADRANT_CHECK(compare_values());
    QUADRANT_CHECK(gather_statistics());
    QUADRANT_CHECK(find_candidates());
    QUADRANT_CHECK(measure());
    add_shift();
    QUADRANT_TRY(const bool may_saturate, add_saturation());
    QUADRANT_TRY(const std::vector<Cause> islands, float_islands(spelled_out_));
    made_.causes.insert(made_.causes.end(), islands.begin(), islands.end());
    std::ranges::stable_sort(made_.causes, [](const Cause& a, const Cause& b) {
      return a.share.value_or(0) > b.share.value_or(0);
    });
    QUADRANT_TRY(auto recipe, recipe_of_model(spelled_out_, places_, may_saturate));
    return FoundCauses{std::move(made_), std::move(recipe)};
  }

 private:
  Expected<void> prepare();
  Expected<void> compare_values();
  Expected<void> gather_statistics();
  Expected<void> find_limits();
  Expected<void> find_candidates();
  Expected<void> measure();
  void add_cause(const Candidate& candidate, const Agreement& alone);
  void add_shift();
  Expected<bool> add_saturation();

  [[nodiscard]] Expected<PlaceEvidence> evidence_of(const QuantizedPlace& place) const;
  [[nodiscard]] std::string seen_name(const QuantizedPlace& place) const;
  [[nodiscard]] std::int64_t weight_channel(const QuantizedPlace& place) const;
  [[nodiscard]] std::optional<std::pair<NodeId, double>> magnifier_of(Value value, int steps) const;

  const Graph& real_;
  const Graph& quantized_;
  const DataSet& data_;
  const DiagnoseOptions& options_;
  const RunContext& context_;
  Interpreter runtime_;

  Graph spelled_out_;
  Graph folded_;  // the float model
  std::vector<QuantizedPlace> places_;
  std::vector<Candidate> candidates_;
  ValueErrors errors_;
  StatisticsTable before_;  // of the float model's values
  StatisticsTable after_;   // of the quantized model's
  Diagnosis made_;
};

Expected<void> CauseFinder::prepare() {
  QUADRANT_TRY(spelled_out_, in_file(spelled_out(quantized_), options_.quantized_name));
  QUADRANT_TRY(folded_, in_file(as_it_was_quantized(real_, spelled_out_), options_.real_name));
  QUADRANT_TRY(places_, in_file(find_places(spelled_out_, folded_, made_.left_alone),
                                options_.quantized_name));
  made_.places = places_.size();
  made_.samples = data_.size();
  return {};
}

Expected<void> CauseFinder::compare_values() {
  CompareOptions options{.executor = context_.executor, .sink = context_.sink};
  options.names.first = options_.real_name;
  options.names.second = options_.quantized_name;
  QUADRANT_TRY(const Comparison found,
               compare_inner_values(real_, spelled_out_, runtime_, data_, options));
  errors_ = ValueErrors(found);
  const auto worst = std::ranges::min_element(
      found.outputs, [](const auto& a, const auto& b) { return worse_than(a, b); },
      &ValueAgreement::agreement);
  if (worst == found.outputs.end()) return {};
  made_.output = worst->name;
  made_.worst = worst->agreement;
  return {};
}

Expected<void> CauseFinder::gather_statistics() {
  CalibrateOptions before{.executor = context_.executor};  // what is not finite, causes say
  CalibrateOptions after = before;
  const auto add = [&](const std::string& name) {
    const Value value = folded_.find_value(name);
    if (value.is_absent() || folded_.constant(value.node) != nullptr ||
        !is_float(folded_.type(value).element) || folded_.type(value).is_quantized()) {
      return;
    }
    const WatchedValue own = watched(folded_, value);
    const auto is_same = [&](const WatchedValue& other) { return other.value == value; };
    if (std::ranges::any_of(before.values, is_same)) return;
    before.values.push_back(own);
    const Value theirs = spelled_out_.find_value(name);
    const bool is_theirs = !theirs.is_absent() && errors_.all().contains(name);
    if (is_theirs) after.values.push_back({theirs, own.channel_axis});
  };
  for (const auto& [name, agreement] : errors_.all()) add(name);
  for (const QuantizedPlace& place : places_) {
    if (!place.is_weight()) add(seen_name(place));
  }
  if (!before.values.empty()) {
    QUADRANT_TRY(before_, calibrate(folded_, runtime_, data_, before));
  }
  if (!after.values.empty()) {
    QUADRANT_TRY(after_, calibrate(spelled_out_, runtime_, data_, after));
  }
  return find_limits();
}

// Of a value that the float model does not have by this name, what its codes reach: whatever limits
// it, codes may do the work of.
Expected<void> CauseFinder::find_limits() {
  for (QuantizedPlace& place : places_) {
    if (place.is_weight()) continue;
    const auto& type = spelled_out_.type(place.codes).uniform();
    if (const TensorStatistics* const seen = before_.find(seen_name(place))) {
      place.limits = FloatRange{seen->histogram.min(), seen->histogram.max()};
    } else if (type != nullptr) {
      QUADRANT_TRY(place.limits, range_of_codes(*type));
    }
  }
  return {};
}

// What says which of the place's values matter: what limits take away, codes may leave out.
std::string CauseFinder::seen_name(const QuantizedPlace& place) const {
  const Value limited = behind_limits(folded_, folded_.find_value(place.name));
  return limited.is_absent() ? place.name : std::string(folded_.value_name(limited));
}

// The axis that the sums of those who read the weight keep.
std::int64_t CauseFinder::weight_channel(const QuantizedPlace& place) const {
  const Value weight = folded_.find_value(place.name);
  for (const Use& use : folded_.uses(weight.node)) {
    const NodeRef reader = folded_.ref(use.user);
    const Product* const product = find_product(reader);
    if (product == nullptr || use.operand != product->weight) continue;
    if (const auto axis = product->channel(reader, place.weight.shape())) return *axis;
  }
  return 0;
}

Expected<PlaceEvidence> CauseFinder::evidence_of(const QuantizedPlace& place) const {
  const TensorType& type = spelled_out_.type(place.codes);
  if (place.is_weight()) {
    return evidence_of_weight(place, type.quantization, weight_channel(place));
  }
  const TensorStatistics* const before = before_.find(seen_name(place));
  if (type.uniform() == nullptr) {
    return PlaceEvidence{.kind = CauseKind::rounding, .found = "its number format is coarse"};
  }
  return evidence_of_values(*type.uniform(), before == nullptr ? TensorStatistics() : *before,
                            after_.find(place.name));
}

// Who magnifies the value's errors, also behind operations that move it, and what is behind that.
std::optional<std::pair<NodeId, double>> CauseFinder::magnifier_of(Value value, int steps) const {
  if (value.is_absent() || steps == 0) return std::nullopt;
  for (const Use& use : real_.uses(value.node)) {
    const NodeRef reader = real_.ref(use.user);
    if (use.result != value.result || reader.kind() == ops::Output::kind) continue;
    if (steep_operand(reader.kind()) == use.operand) {
      const auto behind = errors_.sqnr_db(real_.value_name(reader.result()));
      if (behind) return std::pair(use.user, *behind);
    } else if (has_trait(reader, Trait::takes_elements) && use.operand == 0) {
      if (auto found = magnifier_of(reader.result(), steps - 1)) return found;
    }
  }
  return std::nullopt;
}

Expected<void> CauseFinder::find_candidates() {
  constexpr int most_moves = 4;
  std::vector<Expected<PlaceEvidence>> found(places_.size());
  SerialExecutor serial;
  Executor& executor = context_.executor != nullptr ? *context_.executor : serial;
  executor.parallel_for(places_.size(), [&](std::size_t i) { found[i] = evidence_of(places_[i]); });
  for (std::size_t i = 0; i < places_.size(); ++i) {
    QUADRANT_TRY(PlaceEvidence evidence, std::move(found[i]));
    Candidate made{&places_[i], std::move(evidence)};
    made.noise = made.evidence.relative_noise;
    const double own_db = sqnr_of(made.noise);
    const auto magnifier = places_[i].is_weight()
                               ? std::nullopt
                               : magnifier_of(real_.find_value(places_[i].name), most_moves);
    if (magnifier && magnifier->second < own_db - magnified_db) {
      made.noise = std::max(made.noise, relative_noise_of(magnifier->second));
      made.evidence.kind = CauseKind::magnified;
      made.evidence.found = fmt::format(
          "{}: '{}' ({}) magnifies what that does to small values, {:.1f} dB in front of it and {} "
          "behind",
          made.evidence.found.empty() ? "it is codes" : made.evidence.found,
          label(real_, magnifier->first), real_.kind(magnifier->first), own_db,
          std::isfinite(magnifier->second) ? fmt::format("{:.1f} dB", magnifier->second)
                                           : std::string("infinity or NaN"));
    }
    candidates_.push_back(std::move(made));
  }
  std::ranges::stable_sort(
      candidates_, [](const Candidate& a, const Candidate& b) { return a.noise > b.noise; });
  candidates_.resize(std::min(candidates_.size(), options_.most_places));
  made_.measured = candidates_.size();
  return {};
}

// Each candidate alone in codes, and none at all.
Expected<void> CauseFinder::measure() {
  std::vector<SensitivityLayer> layers;
  layers.reserve(candidates_.size() + 1);
  for (const Candidate& candidate : candidates_) layers.push_back({candidate.place->name});
  layers.push_back({"none"});
  const auto with_alone = [&](std::size_t layer) -> Expected<Graph> {
    Graph made = spelled_out_;
    for (const QuantizedPlace& place : places_) {
      const bool is_kept = layer < candidates_.size() && candidates_[layer].place == &place;
      if (!is_kept) make_exact(made, place);
    }
    return made;
  };
  SensitivityOptions options{
      .executor = context_.executor, .sink = context_.sink, .ranks = context_.ranks};
  QUADRANT_TRY(const std::vector<LayerSensitivity> found,
               in_file(measure_sensitivity(real_, layers, with_alone, runtime_, data_, options,
                                           [&] { return context_.check_stop(); }),
                       options_.quantized_name));
  const auto at_worst = [&](const LayerSensitivity& each) {
    const auto output = std::ranges::find(each.outputs, made_.output, &ValueAgreement::name);
    return output == each.outputs.end() ? Agreement{} : output->agreement;
  };
  made_.floor = at_worst(found.back());
  for (std::size_t i = 0; i < candidates_.size(); ++i)
    add_cause(candidates_[i], at_worst(found[i]));
  return {};
}

void CauseFinder::add_cause(const Candidate& candidate, const Agreement& alone) {
  const double floor = share_of(made_.floor, made_.worst);
  const double share = std::max(0.0, share_of(alone, made_.worst) - floor);
  if (share < least_share) return;
  const QuantizedPlace& place = *candidate.place;
  Cause cause{.name = place.name,
              .kind = candidate.evidence.kind,
              .is_weight = place.is_weight(),
              .found = candidate.evidence.found,
              .share = share};
  if (!place.is_weight()) {
    cause.sqnr_db_before = errors_.sqnr_db_before(real_, real_.find_value(place.name));
    cause.sqnr_db = errors_.sqnr_db(place.name);
  }
  made_.causes.push_back(std::move(cause));
}

// The layer whose shift is the largest, as far as shifts are much of an error.
void CauseFinder::add_shift() {
  Cause cause{.kind = CauseKind::shifted_means};
  double largest = 0;
  for (const auto& [name, agreement] : errors_.all()) {
    const TensorStatistics* const before = before_.find(name);
    const TensorStatistics* const after = after_.find(name);
    if (before == nullptr || after == nullptr || !before->by_channel || !after->by_channel)
      continue;
    const auto& ours = before->by_channel->channels;
    const auto& theirs = after->by_channel->channels;
    if (ours.size() != theirs.size() || agreement.noise <= 0 || agreement.signal <= 0) continue;
    double shift = 0;
    std::size_t channel = 0;
    for (std::size_t i = 0; i < ours.size(); ++i) {
      const double own = theirs[i].mean() - ours[i].mean();
      shift += own * own * static_cast<double>(ours[i].count);
      const double most = theirs[channel].mean() - ours[channel].mean();
      if (std::fabs(own) > std::fabs(most)) channel = i;
    }
    const double relative = shift / agreement.signal;
    if (shift < shifted_part * agreement.noise || relative <= largest) continue;
    largest = relative;
    cause.name = name;
    cause.found = fmt::format(
        "{:.0f} % of its error is that channels are shifted as a whole, channel {} by {:.3g}",
        100 * std::min(1.0, shift / agreement.noise), channel,
        theirs[channel].mean() - ours[channel].mean());
    cause.sqnr_db = errors_.sqnr_db(name);
  }
  if (!cause.name.empty()) made_.causes.push_back(std::move(cause));
}

// Returns whether sums may leave 16 bits at all.
Expected<bool> CauseFinder::add_saturation() {
  QUADRANT_TRY(
      const auto products,
      in_file(paired_products(quantized_, options_.destination.format), options_.quantized_name));
  const auto can = std::ranges::count_if(products, &PairedProduct::can_saturate);
  if (can == 0) return false;
  const Interpreter runtime = saturating_runtime(options_.destination, context_);
  QUADRANT_TRY(const WorstOutput there,
               worst_output(real_, spelled_out_, runtime, data_, options_, context_));
  const double share = 1 - share_of(made_.worst, there.agreement);
  if (share < least_share) return true;
  made_.causes.push_back(
      {.name = there.name,
       .kind = CauseKind::saturation,
       .found =
           fmt::format("sums of {} leave 16 bits in kernels for x86 without VNNI: outputs have "
                       "{:.1f} dB there",
                       counted(can, "product"), there.agreement.sqnr_db()),
       .share = share});
  return true;
}

}  // namespace

Expected<FoundCauses> find_causes(const Graph& real, const Graph& quantized, const DataSet& data,
                                  const DiagnoseOptions& options, const RunContext& context) {
  return CauseFinder(real, quantized, data, options, context).run();
}

Expected<WorstOutput> worst_output(const Graph& real, const Graph& quantized,
                                   const Runtime& runtime, const DataSet& data,
                                   const DiagnoseOptions& options, const RunContext& context) {
  CompareOptions how{.executor = context.executor, .sink = nullptr};
  how.names.first = options.real_name;
  how.names.second = options.quantized_name;
  QUADRANT_TRY(const Comparison found, compare(real, quantized, runtime, data, how));
  const auto worst = std::ranges::min_element(
      found.outputs, [](const auto& a, const auto& b) { return worse_than(a, b); },
      &ValueAgreement::agreement);
  if (worst == found.outputs.end()) return WorstOutput{};
  return WorstOutput{worst->name, worst->agreement};
}

Interpreter saturating_runtime(const Destination& destination, const RunContext& context) {
  const bool is_openvino = destination.format == ModelFormat::openvino;
  return Interpreter(
      paired_sum_kernels(is_openvino ? PairedSums::openvino : PairedSums::onnxruntime),
      context.run_memory);
}

double share_of(const Agreement& part, const Agreement& whole) noexcept {
  const auto ratio = [](double a, double b) { return b > 0 ? std::min(1.0, a / b) : 0.0; };
  if (whole.non_finite > 0) {
    return ratio(static_cast<double>(part.non_finite), static_cast<double>(whole.non_finite));
  }
  return part.non_finite > 0 ? 1 : ratio(part.noise, whole.noise);
}

}  // namespace quadrant::inline v0
