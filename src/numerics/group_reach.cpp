#include "numerics/group_reach.hpp"

#include <algorithm>

#include "numerics/finite.hpp"
#include "numerics/kernels/extremes.hpp"

namespace quadrant::inline v0 {
namespace {

// With two operands and no branch, so that it vectorises.
void extend_each(std::span<float> so_far, std::span<const float> by) noexcept {
  for (std::size_t i = 0; i < by.size(); ++i) so_far[i] = so_far[i] < by[i] ? by[i] : so_far[i];
}

}  // namespace

void GroupReach::start(std::size_t first, std::size_t count) {
  first_ = first;
  above_.assign(count, 0);
  below_.assign(count, 0);
}

template <class Number>
bool GroupReach::add(const Groups& groups, std::int64_t first, std::span<const Number> values) {
  bool is_finite = true;
  groups.for_each_batch(first, values.size(), [&](const RunBatch& batch) {
    const Number* const begin = values.data() + batch.position;
    if (!groups.interleaved()) {
      is_finite = add_rows(batch, begin) && is_finite;
      return;
    }
    const auto above = std::span(above_).subspan(batch.group - first_, batch.length);
    const auto below = std::span(below_).subspan(batch.group - first_, batch.length);
    kernels::reach_of_columns(begin, {batch.runs, batch.length, batch.length},
                              {above.data(), below.data()});
    is_finite = is_finite && are_finite(above) && are_finite(below);
  });
  return is_finite;
}

template <class Number>
bool GroupReach::add_columns(const Number* values, std::size_t rows, std::size_t stride) {
  kernels::reach_of_columns(values, {rows, above_.size(), stride}, {above_.data(), below_.data()});
  return are_finite(above_) && are_finite(below_);
}

template <class Number>
bool GroupReach::add_rows(const RunBatch& batch, const Number* values) {
  rows_above_.resize(batch.runs);
  rows_below_.resize(batch.runs);
  kernels::reach_of_rows(values, {batch.runs, batch.length, batch.length},
                         {rows_above_.data(), rows_below_.data()});
  extend_each(std::span(above_).subspan(batch.group - first_), rows_above_);
  extend_each(std::span(below_).subspan(batch.group - first_), rows_below_);
  return are_finite(rows_above_) && are_finite(rows_below_);
}

void GroupReach::merge(const GroupReach& other) noexcept {
  extend_each(above_, other.above_);
  extend_each(below_, other.below_);
}

template bool GroupReach::add(const Groups&, std::int64_t, std::span<const float>);
template bool GroupReach::add(const Groups&, std::int64_t, std::span<const kernels::Float16>);
template bool GroupReach::add_columns(const float*, std::size_t, std::size_t);
template bool GroupReach::add_columns(const kernels::Float16*, std::size_t, std::size_t);

}  // namespace quadrant::inline v0
