// Graphs made of the fuzzer's bytes: operations that the library knows, with operands, attributes,
// types and contents that mostly fit together.
#pragma once

#include <fuzzer/FuzzedDataProvider.h>

#include <span>
#include <string_view>

#include "quadrant/ir/graph.hpp"
#include "random_values.hpp"

namespace fuzz {

/// A graph that takes all the rest of `data`. One that is `computed` has operations of `kinds`,
/// types that follow from its inputs and constants, and layers with parameters that fit; one that
/// is `stored` has those of ops.hpp, and may say of its values what it likes.
///
/// Each node keeps the rules of its kind, and each value has an element type. `verify` may have
/// more to say.
quadrant::Graph random_graph(FuzzedDataProvider& data, Purpose purpose,
                             std::span<const std::string_view> kinds = {});

}  // namespace fuzz
