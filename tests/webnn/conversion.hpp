// What the library makes of a case: the place where a scheme and a format are plugged in.
#pragma once

#include <string>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::webnn {

/// A node that computes on real numbers still.
struct LeftReal {
  std::string operation;  ///< the node's name
  std::string reason;     ///< for people; empty: nobody said
};

struct Converted {
  /// Computes on codes where it can: values have quantized types, and no `quantize` or `dequantize`
  /// stands around an operation that is fused. Its inputs and outputs are those of the case, in
  /// their order. A node keeps the name of the operation that it stands for.
  Graph graph;
  std::vector<LeftReal> left;
};

[[nodiscard]] Expected<Converted> convert_case(const Graph& graph);

/// Writes the converted graph as a file of the format that it is for.
[[nodiscard]] Expected<void> write_case(const Converted& converted, const std::string& path);

/// Of such a file's name.
inline constexpr const char* file_ending = ".tflite";

}  // namespace quadrant::webnn
