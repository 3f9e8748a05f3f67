// Moments of parts of the samples are those of all, through files and in any order.
#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/helpers.hpp"
#include "calibration/memory_data.hpp"
#include "quadrant/calibration/calibrate.hpp"
#include "quadrant/calibration/second_moments.hpp"
#include "quadrant/runtime/interpreter.hpp"

using namespace quadrant;
using test::graph_of_text;
using test::value_of;

namespace {

// A convolution and a product; a third whose inputs have an infinity in one sample.
Graph three_layers() {
  return graph_of_text(
      "%x: tensor<1x2x4xf32> = input()\n"
      "%w: tensor<3x2x2xf32> = constant() [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 1.0, 2.0, "
      "3.0]\n"
      "%y: tensor<1x3x3xf32> = conv(%x, %w)\n"
      "%v: tensor<3x2xf32> = constant() [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]\n"
      "%z: tensor<1x3x2xf32> = matmul(%y, %v)\n"
      "%e: tensor<1x3x2xf32> = onnx.Exp(%z)\n"
      "%u: tensor<2x1xf32> = constant() [1.0, 2.0]\n"
      "%t: tensor<1x3x1xf32> = matmul(%e, %u)\n"
      "output(%t)\n");
}

MemoryData drawn_samples(std::size_t count) {
  std::mt19937 random(7);
  std::normal_distribution<float> draw;
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<float> x(8);
    for (float& each : x) each = draw(random) * (i % 3 == 2 ? 100.0F : 0.01F);
    samples.push_back(sample_of(Shape{1, 2, 4}, x));
  }
  return MemoryData(std::move(samples));
}

template <class Table>
Table read(const std::string& bytes) {
  return std::get<Table>(value_of(parse_moments(bytes)));
}

std::string refusal(std::string_view bytes) {
  const auto read = parse_moments(bytes);
  REQUIRE_FALSE(read);
  CHECK(read.error().code == ErrorCode::invalid_model);
  return to_string(read.error());
}

}  // namespace

namespace {

// Of moments of all columns, or of blocks.
void check_parts(std::size_t block) {
  CAPTURE(block);
  const Graph graph = three_layers();
  const MemoryData data = drawn_samples(9);
  SecondMomentsTable whole =
      value_of(collect_second_moments(graph, Interpreter(), data, {.block = block}));
  CHECK(whole.weights.size() == 2);  // the third has inputs that are not finite
  const std::string wanted = print_moments(whole);

  for (const std::size_t count : std::array<std::size_t, 5>{1, 2, 3, 4, 7}) {
    CAPTURE(count);
    MomentsGrid grid;
    for (std::size_t i = count; i-- > 0;) {
      const auto part = part_of(data, {i, count});
      const auto found = value_of(find_moments_grid(graph, Interpreter(), *part, {.block = block}));
      REQUIRE(grid.merge(read<MomentsGrid>(print_moments(found))));
    }
    CHECK(grid.samples == 9);
    SecondMomentsTable sum;
    for (std::size_t i = 0; i < count; ++i) {
      const auto part = part_of(data, {(i + 2) % count, count});
      const auto found =
          value_of(collect_second_moments(graph, Interpreter(), *part, {.grid = &grid}));
      REQUIRE(sum.merge(read<SecondMomentsTable>(print_moments(found))));
    }
    CHECK(print_moments(sum) == wanted);
  }
}

}  // namespace

TEST_CASE("parts on one grid add up to the moments of one run") {
  for (const std::size_t block : {SecondMoments::whole, std::size_t{1}, std::size_t{3}}) {
    check_parts(block);
  }
}

TEST_CASE("moments of blocks are those of all columns, but for what is between blocks") {
  const Graph graph = three_layers();
  const MemoryData data = drawn_samples(4);
  const auto all = value_of(collect_second_moments(graph, Interpreter(), data));
  const auto blocks = value_of(collect_second_moments(graph, Interpreter(), data, {.block = 3}));
  const auto again = read<SecondMomentsTable>(print_moments(blocks));
  for (const char* const name : {"v", "w"}) {
    CAPTURE(name);
    const std::size_t n = all.find(name)->layout().columns.size();
    const std::vector<double> whole = value_of(all.load(name))->mean(0);
    const std::vector<double> found = value_of(again.load(name))->mean(0);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        CHECK(found[i * n + j] == (i / 3 == j / 3 ? whole[i * n + j] : 0));
      }
    }
  }
}

TEST_CASE("files of blocks have a version of their own, and damaged ones are refused") {
  const WeightMatrices layout{{0}, {0}, {0, 1, 2}};
  const MomentsGrid grid{.weights = {{"w", {layout, {1, 1, 1}, 2}}}};
  const std::string bytes = print_moments(grid);
  CHECK(bytes[8] == 2);
  CHECK(read<MomentsGrid>(bytes).weights == grid.weights);
  // The header's description: behind the head of 56 bytes, name, matrices, rows, columns.
  constexpr std::size_t at_block = 56 + 9 + 16 + 16 + 32;
  REQUIRE(bytes[at_block] == 2);
  for (const char other : {'\0', '\4'}) {
    std::string changed = bytes;
    changed[at_block] = other;
    CHECK(refusal(changed).find("columns, where there are 3") != std::string::npos);
  }
  std::string changed = bytes;
  changed[at_block] = 3;
  CHECK(refusal(changed).find("has none") != std::string::npos);

  MomentsGrid other = grid;
  other.weights.find("w")->second.block = 1;
  const auto refused = other.merge(grid);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::usage);
}

TEST_CASE("grids are merged whole or not at all, and count no further than they can") {
  const auto grid_of = [](double step, std::vector<std::int64_t> rows) {
    return MomentsGrid::Weight{{{0}, std::move(rows), {0}}, {step}};
  };
  MomentsGrid grid{.weights = {{"a", grid_of(1, {0})}, {"b", grid_of(1, {0})}}, .samples = 3};
  const MomentsGrid other{.weights = {{"a", grid_of(2, {0})}, {"b", grid_of(2, {0, 1})}},
                          .left = {{"d", "a reason"}},
                          .samples = 4,
                          .model = "m.onnx"};
  const std::string before = print_moments(grid);
  const auto refused = grid.merge(other);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().place.tensor == "b");
  CHECK(print_moments(grid) == before);

  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  MomentsGrid many{.samples = most - 1};
  REQUIRE(many.merge(MomentsGrid{.samples = 5}));
  CHECK(many.samples == most);
}

TEST_CASE("what a grid does not reach counts as its largest, and is told") {
  const Graph graph = graph_of_text(
      "%x: tensor<1x2xf32> = input()\n%w: tensor<2x1xf32> = constant() [1.0, 2.0]\n"
      "%y: tensor<1x1xf32> = matmul(%x, %w)\noutput(%y)\n");
  const MemoryData small({sample_of(Shape{1, 2}, {1, 2})});
  const MemoryData large({sample_of(Shape{1, 2}, {3, -8})});
  const MomentsGrid grid = value_of(find_moments_grid(graph, Interpreter(), small));
  test::Notes notes;
  const auto found = value_of(
      collect_second_moments(graph, Interpreter(), large, {.sink = &notes, .grid = &grid}));
  CHECK(value_of(found.load("w"))->mean(0) == std::vector<double>{1.0, -2.0, -2.0, 4.0});
  REQUIRE(notes.found.size() == 1);
  CHECK(notes.found[0].severity == Severity::warning);
  CHECK(notes.found[0].message.find("2 numbers of inputs are larger than the grid") == 0);
  const auto of_itself =
      collect_second_moments(graph, Interpreter(), small, {.sink = &notes, .grid = &grid});
  CHECK(of_itself.has_value());
  CHECK(notes.found.size() == 1);
}

TEST_CASE("grids and moments of another model are refused") {
  const Graph graph = three_layers();
  const MemoryData data = drawn_samples(2);
  MomentsGrid grid = value_of(find_moments_grid(graph, Interpreter(), data));
  const SecondMomentsTable moments =
      value_of(collect_second_moments(graph, Interpreter(), data, {.grid = &grid}));
  CHECK(check_moments(graph, moments));
  const Graph other = graph_of_text(
      "%x: tensor<1x2xf32> = input()\n%v: tensor<2x3xf32> = constant() [1.0, 2.0, 3.0, 4.0, 5.0, "
      "6.0]\n%y: tensor<1x3xf32> = matmul(%x, %v)\noutput(%y)\n");
  const auto checked = check_moments(other, moments);
  REQUIRE_FALSE(checked);
  CHECK(checked.error().code == ErrorCode::usage);
  CHECK(checked.error().place.tensor == "u");
  const MemoryData fitting({sample_of(Shape{1, 2}, {1, 2})});
  CHECK_FALSE(collect_second_moments(other, Interpreter(), fitting, {.grid = &grid}));
  grid.weights.clear();
  grid.left.clear();
  CHECK_FALSE(collect_second_moments(graph, Interpreter(), data, {.grid = &grid}));
}

TEST_CASE("files read back as they were, and damaged ones are refused with their place") {
  const Graph graph = three_layers();
  SecondMomentsTable moments =
      value_of(collect_second_moments(graph, Interpreter(), drawn_samples(5)));
  moments.model = "model.onnx";
  moments.model_hash = 0xC0FFEE;
  const std::string bytes = print_moments(moments);
  const auto again = read<SecondMomentsTable>(bytes);
  CHECK(again.model == "model.onnx");
  CHECK(again.model_hash == 0xC0FFEE);
  CHECK(again.samples == 5);
  CHECK(again.left == moments.left);
  REQUIRE(again.weights.size() == moments.weights.size());
  for (const auto& [name, weight] : moments.weights) {
    REQUIRE(again.find(name) != nullptr);
    CHECK(again.find(name)->layout() == weight.layout());
    CHECK(value_of(again.load(name))->fingerprint() == value_of(moments.load(name))->fingerprint());
  }
  CHECK(print_moments(again) == bytes);

  // The header's description: magic, version 1, kind 1.
  CHECK(bytes.substr(0, 16) == std::string("QMOMENTS\1\0\0\0\1\0\0\0", 16));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CHECK_FALSE(parse_moments(std::string_view(bytes).substr(0, size)));
  }
  CHECK(refusal("").find("no file of second moments") != std::string::npos);
  CHECK(refusal(bytes.substr(0, 100)).find("byte ") != std::string::npos);
  CHECK(refusal(bytes + '\0').find("more follows") != std::string::npos);
  std::string changed = bytes;
  changed[8] = 3;
  CHECK(refusal(changed).find("byte 8") != std::string::npos);
  CHECK(refusal(changed).find("version 3") != std::string::npos);
  changed = bytes;
  changed[12] = 7;
  CHECK(refusal(changed).find("byte 12") != std::string::npos);
  changed = bytes;
  changed[bytes.size() - 1] = '\x7f';  // of the last square
  CHECK(refusal(changed).find("sums of matrix") != std::string::npos);
  // Claims of more than there is take no memory.
  changed = bytes;
  for (std::size_t i = 32; i < 39; ++i) changed[i] = '\xff';
  CHECK(refusal(changed).find("byte 4") != std::string::npos);
}
