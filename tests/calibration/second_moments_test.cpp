// What moments say of a change of weights is what the interpreter computes with changed weights.
#include "quadrant/calibration/second_moments.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "calibration/helpers.hpp"
#include "calibration/memory_data.hpp"
#include "ir/scales.hpp"
#include "ir/shape_inference.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "tensor_values.hpp"

using namespace quadrant;
using test::graph_of_text;
using test::value_of;

namespace {

constexpr std::size_t samples = 3;

std::vector<float> drawn(std::int64_t count, unsigned seed) {
  return test::normal_numbers(count, seed, 0.3F);
}

Constant floats(const Shape& shape, unsigned seed) {
  return Constant::from_vector(ElementType::float32, shape, drawn(*shape.element_count(), seed));
}

/// A layer `y` that reads `x`, and `w` of zeros.
struct Case {
  std::string name;
  Shape data;
  Shape weight;
  std::string lines;  ///< of what is between, and the layer
};

std::string zeros(std::int64_t count) {
  std::string text;
  for (std::int64_t i = 0; i < count; ++i) text += i == 0 ? "0.0" : ", 0.0";
  return text;
}

Graph graph_of(const Case& each) {
  const auto typed = [](const Shape& shape) {
    std::string extents;
    for (const std::int64_t extent : shape.known_extents()) extents += std::to_string(extent) + "x";
    return "tensor<" + extents + "f32>";
  };
  Graph graph = graph_of_text("%x: " + typed(each.data) + " = input()\n%w: " + typed(each.weight) +
                              " = constant() [" + zeros(*each.weight.element_count()) + "]\n" +
                              each.lines + "output(%y)\n");
  graph.set_constant(graph.find_value("w").node, floats(each.weight, 5));
  REQUIRE(infer_shapes(graph));
  return graph;
}

MemoryData data_of(const Case& each) {
  std::vector<Sample> made;
  for (unsigned i = 0; i < samples; ++i) {
    made.push_back(sample_of(each.data, drawn(*each.data.element_count(), 20 + i)));
  }
  return MemoryData(std::move(made));
}

std::vector<double> outputs(const Graph& graph, const MemoryData& data) {
  const auto loaded = Interpreter().load(graph, output_values(graph));
  REQUIRE_MESSAGE(loaded, to_string(loaded.error()));
  std::vector<double> made;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const auto results = run_model(**loaded, data.sample(i)->inputs, 1);
    REQUIRE_MESSAGE(results, to_string(results.error()));
    for (const float y : results->front().as<float>()) made.push_back(static_cast<double>(y));
  }
  return made;
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"conv", {2, 3, 7, 6}, {4, 3, 3, 2}, "%y: tensor<*xf32> = conv(%x, %w)\n"},
      {"conv, strides, pads, dilations",
       {1, 3, 9, 8},
       {4, 3, 3, 2},
       "%y: tensor<*xf32> = conv(%x, %w) {strides = [2, 1], pads = [1, 0, 2, 1], dilations = [2, "
       "1]}\n"},
      {"conv, groups",
       {1, 6, 5, 5},
       {4, 3, 3, 3},
       "%y: tensor<*xf32> = conv(%x, %w) {group = 2}\n"},
      {"conv, depthwise",
       {1, 3, 5, 5},
       {6, 1, 3, 3},
       "%y: tensor<*xf32> = conv(%x, %w) {group = 3}\n"},
      {"conv, automatic pads",
       {1, 2, 5},
       {3, 2, 4},
       "%y: tensor<*xf32> = conv(%x, %w) {auto_pad = \"SAME_UPPER\", strides = [2]}\n"},
      {"transposed conv",
       {1, 3, 4, 4},
       {3, 2, 3, 3},
       "%y: tensor<*xf32> = conv_transpose(%x, %w) {strides = [2, 1], pads = [1, 0, 1, 1]}\n"},
      {"transposed conv, groups",
       {2, 4, 3},
       {4, 3, 2},
       "%y: tensor<*xf32> = conv_transpose(%x, %w) {group = 2, strides = [3]}\n"},
      {"matmul", {4, 5}, {5, 3}, "%y: tensor<*xf32> = matmul(%x, %w)\n"},
      {"matmul of batches", {2, 3, 4, 5}, {5, 3}, "%y: tensor<*xf32> = matmul(%x, %w)\n"},
      {"matmul, batches of weights",
       {2, 3, 4, 5},
       {3, 5, 6},
       "%y: tensor<*xf32> = matmul(%x, %w)\n"},
      {"matmul, weights of more batches",
       {4, 5},
       {3, 5, 6},
       "%y: tensor<*xf32> = matmul(%x, %w)\n"},
      {"matmul, weight first", {2, 5, 4}, {3, 5}, "%y: tensor<*xf32> = matmul(%w, %x)\n"},
      {"matmul, vectors", {4, 5}, {5}, "%y: tensor<*xf32> = matmul(%x, %w)\n"},
      {"matmul of a vector", {5}, {5, 3}, "%y: tensor<*xf32> = matmul(%x, %w)\n"},
      {"matmul, vector behind a weight", {5}, {3, 5}, "%y: tensor<*xf32> = matmul(%w, %x)\n"},
      {"gemm", {4, 5}, {5, 3}, "%y: tensor<*xf32> = gemm(%x, %w)\n"},
      {"gemm, both transposed",
       {5, 4},
       {3, 5},
       "%y: tensor<*xf32> = gemm(%x, %w) {transA = 1, transB = 1}\n"},
      {"gemm, weight first", {5, 4}, {5, 3}, "%y: tensor<*xf32> = gemm(%w, %x) {transA = 1}\n"},
      {"linear", {2, 4, 5}, {3, 5}, "%y: tensor<*xf32> = linear(%x, %w)\n"},
      {"batch_matmul", {3, 4, 5}, {3, 5, 6}, "%y: tensor<*xf32> = batch_matmul(%x, %w)\n"},
      {"addmm",
       {4, 5},
       {5, 3},
       "%c: tensor<3xf32> = constant() [1.0, 2.0, 3.0]\n"
       "%y: tensor<*xf32> = addmm(%c, %x, %w)\n"},
      {"behind a transpose",
       {4, 5},
       {3, 5},
       "%t: tensor<*xf32> = transpose(%w) {perm = [1, 0]}\n%y: tensor<*xf32> = matmul(%x, %t)\n"},
      {"behind a cast",
       {4, 5},
       {5, 3},
       "%t: tensor<5x3xf32> = cast(%w) {to = 1}\n%y: tensor<*xf32> = matmul(%x, %t)\n"},
      {"behind an unsqueeze and a transpose",
       {2, 4, 5},
       {3, 5},
       "%u: tensor<*xf32> = unsqueeze(%w) {axes = [0]}\n%t: tensor<*xf32> = transpose(%u) {perm = "
       "[0, 2, 1]}\n"
       "%y: tensor<*xf32> = matmul(%x, %t)\n"}};
  return all;
}

}  // namespace

TEST_CASE("a change of weights changes results by as much as the moments say") {
  for (const Case& each : cases()) {
    CAPTURE(each.name);
    Graph graph = graph_of(each);
    const MemoryData data = data_of(each);
    const auto table = collect_second_moments(graph, Interpreter(), data);
    REQUIRE_MESSAGE(table, to_string(table.error()));
    CHECK(table->left.empty());
    const auto moments = value_of(table->load("w"));
    REQUIRE(moments != nullptr);

    const std::vector<float> change = drawn(*each.weight.element_count(), 99);
    const std::vector<double> before = outputs(graph, data);
    std::vector<float> changed = drawn(*each.weight.element_count(), 5);
    for (std::size_t i = 0; i < changed.size(); ++i) changed[i] += change[i];
    graph.set_constant(graph.find_value("w").node,
                       Constant::from_vector(ElementType::float32, each.weight, changed));
    const std::vector<double> after = outputs(graph, data);
    double wanted = 0;
    for (std::size_t i = 0; i < before.size(); ++i) {
      wanted += (after[i] - before[i]) * (after[i] - before[i]);
    }

    const WeightMatrices& layout = moments->layout();
    const std::size_t n = layout.columns.size();
    CHECK(layout.matrices.size() * layout.rows.size() * n == change.size());
    double found = 0;
    for (std::size_t m = 0; m < layout.matrices.size(); ++m) {
      const std::vector<double> mean = moments->mean(m);
      for (std::size_t r = 0; r < layout.rows.size(); ++r) {
        for (std::size_t i = 0; i < n; ++i) {
          for (std::size_t j = 0; j < n; ++j) {
            found += static_cast<double>(moments->count(m)) * mean[i * n + j] *
                     static_cast<double>(change[layout.element(m, r, i)]) *
                     static_cast<double>(change[layout.element(m, r, j)]);
          }
        }
      }
    }
    CHECK(found == doctest::Approx(wanted).epsilon(1e-3));
  }
}

TEST_CASE("of a recurrent layer, what comes in and the states") {
  const Case layer{"lstm",
                   {5, 2, 3},
                   {2, 16, 3},
                   "%r: tensor<2x16x4xf32> = constant() [" + zeros(128) + "]\n" +
                       "%y: tensor<*xf32> = lstm(%x, %w, %r) {hidden_size = 4, direction = "
                       "\"bidirectional\"}\n"};
  Graph graph = graph_of(layer);
  graph.set_constant(graph.find_value("r").node, floats({2, 16, 4}, 8));
  const MemoryData data = data_of(layer);
  const auto table = collect_second_moments(graph, Interpreter(), data);
  REQUIRE_MESSAGE(table, to_string(table.error()));
  CHECK(table->left.empty());
  const auto inputs = value_of(table->load("w"));
  const auto states = value_of(table->load("r"));
  REQUIRE(inputs != nullptr);
  REQUIRE(states != nullptr);
  // [steps, directions, batch, units]
  const std::vector<double> y = outputs(graph, data);
  double input = 0;
  std::vector<double> state(2);
  for (std::size_t i = 0; i < samples; ++i) {
    const auto x = data.sample(i)->inputs.front();
    for (std::size_t k = 0; k < 10; ++k) {
      input +=
          static_cast<double>(x.as<float>()[k * 3]) * static_cast<double>(x.as<float>()[k * 3 + 2]);
    }
    for (std::size_t k = 0; k < 20; ++k) {
      state[k / 2 % 2] += y[(i * 20 + k) * 4 + 1] * y[(i * 20 + k) * 4 + 3];
    }
  }
  CHECK(inputs->layout().rows.size() == 32);
  CHECK(inputs->mean(0)[2] == doctest::Approx(input / (10 * samples)).epsilon(1e-3));
  for (std::size_t direction = 0; direction < 2; ++direction) {
    CHECK(states->layout().matrices[direction] == static_cast<std::int64_t>(direction) * 64);
    CHECK(states->mean(direction)[7] ==
          doctest::Approx(state[direction] / (10 * samples)).epsilon(1e-3));
  }
}

TEST_CASE("layers that share a weight add up") {
  const Case once{"once", {4, 5}, {5, 5}, "%y: tensor<*xf32> = matmul(%x, %w)\n"};
  const Case twice{"twice",
                   {4, 5},
                   {5, 5},
                   "%z: tensor<*xf32> = matmul(%x, %w)\n%y: tensor<*xf32> = matmul(%z, %w)\n"};
  const Graph first = graph_of(once);
  const Graph both = graph_of(twice);
  const MemoryData data = data_of(once);
  const auto of_first = collect_second_moments(first, Interpreter(), data);
  const auto of_both = collect_second_moments(both, Interpreter(), data);
  REQUIRE(of_first);
  REQUIRE(of_both);
  CHECK(of_both->find("w")->count(0) == 2 * of_first->find("w")->count(0));
  // Of what is in between, too: the mean of both.
  const std::vector<double> y = outputs(first, data);
  double of_results = 0;
  for (std::size_t i = 0; i < y.size(); i += 5) of_results += y[i] * y[i + 2];
  const double of_inputs = value_of(of_first->load("w"))->mean(0)[2] * 12;
  CHECK(value_of(of_both->load("w"))->mean(0)[2] ==
        doctest::Approx((of_inputs + of_results) / 24).epsilon(1e-3));
}

TEST_CASE("what cannot be told is left with its reason") {
  const Case two{"",
                 {5, 5},
                 {5, 5},
                 "%z: tensor<*xf32> = matmul(%x, %w)\n%y: tensor<*xf32> = matmul(%w, %z)\n"};
  const auto table = collect_second_moments(graph_of(two), Interpreter(), data_of(two));
  REQUIRE(table);
  CHECK(table->find("w") == nullptr);
  REQUIRE(table->left.size() == 1);
  CHECK(table->left[0] == LeftAlone{"w", "its layers read it in different ways"});

  const Case looked_up{"",
                       {5, 5},
                       {5, 5},
                       "%i: tensor<1xi64> = constant() [2]\n"
                       "%z: tensor<*xf32> = gather(%w, %i)\n%u: tensor<*xf32> = matmul(%x, %w)\n"
                       "%y: tensor<*xf32> = add(%u, %z)\n"};
  const auto of_table =
      collect_second_moments(graph_of(looked_up), Interpreter(), data_of(looked_up));
  REQUIRE(of_table);
  REQUIRE(of_table->left.size() == 1);
  CHECK(of_table->left[0].reason == "a lookup, or another that is no layer, reads it, too");

  const MemoryData zeros_alone({sample_of({5, 5}, std::vector<float>(25))});
  const Case idle{"", {5, 5}, {5, 5}, "%y: tensor<*xf32> = matmul(%x, %w)\n"};
  const auto of_zeros = collect_second_moments(graph_of(idle), Interpreter(), zeros_alone);
  REQUIRE(of_zeros);
  REQUIRE(of_zeros->left.size() == 1);
  CHECK(of_zeros->left[0].reason == "its layer has no inputs but zeros in the samples");

  const Case one{"", {1, 2}, {2, 1}, "%y: tensor<*xf32> = matmul(%x, %w)\n"};
  const MemoryData infinite({sample_of({1, 2}, {1, test::infinity})});
  const auto of_infinite = collect_second_moments(graph_of(one), Interpreter(), infinite);
  REQUIRE(of_infinite);
  REQUIRE(of_infinite->left.size() == 1);
  CHECK(of_infinite->left[0].reason == "inputs of its layer are not finite");

  const auto of_little =
      collect_second_moments(graph_of(one), Interpreter(), data_of(one), {.most_bytes = 8});
  REQUIRE(of_little);
  REQUIRE(of_little->left.size() == 1);
  CHECK(of_little->left[0].reason == "its moments take 24 bytes: more than is left of 8 for all");
}

TEST_CASE("where there is no room for all sums there are those of blocks") {
  const Case two{"",
                 {2, 5},
                 {5, 4},
                 "%v: tensor<4x3xf32> = constant() [" + zeros(12) +
                     "]\n%z: tensor<*xf32> = matmul(%x, %w)\n%y: tensor<*xf32> = matmul(%z, %v)\n"};
  const Graph graph = graph_of(two);
  const MemoryData data = data_of(two);
  const auto all = value_of(collect_second_moments(graph, Interpreter(), data));
  // Sums of the first: 15, in blocks of 4 columns 11, of 2 7, of 1 5; of the second: 10, 6, 4.
  constexpr std::uint64_t any = 1000;
  const auto check = [&](std::uint64_t most, std::uint64_t of_weight, std::size_t first,
                         std::size_t second) {
    CAPTURE(most);
    CAPTURE(of_weight);
    test::Notes notes;
    const auto some = value_of(collect_second_moments(
        graph, Interpreter(), data,
        {.most_bytes = most * 8, .most_bytes_of_weight = of_weight * 8, .sink = &notes}));
    CHECK(some.left.empty());
    CHECK(some.find("w")->block() == first);
    CHECK(some.find("v")->block() == second);
    CHECK(notes.found.size() == (first < 5 ? 1U : 0U) + (second < 4 ? 1U : 0U));
    CHECK(value_of(some.load("w"))->mean(0)[6] == value_of(all.load("w"))->mean(0)[6]);
  };
  check(25, any, 5, 4);
  check(21, any, 5, 2);
  check(19, any, 5, 1);
  check(any, 14, 4, 4);
  check(any, 7, 2, 2);
  check(any, 5, 1, 1);
}

TEST_CASE("inputs that do not fit the layer, which nobody else looks at, are left") {
  // The last layer's result is no value that a run needs.
  const Case batches{"", {3, 4, 5}, {2, 5, 6}, "%y: tensor<*xf32> = matmul(%x, %w)\n"};
  Graph graph =
      graph_of_text("%x: tensor<?x4x5xf32> = input()\n%w: tensor<2x5x6xf32> = constant() [" +
                    zeros(60) + "]\n%y: tensor<*xf32> = matmul(%x, %w)\noutput(%y)\n");
  const auto table = collect_second_moments(graph, Interpreter(), data_of(batches));
  REQUIRE(table);
  CHECK(table->left == std::vector<LeftAlone>{
                           {"w", "inputs of its layer have other extents than the model says"}});

  Graph empty = graph_of_text(
      "%x: tensor<4x0xf32> = input()\n%w: tensor<0x3xf32> = constant() []\n"
      "%y: tensor<*xf32> = matmul(%x, %w)\noutput(%y)\n");
  const auto none =
      collect_second_moments(empty, Interpreter(), MemoryData({sample_of({4, 0}, {})}));
  REQUIRE(none);
  CHECK(none->weights.empty());
}

TEST_CASE("inputs that do not fit the layer, on a grid of others") {
  const Case batches{"", {2, 4, 5}, {2, 5, 6}, "%y: tensor<*xf32> = matmul(%x, %w)\n"};
  const Graph graph =
      graph_of_text("%x: tensor<?x4x?xf32> = input()\n%w: tensor<2x5x6xf32> = constant() [" +
                    zeros(60) + "]\n%y: tensor<*xf32> = matmul(%x, %w)\noutput(%y)\n");
  const auto grid = find_moments_grid(graph, Interpreter(), data_of(batches));
  REQUIRE(grid);
  for (const Shape& extents : {Shape{3, 4, 5}, Shape{2, 4, 1}, Shape{2, 4, 7}}) {
    const MemoryData others({sample_of(
        extents, std::vector<float>(static_cast<std::size_t>(*extents.element_count())))});
    const auto table = collect_second_moments(graph, Interpreter(), others, {.grid = &*grid});
    REQUIRE(table);
    CHECK(table->left == std::vector<LeftAlone>{
                             {"w", "inputs of its layer have other extents than the model says"}});
  }
}

TEST_CASE("inputs that are not finite are refused on a grid of others, too") {
  for (const Case& each :
       {Case{"", {4, 2}, {2, 2}, "%y: tensor<*xf32> = matmul(%x, %w)\n"},
        Case{"", {1, 2, 2, 2}, {2, 2, 1, 1}, "%y: tensor<*xf32> = conv(%x, %w)\n"}}) {
    const Graph graph = graph_of(each);
    const auto grid = find_moments_grid(graph, Interpreter(), data_of(each));
    REQUIRE(grid);
    for (const float wrong : {NAN, INFINITY}) {
      const MemoryData others(
          {sample_of(each.data, std::vector<float>{1, 2, 3, wrong, 5, 6, 7, 8})});
      const auto table = collect_second_moments(graph, Interpreter(), others, {.grid = &*grid});
      REQUIRE(table);
      CHECK(table->left == std::vector<LeftAlone>{{"w", "inputs of its layer are not finite"}});
    }
  }
}

TEST_CASE("of many inputs some are taken, evenly spread") {
  const Case rows{"", {100, 1}, {1, 1}, "%y: tensor<*xf32> = matmul(%x, %w)\n"};
  std::vector<float> numbers(100);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  const MemoryData data({sample_of({100, 1}, numbers)});
  const auto table =
      collect_second_moments(graph_of(rows), Interpreter(), data, {.most_inputs_of_sample = 4});
  REQUIRE(table);
  CHECK(table->find("w")->count(0) == 4);
  CHECK(value_of(table->load("w"))->mean(0)[0] ==
        doctest::Approx((25.0 * 25 + 50.0 * 50 + 75.0 * 75) / 4).epsilon(1e-3));
}

TEST_CASE("moments are the same for any order of the samples") {
  const Case each{"", {1, 3, 9, 8}, {4, 3, 3, 2}, "%y: tensor<*xf32> = conv(%x, %w)\n"};
  const Graph graph = graph_of(each);
  const MemoryData data = data_of(each);
  std::vector<Sample> reversed;
  for (std::size_t i = data.size(); i-- > 0;) reversed.push_back(*data.sample(i));
  const auto forwards = collect_second_moments(graph, Interpreter(), data);
  const auto backwards =
      collect_second_moments(graph, Interpreter(), MemoryData(std::move(reversed)));
  REQUIRE(forwards);
  REQUIRE(backwards);
  CHECK(value_of(forwards->load("w"))->mean(0) == value_of(backwards->load("w"))->mean(0));
}
