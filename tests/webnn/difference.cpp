#include "difference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "quadrant/runtime/interpreter.hpp"
#include "runtime/ops/cast.hpp"

namespace quadrant::webnn {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

ElementType comparable(ElementType element) {
  return element == ElementType::boolean ? ElementType::uint8 : element;
}

/// What rounding excuses, of a number and of the largest one of a tensor.
struct Tolerance {
  double relative = 1e-5;
  double absolute = 1e-6;
};

Tolerance tolerance_of(ElementType element) {
  return element == ElementType::float16 ? Tolerance{5e-3, 1e-3} : Tolerance{};
}

double distance(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double difference = std::abs(a - b);
  return std::isnan(difference) ? infinite : difference;
}

}  // namespace

double steps_between(const Tensor& result, const Tensor& truth, const std::vector<double>& steps) {
  const ElementType element = truth.element();
  if (comparable(result.element()) != comparable(element) || result.shape() != truth.shape()) {
    return infinite;
  }
  if (std::ranges::equal(result.bytes(), truth.bytes())) return 0;
  const auto wide_result = interpreted::cast_to(result, ElementType::float64);
  const auto wide_truth = interpreted::cast_to(truth, ElementType::float64);
  if (!wide_result || !wide_truth) return infinite;
  const auto values = wide_result->as<double>();
  const auto wanted = wide_truth->as<double>();
  double largest = 0;
  for (const double value : wanted) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  const Tolerance tolerance = tolerance_of(element);
  const bool has_steps = steps.size() == values.size();
  double most = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    double step = 1;
    if (has_steps) {
      step = std::abs(steps[i]);
    } else if (is_float(element)) {
      step = std::max(tolerance.relative * std::abs(wanted[i]), tolerance.absolute * largest);
    }
    const double difference = distance(values[i], wanted[i]);
    if (difference != 0) most = std::max(most, step > 0 ? difference / step : infinite);
  }
  return most;
}

double steps_between(const NamedTensors& results, const NamedTensors& truth,
                     std::span<const CaseOutput> outputs) {
  double most = 0;
  for (const CaseOutput& output : outputs) {
    const auto result = results.find(output.name);
    const auto wanted = truth.find(output.name);
    if (result == results.end() || wanted == truth.end()) return infinite;
    most = std::max(most, steps_between(result->second, wanted->second, output.steps));
  }
  return most;
}

Expected<NamedTensors> run_graph(const Graph& graph, const CaseGraph& from) {
  const std::vector<Value> watched = output_values(graph);
  if (watched.size() != from.outputs.size()) {
    return fail(ErrorCode::invalid_model, "not as many outputs as the case has");
  }
  QUADRANT_TRY(const auto executor, Interpreter().load(graph, watched));
  QUADRANT_TRY(Tensors results, run_model(*executor, from.inputs, watched.size()));
  NamedTensors named;
  for (std::size_t i = 0; i < results.size(); ++i) {
    named.emplace(from.outputs[i].name, std::move(results[i]));
  }
  return named;
}

}  // namespace quadrant::webnn
