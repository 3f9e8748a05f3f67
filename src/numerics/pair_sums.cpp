#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "numerics/affine.hpp"
#include "numerics/pieces.hpp"
#include "quadrant/numerics/second_moments.hpp"

namespace quadrant::inline v0 {
namespace {

using Integers = std::vector<std::int64_t>;

bool contains(const Integers& axes, std::int64_t axis) {
  return std::ranges::find(axes, axis) != axes.end();
}

// Of all indices over some axes of a tensor, the last axis fastest.
Integers offsets_over(const Integers& axes, const Integers& extents, const Integers& strides) {
  Integers offsets{0};
  for (const std::int64_t axis : axes) {
    const auto at = static_cast<std::size_t>(axis);
    Integers finer;
    for (const std::int64_t offset : offsets) {
      for (std::int64_t i = 0; i < extents[at]; ++i) finer.push_back(offset + i * strides[at]);
    }
    offsets = std::move(finer);
  }
  return offsets;
}

// A tensor cut along its first axis into slabs that hold all partners of their elements: single
// indices, where the order goes along other axes; pairs of them, where it goes along this one
// alone; else everything.
class PairWalk {
 public:
  static Expected<PairWalk> of(const Shape& shape, const PairOrder& order) {
    const auto count = shape.element_count();
    bool is_valid = count && shape.rank() > 0 && !order.along.empty();
    for (const std::int64_t axis : order.along) {
      is_valid = is_valid && 0 <= axis && axis < shape.rank() &&
                 std::ranges::count(order.along, axis) == 1;
    }
    if (!count || !is_valid) {
      return fail(ErrorCode::impossible,
                  fmt::format("a tensor {} has no order along the axes {}", to_string(shape),
                              fmt::join(order.along, ", ")));
    }
    PairWalk walk;
    if (*count == 0) return walk;  // its other extents may be any number
    walk.rows_ = shape[0].value();
    if (contains(order.along, 0)) walk.step_ = order.along.size() == 1 ? 2 : walk.rows_;
    const Integers strides = shape.strides();
    walk.row_size_ = strides.front();
    // Of a whole slab; the last one may be a row alone, which has no partner.
    Integers extents(shape.known_extents().begin(), shape.known_extents().end());
    extents.front() = std::min(walk.step_, walk.rows_);
    Integers apart;
    for (std::int64_t axis = 0; axis < shape.rank(); ++axis) {
      if (!contains(order.along, axis)) apart.push_back(axis);
    }
    walk.starts_ = offsets_over(apart, extents, strides);
    walk.steps_ = offsets_over(order.along, extents, strides);
    return walk;
  }

  // Calls `body(first, size)`, both in elements, for each slab in order, until one fails.
  template <class Body>
  [[nodiscard]] Expected<void> for_each_slab(Body body) const {
    if (row_size_ == 0) return {};
    for (std::int64_t row = 0; row < rows_; row += step_) {
      if (step_ == 2 && row + 1 == rows_) return {};
      const std::int64_t rows = std::min(step_, rows_ - row);
      QUADRANT_CHECK(body(row * row_size_, static_cast<std::size_t>(rows * row_size_)));
    }
    return {};
  }

  // Calls `body(first, second)` for each pair of a slab, with their offsets in it.
  template <class Body>
  void for_each_pair(Body body) const {
    for (const std::int64_t start : starts_) {
      for (std::size_t i = 0; i + 1 < steps_.size(); i += 2) {
        body(static_cast<std::size_t>(start + steps_[i]),
             static_cast<std::size_t>(start + steps_[i + 1]));
      }
    }
  }

 private:
  std::int64_t rows_ = 0;
  std::int64_t step_ = 1;  // rows of a slab
  std::int64_t row_size_ = 0;
  Integers starts_;  // where the order begins anew
  Integers steps_;   // from there
};

// Which scale an element has.
class ScaleOf {
 public:
  static Expected<ScaleOf> of(const Shape& shape, const Granularity& granularity,
                              std::size_t scales, std::span<const PairOrder> orders) {
    ScaleOf result;
    const std::int64_t axis = granularity.axis;
    const bool per_axis = granularity.kind == Granularity::Kind::axis;
    const auto is_along = [&](const PairOrder& order) { return contains(order.along, axis); };
    const bool is_valid =
        per_axis ? 0 <= axis && axis < shape.rank() && std::ranges::none_of(orders, is_along)
                 : granularity.kind == Granularity::Kind::tensor;
    if (per_axis && is_valid) {
      result.extent_ = shape[axis].value();
      result.stride_ = shape.strides()[static_cast<std::size_t>(axis)];
    }
    if (!is_valid || static_cast<std::size_t>(result.extent_) != scales) {
      return fail(ErrorCode::impossible,
                  fmt::format("no pair of weights {} has one of these {} scales", to_string(shape),
                              scales));
    }
    return result;
  }

  std::size_t operator()(std::int64_t element) const {
    return static_cast<std::size_t>(element / stride_ % extent_);
  }

 private:
  std::int64_t extent_ = 1;
  std::int64_t stride_ = 1;
};

// The least scale, not below `scale`, with which the pair is exact.
float exact_scale(float first, float second, float scale, std::int64_t min, std::int64_t max) {
  const double large = std::max(std::abs(double{first}), std::abs(double{second}));
  const double small = std::min(std::abs(double{first}), std::abs(double{second}));
  // As most are: rounding adds half a code to each.
  if (large + small <= 127 * double{scale}) return scale;
  const auto is_exact = [&] {
    return is_exact_pair(quantize_value(first, scale, 0, min, max),
                         quantize_value(second, scale, 0, min, max));
  };
  if (!std::isfinite(first) || !std::isfinite(second) || is_exact()) return scale;
  // Rounding takes half a code from each: with a smaller scale the sum is beyond 128, unless the
  // larger is clamped, when the smaller may have what is left, and half a code.
  const double left = 128.5 - static_cast<double>(std::max(std::abs(min), std::abs(max)));
  scale = std::max(scale, static_cast<float>(std::min((large + small) / 129, small / left)));
  while (!is_exact()) {
    scale = std::max(scale * 1.001F, std::nextafter(scale, std::numeric_limits<float>::infinity()));
  }
  return scale;
}

// Of the weights that share a scale: the two largest, and the two smallest.
struct Extremes {
  std::array<float, 2> largest{};
  std::array<float, 2> smallest{};

  void add(float value) {
    if (value > largest[1]) largest = {std::max(value, largest[0]), std::min(value, largest[0])};
    if (value < smallest[1]) {
      smallest = {std::min(value, smallest[0]), std::max(value, smallest[0])};
    }
  }
};

// Calls `body(value, scale index)` for each weight.
template <class Body>
Expected<void> for_each_weight(const Constant& weights, const ScaleOf& scale_of, Body body) {
  FloatReader reader(weights);
  const std::int64_t count = weights.element_count();
  for (std::int64_t first = 0; first < count;) {
    const std::size_t size = piece_size(first, count);
    QUADRANT_TRY(const std::span<const float> values, reader.read(first, size));
    for (const float value : values) body(value, scale_of(first++));
  }
  return {};
}

Expected<std::vector<Extremes>> extremes_of(const Constant& weights, const ScaleOf& scale_of,
                                            std::size_t scales) {
  std::vector<Extremes> extremes(scales);
  QUADRANT_CHECK(for_each_weight(weights, scale_of, [&](float value, std::size_t i) {
    extremes[i].add(std::isfinite(value) ? value : 0);
  }));
  return extremes;
}

// Where a scale was raised, half of the range may lose less: weights that are large together, or of
// few values, then lie on codes. Any two codes of magnitudes up to 64 are exact.
Expected<void> take_halves(const Constant& weights, const ScaleOf& scale_of,
                           const std::vector<float>& least, std::int64_t min, std::int64_t max,
                           std::vector<float>& scales) {
  std::vector<float> halves(scales.size(), 0);
  QUADRANT_CHECK(for_each_weight(weights, scale_of, [&](float value, std::size_t i) {
    if (std::isfinite(value)) halves[i] = std::max(halves[i], std::abs(value) / 64);
  }));
  struct Errors {
    double raised = 0;
    double half = 0;
  };
  std::vector<Errors> errors(scales.size());
  QUADRANT_CHECK(for_each_weight(weights, scale_of, [&](float value, std::size_t i) {
    if (scales[i] == least[i] || halves[i] < scales[i] || !std::isfinite(value)) return;
    const auto squared = [&](float scale) {
      const auto code = static_cast<double>(quantize_value(value, scale, 0, min, max));
      const double error = double{value} - code * double{scale};
      return error * error;
    };
    errors[i].raised += squared(scales[i]);
    errors[i].half += squared(halves[i]);
  }));
  for (std::size_t i = 0; i < scales.size(); ++i) {
    if (errors[i].half < errors[i].raised) scales[i] = halves[i];
  }
  return {};
}

}  // namespace

Expected<std::vector<float>> exact_pair_scales(const Constant& weights,
                                               const Granularity& granularity,
                                               std::vector<float> scales, std::int64_t min,
                                               std::int64_t max,
                                               std::span<const PairOrder> orders) {
  QUADRANT_TRY(const ScaleOf scale_of,
               ScaleOf::of(weights.shape(), granularity, scales.size(), orders));
  const std::vector<float> least = scales;
  FloatReader reader(weights);
  for (const PairOrder& order : orders) {
    if (order.along.empty()) {
      QUADRANT_TRY(const auto extremes, extremes_of(weights, scale_of, scales.size()));
      for (std::size_t i = 0; i < scales.size(); ++i) {
        for (const auto& [first, second] : {extremes[i].largest, extremes[i].smallest}) {
          scales[i] = exact_scale(first, second, scales[i], min, max);
        }
      }
      continue;
    }
    QUADRANT_TRY(const PairWalk walk, PairWalk::of(weights.shape(), order));
    QUADRANT_CHECK(walk.for_each_slab([&](std::int64_t begin, std::size_t size) -> Expected<void> {
      QUADRANT_TRY(const std::span<const float> values, reader.read(begin, size));
      walk.for_each_pair([&](std::size_t first, std::size_t second) {
        float& scale = scales[scale_of(begin + static_cast<std::int64_t>(first))];
        scale = exact_scale(values[first], values[second], scale, min, max);
      });
      return {};
    }));
  }
  if (scales != least) {
    QUADRANT_CHECK(take_halves(weights, scale_of, least, min, max, scales));
  }
  return scales;
}

namespace {

// Calls `body(first, second, is_exact)` for each pair, with the places of its codes.
template <class Body>
Expected<void> for_each_coded_pair(const Constant& codes, const PairOrder& order, Body body) {
  if (codes.element() != ElementType::int8) {
    return fail(ErrorCode::impossible,
                fmt::format("weights of {} have no such pairs", to_string(codes.element())));
  }
  QUADRANT_TRY(const PairWalk walk, PairWalk::of(codes.shape(), order));
  std::vector<std::int8_t> values;
  return walk.for_each_slab([&](std::int64_t begin, std::size_t size) -> Expected<void> {
    values.resize(size);
    QUADRANT_CHECK(
        codes.read(static_cast<std::uint64_t>(begin), std::as_writable_bytes(std::span(values))));
    walk.for_each_pair([&](std::size_t first, std::size_t second) {
      body(static_cast<std::size_t>(begin) + first, static_cast<std::size_t>(begin) + second,
           is_exact_pair(values[first], values[second]));
    });
    return {};
  });
}

}  // namespace

Expected<PairCount> count_inexact_pairs(const Constant& codes, const PairOrder& order) {
  PairCount count;
  QUADRANT_CHECK(for_each_coded_pair(
      codes, order, [&](std::size_t /*first*/, std::size_t /*second*/, bool is_exact) {
        ++count.pairs;
        count.inexact += is_exact ? 0U : 1U;
      }));
  return count;
}

Expected<void> for_each_inexact_pair(const Constant& codes, const PairOrder& order,
                                     FunctionRef<void(std::size_t, std::size_t)> body) {
  return for_each_coded_pair(codes, order,
                             [&](std::size_t first, std::size_t second, bool is_exact) {
                               if (!is_exact) body(first, second);
                             });
}

}  // namespace quadrant::inline v0
