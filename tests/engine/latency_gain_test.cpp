#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ir/build.hpp"
#include "quadrant/engine/gains/gain.hpp"

using namespace quadrant;

namespace {

const int any_constraint = 0;

// Numbers that make times easy to see.
HardwareProfile machine() {
  return {.name = "machine",
          .description = "",
          .bandwidth = 2,
          .cache_bytes = 0,
          .cache_bandwidth = 0,
          .overhead = 100,
          .float_products = 10,
          .int8_products = 20,
          .uint8_products = 40,
          .weights8_products = 20,
          .weights4_products = 16,
          .float_elements = 1,
          .int8_elements = 4,
          .quantize = 0.5,
          .dequantize = 0.25,
          .requantize = 0.125,
          .folds_constants = false};
}

ValueForm codes(ElementType type) { return {"s", &any_constraint, type}; }

OperandReading computing(NodeRef node, std::uint32_t operand,
                         ElementType type = ElementType::uint8) {
  return {node, operand, codes(type), true, true};
}

OperandReading in_front(NodeRef node, std::uint32_t operand, ElementType type = ElementType::int8) {
  return {node, operand, codes(type), false, false};
}

// x[rows, 32] w[32, 16] + bias, and what a convolution and elementwise operations are.
struct Operations {
  explicit Operations(std::int64_t rows = 64)
      : x(graph.add_input("x", build::f32({rows, 32}))),
        w(graph.add_constant("w", build::zeros(ElementType::float32, Shape{32, 16}))),
        bias(graph.add_constant("bias", build::zeros(ElementType::float32, Shape{16}))),
        y(build::add(graph, "gemm", {x, w, bias}, build::f32({rows, 16}))),
        sum(build::add(graph, "add", {y, bias}, build::f32({rows, 16}))) {}

  [[nodiscard]] NodeRef product() const { return graph.ref(y.node); }
  [[nodiscard]] NodeRef addition() const { return graph.ref(sum.node); }

  Graph graph;
  Value x;
  Value w;
  Value bias;
  Value y;
  Value sum;
};

}  // namespace

TEST_CASE("a product saves its time on floats less that on codes") {
  // 64 * 32 * 16 = 32768 products: 3276.8 ns in floats. 2048 + 512 + 16 + 1024 = 3600 elements:
  // 7200 ns in floats, for the bytes; 1800 ns in codes.
  const LatencyGain gains(machine());
  const Operations operations;
  const NodeRef product = operations.product();
  CHECK(gains.of_operand(computing(product, 0)) == Gain{5400});
  CHECK(gains.of_operand(computing(product, 1)) == Gain{});
  CHECK(gains.of_operand(computing(product, 2)) == Gain{});
  CHECK(gains.of_operand(computing(product, 9)) == Gain{});
  // Bytes no longer matter: 3276.8 - 819.2 = 2457.6 ns; by signed codes, half of 3276.8 ns.
  HardwareProfile fast_memory = machine();
  fast_memory.bandwidth = 1e6;
  const LatencyGain compute_bound(fast_memory);
  CHECK(compute_bound.of_operand(computing(product, 0)) == Gain{2458});
  CHECK(compute_bound.of_operand(computing(product, 0, ElementType::int8)) == Gain{1638});
  // Nobody computes faster on codes of 16 bits, but they are fewer bytes: 7200 - 3600.
  CHECK(gains.of_operand(computing(product, 0, ElementType::int16)) == Gain{3600});
  CHECK(compute_bound.of_operand(computing(product, 0, ElementType::int16)) == Gain{});
}

TEST_CASE("two factors that are computed have halves, wherever they stand") {
  const LatencyGain gains(machine());
  Graph graph;
  const Value added = graph.add_input("added", build::f32({16}));
  const Value x = graph.add_input("x", build::f32({64, 32}));
  const Value w = graph.add_input("w", build::f32({32, 16}));
  const Value y = build::add(graph, "addmm", {added, x, w}, build::f32({64, 16}));
  const Value z = build::add(graph, "matmul", {x, w}, build::f32({64, 16}));
  for (const auto& [value, first] : {std::pair(y, 1U), std::pair(z, 0U)}) {
    const NodeRef node = graph.ref(value.node);
    const Gain left = gains.of_operand(computing(node, first));
    const Gain right = gains.of_operand(computing(node, first + 1));
    CHECK(left == right);
    CHECK(left + right == Gain{first == 1 ? 5400 : 7168 - 1792});
    CHECK(gains.of_operand(computing(node, first == 1 ? 0 : 2)) == Gain{});
  }
}

TEST_CASE("other operations share by elements, and parts add up to the whole") {
  // 1024 + 16 + 1024 elements: 4128 ns for the bytes in floats, 1032 ns in codes.
  const LatencyGain gains(machine());
  const Operations operations;
  const Gain data = gains.of_operand(computing(operations.addition(), 0));
  const Gain bias = gains.of_operand(computing(operations.addition(), 1));
  CHECK(data + bias == Gain{4128 - 1032});
  CHECK(bias == Gain{48});  // 3096 * 16 / 1040 = 47.6
  CHECK(gains.of_operand(computing(operations.addition(), 2)) == Gain{});
  CHECK(gains.of_operand(in_front(operations.addition(), 0)) == Gain{});
  // A result that stays float: 1024 * 4 bytes for it, 1040 for the operands, 2568 ns.
  const OperandReading taken{operations.addition(), 0, codes(ElementType::int8), true, false};
  const OperandReading other{operations.addition(), 1, codes(ElementType::int8), true, false};
  CHECK(gains.of_operand(taken) + gains.of_operand(other) == Gain{4128 - 2568});
}

TEST_CASE("parts of operations with any number of operands add up, and indices have none") {
  const LatencyGain gains(machine());
  for (const std::int64_t size : {1, 3, 7, 1000}) {
    Graph graph;
    std::vector<Value> operands;
    double floats = 0;
    for (int i = 0; i < 7; ++i) {
      operands.push_back(graph.add_input("x" + std::to_string(i), build::f32({size + i, 3})));
      floats += static_cast<double>((size + i) * 3);
    }
    operands.push_back(Value{});
    operands.push_back(graph.add_input("axis", build::tensor(ElementType::int64, {1000})));
    const Value all = build::add(graph, "concat", operands,
                                 build::f32({static_cast<std::int64_t>(floats) / 3, 3}));
    Gain sum;
    for (std::uint32_t i = 0; i < operands.size(); ++i) {
      sum += gains.of_operand(computing(graph.ref(all.node), i));
    }
    CHECK(gains.of_operand(computing(graph.ref(all.node), 8)) == Gain{});
    // The bytes of the indices are there either way.
    const double whole = (2 * floats * 4 + 8000) / 2 - (2 * floats + 8000) / 2;
    CHECK(sum == Gain{std::llround(whole)});
  }
}

TEST_CASE("weights in codes beside floats run at a rate of their own") {
  const LatencyGain gains(machine());
  const Operations operations;
  // 7200 ns in floats; with codes for 512 of the elements, (3600 * 4 - 512 * 3) / 2 = 6432 ns, and
  // (3600 * 4 - 512 * 3.5) / 2 = 6304 ns.
  CHECK(gains.of_operand(in_front(operations.product(), 1)) == Gain{768});
  CHECK(gains.of_operand(in_front(operations.product(), 1, ElementType::uint4)) == Gain{896});
  CHECK(gains.of_operand(in_front(operations.product(), 0)) == Gain{});
  CHECK(gains.of_operand(in_front(operations.product(), 2)) == Gain{});
  CHECK(gains.of_operand(in_front(operations.product(), 1, ElementType::int16)) == Gain{});
  CHECK(gains.of_operand({operations.product(), 1, codes(ElementType::int8), true, false}) ==
        Gain{768});
  HardwareProfile without = machine();
  without.weights8_products = 0;
  CHECK(LatencyGain(without).of_operand(in_front(operations.product(), 1)) == Gain{});
  // A kernel that is slower than floats costs: 3276.8 ns at 1 product per ns is 32768 ns.
  HardwareProfile slow = machine();
  slow.weights8_products = 1;
  CHECK(LatencyGain(slow).of_operand(in_front(operations.product(), 1)) == Gain{7200 - 32768});
}

TEST_CASE("a product of something that no run reads from memory has no fused dequantize") {
  const LatencyGain gains(machine());
  Graph graph;
  const Value x = graph.add_input("x", build::f32({64, 32}));
  const Value w = graph.add_input("w", build::f32({32, 16}));
  const Value y = build::add(graph, "matmul", {x, w}, build::f32({64, 16}));
  CHECK(gains.of_operand(in_front(graph.ref(y.node), 1)) == Gain{});
}

TEST_CASE("a conversion takes an overhead, and its bytes or its elements") {
  const LatencyGain gains(machine());
  const Operations operations;
  const FormChange enter{&operations.graph, operations.x, {}, codes(ElementType::int8)};
  const FormChange leave{&operations.graph, operations.x, codes(ElementType::int8), {}};
  const FormChange convert{&operations.graph, operations.x, codes(ElementType::int8),
                           codes(ElementType::int16)};
  // 2048 elements; 5 bytes each are 5120 ns, more than the 4096 ns of quantizing.
  CHECK(gains.of_conversion(enter) == Gain{-100 - 5120});
  CHECK(gains.of_conversion(leave) == Gain{-100 - 8192});
  CHECK(gains.of_conversion(convert) == Gain{-100 - 16384});
}

TEST_CASE("bytes up to the size of the cache move as fast as it does") {
  HardwareProfile profile = machine();
  profile.cache_bytes = 8240;
  profile.cache_bandwidth = 10;
  const Operations operations;
  const auto of_addition = [&] {
    const LatencyGain gains(profile);
    return gains.of_operand(computing(operations.addition(), 0)) +
           gains.of_operand(computing(operations.addition(), 1));
  };
  // 8256 bytes in floats, of which 16 do not fit: 824 + 8 ns, less than 1024 elements take; in
  // codes 2064 bytes and 256 ns of elements.
  CHECK(of_addition() == Gain{1024 - 256});
  profile.float_elements = 2;
  CHECK(of_addition() == Gain{832 - 256});
  profile.cache_bytes = 4000;  // 400 + 4256 / 2
  CHECK(of_addition() == Gain{2528 - 256});
}

TEST_CASE("a dequantized constant is free where it is fused, or folded") {
  Operations operations;
  const auto leave = [&](Value value) {
    return FormChange{&operations.graph, value, codes(ElementType::int8), {}};
  };
  const LatencyGain gains(machine());
  CHECK(gains.of_conversion(leave(operations.w)) == Gain{});
  CHECK(gains.of_conversion(leave(operations.bias)) == Gain{-100 - 64});
  HardwareProfile without = machine();
  without.weights8_products = 0;
  CHECK(LatencyGain(without).of_conversion(leave(operations.w)) == Gain{-100 - 2048});
  without.folds_constants = true;
  CHECK(LatencyGain(without).of_conversion(leave(operations.w)) == Gain{});
  CHECK(LatencyGain(without).of_conversion(leave(operations.x)) == Gain{-100 - 8192});
  // One reader that needs the floats is enough.
  build::add(operations.graph, "relu", {operations.w}, build::f32({32, 16}));
  CHECK(gains.of_conversion(leave(operations.w)) == Gain{-100 - 2048});
}

TEST_CASE("a lookup reads what comes out of the table, and a reshape moves nothing") {
  const LatencyGain gains(machine());
  Graph graph;
  const Value table = graph.add_constant("table", build::zeros(ElementType::float32, {1000, 4}));
  const Value ids = graph.add_input("ids", build::tensor(ElementType::int64, {10}));
  const Value rows = build::add(graph, "gather", {table, ids}, build::f32({10, 4}));
  // 40 elements each way, and 80 bytes of indices: 200 ns in floats, 80 ns in codes.
  CHECK(gains.of_operand(computing(graph.ref(rows.node), 0)) == Gain{200 - 80});
  CHECK(gains.in_float(graph) == Gain{100 + 200});
  build::add(graph, "reshape", {rows}, build::f32({40}));
  CHECK(gains.in_float(graph) == Gain{100 + 200 + 100});
}

TEST_CASE("storing is worth nothing by itself") {
  CHECK(LatencyGain(machine()).of_storage({{}, {}, {1000, 10}}) == Gain{});
}

TEST_CASE("the whole of a graph is what its operations take") {
  const LatencyGain gains(machine());
  const Operations operations;
  CHECK(gains.in_float(operations.graph) == Gain{100 + 7200 + 100 + 4128});
  CHECK_FALSE(BytesGain().in_float(operations.graph).has_value());
  Operations folded;
  build::add(folded.graph, "transpose", {folded.w}, build::f32({16, 32}));
  CHECK(gains.in_float(folded.graph) == gains.in_float(operations.graph));
}

TEST_CASE("whatever becomes faster by codes alone gains, and no rate overflows") {
  const Operations operations(1024);
  const auto both = [&](const HardwareProfile& profile) {
    const LatencyGain gains(profile);
    return gains.of_operand(computing(operations.product(), 0)) +
           gains.of_operand(computing(operations.product(), 1));
  };
  const auto cost = [&](const HardwareProfile& profile) {
    return LatencyGain(profile).of_conversion(
        {&operations.graph, operations.x, {}, codes(ElementType::int8)});
  };
  Gain least{std::numeric_limits<std::int64_t>::min()};
  Gain cheapest = least;
  for (double rate = 1; rate <= 1024; rate *= 2) {
    HardwareProfile profile = machine();
    profile.bandwidth = 1e3;
    profile.uint8_products = rate;
    CHECK(both(profile) >= least);
    least = both(profile);
    profile = machine();
    profile.quantize = rate / 1024;
    profile.bandwidth = 1e3;
    CHECK(cost(profile) >= cheapest);
    cheapest = cost(profile);
  }
  // Memory that is twice as fast halves what a product saves that waits for it.
  HardwareProfile profile = machine();
  Gain before = both(profile);
  profile.float_products = profile.uint8_products = 1e9;
  for (const double bandwidth : {2.0, 4.0, 8.0}) {
    profile.bandwidth = bandwidth;
    CHECK(both(profile) <= before);
    before = both(profile);
  }
  Graph graph;
  const Value huge = graph.add_input("huge", build::f32({INT64_MAX, 3}));
  profile.bandwidth = profile.quantize = least_hardware_number;
  const Gain most =
      LatencyGain(profile).of_conversion({&graph, huge, {}, codes(ElementType::int8)});
  CHECK(most < Gain{});
  CHECK(most + most < most);  // sums do not saturate
}

TEST_CASE("nanoseconds trade against bytes") {
  const LatencyGain time(machine());
  const Operations operations;
  const ErrorTable none;
  const TradeGain trade({.byte = 1, .error = 0, .nanosecond = 1}, {.bytes = 1000, .seconds = 1},
                        none, &time);
  const Storing storing{
      operations.graph.ref(operations.w.node), codes(ElementType::int8), {2048, 512}};
  const double bytes = static_cast<double>(trade.of_storage(storing).amount());
  const double nanoseconds =
      static_cast<double>(trade.of_operand(computing(operations.product(), 0)).amount());
  CHECK(bytes / nanoseconds == doctest::Approx(1536.0 / 5400).epsilon(0.001));
  CHECK(trade.of_conversion({&operations.graph, operations.x, {}, codes(ElementType::int8)}) <
        Gain{});
}

TEST_CASE("the model is made by name, with the profile that comes first") {
  const std::unique_ptr<GainModel> made = make_gain_model("latency");
  REQUIRE(made != nullptr);
  CHECK(made->name() == "latency");
  CHECK(made->unit() == "nanoseconds");
  const Operations operations;
  const LatencyGain first(hardware_profiles().front());
  CHECK(made->in_float(operations.graph) == first.in_float(operations.graph));
  CHECK(made->in_float(operations.graph) > Gain{});
}
