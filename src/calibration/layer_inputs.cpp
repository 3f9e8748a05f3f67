#include "calibration/layer_inputs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace quadrant::inline v0 {
namespace {

// --- extents -------------------------------------------------------------------------------------

using Extents = std::span<const std::int64_t>;

// Elements along axes in front of one, the extent of that, and along those behind it.
struct Axes {
  std::int64_t outer = 1;
  std::int64_t extent = 1;
  std::int64_t inner = 1;
};

Axes around(Extents extents, std::size_t axis) {
  Axes found;
  for (std::size_t i = 0; i < axis; ++i) found.outer *= extents[i];
  found.extent = extents[axis];
  for (std::size_t i = axis + 1; i < extents.size(); ++i) found.inner *= extents[i];
  return found;
}

// Of the data of matrices, those in front of the last two.
Extents batch_of(Extents extents) {
  return extents.first(extents.size() - std::min<std::size_t>(extents.size(), 2));
}

// Of batches that broadcast, an extent counted from the end; 1 where there is none.
std::int64_t from_end(Extents of, std::size_t i) {
  return i < of.size() ? of[of.size() - 1 - i] : 1;
}

bool broadcast(Extents a, Extents b) {
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const std::int64_t of_a = from_end(a, i);
    const std::int64_t of_b = from_end(b, i);
    if (of_a != of_b && of_a != 1 && of_b != 1) return false;
  }
  return true;
}

// The axis of the data along which the columns are; nothing where these do not fit the weight.
std::optional<std::size_t> data_axis(const LayerWeight& weight, Extents extents) {
  const auto columns = static_cast<std::int64_t>(weight.layout.columns.size());
  const auto matrices = static_cast<std::int64_t>(weight.layout.matrices.size());
  const auto axis = static_cast<std::size_t>(weight.data_axis);
  if (weight.is_convolution) {
    const bool fits = extents.size() > axis && extents[axis] > 0 && extents[axis] % matrices == 0 &&
                      columns % (extents[axis] / matrices) == 0;
    return fits ? std::optional(axis) : std::nullopt;
  }
  if (extents.size() < axis || extents[extents.size() - axis] != columns) return std::nullopt;
  if (!broadcast(batch_of(extents), weight.batch)) return std::nullopt;
  return extents.size() - axis;
}

// Which of the batches of one tensor goes with which of the other's.
std::vector<std::pair<std::int64_t, std::int64_t>> broadcast_batches(Extents a, Extents b) {
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs{{0, 0}};
  for (std::size_t i = std::max(a.size(), b.size()); i-- > 0;) {
    const std::int64_t of_a = from_end(a, i);
    const std::int64_t of_b = from_end(b, i);
    const std::int64_t count = of_a == 1 ? of_b : of_a;
    std::vector<std::pair<std::int64_t, std::int64_t>> more;
    for (const auto& [at_a, at_b] : pairs) {
      for (std::int64_t k = 0; k < count; ++k) {
        more.emplace_back(at_a * of_a + (of_a == 1 ? 0 : k), at_b * of_b + (of_b == 1 ? 0 : k));
      }
    }
    pairs = std::move(more);
  }
  return pairs;
}

// --- inputs --------------------------------------------------------------------------------------

/// Which of `count` inputs are taken, of which there are `most` at most.
class Spread {
 public:
  Spread(std::int64_t count, std::int64_t most)
      : count_(count), taken_(std::clamp<std::int64_t>(most, 0, count)) {}
  [[nodiscard]] std::int64_t size() const noexcept { return taken_; }
  [[nodiscard]] std::int64_t operator[](std::int64_t i) const noexcept {
    return i * (count_ / taken_) + i * (count_ % taken_) / taken_;
  }

 private:
  std::int64_t count_;
  std::int64_t taken_;
};

/// Inputs [count, columns] of one matrix, on the grid, as they are collected.
class Inputs {
 public:
  Inputs(WatchedWeight& watched, std::size_t matrix)
      : watched_(watched), matrix_(matrix), steps_(watched.moments->steps(matrix)) {
    constexpr std::size_t bytes_at_once = std::size_t{1} << 24U;
    most_ =
        std::max<std::size_t>(bytes_at_once / sizeof(double) / steps_.size(), 1) * steps_.size();
  }

  /// The next number, of the next column.
  Expected<void> add(double x) {
    const double step = steps_[numbers_.size() % steps_.size()];
    const double steps = step == 0 ? 0 : std::nearbyint(x / step);
    const double kept = std::clamp(steps, -SecondMoments::most_steps, SecondMoments::most_steps);
    if (kept != steps || (step == 0 && x != 0)) ++watched_.cut;
    numbers_.push_back(kept);
    return numbers_.size() < most_ ? Expected<void>() : finish();
  }
  Expected<void> finish() {
    QUADRANT_CHECK(watched_.moments->add(matrix_, numbers_));
    numbers_.clear();
    return {};
  }

 private:
  WatchedWeight& watched_;
  std::size_t matrix_;
  std::span<const double> steps_;
  std::vector<double> numbers_;
  std::size_t most_ = 0;
};

}  // namespace

const char* unfit(const LayerWeight& weight, const LayerData& data) {
  if (!data_axis(weight, data.tensor.extents())) {
    return "inputs of its layer have other extents than the model says";
  }
  // What probes of convolutions compute with is float32.
  const double most = weight.is_convolution ? static_cast<double>(std::numeric_limits<float>::max())
                                            : std::numeric_limits<double>::max();
  const bool is_finite =
      std::ranges::all_of(data.reals, [&](double x) { return std::fabs(x) <= most; });
  return is_finite ? nullptr : "inputs of its layer are not finite";
}

Expected<void> add_positions(WatchedWeight& watched, const Tensor& patches, std::int64_t most) {
  const SecondMoments& moments = *watched.moments;
  const auto y = patches.as<float>();
  const Axes axes = around(patches.extents(), 1);
  const auto columns = static_cast<std::int64_t>(moments.layout().columns.size());
  const Spread taken(axes.outer * axes.inner, most);
  for (std::size_t matrix = 0; matrix < moments.layout().matrices.size(); ++matrix) {
    Inputs inputs(watched, matrix);
    for (std::int64_t i = 0; i < taken.size(); ++i) {
      const std::int64_t image = taken[i] / axes.inner;
      const std::int64_t position = taken[i] % axes.inner;
      const std::int64_t first = image * axes.extent + static_cast<std::int64_t>(matrix) * columns;
      for (std::int64_t column = 0; column < columns; ++column) {
        const std::int64_t at = (first + column) * axes.inner + position;
        QUADRANT_CHECK(inputs.add(static_cast<double>(y[static_cast<std::size_t>(at)])));
      }
    }
    QUADRANT_CHECK(inputs.finish());
  }
  return {};
}

Expected<void> add_matrices(WatchedWeight& watched, const LayerWeight& weight,
                            const LayerData& data, std::int64_t most) {
  const Extents extents = data.tensor.extents();
  const SecondMoments& moments = *watched.moments;
  std::int64_t size = 1;
  for (const std::int64_t extent : extents.last(extents.size() - batch_of(extents).size())) {
    size *= extent;
  }
  const auto columns = static_cast<std::int64_t>(moments.layout().columns.size());
  const std::int64_t inner = weight.data_axis == 1 ? 1 : extents.back();
  const std::int64_t rows = size / columns;
  const auto batches = broadcast_batches(batch_of(extents), weight.batch);
  const auto matrices = static_cast<std::int64_t>(moments.layout().matrices.size());
  const Spread taken(static_cast<std::int64_t>(batches.size()) * rows / matrices, most);
  // With one matrix, all rows of all batches; else those of each of its batches.
  std::vector<std::vector<std::int64_t>> of_matrix(static_cast<std::size_t>(matrices));
  for (const auto& [of_data, of_weight] : batches) {
    of_matrix[matrices == 1 ? 0 : static_cast<std::size_t>(of_weight)].push_back(of_data);
  }
  for (std::size_t matrix = 0; matrix < of_matrix.size(); ++matrix) {
    Inputs inputs(watched, matrix);
    for (std::int64_t i = 0; i < taken.size(); ++i) {
      const std::int64_t of_data = of_matrix[matrix][static_cast<std::size_t>(taken[i] / rows)];
      const std::int64_t row = taken[i] % rows;
      const std::int64_t first = of_data * size + (inner == 1 ? row * columns : row);
      for (std::int64_t column = 0; column < columns; ++column) {
        QUADRANT_CHECK(inputs.add(data.reals[static_cast<std::size_t>(first + column * inner)]));
      }
    }
    QUADRANT_CHECK(inputs.finish());
  }
  return {};
}

Expected<void> reach(WatchedWeight& watched, const LayerReader& reader, const LayerData& data) {
  if (const char* const why_not = unfit(reader.weight, data)) {
    const std::lock_guard lock(watched.mutex);
    watched.leave(why_not);
    return {};
  }
  const auto extents = data.tensor.extents();
  const Axes axes = around(extents, data_axis(reader.weight, extents).value_or(0));
  std::vector<double> largest(static_cast<std::size_t>(axes.extent));
  for (std::size_t i = 0; i < data.reals.size(); ++i) {
    double& most = largest[i / static_cast<std::size_t>(axes.inner) % largest.size()];
    most = std::max(most, std::fabs(data.reals[i]));
  }
  const std::lock_guard lock(watched.mutex);
  // Of a convolution, columns are the taps of a channel, and matrices groups of channels.
  const std::size_t taps =
      reader.weight.is_convolution ? watched.largest.size() / largest.size() : 1;
  for (std::size_t i = 0; i < watched.largest.size(); ++i) {
    watched.largest[i] = std::max(watched.largest[i], largest[i / taps % largest.size()]);
  }
  return {};
}

}  // namespace quadrant::inline v0
