// Convolutions and matrix products of constant weights, seen as one thing: output channels that are
// sums over input channels, plus a bias.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/error.hpp"
#include "transforms/reason.hpp"

namespace quadrant::inline v0 {

/// Which elements of a weight `[outer, inner, kernel...]` belong to which channels.
struct WeightLayout {
  std::int64_t outer = 0;
  std::int64_t inner = 0;
  std::int64_t run = 1;         ///< elements of the kernel
  std::int64_t groups = 1;      ///< the outer axis' parts, each with inner channels of its own
  bool outer_is_output = true;  ///< else it is that of the input channels

  [[nodiscard]] std::int64_t outputs() const noexcept {
    return outer_is_output ? outer : inner * groups;
  }
  [[nodiscard]] std::int64_t inputs() const noexcept {
    return outer_is_output ? inner * groups : outer;
  }
  /// One input for each output.
  [[nodiscard]] bool is_depthwise() const noexcept { return inner == 1 && groups == outer; }

  /// Calls `visit(output, input, row)` for each pair of channels that meet, in the order in which
  /// their elements lie: the `run` elements from `row * run` on.
  template <class Visit>
  void for_each_row(Visit visit) const {
    const std::int64_t part = outer / groups;
    std::size_t row = 0;
    for (std::int64_t a = 0; a < outer; ++a) {
      const auto far = static_cast<std::size_t>(a);
      auto near = static_cast<std::size_t>((a / part) * inner);
      for (std::int64_t b = 0; b < inner; ++b, ++near, ++row) {
        visit(outer_is_output ? far : near, outer_is_output ? near : far, row);
      }
    }
  }
};

/// One number for each output channel: the sum of `weight`, elements that lie as `layout` says,
/// each times its input channel's number. Of W and the means of x, these are the means of W x.
[[nodiscard]] std::vector<double> weighted_sums(const WeightLayout& layout,
                                                std::span<const double> weight,
                                                std::span<const double> inputs);

/// y = alpha W x + b, by channel. Handles are good until the graph's layer is edited by others.
struct LinearLayer {
  NodeId node;
  Value result;  ///< behind the bias, where that is an addition of its own
  std::uint32_t weight_operand = 1;
  NodeId bias_node;  ///< who reads the bias: the node, or the addition behind it
  std::uint32_t bias_operand = 2;
  bool has_bias = false;
  WeightLayout layout;
  std::int64_t data_axis = -1;    ///< that of the input channels in operand 0, counted from the end
  std::int64_t result_axis = -1;  ///< that of the output channels in the result
  std::int64_t rank = 1;          ///< of the result, at least
  double alpha = 1;
  double beta = 1;  ///< factor of the bias that is stored
  ElementType element = ElementType::float32;
};

/// Whether a node of this kind may be a layer.
[[nodiscard]] bool is_linear(std::string_view kind) noexcept;
/// Of such a kind: whether its bias is an operand; else an addition behind it may be one.
[[nodiscard]] bool has_bias_operand(std::string_view kind) noexcept;

/// The layer that the node is; reads no weights.
[[nodiscard]] OrReason<LinearLayer> find_layer(const Graph& graph, NodeId node_id);

[[nodiscard]] const Constant& weight_of(const Graph& graph, const LinearLayer& layer);
/// One number for each output channel, as it is added; zeros where there is no bias.
[[nodiscard]] Expected<std::vector<double>> read_bias(const Graph& graph, const LinearLayer& layer);
/// Sets the bias, and makes one where there was none and `bias` is not all zero. The layer's node
/// and result may change; the result keeps its name.
void write_bias(Graph& graph, LinearLayer& layer, const std::vector<double>& bias);

}  // namespace quadrant::inline v0
