#include "pipeline/run_samples.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "calibration/memory_data.hpp"
#include "model_text.hpp"
#include "quadrant/io/npy.hpp"
#include "temporary_folder.hpp"
#include "tensor_values.hpp"

using namespace quadrant;
using test::value_of;

namespace {

constexpr std::string_view sampled_model = R"(
%x: tensor<?x2xf32> = input()
%r: tensor<?x2xf32> = onnx.Relu(%x)
%y: tensor<?x2xf32> = add(%r, %r)
output(%y)
)";

// Two files of one name, in two folders.
class Alike final : public DataSet {
 public:
  [[nodiscard]] std::size_t size() const override { return 2; }
  [[nodiscard]] Expected<Sample> sample(std::size_t /*i*/) const override {
    return sample_of(Shape{1, 2}, {1, 2});
  }
  [[nodiscard]] std::string name(std::size_t i) const override {
    return i == 0 ? "a/x.npy" : "b/x.npy";
  }
};

}  // namespace

TEST_CASE("a file for each sample, with an array for each value") {
  const Graph graph = test::parsed(sampled_model);
  const NamedValues values = value_of(find_values(graph, {"r", "y"}));
  const auto executor = value_of(Interpreter().load(graph, values.values));
  const MemoryData data(
      {{{test::floats(Shape{1, 2}, {-1, 2})}}, {{test::floats(Shape{2, 2}, {3, -4, -5, 6})}}});
  const test::TemporaryFolder folder;
  const SampleResults made = value_of(
      run_samples(*executor, data, values, {.folder = folder / "out", .model = "model"}, {}));

  REQUIRE(made.files.size() == 2);
  NpzReader second = value_of(NpzReader::open(made.files[1]));
  CHECK(test::values_of<float>(value_of(second.read("r"))) == std::vector<float>{3, 0, 0, 6});
  CHECK(test::values_of<float>(value_of(second.read("y"))) == std::vector<float>{6, 0, 0, 12});
  // The samples' batches differ.
  REQUIRE(made.types.size() == 2);
  CHECK(to_string(made.types[1]) == "tensor<?x2xf32>");
}

TEST_CASE("samples that are called alike get files of their own") {
  const Graph graph = test::parsed(sampled_model);
  const NamedValues values = value_of(find_values(graph, {"y"}));
  const auto executor = value_of(Interpreter().load(graph, values.values));
  const test::TemporaryFolder folder;
  const auto made =
      value_of(run_samples(*executor, Alike(), values, {.folder = folder.path()}, {}));
  CHECK(made.files == std::vector<std::string>{folder / "x.npz", folder / "x_1.npz"});
  CHECK(folder.names().size() == 2);
}
