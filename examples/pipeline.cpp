// What `quadrant quantize` and `convert` do, as calls: a recipe, run on a model of any format.
//
//   build/release/bin/example_pipeline model.onnx small.onnx
//   build/release/bin/example_pipeline model.onnx small.tflite int8-static samples
#include <iostream>
#include <string>

#include "quadrant/quadrant.hpp"

namespace {

// What the library has to say besides its result.
class Notes final : public quadrant::Sink {
 public:
  void report(const quadrant::Diagnostic& diagnostic) override {
    std::cerr << diagnostic.message << '\n';
  }
};

quadrant::Expected<void> quantize(const std::string& in, const std::string& out,
                                  const std::string& preset, const std::string& samples) {
  Notes notes;
  const quadrant::RunContext context{.sink = &notes};
  QUADRANT_TRY(const quadrant::NamedRecipe recipe, quadrant::recipe_of_preset(preset));
  QUADRANT_TRY(quadrant::Graph model, quadrant::read_model(in, context));
  // The ending of OUT says what it is for: whose kernels are to compute on codes, and what the
  // format has.
  QUADRANT_TRY(const quadrant::Destination destination, quadrant::destination_of(out));
  const quadrant::RunRequest request{.recipe = recipe,
                                     .inputs = {.calibration = samples},
                                     .model = in,
                                     .destination = destination};
  QUADRANT_TRY(const quadrant::RunResult done, quadrant::run(request, std::move(model), context));
  QUADRANT_TRY(const quadrant::LoweredModel lowered,
               quadrant::lower_model(done.quantized.graph, destination,
                                     {.made_by = recipe.recipe, .model = in}, context));
  QUADRANT_TRY(const quadrant::WrittenModel written,
               quadrant::write_model(lowered.graph, out, {}, context));
  std::cout << done.quantized.analysis.plan.values.size() << " values quantized, " << written.bytes
            << " bytes\n";
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 5) {
    std::cerr << "usage: " << argv[0] << " MODEL OUT [PRESET [SAMPLES]]\n";
    return 2;
  }
  // OUT says the format by its ending.
  const auto done =
      quantize(argv[1], argv[2], argc > 3 ? argv[3] : "int8", argc > 4 ? argv[4] : "");
  if (!done) std::cerr << quadrant::to_string(done.error()) << '\n';
  return done ? 0 : 1;
}
