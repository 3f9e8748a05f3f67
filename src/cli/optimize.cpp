// quadrant optimize MODEL -o OUT: quantizes statically, looks at the accuracy, and tries more only
// where it is of use.
#include "quadrant/pipeline/optimize.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/decision.hpp"
#include "cli/onnx_output.hpp"
#include "cli/resources.hpp"
#include "cli/schemes.hpp"
#include "cli/scope_options.hpp"
#include "quadrant/calibration/labels.hpp"
#include "quadrant/io/onnx.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/report/saturation.hpp"
#include "quadrant/report/table.hpp"
#include "report/terminal_text.hpp"
#include "support/counted.hpp"

namespace quadrant::cli {
namespace {

class Optimize final : public Command {
 public:
  CLI::App* declare(CLI::App& app) override {
    CLI::App* command = app.add_subcommand(
        "optimize", "Quantize statically, with as much effort as the accuracy needs");
    command->add_option("MODEL", model_, "Model to read: .onnx, .tflite, .xml, or .qd, text")
        ->required()
        ->type_name("");
    command->add_option("-o,--output", output_, "Model to write")->required()->type_name("FILE");
    command
        ->add_option("--data", data_,
                     "Samples to look at the accuracy on (default: those of --calibration)")
        ->type_name("PATH");
    command
        ->add_option("--labels", labels_,
                     "Which classes are right, a row of scores each: .txt with an integer a line, "
                     ".npy or .npz")
        ->type_name("FILE");
    command
        ->add_option("--accept", accept_,
                     "It is good enough when so many percentage points of top-1 are lost, or fewer")
        ->check(CLI::Range(0.0, 100.0).description(""))
        ->type_name("POINTS")
        ->capture_default_str();
    command
        ->add_option("--accept-sqnr", accept_sqnr_,
                     "The same, in decibels at the outputs, where there are no labels")
        ->type_name("DB")
        ->capture_default_str();
    cli::declare(*command, scope_);
    declare_json(*command, json_);
    declare_threads(*command, threads_);
    schemes_.declare(*command);
    // Encodings are of the model as it is, not of what optimizations make of it.
    for (const char* const name : {"--optimize", "--encodings"}) {
      command->remove_option(command->get_option(name));
    }
    command->footer(
        "Tries, until the accuracy is good enough: no optimization; cle and hba; and, where that "
        "came within 2 points (6 dB), cle, hba and bc, from the float model again.\n\n"
        "Example:\n"
        "  quadrant optimize model.onnx -o small.onnx --calibration samples --labels labels.txt");
    return command;
  }

  [[nodiscard]] bool wants_json() const noexcept override { return json_; }
  [[nodiscard]] bool runs_models() const noexcept override { return true; }

  [[nodiscard]] std::string_view replaceable() const noexcept override { return "MODEL"; }

  Expected<void> run(Console& console) override {
    QUADRANT_CHECK(check_onnx_ending(output_));
    console.use_threads(threads_);
    const RunContext& context = console.context();
    const RunRequest request = requested();
    QUADRANT_CHECK(check_optimize(request, context));
    OptimizeOptions options{.data = {.calibration = data_},
                            .labels_name = labels_,
                            .accept_points = accept_,
                            .accept_sqnr_db = accept_sqnr_};
    if (!labels_.empty()) {
      QUADRANT_TRY(options.labels, read_labels(labels_));
    }
    QUADRANT_TRY(const Graph graph, read_model(model_, context));
    QUADRANT_TRY(const Optimized done, optimize(request, graph, options, context));
    const Graph& best = done.attempts[done.best].graph;
    QUADRANT_TRY(const OnnxWriteReport written,
                 write_onnx(best, output_, {.sink = context.sink, .files = context.files}));
    QUADRANT_TRY(const auto paired, in_file(paired_products(best, ModelFormat::onnx), output_));
    if (std::ranges::any_of(paired, &PairedProduct::can_saturate)) {
      context.warn(saturation_remark(best, paired), {.file = output_});
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
    if (best.nan != 0) {
      return fmt::format("{} of the float model's outputs {} NaN: how good the rest is says little",
                         counted(best.nan, "element"), best.nan == 1 ? "is" : "are");
    }
    if (done.is_good_enough) return "good enough";
    if (done.is_all) return "all was tried" + finer_codes();
    return "poor after cle: correcting biases (bc) would hardly help; 'quadrant sensitivity' finds "
           "weights to --exclude" +
           finer_codes();
  }

  // What of this call could be finer.
  [[nodiscard]] std::string finer_codes() const {
    const OptionValues& options = schemes_.given(scheme_);
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

  static std::string print(const Agreement& agreement) {
    const std::string sqnr = fmt::format("{:.2f} dB", agreement.sqnr_db());
    return agreement.non_finite == 0 ? sqnr
                                     : fmt::format("{}, {} not finite", sqnr, agreement.non_finite);
  }

  void print(const Optimized& done, const OnnxWriteReport& written, Console& console) const {
    const OptimizeAttempt& best = done.attempts[done.best];
    if (json_) {
      Json attempts = Json::array();
      for (const OptimizeAttempt& attempt : done.attempts) {
        attempts.push_back({{"optimizations", attempt.optimizations},
                            {"sqnr_db", attempt.worst.sqnr_db()},
                            {"non_finite", attempt.worst.non_finite},
                            {"nan", attempt.nan},
                            {"weights", attempt.weights},
                            {"quantized_weights", attempt.quantized},
                            {"points_lost", attempt.loss ? Json(*attempt.loss) : Json(nullptr)},
                            {"seconds", attempt.seconds},
                            {"is_written", &attempt == &best}});
      }
      console.print_json(Json{{"model", model_},
                              {"output", output_},
                              {"is_good_enough", done.is_good_enough},
                              {"attempts", std::move(attempts)}});
      return;
    }
    using enum Table::Align;
    Table table({{"optimizations"},
                 {"weights quantized", right},
                 {"top-1 lost", right},
                 {"SQNR", right},
                 {"time", right},
                 {""}});
    for (const OptimizeAttempt& attempt : done.attempts) {
      table.add({attempt.name(), fmt::format("{} of {}", attempt.quantized, attempt.weights),
                 attempt.loss ? fmt::format("{:.2f} points", *attempt.loss) : std::string("-"),
                 print(attempt.worst), fmt::format("{:.1f} s", attempt.seconds),
                 &attempt == &best ? "written" : ""});
    }
    console.print(fmt::format("{}\n  {}\n  written to {}\n", table.print(), verdict(done),
                              printable(output_)));
    for (const std::string& remark : remarks_of(written)) {
      console.print(fmt::format("  {}\n", remark));
    }
  }

  std::string model_;
  std::string output_;
  std::string data_;
  std::string labels_;
  ScopeOptions scope_;
  double accept_ = 0.5;
  double accept_sqnr_ = 30;
  unsigned threads_ = 0;
  bool json_ = false;
  const SchemeEntry& scheme_ = **find_scheme("static_affine");
  Schemes schemes_{scheme_};
};

}  // namespace

std::unique_ptr<Command> make_optimize() { return std::make_unique<Optimize>(); }

}  // namespace quadrant::cli
