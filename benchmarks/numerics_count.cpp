// Quantizes one matrix of random weights once: `numerics_count CASE` prints the number of weights.
// tests/counted_work_test.py counts the instructions of it.
#include <array>
#include <cstddef>
#include <iostream>
#include <random>
#include <string_view>
#include <vector>

#include "numerics/quantize_weights.hpp"

namespace {

using namespace quadrant;

struct Case {
  std::string_view name;
  Granularity granularity;
  ScaleRule rule;
};

constexpr ScaleRule int4{.storage = ElementType::int4, .storage_min = -8, .storage_max = 7};
constexpr ScaleRule int4_mse{.storage = ElementType::int4,
                             .storage_min = -8,
                             .storage_max = 7,
                             .symmetry = Symmetry::symmetric,
                             .clip = Clip::mse};

const std::array cases{
    Case{"int8_rows", Granularity::per_axis(0), {}},
    Case{"int8_columns", Granularity::per_axis(1), {}},
    Case{"int8_row_blocks", Granularity::per_block(1, 32), {}},
    Case{"int8_column_blocks", Granularity::per_block(0, 32), {}},
    Case{"int4_row_blocks", Granularity::per_block(1, 32), int4},
    Case{"int4_row_blocks_mse", Granularity::per_block(1, 32), int4_mse},
};

}  // namespace

int main(int argc, char** argv) {
  constexpr std::int64_t side = 256;
  std::mt19937 random(1);
  // Its own arithmetic, the same with any standard library.
  std::vector<float> weights(std::size_t{side} * side);
  for (float& weight : weights) {
    const auto uniform = [&] { return static_cast<float>(random() >> 8U) * 0x1p-24F - 0.5F; };
    weight = uniform() + uniform() + uniform() + uniform();
  }
  for (const Case& each : cases) {
    if (argc != 2 || each.name != argv[1]) continue;
    const bool packed = each.rule.storage == ElementType::int4;
    std::vector<std::byte> codes(packed ? weights.size() / 2 : weights.size());
    const auto found = quantize_weights(weights, Shape{side, side}, each.granularity, each.rule,
                                        codes, {.packed = packed});
    std::cout << weights.size() << '\n';
    return found && !found->non_finite ? 0 : 1;
  }
  return 2;
}
