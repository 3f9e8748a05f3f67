// ONNX Runtime's products and convolutions with an activation behind them, as its optimizer writes
// them.
// https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.FusedConv
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "runtime/dispatch.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/convolve.hpp"
#include "runtime/ops/product.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

// `y` is not shared.
template <class T, class Function>
void apply(Tensor& y, Function function) {
  std::ranges::transform(y.fill<T>(), y.fill<T>().begin(), function);
}

// `parameters` are those of the activation's own operator, in its order; its defaults where they
// are missing.
Expected<void> activate(Tensor& y, const std::string& name, std::vector<double> parameters) {
  const auto with_defaults = [&](double first, double second) {
    if (parameters.empty()) parameters.push_back(first);
    if (parameters.size() < 2) parameters.push_back(second);
  };
  const auto status = with_real(y.element(), [&]<class T>() -> Expected<Tensors> {
    if (name == "Relu") {
      apply<T>(y, [](T x) { return x < 0 ? T{0} : x; });
    } else if (name == "Sigmoid") {
      apply<T>(y, [](T x) { return 1 / (1 + std::exp(-x)); });
    } else if (name == "Tanh") {
      apply<T>(y, [](T x) { return std::tanh(x); });
    } else if (name == "LeakyRelu") {
      with_defaults(0.01, 0);
      apply<T>(y, [slope = static_cast<T>(parameters[0])](T x) { return x < 0 ? slope * x : x; });
    } else if (name == "Clip") {
      with_defaults(std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max());
      const T low = static_cast<T>(parameters[0]);
      const T high = static_cast<T>(parameters[1]);
      apply<T>(y, [=](T x) { return std::min(std::max(x, low), high); });
    } else if (name == "HardSigmoid") {
      with_defaults(0.2, 0.5);
      const T slope = static_cast<T>(parameters[0]);
      const T offset = static_cast<T>(parameters[1]);
      apply<T>(y, [=](T x) { return std::min(std::max(slope * x + offset, T{0}), T{1}); });
    } else if (!name.empty()) {
      return KernelCall::refuse(fmt::format("the activation '{}'", name));
    }
    return Tensors{};
  });
  if (!status) return fail(status.error());
  return {};
}

// Adds a tensor of the same type and shape.
Expected<void> add_to(Tensor& y, const Tensor& z) {
  if (!z) return {};
  if (z.element() != y.element() || z.shape() != y.shape()) {
    return KernelCall::refuse(fmt::format("Z of shape [{}] for a result of shape [{}]",
                                          to_string(z.shape()), to_string(y.shape())));
  }
  QUADRANT_CHECK(with_real(y.element(), [&]<class T>() -> Expected<Tensors> {
    std::ranges::transform(y.fill<T>(), z.as<T>(), y.fill<T>().begin(), std::plus<T>());
    return Tensors{};
  }));
  return {};
}

Expected<Tensors> fused_conv(const KernelCall& call) {
  QUADRANT_TRY(Tensors results, conv(call));
  QUADRANT_CHECK(add_to(results[0], call.operand(3)));
  QUADRANT_CHECK(activate(results[0], call.attribute_or<std::string>("activation", ""),
                          call.attribute_or("activation_params", std::vector<double>())));
  return results;
}

Expected<Tensors> fused_gemm(const KernelCall& call) {
  QUADRANT_TRY(Tensors results, gemm(call));
  std::vector<double> parameters;
  for (const std::string_view name : {"activation_alpha", "activation_beta"}) {
    const Attribute* found = call.node().graph->attribute(call.node().id, name);
    const double* number = found ? std::get_if<double>(found) : nullptr;
    if (number) parameters.push_back(*number);
  }
  QUADRANT_CHECK(activate(results[0], call.attribute_or<std::string>("activation", ""),
                          std::move(parameters)));
  return results;
}

Expected<Tensors> fused_matmul(const KernelCall& call) {
  const auto flag = [&](std::string_view name) {
    return call.attribute_or<std::int64_t>(name, 0) != 0;
  };
  if (flag("transBatchA") || flag("transBatchB")) {
    return KernelCall::refuse("transposed batches");
  }
  const Tensor& a = call.operand(0);
  const Tensor& b = call.operand(1);
  QUADRANT_TRY(Tensor y, multiply_numpy({.a = a,
                                         .b = b,
                                         .transpose_a = flag("transA") && a.rank() > 1,
                                         .transpose_b = flag("transB") && b.rank() > 1,
                                         .alpha = call.attribute_or("alpha", 1.0)}));
  return Tensors{std::move(y)};
}

}  // namespace

std::span<const KernelEntry> kernels::in_fused() noexcept {
  static constexpr auto table = std::to_array<KernelEntry>(
      {{"onnx.com.microsoft::FusedConv", fused_conv, HalfFloats::widened},
       {"onnx.com.microsoft::FusedGemm", fused_gemm, HalfFloats::widened},
       {"onnx.com.microsoft::FusedMatMul", fused_matmul, HalfFloats::widened}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
