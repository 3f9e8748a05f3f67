#include "quadrant/pipeline/optimize.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "pipeline/float_parts.hpp"
#include "pipeline/sample_parts.hpp"
#include "pipeline/search_checkpoint.hpp"
#include "pipeline/search_samples.hpp"
#include "pipeline/trial.hpp"
#include "quadrant/recipe/recipe.hpp"
#include "quadrant/support/ranks.hpp"
#include "quadrant/transforms/equalize.hpp"
#include "quadrant/transforms/prepare.hpp"

namespace quadrant::inline v0 {
namespace {

using Clock = std::chrono::steady_clock;

// What settings must gain, in decibels: they are chosen on few samples, and floats cost time.
constexpr double least_gain = 0.05;
constexpr double least_gain_of_floats = 1;
// What fitting the same settings on all samples may cost on those that were held back.
constexpr double most_loss_of_more_samples = 0.5;
constexpr std::size_t samples_of_sensitivity = 8;  // of a study that runs them for every product
constexpr std::size_t samples_of_fit = 4;          // of a figure that decides nothing
constexpr std::size_t most_tries_without = 8;

constexpr std::string_view static_affine = "static_affine";

// --- figures -----------------------------------------------------------------------------------

// Whether `a` is the better of two, by so many decibels where the classes do not tell.
bool is_better(const OptimizeFigure& a, const OptimizeFigure& b, double decibels) {
  if (a.loss() != b.loss()) return a.loss() < b.loss();
  const Agreement of_a = a.worst();
  const Agreement of_b = b.worst();
  if (!worse_than(of_b, of_a)) return false;
  return of_a.non_finite != of_b.non_finite || of_a.sqnr_db() - of_b.sqnr_db() >= decibels;
}

// What is infinite or NaN in one of the models alone has no SQNR.
bool reaches(const OptimizeFigure& figure, const OptimizeOptions& options) {
  if (const auto loss = figure.loss()) return *loss <= options.accept_points;
  const Agreement worst = figure.worst();
  return worst.non_finite == 0 && worst.sqnr_db() >= options.accept_sqnr_db;
}

// What keeps all in float, or is NaN in float, is no matter of effort.
bool is_hopeless(const OptimizeAttempt& attempt) {
  return attempt.is_float || attempt.judged.nan() != 0;
}

// Also where codes are left between products that are all in float.
bool has_nothing(const OptimizeAttempt& attempt) {
  return attempt.is_float || (attempt.weights != 0 && attempt.quantized == 0);
}

// On the same samples. Decibels decide where there are no classes.
bool is_worse(const OptimizeFigure& a, const OptimizeFigure& b) {
  const auto loss = a.loss();
  return loss ? loss > b.loss() : is_better(b, a, 0);
}

// --- settings ----------------------------------------------------------------------------------

// Whether one of the options is given for one of the static schemes.
bool says(const Recipe& recipe, std::initializer_list<std::string_view> options) {
  return std::ranges::any_of(recipe.schemes, [&](const SchemeChoice& choice) {
    return choice.scheme == static_affine &&
           std::ranges::any_of(
               options, [&](std::string_view option) { return choice.options.contains(option); });
  });
}

bool has_word(const Recipe& recipe, std::string_view option, std::string_view word) {
  return std::ranges::any_of(recipe.schemes, [&](const SchemeChoice& choice) {
    const auto* const has = given<std::string>(choice.options, option);
    return choice.scheme == static_affine && has != nullptr && *has == word;
  });
}

bool has_step(const OptimizeSettings& settings, std::string_view step) {
  return std::ranges::find(settings.optimizations, step) != settings.optimizations.end();
}

void correct(OptimizeSettings& settings) {
  if (!has_step(settings, "bc")) settings.optimizations.emplace_back("bc");
}

void equalize(OptimizeSettings& settings) {
  if (has_step(settings, "cle")) return;
  auto& steps = settings.optimizations;
  steps.insert(steps.begin(), {"cle", "hba"});
}

void encode(OptimizeSettings& settings, std::string_view name) {
  settings.options["activation_encoding"] = std::string(name);
  settings.options.erase("percentile");
}

void migrate_factors(OptimizeSettings& settings) {
  if (has_step(settings, "migrate")) return;
  auto& steps = settings.optimizations;
  const auto after = std::ranges::find(steps, "bc");
  steps.insert(after, "migrate");
}

std::set<std::string> excluded_names(const OptimizeSettings& settings) {
  std::set<std::string> names;
  for (const FloatPart& part : settings.excluded) names.insert(part.name);
  return names;
}

// Reasons and the order of what is in float do not matter.
bool makes_the_same(const OptimizeSettings& a, const OptimizeSettings& b) {
  return a.options == b.options && a.optimizations == b.optimizations &&
         excluded_names(a) == excluded_names(b);
}

// Whether the model says itself what its values are.
Expected<bool> has_statistics(Graph model) {
  QUADRANT_TRY(const Instrumentation taken, take_instrumentation(model));
  return !taken.statistics.values.empty();
}

// Passes progress on, and what there is to say as long as it is new.
class SearchSink final : public Sink {
 public:
  explicit SearchSink(Sink* sink) : sink_(sink) {}
  bool is_quiet = false;

  void report(const Diagnostic& diagnostic) override {
    if (sink_ != nullptr && !is_quiet) sink_->report(diagnostic);
  }
  void progress(std::string_view task, std::uint64_t done, std::uint64_t total) override {
    if (sink_ != nullptr) sink_->progress(task, done, total);
  }

 private:
  Sink* sink_;
};

// --- the search --------------------------------------------------------------------------------

class Search {
 public:
  Search(const RunRequest& request, const Graph& model, const OptimizeOptions& options,
         const RunContext& context, SearchSamples samples, SearchCheckpoint checkpoint)
      : options_(options),
        sink_(context.sink),
        context_(with_sink(context, sink_)),
        subject_{request, model, options, context_},
        samples_(std::move(samples)),
        checkpoint_(std::move(checkpoint)) {
    done_.samples = samples_.counts();
  }

  Expected<Optimized> run() {
    QUADRANT_CHECK(in_file(stopping(search()), subject_.request.model));
    if (!done_.is_stopped) QUADRANT_CHECK(in_file(stopping(finish()), subject_.request.model));
    done_.is_reached = is_good_enough(best());
    done_.is_good_enough = done_.is_reached && done_.samples.use != OptimizeSamples::Use::same;
    done_.recipe = with_settings(recipe(), best().settings);
    if (graph_) done_.graph = std::move(*graph_);  // it is there
    if (!done_.is_stopped) checkpoint_.remove_at_end();
    return std::move(done_);
  }

 private:
  static RunContext with_sink(RunContext context, Sink& sink) {
    context.sink = &sink;
    return context;
  }

  [[nodiscard]] const Recipe& recipe() const { return subject_.request.recipe.recipe; }
  [[nodiscard]] OptimizeAttempt& best() { return done_.attempts[done_.best]; }
  [[nodiscard]] bool is_good_enough(const OptimizeAttempt& attempt) const {
    return !is_hopeless(attempt) && reaches(attempt.judged, options_);
  }
  [[nodiscard]] bool is_over() { return is_good_enough(best()) || is_hopeless(best()); }

  // A stop is no error where there is something to show.
  Expected<void> stopping(Expected<void> result) {
    const bool is_stop = !result && result.error().code == ErrorCode::cancelled;
    if (!is_stop || !graph_) return result;
    done_.is_stopped = true;
    return {};
  }

  // Tries them, unless that was done, and says which attempt they are. `refuses` says why they do
  // not take the place of the best until then: empty, they do.
  template <class Refuses>
  Expected<std::size_t> attempt(const OptimizeSettings& settings, Refuses refuses) {
    const auto same = std::ranges::find_if(done_.attempts, [&](const OptimizeAttempt& each) {
      return makes_the_same(each.settings, settings);
    });
    if (same != done_.attempts.end()) {
      return static_cast<std::size_t>(same - done_.attempts.begin());
    }
    std::optional<Graph> graph;
    QUADRANT_TRY(OptimizeAttempt tried,
                 kept<OptimizeAttempt>(settings, [&]() -> Expected<OptimizeAttempt> {
                   QUADRANT_TRY(Trial made, measured(settings));
                   graph = std::move(made.graph);
                   return std::move(made.attempt);
                 }));
    tried.settings = settings;
    if (!done_.attempts.empty()) {
      tried.refusal = refuses(tried);
    } else if (!graph) {  // the first says what there is to say, also where it was kept
      QUADRANT_TRY(graph, made_of_first_half(settings));
    }
    done_.attempts.push_back(std::move(tried));
    if (done_.attempts.back().refusal.empty()) {
      done_.best = done_.attempts.size() - 1;
      done_.fitted = samples_.folds().front().fitted.size();
      graph_ = std::move(graph);
    }
    if (options_.tried) options_.tried(done_.attempts.back());
    return done_.attempts.size() - 1;
  }

  // What was kept of settings, or else what `make` makes.
  template <class Made, class Make>
  Expected<Made> kept(const OptimizeSettings& settings, Make make) {
    // With how samples are used, which may be found to be another.
    const std::string key = fmt::format("{} {}", static_cast<int>(samples_.counts().use),
                                        print_recipe(with_settings(recipe(), settings)));
    Made made;
    QUADRANT_TRY(const bool is_there, checkpoint_.find(key, made));
    if (is_there) return made;
    QUADRANT_CHECK(make_best());
    QUADRANT_TRY(made, make());
    QUADRANT_CHECK(checkpoint_.keep(key, made));
    return made;
  }

  // Of what was kept there is no model. The best's is there before anything new is begun, in which
  // a stop may be asked for.
  Expected<void> make_best() {
    if (done_.attempts.empty() || graph_) return {};
    QUADRANT_TRY(graph_, made_of_first_half(best().settings));
    return {};
  }

  Expected<Graph> made_of_first_half(const OptimizeSettings& settings) {
    const auto fitted = samples_.fitting(samples_.folds().front().fitted);
    QUADRANT_TRY(Trial made, subject_.made(settings, *fitted));
    sink_.is_quiet = true;
    return std::move(made.graph);
  }

  // The model is the one that is fitted on the first samples.
  Expected<Trial> measured(const OptimizeSettings& settings) {
    const Clock::time_point start = Clock::now();
    Trial first;
    for (const Fold& fold : samples_.folds()) {
      QUADRANT_TRY(Trial made, subject_.made(settings, *samples_.fitting(fold.fitted)));
      sink_.is_quiet = true;  // the others say the same, or speak of ways that are not taken
      QUADRANT_TRY(const OptimizeFigure judged,
                   figure(made.graph, settings, samples_.judges(fold.judged)));
      OptimizeFigure fitted = judged;
      if (samples_.counts().use != OptimizeSamples::Use::same) {
        std::vector<std::size_t> few = fold.fitted;
        few.resize(std::min(few.size(), samples_of_fit));
        QUADRANT_TRY(fitted,
                     figure(made.graph, settings, {.samples = samples_.fitting(std::move(few))}));
      }
      if (&fold == &samples_.folds().front()) first = std::move(made);
      first.attempt.judged.merge(judged);
      first.attempt.fitted.merge(fitted);
    }
    first.attempt.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return first;
  }

  [[nodiscard]] Expected<OptimizeFigure> figure(const Graph& graph,
                                                const OptimizeSettings& settings,
                                                Judges judges) const {
    // What the first finds of labels is no end of the search, which an error on ranks would be.
    Ranks* const ranks = done_.attempts.empty() ? nullptr : context_.ranks;
    return subject_.figure(graph, std::move(judges), settings.name(), ranks);
  }

  // Tries the best but for one thing, unless it is over.
  template <class Change>
  Expected<std::size_t> vary(Change change) {
    if (is_over()) return done_.best;
    OptimizeSettings settings = best().settings;
    change(settings);
    return attempt(settings, [&](const OptimizeAttempt& tried) {
      return refusal(tried, is_better(tried.judged, best().judged, least_gain), least_gain);
    });
  }

  // Why an attempt that is `good`, or is not, does not become the best.
  static std::string refusal(const OptimizeAttempt& tried, bool good, double decibels) {
    if (has_nothing(tried)) return "nothing is quantized";
    if (good) return {};
    return fmt::format("gains {}less than {} dB", tried.judged.loss() ? "no points, or " : "",
                       decibels);
  }

  Expected<void> search() {
    QUADRANT_CHECK(begin());
    QUADRANT_TRY(const bool has_own, has_statistics(subject_.model));
    // These are of values that the others would change.
    const bool is_fixed = has_own || !subject_.request.inputs.encodings.empty();
    if (!is_fixed) QUADRANT_CHECK(search_settings());
    if (is_over() || options_.most_float <= 0) return {};
    QUADRANT_CHECK(leave_steep_values());
    return is_over() ? Expected<void>() : leave_costly_products();
  }

  // How many rows of scores samples have shows when the model has run: labels may be too many or
  // too few, which an error says of all samples, or not equally many for each.
  Expected<void> begin() {
    const auto taken = [](const OptimizeAttempt&) { return std::string(); };
    const auto first = attempt({}, taken);
    if (first) return {};
    if (!options_.labels || first.error().code != ErrorCode::usage) return fail(first.error());
    QUADRANT_CHECK(figure(subject_.model, {}, samples_.all_judges()));
    if (done_.samples.use != OptimizeSamples::Use::crossed) return fail(first.error());
    samples_.join();
    done_.samples = samples_.counts();
    sink_.is_quiet = false;
    context_.warn(samples_.doubt());
    sink_.is_quiet = true;  // the attempt has said what there is to say
    QUADRANT_CHECK(attempt({}, taken));
    return {};
  }

  Expected<void> search_settings() {
    // With one scale for a weight, channels of small weights have no bits: that comes first.
    const bool has_whole_weights = has_word(recipe(), "weights", "tensor");
    if (has_whole_weights) QUADRANT_CHECK(vary(equalize));
    QUADRANT_CHECK(vary(correct));
    QUADRANT_CHECK(search_activations());
    if (!says(recipe(), {"encoding", "weight_encoding", "use_enhanced"})) {
      QUADRANT_CHECK(
          vary([](OptimizeSettings& to) { to.options["weight_encoding"] = std::string("mse"); }));
    }
    QUADRANT_CHECK(vary(equalize));
    if (has_step(best().settings, "cle")) QUADRANT_CHECK(search_activations());
    if (!find_migrations(subject_.model).sites.empty()) QUADRANT_CHECK(vary(migrate_factors));
    QUADRANT_CHECK(vary(correct));
    const bool takes_16_bits = has_word(recipe(), "kernels", "tflite");
    if (!takes_16_bits || says(recipe(), {"activation_bits"})) return {};
    QUADRANT_CHECK(
        vary([](OptimizeSettings& to) { to.options["activation_bits"] = std::int64_t{16}; }));
    return {};
  }

  Expected<void> search_activations() {
    if (says(recipe(), {"encoding", "activation_encoding", "use_enhanced"})) return {};
    QUADRANT_TRY(const std::size_t found,
                 vary([](OptimizeSettings& to) { encode(to, "percentile"); }));
    // Of few values it covers all: a lower one is another matter.
    if (!is_better(best().judged, done_.attempts[found].judged, least_gain)) {
      QUADRANT_CHECK(vary([](OptimizeSettings& to) {
        encode(to, "percentile");
        to.options["percentile"] = 99.9;
      }));
    }
    QUADRANT_CHECK(vary([](OptimizeSettings& to) { encode(to, "mse"); }));
    return {};
  }

  // Tries exclusions, which cost time where the model runs.
  Expected<std::size_t> attempt_floats(const OptimizeSettings& settings) {
    return attempt(settings, [&](const OptimizeAttempt& tried) {
      const bool pays =
          is_good_enough(tried) || is_better(tried.judged, best().judged, least_gain_of_floats);
      return refusal(tried, pays, least_gain_of_floats);
    });
  }

  Expected<void> leave_steep_values() {
    const auto fitted = samples_.searched();
    QUADRANT_TRY(PreparedRun run, subject_.prepared(best().settings, *fitted));
    QUADRANT_TRY(const std::vector<FloatPart> steep, steep_values(run));
    if (steep.empty()) return {};
    OptimizeSettings settings = best().settings;
    settings.excluded = steep;
    QUADRANT_CHECK(attempt_floats(settings));
    if (best().settings.excluded.empty()) return {};
    return leave_fewer(steep);
  }

  // Takes back what is not needed for what the others reach.
  Expected<void> leave_fewer(const std::vector<FloatPart>& parts) {
    if (parts.size() < 2 || parts.size() > most_tries_without) return {};
    for (const FloatPart& part : parts) {
      OptimizeSettings settings = best().settings;
      std::erase(settings.excluded, part);
      const OptimizeFigure before = best().judged;
      const bool was_good_enough = is_good_enough(best());
      QUADRANT_CHECK(attempt(settings, [&](const OptimizeAttempt& tried) {
        const bool is_needed =
            was_good_enough ? !is_good_enough(tried) : is_better(before, tried.judged, least_gain);
        return std::string(is_needed ? "worse without one in float" : "");
      }));
    }
    return {};
  }

  Expected<void> leave_costly_products() {
    const auto fitted = samples_.searched();
    const auto study = [&]() -> Expected<std::vector<CostlyProduct>> {
      QUADRANT_TRY(PreparedRun run, subject_.prepared(best().settings, *fitted));
      const std::size_t few = std::min(samples_of_sensitivity, fitted->size());
      return costly_products(run, PartOfSamples(*fitted, all_of(few)));
    };
    QUADRANT_TRY(std::vector<CostlyProduct> costly,
                 kept<std::vector<CostlyProduct>>(best().settings, study));
    const std::size_t start = options_.labels ? 1 : likely_count(costly);
    const auto allowed = static_cast<std::size_t>(
        std::floor(options_.most_float * static_cast<double>(costly.size())));
    done_.is_share_too_small = allowed == 0 && !costly.empty();
    costly.resize(allowed);
    if (costly.empty()) return {};
    return start <= costly.size() ? leave_enough(costly, start) : leave_what_pays(costly);
  }

  // How many in float would be enough, if errors added up. Of classes they say nothing.
  [[nodiscard]] std::size_t likely_count(const std::vector<CostlyProduct>& costly) const {
    const double most = std::pow(10, -options_.accept_sqnr_db / 10);
    const auto noise = [](const CostlyProduct& each) {
      return each.alone.signal > 0 ? each.alone.noise / each.alone.signal : 0;
    };
    double rest = 0;
    std::size_t count = costly.size();
    while (count > 0 && rest + noise(costly[count - 1]) <= most) rest += noise(costly[--count]);
    return std::max<std::size_t>(count, 1);
  }

  // Those that cost most, with what is left in float already.
  Expected<std::size_t> attempt_without(const std::vector<FloatPart>& steep,
                                        std::span<const CostlyProduct> costly) {
    OptimizeSettings settings = best().settings;
    settings.excluded = steep;
    for (const CostlyProduct& each : costly) settings.excluded.push_back(each.part);
    return attempt_floats(settings);
  }

  // The fewest that are enough: more until they are, then less while they are. Where nothing is
  // quantized there is no result: the best is below.
  Expected<void> leave_enough(std::span<const CostlyProduct> costly, std::size_t count) {
    const std::vector<FloatPart> steep = best().settings.excluded;
    std::size_t too_few = 0;
    std::size_t bound = costly.size() + 1;
    while (bound - too_few > 1) {
      QUADRANT_TRY(const std::size_t index, attempt_without(steep, costly.first(count)));
      const OptimizeAttempt& tried = done_.attempts[index];
      (is_good_enough(tried) || has_nothing(tried) ? bound : too_few) = count;
      count = bound > costly.size() ? std::min(2 * count, costly.size()) : (bound + too_few) / 2;
    }
    return {};
  }

  // What is asked for is too far; twice as many each time, while that gains something.
  Expected<void> leave_what_pays(std::span<const CostlyProduct> costly) {
    const std::vector<FloatPart> steep = best().settings.excluded;
    for (std::size_t count = 1; count <= costly.size() && !is_over(); count *= 2) {
      QUADRANT_TRY(const std::size_t tried, attempt_without(steep, costly.first(count)));
      if (done_.best != tried) break;
    }
    return {};
  }

  // Settings, fitted on all samples but those held back, with their figure on these.
  Expected<Trial> refitted(OptimizeAttempt& attempt) {
    QUADRANT_TRY(Trial made, subject_.made(attempt.settings, *samples_.searched()));
    if (samples_.held_back().empty()) return made;
    QUADRANT_TRY(attempt.held_back,
                 figure(made.graph, attempt.settings, samples_.judges(samples_.held_back())));
    return made;
  }

  // The best, or what was asked for where that is better on what was held back after all.
  Expected<void> finish() {
    if (samples_.counts().use != OptimizeSamples::Use::crossed) return make_best();
    QUADRANT_TRY(Trial chosen, refitted(done_.attempts[0]));
    const std::optional<OptimizeFigure> plain = done_.attempts[0].held_back;
    if (done_.best != 0) {
      QUADRANT_TRY(Trial made, refitted(best()));
      if (const auto& found = best().held_back; found && plain && is_worse(*found, *plain)) {
        best().refusal = "worse than the default on the samples held back";
        done_.best = 0;
      } else {
        chosen = std::move(made);
      }
    }
    graph_ = std::move(chosen.graph);
    done_.fitted = samples_.counts().fitted;
    const std::optional<OptimizeFigure>& before = best().held_back;
    if (!before) return {};
    QUADRANT_TRY(Trial on_all, subject_.made(best().settings, samples_.all()));
    QUADRANT_TRY(const OptimizeFigure of_all,
                 figure(on_all.graph, best().settings, samples_.judges(samples_.held_back())));
    if (is_better(*before, of_all, most_loss_of_more_samples)) return {};
    if (done_.best != 0 && plain && is_worse(of_all, *plain)) return {};
    graph_ = std::move(on_all.graph);
    done_.fitted = samples_.all().size();
    return {};
  }

  const OptimizeOptions& options_;
  SearchSink sink_;
  RunContext context_;
  TrialSubject subject_;
  SearchSamples samples_;
  SearchCheckpoint checkpoint_;
  Optimized done_{};
  std::optional<Graph> graph_;  // the best's; none where that was kept, and not made again
};

}  // namespace

Agreement OptimizeFigure::worst() const {
  const auto found = std::ranges::min_element(
      outputs, [](const Agreement& a, const Agreement& b) { return worse_than(a, b); });
  return found == outputs.end() ? Agreement{} : *found;
}

std::optional<double> OptimizeFigure::loss() const {
  if (!before || !after || before->rows == 0) return std::nullopt;
  return 100 * (before->top1_share() - after->top1_share());
}

std::uint64_t OptimizeFigure::nan() const {
  std::uint64_t sum = 0;
  for (const Agreement& output : outputs) sum += output.nan;
  return sum;
}

void OptimizeFigure::merge(const OptimizeFigure& other) {
  outputs.resize(std::max(outputs.size(), other.outputs.size()));
  for (std::size_t i = 0; i < other.outputs.size(); ++i) outputs[i].merge(other.outputs[i]);
  const auto add = [](std::optional<ClassificationScore>& to,
                      const std::optional<ClassificationScore>& score) {
    if (!score) return;
    if (!to) to.emplace();
    to->rows += score->rows;
    to->top1 += score->top1;
    to->top5 += score->top5;
  };
  add(before, other.before);
  add(after, other.after);
}

std::string OptimizeSettings::name() const {
  std::vector<std::string> parts;
  for (const auto& [key, value] : options) parts.push_back(key + " " + to_string(value));
  if (!optimizations.empty()) {
    parts.push_back(fmt::format("optimize {}", fmt::join(optimizations, "+")));
  }
  if (!excluded.empty()) parts.push_back(fmt::format("{} in float", excluded.size()));
  return parts.empty() ? "default" : fmt::format("{}", fmt::join(parts, ", "));
}

Expected<void> check_optimize(const RunRequest& request, const RunContext& context) {
  if (request.inputs.has_statistics()) {
    return fail(ErrorCode::usage, "optimize runs the model: it needs samples, not statistics",
                {.file = request.inputs.calibration});
  }
  if (!request.inputs.has_samples()) {
    return fail(ErrorCode::usage, "optimize runs the model: it needs samples", {},
                Remedy::give_samples);
  }
  const auto is_static = [](const SchemeChoice& choice) { return choice.scheme == static_affine; };
  if (!std::ranges::any_of(request.recipe.recipe.schemes, is_static)) {
    return fail(ErrorCode::usage, "optimize is for static_affine, which the recipe does not name",
                {.file = request.recipe.label});
  }
  RunRequest plain = request;
  plain.recipe.recipe.model.clear();
  QUADRANT_CHECK(check_run(std::move(plain), context));
  return {};
}

Expected<Optimized> optimize(const RunRequest& request, const Graph& model,
                             const OptimizeOptions& options, const RunContext& context) {
  QUADRANT_CHECK(check_optimize(request, context));
  const bool is_share = options.most_float >= 0 && options.most_float <= 1;
  if (!is_share) {
    return fail(ErrorCode::usage, "most_float is a share of the products: from 0 to 1");
  }
  QUADRANT_TRY(SearchSamples samples, SearchSamples::open(request, model, options, context));
  if (const std::string why = samples.doubt(); !why.empty()) context.warn(why);
  QUADRANT_TRY(
      SearchCheckpoint checkpoint,
      in_file(SearchCheckpoint::open({request, model, options, context}, samples), request.model));
  return Search(request, model, options, context, std::move(samples), std::move(checkpoint)).run();
}

}  // namespace quadrant::inline v0
