// Phase 3 by either policy on one connected random graph of growing size: floats and one form (two
// labels), or one of two forms (three labels), each operation with a gain of its own and each
// change of form with a price. `exact` says whether the objective reached the bound.
#include <benchmark/benchmark.h>

#include <compare>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/engine/macros.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/ir/ops.hpp"

namespace {

using namespace quadrant;

struct Colour {
  std::int64_t number = 0;
  [[nodiscard]] std::size_t hash() const { return static_cast<std::size_t>(number); }
  [[nodiscard]] std::string print() const { return std::to_string(number); }
  [[nodiscard]] static std::optional<Colour> parse(std::string_view text) {
    return text.size() == 1 ? std::optional(Colour{text[0] - '0'}) : std::nullopt;
  }
  friend auto operator<=>(const Colour&, const Colour&) = default;
};

std::int64_t number(const GraphView& graph, NodeId node, std::string_view key) {
  return NodeRef{&graph, node}.attribute_or<std::int64_t>(key, 0);
}

// Values are converted at what their nodes say.
class Paint final : public Scheme {
 public:
  explicit Paint(std::int64_t colours) noexcept : colours_(colours) {}
  QUADRANT_SCHEME(Paint, Colour, "paint")
  [[nodiscard]] std::string describe() const override { return std::to_string(colours_); }
  [[nodiscard]] std::int64_t colours() const noexcept { return colours_; }

  [[nodiscard]] static Expected<Value> enter(Value real, const Colour& /*to*/,
                                             RewriteContext& /*context*/) {
    return real;
  }
  [[nodiscard]] static std::optional<Gain> price(const ConversionOf<Colour>& conversion,
                                                 const GainModel& /*gains*/) {
    return Gain{-number(*conversion.graph, conversion.value.node, "price")};
  }

 private:
  std::int64_t colours_;
};

QUADRANT_DEQUANTIZER(Paint)(Value quantized, RewriteContext& /*context*/) const { return quantized; }

struct Blend {
  static constexpr std::string_view kind = "blend";
};

// Computes on codes, for a gain, where all operands are of one colour.
QUADRANT_QUANTIZER(BlendMethod, Paint, Blend, requires_parents(variadic(AnyState))) {
  void request(NodeRef /*node*/, Asks& asks) const override {
    for (std::int64_t i = 0; i < scheme().colours(); ++i) asks.produce({i});
  }
  void callback(const Colour& wanted, NodeRef node, Asks& asks) const override {
    std::vector<Asks::Need> needs;
    for (std::uint32_t i = 0; i < node.graph->operands(node.id).size(); ++i)
      needs.push_back({i, wanted});
    const std::string_view key = wanted.number == 0 ? "first" : "second";
    asks.alternative(std::span<const Asks::Need>(needs), Gain{number(*node.graph, node.id, key)});
  }
};

QUADRANT_METHODS(Paint) { add<BlendMethod>(); }

Graph build(std::int64_t nodes) {
  std::mt19937 random(20261122);
  const auto below = [&](std::size_t end) { return random() % end; };
  const TensorType type{ElementType::float32, Shape{16}, nullptr};
  Graph graph;
  std::vector<Value> values{graph.add_input("x", type)};
  for (std::int64_t i = 1; i < nodes; ++i) {
    NodeSpec spec;
    spec.kind = Blend::kind;
    spec.name = "n" + std::to_string(i);
    spec.operands = {values.back(), values[below(values.size())]};
    if (below(2) == 0) spec.operands[0] = values[below(values.size())];
    spec.results = {{spec.name, type}};
    spec.attributes.set("first", static_cast<std::int64_t>(1 + below(20)));
    spec.attributes.set("second", static_cast<std::int64_t>(1 + below(20)));
    spec.attributes.set("price", static_cast<std::int64_t>(below(20)));
    values.push_back({graph.add(std::move(spec)), 0});
  }
  graph.add_output("y", values.back());
  return graph;
}

void run_policy(benchmark::State& state, SelectionPolicy policy, std::int64_t colours) {
  const Graph graph = build(state.range(0));
  const Registry registry = *RegistryBuilder::of(Paint(colours)).freeze();
  QuantizeOptions options;
  options.policy = policy;
  for (auto _ : state) {
    const auto analysis = analyze(graph, registry, options);
    const Selection& selection = analysis->selection;
    state.counters["objective"] = static_cast<double>(selection.objective().amount());
    state.counters["exact"] = selection.bound() == selection.objective() ? 1 : 0;
  }
}

}  // namespace

int main(int argc, char** argv) {
  for (const std::int64_t colours : {1, 2}) {
    for (const auto policy : {SelectionPolicy::greedy, SelectionPolicy::optimal}) {
      const std::string name =
          std::to_string(colours + 1) + " labels, " + std::string(to_string(policy));
      benchmark::RegisterBenchmark(name.c_str(), run_policy, policy, colours)
          ->RangeMultiplier(10)
          ->Range(1'000, 100'000)
          ->Unit(benchmark::kMillisecond);
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
}
