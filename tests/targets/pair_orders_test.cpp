#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ir/build.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/targets/runtime_profile.hpp"

using namespace quadrant;

namespace {

struct Case {
  std::string_view kind;
  Shape weight;
  Attributes attributes;
  std::vector<PairOrder> onnxruntime;
  std::vector<PairOrder> openvino;
  std::uint32_t operand = 1;
};

std::vector<PairOrder> orders_of(const Case& each, PairingRuntimes runtimes) {
  Graph graph;
  std::vector<Value> operands;
  for (std::uint32_t i = 0; i <= each.operand; ++i) {
    operands.push_back(graph.add_input("x" + std::to_string(i), build::f32(each.weight)));
  }
  const Value y =
      build::add(graph, std::string(each.kind), operands, TensorType(), each.attributes, "y");
  return pair_orders({&graph, y.node}, each.operand, each.weight, runtimes);
}

}  // namespace

TEST_CASE("orders of each kernel, and all of them where no runtime is named") {
  const std::vector<PairOrder> none;
  const Attributes groups_of_2{{"group", std::int64_t{2}}};
  const Attributes groups_of_8{{"group", std::int64_t{8}}};
  const std::vector<PairOrder> taps{{{2, 3, 1}}};
  for (const Case& each : {
           Case{ops::MatMul::kind, {6, 4}, {}, {{{0}}}, {{{0}}}},
           Case{ops::MatMul::kind, {2, 6, 4}, {}, {{{1}}}, {{{1}}}},
           Case{ops::MatMul::kind, {6}, {}, {{{0}}}, {{{0}}}},
           Case{ops::MatMul::kind, {6, 4}, {}, none, none, 0},  // data
           Case{ops::Gemm::kind, {6, 4}, {}, {{{0}}}, {{{0}}}},
           Case{ops::Gemm::kind, {4, 6}, {{"transB", std::int64_t{1}}}, {{{1}}}, {{{1}}}},
           Case{ops::Linear::kind, {4, 6}, {}, {{{1}}}, {{{1}}}},
           Case{ops::Addmm::kind, {6, 4}, {}, {{{0}}}, {{{0}}}, 2},
           Case{ops::Conv::kind, {8, 4, 3, 3}, {}, {{{1}}}, {{{1}}}},
           Case{ops::Conv::kind, {8, 3, 3, 3}, {}, taps, {{{1}}}},
           Case{ops::Conv::kind, {8, 3, 5}, {}, {{{2, 1}}}, {{{1}}}},
           Case{ops::Conv::kind, {8, 1, 3, 3}, {}, taps, none},
           Case{ops::Conv::kind, {8, 1, 3, 3}, groups_of_8, none, none},
           Case{ops::Conv::kind, {8, 1, 3, 3}, groups_of_2, taps, taps},  // four outputs a group
           Case{ops::Conv::kind, {8, 3, 3, 3}, groups_of_2, taps, {{{1}}, {{2, 3, 1}}}},
           Case{ops::Conv::kind, {8, 4, 3, 3}, groups_of_2, {{{1}}}, {{{1}}}},
           Case{ops::ConvTranspose::kind, {4, 8, 3, 3}, {}, none, {{{0}}}},
           Case{ops::ConvTranspose::kind, {6, 8, 3, 3}, groups_of_2, none, {{}}},
           Case{ops::Add::kind, {6, 4}, {}, none, none},
       }) {
    CAPTURE(each.kind);
    CAPTURE(to_string(each.weight));
    CHECK(orders_of(each, {.openvino = false}) == each.onnxruntime);
    CHECK(orders_of(each, {.onnxruntime = false}) == each.openvino);
    CHECK(orders_of(each, {.onnxruntime = false, .openvino = false}).empty());
    for (const auto& wanted : {each.onnxruntime, each.openvino}) {
      const auto all = orders_of(each, {});
      for (const PairOrder& order : wanted) CHECK(std::ranges::find(all, order) != all.end());
    }
  }
}

TEST_CASE("a convolution's order is not known where an extent of its weight is open") {
  for (const std::string_view kind : {ops::Conv::kind, ops::ConvTranspose::kind}) {
    const Case each{kind, {4, Extent::open(), 3, 3}, {}, {}, {}};
    CHECK(orders_of(each, {}) == std::vector{PairOrder()});
  }
}

TEST_CASE("what contradicts itself has no order, and no source") {
  Graph graph;
  const Value w = graph.add_constant("w", build::zeros(ElementType::int8, {4, 2}));
  const auto turned = [&](std::vector<std::int64_t> perm) {
    return build::add(graph, std::string(ops::Transpose::kind), {w}, build::f32({2, 4}),
                      {{"perm", std::move(perm)}});
  };
  CHECK(order_at_constant(graph, turned({1, 0}), {{0}}) == PairOrder{{1}});
  CHECK(order_at_constant(graph, turned({1}), {{1}}) == PairOrder());
  CHECK(order_at_constant(graph, turned({5, 0}), {{0}}) == PairOrder());
  CHECK(order_at_constant(graph, w, {{2}}) == PairOrder());
  CHECK(order_at_constant(graph, Value{}, {{0}}) == PairOrder());
  CHECK(code_source(graph, Value{}).is_absent());
  CHECK(code_source(graph, turned({1, 0})) == w);
  // A product without data, or without a weight.
  graph.add_output("y", build::add(graph, std::string(ops::MatMul::kind), {Value{}, w}));
  graph.add_output("z", build::add(graph, std::string(ops::MatMul::kind), {w}));
  CHECK(find_paired_products(graph).value().empty());
}
