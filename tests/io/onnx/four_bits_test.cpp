// Plain integers of 4 bits, before and after. What comes out is run in tests/peers.
#include "io/onnx/four_bits.hpp"

#include <doctest/doctest.h>

#include <string>

#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/text.hpp"

using namespace quadrant;

namespace {

std::string avoided(const std::string& text) {
  auto graph = parse_graph(
      "graph {\"onnx.opset_domains\" = [\"\"], \"onnx.opset_versions\" = [21]}\n" + text);
  if (!graph) FAIL(to_string(graph.error()));
  onnx::avoid_operations_on_4_bits(*graph);
  if (auto valid = verify(*graph); !valid) FAIL(to_string(valid.error()));
  const std::string all = print_graph(*graph);
  return all.substr(all.find("\n%") + 1);
}

const std::string plain_codes = "%c: tensor<2x3xi4> = constant() [1, 2, 3, -8, 0, 7]\n";
const std::string cast_behind = "%r: tensor<3x2xf32> = cast(%m) {to = 1}\noutput(%r)\n";

}  // namespace

TEST_CASE("constants of 4 bits are moved in advance") {
  CHECK(avoided(plain_codes + "%s: tensor<2xi64> = constant() [3, 2]\n" +
                "%m: tensor<3x2xi4> = reshape(%c, %s)\n" + cast_behind) ==
        "%m: tensor<3x2xi4> = constant() [1, 2, 3, -8, 0, 7] {name = \"m\"}\n" + cast_behind);
  CHECK(
      avoided(plain_codes + "%m: tensor<3x2xi4> = transpose(%c) {perm = [1, 0]}\n" + cast_behind) ==
      "%m: tensor<3x2xi4> = constant() [1, -8, 2, 0, 3, 7] {name = \"m\"}\n" + cast_behind);
}

TEST_CASE("other operations on 4 bits are computed in 8") {
  CHECK(avoided("%i: tensor<2xi64> = input()\n" + plain_codes +
                "%m: tensor<2x2xi4> = gather(%c, %i) {axis = 1}\n" +
                "%r: tensor<2x2xf32> = cast(%m) {to = 1}\noutput(%r)\n") ==
        "%i: tensor<2xi64> = input()\n" + plain_codes +
            "%c_wide: tensor<2x3xi8> = cast(%c) {to = 3}\n" +
            "%m_wide: tensor<2x2xi8> = gather(%c_wide, %i) {axis = 1}\n" +
            "%m: tensor<2x2xi4> = cast(%m_wide) {to = 22}\n" +
            "%r: tensor<2x2xf32> = cast(%m) {to = 1}\noutput(%r)\n");
}

TEST_CASE("a Cast reads 4 bits, and quantized values are not plain integers") {
  const std::string cast = plain_codes + "%m: tensor<2x3xf32> = cast(%c) {to = 1}\noutput(%m)\n";
  CHECK(avoided(cast) == cast);
  const std::string quantized =
      "%c: tensor<2x3x!quant.uniform<i4:f32, 0.5>> = constant() [1, 2, 3, -8, 0, 7]\n"
      "%m: tensor<3x2x!quant.uniform<i4:f32, 0.5>> = transpose(%c) {perm = [1, 0]}\noutput(%m)\n";
  CHECK(avoided(quantized) == quantized);
}
