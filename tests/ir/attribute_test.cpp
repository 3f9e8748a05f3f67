#include <doctest/doctest.h>

#include "build.hpp"
#include "quadrant/ir/graph_view.hpp"

using namespace quadrant;

TEST_CASE("attributes keep the order in which they were first set") {
  Attributes attributes{{"b", std::int64_t{1}}, {"a", 2.5}};
  attributes.set("c", std::string("text"));
  attributes.set("b", std::int64_t{9});
  std::string order;
  for (const auto& [name, value] : attributes) order += name;
  CHECK(order == "bac");
  CHECK(attributes.size() == 3);
  CHECK(attributes.get_or<std::int64_t>("b", 0) == 9);
}

TEST_CASE("of many attributes at once, the first of a name stays") {
  const Attributes attributes(std::vector<Attributes::Entry>{
      {"b", std::int64_t{1}}, {"a", 2.5}, {"b", std::int64_t{3}}, {"c", std::int64_t{4}}});
  CHECK(attributes == Attributes{{"b", std::int64_t{1}}, {"a", 2.5}, {"c", std::int64_t{4}}});
}

TEST_CASE("get_or falls back when the name or the type is another") {
  const Attributes attributes{{"axis", std::int64_t{1}}};
  CHECK(attributes.get_or<std::int64_t>("axis", 7) == 1);
  CHECK(attributes.get_or<std::int64_t>("Axis", 7) == 7);
  CHECK(attributes.get_or<double>("axis", 0.5) == 0.5);
  CHECK(attributes.find("axis") != nullptr);
  CHECK(attributes.find("") == nullptr);
}

TEST_CASE("erase tells whether there was one") {
  Attributes attributes{{"a", std::int64_t{1}}, {"b", std::int64_t{2}}};
  CHECK(attributes.erase("a"));
  CHECK(!attributes.erase("a"));
  CHECK(attributes.size() == 1);
  CHECK(attributes.find("a") == nullptr);
  CHECK(attributes.find("b") != nullptr);
  CHECK(attributes.erase("b"));
  CHECK(attributes.empty());
}

TEST_CASE("attributes compare by name, value and order") {
  const Constant weights = build::integers({1});
  const Attributes a{{"x", weights}, {"y", std::vector<double>{1.0}}};
  CHECK(a == Attributes{{"x", weights}, {"y", std::vector<double>{1.0}}});
  CHECK(a != Attributes{{"y", std::vector<double>{1.0}}, {"x", weights}});
  CHECK(a != Attributes{{"x", build::integers({1})}, {"y", std::vector<double>{1.0}}});
  const Constant bytes = build::zeros(ElementType::uint8, {3});
  CHECK(Opaque{"onnx.graph", bytes} == Opaque{"onnx.graph", bytes});
  CHECK(Opaque{"onnx.graph", bytes} != Opaque{"onnx.type", bytes});
}
