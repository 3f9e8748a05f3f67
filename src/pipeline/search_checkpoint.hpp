// What a search has come to, in its checkpoint: attempts, and what products cost.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "pipeline/checkpoint.hpp"
#include "pipeline/float_parts.hpp"
#include "pipeline/search_samples.hpp"
#include "pipeline/trial.hpp"
#include "quadrant/pipeline/optimize.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// Of an attempt it keeps what was measured: not its settings, what is held back, or a refusal.
class SearchCheckpoint {
 public:
  /// As the subject's options say; a note tells of what is there.
  [[nodiscard]] static Expected<SearchCheckpoint> open(const TrialSubject& subject,
                                                       const SearchSamples& samples);

  /// Whether this was kept of the settings that `key` tells apart: it is in `made` then.
  [[nodiscard]] Expected<bool> find(const std::string& key, OptimizeAttempt& made) const;
  [[nodiscard]] Expected<bool> find(const std::string& key, std::vector<CostlyProduct>& made) const;
  [[nodiscard]] Expected<void> keep(const std::string& key, const OptimizeAttempt& made);
  [[nodiscard]] Expected<void> keep(const std::string& key, const std::vector<CostlyProduct>& made);

  void remove_at_end() const { file_.remove_at_end(); }

 private:
  SearchCheckpoint(Checkpoint file, std::size_t samples)
      : file_(std::move(file)), samples_(samples) {}

  Checkpoint file_;
  std::size_t samples_;
};

}  // namespace quadrant::inline v0
