#include "transforms/linear_layer.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace quadrant {
namespace {

TEST_CASE("A matrix of rows of outputs is multiplied by the inputs") {
  const std::vector<double> weight{1, 2, 3, 4, 5, 6};
  const WeightLayout layout{.outer = 2, .inner = 3};
  CHECK(weighted_sums(layout, weight, std::vector<double>{1, 10, 100}) ==
        std::vector<double>{321, 654});
}

TEST_CASE("So is one of rows of inputs") {
  const std::vector<double> weight{1, 2, 3, 4, 5, 6};
  const WeightLayout layout{.outer = 2, .inner = 3, .outer_is_output = false};
  CHECK(weighted_sums(layout, weight, std::vector<double>{1, 10}) ==
        std::vector<double>{41, 52, 63});
}

// Groups of channels, each seen as a convolution of its own. The numbers are whole, so that the
// order of the additions does not matter.
TEST_CASE("Kernels are summed, and groups see their own inputs alone") {
  const std::vector<double> weight{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  const std::vector<double> inputs{1, 10, 100, 1000};
  // [4 outputs, 2 inputs of a group, kernel of 2], 2 groups.
  const WeightLayout forward{.outer = 4, .inner = 2, .run = 2, .groups = 2};
  CHECK(weighted_sums(forward, weight, inputs) ==
        std::vector<double>{3 * 1 + 7 * 10, 11 * 1 + 15 * 10, 19 * 100 + 23 * 1000,
                            27 * 100 + 31 * 1000});
  // [4 inputs, 2 outputs of a group, kernel of 2], 2 groups.
  const WeightLayout transposed{
      .outer = 4, .inner = 2, .run = 2, .groups = 2, .outer_is_output = false};
  CHECK(weighted_sums(transposed, weight, inputs) ==
        std::vector<double>{3 * 1 + 11 * 10, 7 * 1 + 15 * 10, 19 * 100 + 27 * 1000,
                            23 * 100 + 31 * 1000});
}

}  // namespace
}  // namespace quadrant
