// The graph of a case.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "case_file.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/type.hpp"

namespace quadrant::webnn {

/// An operation of the case. All nodes that it became have its label as their name.
struct CaseOperation {
  std::string label;  ///< `conv2d#4`: the operation, and its place in the case
  std::string op;
  /// quantizeLinear or dequantizeLinear: it says what is quantized instead of computing.
  bool converts = false;
};

struct CaseOutput {
  std::string name;
  /// What one step of a quantized value is worth, for each element, where the output is what a
  /// quantizeLinear or a dequantizeLinear makes; else empty. Infinite for the code of what is no
  /// number (NaN), which means nothing.
  std::vector<double> steps;
};

struct CaseGraph {
  Graph graph;
  Tensors inputs;                   ///< for `graph.inputs()`
  std::vector<CaseOutput> outputs;  ///< for `graph.outputs()`
  std::vector<CaseOperation> operations;
};

/// Operations of ONNX's that mean what the case's mean, `quantize` and `dequantize` where the
/// library has a type for the parameters, and types of all values. The error names the operation.
[[nodiscard]] Expected<CaseGraph> build_graph(const Case& from);

}  // namespace quadrant::webnn
