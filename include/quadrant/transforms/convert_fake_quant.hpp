// Simulated quantization becomes casts: what training knew of ranges, in types.
//
//   const_fake_quant(%x)  ->  dequantize(quantize(%x) : codes)
//
// From here on it is a model with explicit quantization, as other tools write it: casts may move,
// methods/qdq_fusion.hpp makes operations on codes of it, and what has none stays real.
#pragma once

#include <cstdint>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/expected.hpp"
#include "quadrant/support/left_alone.hpp"

namespace quadrant::inline v0 {

struct ConvertedFakeQuants {
  std::int64_t converted = 0;
  /// Those that stand as before, with the reason: bounds that are computed while the model runs,
  /// constants of more than 16 bits, an axis of a value of unknown rank.
  std::vector<LeftAlone> left;
};

/// Each `const_fake_quant`, and each `fake_quant` with constant bounds, becomes a `quantize` to
/// numerics/fake_quant_type.hpp's type and a `dequantize`, which takes over the name; of a
/// constant, a constant of codes, computed when it is read, and a `dequantize`. What nobody reads
/// then goes. The interpreter computes the same bits before and after.
///
/// Linear. The graph needs exclusive access. Errors: what a constant's file says when its bounds
/// cannot be read, attributes that `verify` refuses; the graph is whole then.
[[nodiscard]] Expected<ConvertedFakeQuants> convert_fake_quant(Graph& graph);

}  // namespace quadrant::inline v0
