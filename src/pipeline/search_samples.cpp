#include "pipeline/search_samples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace quadrant::inline v0 {

Expected<SearchSamples> SearchSamples::open(const RunRequest& request, const Graph& model,
                                            const OptimizeOptions& options,
                                            const RunContext& context) {
  SearchSamples made;
  made.labels_ = options.labels;
  QUADRANT_TRY(made.all_, open_samples(request.inputs, model, context));
  const std::size_t count = made.all_->size();
  using SampleUse = OptimizeSamples::Use;
  if (options.data.samples != nullptr || !options.data.calibration.empty()) {
    QUADRANT_TRY(made.judging_, open_samples(options.data, model, context));
    const std::size_t judged = made.judging_->size();
    made.parts_ = {.folds = {{all_of(count), all_of(judged)}}};
    made.counts_ = {.use = SampleUse::given, .fitted = count, .judged = judged};
    QUADRANT_CHECK(made.check_labels(options.labels_name));
    return made;
  }
  const bool can_part = !options.labels || labels_of(*options.labels, count, {}).has_value();
  made.parts_ = can_part ? part_samples(count) : SampleParts{{{all_of(count), all_of(count)}}};
  const std::size_t held_back = made.held_back().size();
  made.counts_ = {.use = made.folds().size() == 1 ? SampleUse::same : SampleUse::crossed,
                  .fitted = count - held_back,
                  .judged = count - held_back,
                  .held_back = held_back};
  QUADRANT_CHECK(made.check_labels(options.labels_name));
  return made;
}

void SearchSamples::join() {
  const std::size_t count = all_->size();
  parts_ = {.folds = {{all_of(count), all_of(count)}}};
  counts_ = {.use = OptimizeSamples::Use::same, .fitted = count, .judged = count};
}

// Without any, nothing could be lost. How many there are shows when the model has run.
Expected<void> SearchSamples::check_labels(const std::string& file) const {
  if (!labels_ || labels_->empty()) return {};
  for (const Fold& fold : folds()) {
    const auto labels = judges(fold.judged).labels;
    if (!labels || std::ranges::any_of(*labels, [](std::int64_t label) { return label >= 0; })) {
      return {};
    }
  }
  return fail(ErrorCode::usage,
              "no sample to judge on has a label: classes are counted from 0, and negative labels "
              "are passed over",
              {.file = file});
}

Judges SearchSamples::all_judges() const { return judges(all_of(judging().size())); }

std::string SearchSamples::doubt() const {
  if (counts_.use == OptimizeSamples::Use::given || counts_.held_back != 0) return {};
  const bool is_same = counts_.use == OptimizeSamples::Use::same;
  return fmt::format("{}: give four samples or more{}, or others to judge on",
                     is_same ? "what is judged on the samples that it is fitted on looks better "
                               "than it is"
                             : "no sample is held back to tell what the result is worth",
                     is_same && all_->size() > 1 ? " with equally many labels each" : "");
}

std::unique_ptr<DataSet> SearchSamples::fitting(std::vector<std::size_t> chosen) const {
  return std::make_unique<PartOfSamples>(*all_, std::move(chosen));
}

std::unique_ptr<DataSet> SearchSamples::searched() const {
  std::vector<std::size_t> chosen = folds().front().fitted;
  if (folds().size() > 1) {
    const auto& others = folds().back().fitted;
    chosen.insert(chosen.end(), others.begin(), others.end());
    std::ranges::sort(chosen);
  }
  return fitting(std::move(chosen));
}

Judges SearchSamples::judges(const std::vector<std::size_t>& chosen) const {
  const DataSet& from = judging();
  Judges made{.samples = std::make_unique<PartOfSamples>(from, chosen), .labels = labels_};
  if (labels_ && chosen.size() != from.size()) {
    made.labels = labels_of(*labels_, from.size(), chosen);
  }
  return made;
}

}  // namespace quadrant::inline v0
