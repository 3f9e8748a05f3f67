#include <doctest/doctest.h>

#include <string>

#include "methods/qdq_fusion/fuse.hpp"
#include "quadrant/transforms/prepare.hpp"

namespace quadrant::test {
namespace {

// A convolution, a limit, a pooling and a convolution, of which tensors may leave out their
// fake_quant.
struct Simulated {
  bool data = true;
  bool weight = true;
  bool between = true;
  bool result = true;
};

// `%name` quantized as `attributes` say, or as it is; and how the others call it.
std::string fake(bool is_there, const std::string& name, const std::string& type,
                 const std::string& attributes = "min = -2.0, max = 2.0") {
  return is_there ? "%" + name + "_q: tensor<" + type + "> = const_fake_quant(%" + name + ") {" +
                        attributes + "}\n"
                  : "";
}

std::string called(bool is_there, const std::string& name) {
  return is_there ? "%" + name + "_q" : "%" + name;
}

std::string text_of(const Simulated& has) {
  const std::string weight = "min = -1.0, max = 1.0, is_signed = 1, narrow_range = 1";
  return "graph {}\n%x: tensor<1x2x4x4xf32> = input()\n" + fake(has.data, "x", "1x2x4x4xf32") +
         "%w: tensor<2x2x1x1xf32> = constant() [1, 0.5, -0.25, 1]\n" +
         fake(true, "w", "2x2x1x1xf32", weight) + "%b: tensor<2xf32> = constant() [0.5, -0.5]\n" +
         "%c: tensor<1x2x4x4xf32> = conv(" + called(has.data, "x") +
         ", %w_q, %b) {name = \"c\"}\n" + "%r: tensor<1x2x4x4xf32> = onnx.Relu(%c)\n" +
         fake(has.between, "r", "1x2x4x4xf32") + "%p: tensor<1x2x2x2xf32> = onnx.MaxPool(" +
         called(has.between, "r") + ") {kernel_shape = [2, 2], strides = [2, 2]}\n" +
         "%v: tensor<2x2x1x1xf32> = constant() [1, 0.5, -0.25, 1]\n" +
         fake(has.weight, "v", "2x2x1x1xf32", weight) + "%q: tensor<1x2x2x2xf32> = conv(%p, " +
         called(has.weight, "v") + ")\n" + fake(has.result, "q", "1x2x2x2xf32") + "output(" +
         called(has.result, "q") + ")\n";
}

struct Outcome {
  std::string missing;   // `name: reason; ...`
  std::string on_codes;  // kinds
};

Outcome outcome_of(const Simulated& has) {
  Graph graph = parsed(text_of(has));
  CHECK(value_of(convert_fake_quant(graph)).left.empty());
  const Fused done = fused(graph);
  Outcome outcome;
  for (const LeftAlone& each : value_of(unquantized_tensors(done.result.model))) {
    outcome.missing.append(each.name).append(": ").append(each.reason).append("; ");
  }
  for (const NodeId node : value_of(topological_order(done.graph()))) {
    const std::string_view kind = done.graph().kind(node);
    const bool computes = kind == "conv" || kind.starts_with("onnx.");
    if (computes && done.graph().type({node}).is_quantized()) {
      outcome.on_codes.append(kind).append(" ");
    }
  }
  return outcome;
}

TEST_CASE("nothing is missing where every tensor passes through a fake_quant: all on codes") {
  // %c and %p need none of their own: in between, elements are chosen.
  const Outcome outcome = outcome_of({});
  CHECK(outcome.missing == "");
  CHECK(outcome.on_codes == "conv onnx.Relu onnx.MaxPool conv ");
}

TEST_CASE("what passes through no fake_quant is named, and computed in real numbers") {
  const Outcome data = outcome_of({.data = false});
  CHECK(data.missing == "x: conv 'c' reads it as float; ");
  CHECK(data.on_codes == "onnx.MaxPool conv ");

  const Outcome weight = outcome_of({.weight = false});
  CHECK(weight.missing == "v: conv 'q' reads it as float; ");
  CHECK(weight.on_codes == "conv onnx.Relu onnx.MaxPool ");

  const Outcome result = outcome_of({.result = false});
  CHECK(result.missing == "q: its float result is an output of the model; ");
  CHECK(result.on_codes == "conv onnx.Relu onnx.MaxPool ");

  const Outcome between = outcome_of({.between = false});
  const std::string why = ": its result is read as float, and not quantized; ";
  CHECK(between.missing == "c" + why + "r" + why + "p" + why);
  CHECK(between.on_codes == "");
}

}  // namespace
}  // namespace quadrant::test
