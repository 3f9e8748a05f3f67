// Forms of the same numbers, of which ONNX Runtime computes one as the file means it.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "quadrant/ir/graph.hpp"

namespace quadrant::inline v0::onnx {

/// From which opset on `use_unsigned_activations` is for.
inline constexpr std::int64_t opset_of_unsigned_activations = 21;

/// Writes 8-bit codes of computed values without a sign, and of tables of one scale whose rows are
/// looked up: all of the graph that are ours to choose, that is, were not in the file that was
/// read, or none where values are rounded to as many codes below zero as above it, which is how
/// accelerators want them. Returns how many values changed. ONNX Runtime (from 1.27 on, on x86)
/// does not load signed ones in front of or behind a Transpose, Reshape, Squeeze, Unsqueeze, Slice
/// or MaxPool of floats. It puts a QuantizeLinear there whose attribute output_dtype says int8, and
/// then makes the zero point uint8. Linear.
std::int64_t use_unsigned_activations(Graph& graph);

/// ONNX Runtime's operator of means over windows on codes knows no dilations, and its files do not
/// load where it makes one: takes from poolings of what is dequantized those that change nothing,
/// of 1, or of windows of 1, and keeps other poolings apart from the codes.
void keep_dilations_from_codes(Graph& graph);

/// Gives each Pad of known axes and pads those of all axes, and no list of axes: where ONNX Runtime
/// moves a Transpose across one, as it does around convolutions of codes, it passes over the list.
void spell_out_pads(Graph& graph);

/// The larger one of `real`, floats, and -infinity, which it is itself: ONNX Runtime joins nothing
/// in front of it with what reads the result.
Value kept_apart(Graph& graph, Value real);

/// Whether there is a Relu or Clip: where zero points of float8 are behind one, moves and poolings
/// in between, ONNX Runtime 1.32 drops a Relu, and may refuse the file for a Clip. It takes them
/// for the lowest code.
[[nodiscard]] bool has_limits(const Graph& graph);

/// Every `dequantize` of up to 8 bits that a product of matrices multiplies 16-bit codes by. Where
/// its axis is counted from the front, or its scale is a scalar, ONNX Runtime from 1.25 on makes a
/// MatMulNBits of the two, which rounds what the 16-bit codes stand for to 8 bits. Linear.
[[nodiscard]] std::unordered_set<NodeId> weights_of_16_bit_data(const Graph& graph);

/// Of how many products of real data and codes, at most, ONNX Runtime makes a MatMulNBits, which
/// rounds the data to 8 bits, in blocks, unless a session option says otherwise: those by constant
/// matrices of 4 or 8 bits that nothing else reads, with a scale for the tensor, each column, or
/// blocks of at least 16 rows whose length is a power of two. 8 bits and scales not of blocks from
/// 1.25 on. Some it fuses with others first. `graph` has the operators that are written. Linear.
[[nodiscard]] std::int64_t count_rounded_products(const Graph& graph);

}  // namespace quadrant::inline v0::onnx
