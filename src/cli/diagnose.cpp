// quadrant diagnose FLOAT QUANTIZED: why the second is worse, and what to type about it.
#include "quadrant/pipeline/diagnose.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>

#include "cli/arguments.hpp"
#include "cli/command.hpp"
#include "cli/resources.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "recipe/typed_recipe.hpp"

namespace quadrant::cli {
namespace {

Json json_of(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

Json json_of(const Agreement& worst) {
  return {{"sqnr_db", json_of(worst.sqnr_db())}, {"non_finite", worst.non_finite}};
}

class Diagnose final : public Command {
 public:
  Diagnose()
      : Command(
            {.name = "diagnose",
             .about = "Say where a quantized model loses accuracy, why, and what to do about it",
             .runs_models = true,
             .shares_work = true}) {}

  void declare(CLI::App& command) override {
    add_argument(command, "FLOAT", options_.real_name, "The model, in float");
    add_argument(command, "QUANTIZED", options_.quantized_name, "The quantized model");
    add_value(command, "--data", data_.calibration, "PATH",
              "Samples to measure on, as for 'compare'")
        ->required();
    add_value(command, "--calibration", options_.calibration.calibration, "PATH",
              "Samples for remedies to calibrate on (default: those of --data)");
    add_value(command, "--most", options_.most, "N", "How many causes to name")
        ->capture_default_str();
    command.add_flag("!--no-remedies", options_.try_remedies, "Quantize nothing anew");
    declare_threads(command, threads_);
    declare_json(command, json_);
    command.footer(
        "Each command that is printed was tried, and stands beside the SQNR that it gave.\n\n"
        "Example:\n"
        "  quadrant diagnose model.onnx model.int8.onnx --data samples");
  }

  Expected<void> run(Console& console) override {
    const RunContext& context = console.context();
    QUADRANT_TRY(const Graph real, read_model(options_.real_name, context));
    QUADRANT_TRY(const Graph quantized, read_model(options_.quantized_name, context));
    QUADRANT_TRY(options_.destination, destination_of(better()));
    console.use_threads(threads_);
    QUADRANT_TRY(const Diagnosis found, diagnose(real, quantized, data_, options_, context));
    if (json_) {
      console.print_json(to_json(found, context));
    } else {
      console.print(to_string(found, [&](const Recipe& each) { return typed(each, context); }));
    }
    return {};
  }

 private:
  // What a remedy makes: of the format of the quantized model.
  [[nodiscard]] std::string better() const {
    const ModelFormat format = read_format(options_.quantized_name);
    if (format == ModelFormat::tflite) return "better.tflite";
    return format == ModelFormat::openvino ? "better.xml" : "better.onnx";
  }

  [[nodiscard]] std::string typed(const Recipe& recipe, const RunContext& context) const {
    const RunInputs& samples = options_.calibration.has_samples() ? options_.calibration : data_;
    return typed_call({options_.real_name, better(), samples.calibration}, recipe) +
           (context.convert_samples ? " --convert" : "") +
           (context.allow_non_finite_samples ? " --allow-non-finite" : "") +
           (context.follow_links ? " --follow-links" : "");
  }

  [[nodiscard]] Json json_of(const std::optional<TriedRemedy>& tried,
                             const RunContext& context) const {
    if (!tried) return nullptr;
    return {{"worst", cli::json_of(tried->worst)}, {"command", typed(tried->recipe, context)}};
  }

  [[nodiscard]] Json to_json(const Diagnosis& found, const RunContext& context) const {
    Json causes = Json::array();
    for (const Cause& cause : found.causes) {
      causes.push_back({{"name", cause.name},
                        {"kind", to_string(cause.kind)},
                        {"is_weight", cause.is_weight},
                        {"found", cause.found},
                        {"share", cli::json_of(cause.share)},
                        {"remedy", json_of(cause.remedy, context)}});
    }
    Json not_measured = Json::array();
    for (const auto& [name, reason] : found.left_alone) {
      not_measured.push_back({{"weight", name}, {"reason", reason}});
    }
    return {{"float", options_.real_name},
            {"quantized", options_.quantized_name},
            {"samples", found.samples},
            {"output", found.output},
            {"worst", cli::json_of(found.worst)},
            {"all_exact", cli::json_of(found.floor)},
            {"not_measured", not_measured},
            {"causes", causes},
            {"together", json_of(found.together, context)}};
  }

  RunInputs data_;
  DiagnoseOptions options_;
  unsigned threads_ = 0;
};

}  // namespace

std::unique_ptr<Command> make_diagnose(const SchemeTable& /*schemes*/) {
  return std::make_unique<Diagnose>();
}

}  // namespace quadrant::cli
