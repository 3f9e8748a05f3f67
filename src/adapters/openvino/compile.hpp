// From a graph to a model that OpenVINO has compiled.
#pragma once

#include <cstddef>
#include <vector>

#include "adapters/openvino/library.hpp"
#include "quadrant/ir/graph.hpp"

namespace quadrant::inline v0::openvino {

struct CompiledModel {
  Handle<ov_compiled_model_t> model;
  std::vector<std::size_t> inputs;  ///< which of the graph's inputs it takes, in order
};

/// Compiles what `outputs` need: distinct values of `graph`, neither inputs nor constants, which
/// become the model's outputs, in order.
[[nodiscard]] Expected<CompiledModel> compile(const Library& library, const ov_core_t& core,
                                              Graph graph, const std::vector<Value>& outputs);

}  // namespace quadrant::inline v0::openvino
