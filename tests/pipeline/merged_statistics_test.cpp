#include "pipeline/merged_statistics.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "model_text.hpp"
#include "quadrant/calibration/data_set.hpp"
#include "quadrant/pipeline/gather.hpp"
#include "quadrant/recipe/documents.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "temporary_folder.hpp"

using namespace quadrant;
using test::value_of;

namespace {

Graph model(std::string_view second) {
  return test::parsed("%x: tensor<1x4xf32> = input()\n%" + std::string(second) +
                      ": tensor<1x4xf32> = onnx.Relu(%x)\n%y: tensor<1x4xf32> = add(%" +
                      std::string(second) + ", %x)\noutput(%y)\n");
}

StatisticsTable of_part(const Graph& graph, const DataSet& data, SamplePart part) {
  return value_of(gather_statistics({graph, Interpreter(), data, part}, {}, {}));
}

class Warnings final : public Sink {
 public:
  void report(const Diagnostic& diagnostic) override { texts.push_back(diagnostic.message); }
  std::vector<std::string> texts;
};

}  // namespace

TEST_CASE("parts that are merged are what one run gives") {
  const Graph graph = model("r");
  const auto data = random_data_set(graph, 6, 1);
  const test::TemporaryFolder folder;
  const StatisticsTable first = of_part(graph, *data, {.index = 0, .count = 2});
  const std::string path = folder.write("first.json", print_statistics(first));

  MergedStatistics merged = value_of(MergedStatistics::read(graph, 0, std::vector{path}));
  CHECK(value_of(merged.wanted(graph)).size() == 3);
  Warnings warnings;
  merged.add(of_part(graph, *data, {.index = 1, .count = 2}), {.sink = &warnings});
  const StatisticsTable whole = of_part(graph, *data, {});
  CHECK(print_statistics(std::move(merged).finish("", {.sink = &warnings})) ==
        print_statistics(whole));
  CHECK(warnings.texts.empty());
}

TEST_CASE("values that only one of them has are told") {
  const Graph before = model("r");
  const Graph after = model("renamed");
  const auto data = random_data_set(before, 2, 1);
  MergedStatistics merged = value_of(MergedStatistics::read(before, 0, {}));
  merged.add(of_part(before, *data, {}), {});  // of no file: nothing to tell
  const test::TemporaryFolder folder;
  const std::string path =
      folder.write("before.json", print_statistics(of_part(before, *data, {})));
  MergedStatistics other = value_of(MergedStatistics::read(before, 0, std::vector{path}));
  Warnings warnings;
  other.add(of_part(after, *data, {}), {.sink = &warnings});
  REQUIRE(warnings.texts.size() == 1);
  CHECK(warnings.texts[0].find("of 3 values 1 are not in this run") != std::string::npos);
}
