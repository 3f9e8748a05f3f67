#include "cli/paired_products.hpp"

#include <string>

#include "quadrant/recipe/option_table.hpp"

namespace quadrant::cli {
namespace {

PairingRuntimes runtimes_of(ModelFormat format) {
  switch (format) {
    case ModelFormat::openvino:
      return {.onnxruntime = false};
    case ModelFormat::tflite:
      return {.onnxruntime = false, .openvino = false};
    default:
      return {};
  }
}

}  // namespace

Expected<std::vector<PairedProduct>> paired_products(const Graph& graph, ModelFormat format) {
  return find_paired_products(graph, runtimes_of(format));
}

Expected<std::vector<PairedProduct>> paired_products(const Graph& graph, ModelFormat format,
                                                     const Recipe& recipe) {
  PairingRuntimes runtimes = runtimes_of(format);
  for (const SchemeChoice& choice : recipe.schemes) {
    const auto* const name = given<std::string>(choice.options, "kernels");
    if (choice.scheme != "static_affine" || name == nullptr) continue;
    // Who chose LiteRT's kernels, and then a file for these, is to know.
    runtimes.onnxruntime &= *name != "openvino";
    runtimes.openvino &= *name != "onnxruntime";
  }
  return find_paired_products(graph, runtimes);
}

}  // namespace quadrant::cli
