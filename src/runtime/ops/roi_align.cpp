#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/ops/windows.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/indices.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

// A sample along one axis: between two pixels, or outside, where both weights are 0.
template <class T>
struct Sample {
  std::int64_t low = 0, high = 0;
  T low_weight = 0, high_weight = 0;
};

// Samples along one axis of a region, which has `bins` of `per_bin` each.
template <class T>
struct Samples {
  std::int64_t per_bin = 0;
  std::vector<Sample<T>> all;

  [[nodiscard]] std::span<const Sample<T>> of_bin(std::int64_t bin) const {
    return std::span(all).subspan(static_cast<std::size_t>(bin * per_bin),
                                  static_cast<std::size_t>(per_bin));
  }
};

struct RoiRules {
  std::int64_t height = 1, width = 1;  // of the result, in bins
  std::int64_t samples = 0;            // along each axis of a bin; 0: one for each pixel
  double scale = 1;                    // from the regions' coordinates to pixels
  bool half_pixel = true;              // pixels lie half a pixel behind their indices
  bool largest = false;                // of the samples, else their average
};

Expected<RoiRules> roi_rules(const KernelCall& call) {
  RoiRules rules{.height = call.attribute_or<std::int64_t>("output_height", 1),
                 .width = call.attribute_or<std::int64_t>("output_width", 1),
                 .samples = call.attribute_or<std::int64_t>("sampling_ratio", 0),
                 .scale = call.attribute_or<double>("spatial_scale", 1)};
  const auto coordinates = call.attribute_or<std::string>(
      "coordinate_transformation_mode", call.opset() < 16 ? "output_half_pixel" : "half_pixel");
  rules.half_pixel = coordinates == "half_pixel";
  const auto mode = call.attribute_or<std::string>("mode", "avg");
  rules.largest = mode == "max";
  constexpr std::int64_t most = 1 << 20;
  if (rules.height < 1 || rules.width < 1 || rules.height > most || rules.width > most) {
    return KernelCall::refuse(fmt::format("an output of {} x {}", rules.height, rules.width));
  }
  if ((!rules.half_pixel && coordinates != "output_half_pixel") ||
      (!rules.largest && mode != "avg")) {
    return KernelCall::refuse(fmt::format("the mode '{}' with '{}'", mode, coordinates));
  }
  return rules;
}

template <class T>
Sample<T> sample_at(T x, std::int64_t extent) {
  if (!(x >= -1 && x <= static_cast<T>(extent))) return {};
  x = std::clamp(x, T{0}, static_cast<T>(extent - 1));
  const auto low = static_cast<std::int64_t>(x);
  const T rest = x - static_cast<T>(low);
  return {low, std::min(low + 1, extent - 1), 1 - rest, rest};
}

template <class T>
Expected<Samples<T>> samples_of(const RoiRules& rules, T start, T end, std::int64_t bins,
                                std::int64_t extent) {
  const T offset = rules.half_pixel ? T{0.5} : T{0};
  const T first = start * static_cast<T>(rules.scale) - offset;
  T length = end * static_cast<T>(rules.scale) - offset - first;
  if (!rules.half_pixel) length = std::max(length, T{1});
  const T bin = length / static_cast<T>(bins);
  const T per_bin =
      rules.samples > 0 ? static_cast<T>(rules.samples) : std::max(std::ceil(bin), T{0});
  // More than any image has pixels for: a region that is far too large.
  constexpr T most_per_bin = 1 << 12;
  constexpr T most = 1 << 20;
  const bool fits = per_bin <= most_per_bin && per_bin * static_cast<T>(bins) <= most;
  if (!fits || !std::isfinite(first)) {
    return KernelCall::refuse(fmt::format("a region from {} to {}", start, end));
  }
  Samples<T> samples{.per_bin = static_cast<std::int64_t>(per_bin), .all = {}};
  for (std::int64_t i = 0; i < bins; ++i) {
    const T bin_start = first + static_cast<T>(i) * bin;
    for (std::int64_t k = 0; k < samples.per_bin; ++k) {
      const T x = bin_start + (static_cast<T>(k) + T{0.5}) * bin / static_cast<T>(samples.per_bin);
      samples.all.push_back(sample_at(x, extent));
    }
  }
  return samples;
}

// One bin of one channel.
template <class T>
T pooled(const RoiRules& rules, const T* plane, std::int64_t width, std::span<const Sample<T>> rows,
         std::span<const Sample<T>> columns) {
  T sum = 0;
  T largest = rows.empty() || columns.empty() ? T{0} : -std::numeric_limits<T>::infinity();
  for (const Sample<T>& row : rows) {
    const T* low = plane + row.low * width;
    const T* high = plane + row.high * width;
    for (const Sample<T>& column : columns) {
      // The largest is that of the weighted pixels, as in ONNX Runtime, not of their sums.
      const std::array parts{row.low_weight * column.low_weight * low[column.low],
                             row.low_weight * column.high_weight * low[column.high],
                             row.high_weight * column.low_weight * high[column.low],
                             row.high_weight * column.high_weight * high[column.high]};
      sum += parts[0] + parts[1] + parts[2] + parts[3];
      largest = std::max(largest, std::ranges::max(parts));
    }
  }
  if (rules.largest) return largest;
  return sum / static_cast<T>(std::max<std::size_t>(rows.size() * columns.size(), 1));
}

// All bins of a region in one image; gives where the next region's begin.
template <class T>
T* pool_region(const RoiRules& rules, const T* image, const Shape& shape, const Samples<T>& rows,
               const Samples<T>& columns, T* out) {
  const auto extents = shape.known_extents();
  const std::int64_t width = extents[3];
  for (std::int64_t channel = 0; channel < extents[1]; ++channel, image += extents[2] * width) {
    for (std::int64_t y = 0; y < rules.height; ++y) {
      for (std::int64_t x = 0; x < rules.width; ++x) {
        *out++ = pooled(rules, image, width, rows.of_bin(y), columns.of_bin(x));
      }
    }
  }
  return out;
}

Expected<void> check_operands(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 3));
  const Tensor& x = call.operand(0);
  const Tensor& regions = call.operand(1);
  if (x.rank() == 4 && regions.rank() == 2 && regions.extent(1) == 4 &&
      x.element() == regions.element() && call.operand(2).shape() == Shape{regions.extent(0)}) {
    return {};
  }
  return KernelCall::refuse(fmt::format("regions {} [{}] of images {} [{}]",
                                        to_string(regions.element()), to_string(regions.shape()),
                                        to_string(x.element()), to_string(x.shape())));
}

Expected<Tensors> roi_align(const KernelCall& call) {
  QUADRANT_CHECK(check_operands(call));
  QUADRANT_TRY(const RoiRules rules, roi_rules(call));
  const Tensor& x = call.operand(0);        // [batch, channels, height, width]
  const Tensor& regions = call.operand(1);  // [regions, 4]: from x, y to x, y
  QUADRANT_TRY(const auto batches, indices_below(call.operand(2), x.extent(0)));
  return with_real(x.element(), [&]<class T>() -> Expected<Tensors> {
    QUADRANT_TRY(Tensor y, Tensor::make(x.element(), {regions.extent(0), x.extent(1), rules.height,
                                                      rules.width}));
    if (y.element_count() == 0) return Tensors{std::move(y)};
    if (x.element_count() == 0) return KernelCall::refuse("images without elements");
    const std::int64_t image_size = count_between(x.shape(), 1, 4);
    const T* region = regions.as<T>().data();
    T* out = y.fill<T>().data();
    for (const std::int64_t batch : batches) {
      QUADRANT_TRY(const auto rows,
                   samples_of(rules, region[1], region[3], rules.height, x.extent(2)));
      QUADRANT_TRY(const auto columns,
                   samples_of(rules, region[0], region[2], rules.width, x.extent(3)));
      const T* image = x.as<T>().data() + batch * image_size;
      out = pool_region(rules, image, x.shape(), rows, columns, out);
      region += 4;
    }
    return Tensors{std::move(y)};
  });
}

}  // namespace

std::span<const KernelEntry> kernels::in_roi_align() noexcept {
  static constexpr auto table =
      std::to_array<KernelEntry>({{ops::RoiAlign::kind, roi_align, HalfFloats::widened}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
