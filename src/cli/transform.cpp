// quadrant transform MODEL -o OUT: a float model that quantizes better, with any tool.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>

#include "calibration/located.hpp"
#include "cli/choices.hpp"
#include "cli/command.hpp"
#include "cli/decision.hpp"
#include "cli/model.hpp"
#include "cli/model_format.hpp"
#include "cli/optimizations.hpp"
#include "cli/written_model.hpp"
#include "quadrant/io/onnx.hpp"
#include "quadrant/report/terminal_text.hpp"

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
        ->add_option("--optimize", wanted_.names,
                     "'cle' equalizes the channels of neighbouring layers, 'hba' moves high biases "
                     "on to the next layer. Without, normalizations are folded, and that is all")
        ->delimiter(',')
        ->check(CLI::IsMember({"cle", "hba"}).description(""))
        ->type_name("cle,hba");
    add_relu6(*command, wanted_);
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
    QUADRANT_CHECK(check(wanted_));
    QUADRANT_TRY(Graph graph, read_model(model_, console));
    QUADRANT_CHECK(in_file(transform(graph, wanted_, model_, console), model_));
    QUADRANT_TRY(const OnnxWriteReport written,
                 write_onnx(graph, output_, {.sink = &console, .files = &console.files()}));
    if (json_) {
      console.print_json(Json{{"model", model_},
                              {"output", output_},
                              {"optimizations", wanted_.names},
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
  Optimizations wanted_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_transform() { return std::make_unique<Transform>(); }

}  // namespace quadrant::cli
