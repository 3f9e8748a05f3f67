#include <doctest/doctest.h>

#include <string>

#include "ir/build.hpp"
#include "ir/forwarding_view.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/text.hpp"

using namespace quadrant;

namespace {

constexpr std::array rows{Operation{.kind = "tests.own", .family = Family::function}};

class Foreign final : public test::ForwardingView {
 public:
  using ForwardingView::ForwardingView;
  [[nodiscard]] std::span<const Operation> operations() const noexcept override { return rows; }
  [[nodiscard]] std::string_view value_name(Value value) const noexcept override {
    return name_of_all.empty() ? ForwardingView::value_name(value) : name_of_all;
  }
  std::string name_of_all;
};

// Two inputs, the second of which is read first; an absent operand, an attribute, two results.
Graph program() {
  Graph graph;
  const Value a = graph.add_input("a", build::f32({2, 3}));
  const Value b = graph.add_input("b", build::f32({2, 3}));
  const Value turned = build::add(graph, "transpose", {b}, build::f32({3, 2}),
                                  {{"perm", std::vector<std::int64_t>{1, 0}}}, "turned");
  const Value weight = graph.add_constant(
      "w", Constant::from_vector(ElementType::float32, {2}, std::vector<float>{1, 2}));
  const NodeId own = graph.add({.kind = "tests.own",
                                .name = "own",
                                .operands = {a, Value{}, turned, weight},
                                .results = {{"y", build::f32({2})}, {"z", build::f32({4})}}});
  graph.add_output("last", {own, 1});
  graph.add_output("first", {own, 0});
  return graph;
}

}  // namespace

TEST_CASE("a graph says what the view says, in the order of both inputs and outputs") {
  const Graph graph = program();
  const Foreign view(graph);
  const auto attributes_of = [&](NodeId node) {
    Attributes found;
    if (const Attribute* perm = view.attribute(node, "perm")) found.set("perm", *perm);
    return found;
  };
  const auto same = to_graph(view, attributes_of);
  REQUIRE_MESSAGE(same, to_string(same ? Error{} : same.error()));
  CHECK(print_graph(*same) == print_graph(graph));
  CHECK(same->operations().data() == rows.data());
  // Contents are shared, not copied.
  CHECK(*same->constant(same->find_value("w").node) == *graph.constant(graph.find_value("w").node));
  const auto bare = to_graph(view, nullptr);
  REQUIRE(bare);
  CHECK(bare->attribute(bare->find_value("turned").node, "perm") == nullptr);
}

TEST_CASE("names that are not, or not alone, are refused") {
  const Graph graph = program();
  Foreign view(graph);
  view.name_of_all = "all";
  const auto refused = to_graph(view, nullptr);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::invalid_model);
  CHECK(refused.error().message == "value 0 of node 'b' has the name of another one");
}
