// Second moments that are gathered within some memory are those that are gathered without.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model_text.hpp"
#include "quadrant/calibration/second_moments.hpp"
#include "quadrant/pipeline/gather.hpp"
#include "quadrant/quadrant.hpp"
#include "temporary_folder.hpp"

using namespace quadrant;
using test::value_of;

namespace {

constexpr std::size_t layer_count = 20;
constexpr std::uint64_t bytes_of_layer = 80;  // sums of 10 pairs of 4 columns

// Products of the same input.
Graph products_of_x() {
  std::string text = "%x: tensor<3x4xf32> = input()\n";
  std::string outputs;
  for (std::size_t i = 0; i < layer_count; ++i) {
    const std::string n = std::to_string(i);
    text += "%w" + n + ": tensor<4x2xf32> = constant() [1.0, 2.0, -3.0, 0.5, 0.25, 7.0, -1.5, " +
            n + ".0]\n%y" + n + ": tensor<3x2xf32> = matmul(%x, %w" + n + ")\n";
    outputs += "output(%y" + n + ") {name = \"y" + n + "\"}\n";
  }
  return value_of(parse_graph(text + outputs));
}

class HeardNotes final : public Sink {
 public:
  void report(const Diagnostic& diagnostic) override { found.push_back(diagnostic.message); }
  std::vector<std::string> found;
};

std::string written(const SecondMomentsTable& table) {
  std::string bytes;
  REQUIRE(write_moments(table, [&](std::string_view part) -> Expected<void> {
    bytes += part;
    return {};
  }));
  return bytes;
}

}  // namespace

TEST_CASE("the same moments for any memory in which each layer finds room") {
  const Graph graph = products_of_x();
  const auto data = random_data_set(graph, 5, 3);
  const test::TemporaryFolder folder;
  const std::string wanted =
      print_moments(value_of(gather_moments({graph, Interpreter(), *data}, nullptr, {})));
  for (const std::uint64_t of_layers : std::array<std::uint64_t, 3>{16, 40, 10000}) {
    const std::uint64_t memory = of_layers * bytes_of_layer;
    for (const std::string& scratch : {std::string(), folder.path()}) {
      CAPTURE(memory);
      CAPTURE(scratch);
      HeardNotes notes;
      const auto found =
          value_of(gather_moments({graph, Interpreter(), *data}, nullptr,
                                  {.sink = &notes, .moments_memory = memory, .scratch = scratch}));
      CHECK(written(found) == wanted);
      const bool is_whole = layer_count * bytes_of_layer <= memory / 2;
      CHECK(std::ranges::count_if(notes.found, [](const std::string& note) {
              return note.find("the samples run ") != std::string::npos;
            }) == (is_whole ? 0 : 1));
      for (const auto& [name, moments] : found.weights)
        CHECK(moments.is_away() == !scratch.empty());
    }
  }
}

TEST_CASE("layers that find no room by themselves have moments of blocks") {
  const Graph graph = products_of_x();
  const auto data = random_data_set(graph, 5, 3);
  HeardNotes notes;
  const auto found = value_of(gather_moments({graph, Interpreter(), *data}, nullptr,
                                             {.sink = &notes, .moments_memory = 16 * 79}));
  CHECK(found.weights.size() == layer_count);
  for (const auto& [name, moments] : found.weights) CHECK(moments.block() == 2);
  CHECK(std::ranges::count_if(notes.found, [](const std::string& note) {
          return note.find("blocks of 2 columns") != std::string::npos;
        }) == layer_count);
}
