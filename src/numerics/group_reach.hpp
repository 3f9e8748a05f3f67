// How far the values of each group reach from zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "numerics/groups.hpp"

namespace quadrant::inline v0 {

/// max(w, 0) and -min(w, 0) of the values of each group that were added so far: numbers that are
/// `float` or `kernels::Float16`.
class GroupReach {
 public:
  GroupReach() = default;
  /// Of the groups from the first one on.
  explicit GroupReach(std::size_t groups) { start(0, groups); }

  /// From now on of `count` groups from `first` on, of which nothing has been added.
  void start(std::size_t first, std::size_t count);

  /// `values` are the elements of a tensor from `first` on, all in these groups. False if some are
  /// not finite: what is known of their groups is then useless.
  template <class Number>
  [[nodiscard]] bool add(const Groups& groups, std::int64_t first, std::span<const Number> values);
  /// All of these groups, which are columns: rows of them. False as above.
  template <class Number>
  [[nodiscard]] bool add_columns(const Number* values, std::size_t rows, std::size_t stride);
  /// Of the same groups.
  void merge(const GroupReach& other) noexcept;

  [[nodiscard]] std::span<const float> above() const noexcept { return above_; }
  [[nodiscard]] std::span<const float> below() const noexcept { return below_; }

 private:
  template <class Number>
  [[nodiscard]] bool add_rows(const RunBatch& batch, const Number* values);

  std::size_t first_ = 0;
  std::vector<float> above_;
  std::vector<float> below_;
  std::vector<float> rows_above_;  ///< of each run of a batch
  std::vector<float> rows_below_;
};

}  // namespace quadrant::inline v0
