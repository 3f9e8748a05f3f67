// Products of a quantized model whose sums can leave 16 bits, where kernels add two neighbours in
// them: on x86 without VNNI (`numerics/pair_sums.hpp`).
#pragma once

#include <string>
#include <vector>

#include "quadrant/ir/graph_view.hpp"
#include "quadrant/numerics/pair_sums.hpp"
#include "quadrant/support/expected.hpp"
#include "quadrant/targets/pair_orders.hpp"

namespace quadrant::inline v0 {

/// One whose data are codes of 8 bits, and whose weights are codes of int8.
struct PairedProduct {
  NodeId node;
  std::string weight;     ///< name of the constant
  PairCount onnxruntime;  ///< no pairs: its kernel sums in 32 bits
  PairCount openvino;     ///< the same
  /// By how many dB the noise of the weight's quantization is above that of the scales with which
  /// the largest code of each would be 127: what larger scales cost that keep sums in 16 bits, or
  /// weights of 7 bits. 0 for scales that clip.
  double unused_range_db = 0;

  [[nodiscard]] bool can_saturate() const noexcept {
    return onnxruntime.inexact + openvino.inexact > 0;
  }
};

/// All of them, in the order of their nodes, that kernels of `runtimes` add two by two. Codes may
/// lie behind conversions and moves; where the order of the weights is not known for that, any two
/// that share a scale count. Data may be real numbers on 256 levels, as OpenVINO's are. Left out
/// are products of two computed values, and operators that are codes themselves (QLinearConv and
/// its like, MatMulInteger). Reads the weights, one at a time. Fails where that does. Several
/// threads may call it.
[[nodiscard]] Expected<std::vector<PairedProduct>> find_paired_products(
    const GraphView& graph, PairingRuntimes runtimes = {});

}  // namespace quadrant::inline v0
