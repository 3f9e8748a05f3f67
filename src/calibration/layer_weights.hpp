// Where layers multiply what by which weights.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/numerics/second_moments.hpp"

namespace quadrant::inline v0 {

/// A sum of products with a weight that is a constant.
struct LayerWeight {
  NodeId layer;
  std::uint32_t weight = 1;  ///< the operand
  Value data;                ///< what it is multiplied by
  NodeId constant;
  WeightMatrices layout;  ///< in the order of the constant
  /// Of `data`, the axis along which the columns lie: of convolutions the channels, counted from
  /// the front; of matrices counted from the end, 1 being the last.
  std::int64_t data_axis = 1;
  bool is_convolution = false;
  std::vector<std::int64_t> batch;  ///< of matrices: the extents in front of the last two
};

/// In the order of the graph's nodes. `left`: constants of which it is not clear how they are read.
[[nodiscard]] std::vector<LayerWeight> layer_weights(const Graph& graph,
                                                     std::vector<LeftAlone>& left);

/// Why moments that are counted on a grid are not those of a weight.
inline constexpr const char* read_in_another_way =
    "its layers read the weight in another way in the grid";

/// How often the constant is read, perhaps behind moves as above: by layers and by all others.
[[nodiscard]] std::size_t count_reads(const Graph& graph, NodeId constant);

/// The layer on its own, for weights that are 1 at one place each: channel m * columns + c of what
/// `result` is stands for column c of matrix m. In float32, with one input.
struct LayerProbe {
  Graph graph;
  Value result;
};
/// Of a convolution.
[[nodiscard]] LayerProbe probe_of(const Graph& graph, const LayerWeight& weight);
/// Bytes that its weight takes: 0 of what is no convolution.
[[nodiscard]] std::uint64_t bytes_of_probe(const LayerWeight& weight) noexcept;

}  // namespace quadrant::inline v0
