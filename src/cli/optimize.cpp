// quadrant optimize MODEL -o OUT: searches for the static quantization that is accurate enough.
#include "quadrant/pipeline/optimize.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/checkpoint_options.hpp"
#include "cli/command.hpp"
#include "cli/onnx_output.hpp"
#include "cli/recipe_options.hpp"
#include "cli/resources.hpp"
#include "cli/schemes.hpp"
#include "cli/signals.hpp"
#include "pipeline/optimize_text.hpp"
#include "quadrant/calibration/compare.hpp"
#include "quadrant/io/onnx.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/recipe/recipe.hpp"
#include "quadrant/report/tables.hpp"
#include "quadrant/support/ranks.hpp"
#include "report/terminal_text.hpp"
#include "support/counted.hpp"

namespace quadrant::cli {
namespace {

class Optimize final : public Command {
 public:
  Optimize()
      : Command({.name = "optimize",
                 .about = "Search for the static quantization that is accurate enough",
                 .runs_models = true,
                 .shares_work = true,
                 .replaceable = "MODEL"}) {}

  void declare(CLI::App& command) override {
    add_model(command, model_);
    add_value(command, "-o,--output", output_, "FILE", "Model to write")->required();
    add_value(command, "--data", data_, "PATH",
              "Samples to judge on (default: a part of --calibration, which nothing is then "
              "fitted on)");
    add_value(command, "--labels", labels_, "FILE",
              "The right classes, one for each row of scores: .txt with an integer a line, "
              ".npy or .npz");
    const auto add = [&](const char* name, double& value, const char* unit, const char* about) {
      return command.add_option(name, value, about)
          ->check(is_finite())
          ->type_name(unit)
          ->capture_default_str();
    };
    const CLI::Validator percent = number_between(0, 100);
    add("--accept", accept_, "POINTS",
        "Largest loss of top-1 accuracy that is good enough, in percentage points")
        ->check(percent);
    add("--accept-sqnr", accept_sqnr_, "DB",
        "Where there are no labels: least SQNR of the outputs that is good enough");
    add("--most-float", most_float_, "PERCENT",
        "How many percent of the products may stay float, those that cost most; 0: nothing is "
        "excluded")
        ->check(percent);
    add_value(command, "--save-recipe", save_recipe_, "FILE",
              "Save the result as a recipe: 'quantize' makes the same model with it");
    declare_for_attempts(command, keep_);
    cli::declare(command, scope_);
    declare_json(command, json_);
    declare_threads(command, threads_);
    schemes_.declare(command);
    // Encodings are of the model as it is, not of what optimizations make of it.
    for (const char* const name : {"--optimize", "--encodings"}) {
      command.remove_option(command.get_option(name));
    }
    command.footer(
        "Tries, until the accuracy is good enough: corrected biases; other encodings of "
        "activations and weights, unless they are given; equalized channels; with --kernels tflite "
        "16 bits; values in front of Log, Exp, Reciprocal, Sqrt, Pow and divisors in float; the "
        "fewest products in float. Ctrl-C ends the search: the best until then is written.\n\n"
        "Examples:\n"
        "  quadrant optimize model.onnx -o small.onnx --calibration samples --accept-sqnr 25\n"
        "  quadrant optimize model.onnx -o small.onnx --calibration samples --checkpoint");
  }

  Expected<void> run(Console& console) override {
    QUADRANT_CHECK(check_onnx_ending(output_));
    RunContext& context = console.context();
    // Before there are threads. On ranks, which would not all hear of it, Ctrl-C ends the job.
    std::optional<StopOnInterrupt> interrupt;
    if (context.ranks == nullptr) context.stop = interrupt.emplace().token();
    console.use_threads(threads_);
    const RunRequest request = requested();
    QUADRANT_CHECK(check_optimize(request, context));
    OptimizeOptions options{.data = {.calibration = data_},
                            .labels_name = labels_,
                            .accept_points = accept_,
                            .accept_sqnr_db = accept_sqnr_,
                            .most_float = most_float_ / 100,
                            .tried = [&](const OptimizeAttempt& attempt) {
                              console.print_progress(printable(line_of(attempt)) + '\n');
                            }};
    QUADRANT_TRY(options.checkpoint, checkpoint_of(keep_, output_, console));
    if (!labels_.empty()) {
      QUADRANT_TRY(options.labels, read_labels(labels_));
    }
    QUADRANT_TRY(const Graph graph, read_model(model_, context));
    QUADRANT_TRY(const Optimized done, optimize(request, graph, options, context));
    if (!is_first(context.ranks)) return {};
    if (!save_recipe_.empty()) {
      QUADRANT_CHECK(console.write_text(save_recipe_, print_recipe(done.recipe)));
    }
    QUADRANT_TRY(const OnnxWriteReport written,
                 write_onnx(done.graph, output_, {.sink = context.sink, .files = context.files}));
    QUADRANT_TRY(const auto paired,
                 in_file(paired_products(done.graph, ModelFormat::onnx), output_));
    if (std::ranges::any_of(paired, &PairedProduct::can_saturate)) {
      context.warn(saturation_remark(done.graph, paired), {.file = output_});
    }
    print(done, written, console);
    return {};
  }

 private:
  [[nodiscard]] RunRequest requested() const {
    const std::string name(scheme_.name);
    RunRequest request{.recipe = {.label = name},
                       .inputs = schemes_.inputs(),
                       .model = model_,
                       .own_includes = scope_.include.size(),
                       .own_excludes = scope_.exclude.size()};
    Recipe& recipe = request.recipe.recipe;
    recipe.schemes = {{name, name, schemes_.given(scheme_)}};
    recipe.model = schemes_.given_for_model();
    recipe.include = scope_.include;
    recipe.exclude = scope_.exclude;
    return request;
  }

  [[nodiscard]] std::string verdict(const Optimized& done) const {
    const OptimizeAttempt& best = done.attempts[done.best];
    if (best.is_float) {
      return "nothing is quantized: 'quadrant explain' with --scheme static-affine and the same "
             "samples says why";
    }
    if (const auto nan = best.judged.nan(); nan != 0) {
      return fmt::format("{} of the float model's outputs {} NaN: how good the rest is says little",
                         counted(nan, "element"), nan == 1 ? "is" : "are");
    }
    if (done.is_stopped) {
      return std::string("stopped: the best until then") +
             (keep_.every != 0 ? "; the same call goes on" : "");
    }
    if (done.is_good_enough) return "good enough";
    if (done.is_reached) return "good enough on what it was fitted on, which says little";
    std::string text = "all was tried" + finer_codes(done.recipe);
    if (done.is_share_too_small) text += "; a larger --most-float allows some products in float";
    return text;
  }

  // What of the result could be finer.
  static std::string finer_codes(const Recipe& found) {
    const OptionValues& options = found.schemes.front().options;
    std::vector<std::string_view> finer;
    const auto* const weight_bits = given<std::int64_t>(options, "weight_bits");
    if (weight_bits != nullptr && *weight_bits < 8) finer.emplace_back("--weight-bits 8");
    const auto* const weights = given<std::string>(options, "weights");
    if (weights != nullptr && *weights == "tensor" && !options.contains("asymmetric_weights")) {
      finer.emplace_back("--weights channel");
    }
    const auto* const bits = given<std::int64_t>(options, "activation_bits");
    if (bits == nullptr || *bits < 16) finer.emplace_back("--activation-bits 16");
    if (finer.empty()) return {};
    return fmt::format("; finer: {}", fmt::join(finer, ", "));
  }

  void print(const Optimized& done, const OnnxWriteReport& written, Console& console) const {
    if (json_) {
      Json document{{"model", model_}, {"output", output_}};
      document.update(to_json(done));
      console.print_json(std::move(document));
      return;
    }
    console.print(fmt::format("{}\n  {}\n  {}\n  written to {}\n", print_attempts(done),
                              verdict(done), printable_lines(about_result(done)),
                              printable(output_)));
    for (const std::string& remark : remarks_of(written)) {
      console.print(fmt::format("  {}\n", remark));
    }
  }

  std::string model_;
  std::string output_;
  std::string data_;
  std::string labels_;
  KeepOptions keep_;
  ScopeOptions scope_;
  double accept_ = 0.5;
  double accept_sqnr_ = 30;
  double most_float_ = 25;
  std::string save_recipe_;
  unsigned threads_ = 0;
  const SchemeEntry& scheme_ = **find_scheme("static_affine");
  Schemes schemes_{scheme_};
};

}  // namespace

std::unique_ptr<Command> make_optimize(const SchemeTable& /*schemes*/) {
  return std::make_unique<Optimize>();
}

}  // namespace quadrant::cli
