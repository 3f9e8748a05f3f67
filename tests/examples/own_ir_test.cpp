// The example's adaptor keeps the promises of the two interfaces, and its IR ends up as the
// library's own graph does.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "adaptor.hpp"
#include "autoencoder.hpp"
#include "ir.hpp"
#include "methods.hpp"
#include "quadrant/calibration/calibrate.hpp"
#include "quadrant/calibration/compare.hpp"
#include "quadrant/calibration/sensitivity.hpp"
#include "quadrant/engine/check_rewriter.hpp"
#include "quadrant/engine/explain/explain.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/report/summary.hpp"
#include "runtime.hpp"

namespace {

using namespace quadrant;

// A graph of the library's own kind with the same operations.
Graph converted(const GraphView& from) {
  auto graph = to_graph(from, nullptr);
  REQUIRE_MESSAGE(graph.has_value(), to_string(graph ? Error{} : graph.error()));
  return *std::move(graph);
}

// What makes each value, by its name; buffers, which the library's graph does not need, left out.
std::map<std::string, std::string> described(const GraphView& graph) {
  std::map<std::string, std::string> values;
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    const NodeId node = graph.node_at(i);
    if (graph.result_count(node) == 0 || graph.kind(node) == "kiln.alloc") continue;
    std::string& text = values[std::string(graph.value_name({node}))];
    text = std::string(graph.kind(node)) + " " + to_string(graph.type({node}));
    for (const Value operand : graph.operands(node)) {
      if (graph.kind(operand.node) == "kiln.alloc") continue;
      text += " " + std::string(graph.value_name(operand));
    }
  }
  return values;
}

void check_valid(const GraphView& graph) {
  const auto valid = verify(graph);
  CHECK_MESSAGE(valid.has_value(), to_string(valid ? Error{} : valid.error()));
}

// The model, and all that is needed to quantize it.
struct Model {
  Model() { kiln::build_autoencoder(module); }
  kiln::Module module;
  Registry registry = *kiln::weight_only();
};

TEST_CASE("the adaptor passes the library's check of rewriters") {
  std::vector<std::unique_ptr<kiln::Module>> modules;
  const RewriterCheck found = check_rewriter([&]() -> std::unique_ptr<GraphRewriter> {
    kiln::Module& module = *modules.emplace_back(std::make_unique<kiln::Module>());
    kiln::build_autoencoder(module);
    return std::make_unique<kiln::Adaptor>(module);
  });
  for (const RewriterFault& fault : found.faults) MESSAGE(fault.rule, ": ", fault.message);
  CHECK(found.faults.empty());
  // What only schemes for activations need.
  for (const std::string& refusal : found.refused) {
    CHECK((refusal.starts_with("set_type of") || refusal.starts_with("emit of a transpose")));
  }
}

}  // namespace

TEST_CASE("the plan is that of the library's own graph of the same model") {
  Model model;
  const kiln::Adaptor adaptor(model.module);
  const GraphView& graph = adaptor.view();
  check_valid(graph);
  const Graph same = converted(graph);
  const auto plan = analyze(graph, model.registry);
  const auto expected = analyze(same, model.registry);
  REQUIRE(plan.has_value());
  REQUIRE(expected.has_value());
  CHECK(plan->plan == expected->plan);
  // In one form for all who read it: `shared` by both functions, `step` by each round of the loop.
  std::vector<std::string> planned;
  for (const PlannedValue& value : plan->plan.values) planned.push_back(value.value);
  CHECK(planned == std::vector<std::string>{"filter", "shared", "shared_turned", "step"});
}

TEST_CASE("rewritten, it is what the library's own graph becomes") {
  Model model;
  kiln::Adaptor adaptor(model.module);
  const GraphView& graph = adaptor.view();
  const auto expected = quantize(converted(graph), model.registry);
  REQUIRE(expected.has_value());
  REQUIRE(quantize(adaptor, model.registry).has_value());
  check_valid(graph);
  CHECK(kiln::fault_of(model.module) == "");
  CHECK(described(graph) == described(expected->graph));
}

TEST_CASE("what is quantized computes nearly the same, in the loop and in both functions") {
  Model model;
  CHECK(kiln::fault_of(model.module) == "");
  const std::vector<float> image = kiln::noise(192, 4);
  const std::vector<float> code = kiln::run(model.module, 0, image);
  const std::vector<float> before = kiln::run(model.module, 1, code);
  kiln::Adaptor adaptor(model.module);
  REQUIRE(quantize(adaptor, model.registry).has_value());
  CHECK(kiln::fault_of(model.module) == "");
  const auto is_near = [](const std::vector<float>& a, const std::vector<float>& b) {
    float largest = 0;
    for (const float number : a) largest = std::max(largest, std::abs(number));
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (std::abs(a[i] - b[i]) > 0.02F * largest) return false;
    }
    return a.size() == b.size() && largest > 0;
  };
  CHECK(is_near(code, kiln::run(model.module, 0, image)));
  CHECK(is_near(before, kiln::run(model.module, 1, code)));
}

TEST_CASE("whatever stays float, the IR comes out valid") {
  for (unsigned which = 0; which < 32; ++which) {
    Model model;
    kiln::Adaptor adaptor(model.module);
    const GraphView& graph = adaptor.view();
    QuantizeOptions options;
    if (which >= 16) options.policy = SelectionPolicy::optimal;
    const std::array names{"filter", "shared", "step", "refined"};
    for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
      for (std::size_t at = 0; at < names.size(); ++at) {
        const bool is_out = (which >> at & 1U) != 0 && graph.name({i}) == names[at];
        if (is_out) options.vetoes.emplace(NodeId{i}, "the test says so");
      }
    }
    REQUIRE(quantize(adaptor, model.registry, options).has_value());
    check_valid(graph);
    CHECK(kiln::fault_of(model.module) == "");
  }
}

TEST_CASE("Kiln's verifier sees what is wrong") {
  using kiln::OpCode;
  const auto fault = [](auto change) {
    kiln::Module module;
    kiln::build_autoencoder(module);
    std::map<std::string, kiln::Value*> values;
    for (kiln::Op* op = module.first(); op != nullptr; op = op->next.get()) {
      values[op->result.name] = &op->result;
    }
    change(module, values);
    return kiln::fault_of(module);
  };
  using Values = std::map<std::string, kiln::Value*>;
  CHECK(fault([](kiln::Module&, Values& values) {
          values["decoded"]->def->operands[0].set(values["stepped"]);
        }) == "%decoded reads %stepped, which is not seen there");
  CHECK(fault([](kiln::Module&, Values& values) {
          values["decoded"]->def->operands[0].set(values["active"]);
        }) == "%decoded reads %active, which is not seen there");
  CHECK(fault([](kiln::Module&, Values& values) { values["refined"]->type.extents = {8, 36}; }) ==
        "%refined has states of several types");
  CHECK(fault([](kiln::Module&, Values& values) {
          values["step"]->type.scalar = kiln::Scalar::i8;
        }) == "%stepped reads codes");
  CHECK(fault([](kiln::Module& module, Values& values) {
          module.append(OpCode::state, "again", values["bias"]->type, {values["bias"]});
        }) == "a function or a loop does not end");
}

namespace {

// A weight that goes round in a loop, turned as often as `turns` says, and is used behind it. If
// `is_left`, another one takes its place.
void build_turning(kiln::Module& m, int turns, bool is_left = false) {
  using kiln::OpCode;
  kiln::Value* weight = m.append_weight("weight", {6, 6}, kiln::noise(36, 7));
  kiln::Value* other = is_left ? m.append_weight("other", {6, 6}, kiln::noise(36, 9)) : nullptr;
  const kiln::Type type = weight->type;
  kiln::Value* x = m.append(OpCode::input, "x", {kiln::Scalar::f32, {1, 6}});
  kiln::Value* next = m.append(OpCode::state, "state", type, {weight});
  for (int i = 0; i < turns; ++i) {
    kiln::Value* into = m.append(OpCode::alloc, "into", type);
    next = m.append(OpCode::transpose, "turned", type, {next, into});
  }
  kiln::Value* last = m.append(OpCode::loop, "last", type, {is_left ? other : next});
  last->def->times = 3;
  kiln::Value* into = m.append(OpCode::alloc, "sum", x->type);
  kiln::Value* y = m.append(OpCode::dense, "y", x->type, {x, last, into});
  m.append(OpCode::output, "result", y->type, {y});
}

}  // namespace

TEST_CASE("a loop's state is codes wherever it passes, or nowhere") {
  for (const SelectionPolicy policy : {SelectionPolicy::greedy, SelectionPolicy::optimal}) {
    for (const int turns : {0, 1, 2}) {
      kiln::Module module;
      build_turning(module, turns);
      const std::vector<float> x = kiln::noise(6, 8);
      const std::vector<float> before = kiln::run(module, 0, x);
      kiln::Adaptor adaptor(module);
      const GraphView& graph = adaptor.view();
      check_valid(graph);
      const Registry registry = *kiln::weight_only();
      QuantizeOptions options;
      options.policy = policy;
      const auto analysis = quantize(adaptor, registry, options);
      REQUIRE_MESSAGE(analysis.has_value(), to_string(analysis ? Error{} : analysis.error()));
      check_valid(graph);
      CHECK(kiln::fault_of(module) == "");
      const std::vector<float> after = kiln::run(module, 0, x);
      // Turned once, what comes round has its scales along the other axis: that is another type.
      CHECK(analysis->plan.values.empty() == (turns == 1));
      CHECK((before == after) == (turns == 1));
      for (std::size_t i = 0; i < before.size(); ++i) {
        CHECK(after[i] == doctest::Approx(before[i]).epsilon(0.05));
      }
    }
  }
}

TEST_CASE("what runs models and reports on them takes the program as a graph") {
  Model real;
  Model codes;
  kiln::Adaptor adaptor(codes.module);
  REQUIRE(quantize(adaptor, codes.registry).has_value());
  Graph before = kiln::Adaptor(real.module).graph();
  Graph after = adaptor.graph();
  kiln::Runtime runtime;
  runtime.add(before, real.module);
  runtime.add(after, codes.module);
  const auto samples = random_data_set(before, 5, 1);

  const auto seen = calibrate(before, runtime, *samples);
  REQUIRE_MESSAGE(seen.has_value(), to_string(seen ? Error{} : seen.error()));
  // In each of the loop's three rounds, for each sample.
  REQUIRE(seen->find("stepped") != nullptr);
  CHECK(seen->find("stepped")->histogram.finite_count() == std::uint64_t{3} * 5 * 6 * 6 * 8);
  CHECK(seen->find("encoded")->histogram.finite_count() == std::uint64_t{5} * 6 * 6 * 8);

  const auto found = compare(before, after, runtime, *samples, {.layers = true});
  REQUIRE_MESSAGE(found.has_value(), to_string(found ? Error{} : found.error()));
  REQUIRE(found->outputs.size() == 2);
  for (const ValueAgreement& output : found->outputs) {
    CHECK(output.agreement.sqnr_db() > 30);
    CHECK(output.agreement.sqnr_db() < 80);
  }
  CHECK(found->layers.size() > 5);

  // One weight after the other; the worst alone is not worse than all together by much.
  const std::vector<SensitivityLayer> layers{{"filter"}, {"shared"}, {"step"}};
  std::vector<std::unique_ptr<Model>> variants;
  const auto quantize_alone = [&](std::size_t layer) -> Expected<Graph> {
    Model& model = *variants.emplace_back(std::make_unique<Model>());
    kiln::Adaptor adaptor(model.module);
    const GraphView& own = adaptor.view();
    QuantizeOptions options;
    for (std::uint32_t i = 0; i < own.index_bound(); ++i) {
      const bool is_weight = own.constant({i}) != nullptr;
      if (is_weight && own.name({i}) != layers[layer].name) options.vetoes.emplace(NodeId{i}, "");
    }
    QUADRANT_CHECK(quantize(adaptor, model.registry, options));
    Graph alone = adaptor.graph();
    runtime.add(alone, model.module);
    return alone;
  };
  const auto measured = measure_sensitivity(before, layers, quantize_alone, runtime, *samples, {},
                                            [] { return Expected<void>(); });
  REQUIRE_MESSAGE(measured.has_value(), to_string(measured ? Error{} : measured.error()));
  for (const LayerSensitivity& layer : *measured) {
    CAPTURE(layer.layer);
    REQUIRE(layer.worst() != nullptr);
    CHECK(layer.worst()->agreement.sqnr_db() > 30);
  }

  const auto analysis = analyze(before, real.registry);
  REQUIRE(analysis.has_value());
  const auto why = explain_all(before, real.registry, *analysis);
  const auto report =
      report_weights({.graph = before, .analysis = *analysis, .why = why, .quantized = &after});
  REQUIRE_MESSAGE(report.has_value(), to_string(report ? Error{} : report.error()));
  for (const ReportedWeight& weight : report->weights) {
    if (weight.name == "bias") continue;
    CAPTURE(weight.name);
    REQUIRE(weight.sqnr_db.has_value());
    CHECK(*weight.sqnr_db > 35);
  }
}

TEST_CASE("two weights of one type stay float: each would have scales of its own") {
  for (const SelectionPolicy policy : {SelectionPolicy::greedy, SelectionPolicy::optimal}) {
    kiln::Module module;
    build_turning(module, 0, /*is_left=*/true);
    kiln::Adaptor adaptor(module);
    const GraphView& graph = adaptor.view();
    check_valid(graph);
    const Registry registry = *kiln::weight_only();
    const std::string before = to_string(module);
    QuantizeOptions options;
    options.policy = policy;
    const auto analysis = quantize(adaptor, registry, options);
    REQUIRE_MESSAGE(analysis.has_value(), to_string(analysis ? Error{} : analysis.error()));
    CHECK(to_string(module) == before);
    NodeId other;
    for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
      if (graph.name({i}) == "weight") other = {i};
    }
    const std::string why = explain(graph, registry, *analysis, other).reason;
    CAPTURE(why);
    CHECK(why.find("it is coupled with 'other', another weight") != std::string::npos);
  }
}

namespace {

struct OneGroup final : Capabilities {
  explicit OneGroup(std::vector<Value> values) : group(std::move(values)) {}
  [[nodiscard]] std::vector<std::vector<Value>> of_one_type() const override { return {group}; }
  std::vector<Value> group;
};

}  // namespace

TEST_CASE("verify checks that values of one type are there and have it") {
  kiln::Module module;
  build_turning(module, 0);
  Graph graph = kiln::Adaptor(module).graph();
  const Value weight = graph.find_value("weight");
  const auto verified = [&](Value other) {
    const OneGroup said({weight, other});
    graph.set_capabilities(&said);
    return verify(graph);
  };
  CHECK(verified(graph.find_value("state")).has_value());
  const NodeId missing{weight.node.index + 1000};
  for (const Value other :
       {graph.find_value("x"), Value{}, Value{missing}, Value{weight.node, 7}}) {
    const auto valid = verified(other);
    REQUIRE_FALSE(valid.has_value());
    CHECK(valid.error().code == ErrorCode::invalid_model);
  }
}

TEST_CASE("an adaptor made anew reads the rewritten IR as the old one does, and nothing is left") {
  Model model;
  kiln::Adaptor adaptor(model.module);
  const GraphView& graph = adaptor.view();
  REQUIRE(quantize(adaptor, model.registry).has_value());
  kiln::Adaptor second(model.module);
  const GraphView& anew = second.view();
  check_valid(anew);
  CHECK(described(anew) == described(graph));
  const std::string before = to_string(model.module);
  const auto again = quantize(second, model.registry);
  REQUIRE(again.has_value());
  CHECK(again->plan.values.empty());
  CHECK(to_string(model.module) == before);
}

TEST_CASE("what Kiln does not have is impossible, and nothing happens") {
  Model model;
  kiln::Adaptor adaptor(model.module);
  const GraphView& graph = adaptor.view();
  const std::string before = to_string(model.module);
  NodeId weight;
  NodeId computed;
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    if (graph.name({i}) == "filter") weight = {i};
    if (graph.name({i}) == "features") computed = {i};
  }
  for (const std::string_view kind : emitted_ops) {
    if (kind == ops::Dequantize::kind) continue;
    const auto made = adaptor.emit({.kind = std::string(kind)});
    REQUIRE_FALSE(made.has_value());
    CHECK(made.error().code == ErrorCode::impossible);
  }
  const std::vector<float> one{1};
  UniformType per_tensor;
  per_tensor.scales = Constant::from_values(ElementType::float32,
                                            Shape(std::vector<std::int64_t>{}), std::span(one));
  const auto type = std::make_shared<const UniformType>(per_tensor);
  const Constant codes = Constant::from_bytes(ElementType::int8, graph.type({weight}).shape,
                                              std::vector<std::byte>(324));
  CHECK_FALSE(adaptor.set_constant(weight, codes, type).has_value());
  CHECK_FALSE(adaptor.set_constant(weight, codes, nullptr).has_value());
  TensorType half = graph.type({computed});
  CHECK_FALSE(adaptor.set_type({computed}, half).has_value());
  half.element = ElementType::float16;
  CHECK_FALSE(adaptor.set_type({computed}, half).has_value());
  CHECK(to_string(model.module) == before);
  check_valid(graph);
}

TEST_CASE("what Kiln cannot hold is not planned, and explain says why") {
  Model model;
  kiln::Adaptor adaptor(model.module);
  const GraphView& graph = adaptor.view();
  const std::string before = to_string(model.module);
  const auto four_bits = kiln::weight_only({.bits = 4});
  const auto with_zeros = kiln::weight_only({.symmetry = Symmetry::asymmetric});
  const auto a_table = kiln::weight_only({.type = "nf4"});
  for (const auto* registry : {&four_bits, &with_zeros, &a_table}) {
    REQUIRE(registry->has_value());
    const auto done = quantize(adaptor, **registry);
    REQUIRE(done.has_value());
    CHECK(done->plan.values.empty());
    CHECK(to_string(model.module) == before);
    NodeId filter;
    for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
      if (graph.name({i}) == "filter") filter = {i};
    }
    const std::string why = explain(graph, **registry, *done, filter).reason;
    CAPTURE(why);
    CHECK(why.find("the graph cannot hold it: Kiln has no type") != std::string::npos);
  }
}

TEST_CASE("a weight that holds NaN is found before the IR is touched") {
  Model model;
  std::vector<float> values(96);
  values[7] = std::numeric_limits<float>::quiet_NaN();
  kiln::Op* op = model.module.first();
  while (op->result.name != "shared") op = op->next.get();
  const auto bytes = std::as_bytes(std::span(values));
  op->contents = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
  kiln::Adaptor adaptor(model.module);
  const GraphView& graph = adaptor.view();
  const std::string before = to_string(model.module);
  const auto refused = quantize(adaptor, model.registry);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().place.tensor == "shared");
  CHECK(to_string(model.module) == before);
  REQUIRE(
      quantize(adaptor, model.registry, {.non_finite = NonFinitePolicy::leave_float}).has_value());
  check_valid(graph);
}
