// How far the values of each group reach from zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "numerics/groups.hpp"

namespace quadrant::inline v0 {

/// max(w, 0) and -min(w, 0) of the values of each group that were added so far.
class GroupReach {
 public:
  explicit GroupReach(std::size_t groups) : above_(groups), below_(groups) {}

  /// `values` are the elements of a tensor from `first` on. False if some are not finite: what is
  /// known of their groups is then useless.
  [[nodiscard]] bool add(const Groups& groups, std::int64_t first, std::span<const float> values);
  /// Of as many groups.
  void merge(const GroupReach& other) noexcept;

  [[nodiscard]] std::span<const float> above() const noexcept { return above_; }
  [[nodiscard]] std::span<const float> below() const noexcept { return below_; }

 private:
  [[nodiscard]] bool add_rows(const RunBatch& batch, const float* values);

  std::vector<float> above_;
  std::vector<float> below_;
  std::vector<float> rows_above_;  ///< of each run of a batch
  std::vector<float> rows_below_;
};

}  // namespace quadrant::inline v0
