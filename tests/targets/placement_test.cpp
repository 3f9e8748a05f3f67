#include "quadrant/targets/placement.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "models.hpp"

using namespace quadrant;

namespace {

using enum PlacementVerdict;

constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();

const RuntimePlacement& on(const Placement& placement, std::string_view name) {
  for (const RuntimePlacement& runtime : placement.runtimes) {
    if (runtime.runtime == name) return runtime;
  }
  FAIL("no such runtime");
  return placement.runtimes.front();
}

std::vector<PlacementVerdict> verdicts(const Graph& graph) {
  const auto placement = place(graph);
  REQUIRE(placement);
  std::vector<PlacementVerdict> result;
  for (const RuntimePlacement& runtime : placement->runtimes) result.push_back(runtime.verdict);
  return result;
}

bool mentions(const std::vector<std::string>& notes, std::string_view words) {
  for (const std::string& note : notes) {
    if (note.find(words) != std::string::npos) return true;
  }
  return false;
}

// A product of the input with one weight.
Graph with_weight(ElementType element, const Shape& shape) {
  Graph graph;
  const Value x = graph.add_input("x", build::f32({1, 4}));
  const Value w = models::weight(graph, "w", element, shape);
  graph.add_output("y", build::add(graph, "matmul", {x, w}, build::f32({1, 6})));
  return graph;
}

Graph with_input(const TensorType& type) {
  Graph graph = models::floating();
  graph.add_input("second", type);
  return graph;
}

}  // namespace

TEST_CASE("the table of the documentation, row by row") {
  //                                              CPU        GPU        DSP        AIP
  CHECK(verdicts(models::floating()) == std::vector{native, native, converted, refused});
  CHECK(verdicts(models::quantized()) == std::vector{converted, converted, native, native});
}

TEST_CASE("what a float model costs") {
  const auto placement = place(models::floating(), {.elements_per_second = 19});
  REQUIRE(placement);
  CHECK(placement->form == ModelForm::floating);
  // w 24, v 12, b 2 elements of 4 bytes.
  CHECK(placement->parameters.all == ParameterTotals{3, 38, 152});
  for (const char* name : {"CPU", "GPU"}) {
    const RuntimePlacement& runtime = on(*placement, name);
    REQUIRE(runtime.load);
    CHECK(runtime.load->converted == ParameterTotals{});
    CHECK(runtime.load->bytes_written == 0);
    CHECK(runtime.load->seconds == 0);
    CHECK(runtime.load->peak_bytes == 152);
    CHECK(runtime.load->bytes_after == 152);
    CHECK(runtime.accuracy == AccuracyNote{});
    CHECK(!runtime.execution_depends_on_form);
  }
  const RuntimePlacement& dsp = on(*placement, "DSP");
  REQUIRE(dsp.load);
  CHECK(dsp.load->converted == ParameterTotals{3, 38, 152});
  // A byte each, a scale of 4 bytes and a zero point of 1 for each of three.
  CHECK(dsp.load->bytes_written == 38 + 3 * 5);
  CHECK(dsp.load->peak_bytes == 152 + 53);
  CHECK(dsp.load->bytes_after == 53);
  CHECK(dsp.load->seconds == 2);
  CHECK(dsp.accuracy == AccuracyNote{.noise_at_load = true, .quantized_at_run = true});
  CHECK(!dsp.execution_depends_on_form);
  const RuntimePlacement& aip = on(*placement, "AIP");
  CHECK(!aip.load);
  CHECK(!aip.accuracy);
  CHECK(aip.refused == ParameterTotals{3, 38, 152});
  CHECK(aip.largest_refused == "w");
  CHECK(aip.refuses_activations);
  CHECK(mentions(placement->notes, "for AIP, quantize the model"));
}

TEST_CASE("what a quantized model costs") {
  const auto placement = place(models::quantized(), {.elements_per_second = 76});
  REQUIRE(placement);
  CHECK(placement->form == ModelForm::quantized);
  // Codes, scales, zero points: w 24 + 4 + 1, v 12 + 6 * (4 + 1), b 8 + 4 + 4.
  constexpr std::uint64_t stored = 29 + 42 + 16;
  CHECK(placement->parameters.all == ParameterTotals{3, 38, stored});
  CHECK(placement->parameters.storage ==
        std::vector<StorageTotals>{{ParameterForm::quantized, ElementType::int8, {1, 24, 29}},
                                   {ParameterForm::quantized, ElementType::uint8, {1, 12, 42}},
                                   {ParameterForm::quantized, ElementType::int32, {1, 2, 16}}});
  const RuntimePlacement& cpu = on(*placement, "CPU");
  REQUIRE(cpu.load);
  CHECK(cpu.load->converted == ParameterTotals{3, 38, stored});
  CHECK(cpu.load->bytes_written == 152);
  CHECK(cpu.load->peak_bytes == stored + 152);
  CHECK(cpu.load->bytes_after == 152);
  CHECK(cpu.load->seconds == 0.5);
  CHECK(cpu.accuracy == AccuracyNote{.noise_in_file = true, .float_may_be_better = true});
  CHECK(!cpu.execution_depends_on_form);
  for (const char* name : {"DSP", "AIP"}) {
    const RuntimePlacement& runtime = on(*placement, name);
    REQUIRE(runtime.load);
    CHECK(runtime.load->converted.count == 0);
    CHECK(runtime.load->peak_bytes == stored);
    CHECK(runtime.load->bytes_after == stored);
    CHECK(runtime.accuracy == AccuracyNote{.noise_in_file = true, .quantized_at_run = true});
  }
  CHECK(mentions(placement->notes, "1 quantized parameter has a scale for each channel"));
}

TEST_CASE("one weight left in float: mixed, and AIP names it") {
  Graph graph = models::quantized();
  const Value odd = models::weight(graph, "odd", ElementType::float32, {10});
  graph.add_output("sum", build::add(graph, "add", {graph.find_value("z"), odd}, build::f32({10})));
  const auto placement = place(graph);
  REQUIRE(placement);
  CHECK(placement->form == ModelForm::mixed);
  CHECK(verdicts(graph) == std::vector{converted, converted, converted, refused});
  const RuntimePlacement& dsp = on(*placement, "DSP");
  CHECK(dsp.load->converted == ParameterTotals{1, 10, 40});
  CHECK(dsp.load->bytes_written == 15);
  CHECK(dsp.load->bytes_after == 87 + 15);
  CHECK(dsp.load->peak_bytes == 87 + 40 + 15);
  CHECK(on(*placement, "AIP").refused == ParameterTotals{1, 10, 40});
  CHECK(on(*placement, "AIP").largest_refused == "odd");
  // The CPU keeps the float one.
  CHECK(on(*placement, "CPU").load->bytes_after == 152 + 40);
}

TEST_CASE("quantized weights with float activations do for DSP and not for AIP") {
  Graph graph;
  const Value x = graph.add_input("x", build::f32({1, 4}));
  const Value w = models::coded_weight(graph, "w", ElementType::int8, {4, 6});
  graph.add_output("y", build::add(graph, "matmul", {x, w}, build::f32({1, 6})));
  const auto placement = place(graph);
  REQUIRE(placement);
  CHECK(on(*placement, "DSP").verdict == native);
  const RuntimePlacement& aip = on(*placement, "AIP");
  CHECK(aip.verdict == refused);
  CHECK(aip.refused.count == 0);
  CHECK(aip.refuses_activations);
  CHECK(placement->activations.count == 2);
  CHECK(placement->activations.first_unquantized == "x");
}

TEST_CASE("4 and 16 bits: DSP makes 8 of them, AIP refuses them") {
  struct Case {
    ElementType storage;
    std::uint64_t stored;
    bool loses;
  };
  // Codes, a scale of 4 bytes, and a zero point: 4 bits of 24 are 12 bytes.
  for (const Case& each :
       {Case{ElementType::int4, 12 + 4 + 1, false}, Case{ElementType::uint4, 12 + 4 + 1, false},
        Case{ElementType::int16, 48 + 4 + 2, true}}) {
    Graph graph;
    const Value x = models::requantized(graph, graph.add_input("x", build::f32({1, 4})));
    const Value w = models::coded_weight(graph, "w", each.storage, {4, 6});
    const Value y = build::add(graph, "matmul", {x, w}, build::f32({1, 6}));
    graph.add_output("y", models::requantized(graph, y));
    const auto placement = place(graph);
    REQUIRE(placement);
    CHECK(placement->parameters.all == ParameterTotals{1, 24, each.stored});
    const RuntimePlacement& dsp = on(*placement, "DSP");
    CHECK(dsp.verdict == converted);
    CHECK(dsp.load->bytes_written == 24 + 4 + 1);
    CHECK(dsp.accuracy->noise_at_load == each.loses);
    CHECK(on(*placement, "CPU").load->bytes_written == 96);
    CHECK(on(*placement, "AIP").verdict == refused);
    CHECK(!on(*placement, "AIP").refuses_activations);
  }
}

TEST_CASE("floats that are not float32 are widened or narrowed by the CPU") {
  struct Case {
    ElementType element;
    std::uint64_t stored;
    bool loses;
  };
  for (const Case& each :
       {Case{ElementType::float16, 48, false}, Case{ElementType::bfloat16, 48, false},
        Case{ElementType::float64, 192, true}}) {
    const auto placement = place(with_weight(each.element, {4, 6}));
    REQUIRE(placement);
    const RuntimePlacement& cpu = on(*placement, "CPU");
    CHECK(cpu.verdict == converted);
    CHECK(cpu.load->converted == ParameterTotals{1, 24, each.stored});
    CHECK(cpu.load->bytes_written == 96);
    CHECK(cpu.load->peak_bytes == each.stored + 96);
    CHECK(cpu.accuracy->noise_at_load == each.loses);
    CHECK(!cpu.accuracy->float_may_be_better);
  }
}

TEST_CASE("nothing to load") {
  const auto empty = place(Graph());
  REQUIRE(empty);
  CHECK(empty->form == ModelForm::none);
  CHECK(empty->batch == BatchExtent::none);
  CHECK(empty->notes.empty());
  CHECK(verdicts(Graph()) == std::vector{native, native, native, native});
  for (const RuntimePlacement& runtime : empty->runtimes) {
    CHECK(runtime.load->peak_bytes == 0);
    CHECK(runtime.subnets.empty());
  }
  // Without weights, only the activations can stand in the way.
  Graph graph;
  const Value x = graph.add_input("x", build::f32({1, 4}));
  graph.add_output("y", build::add(graph, "onnx.Relu", {x}, build::f32({1, 4})));
  CHECK(verdicts(graph) == std::vector{native, native, native, refused});
}

TEST_CASE("the batch, and what it means") {
  const auto batch_of = [](const TensorType& type) {
    const auto placement = place(with_input(type));
    REQUIRE(placement);
    CHECK(mentions(placement->notes, "set the first axis of the inputs to 1") ==
          (placement->batch == BatchExtent::other || placement->batch == BatchExtent::unknown));
    return placement->batch;
  };
  CHECK(batch_of(build::f32({1, 7})) == BatchExtent::one);
  CHECK(batch_of(build::f32({8, 7})) == BatchExtent::other);
  CHECK(batch_of(build::f32({0})) == BatchExtent::other);
  CHECK(batch_of(build::f32({Extent::open(), 7})) == BatchExtent::unknown);
  CHECK(batch_of(build::f32({})) == BatchExtent::unknown);
  CHECK(batch_of({}) == BatchExtent::unknown);
  CHECK(batch_of(build::f32(Shape::scalar())) == BatchExtent::one);

  Graph scalar;
  scalar.add_input("x", build::f32(Shape::scalar()));
  CHECK(place(scalar)->batch == BatchExtent::none);
  // An input that is not 1 says more than one that nobody knows.
  Graph both = with_input(build::f32({Extent::open()}));
  both.add_input("third", build::f32({2}));
  CHECK(place(both)->batch == BatchExtent::other);
}

TEST_CASE("a quantized model may have any batch") {
  Graph graph = models::quantized();
  graph.set_type(graph.find_value("x"), build::f32({8, 4}));
  const auto placement = place(graph);
  REQUIRE(placement);
  CHECK(placement->batch == BatchExtent::other);
  CHECK(!mentions(placement->notes, "batch"));
}

TEST_CASE("huge sizes stay at the largest number") {
  constexpr std::int64_t huge = std::int64_t{1} << 61;
  Graph graph = with_weight(ElementType::float64, {2, huge});
  const auto placement = place(graph);
  REQUIRE(placement);
  CHECK(placement->parameters.all == ParameterTotals{1, std::uint64_t{1} << 62U, largest});
  for (const char* name : {"CPU", "DSP"}) {
    const LoadCost& load = *on(*placement, name).load;
    CHECK(load.bytes_written == largest);
    CHECK(load.peak_bytes == largest);
    CHECK(load.bytes_after == largest);
    CHECK(load.seconds == doctest::Approx(std::ldexp(1, 62) / 1e8));
  }
  for (int i = 0; i < 5; ++i) {
    const Value w = models::weight(graph, "w", ElementType::float32, {2, huge});
    build::add(graph, "onnx.Relu", {w});
  }
  CHECK(place(graph)->parameters.all == ParameterTotals{6, largest, largest});
}

TEST_CASE("just below the limit, figures are exact") {
  constexpr std::int64_t many = std::int64_t{1} << 56;
  const auto placement = place(with_weight(ElementType::float32, {many}));
  REQUIRE(placement);
  constexpr auto elements = static_cast<std::uint64_t>(many);
  CHECK(placement->parameters.all.bytes == 4 * elements);
  CHECK(on(*placement, "DSP").load->bytes_written == elements + 5);
  CHECK(on(*placement, "DSP").load->peak_bytes == 5 * elements + 5);
}

TEST_CASE("a runtime of one's own") {
  // Computes with float16 and int8, each as it comes; makes float16 of all other floats.
  RuntimeProfile npu;
  npu.name = "NPU";
  npu.floating = {.native = {ElementType::float16}, .becomes = ElementType::float16};
  npu.quantized = {.native = {ElementType::int8}, .becomes = ElementType::float16};
  const PlacementOptions options{.runtimes = {npu}};
  const auto floats = place(models::floating(), options);
  REQUIRE(floats);
  REQUIRE(floats->runtimes.size() == 1);
  CHECK(floats->runtimes[0].execution_depends_on_form);
  CHECK(floats->runtimes[0].load->bytes_written == 76);
  CHECK(floats->runtimes[0].accuracy == AccuracyNote{.noise_at_load = true});
  const auto codes = place(models::quantized(), options);
  REQUIRE(codes);
  // w stays; v of uint8 and b of int32 become float16.
  CHECK(codes->runtimes[0].verdict == converted);
  CHECK(codes->runtimes[0].load->converted == ParameterTotals{2, 14, 58});
  CHECK(codes->runtimes[0].load->bytes_written == 28);
  CHECK(codes->runtimes[0].load->bytes_after == 29 + 28);
  CHECK(codes->runtimes[0].accuracy == AccuracyNote{.noise_in_file = true,
                                                    .noise_at_load = true,
                                                    .quantized_at_run = true,
                                                    .float_may_be_better = true});
}

TEST_CASE("profiles and options that make no sense") {
  const auto message = [](const PlacementOptions& options) {
    const auto placement = place(Graph(), options);
    REQUIRE(!placement);
    CHECK(placement.error().code == ErrorCode::usage);
    return placement.error().message;
  };
  const auto of_profile = [&](auto change) {
    RuntimeProfile profile = snpe_runtimes()[3];
    change(profile);
    return message({.runtimes = {profile}});
  };
  CHECK(mentions({message({.runtimes = {}})}, "no runtime"));
  CHECK(mentions({message({.runtimes = {snpe_runtimes()[1], snpe_runtimes()[1]}})},
                 "two runtimes 'GPU'"));
  for (const double throughput : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    CHECK(mentions({message({.elements_per_second = throughput})}, "above 0"));
  }
  CHECK(mentions({of_profile([](auto& profile) { profile.name.clear(); })}, "needs a name"));
  CHECK(mentions({of_profile([](auto& profile) { profile.floating.native = {ElementType::int8}; })},
                 "no float"));
  CHECK(
      mentions({of_profile([](auto& profile) { profile.quantized.native = {ElementType::int64}; })},
               "at most 32 bits"));
  CHECK(mentions(
      {of_profile([](auto& profile) { profile.quantized.native = {ElementType::float32}; })},
      "no integer"));
  CHECK(mentions({of_profile([](auto& profile) { profile.floating.becomes = ElementType::int16; })},
                 "become i16"));
  CHECK(mentions({of_profile([](auto& profile) { profile.split->second = "HTA"; })}, "differ"));
  CHECK(mentions({of_profile([](auto& profile) { profile.split->first.clear(); })}, "differ"));
}

TEST_CASE("a cycle is an error") {
  Graph graph;
  const Value a = build::add(graph, "onnx.Relu", {Value{}});
  graph.set_operand(a.node, 0, a);
  const auto placement = place(graph);
  REQUIRE(!placement);
  CHECK(placement.error().code == ErrorCode::invalid_model);
}

TEST_CASE("what is not counted is said") {
  Graph graph = models::floating();
  build::add(graph, "onnx.If", {graph.find_value("x")});
  build::add(graph, "onnx.initializer", {});
  const auto placement = place(graph);
  REQUIRE(placement);
  CHECK(mentions(placement->notes, "subgraphs of 1 operation"));
  CHECK(mentions(placement->notes, "1 constant of a type"));
  CHECK(!mentions(place(models::floating())->notes, "not counted"));
}
