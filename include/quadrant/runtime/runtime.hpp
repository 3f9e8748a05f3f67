// What runs models. Bring your own, or take the Interpreter.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/tensor.hpp"
#include "quadrant/support/expected.hpp"
#include "quadrant/support/function_ref.hpp"

namespace quadrant::inline v0 {

/// Receives one of the values that were asked for: `index` into the list that was given to
/// `Runtime::load`. The tensor may be kept. An error ends the run.
using TensorObserver = FunctionRef<Expected<void>(std::size_t index, const Tensor& tensor)>;

/// A model that is ready to run. Its runs do not know of one another, and several threads may have
/// one each at the same time.
class ModelExecutor {
 public:
  ModelExecutor() = default;
  ModelExecutor(const ModelExecutor&) = delete;
  ModelExecutor& operator=(const ModelExecutor&) = delete;
  virtual ~ModelExecutor() = default;

  /// Runs one sample: `inputs` are tensors for `graph.inputs()`, in order. Hands each value that
  /// was asked for to `observe` once, from the calling thread, in any order, as soon as it is
  /// there: a runtime need not keep them all at a time. A value in the body of a loop or a branch
  /// is handed out each time that it is computed, which may be never.
  ///
  /// `usage` when the inputs do not fit the graph's (see check_inputs); other errors are the
  /// runtime's own and name the node.
  [[nodiscard]] virtual Expected<void> run(std::span<const Tensor> inputs,
                                           TensorObserver observe) const = 0;
};

/// Something that can run graphs.
class Runtime {
 public:
  Runtime() = default;
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  virtual ~Runtime() = default;

  /// Makes `graph` ready to give the values `watched`: outputs of the graph, inner values, inputs
  /// or constants. The graph must outlive the executor and stay as it is. `impossible` when there
  /// is something in the graph that this runtime cannot do, with all of it named.
  [[nodiscard]] virtual Expected<std::unique_ptr<ModelExecutor>> load(
      const Graph& graph, std::span<const Value> watched) const = 0;
};

/// Whether `inputs` are one tensor for each input of the graph, with its element type, rank, and
/// extents where the graph knows them. `usage`, naming the input, when not.
[[nodiscard]] Expected<void> check_inputs(const Graph& graph, std::span<const Tensor> inputs);

/// The values that the graph's outputs hand on, in order: what is usually watched.
[[nodiscard]] std::vector<Value> output_values(const Graph& graph);

/// One run, with all that was asked for, in the order in which it was: `count` values.
[[nodiscard]] Expected<Tensors> run_model(const ModelExecutor& model,
                                          std::span<const Tensor> inputs, std::size_t count);

}  // namespace quadrant::inline v0
