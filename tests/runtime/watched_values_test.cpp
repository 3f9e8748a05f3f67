#include "runtime/watched_values.hpp"

#include <doctest/doctest.h>

#include <array>
#include <vector>

#include "model_text.hpp"

using namespace quadrant;
using test::value_of;

namespace {

Tensor filled(float value) {
  return Tensor::from_values<float>(ElementType::float32, Shape({1}), std::array{value});
}

}  // namespace

TEST_CASE("watched values come from inputs, constants, and what has to be computed, each once") {
  const Graph graph = test::parsed(R"(
    %a: tensor<1xf32> = input()
    %x: tensor<1xf32> = input()
    %w: tensor<1xf32> = constant() [3.0]
    %s: tensor<1xf32> = add(%x, %w)
    %y: tensor<1xf32> = multiply(%s, %s)
    output(%y) {name = "y"}
  )");
  const auto value = [&](const char* name) { return graph.find_value(name); };
  const std::vector watched{value("y"), value("x"), value("s"), value("w"), value("y")};
  const auto found = value_of(WatchedValues::find(graph, watched));
  CHECK(found.computed() == std::vector{value("y"), value("s")});

  std::vector<float> given(watched.size());
  const auto take = [&](std::size_t index, const Tensor& tensor) -> Expected<void> {
    given[index] = tensor.as<float>()[0];
    return {};
  };
  CHECK(found.give_known(std::array{filled(7), filled(5)}, take));
  CHECK(given == std::vector<float>{0, 5, 0, 3, 0});
  CHECK(found.give_computed(
      [](std::size_t i) -> Expected<Tensor> { return filled(i == 0 ? 64.0F : 8.0F); }, take));
  CHECK(given == std::vector<float>{64, 5, 8, 3, 64});
}

TEST_CASE("a graph that is cut keeps what the values need, and says which inputs") {
  Graph graph = test::parsed(R"(
    %a: tensor<1xf32> = input()
    %x: tensor<1xf32> = input()
    %s: tensor<1xf32> = add(%x, %x)
    %y: tensor<1xf32> = multiply(%s, %a)
    output(%y) {name = "y"}
  )");
  const std::array wanted{graph.find_value("s")};
  CHECK(value_of(keep_only(graph, wanted)) == std::vector<std::size_t>{1});
  REQUIRE(graph.outputs().size() == 1);
  CHECK(graph.name(graph.outputs()[0]) == "s");
  CHECK(graph.find_value("y").is_absent());
  CHECK(graph.find_value("a").is_absent());
}
