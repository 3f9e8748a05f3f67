// quadrant transform MODEL -o OUT: a float model that quantizes better, with any tool.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/decision.hpp"
#include "cli/onnx_output.hpp"
#include "cli/table_options.hpp"
#include "quadrant/io/onnx.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/pipeline/run.hpp"
#include "report/terminal_text.hpp"

namespace quadrant::cli {
namespace {

// What is done to it, and not to what it becomes.
std::vector<OptionSpec> of_float_model() {
  std::vector<OptionSpec> options;
  for (const OptionSpec& option : recipe_model_options()) {
    if (option.key == "relu6") options.push_back(option);
    if (option.key != "optimize") continue;
    OptionSpec& optimize = options.emplace_back(option);
    optimize.summary = "Transforms besides folding batch normalizations, one or several";
    optimize.placeholder = "rotate,cle,hba,migrate";
    std::erase_if(optimize.words,
                  [](const OptionWord& word) { return word.word.starts_with("bc"); });
  }
  return options;
}

class Transform final : public Command {
 public:
  CLI::App* declare(CLI::App& app) override {
    CLI::App* command = app.add_subcommand(
        "transform", "Make a float model easier to quantize: fold, rotate, equalize, absorb");
    command->add_option("MODEL", model_, "Float model to read: .onnx, .tflite, .xml, or .qd, text")
        ->required()
        ->type_name("");
    command->add_option("-o,--output", output_, "Model to write; may be the input")
        ->required()
        ->type_name("FILE");
    command
        ->add_option("--calibration", inputs_.calibration,
                     "Samples that 'migrate' looks at, for codes of 8 bits")
        ->type_name("PATH");
    cli::declare(*command, of_float_model(), wanted_);
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
    QUADRANT_CHECK(check_transform(wanted_));
    QUADRANT_TRY(Graph graph, read_model(model_, console.context()));
    QUADRANT_CHECK(transform_model(graph, wanted_, model_, console.context(), inputs_));
    QUADRANT_TRY(const OnnxWriteReport written,
                 write_onnx(graph, output_, {.sink = &console, .files = &console.files()}));
    if (json_) {
      const auto* const names = given<std::vector<std::string>>(wanted_, "optimize");
      console.print_json(Json{{"model", model_},
                              {"output", output_},
                              {"optimizations", names != nullptr ? Json(*names) : Json::array()},
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
  OptionValues wanted_;
  RunInputs inputs_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_transform() { return std::make_unique<Transform>(); }

}  // namespace quadrant::cli
