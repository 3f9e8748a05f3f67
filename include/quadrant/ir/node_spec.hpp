// What a node to be made looks like.
#pragma once

#include <string>
#include <vector>

#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0 {

/// One result to be made: its name (empty: the graph makes one up) and type.
struct ResultSpec {
  std::string name;
  TensorType type;
};

/// A node to be made.
struct NodeSpec {
  std::string kind;
  std::string name;
  std::vector<Value> operands;
  std::vector<ResultSpec> results;
  Attributes attributes;
  Constant constant;  ///< for kind `constant`
};

}  // namespace quadrant::inline v0
