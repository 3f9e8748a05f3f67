// What a file says about the types of its values, against what follows from its inputs and
// constants.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/onnx/wire.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/support/diagnostics.hpp"

namespace quadrant::inline v0::onnx {

/// Types of inputs and constants are facts. `value_info` and the types of outputs are remarks that
/// runtimes correct where they are wrong (exporters and graph editors leave stale ones), so a wrong
/// one is left out with a note; only facts that contradict each other make a model invalid.
class StatedTypes {
 public:
  explicit StatedTypes(Sink* sink) : sink_(sink) {}

  /// The file says that `value` has `type`, in what `holder` keeps as attribute `attribute`.
  void state(Value value, TensorType type, NodeId holder, std::string attribute) {
    statements_.push_back({value, std::move(type), holder, std::move(attribute)});
  }

  /// Sets the types of all values. Throws when the facts contradict each other.
  void settle(Graph& graph);

 private:
  struct Statement {
    Value value;
    TensorType type;
    NodeId holder;
    std::string attribute;
    bool wrong = false;
  };
  void believe_about_unknown_operations(Graph& graph);
  void believe_where_nothing_contradicts(Graph& graph);
  void drop_wrong_ones(Graph& graph);

  Sink* sink_;
  std::vector<Statement> statements_;
};

}  // namespace quadrant::inline v0::onnx
