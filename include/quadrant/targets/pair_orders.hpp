// Which weights meet in 16 bits where integer kernels run on x86 without VNNI.
#pragma once

#include <cstdint>
#include <vector>

#include "quadrant/ir/graph_view.hpp"
#include "quadrant/numerics/pair_sums.hpp"

namespace quadrant::inline v0 {

/// Runtimes whose kernels were looked into.
struct PairingRuntimes {
  bool onnxruntime = true;
  bool openvino = true;
};

/// In which orders the kernels of `runtimes` for this operation add neighbouring products of its
/// operand `operand`, weights of shape `weight` that are codes of int8, with data of 8 bits: each
/// order once. None: they sum in 32 bits, or compute real numbers. Any, for a product of the
/// graph's own (`GraphView::operations`), whose kernel nobody knows. In axes of the operand.
/// Observed in ONNX Runtime 1.23.2 and 1.32.0 and in OpenVINO 2026.4.1, on a processor with AVX2.
[[nodiscard]] std::vector<PairOrder> pair_orders(NodeRef node, std::uint32_t operand,
                                                 const Shape& weight, PairingRuntimes runtimes);

/// Whether ONNX Runtime computes a product of codes on codes as it is used: a convolution only
/// where its result becomes codes, through a Relu or a Clip perhaps.
[[nodiscard]] bool is_on_codes_in_onnxruntime(NodeRef node);

/// What the value is made of by moves and conversions, one after the other: a constant, or codes,
/// or where something else is in front.
[[nodiscard]] Value code_source(const GraphView& graph, Value value);

/// An order along axes of `value`, in axes of the constant that it is made of by moves and
/// conversions, one after the other: an unknown one, where elements take other ways than a
/// transpose's.
[[nodiscard]] PairOrder order_at_constant(const GraphView& graph, Value value, PairOrder order);

}  // namespace quadrant::inline v0
