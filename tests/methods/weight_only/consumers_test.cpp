// What each operation asks for: channels along the axis that its sum keeps, blocks along the one it
// runs over. Which axes those are is read off the operations' definitions.
#include <optional>

#include "methods/weight_only/build.hpp"
#include "quadrant/engine/explain/explain.hpp"

using namespace quadrant;

namespace {

struct AxisCase {
  std::string_view kind;
  std::vector<std::optional<std::vector<std::int64_t>>> operands;  // extents; none: absent
  std::size_t weight = 1;                                          // which one is constant
  std::int64_t channel = -1;                                       // expected; -1: none
  std::int64_t contracted = -1;
  Attributes attributes;
};

std::string planned(const AxisCase& each, const WeightOnlyOptions& options) {
  Graph graph;
  std::vector<Value> operands;
  for (std::size_t i = 0; i < each.operands.size(); ++i) {
    const auto& extents = each.operands[i];
    if (!extents) {
      operands.emplace_back();
    } else if (i == each.weight) {
      operands.push_back(build::weight(graph, "w", *extents));
    } else {
      operands.push_back(build::input(graph, "x", *extents));
    }
  }
  graph.add_output("y", build::node(graph, each.kind, "y", operands, each.attributes));
  return build::planned(build::quantize(graph, options, build::by_operands()), "w");
}

std::string axis(std::int64_t axis) { return "axis=" + std::to_string(axis); }

void check_axes(const AxisCase& each) {
  CAPTURE(each.kind);
  CAPTURE(each.weight);
  for (const auto& extents : each.operands) {
    CAPTURE(to_string(extents ? Shape(*extents) : Shape()));
  }
  const Shape shape(*each.operands[each.weight]);
  CAPTURE(to_string(shape));
  const std::string channels = each.channel < 0 ? "float" : axis(each.channel);
  CHECK(planned(each, {}) == channels);
  CHECK(planned(each, {.granularity = Granularity::Kind::tensor}) == "tensor");
  const std::int64_t extent = each.contracted < 0 ? 0 : shape[each.contracted].value();
  for (const std::int64_t size : {std::int64_t{2}, extent - 1, extent, extent + 1}) {
    if (size < 2) continue;
    const std::string found =
        planned(each, {.granularity = Granularity::Kind::block, .block_size = size});
    CAPTURE(size);
    const bool has_block = each.contracted >= 0 && size <= extent;
    CHECK(found ==
          (has_block ? axis(each.contracted) + " block=" + std::to_string(size) : channels));
  }
}

// The reason why a value stays float.
std::string refusal(const AxisCase& each, const WeightOnlyOptions& options) {
  Graph graph;
  std::vector<Value> operands;
  for (std::size_t i = 0; i < each.operands.size(); ++i) {
    operands.push_back(i == each.weight ? build::weight(graph, "w", *each.operands[i])
                                        : build::input(graph, "x", *each.operands[i]));
  }
  const Value y = build::node(graph, each.kind, "y", operands, each.attributes);
  graph.set_type(y, {ElementType::float32, Shape(), nullptr});
  graph.add_output("y", y);
  const auto result = build::quantize(graph, options, build::by_operands());
  CHECK(build::planned(result, "w") == "float");
  return explain(graph, result.analysis.registry, result.analysis, y.node).reason;
}

}  // namespace

TEST_CASE("matmul of all ranks: columns of B and rows of A, whatever is broadcast") {
  const std::vector<std::vector<std::int64_t>> a{{4}, {5, 4}, {2, 5, 4}, {3, 2, 5, 4}, {1, 5, 4}};
  const std::vector<std::vector<std::int64_t>> b{
      {4}, {4, 3}, {2, 4, 3}, {3, 2, 4, 3}, {3, 1, 4, 3}};
  for (const auto& left : a) {
    for (const auto& right : b) {
      const auto of_a = static_cast<std::int64_t>(left.size());
      const auto of_b = static_cast<std::int64_t>(right.size());
      check_axes({ops::MatMul::kind, {left, right}, 0, of_a == 1 ? -1 : of_a - 2, of_a - 1});
      // Rank 1: a column, whose one axis is summed; else the last axis but one is.
      check_axes({ops::MatMul::kind,
                  {left, right},
                  1,
                  of_b == 1 ? -1 : of_b - 1,
                  of_b == 1 ? 0 : of_b - 2});
    }
  }
}

TEST_CASE("gemm follows its transposes, with and without an addend") {
  for (const std::int64_t trans_a : {0, 1}) {
    for (const std::int64_t trans_b : {0, 1}) {
      const std::vector<std::int64_t> a =
          trans_a != 0 ? std::vector<std::int64_t>{4, 5} : std::vector<std::int64_t>{5, 4};
      const std::vector<std::int64_t> b =
          trans_b != 0 ? std::vector<std::int64_t>{3, 4} : std::vector<std::int64_t>{4, 3};
      const Attributes attributes{{"transA", trans_a}, {"transB", trans_b}};
      check_axes({ops::Gemm::kind, {a, b}, 0, trans_a, 1 - trans_a, attributes});
      check_axes({ops::Gemm::kind, {a, b, {{3}}}, 1, 1 - trans_b, trans_b, attributes});
    }
  }
}

TEST_CASE("batch_matmul, linear, addmm, baddbmm") {
  using Extents = std::vector<std::int64_t>;
  check_axes({ops::BatchMatMul::kind, {Extents{2, 5, 4}, Extents{2, 4, 3}}, 0, 1, 2});
  check_axes({ops::BatchMatMul::kind, {Extents{2, 5, 4}, Extents{2, 4, 3}}, 1, 2, 1});
  check_axes({ops::Linear::kind, {Extents{2, 5, 4}, Extents{3, 4}}, 1, 0, 1});
  check_axes({ops::Linear::kind, {Extents{5, 4}, Extents{3, 4}, Extents{3}}, 1, 0, 1});
  check_axes({ops::Addmm::kind, {Extents{3}, Extents{5, 4}, Extents{4, 3}}, 1, 0, 1});
  check_axes({ops::Addmm::kind, {Extents{5, 1}, Extents{5, 4}, Extents{4, 3}}, 2, 1, 0});
  check_axes({ops::Baddbmm::kind, {Extents{3}, Extents{2, 5, 4}, Extents{2, 4, 3}}, 1, 1, 2});
  check_axes({ops::Baddbmm::kind, {Extents{2, 5, 3}, Extents{2, 5, 4}, Extents{2, 4, 3}}, 2, 2, 1});
}

TEST_CASE("einsum: the longest label that is kept, and the longest that is summed") {
  using Extents = std::vector<std::int64_t>;
  const auto einsum = [](const char* equation, Extents a, Extents b, std::size_t weight,
                         std::int64_t channel, std::int64_t contracted) {
    CAPTURE(equation);
    check_axes({ops::Einsum::kind,
                {std::move(a), std::move(b)},
                weight,
                channel,
                contracted,
                {{"equation", std::string(equation)}}});
  };
  einsum("ij,jk->ik", {2, 5}, {5, 3}, 0, 0, 1);
  einsum("ij,jk->ik", {2, 5}, {5, 3}, 1, 1, 0);
  einsum("ij,kj", {2, 5}, {3, 5}, 1, 0, 1);               // a result that is left out: ik
  einsum("bij,bjk->bik", {2, 3, 4}, {2, 4, 5}, 1, 2, 1);  // b is in all three: no channel
  einsum("bhid,bhjd->bhij", {2, 3, 4, 6}, {2, 3, 5, 6}, 1, 2, 3);
  einsum("abc,cd->abd", {2, 3, 4}, {4, 5}, 0, 1, 2);  // a and b are kept; b is longer
  einsum("abc,cde->abde", {2, 3, 4}, {4, 3, 7}, 1, 2, 0);
  einsum("ij,jkl->ik", {2, 4}, {4, 3, 6}, 1, 1, 2);  // j and l are summed; l is longer
  einsum("ij,ij->i", {2, 5}, {2, 5}, 1, -1, 1);      // i is a batch label
  einsum("ij,ij->ij", {2, 5}, {2, 5}, 1, -1, -1);
  einsum("i,j->ij", {2}, {5}, 1, 0, -1);  // nothing is summed
}

TEST_CASE("einsum that is no product of two matrices asks for nothing, and says so") {
  using Extents = std::vector<std::int64_t>;
  const auto reason = [](const char* equation, std::vector<Extents> extents) {
    AxisCase each{ops::Einsum::kind, {}, 1, -1, -1, {{"equation", std::string(equation)}}};
    for (auto& one : extents) each.operands.emplace_back(std::move(one));
    return refusal(each, {.granularity = Granularity::Kind::tensor});
  };
  for (const char* equation : {"...ij,jk->...ik", "ii,ij->j"}) {
    CHECK(reason(equation, {{4, 4}, {4, 3}}).find("no product of two matrices") !=
          std::string::npos);
  }
}

TEST_CASE("convolutions of one to three dimensions: output channels, also grouped") {
  using Extents = std::vector<std::int64_t>;
  for (std::size_t spatial = 1; spatial <= 3; ++spatial) {
    const auto with = [spatial](std::int64_t first, std::int64_t second, std::int64_t extent) {
      Extents extents{first, second};
      extents.resize(spatial + 2, extent);
      return extents;
    };
    check_axes({ops::Conv::kind, {with(1, 6, 5), with(9, 6, 3)}, 1, 0, 1});
    check_axes(
        {ops::Conv::kind, {with(1, 6, 5), with(9, 2, 3)}, 1, 0, 1, {{"group", std::int64_t{3}}}});
    check_axes({ops::Conv::kind,
                {with(1, 6, 5), with(6, 1, 3), Extents{6}},
                1,
                0,
                1,
                {{"group", std::int64_t{6}}}});  // depthwise
    check_axes({ops::ConvTranspose::kind, {with(1, 6, 5), with(6, 9, 3), std::nullopt}, 1, 1, 0});
    check_axes({ops::ConvTranspose::kind,
                {with(1, 6, 5), with(6, 3, 3), Extents{9}},
                1,
                1,
                0,
                {{"group", std::int64_t{3}}}});
  }
}

TEST_CASE("recurrent layers: a scale for each row of a gate, blocks along what is summed") {
  using Extents = std::vector<std::int64_t>;
  struct Layer {
    std::string_view kind;
    std::int64_t gates;
  };
  for (const Layer& layer : {Layer{ops::Rnn::kind, 1}, {ops::Gru::kind, 3}, {ops::Lstm::kind, 4}}) {
    for (const std::int64_t directions : {1, 2}) {
      constexpr std::int64_t hidden = 5;
      const Extents x{7, 2, 6};
      const Extents w{directions, layer.gates * hidden, 6};
      const Extents r{directions, layer.gates * hidden, hidden};
      const Extents b{directions, 2 * layer.gates * hidden};
      Attributes attributes{{"hidden_size", hidden}};
      if (directions == 2) attributes.set("direction", std::string("bidirectional"));
      check_axes({layer.kind, {x, w, r}, 1, 1, 2, attributes});
      check_axes({layer.kind, {x, w, r, b}, 2, 1, 2, attributes});
    }
  }
}

TEST_CASE("a recurrent layer with two constant weights has both quantized") {
  Graph graph;
  const Value x = build::input(graph, "x", {7, 2, 6});
  const Value w = build::weight(graph, "w", {1, 20, 6});
  const Value r = build::weight(graph, "r", {1, 20, 5});
  const Value b = build::weight(graph, "b", {1, 40});
  graph.add_output("y", build::node(graph, ops::Lstm::kind, "y", {x, w, r, b},
                                    {{"hidden_size", std::int64_t{5}}}));
  const auto result = build::quantize(graph);
  CHECK(build::planned(result, "w") == "axis=1");
  CHECK(build::planned(result, "r") == "axis=1");
  CHECK(build::planned(result, "b") == "float");
}

TEST_CASE("gather: a scale for each row of the table, blocks along the row") {
  using Extents = std::vector<std::int64_t>;
  struct Lookup {
    Extents table;
    std::int64_t axis;
    std::int64_t along;
  };
  for (const Lookup& each : {Lookup{{9, 4}, 0, 1},
                             {{9, 4}, 1, 0},
                             {{3, 9, 4}, 1, 2},
                             {{3, 9, 4}, 2, 1},
                             {{9, 4}, -1, 0}}) {
    for (const Extents& shape : {Extents{}, Extents{2}, Extents{2, 3}}) {
      for (const WeightOnlyOptions& options :
           {WeightOnlyOptions{},
            {.granularity = Granularity::Kind::tensor},
            {.granularity = Granularity::Kind::block, .block_size = 4},
            {.granularity = Granularity::Kind::block, .block_size = 10}}) {
        Graph graph;
        const Value table = build::weight(graph, "table", each.table);
        const Value indices =
            graph.add_input("indices", {ElementType::int64, Shape(shape), nullptr});
        graph.add_output("y", build::node(graph, ops::Gather::kind, "y", {table, indices},
                                          {{"axis", each.axis}}));
        const auto rank = static_cast<std::int64_t>(each.table.size());
        const std::int64_t rows = each.axis < 0 ? each.axis + rank : each.axis;
        std::string expected = axis(rows);
        if (options.granularity == Granularity::Kind::tensor) expected = "tensor";
        const std::int64_t extent = each.table[static_cast<std::size_t>(each.along)];
        if (options.granularity == Granularity::Kind::block && extent >= options.block_size) {
          expected = axis(each.along) + " block=4";
        }
        const auto result = build::quantize(graph, options, build::by_operands());
        CHECK(build::planned(result, "table") == expected);
      }
    }
  }
}

TEST_CASE("gather from a list of numbers asks for nothing, and says so") {
  Graph graph;
  const Value table = build::weight(graph, "table", {9});
  const Value indices = graph.add_input("indices", {ElementType::int64, Shape{2}, nullptr});
  const Value y =
      build::node(graph, ops::Gather::kind, "y", {table, indices}, {{"axis", std::int64_t{0}}});
  graph.add_output("y", y);
  const auto result = build::quantize(graph, build::by_operands());
  CHECK(build::planned(result, "table") == "float");
}

TEST_CASE("a transposed convolution whose kernel has an unknown rank takes part in nothing") {
  Graph graph;
  const Value x = build::input(graph, "x", {1, 4, 8});
  const Value w = graph.add_input("w", {ElementType::float32, Shape(), nullptr});
  graph.add_output("y", build::node(graph, ops::ConvTranspose::kind, "y", {x, w}));
  CHECK(build::quantize(graph).analysis.plan.values.empty());
}
