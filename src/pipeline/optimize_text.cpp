#include "pipeline/optimize_text.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "quadrant/report/tables.hpp"
#include "support/counted.hpp"

namespace quadrant::inline v0 {
namespace {

std::string decibels(const OptimizeFigure& figure) {
  const Agreement worst = figure.worst();
  const std::string sqnr = fmt::format("{:.2f} dB", worst.sqnr_db());
  return worst.non_finite == 0 ? sqnr : fmt::format("{}, {} not finite", sqnr, worst.non_finite);
}

std::string held_back_worth(const Optimized& done) {
  const OptimizeAttempt& best = done.attempts[done.best];
  if (!best.held_back) return {};
  std::string text =
      fmt::format("; on {} held back: {}", done.samples.held_back, print_figure(*best.held_back));
  if (const auto& plain = done.attempts.front().held_back; done.best != 0 && plain) {
    return text + fmt::format(", by default {}", print_figure(*plain));
  }
  for (const OptimizeAttempt& attempt : done.attempts) {
    if (&attempt == &best || !attempt.held_back) continue;
    text += fmt::format("\n  the default is written: {} is worse on those held back: {}",
                        attempt.settings.name(), print_figure(*attempt.held_back));
  }
  return text;
}

// The file, and whether the recipe makes it.
std::string file_origin(const Optimized& done) {
  const std::size_t all = done.samples.fitted + done.samples.held_back;
  if (done.fitted == all) return fmt::format("; the file is fitted on {}", all);
  const std::string_view why =
      done.is_stopped ? "the search was stopped" : "fitted on all it is worse on those held back";
  return fmt::format(
      "\n  the file is fitted on {} of {} samples, since {}: 'quantize' with the recipe and all "
      "samples makes another",
      done.fitted, all, why);
}

}  // namespace

std::string print_figure(const OptimizeFigure& figure) {
  const auto loss = figure.loss();
  return (loss ? fmt::format("{:.2f} points lost, ", *loss) : std::string()) + decibels(figure);
}

std::string line_of(const OptimizeAttempt& attempt) {
  return fmt::format("{}: {}, {:.1f} s", attempt.settings.name(), print_figure(attempt.judged),
                     attempt.seconds);
}

std::string print_attempts(const Optimized& done) {
  using enum Table::Align;
  Table table({{"settings"},
               {"weights quantized", right},
               {"top-1 lost", right},
               {"SQNR fitted", right},
               {"judged", right},
               {"time", right},
               {""}});
  const OptimizeAttempt& best = done.attempts[done.best];
  for (const OptimizeAttempt& attempt : done.attempts) {
    const auto loss = attempt.judged.loss();
    table.add({attempt.settings.name(), fmt::format("{} of {}", attempt.quantized, attempt.weights),
               loss ? fmt::format("{:.2f} points", *loss) : std::string("-"),
               decibels(attempt.fitted), decibels(attempt.judged),
               fmt::format("{:.1f} s", attempt.seconds),
               &attempt == &best ? "written" : attempt.refusal});
  }
  return table.print();
}

std::string about_result(const Optimized& done) {
  using SampleUse = OptimizeSamples::Use;
  const OptimizeSamples& samples = done.samples;
  const std::string fitted = counted(samples.fitted, "sample");
  std::string text;
  if (samples.use == SampleUse::same) {
    text = "fitted and judged on the same " + fitted;
  } else if (samples.use == SampleUse::given) {
    text = fmt::format("fitted on {}, judged on {}", fitted, samples.judged);
  } else {
    text = fmt::format("fitted on each half of {}, judged on the other half", fitted) +
           held_back_worth(done) + file_origin(done);
  }
  if (const auto& before = done.attempts.front().judged.before; before && before->rows != 0) {
    text += fmt::format("\n  the float model: {:.2f} % of {} judged right",
                        100 * before->top1_share(), counted(before->rows, "row"));
  }
  for (const FloatPart& part : done.attempts[done.best].settings.excluded) {
    text += fmt::format("\n  in float: {} ({})", part.name, part.reason);
  }
  return text;
}

namespace {

Json to_json(const OptimizeFigure& figure) {
  const Agreement worst = figure.worst();
  const auto loss = figure.loss();
  return {{"sqnr_db", worst.sqnr_db()},
          {"non_finite", worst.non_finite},
          {"nan", figure.nan()},
          {"points_lost", or_null(loss)},
          {"float_top1", figure.before ? Json(figure.before->top1_share()) : Json(nullptr)}};
}

Json to_json(const OptimizeAttempt& attempt, bool is_written) {
  Json json = to_json(attempt.judged);
  const OptimizeSettings& settings = attempt.settings;
  json["settings"] = settings.name();
  json["optimizations"] = settings.optimizations;
  json["excluded"] = Json::array();
  for (const FloatPart& part : settings.excluded) {
    json["excluded"].push_back({{"name", part.name}, {"reason", part.reason}});
  }
  json["fitted"] = to_json(attempt.fitted);
  json["held_back"] = attempt.held_back ? to_json(*attempt.held_back) : Json(nullptr);
  json["weights"] = attempt.weights;
  json["quantized_weights"] = attempt.quantized;
  json["seconds"] = attempt.seconds;
  json["is_written"] = is_written;
  json["refusal"] = attempt.refusal;
  return json;
}

}  // namespace

Json to_json(const Optimized& done) {
  Json attempts = Json::array();
  for (std::size_t i = 0; i < done.attempts.size(); ++i) {
    attempts.push_back(to_json(done.attempts[i], i == done.best));
  }
  const OptimizeSamples& samples = done.samples;
  return {{"is_good_enough", done.is_good_enough},
          {"is_stopped", done.is_stopped},
          {"samples",
           {{"fitted", samples.fitted},
            {"judged", samples.judged},
            {"held_back", samples.held_back},
            {"are_crossed", samples.use == OptimizeSamples::Use::crossed},
            {"fitted_in_the_end", done.fitted}}},
          {"recipe", Json::parse(print_recipe(done.recipe))},
          {"attempts", std::move(attempts)}};
}

}  // namespace quadrant::inline v0
