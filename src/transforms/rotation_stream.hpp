// Streams of a transformer that may be rotated: who makes them, and who reads them.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/diagnostics.hpp"

namespace quadrant::inline v0 {

/// An operand of a node: a constant, or one that is transposed first.
struct OperandPlace {
  NodeId node;
  std::uint32_t operand = 0;
  friend auto operator<=>(const OperandPlace&, const OperandPlace&) = default;
};

/// One factor a channel, or for all, which a norm ends with, and perhaps a summand behind it.
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
};

struct FoundStreams {
  std::vector<Stream> streams;
  std::vector<LeftAlone> left;  ///< a value of each of the others, and what hinders
};

/// The streams of all values of which a norm, or a mean of squares along the last axis, is
/// computed, with all that is rotated with them: sums, through norms to products, back to where
/// they are made. Each value is looked at once: n log n in the size of the graph.
[[nodiscard]] FoundStreams find_streams(const Graph& graph);

}  // namespace quadrant::inline v0
