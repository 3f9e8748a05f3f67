// quadrant sensitivity MODEL: which layer, quantized alone, costs how much at the outputs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/data_options.hpp"
#include "cli/decision.hpp"
#include "cli/runtimes.hpp"
#include "quadrant/pipeline/gather.hpp"
#include "quadrant/report/tables.hpp"

namespace quadrant::cli {
namespace {

class Sensitivity final : public Command {
 public:
  explicit Sensitivity(const SchemeTable& schemes) : options_(schemes) {}

  CLI::App* declare(CLI::App& app) override {
    CLI::App* command = app.add_subcommand(
        "sensitivity", "Quantize each weight alone and say what that costs at the outputs");
    cli::declare(*command, options_);
    cli::declare(*command, data_);
    declare_non_finite(*command, options_.non_finite);
    declare_runtime(*command, runtime_);
    command
        ->add_option("--cache", cache_,
                     "File of measurements: read if it exists, written as the work goes on")
        ->type_name("FILE");
    command->footer(
        "Weights are those that 'quadrant quantize' with the same options would quantize, the "
        "most\n"
        "sensitive first. Several that can only be quantized together are measured together.\n\n"
        "Example:\n"
        "  quadrant sensitivity model.onnx --scheme weight-only --bits 4 --data samples");
    return command;
  }

  [[nodiscard]] bool wants_json() const noexcept override { return options_.json; }
  [[nodiscard]] bool runs_models() const noexcept override { return true; }
  [[nodiscard]] bool shares_work() const noexcept override { return true; }

  Expected<void> run(Console& console) override {
    QUADRANT_CHECK(check(data_));
    QUADRANT_TRY(const auto runtime, make_runtime(runtime_, console));
    QUADRANT_TRY(PreparedRun run, prepare(options_, console));
    QUADRANT_TRY(const auto data, open_data(data_, run.graph, console));
    QUADRANT_TRY(const auto study,
                 study_sensitivity(run, *runtime, *data,
                                   {.cache = cache_,
                                    .settings = fmt::format("{}{} {}", options_.gain,
                                                            options_.hardware, runtime_)}));
    print(study, console);
    return {};
  }

 private:
  void print(const std::vector<LayerSensitivity>& study, Console& console) const {
    if (options_.json) {
      console.print_json(
          Json{{"model", options_.model},
               {"layers", quadrant::to_json(std::span<const LayerSensitivity>(study))}});
    } else {
      console.print(to_string(std::span<const LayerSensitivity>(study)));
    }
  }

  DecisionOptions options_;
  DataOptions data_;
  std::string runtime_ = std::string(runtime_names.front());
  std::string cache_;
};

}  // namespace

std::unique_ptr<Command> make_sensitivity(const SchemeTable& schemes) {
  return std::make_unique<Sensitivity>(schemes);
}

}  // namespace quadrant::cli
