// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss: minus the logarithm of the probability
// that was given to the right class, weighted by class; and how these are reduced to one number.
//
// Operands: scores [N, C, d1, ...], targets [N, d1, ...], optional weights [C].
#include <string>

#include "ir/ops/functions.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/lanes.hpp"
#include "runtime/ops/softmax.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

enum class Reduction : std::uint8_t { none, sum, mean };

Expected<Reduction> reduction_of(const KernelCall& call) {
  const auto name = call.attribute_or("reduction", std::string("mean"));
  if (name == "none") return Reduction::none;
  if (name == "sum") return Reduction::sum;
  if (name == "mean") return Reduction::mean;
  return KernelCall::refuse(fmt::format("the reduction '{}' is not known", name));
}

// The class that is right at each place, and what it weighs; a target that is ignored weighs
// nothing.
struct Targets {
  Lanes lanes;  // the classes
  std::vector<std::int64_t> classes;
  std::vector<double> weights;
};

Expected<Targets> targets_of(const KernelCall& call) {
  const Tensor& scores = call.operand(0);
  const Tensor& targets = call.operand(1);
  std::vector<std::int64_t> expected = extents_between(scores.shape(), 0, scores.rank());
  if (expected.size() >= 2) expected.erase(expected.begin() + 1);
  if (scores.rank() < 2 || targets.shape() != Shape(expected)) {
    return KernelCall::refuse(fmt::format("targets [{}] for scores [{}]",
                                          to_string(targets.shape()), to_string(scores.shape())));
  }
  Targets result{.lanes = lanes_along(scores.shape(), 1)};
  QUADRANT_TRY(result.classes, integers_of(targets));
  std::vector<double> class_weights;
  if (call.has(2)) {
    QUADRANT_TRY(class_weights, reals_of(call.operand(2)));
    if (class_weights.size() != static_cast<std::size_t>(result.lanes.length)) {
      return KernelCall::refuse(
          fmt::format("{} weights for {} classes", class_weights.size(), result.lanes.length));
    }
  }
  const Attribute* ignored = call.node().graph->attribute(call.node().id, "ignore_index");
  const auto* ignored_class = ignored != nullptr ? std::get_if<std::int64_t>(ignored) : nullptr;
  for (std::int64_t& target : result.classes) {
    const bool ignore = ignored_class != nullptr && target == *ignored_class;
    if (ignore) target = 0;
    if (target < 0 || target >= result.lanes.length) {
      return KernelCall::refuse(
          fmt::format("target {}, where there are {} classes", target, result.lanes.length));
    }
    const auto index = static_cast<std::size_t>(target);
    const double weight = class_weights.empty() ? 1 : class_weights[index];
    result.weights.push_back(ignore ? 0 : weight);
  }
  return result;
}

Expected<Tensors> loss(const KernelCall& call, const Tensor& log_probabilities) {
  QUADRANT_TRY(const Reduction reduction, reduction_of(call));
  QUADRANT_TRY(const Targets targets, targets_of(call));
  const bool none = reduction == Reduction::none;
  return with_real(log_probabilities.element(), [&]<class T>() -> Expected<Tensors> {
    QUADRANT_TRY(Tensor result, Tensor::make(log_probabilities.element(),
                                             none ? call.operand(1).shape() : Shape::scalar()));
    const std::span<T> out = result.fill<T>();
    const auto in = log_probabilities.as<T>();
    double sum = 0;
    double weight = 0;
    for (std::size_t i = 0; i < targets.classes.size(); ++i) {
      const auto inner = static_cast<std::size_t>(targets.lanes.inner);
      const auto classes = static_cast<std::size_t>(targets.lanes.length);
      const auto right = static_cast<std::size_t>(targets.classes[i]);
      const std::size_t place = (i / inner * classes + right) * inner + i % inner;
      // What is ignored may be infinite.
      const double value = targets.weights[i] == 0 ? 0 : -in[place] * targets.weights[i];
      if (none) out[i] = static_cast<T>(value);
      sum += value;
      weight += targets.weights[i];
    }
    if (!none) out[0] = static_cast<T>(reduction == Reduction::mean ? sum / weight : sum);
    return Tensors{std::move(result)};
  });
}

Expected<Tensors> negative_log_likelihood_loss(const KernelCall& call) {
  return loss(call, call.operand(0));
}

// Results: the loss, and the logarithms of the probabilities.
Expected<Tensors> softmax_cross_entropy_loss(const KernelCall& call) {
  const Tensor& scores = call.operand(0);
  QUADRANT_TRY(const std::int64_t classes, axis_below(1, scores.rank()));
  QUADRANT_TRY(Tensors logarithms,
               map_lanes(call, lanes_along(scores.shape(), classes),
                         []<class T>(std::span<T> lane) { to_log_softmax(lane); }));
  QUADRANT_TRY(Tensors results, loss(call, logarithms[0]));
  results.push_back(std::move(logarithms[0]));
  return results;
}

}  // namespace

std::span<const KernelEntry> kernels::in_losses() noexcept {
  static constexpr auto table = std::to_array<KernelEntry>(
      {{ops::NegativeLogLikelihoodLoss::kind, negative_log_likelihood_loss, HalfFloats::widened},
       {ops::SoftmaxCrossEntropyLoss::kind, softmax_cross_entropy_loss, HalfFloats::widened}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
