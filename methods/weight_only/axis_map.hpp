// Where an axis of an operation's result comes from in its operand, for operations that only move
// elements. Free functions, so that one method class serves all of them.
#pragma once

#include <cstdint>
#include <optional>

#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0::weight_only {

/// The operand axis whose index every element of the result keeps as its index along result axis
/// `axis`; empty when there is none, or when the shapes do not tell.
using SourceAxis = std::optional<std::int64_t> (*)(NodeRef node, std::int64_t axis);

[[nodiscard]] std::optional<std::int64_t> identity_source(NodeRef node, std::int64_t axis);
[[nodiscard]] std::optional<std::int64_t> transpose_source(NodeRef node, std::int64_t axis);
/// Row-major reshape: an operand axis of the same extent and the same stride. Where the extent is 1
/// there is one group of elements, which any operand axis of extent 1 describes.
[[nodiscard]] std::optional<std::int64_t> reshape_source(NodeRef node, std::int64_t axis);

}  // namespace quadrant::inline v0::weight_only
