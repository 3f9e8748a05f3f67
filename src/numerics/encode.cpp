#include "quadrant/numerics/encode.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "numerics/block_fit.hpp"
#include "numerics/code_values.hpp"
#include "numerics/encoder.hpp"
#include "numerics/finite.hpp"
#include "numerics/groups.hpp"
#include "numerics/level_tree.hpp"
#include "numerics/pieces.hpp"

namespace quadrant::inline v0 {
namespace {

tl::unexpected<Error> cannot_encode(std::string message) {
  return fail(ErrorCode::impossible, std::move(message));
}

Expected<void> check_sizes(std::size_t count, const Shape& shape, std::string_view what) {
  const auto elements = shape.element_count();
  if (elements && static_cast<std::size_t>(*elements) == count) return {};
  return cannot_encode(
      fmt::format("{} {} for a tensor of shape {}", count, what, to_string(shape)));
}

Expected<void> check_format(const NumberFormat& format, const Shape& shape) {
  QUADRANT_CHECK(verify(format, shape));
  if (bit_width(format.code) <= 16) return {};
  return cannot_encode(
      fmt::format("codes of {} bits: they have 16 at most", bit_width(format.code)));
}

// The numbers of a tree, if there are as many as it has groups.
bool take(LevelTree& tree, const std::vector<std::vector<float>>& numbers) {
  const bool fits = std::ranges::equal(tree.numbers, numbers, {}, &std::vector<float>::size,
                                       &std::vector<float>::size);
  if (fits) tree.numbers = numbers;
  return fits;
}

// Calls `body(element, group)` for `size` elements from `first` on.
template <class Body>
void for_each_element(const Groups& groups, std::size_t first, std::size_t size, Body body) {
  groups.for_each_run(static_cast<std::int64_t>(first), size,
                      [&](std::size_t group, std::size_t position, std::size_t length) {
                        for (std::size_t i = 0; i < length; ++i) {
                          body(first + position + i, groups.interleaved() ? group + i : group);
                        }
                      });
}

// What codes stand for, before scales.
class Levels {
 public:
  Levels(const Encoded& encoded, const NumberFormat& format)
      : encoded_(encoded), width_(bit_width(format.code) > 8 ? 2 : 1) {
    if (const auto* stored = std::get_if<StoredTable>(&format.code)) {
      levels_ = static_cast<std::size_t>(stored->levels);
    } else {
      codes_ = CodeValues(format.code);
    }
  }
  /// Of a table; 0: none is stored.
  [[nodiscard]] std::size_t count() const noexcept { return levels_; }

  [[nodiscard]] float at(std::size_t i, std::size_t table) const {
    auto code = std::to_integer<std::uint32_t>(encoded_.codes[i * width_]);
    if (width_ == 2) code |= std::to_integer<std::uint32_t>(encoded_.codes[i * 2 + 1]) << 8U;
    if (levels_ == 0) return codes_.value_of(code);
    return encoded_.table[table * levels_ + std::min<std::size_t>(code, levels_ - 1)];
  }

 private:
  const Encoded& encoded_;
  std::size_t width_;
  std::size_t levels_ = 0;
  CodeValues codes_;
};

}  // namespace

Expected<Encoded> encode(std::span<const float> values, const Shape& shape,
                         const NumberFormat& format, const EncodeOptions& options) {
  QUADRANT_CHECK(check_format(format, shape));
  QUADRANT_CHECK(check_sizes(values.size(), shape, "values"));
  if (const auto found = first_non_finite(values, 0)) {
    return cannot_encode(fmt::format("element {} is {}", found->index, found->value));
  }
  if (!options.weights.empty()) {
    QUADRANT_CHECK(check_sizes(options.weights.size(), shape, "weights"));
    for (const float weight : options.weights) {
      if (!(weight >= 0) || std::isinf(weight)) {
        return cannot_encode(fmt::format("a weight of {}", weight));
      }
    }
  }
  return Encoder::run(values, shape, format, options);
}

Expected<void> decode(const Encoded& encoded, const Shape& shape, const NumberFormat& format,
                      std::span<float> out) {
  QUADRANT_CHECK(check_format(format, shape));
  QUADRANT_CHECK(check_sizes(out.size(), shape, "values"));
  const std::size_t width = bit_width(format.code) > 8 ? 2 : 1;
  if (encoded.codes.size() != out.size() * width) {
    return cannot_encode(fmt::format("{} bytes of codes for {} values of {}", encoded.codes.size(),
                                     out.size(), to_string(format)));
  }
  QUADRANT_TRY(const Groups blocks, Groups::of(shape, innermost_groups(format)));
  QUADRANT_TRY(LevelTree scales, LevelTree::of(format.scales, shape, blocks));
  QUADRANT_TRY(LevelTree minima, LevelTree::of(format.offsets, shape, blocks));
  const bool has_zeros = format.offset == Offset::zero_point;
  const auto block_count = static_cast<std::size_t>(blocks.group_count());
  const bool zeros_fit =
      has_zeros && encoded.offsets.size() == 1 && encoded.offsets[0].size() == block_count;
  if (!take(scales, encoded.scales) || !(has_zeros ? zeros_fit : take(minima, encoded.offsets))) {
    return cannot_encode(fmt::format("other scales than {} has", to_string(format)));
  }
  // The table's groups, element by element; a format without has one.
  const auto* stored = std::get_if<StoredTable>(&format.code);
  QUADRANT_TRY(const Groups tables,
               Groups::of(shape, stored != nullptr ? stored->groups : Granularity::per_tensor()));
  const Levels levels(encoded, format);
  if (encoded.table.size() != levels.count() * static_cast<std::size_t>(tables.group_count())) {
    return cannot_encode(fmt::format("another table than {} has", to_string(format)));
  }
  for (std::size_t first = 0; first < out.size(); first += piece_elements) {
    const std::size_t size = std::min(piece_elements, out.size() - first);
    for_each_element(tables, first, size,
                     [&](std::size_t i, std::size_t table) { out[i] = levels.at(i, table); });
    if (format.scales.empty()) continue;
    for_each_element(blocks, first, size, [&](std::size_t i, std::size_t block) {
      if (has_zeros) out[i] -= encoded.offsets[0][block];
      out[i] *= scales.product(block, scales.size());
      if (minima.size() > 0) out[i] -= minima.product(block, minima.size());
    });
  }
  return {};
}

double squared_error(std::span<const float> values, std::span<const float> approximation,
                     std::span<const float> weights) {
  double total = 0;
  for (std::size_t first = 0; first < values.size(); first += piece_elements) {
    double sum = 0;
    const std::size_t end = std::min(first + piece_elements, values.size());
    for (std::size_t i = first; i < end; ++i) {
      const double error = static_cast<double>(values[i]) - static_cast<double>(approximation[i]);
      sum += error * error * (weights.empty() ? 1.0 : static_cast<double>(weights[i]));
    }
    total += sum;
  }
  return total;
}

}  // namespace quadrant::inline v0
