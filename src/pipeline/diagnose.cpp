#include "quadrant/pipeline/diagnose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <span>
#include <utility>

#include "pipeline/cause_finder.hpp"
#include "pipeline/remedy_trials.hpp"
#include "report/agreement.hpp"
#include "report/terminal_text.hpp"
#include "support/counted.hpp"

namespace quadrant::inline v0 {
namespace {

struct KindNames {
  std::string_view key;
  std::string_view words;
};
constexpr std::array<KindNames, 9> kinds{{
    {"magnified", "errors of small values are magnified"},
    {"clipped", "values are clipped"},
    {"dead_channels", "channels are dead"},
    {"outlier_channel", "an outlier channel"},
    {"wide_range", "a range far wider than most values"},
    {"rounding", "rounding"},
    {"shifted_means", "shifted means"},
    {"saturation", "sums saturate"},
    {"float_island", "left in float between what is quantized"},
}};

// By how much a remedy has to be better to be one.
constexpr double least_gain_db = 0.1;
// One that takes away so much of its cause's share is enough; what changes more is not asked for.
constexpr double enough_part = 0.5;
// A value that is so much worse than what it is computed from has an error of its own.
constexpr double entering_db = 3;
// What has a smaller share is not among all remedies together.
constexpr double least_of_all = 0.05;

bool is_better(const Agreement& made, const Agreement& than) {
  if (made.non_finite != than.non_finite) return made.non_finite < than.non_finite;
  return made.sqnr_db() >= than.sqnr_db() + least_gain_db;
}

// Nothing is quantized any more.
bool is_float(const Agreement& made) { return made.noise == 0 && made.non_finite == 0; }

class RemedySearch {
 public:
  RemedySearch(RemedyTrials& trials, const Recipe& base, const Agreement& worst)
      : trials_(trials), base_(base), worst_(worst), reference_(worst) {}

  Expected<void> run(Diagnosis& diagnosis, std::size_t most) {
    QUADRANT_TRY(const auto again, trials_.measure(base_));
    // What comes of other samples alone is no merit of a remedy.
    if (again && is_better(*again, reference_)) reference_ = *again;
    const auto causes = std::span(diagnosis.causes).first(std::min(most, diagnosis.causes.size()));
    for (Cause& cause : causes) QUADRANT_CHECK(mend(cause));
    QUADRANT_TRY(diagnosis.together, unite(causes));
    return {};
  }

 private:
  Expected<void> mend(Cause& cause) {
    const bool saturating = cause.kind == CauseKind::saturation;
    const bool is_anew = cause.kind == CauseKind::clipped && !cause.is_weight;
    Agreement than = is_anew ? worst_ : reference_;
    if (saturating) {
      QUADRANT_TRY(const auto there, trials_.measure(base_, true));
      if (!there) return {};
      than = *there;
    }
    const std::vector<Recipe> remedies = remedies_for(cause, base_);
    for (std::size_t i = 0; i < remedies.size(); ++i) {
      const Recipe& recipe = remedies[i];
      if (i % trials_.at_a_time() == 0) {
        const auto next = std::span(remedies).subspan(i);
        QUADRANT_CHECK(trials_.measure_ahead(next.first(std::min(next.size(), trials_.at_a_time())),
                                             saturating));
      }
      QUADRANT_TRY(const auto made, trials_.measure(recipe, saturating));
      const bool is_best =
          made && !is_float(*made) && is_better(*made, cause.remedy ? cause.remedy->worst : than);
      if (!is_best) continue;
      cause.remedy = {recipe, *made};
      const double left = share_of(*made, than);
      if (left <= 1 - enough_part * cause.share.value_or(0)) break;
    }
    if (!cause.share && cause.remedy) cause.share = 1 - share_of(cause.remedy->worst, than);
    return {};
  }

  // All that helps, and all causes in float: errors that meet may hide what one alone would bring.
  Expected<std::optional<TriedRemedy>> unite(std::span<const Cause> causes) {
    std::vector<const TriedRemedy*> found;
    Recipe in_float = base_;
    for (const Cause& cause : causes) {
      const bool is_small = cause.share.value_or(0) < least_of_all;
      const bool is_elsewhere = cause.kind == CauseKind::saturation;  // measured in other kernels
      if (is_small || is_elsewhere) continue;
      if (cause.remedy) found.push_back(&*cause.remedy);
      if (cause.kind != CauseKind::shifted_means) {
        in_float = leaving_in_float(std::move(in_float), cause.name);
      }
    }
    // Those that help most first, so that their options count.
    std::ranges::stable_sort(
        found, [](const auto* a, const auto* b) { return worse_than(b->worst, a->worst); });
    Recipe all = found.empty() ? base_ : found.front()->recipe;
    for (const TriedRemedy* each : found) all = united(all, each->recipe);
    Agreement than = found.empty() ? reference_ : found.front()->worst;
    std::vector<Recipe> open{all, in_float};
    if (found.empty()) open.push_back(with_wide_activations(base_));
    std::optional<TriedRemedy> best;
    for (const Recipe& recipe : open) {
      QUADRANT_TRY(const auto made, trials_.measure(recipe));
      if (!made || is_float(*made) || !is_better(*made, than)) continue;
      best = {recipe, *made};
      than = *made;
    }
    return best;
  }

  RemedyTrials& trials_;
  const Recipe& base_;
  Agreement worst_;      // of the quantized model
  Agreement reference_;  // the better of that, and of what the same settings give now
};

std::string decibels(double value) {
  if (std::isinf(value)) return value > 0 ? "exact" : "not finite";
  return fmt::format("{:.1f} dB", value);
}

// Paragraphs with numbers, in which a command stands once.
class CausePrinter {
 public:
  explicit CausePrinter(FunctionRef<std::string(const Recipe&)> remedy) : remedy_(remedy) {}

  std::string print(const Cause& cause) {
    ++number_;
    std::string text =
        fmt::format("  {}. {}{}: {}", number_, cause.is_weight ? "weight " : "",
                    printable(cause.name), kinds[static_cast<std::size_t>(cause.kind)].words);
    if (cause.share) {
      text += fmt::format(", {:.0f} % of the error{}", 100 * *cause.share,
                          cause.kind == CauseKind::saturation ? " there" : "");
    }
    text += fmt::format("\n     {}\n", printable(cause.found));
    const bool enters_here = cause.sqnr_db && cause.sqnr_db_before &&
                             *cause.sqnr_db < *cause.sqnr_db_before - entering_db;
    if (enters_here) {
      text += fmt::format("     in the quantized model: {} in front of its operation, {} behind\n",
                          decibels(*cause.sqnr_db_before), decibels(*cause.sqnr_db));
    }
    if (cause.remedy) text += print(*cause.remedy);
    return text + "\n";
  }

 private:
  std::string print(const TriedRemedy& tried) {
    const std::string command = remedy_(tried.recipe);
    const auto [known, is_new] = printed_.try_emplace(command, number_);
    return fmt::format("     {}: {}\n", decibels(tried.worst.sqnr_db()),
                       is_new ? command : fmt::format("as for {}", known->second));
  }

  FunctionRef<std::string(const Recipe&)> remedy_;
  std::size_t number_ = 0;
  std::map<std::string, std::size_t> printed_;  // by command, where it stands
};

}  // namespace

std::string_view to_string(CauseKind kind) noexcept {
  return kinds[static_cast<std::size_t>(kind)].key;
}

Expected<Diagnosis> diagnose(const Graph& real, const Graph& quantized, const RunInputs& samples,
                             const DiagnoseOptions& options, const RunContext& context) {
  QUADRANT_TRY(const auto data, open_samples(samples, real, context));
  QUADRANT_TRY(FoundCauses found, find_causes(real, quantized, *data, options, context));
  Diagnosis& made = found.diagnosis;
  if (options.try_remedies && found.recipe) {
    RemedyTrials trials(real, samples, *data, options, context);
    QUADRANT_CHECK(RemedySearch(trials, *found.recipe, made.worst).run(made, options.most));
  }
  std::ranges::stable_sort(made.causes, [](const Cause& a, const Cause& b) {
    return a.share.value_or(0) > b.share.value_or(0);
  });
  std::erase_if(made.causes, [](const Cause& cause) {
    return !cause.share && cause.kind != CauseKind::float_island;
  });
  if (made.causes.size() > options.most) made.causes.resize(options.most);
  return std::move(made);
}

std::string to_string(const Diagnosis& diagnosis, FunctionRef<std::string(const Recipe&)> remedy) {
  std::string text = fmt::format(
      "  {}, output '{}': {}\n  measured {} of {} quantized {}; with all that can be exact: {}\n",
      counted(diagnosis.samples, "sample"), printable(diagnosis.output),
      format_sqnr(diagnosis.worst), diagnosis.measured, diagnosis.places,
      plural(diagnosis.places, "value"), format_sqnr(diagnosis.floor));
  for (const auto& [name, reason] : diagnosis.left_alone) {
    text += fmt::format("  not measured: weight {}: {}\n", printable(name), reason);
  }
  text += "\n";
  CausePrinter printer(remedy);
  for (const Cause& cause : diagnosis.causes) text += printer.print(cause);
  if (diagnosis.together) {
    text += fmt::format("  together, {}:\n     {}\n", format_sqnr(diagnosis.together->worst),
                        remedy(diagnosis.together->recipe));
  }
  const bool is_hidden = diagnosis.places == 0 && diagnosis.worst.noise > 0;
  if (is_hidden) {
    text +=
        "  operators that are codes themselves, which nothing looks into, are all that differs\n";
  } else if (diagnosis.causes.empty()) {
    text += "  nothing stands out\n";
  }
  return text;
}

}  // namespace quadrant::inline v0
