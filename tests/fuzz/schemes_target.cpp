// Graphs made of the fuzzer's bytes are quantized by each scheme, with options of all kinds: each
// value has a reason, what comes out is valid, goes through a file, and runs, or says why not.
#include <fuzzer/FuzzedDataProvider.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comparison.hpp"
#include "formats.hpp"
#include "quadrant/calibration/calibrate.hpp"
#include "quadrant/calibration/data_set.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/text.hpp"
#include "quadrant/methods/fake_quantize.hpp"
#include "quadrant/methods/qdq_fusion.hpp"
#include "quadrant/methods/static_affine.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "quantize_and_write.hpp"
#include "random_graph.hpp"
#include "require.hpp"
#include "runs.hpp"

namespace {

using namespace quadrant;

class OneSample final : public DataSet {
 public:
  explicit OneSample(Tensors inputs) : inputs_(std::move(inputs)) {}
  [[nodiscard]] std::size_t size() const override { return 1; }
  [[nodiscard]] Expected<Sample> sample(std::size_t /*i*/) const override {
    return Sample{inputs_};
  }
  [[nodiscard]] std::string name(std::size_t /*i*/) const override { return "one"; }

 private:
  Tensors inputs_;
};

template <class Choice>
Choice any_of(fuzz::RandomValues& random, Choice last) {
  return static_cast<Choice>(random.number(0, static_cast<std::int64_t>(last)));
}

EncodingRule random_rule(fuzz::RandomValues& random, EncodingRule rule, std::int64_t wide) {
  rule.method = any_of(random, EncodingMethod::mse);
  if (random.one_in(2)) rule.symmetry = any_of(random, EncodingSymmetry::symmetric_unsigned);
  rule.bits = static_cast<int>(random.one_in(3) ? wide : 8);
  if (random.one_in(4)) rule.minimum_range = static_cast<double>(random.number(0, 16)) / 8;
  if (random.one_in(4)) rule.gamma = static_cast<double>(random.number(1, 5));
  if (random.one_in(4)) rule.percentile = static_cast<double>(random.number(51, 100));
  return rule;
}

// Mostly of a run, where the graph runs, else made up.
StatisticsTable random_statistics(fuzz::RandomValues& random, const Graph& graph,
                                  const std::optional<Tensors>& inputs) {
  if (inputs && !random.one_in(4)) {
    const Interpreter interpreter({}, fuzz::small_memory);
    if (auto table = calibrate(graph, interpreter, OneSample(*inputs))) return *std::move(table);
  }
  StatisticsTable table;
  table.samples = 1;
  const auto values = real_values(graph);
  if (!values) return table;
  for (const Value value : *values) {
    const auto numbers = random.constant(ElementType::float32, Shape{6});
    const auto tensor = Tensor::from_constant(numbers);
    if (tensor) table.values[std::string(graph.value_name(value))].add(*tensor);
  }
  return table;
}

StaticAffineOptions static_affine_options(fuzz::RandomValues& random) {
  StaticAffineOptions options;
  options.activations = random_rule(random, options.activations, 16);
  options.weights = random_rule(random, options.weights, 4);
  if (random.one_in(2)) options.weight_granularity = Granularity::Kind::tensor;
  options.unsigned_activations = random.one_in(2);
  options.kernels = any_of(random, KernelsTarget::openvino);
  options.saturation = any_of(random, Saturation::seven_bits);
  options.unsigned_weights = random.one_in(4);
  options.bias_bits = random.one_in(4) ? 8 : 32;
  options.quantized_recurrent_weights = random.one_in(2);
  options.quantized_inputs = random.one_in(2);
  options.quantized_outputs = random.one_in(2);
  return options;
}

std::optional<Graph> by_static_affine(const Graph& graph, fuzz::RandomValues& random,
                                      const std::optional<Tensors>& inputs,
                                      const QuantizeOptions& run) {
  StaticAffineOptions options = static_affine_options(random);
  options.statistics =
      std::make_shared<const StatisticsTable>(random_statistics(random, graph, inputs));
  auto result = quantize_static(graph, std::move(options), run);
  if (!result) return {};
  fuzz::require_reasons(graph, result->analysis);
  return std::move(result->graph);
}

std::optional<Graph> by_fake_quantize(const Graph& graph, fuzz::RandomValues& random,
                                      const QuantizeOptions& run) {
  const FakeQuantizeOptions options{.target = random.pick(low_precision_targets),
                                    .repair = random.one_in(2)};
  auto result = quantize_simulated(graph, options, run);
  if (!result) return {};
  fuzz::require_value(verify(result->model), "what was split is invalid",
                      [&] { return print_graph(graph) + print_graph(result->model); });
  fuzz::require_reasons(result->model, result->analysis);
  return std::move(result->graph);
}

std::optional<Graph> by_qdq_fusion(const Graph& graph, fuzz::RandomValues& random,
                                   const QuantizeOptions& run) {
  const QdqFusionOptions options{random.pick(fusion_targets)};
  auto result = quantize_qdq(graph, options, run);
  if (!result) return {};
  const auto show = [&] { return print_graph(graph) + print_graph(result->model); };
  fuzz::require_value(verify(result->model), "what was made explicit is invalid", show);
  fuzz::require_reasons(result->model, result->analysis);
  fuzz::require_value(unquantized_tensors(result->model, options), "no unquantized tensors", show);
  return std::move(result->graph);
}

void check(const Graph& graph, fuzz::RandomValues& random, std::uint64_t choices) {
  const auto inputs = fuzz::random_inputs(random, graph);
  const std::int64_t scheme = random.number(0, 4);
  QuantizeOptions run;
  if (random.one_in(2)) run.policy = SelectionPolicy::optimal;
  if (random.one_in(2)) run.non_finite = NonFinitePolicy::leave_float;
  const std::optional<Graph> quantized = scheme == 0   ? fuzz::quantize_and_write(graph, choices)
                                         : scheme == 1 ? by_fake_quantize(graph, random, run)
                                         : scheme == 2
                                             ? by_qdq_fusion(graph, random, run)
                                             : by_static_affine(graph, random, inputs, run);
  if (!quantized) return;
  fuzz::require_value(verify(*quantized), "the quantized graph is invalid",
                      [&] { return print_graph(graph) + print_graph(*quantized); });
  fuzz::require_same_signature(graph, *quantized, "another signature, quantized");
  fuzz::require_same_names(graph, *quantized, "other names, quantized");
  (void)fuzz::write_and_read(*quantized, random.pick(fuzz::formats), choices);
  if (!inputs || !fuzz::run(graph, *inputs)) return;
  if (const auto outputs = fuzz::run(*quantized, *inputs)) {
    fuzz::require_stated_types(*quantized, *outputs);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  FuzzedDataProvider data(bytes, size);
  const auto choices = data.ConsumeIntegral<std::uint64_t>();
  const auto of_choices = data.ConsumeBytes<std::uint8_t>(32);
  const Graph graph = fuzz::random_graph(data, fuzz::Purpose::computed, fuzz::computed_kinds());
  if (!verify(graph)) return 0;
  FuzzedDataProvider rest(of_choices.data(), of_choices.size());
  fuzz::RandomValues random(rest, fuzz::Purpose::computed);
  check(graph, random, choices);
  return 0;
}
