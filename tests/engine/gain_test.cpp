#include "quadrant/engine/gains/gain.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <utility>

#include "ir/build.hpp"

using namespace quadrant;

namespace {

Storing storing(std::uint64_t before, std::uint64_t after) { return {{}, {}, {before, after}}; }

}  // namespace

TEST_CASE("gains saturate at both ends, so order does not matter") {
  constexpr Gain most{std::numeric_limits<std::int64_t>::max()};
  constexpr Gain least{std::numeric_limits<std::int64_t>::min()};
  CHECK(most + Gain{1} == most);
  CHECK(least + Gain{-1} == least);
  CHECK(most + least == Gain{-1});
  CHECK(Gain{2} + Gain{-5} == Gain{-3});
}

TEST_CASE("the bytes model counts what a file saves, and may be negative") {
  const BytesGain bytes;
  CHECK(bytes.of_storage(storing(100, 30)) == Gain{70});
  CHECK(bytes.of_storage(storing(4, 6)) == Gain{-2});
  CHECK(bytes.of_operand({{}, 0}) == Gain{});
}

TEST_CASE("the unit model counts consuming operands") {
  const UnitGain unit;
  CHECK(unit.of_storage(storing(100, 30)) == Gain{});
  CHECK(unit.of_operand({{}, 1}) == Gain{1});
}

TEST_CASE("models are made by name") {
  CHECK(make_gain_model("unit")->name() == "unit");
  CHECK(make_gain_model("bytes")->unit() == "bytes");
  CHECK(make_gain_model("operations")->name() == "operations");
  CHECK(make_gain_model("euros") == nullptr);
}

TEST_CASE("the operations model shares products between factors, and counts elements elsewhere") {
  const OperationsGain operations;
  Graph graph;
  const Value x = graph.add_input("x", build::f32({Extent::open(), 3}));
  const Value w = graph.add_input("w", build::f32({3, 5}));
  const Value bias = graph.add_input("bias", build::f32({5}));
  const Value y = build::add(graph, "gemm", {x, w, bias}, build::f32({Extent::open(), 5}));
  const NodeRef product = graph.ref(y.node);
  CHECK(operations.of_operand({product, 0}) == Gain{7});  // of 3 * 5, half
  CHECK(operations.of_operand({product, 1}) == Gain{7});
  CHECK(operations.of_operand({product, 2}) == Gain{});
  // The addend may stand in front.
  const Value second = build::add(graph, "addmm", {bias, x, w}, build::f32({Extent::open(), 5}));
  CHECK(operations.of_operand({graph.ref(second.node), 0}) == Gain{});
  CHECK(operations.of_operand({graph.ref(second.node), 1}) == Gain{7});
  CHECK(operations.of_operand({graph.ref(second.node), 2}) == Gain{7});
  const Value sum = build::add(graph, "add", {y, bias, Value{}}, build::f32({Extent::open(), 5}));
  CHECK(operations.of_operand({graph.ref(sum.node), 1}) == Gain{5});
  CHECK(operations.of_operand({graph.ref(sum.node), 2}) == Gain{});
  CHECK(operations.of_operand({graph.ref(sum.node), 9}) == Gain{});
}

TEST_CASE("the operations model charges two for each element that changes its form") {
  const OperationsGain operations;
  Graph graph;
  const Value x = graph.add_input("x", build::f32({Extent::open(), 3, 4}));
  const int constraint = 0;
  const ValueForm codes{"s", &constraint};
  for (const auto& [before, after] :
       {std::pair(ValueForm{}, codes), std::pair(codes, ValueForm{}), std::pair(codes, codes)}) {
    CHECK(operations.of_conversion({&graph, x, before, after}) == Gain{-24});
  }
  CHECK(operations.of_storage(storing(100, 30)) == Gain{70});
  CHECK(operations.unit() == "operations");
  const Value huge = graph.add_input("huge", build::f32({INT64_MAX, 3}));
  CHECK(operations.of_conversion({&graph, huge, {}, codes}) ==
        Gain{std::numeric_limits<std::int64_t>::min()});
}
