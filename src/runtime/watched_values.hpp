// What a runtime that compiles models of its own is asked for: which values it has to compute.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// The values that `Runtime::load` is asked for, by where they come from. What is in the body of a
/// loop or a branch is left out: no output of a model can have it.
class WatchedValues {
 public:
  [[nodiscard]] static Expected<WatchedValues> find(const Graph& graph,
                                                    std::span<const Value> watched);

  /// Distinct values that are neither inputs nor constants.
  [[nodiscard]] const std::vector<Value>& computed() const noexcept { return computed_; }
  /// Hands out inputs, of the graph's in order, and constants.
  [[nodiscard]] Expected<void> give_known(std::span<const Tensor> inputs,
                                          TensorObserver observe) const;
  /// Hands out what was computed; `tensor(i)` is that of `computed()[i]`.
  [[nodiscard]] Expected<void> give_computed(FunctionRef<Expected<Tensor>(std::size_t)> tensor,
                                             TensorObserver observe) const;

 private:
  struct Watch {
    std::size_t source = 0;  ///< index of the input, or among `computed_`
    std::size_t index = 0;   ///< in the list of what was asked for
  };

  std::vector<Watch> inputs_;
  std::vector<std::pair<Tensor, std::size_t>> constants_;
  std::vector<Value> computed_;
  std::vector<Watch> watched_;
};

/// Makes `outputs` the outputs of the graph, called as they are, and drops what they do not need.
/// Returns which of the inputs stay.
[[nodiscard]] Expected<std::vector<std::size_t>> keep_only(Graph& graph,
                                                           std::span<const Value> outputs);

}  // namespace quadrant::inline v0
