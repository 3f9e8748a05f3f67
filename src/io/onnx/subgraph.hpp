// Subgraphs (the branches of If, the bodies of Loop and Scan) are carried as bytes. What the rest
// of the model must know of them are names.
#pragma once

#include <string_view>
#include <vector>

#include "io/onnx/wire.hpp"

namespace quadrant::inline v0::onnx {

struct SubgraphNames {
  /// Values of enclosing graphs that are used, each once, sorted.
  std::vector<std::string_view> captured;
  /// Values that are defined, here and in subgraphs of subgraphs; may repeat.
  std::vector<std::string_view> defined;
  /// Names of operations in them; may repeat.
  std::vector<std::string_view> operations;
  bool external_data = false;  ///< some tensor's contents are in another file
};

/// Adds the names of the GraphProto at `range`. Throws where graphs are nested deeper than 64.
void collect_names(std::string_view file, Range range, SubgraphNames& names);

/// The same for all graphs and tensors in an AttributeProto.
void collect_attribute_names(std::string_view file, Range range, SubgraphNames& names);

}  // namespace quadrant::inline v0::onnx
