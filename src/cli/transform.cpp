// quadrant transform MODEL -o OUT: a float model that quantizes better, with any tool.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/decision.hpp"
#include "cli/onnx_output.hpp"
#include "cli/table_options.hpp"
#include "quadrant/io/onnx.hpp"
#include "quadrant/pipeline/documents.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/pipeline/run.hpp"
#include "report/terminal_text.hpp"

namespace quadrant::cli {
namespace {

class Transform final : public Command {
 public:
  CLI::App* declare(CLI::App& app) override {
    CLI::App* command = app.add_subcommand(
        "transform", "Make a float model easier to quantize: fold, equalize, absorb");
    command->add_option("MODEL", model_, "Float model to read: .onnx, .tflite, .xml, or .qd, text")
        ->required()
        ->type_name("");
    command->add_option("-o,--output", output_, "Model to write; may be the input")
        ->required()
        ->type_name("FILE");
    command
        ->add_option("--optimize", optimizations_,
                     "'cle' equalizes the channels of neighbouring layers, 'hba' moves high biases "
                     "on to the next layer, 'migrate' moves factors of channels from what products "
                     "read into their weights, where codes of 8 bits are better then. Without, "
                     "normalizations are folded, and that is all")
        ->delimiter(',')
        ->check(CLI::IsMember({"cle", "hba", "migrate"}).description(""))
        ->type_name("cle,hba,migrate");
    command->add_option("--calibration", inputs_.calibration, "Samples that 'migrate' looks at")
        ->type_name("PATH");
    const auto options = recipe_model_options();
    const auto relu6 = std::ranges::find(options, "relu6", &OptionSpec::key);
    cli::declare(*command, std::span(relu6, 1), wanted_);
    declare_json(*command, json_);
    command->footer(
        "The model computes the same, up to rounding; with hba a little different where values are "
        "rare,\nand with --relu6 relu where a ReLU6 limits.\n\n"
        "Example:\n"
        "  quadrant transform model.onnx -o equalized.onnx --optimize cle");
    return command;
  }

  [[nodiscard]] bool wants_json() const noexcept override { return json_; }

  [[nodiscard]] std::string_view replaceable() const noexcept override { return "MODEL"; }

  Expected<void> run(Console& console) override {
    QUADRANT_CHECK(check_onnx_ending(output_));
    if (!optimizations_.empty()) wanted_["optimize"] = optimizations_;
    QUADRANT_CHECK(check_transform(wanted_));
    QUADRANT_TRY(Graph graph, read_model(model_, console.context()));
    QUADRANT_CHECK(transform_model(graph, wanted_, model_, console.context(), inputs_));
    QUADRANT_TRY(const OnnxWriteReport written,
                 write_onnx(graph, output_, {.sink = &console, .files = &console.files()}));
    if (json_) {
      console.print_json(Json{{"model", model_},
                              {"output", output_},
                              {"optimizations", optimizations_},
                              {"model_bytes", written.model_bytes},
                              {"external_bytes", written.external_bytes}});
    } else {
      console.print(fmt::format("written to {}\n", printable(output_)));
      for (const std::string& remark : remarks_of(written)) {
        console.print(fmt::format("  {}\n", remark));
      }
    }
    return {};
  }

 private:
  std::string model_;
  std::string output_;
  std::vector<std::string> optimizations_;
  OptionValues wanted_;
  RunInputs inputs_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_transform() { return std::make_unique<Transform>(); }

}  // namespace quadrant::cli
