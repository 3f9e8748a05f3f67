// Streams of a transformer that may be rotated: who makes them, and who reads them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "transforms/reason.hpp"

namespace quadrant::inline v0 {

/// An operand of a node: a constant, or one that is transposed first.
struct OperandPlace {
  NodeId node;
  std::uint32_t operand = 0;
};

/// One factor a channel, which a norm ends with, and perhaps a summand behind it.
struct StreamScale {
  OperandPlace factor;
  bool is_node = false;  ///< a multiplication of its own, which can go
  std::optional<OperandPlace> shift;
};

/// A constant that makes or reads the stream, by one of its axes.
struct StreamConstant {
  OperandPlace place;
  std::int64_t axis = -1;            ///< counted from the end
  std::optional<std::size_t> scale;  ///< of what it reads: which of the stream's
};

struct Stream {
  std::string value;  ///< one of those that are rotated
  std::int64_t width = 0;
  std::vector<StreamScale> scales;
  std::vector<StreamConstant> makers;
  std::vector<StreamConstant> readers;
  std::vector<Value> values;  ///< all that are rotated, or scaled besides
};

/// Values of which a norm, or a mean of squares along the last axis, is computed.
[[nodiscard]] std::vector<Value> normalized_values(const Graph& graph);

/// All that is rotated with the value: sums, through norms to products, back to where they are
/// made.
[[nodiscard]] OrReason<Stream> find_stream(const Graph& graph, Value value);

}  // namespace quadrant::inline v0
