// Runtimes for models: the interface, the interpreter, and its kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/type.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/support/executor.hpp"

namespace quadrant::inline v0 {

// How the interpreter computes one operation.

/// One node that is to be computed, and the tensors it is computed from.
class KernelCall {
 public:
  KernelCall(NodeRef node, std::int64_t opset, std::span<const Tensor> operands)
      : node_(node), opset_(opset), operands_(operands) {}

  [[nodiscard]] NodeRef node() const noexcept { return node_; }
  /// Version of ONNX's operators that the model follows.
  [[nodiscard]] std::int64_t opset() const noexcept { return opset_; }
  [[nodiscard]] std::size_t operand_count() const noexcept { return operands_.size(); }
  [[nodiscard]] std::size_t result_count() const noexcept {
    return node_.graph->result_count(node_.id);
  }

  /// An empty tensor where the operand is absent, or the node has fewer.
  [[nodiscard]] const Tensor& operand(std::size_t index) const noexcept;
  [[nodiscard]] bool has(std::size_t index) const noexcept { return bool(operand(index)); }
  [[nodiscard]] std::span<const Tensor> operands() const noexcept { return operands_; }

  /// The attribute if it is there and of that type, else `fallback`. Reals are `double`.
  template <class T>
  [[nodiscard]] T attribute_or(std::string_view name, const T& fallback) const {
    return node_.attribute_or<T>(name, fallback);
  }

  /// That the model is wrong, or asks for what the operation does not do. The interpreter adds
  /// which node it is.
  [[nodiscard]] static tl::unexpected<Error> refuse(std::string message) {
    return fail(ErrorCode::invalid_model, std::move(message));
  }

 private:
  NodeRef node_;
  std::int64_t opset_;
  std::span<const Tensor> operands_;
};

/// Computes all results of a node, as many as it has (more are dropped). A pure function: called
/// from several threads. It is to refuse operands that do not fit rather than trust the model.
using Kernel = Expected<Tensors> (*)(const KernelCall& call);

/// How a kernel meets float16 and bfloat16.
enum class HalfFloats : std::uint8_t {
  kept,     ///< the kernel takes them as they are
  widened,  ///< it is given float32 instead, and its float32 results are rounded to the type of
            ///< its first float operand
};

/// A kernel, and the kind of node that it computes: `matmul`, `onnx.Relu`, `onnx.mine::Swish`.
struct KernelEntry {
  std::string_view kind;
  Kernel kernel = nullptr;
  HalfFloats half_floats = HalfFloats::kept;
};

// Runtimes. Bring your own, or take the Interpreter.

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

  /// Whether values in the bodies of loops and branches are handed out. Where they are not,
  /// calibration and moments say which are missing.
  [[nodiscard]] virtual bool reaches_bodies() const { return true; }
};

/// Whether `inputs` are one tensor for each input of the graph, with its element type, rank, and
/// extents where the graph knows them. `usage`, naming the input, when not.
[[nodiscard]] Expected<void> check_inputs(const Graph& graph, std::span<const Tensor> inputs);

/// The values that the graph's outputs hand on, in order: what is usually watched.
[[nodiscard]] std::vector<Value> output_values(const Graph& graph);

/// One run, with all that was asked for, in the order in which it was: `count` values.
[[nodiscard]] Expected<Tensors> run_model(const ModelExecutor& model,
                                          std::span<const Tensor> inputs, std::size_t count);

// Runs models by itself, one node after the other: the runtime that is always there.

/// A reference interpreter: readable before it is fast, and fast enough to calibrate with.
///
/// It computes what ONNX's operators of the model's opset mean, in the types that the model has,
/// and the quantized types and casts of ir/ops.hpp: a value of quantized type is a tensor of its
/// codes. Shapes are those of the tensors it is given, so a model runs with every batch size that
/// its own constants allow. float16 and bfloat16 are computed in float32 and rounded after each
/// operation.
///
/// What depends on constants alone is computed when a model is loaded. A tensor lives until its
/// last reader has run. What is computed takes at most `memory` bytes at a time: a run together
/// with what was computed at loading, each run for itself, inputs and the contents of constants not
/// counted. A node that would take more is refused (`impossible`) before it does: a model of a few
/// bytes may ask for any number of elements.
class Interpreter final : public Runtime {
 public:
  static constexpr std::uint64_t default_memory = std::uint64_t{4} << 30U;

  Interpreter() = default;
  /// With kernels of your own, for operations that the interpreter does not know; for one that it
  /// does, yours is taken.
  explicit Interpreter(std::vector<KernelEntry> kernels, std::uint64_t memory = default_memory)
      : kernels_(std::move(kernels)), memory_(memory) {}

  [[nodiscard]] Expected<std::unique_ptr<ModelExecutor>> load(
      const Graph& graph, std::span<const Value> watched) const override;

  /// The operations that it knows, sorted by kind.
  [[nodiscard]] static std::span<const KernelEntry> kernels() noexcept;

 private:
  std::vector<KernelEntry> kernels_;
  std::uint64_t memory_ = default_memory;
};

// Constant folding: what a model computes from constants alone becomes constants.

struct FoldedConstants {
  std::int64_t folded = 0;  ///< operations that are gone
  /// Operations on constants that stand as before, with the reason: results that would take more
  /// than their operands and a mebibyte more, or that no kernel computes.
  std::vector<LeftAlone> left;
};

/// Computes each operation whose operands are all constants of plain numbers, as the interpreter
/// does, and puts a constant of the same name in its place; what is then not read is removed.
/// Codes, and whatever says how to quantize (`quantize`, fake quantization, instrumentation), stay:
/// what they know would be lost. `folds` is asked of each of the others; where it is false they
/// stay, too.
///
/// Linear in the graph and in what is computed. Reads the constants whole. The graph needs
/// exclusive access. `invalid_model` for a cycle; what a constant's file says when it cannot be
/// read.
[[nodiscard]] Expected<FoldedConstants> fold_constants(Graph& graph,
                                                       bool (*folds)(NodeRef node) = nullptr);

// Models as integer kernels compute them on x86 without VNNI, whichever processor this is.

/// The runtime whose kernels are meant.
enum class PairedSums : std::uint8_t { onnxruntime, openvino };

/// For an `Interpreter`: its own kernels of products, and, where their operands are dequantized
/// codes of 8 bits and weights of int8, what two neighbours lose that leave 16 bits together
/// (`numerics/second_moments.hpp`, `targets/runtime_profile.hpp`). Transposed convolutions,
/// recurrent layers, products of two computed matrices, and of weights of more than two axes are
/// computed as they are meant.
///
///   Interpreter({paired_sum_kernels(PairedSums::onnxruntime)})
[[nodiscard]] std::vector<KernelEntry> paired_sum_kernels(PairedSums whose);

}  // namespace quadrant::inline v0
