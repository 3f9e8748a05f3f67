#include "numerics/pieces.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "numerics/finite.hpp"
#include "quadrant/numerics/encode.hpp"

namespace quadrant::inline v0 {

namespace {

/// What is looked at in one view: enough that making it takes next to no time.
constexpr std::uint64_t view_bytes = std::uint64_t{16} << 20;
/// Runs are looked at together with what lies between them unless that is so many times as much.
constexpr std::uint64_t most_between = 16;

}  // namespace

const std::byte* FloatReader::seen(std::int64_t first, std::size_t count) {
  const std::uint64_t begin = static_cast<std::uint64_t>(first) * width_;
  const std::uint64_t size = count * width_;
  const bool is_inside = begin >= view_begin_ && begin + size <= view_begin_ + view_.bytes().size();
  if (!is_inside) {
    if (!can_view_) return nullptr;
    view_ = {};  // before the next one, so that there are never two
    const std::uint64_t most = std::max(size, std::min(view_bytes, end_ - begin));
    const auto view = constant_.view(begin, static_cast<std::size_t>(most));
    can_view_ = view.has_value();
    if (!can_view_) return nullptr;
    view_ = *view;
    view_begin_ = begin;
  }
  return view_.bytes().data() + (begin - view_begin_);
}

const float* FloatReader::widened(const std::byte* bytes, std::size_t count) {
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(bytes) % alignof(float) == 0;
  if (constant_.element() == ElementType::float32 && is_aligned) {
    return reinterpret_cast<const float*>(bytes);
  }
  if (values_.size() < count) values_.resize(count);
  widen_to_float(constant_.element(), std::span(bytes, count * width_), values_);
  return values_.data();
}

Expected<std::span<const float>> FloatReader::read(std::int64_t first, std::size_t count) {
  QUADRANT_TRY(const FloatRuns run, read_runs(first, 0, count, 1));
  return std::span(run.first, count);
}

Expected<FloatRuns> FloatReader::read_runs(std::int64_t first, std::int64_t step,
                                           std::size_t length, std::size_t count) {
  const std::size_t wanted = length * count;
  const auto stride = static_cast<std::size_t>(step);
  const std::size_t region = (count - 1) * stride + length;
  // What is widened is so with all that lies between.
  const bool is_direct = region == wanted || constant_.element() == ElementType::float32;
  if (is_direct && region / most_between <= wanted) {
    if (const std::byte* const bytes = seen(first, region)) {
      return FloatRuns{widened(bytes, region), stride};
    }
  }
  // One run behind the other.
  raw_.resize(wanted * width_);
  const ByteRuns runs{.offset = static_cast<std::uint64_t>(first) * width_,
                      .step = static_cast<std::uint64_t>(step) * width_,
                      .length = length * width_};
  QUADRANT_CHECK(constant_.read_runs(runs, raw_));
  return FloatRuns{widened(raw_.data(), wanted), length};
}

std::optional<NonFinite> first_non_finite(std::span<const float> values, std::int64_t first) {
  if (are_finite(values)) return std::nullopt;
  const auto found =
      std::ranges::find_if(values, [](float value) { return !std::isfinite(value); });
  return NonFinite{first + (found - values.begin()), *found};
}

}  // namespace quadrant::inline v0
