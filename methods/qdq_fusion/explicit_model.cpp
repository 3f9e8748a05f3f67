#include "qdq_fusion/explicit_model.hpp"

#include "numerics/quantize_constants.hpp"
#include "quadrant/ir/explicit_quantization.hpp"

namespace quadrant::inline v0::qdq_fusion {

Expected<Graph> explicit_model(const Graph& graph) {
  Graph model = graph;
  make_quantization_explicit(model);
  QUADRANT_CHECK(quantize_constants(model));
  return model;
}

}  // namespace quadrant::inline v0::qdq_fusion
