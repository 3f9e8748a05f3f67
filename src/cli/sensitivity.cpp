// quadrant sensitivity MODEL: which layer, quantized alone, costs how much at the outputs.
#include <fmt/format.h>

#include <span>
#include <string>
#include <vector>

#include "cli/arguments.hpp"
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
  explicit Sensitivity(const SchemeTable& schemes)
      : Command({.name = "sensitivity",
                 .about = "Quantize each weight alone and say what that costs at the outputs",
                 .runs_models = true,
                 .shares_work = true}),
        options_(schemes) {}

  void declare(CLI::App& command) override {
    cli::declare(command, options_, json_);
    cli::declare(command, data_);
    declare_non_finite(command, options_.non_finite);
    declare_runtime(command, runtime_);
    add_value(command, "--cache", cache_, "FILE",
              "File of measurements: read if it exists, written as the work goes on");
    command.footer(
        "Weights are those that 'quadrant quantize' with the same options would quantize, the "
        "most\n"
        "sensitive first. Several that can only be quantized together are measured together.\n\n"
        "Example:\n"
        "  quadrant sensitivity model.onnx --scheme weight-only --bits 4 --data samples");
  }

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
    if (json_) {
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
