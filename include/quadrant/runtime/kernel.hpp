// How the interpreter computes one operation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/tensor.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

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

}  // namespace quadrant::inline v0
