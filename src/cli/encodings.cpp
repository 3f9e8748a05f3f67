// quadrant encodings MODEL -o FILE: what the codes of a quantized model mean, for other tools.
#include "quadrant/recipe/encodings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "cli/arguments.hpp"
#include "cli/command.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "report/terminal_text.hpp"
#include "support/counted.hpp"

namespace quadrant::cli {
namespace {

constexpr std::array versions{EncodingsVersion::v0_6_1, EncodingsVersion::v1_0_0,
                              EncodingsVersion::v2_0_0};

class Encodings final : public Command {
 public:
  Encodings()
      : Command({.name = "encodings",
                 .about = "Write the scales and zero points of a quantized model, by name"}) {}

  void declare(CLI::App& command) override {
    add_argument(command, "MODEL", model_,
                 "Quantized model to read: .onnx, .tflite, .xml, or .qd, text");
    add_value(command, "-o,--output", output_, "FILE", "File to write")->required();
    add_choice(command, "--version", version_, {"0.6.1", "1.0.0", "2.0.0"},
               "Of the format, which is that of AIMET's files")
        ->capture_default_str();
    declare_json(command, json_);
    command.footer(
        "Examples:\n"
        "  quadrant encodings model.int8.onnx -o model.encodings\n"
        "  quadrant quantize model.onnx -o again.onnx --scheme static-affine "
        "--encodings model.encodings");
  }

  Expected<void> run(Console& console) override {
    QUADRANT_TRY(const Graph graph, read_model(model_, console.context()));
    Expected<EncodingsFile> file = encodings_of(graph, &console);
    if (!file) return fail(located(std::move(file).error()));
    if (file->tensors.empty()) {
      return fail(ErrorCode::usage,
                  "the model has no values that are quantized to integers: it has no encodings",
                  {.file = model_});
    }
    const auto* const version = std::ranges::find(
        versions, version_, [](EncodingsVersion known) { return to_string(known); });
    Expected<std::string> text = print_encodings(*file, *version, &console);
    if (!text) return fail(located(std::move(text).error()));
    QUADRANT_CHECK(console.write_text(output_, *text));
    print(*file, console);
    return {};
  }

 private:
  [[nodiscard]] Error located(Error error) const {
    if (error.place.file.empty()) error.place.file = model_;
    return error;
  }

  void print(const EncodingsFile& file, Console& console) const {
    const auto parameters =
        static_cast<std::size_t>(std::ranges::count_if(file.tensors, [](const auto& named) {
          return named.second.role == TensorEncoding::Role::parameter;
        }));
    const std::size_t activations = file.tensors.size() - parameters;
    if (json_) {
      console.print_json(Json{{"model", model_},
                              {"output", output_},
                              {"version", version_},
                              {"activations", activations},
                              {"parameters", parameters}});
      return;
    }
    console.print(fmt::format("encodings of {} and {} written to {}\n",
                              counted(activations, "activation"), counted(parameters, "parameter"),
                              printable(output_)));
  }

  std::string model_;
  std::string output_;
  std::string version_ = "1.0.0";
};

}  // namespace

std::unique_ptr<Command> make_encodings(const SchemeTable& /*schemes*/) {
  return std::make_unique<Encodings>();
}

}  // namespace quadrant::cli
