#include "quadrant/ir/ops.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "build.hpp"
#include "shortened.hpp"

using namespace quadrant;

namespace {

std::vector<std::int64_t> perm_of(Shape operand, Attributes attributes, Shape result = {}) {
  Graph graph;
  const Value x = graph.add_input("x", build::f32(std::move(operand)));
  const Value y =
      build::add(graph, "transpose", {x}, build::f32(std::move(result)), std::move(attributes));
  return ops::Transpose{graph.ref(y.node)}.perm();
}

using Perm = std::vector<std::int64_t>;
using Integers = std::vector<std::int64_t>;

/// A node of `kind` on an operand of shape `data` and one constant for each of `lists`; an empty
/// list is an absent operand.
class Node {
 public:
  Node(std::string kind, Shape data, const std::vector<Integers>& lists, Attributes attributes = {},
       std::size_t results = 1) {
    std::vector<Value> operands{graph_.add_input("x", build::f32(std::move(data)))};
    for (const Integers& list : lists) {
      operands.push_back(list.empty() ? Value{}
                                      : graph_.add_constant("list", build::integers(list)));
    }
    NodeSpec spec{.kind = std::move(kind), .operands = std::move(operands)};
    spec.results.resize(results);
    spec.attributes = std::move(attributes);
    id_ = graph_.add(std::move(spec));
  }
  NodeRef ref() const { return graph_.ref(id_); }

 private:
  Graph graph_;
  NodeId id_;
};

/// The indices that a slice takes: a bound is counted from the end where it is negative, the start
/// is moved into the extent, and then all indices are asked.
Integers walk(std::int64_t extent, std::int64_t start, std::int64_t end, std::int64_t step) {
  if (start < 0) start += extent;
  if (end < 0) end += extent;
  Integers found;
  for (std::int64_t i = 0; i < extent; ++i) {  // which of all indices are taken
    const std::int64_t first = step > 0 ? std::max<std::int64_t>(start, 0)
                                        : std::min<std::int64_t>(start < 0 ? 0 : start, extent - 1);
    const bool inside = step > 0 ? i >= first && i < end : i <= first && i > end;
    if (inside && (i - first) % step == 0) found.push_back(i);
  }
  if (step < 0) std::ranges::reverse(found);
  return found;
}

std::optional<ops::Einsum::Equation> parsed(std::string equation, std::size_t operands) {
  Graph graph;
  const std::vector<Value> all(operands, graph.add_input("x", build::f32(Shape())));
  const Value y = build::add(graph, "einsum", all, {}, {{"equation", std::move(equation)}});
  return ops::Einsum{graph.ref(y.node)}.equation();
}

using Equation = ops::Einsum::Equation;

}  // namespace

TEST_CASE("normalize_axis") {
  CHECK(normalize_axis(1, 3) == 1);
  CHECK(normalize_axis(-1, 3) == 2);
  CHECK(normalize_axis(-3, 3) == 0);
  CHECK(!normalize_axis(3, 3));
  CHECK(!normalize_axis(-4, 3));
  CHECK(!normalize_axis(0, 0));
  CHECK(!normalize_axis(INT64_MIN, 3));
}

TEST_CASE("Transpose::perm is the attribute, or all axes reversed") {
  CHECK(perm_of({2, 3, 4}, {{"perm", Perm{2, 0, 1}}}) == Perm{2, 0, 1});
  CHECK(perm_of({2, 3, 4}, {}) == Perm{2, 1, 0});
  CHECK(perm_of(Shape(), {{"perm", Perm{1, 0}}}) == Perm{1, 0});
}

TEST_CASE("Transpose::perm is empty when there is none") {
  CHECK(perm_of(Shape(), {}).empty());
  CHECK(perm_of({2, 3}, {{"perm", Perm{0}}}).empty());
  CHECK(perm_of({2, 3}, {{"perm", Perm{0, 0}}}).empty());
  CHECK(perm_of({2, 3}, {{"perm", Perm{0, 2}}}).empty());
  CHECK(perm_of({2, 3}, {{"perm", Perm{INT64_MIN, 0}}}).empty());
}

TEST_CASE("attributes that are missing have ONNX's defaults") {
  Graph graph;
  const Value x = graph.add_input("x", build::f32({2, 2}));
  const Value plain = build::add(graph, "gemm", {x, x});
  const Value flagged = build::add(graph, "gemm", {x, x}, {}, {{"transB", std::int64_t{1}}});
  CHECK(!ops::Gemm{graph.ref(plain.node)}.trans_a());
  CHECK(!ops::Gemm{graph.ref(plain.node)}.trans_b());
  CHECK(!ops::Gemm{graph.ref(flagged.node)}.trans_a());
  CHECK(ops::Gemm{graph.ref(flagged.node)}.trans_b());
  const Value reshape = build::add(graph, "reshape", {x, x}, {}, {{"allowzero", std::int64_t{1}}});
  CHECK(ops::Reshape{graph.ref(reshape.node)}.allow_zero());
}

TEST_CASE("Flatten::axis may be the rank") {
  const auto axis = [](Shape data, Attributes attributes) {
    return ops::Flatten{Node("flatten", std::move(data), {}, std::move(attributes)).ref()}.axis();
  };
  CHECK(axis({2, 3, 4}, {}) == 1);
  CHECK(axis({2, 3, 4}, {{"axis", std::int64_t{3}}}) == 3);
  CHECK(axis({2, 3, 4}, {{"axis", std::int64_t{-3}}}) == 0);
  CHECK(axis(Shape(Integers{}), {{"axis", std::int64_t{0}}}) == 0);
  CHECK(!axis(Shape(Integers{}), {}));
  CHECK(!axis({2, 3, 4}, {{"axis", std::int64_t{4}}}));
  CHECK(!axis({2, 3, 4}, {{"axis", std::int64_t{INT64_MIN}}}));
  CHECK(!axis(Shape(), {}));
}

// The numbers of onnx.proto's enumeration TensorProto.DataType.
TEST_CASE("Cast::to reads ONNX's numbers") {
  const auto to = [](Attributes attributes) {
    return ops::Cast{Node("cast", {2}, {}, std::move(attributes)).ref()}.to();
  };
  const std::vector<std::pair<std::int64_t, ElementType>> numbers{
      {1, ElementType::float32},     {2, ElementType::uint8},
      {3, ElementType::int8},        {4, ElementType::uint16},
      {5, ElementType::int16},       {6, ElementType::int32},
      {7, ElementType::int64},       {8, ElementType::opaque},
      {9, ElementType::boolean},     {10, ElementType::float16},
      {11, ElementType::float64},    {12, ElementType::uint32},
      {13, ElementType::uint64},     {14, ElementType::opaque},
      {15, ElementType::opaque},     {16, ElementType::bfloat16},
      {17, ElementType::float8e4m3}, {18, ElementType::float8e4m3fnuz},
      {19, ElementType::float8e5m2}, {20, ElementType::float8e5m2fnuz},
      {21, ElementType::uint4},      {22, ElementType::int4},
      {23, ElementType::float4e2m1}, {24, ElementType::float8e8m0},
      {25, ElementType::uint2},      {26, ElementType::int2},
      {27, ElementType::float6e2m3}, {28, ElementType::float6e3m2},
      {29, ElementType::opaque},     {1000, ElementType::opaque}};
  for (const auto& [number, element] : numbers) {
    CAPTURE(number);
    CHECK(to({{"to", number}}) == element);
  }
  CHECK(!to({}));
  CHECK(!to({{"to", std::int64_t{0}}}));
  CHECK(!to({{"to", std::int64_t{-1}}}));
  CHECK(!to({{"to", std::string("FLOAT")}}));
}

TEST_CASE("Slice::ranges are what walking over the axis finds") {
  const Integers bounds{-100, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 100, INT64_MAX};
  int count = 0;
  test::Turns turns;
  for (const std::int64_t extent : {0, 1, 2, 4, 5}) {
    for (const std::int64_t start : bounds) {
      for (const std::int64_t end : bounds) {
        if (!turns.next()) continue;
        for (const std::int64_t step : {-7, -3, -2, -1, 1, 2, 3, 7}) {
          CAPTURE(extent);
          CAPTURE(start);
          CAPTURE(end);
          CAPTURE(step);
          if (step < 0 && end == INT64_MAX) continue;  // see `ops::Slice::ranges`
          const Node node("slice", {extent}, {{start}, {end}, {0}, {step}});
          const auto ranges = ops::Slice{node.ref()}.ranges();
          REQUIRE(ranges);
          REQUIRE(ranges->size() == 1);
          const auto& range = ranges->front();
          Integers found;
          for (std::int64_t i = 0; i < range.count; ++i) {
            found.push_back(range.start + i * range.step);
          }
          CHECK(found == walk(extent, start, end, step));
          if (range.count < 2) CHECK(range.step == 1);
          ++count;
        }
      }
    }
  }
  if (test::is_whole()) CHECK(count == 5 * 16 * (16 * 8 - 4));
}

TEST_CASE("Slice::ranges of several axes, and in attributes") {
  using Ranges = std::vector<ops::Slice::Range>;
  const auto ranges = [](Shape data, const std::vector<Integers>& lists, Attributes stated = {}) {
    return ops::Slice{Node("slice", std::move(data), lists, std::move(stated)).ref()}.ranges();
  };
  CHECK(ranges({4, 6, 8}, {{1, 7}, {3, INT64_MIN}, {0, -1}, {1, -3}}) ==
        Ranges{{1, 1, 2}, {0, 1, 6}, {7, -3, 3}});
  CHECK(ranges({4, 6, 8}, {{1, 2}, {INT64_MAX, 3}}) == Ranges{{1, 1, 3}, {2, 1, 1}, {0, 1, 8}});
  CHECK(ranges({4, 6, 8}, {{1, 2}, {3, 6}, {}, {2, 3}}) == Ranges{{1, 1, 1}, {2, 3, 2}, {0, 1, 8}});
  CHECK(ranges({4, 6}, {}, {{"starts", Integers{1}}, {"ends", Integers{-1}}}) ==
        Ranges{{1, 1, 2}, {0, 1, 6}});
  CHECK(
      ranges({4, 6}, {}, {{"starts", Integers{1}}, {"ends", Integers{9}}, {"axes", Integers{1}}}) ==
      Ranges{{0, 1, 4}, {1, 1, 5}});
  CHECK(ranges({4}, {{3}, {0}, {0}, {INT64_MIN}}) == Ranges{{3, 1, 1}});
  CHECK(ranges({INT64_MAX}, {{-1}, {INT64_MIN}, {0}, {-1}}) ==
        Ranges{{INT64_MAX - 1, -1, INT64_MAX}});
  CHECK(ranges({INT64_MAX}, {{0}, {INT64_MAX}, {0}, {INT64_MAX}}) == Ranges{{0, 1, 1}});

  for (const std::int64_t largest : {std::int64_t{INT32_MAX}, INT64_MAX}) {
    CHECK(ranges({4}, {{1}, {largest}, {0}, {2}}) == Ranges{{1, 2, 2}});
    CHECK(!ranges({4}, {{-1}, {largest}, {0}, {-1}}));
    CHECK(ranges({4}, {{-1}, {largest - 1}, {0}, {-1}}) == Ranges{{0, 1, 0}});
  }
  CHECK(!ranges({INT64_MAX}, {{0}, {INT32_MAX}}));
  CHECK(ranges({INT32_MAX}, {{0}, {INT32_MAX}}) == Ranges{{0, 1, INT32_MAX}});

  CHECK(!ranges({4, 6}, {{1}, {2}, {0}, {0}}));       // a step of 0
  CHECK(!ranges({4, 6}, {{1}, {2}, {2}}));            // no such axis
  CHECK(!ranges({4, 6}, {{1, 1}, {2, 2}, {0, -2}}));  // an axis twice
  CHECK(!ranges({4, 6}, {{1}, {2, 3}}));              // of different lengths
  CHECK(!ranges({4, 6}, {{1}}));                      // no ends
  CHECK(!ranges({4, 6}, {{1}, {}}));                  // no ends
  CHECK(!ranges({4, Extent::open()}, {{1}, {2}}));    // the other axis
  CHECK(!ranges(Shape(), {{1}, {2}}));
  CHECK(!ranges({4}, {}, {{"starts", std::int64_t{1}}, {"ends", Integers{2}}}));
}

TEST_CASE("lists that are computed, cannot be read or are long are not known") {
  Graph graph;
  const Value x = graph.add_input("x", build::f32({4}));
  const Value one = graph.add_constant("one", build::integers({1}));
  const Value computed = graph.add_input("s", build::tensor(ElementType::int64, {1}));
  const Value broken = graph.add_constant("b", build::deferred(ElementType::int64, {1}, true));
  const Value floats = graph.add_constant("f", build::floats({1}, {1}));
  const Value many = graph.add_constant("m", build::zeros(ElementType::int64, {100000}));
  const Value square = graph.add_constant("q", build::zeros(ElementType::int64, {1, 1}));
  for (const Value list : {computed, broken, floats, many, square}) {
    CAPTURE(graph.value_name(list));
    const Value y = build::add(graph, "slice", {x, list, one});
    CHECK(!ops::Slice{graph.ref(y.node)}.ranges());
    const Value z = build::add(graph, "split", {x, list});
    CHECK(!ops::Split{graph.ref(z.node)}.offset(0));
  }
  const Value y = build::add(graph, "slice", {x, one, one});
  CHECK(ops::Slice{graph.ref(y.node)}.ranges());
}

TEST_CASE("Reshape: what to ask for") {
  CHECK(ops::Reshape::request({2, 3}) == Integers{2, 3});
  CHECK(ops::Reshape::request({2, Extent::open(), 3}) == Integers{2, -1, 3});
  CHECK(ops::Reshape::request(Shape::scalar()) == Integers{});
  CHECK(!ops::Reshape::request({Extent::open(), Extent::open()}));
  CHECK(!ops::Reshape::request(Shape()));
}

TEST_CASE("Split: the sizes, or equal parts") {
  const auto offsets = [](Shape data, const Integers& sizes, Attributes stated,
                          std::size_t results) {
    const Node node("split", std::move(data), {sizes}, std::move(stated), results);
    const ops::Split split{node.ref()};
    const auto all = split.offsets();
    CHECK(split.sizes().has_value() == all.has_value());
    if (all && !sizes.empty()) CHECK(split.sizes() == sizes);
    for (std::uint32_t i = 0; i < results; ++i) {
      CHECK(split.offset(i).has_value() == all.has_value());
      if (all) CHECK(split.offset(i) == (*all)[i]);
    }
    CHECK(!split.offset(static_cast<std::uint32_t>(results)));
    return all;
  };
  const Attributes last{{"axis", std::int64_t{-1}}};
  CHECK(offsets({6, 9}, {2, 3, 1}, {}, 3) == Integers{0, 2, 5});
  CHECK(offsets({6, 9}, {4, 0, 5}, last, 3) == Integers{0, 4, 4});
  CHECK(offsets({6, 9}, {}, last, 3) == Integers{0, 3, 6});
  CHECK(offsets({6, 9}, {}, {{"split", Integers{4, 2}}}, 2) == Integers{0, 4});
  CHECK(offsets({7, 9}, {}, {{"num_outputs", std::int64_t{3}}}, 3) == Integers{0, 3, 6});
  CHECK(offsets({Extent::open(), 9}, {2, 3, 1}, {}, 3) == Integers{0, 2, 5});
  CHECK(!offsets({7, 9}, {}, {}, 3));                                   // not equal
  CHECK(!offsets({10, 9}, {}, {{"num_outputs", std::int64_t{7}}}, 7));  // 2 six times, and -2
  CHECK(!offsets({6, 9}, {}, {{"num_outputs", std::int64_t{2}}}, 3));
  CHECK(!offsets({6, 9}, {2, 3, 2}, {}, 3));
  CHECK(!offsets({6, 9}, {3, 3}, {}, 3));
  CHECK(!offsets({6, 9}, {8, -2}, {}, 2));
  CHECK(!offsets({6, 9}, {INT64_MAX, INT64_MAX}, {}, 2));
  CHECK(!offsets({Extent::open(), 9}, {}, {}, 3));
  CHECK(!offsets({6, 9}, {}, {{"axis", std::int64_t{2}}}, 3));
  CHECK(!offsets(Shape(), {2, 4}, {}, 2));
  CHECK(ops::Split{Node("split", {6, 9}, {}, last).ref()}.axis() == 1);
}

TEST_CASE("Concat::axis and Gather::axis are counted in the rank that is known") {
  Graph graph;
  const Value x = graph.add_input("x", build::f32(Shape()));
  const Value y = graph.add_input("y", build::f32({2, 3, 4}));
  const Attributes last{{"axis", std::int64_t{-1}}};
  const auto concat = [&](std::vector<Value> operands, TensorType type, Attributes attributes) {
    const Value made =
        build::add(graph, "concat", std::move(operands), std::move(type), std::move(attributes));
    return ops::Concat{graph.ref(made.node)}.axis();
  };
  CHECK(concat({x, y}, {}, last) == 2);
  CHECK(concat({x, x}, build::f32({2, 2}), last) == 1);
  CHECK(!concat({x, x}, {}, last));
  CHECK(!concat({x, y}, {}, {}));
  CHECK(!concat({x, y}, {}, {{"axis", std::int64_t{3}}}));
  const auto gather = [&](Value data, Attributes attributes) {
    const Value made = build::add(graph, "gather", {data, x}, {}, std::move(attributes));
    return ops::Gather{graph.ref(made.node)}.axis();
  };
  CHECK(gather(y, last) == 2);
  CHECK(gather(y, {}) == 0);
  CHECK(!gather(x, last));
  CHECK(!gather(y, {{"axis", std::int64_t{-4}}}));
}

TEST_CASE("Einsum::equation") {
  CHECK(parsed("ij,jk->ik", 2) == Equation{{"ij", "jk"}, "ik"});
  CHECK(parsed(" b i j , b j k -> b i k ", 2) == Equation{{"bij", "bjk"}, "bik"});
  CHECK(parsed("ij,jk", 2) == Equation{{"ij", "jk"}, "ik"});
  CHECK(parsed("ba", 1) == Equation{{"ba"}, "ab"});
  CHECK(parsed("bA", 1) == Equation{{"bA"}, "Ab"});
  CHECK(parsed("ij->", 1) == Equation{{"ij"}, ""});
  CHECK(parsed("i,i", 2) == Equation{{"i", "i"}, ""});
  CHECK(parsed(",ij->ij", 2) == Equation{{"", "ij"}, "ij"});
  CHECK(parsed("", 1) == Equation{{""}, ""});
  for (const char* nonsense : {"ii->i", "...i->i", "ij,jk->ik", "ij->ii", "ij->ik", "i1->i", "ij>i",
                               "ij->i->j", "ij-", "i\tj", "\xc3\xa4", "ij->i,j", ".i"}) {
    CAPTURE(nonsense);
    CHECK(!parsed(nonsense, 1));
  }
  Graph graph;
  const Value x = graph.add_input("x", build::f32({2}));
  CHECK(!ops::Einsum{graph.ref(build::add(graph, "einsum", {x}).node)}.equation());
  std::string commas(test::shortened(1000000U), ',');
  CHECK(!parsed(commas, 1));
}

TEST_CASE("FakeQuantize: levels and the broadcast") {
  const auto view = [](Attributes attributes) {
    return Node("fake_quantize", {2}, {}, std::move(attributes));
  };
  CHECK(ops::FakeQuantize{view({{"levels", std::int64_t{2}}}).ref()}.levels() == 2);
  CHECK(!ops::FakeQuantize{view({{"levels", std::int64_t{1}}}).ref()}.levels());
  CHECK(!ops::FakeQuantize{view({{"levels", 256.0}}).ref()}.levels());
  CHECK(!ops::FakeQuantize{view({}).ref()}.levels());

  using Broadcast = ops::FakeQuantize::Broadcast;
  const auto broadcast = [&](std::string given) {
    return ops::FakeQuantize{view({{"auto_broadcast", std::move(given)}}).ref()}.broadcast();
  };
  CHECK(ops::FakeQuantize{view({}).ref()}.broadcast() == Broadcast::numpy);
  CHECK(broadcast("numpy") == Broadcast::numpy);
  CHECK(broadcast("none") == Broadcast::none);
  CHECK(broadcast("pdpd") == Broadcast::pdpd);
  CHECK(!broadcast("explicit"));
}

// What OpenVINO 2026.4 accepts and refuses, but for `axis`, which it does not read.
TEST_CASE("FakeQuantize::aligned") {
  const auto aligned = [](const Shape& bound, const Shape& x, std::string_view broadcast,
                          std::optional<std::int64_t> axis = {}) {
    Attributes attributes{{"auto_broadcast", std::string(broadcast)}};
    if (axis) attributes.set("axis", *axis);
    const Node node("fake_quantize", {2}, {}, std::move(attributes));
    const auto shape = ops::FakeQuantize{node.ref()}.aligned(bound, x);
    return shape ? to_string(*shape) : shape.error().message;
  };
  const Shape x{2, 3, 4};
  const auto refusal = [](std::string_view bound, std::string_view of = "2x3x4") {
    return "a bound of shape [" + std::string(bound) + "] does not broadcast to [" +
           std::string(of) + "]";
  };

  CHECK(aligned(Shape::scalar(), x, "numpy") == "1x1x1");
  CHECK(aligned({1}, x, "numpy") == "1x1x1");
  CHECK(aligned({4}, x, "numpy") == "1x1x4");
  CHECK(aligned({3, 1}, x, "numpy") == "1x3x1");
  CHECK(aligned({2, 1, 1}, x, "numpy") == "2x1x1");
  CHECK(aligned({1, 1, 1, 4}, x, "numpy") == "1x1x4");
  CHECK(aligned({1, 1}, Shape::scalar(), "numpy").empty());
  CHECK(aligned({3}, x, "numpy") == refusal("3"));
  CHECK(aligned({2, 3}, x, "numpy") == refusal("2x3"));
  CHECK(aligned({0}, x, "numpy") == refusal("0"));
  CHECK(aligned({1, 2, 3, 4}, x, "numpy") == "2x3x4");
  CHECK(aligned({2, 2, 3, 4}, x, "numpy") == refusal("2x2x3x4"));
  CHECK(aligned({2, 3, 4}, {1, 1, 4}, "numpy") == refusal("2x3x4", "1x1x4"));  // X is not stretched

  CHECK(aligned({2, 3, 4}, x, "none") == "2x3x4");
  CHECK(aligned({1}, x, "none") == refusal("1"));
  CHECK(aligned({1, 1, 4}, x, "none") == refusal("1x1x4"));
  CHECK(aligned({1, 2, 3, 4}, x, "none") == refusal("1x2x3x4"));

  CHECK(aligned({2}, x, "pdpd") == "2x1x1");
  CHECK(aligned({2, 1}, x, "pdpd") == "2x1x1");
  CHECK(aligned({2, 3}, x, "pdpd") == "2x3x1");
  CHECK(aligned({1, 3, 1}, x, "pdpd") == "1x3x1");
  CHECK(aligned({1}, x, "pdpd") == "1x1x1");
  CHECK(aligned({3}, x, "pdpd") == refusal("3"));
  CHECK(aligned({3}, x, "pdpd", 1) == "1x3x1");
  CHECK(aligned({3, 4}, x, "pdpd", 1) == "1x3x4");
  CHECK(aligned({4}, x, "pdpd", 2) == "1x1x4");
  CHECK(aligned({3, 1}, x, "pdpd", -1) == "1x3x1");
  CHECK(aligned({3}, x, "pdpd", -1) == refusal("3"));
  CHECK(aligned({3, 4}, x, "pdpd", 2) == refusal("3x4"));
  for (const std::int64_t axis : {std::int64_t{3}, std::int64_t{-2}, INT64_MIN, INT64_MAX}) {
    CHECK(aligned({4}, x, "pdpd", axis) == refusal("4"));
  }

  // What is not known may fit.
  CHECK(aligned({Extent::open()}, x, "numpy") == "1x1x?");
  CHECK(aligned({4}, {2, Extent::open()}, "numpy") == "1x4");
  CHECK(aligned({Extent::open(), 3, 4}, {3, 4}, "numpy") == "3x4");  // it must be 1
  CHECK(aligned({}, x, "numpy") == "*");
  CHECK(aligned({4}, {}, "numpy") == "*");
  CHECK(aligned({4}, x, "explicit") ==
        "auto_broadcast 'explicit', where numpy, none or pdpd is wanted");
}

TEST_CASE("ONNX's numbers of element types, there and back") {
  std::int64_t read = 0;
  for (std::int64_t number = 1; number < 32; ++number) {
    const ElementType element = numbered_element_type(number).value();
    if (element == ElementType::opaque) continue;
    ++read;
    CHECK(element_type_number(element) == number);
  }
  CHECK(read == 25);
  CHECK(numbered_element_type(10) == ElementType::float16);
  CHECK(!numbered_element_type(0));
  CHECK(element_type_number(ElementType::undefined) == 0);
  CHECK(element_type_number(ElementType::opaque) == 0);
}
