// quadrant convert MODEL OUT: from one format to another, quantized on the way if that is wanted,
// and fused for a target: what its kernels can compute on codes, they do.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/command.hpp"
#include "cli/decision.hpp"
#include "cli/shape_options.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/pipeline/kernels_target.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/report/summary.hpp"
#include "quadrant/support/ranks.hpp"
#include "quadrant/transforms/prepare.hpp"
#include "report/terminal_text.hpp"
#include "support/counted.hpp"

namespace quadrant::cli {
namespace {

// Where nothing is quantized: why not, of each weight.
void remark_on_nothing(const Summary& summary, std::vector<std::string>& remarks) {
  remarks.push_back(summary.given.count == 0
                        ? std::string("nothing is quantized")
                        : fmt::format("nothing more is quantized: {} {} already",
                                      counted(summary.given.count, "weight"),
                                      summary.given.count == 1 ? "was" : "were"));
  for (const WeightLeftInFloat& weight : summary.left_in_float) {
    remarks.push_back(
        fmt::format("left in float: {}: {}", printable(weight.name), printable(weight.reason)));
  }
}

class Convert final : public Command {
 public:
  explicit Convert(const SchemeTable& schemes)
      : Command({.name = "convert",
                 .about = "Write a model in another format",
                 .runs_models = true,
                 .shares_work = true}),
        options_(schemes) {}

  void declare(CLI::App& command) override {
    cli::declare(command, options_, json_);
    add_argument(command, "OUT", output_,
                 "Model to write: .onnx, .tflite, .xml, .mlir, or .qd, text");
    add_choice(
        command, "--target", target_, kernels_targets(),
        "Runtime whose kernels compute on codes; operations without such a kernel stay float "
        "(default: tflite, for a file of that ending)");
    add_choice(command, "--io", borders_, {"codes", "real"},
               "Inputs and outputs: 'codes', where the model quantizes and dequantizes them, or "
               "'real', float values, the default");
    command.add_flag(
        "--repair-ranges", repairs_ranges_,
        "Move the range of a fake_quantize that does not represent zero exactly, so that "
        "it becomes codes, too; by at most half a step where zero lies inside");
    add_value(command, "--shape", shapes_, "INPUT=SHAPE",
              "Shape of an input of open extents, as x=1x3x224x224: the model gets it, and "
              "what follows from it. Repeatable")
        ->allow_extra_args(false);
    declare_non_finite(command, options_.non_finite);
    command.footer(
        "Examples:\n"
        "  quadrant convert model_qdq.onnx model.tflite\n"
        "  quadrant convert model.onnx model.tflite --scheme static-affine --calibration samples\n"
        "  quadrant convert model.tflite model.onnx\n"
        "  quadrant convert model.onnx model.mlir --shape image=1x3x224x224\n"
        "  quadrant convert model.xml model.qd --target openvino-cpu");
  }

  Expected<void> run(Console& console) override {
    Destination& to = options_.destination;
    QUADRANT_TRY(to, destination_of(output_, target_));
    to.coded_borders = borders_ == "codes";
    LowerModelOptions lowering{.always_reports = !target_.empty(),
                               .repair_ranges = repairs_ranges_,
                               .model = options_.model};
    QUADRANT_CHECK(in_file(check_lower_model(to, lowering), output_));
    console.use_threads(options_.threads);
    std::vector<std::string> remarks;
    QUADRANT_TRY(Graph graph, model(lowering.made_by, console, remarks));
    QUADRANT_TRY(const auto shapes, parse_shapes(shapes_, graph));
    QUADRANT_CHECK(in_file(fix_shapes(graph, shapes), options_.model));
    QUADRANT_TRY(const LoweredModel lowered,
                 lower_model(std::move(graph), to, lowering, console.context()));
    QUADRANT_TRY(
        WrittenModel written,
        write_model(lowered.graph, output_,
                    {.qoperators = to.target == KernelsTarget::onnx_qoperator}, console.context()));
    if (!is_first(console.context().ranks)) return {};
    // What the user can do something about comes first.
    remarks.insert(remarks.end(), lowered.remarks.begin(), lowered.remarks.end());
    written.remarks.insert(written.remarks.begin(), remarks.begin(), remarks.end());
    print(lowered.report, to.target, written, console);
    return {};
  }

 private:
  // As it is, or quantized if that was asked for: then `made_by` says by what.
  [[nodiscard]] Expected<Graph> model(Recipe& made_by, Console& console,
                                      std::vector<std::string>& remarks) {
    const RecipeOptions& recipe = options_.recipe;
    if (recipe.scheme.empty() && recipe.mix.empty() && recipe.preset.empty() &&
        recipe.file.empty()) {
      QUADRANT_CHECK(options_.schemes.check_none_given());
      return read_model(options_.model, console.context());
    }
    QUADRANT_TRY(PreparedRun subject, prepare(options_, console));
    made_by = subject.recipe.recipe;
    QUADRANT_TRY(QuantizeResult result, subject.quantize());
    const std::size_t count = result.analysis.plan.values.size();
    if (count == 0) {
      remark_on_nothing(summarize(subject.graph, subject.registry, result), remarks);
    } else {
      remarks.push_back(
          fmt::format("{} {} quantized", counted(count, "value"), count == 1 ? "is" : "are"));
    }
    return std::move(result.graph);
  }

  static constexpr std::size_t most = 20;  ///< lines of one sort

  void print(const std::optional<ComputationReport>& fused, std::optional<KernelsTarget> target,
             const WrittenModel& written, Console& console) const {
    if (json_) {
      console.print_json({{"model", options_.model},
                          {"output", output_},
                          {"bytes", written.bytes},
                          {"target", target ? Json(to_string(*target)) : Json(nullptr)},
                          {"fused", fused ? to_json(*fused) : Json(nullptr)},
                          {"summary", written.summary},
                          {"remarks", written.remarks}});
      return;
    }
    if (fused) {
      const ComputationReport& report = *fused;
      console.print(fmt::format("{}\n", table_of_kinds(report).print()));
      const Table reals = table_of_reals(report, most);
      if (!reals.is_empty()) console.print(fmt::format("{}\n", reals.print()));
      const std::size_t left = report.operations.size() - report.on_codes;
      if (left > most) {
        console.print(fmt::format("  and {} more: --json has all\n\n", left - most));
      }
      console.print(fmt::format("  {} of {} operations compute on codes, for {}", report.on_codes,
                                report.operations.size(), target ? to_string(*target) : ""));
      if (report.requantized > 0) {
        console.print(fmt::format(
            "; {}", report.requantized == 1
                        ? "one value is requantized"
                        : fmt::format("{} values are requantized", report.requantized)));
      }
      console.print("\n");
    }
    console.print(
        fmt::format("  written to {}: {}\n", printable(output_), format_bytes(written.bytes)));
    if (!written.summary.empty()) console.print(fmt::format("  {}\n", written.summary));
    for (std::size_t i = 0; i < std::min(most, written.remarks.size()); ++i) {
      console.print("  " + written.remarks[i] + '\n');
    }
    if (written.remarks.size() > most) {
      console.print(fmt::format("  and {} more: --json has all\n", written.remarks.size() - most));
    }
  }

  DecisionOptions options_;
  std::string output_;
  std::string target_;
  std::string borders_;
  std::vector<std::string> shapes_;
  bool repairs_ranges_ = false;
};

}  // namespace

std::unique_ptr<Command> make_convert(const SchemeTable& schemes) {
  return std::make_unique<Convert>(schemes);
}

}  // namespace quadrant::cli
