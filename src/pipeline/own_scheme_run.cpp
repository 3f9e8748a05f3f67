#include "pipeline/own_scheme_run.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "pipeline/optimizations.hpp"
#include "pipeline/static_affine_run.hpp"
#include "pipeline/weight_only_run.hpp"

namespace quadrant::inline v0 {
namespace {

Expected<std::shared_ptr<const StatisticsTable>> statistics_of(SchemeSubject& subject,
                                                               std::string_view scheme) {
  const RunInputs& inputs = subject.request.inputs;
  const bool has_calibration = inputs.has_samples() || inputs.has_statistics();
  if (!has_calibration && subject.statistics.values.empty()) {
    return fail(ErrorCode::usage,
                fmt::format("{} finds ranges on data: it needs samples, statistics that 'quadrant "
                            "calibrate' saved, or 'stats' of the model's own",
                            scheme),
                {}, Remedy::give_samples);
  }
  StatisticsTable statistics;
  if (inputs.has_statistics()) {
    QUADRANT_TRY(statistics, read_statistics_of(subject.graph, inputs.calibration));
    tell_other_model(subject, statistics);
  } else if (inputs.has_samples()) {
    QUADRANT_TRY(statistics, observe(subject, true));
  }
  subject.has_calibrated = has_calibration;
  take_own_statistics(subject, statistics);
  return std::make_shared<const StatisticsTable>(std::move(statistics));
}

}  // namespace

Expected<void> check_own_scheme(const RunRequest& request, const SchemeChoices& choices) {
  QUADRANT_CHECK(check_transform_for(request, optimizations_of(choices.model)));
  return check_options(choices);
}

Expected<Registry> make_own_scheme(SchemeSubject& subject, const SchemeChoices& chosen) {
  QUADRANT_TRY(const SchemeEntry* const scheme, chosen.schemes.find(chosen.choices.front().scheme));
  QUADRANT_CHECK(transform_for(subject, optimizations_of(chosen.model)));
  SchemeData data;
  if (scheme->needs_data) {
    QUADRANT_TRY(data.statistics, statistics_of(subject, scheme->name));
    subject.observed = data.statistics;
  }
  const RunInputs& inputs = subject.request.inputs;
  if (scheme->takes_moments && (inputs.has_samples() || !inputs.moments.empty())) {
    QUADRANT_TRY(auto moments, moments_of(subject));
    round_by(std::move(moments), subject, data);
  }
  if (subject.weights.moments == nullptr) subject.weights = data;
  return chosen.make_registry(data);
}

}  // namespace quadrant::inline v0
