// quadrant transform MODEL -o OUT: a float model that quantizes better, with any tool.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/command.hpp"
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
  Transform()
      : Command({.name = "transform",
                 .about = "Make a float model easier to quantize: fold, rotate, equalize, absorb",
                 .replaceable = "MODEL"}) {}

  void declare(CLI::App& command) override {
    add_argument(command, "MODEL", model_,
                 "Float model to read: .onnx, .tflite, .xml, or .qd, text");
    add_value(command, "-o,--output", output_, "FILE", "Model to write; may be the input")
        ->required();
    add_value(command, "--calibration", inputs_.calibration, "PATH",
              "Samples that 'migrate' looks at, for codes of 8 bits");
    cli::declare(command, of_float_model(), wanted_);
    declare_json(command, json_);
    command.footer(
        "The model computes the same, up to rounding; with hba a little different where values are "
        "rare,\nand with --relu6 relu where a ReLU6 limits.\n\n"
        "Example:\n"
        "  quadrant transform model.onnx -o equalized.onnx --optimize cle");
  }

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
};

}  // namespace

std::unique_ptr<Command> make_transform(const SchemeTable& /*schemes*/) {
  return std::make_unique<Transform>();
}

}  // namespace quadrant::cli
