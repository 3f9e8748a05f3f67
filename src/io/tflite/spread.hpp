// Which elements share a scale.
#pragma once

#include <cstdint>
#include <vector>

#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/type.hpp"

namespace quadrant::inline v0::tflite {

/// Parameters that stand for blocks of data of the same rank. All lists: one for each axis.
struct Spread {
  std::vector<Extent> data;          ///< extents
  std::vector<Extent> parameters;    ///< extents; 1 where all share one
  std::vector<std::int64_t> blocks;  ///< elements that share one

  /// The index of the parameter of element `i`, both in plain order. All extents are known.
  [[nodiscard]] std::size_t parameter_of(std::int64_t i) const;
};

/// Of a quantized type.
[[nodiscard]] Spread spread_of(const Shape& data, const Granularity& granularity);
/// Of a node of ONNX's QuantizeLinear or DequantizeLinear, whose parameters have shape
/// `parameters`: of rank 0 or 1, or one for each block along any axes. Throws where they do not
/// fit.
[[nodiscard]] Spread spread_of(const NodeRef& node, const Shape& data, const Shape& parameters);

}  // namespace quadrant::inline v0::tflite
