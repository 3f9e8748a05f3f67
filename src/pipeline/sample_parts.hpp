// Samples to fit on, others to judge on, and others again that tell what the result is worth.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quadrant/calibration/data_set.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// Some samples of a data set, which outlives it.
class PartOfSamples final : public DataSet {
 public:
  PartOfSamples(const DataSet& all, std::vector<std::size_t> chosen)
      : all_(all), chosen_(std::move(chosen)) {}

  [[nodiscard]] std::size_t size() const override { return chosen_.size(); }
  [[nodiscard]] std::string name(std::size_t i) const override { return all_.name(chosen_[i]); }
  [[nodiscard]] Expected<Sample> sample(std::size_t i) const override {
    return all_.sample(chosen_[i]);
  }

 private:
  const DataSet& all_;
  std::vector<std::size_t> chosen_;
};

/// Samples, by their indexes: what is fitted on some is judged on the others.
struct Fold {
  std::vector<std::size_t> fitted;
  std::vector<std::size_t> judged;
};

struct SampleParts {
  std::vector<Fold> folds;  ///< one, or two
  std::vector<std::size_t> held_back{};
};

/// 0, 1, ...
[[nodiscard]] std::vector<std::size_t> all_of(std::size_t count);

/// Two halves, and a quarter of all that is held back, by turns, so that samples in some order are
/// alike in all parts. Of two and of three none is held back, and one is fitted and judged on.
[[nodiscard]] SampleParts part_samples(std::size_t count);

/// Labels of these samples, of which all have equally many; empty where they do not.
[[nodiscard]] std::optional<std::vector<std::int64_t>> labels_of(
    const std::vector<std::int64_t>& labels, std::size_t samples,
    const std::vector<std::size_t>& chosen);

}  // namespace quadrant::inline v0
