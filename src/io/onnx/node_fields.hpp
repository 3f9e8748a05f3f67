// A NodeProto, before it is a node.
#pragma once

#include <string_view>
#include <vector>

#include "io/onnx/names.hpp"
#include "io/onnx/source.hpp"
#include "quadrant/ir/graph.hpp"

namespace quadrant::inline v0::onnx {

/// A body: which attribute it is, and its graph.
struct Body {
  std::string_view attribute;
  Range graph;
};

/// A NodeProto, its attributes not yet read.
struct NodeFields {
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::string_view name;
  OpName op;
  std::vector<Range> attributes;
  std::vector<Range> extra;

  /// What messages call it: many nodes have no name of their own.
  [[nodiscard]] std::string_view label() const {
    if (!name.empty()) return name;
    for (const std::string_view output : outputs) {
      if (!output.empty()) return output;
    }
    return op.op_type;
  }
};

/// Throws `Failure`: `invalid_model` for one without an operator type.
[[nodiscard]] NodeFields read_fields(Source& source, Range range);

/// The bodies of an operation whose bodies are read; none where one is not of the plain form.
[[nodiscard]] std::vector<Body> bodies_of(Source& source, const NodeFields& fields);

/// A Constant node with contents that can be read becomes a `constant`; false for others. `spec`
/// has its attributes and results.
[[nodiscard]] bool make_constant(const NodeFields& fields, NodeSpec& spec);

}  // namespace quadrant::inline v0::onnx
