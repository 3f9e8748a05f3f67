#include "calibration/assumed_inputs.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "quadrant/ir/text.hpp"
#include "tensor_values.hpp"

using namespace quadrant;
using namespace quadrant::test;

namespace {

std::unique_ptr<DataSet> assumed(const std::string& text, std::size_t count = 2) {
  return assumed_inputs(parse_graph(text).value(), count, Interpreter());
}

std::vector<std::int64_t> extents_of(const Tensor& tensor) {
  return {tensor.extents().begin(), tensor.extents().end()};
}

}  // namespace

TEST_CASE("open extents are one sample, and many elsewhere, as far as the model runs with them") {
  const auto data = assumed(
      "%x: tensor<?x?x4xf32> = input()\n"
      "%y: tensor<?x?x4xf32> = onnx.Relu(%x)\n"
      "output(%y)\n");
  REQUIRE(data != nullptr);
  CHECK(data->size() == 2);
  const auto sample = data->sample(1);
  REQUIRE(sample.has_value());
  CHECK(extents_of(sample->inputs[0]) == std::vector<std::int64_t>{1, 32, 4});
  const auto first = data->sample(0);
  CHECK(values_of<float>(first->inputs[0]) != values_of<float>(sample->inputs[0]));
  CHECK(values_of<float>(first->inputs[0]) == values_of<float>(data->sample(0)->inputs[0]));

  const auto eight = assumed(
      "%x: tensor<?x?xf32> = input()\n"
      "%b: tensor<8xf32> = constant() [1, 2, 3, 4, 5, 6, 7, 8]\n"
      "%y: tensor<?x8xf32> = add(%x, %b)\n"
      "output(%y)\n");
  REQUIRE(eight != nullptr);
  CHECK(extents_of(eight->sample(0)->inputs[0]) == std::vector<std::int64_t>{1, 8});
}

TEST_CASE("integers pick any row of the table that they index; others are lengths, and masks") {
  const auto data = assumed(
      "%ids: tensor<1x?xi64> = input()\n"
      "%mask: tensor<1x?xi64> = input()\n"
      "%length: tensor<1xi64> = input()\n"
      "%table: tensor<3x2xf32> = constant() [1, 2, 3, 4, 5, 6]\n"
      "%same: tensor<1x?xi64> = onnx.Identity(%ids)\n"
      "%y: tensor<1x?x2xf32> = gather(%table, %same) {axis = 0}\n"
      "output(%y)\n"
      "output(%mask)\n"
      "output(%length)\n");
  REQUIRE(data != nullptr);
  const auto sample = data->sample(0);
  REQUIRE(sample.has_value());
  const auto ids = values_of<std::int64_t>(sample->inputs[0]);
  CHECK(std::set(ids.begin(), ids.end()) == std::set<std::int64_t>{0, 1, 2});
  const auto mask = values_of<std::int64_t>(sample->inputs[1]);
  CHECK(std::ranges::all_of(mask, [](std::int64_t one) { return one == 1; }));
  CHECK(values_of<std::int64_t>(sample->inputs[2]) == std::vector<std::int64_t>{32});
}

TEST_CASE("nothing is assumed where it would say nothing") {
  CHECK(assumed("%x: tensor<2xf32> = input()\n"
                "%z: tensor<2xf32> = constant() [0, 0]\n"
                "%y: tensor<2xf32> = mul(%x, %z)\n"
                "output(%y)\n") == nullptr);
  CHECK(assumed("%x: tensor<200xf32> = input()\n"
                "%y: tensor<200xf32> = onnx.Log(%x)\n"
                "output(%y)\n") == nullptr);
  CHECK(assumed("%x: tensor<2xf32> = input()\n"
                "%y: tensor<2xf32> = onnx.mine::Unknown(%x)\n"
                "output(%y)\n") == nullptr);
}
