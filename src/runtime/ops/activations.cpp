// Functions of one number that networks put behind their layers.
#include <cmath>
#include <numbers>

#include "ir/ops/elementwise.hpp"
#include "runtime/inner_loops.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/map.hpp"
#include "runtime/ops/numbers.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

template <class T>
T logistic(T x) {
  return 1 / (1 + std::exp(-x));
}

// log(1 + e^x) without overflow.
template <class T>
T soft_plus(T x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

// x times the normal distribution function (Hendrycks and Gimpel, arXiv 1606.08415).
template <class T>
T exact_gelu(T x) {
  return x * (1 + std::erf(x / std::numbers::sqrt2_v<T>)) / 2;
}

// The same, approximated (in the same paper).
template <class T>
T tanh_gelu(T x) {
  constexpr T root = std::numbers::sqrt2_v<T> * std::numbers::inv_sqrtpi_v<T>;
  constexpr T cubic = static_cast<T>(0.044715);
  return x * (1 + std::tanh(root * (x + cubic * x * x * x))) / 2;
}

// x / (1 + e^-(alpha x)) of operand 0.
Expected<Tensors> gated(const KernelCall& call, float usual_alpha) {
  const float alpha = real_attribute(call, "alpha", usual_alpha);
  return map_real(call, [&](auto x) { return x * logistic(alpha * x); });
}

// `function` of the sum of operand 0, which is real, and operand 1, the bias of its last axis,
// which may be absent.
template <class Function>
Expected<Tensors> map_biased(const KernelCall& call, Function function) {
  if (!call.has(1)) return map_real(call, function);
  const Tensor& x = call.operand(0);
  const Tensor& bias = call.operand(1);
  if (x.rank() == 0 || bias.shape() != Shape{x.extent(x.rank() - 1)}) {
    return KernelCall::refuse(fmt::format("a bias of shape [{}] for an operand of shape [{}]",
                                          to_string(bias.shape()), to_string(x.shape())));
  }
  return with_real(x.element(), [&]<class T>() {
    return map_pairs<T>(x, bias, [&](T value, T offset) { return function(value + offset); });
  });
}

// --- made of lines -------------------------------------------------------------------------------

Expected<Tensors> relu(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  return with_number(x.element(), [&]<class T>() {
    return map_each<T>(x, [](T value) { return value < 0 ? T{0} : value; });
  });
}

Expected<Tensors> leaky_relu(const KernelCall& call) {
  const float alpha = real_attribute(call, "alpha", 0.01F);
  return map_real(call, [&](auto x) { return x < 0 ? x * alpha : x; });
}

Expected<Tensors> prelu(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  const Tensor& slope = call.operand(1);
  return with_number(x.element(), [&]<class T>() -> Expected<Tensors> {
    QUADRANT_TRY(Tensors results, map_pairs<T>(x, slope, [](T value, T factor) {
                   return value < 0 ? wrapping_multiply(value, factor) : value;
                 }));
    if (results[0].shape() == x.shape()) return results;
    return KernelCall::refuse(fmt::format("slopes of shape [{}] for an operand of shape [{}]",
                                          to_string(slope.shape()), to_string(x.shape())));
  });
}

Expected<Tensors> thresholded_relu(const KernelCall& call) {
  const float alpha = real_attribute(call, "alpha", 1);
  return map_real(call, [&](auto x) { return x > alpha ? x : 0; });
}

Expected<Tensors> hard_sigmoid(const KernelCall& call) {
  const float alpha = real_attribute(call, "alpha", 0.2F);
  const float beta = real_attribute(call, "beta", 0.5F);
  return map_real(call, [&]<class T>(T x) { return std::clamp<T>(alpha * x + beta, 0, 1); });
}

Expected<Tensors> hard_swish(const KernelCall& call) {
  return map_real(call, []<class T>(T x) { return x * std::clamp<T>(x / 6 + T{0.5}, 0, 1); });
}

Expected<Tensors> shrink(const KernelCall& call) {
  const float bias = real_attribute(call, "bias", 0);
  const float threshold = real_attribute(call, "lambd", 0.5F);
  const Tensor& x = call.operand(0);
  return with_number(x.element(), [&]<class T>() {
    // Integers are not rounded to float32.
    using Real = std::conditional_t<std::is_same_v<T, float>, float, double>;
    return map_each<T>(x, [&](T value) {
      const auto real = static_cast<Real>(value);
      if (real < -threshold) return converted<T>(real + static_cast<Real>(bias));
      if (real > threshold) return converted<T>(real - static_cast<Real>(bias));
      return T{0};
    });
  });
}

// --- made of exponentials ------------------------------------------------------------------------

Expected<Tensors> sigmoid(const KernelCall& call) {
  const Tensor& x = call.operand(0);
  return with_real(x.element(), [&]<class T>() -> Expected<Tensors> {
    QUADRANT_TRY(Tensor y, Tensor::make(x.element(), x.shape()));
    inner_loops<T>().sigmoid(x.as<T>().data(), x.element_count(), y.fill<T>().data());
    return Tensors{std::move(y)};
  });
}

Expected<Tensors> swish(const KernelCall& call) { return gated(call, 1); }

// Swish of operand 0, times operand 1, which is of the same shape.
Expected<Tensors> swiglu(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 2));
  const Tensor& gate = call.operand(0);
  const Tensor& linear = call.operand(1);
  if (gate.shape() != linear.shape()) {
    return KernelCall::refuse(fmt::format("a gate of shape [{}] for an operand of shape [{}]",
                                          to_string(gate.shape()), to_string(linear.shape())));
  }
  const float alpha = real_attribute(call, "alpha", 1);
  return with_real(gate.element(), [&]<class T>() {
    return map_pairs<T>(gate, linear,
                        [&](T a, T b) { return static_cast<T>(a * logistic(alpha * a) * b); });
  });
}

Expected<Tensors> elu(const KernelCall& call) {
  const float alpha = real_attribute(call, "alpha", 1);
  return map_real(call, [&](auto x) { return x < 0 ? alpha * std::expm1(x) : x; });
}

Expected<Tensors> selu(const KernelCall& call) {
  const float alpha = real_attribute(call, "alpha", 1.67326319217681884765625F);
  const float gamma = real_attribute(call, "gamma", 1.05070102214813232421875F);
  return map_real(call, [&](auto x) { return gamma * (x < 0 ? alpha * std::expm1(x) : x); });
}

Expected<Tensors> celu(const KernelCall& call) {
  const float alpha = real_attribute(call, "alpha", 1);
  return map_real(call, [&](auto x) { return x < 0 ? alpha * std::expm1(x / alpha) : x; });
}

Expected<Tensors> softplus(const KernelCall& call) {
  return map_real(call, [](auto x) { return soft_plus(x); });
}

Expected<Tensors> softsign(const KernelCall& call) {
  return map_real(call, [](auto x) { return x / (1 + std::fabs(x)); });
}

Expected<Tensors> mish(const KernelCall& call) {
  return map_real(call, [](auto x) { return x * std::tanh(soft_plus(x)); });
}

// --- Gelu ----------------------------------------------------------------------------------------

Expected<Tensors> gelu(const KernelCall& call) {
  const auto form = call.attribute_or<std::string>("approximate", "none");
  if (form == "none") return map_real(call, [](auto x) { return exact_gelu(x); });
  if (form == "tanh") return map_real(call, [](auto x) { return tanh_gelu(x); });
  return KernelCall::refuse(
      fmt::format("the approximation '{}'; there are 'none' and 'tanh'", form));
}

Expected<Tensors> bias_gelu(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 2));
  return map_biased(call, [](auto x) { return exact_gelu(x); });
}

Expected<Tensors> fast_gelu(const KernelCall& call) {
  return map_biased(call, [](auto x) { return tanh_gelu(x); });
}

Expected<Tensors> quick_gelu(const KernelCall& call) { return gated(call, 1.702F); }

}  // namespace

std::span<const KernelEntry> kernels::in_activations() noexcept {
  static constexpr auto table = std::to_array<KernelEntry>(
      {{ops::Relu::kind, relu, HalfFloats::widened},
       {ops::LeakyRelu::kind, leaky_relu, HalfFloats::widened},
       {ops::PRelu::kind, prelu, HalfFloats::widened},
       {ops::ThresholdedRelu::kind, thresholded_relu, HalfFloats::widened},
       {ops::HardSigmoid::kind, hard_sigmoid, HalfFloats::widened},
       {ops::HardSwish::kind, hard_swish, HalfFloats::widened},
       {ops::Shrink::kind, shrink, HalfFloats::widened},
       {ops::Sigmoid::kind, sigmoid, HalfFloats::widened},
       {ops::Swish::kind, swish, HalfFloats::widened},
       {ops::SwiGLU::kind, swiglu, HalfFloats::widened},
       {ops::Elu::kind, elu, HalfFloats::widened},
       {ops::Selu::kind, selu, HalfFloats::widened},
       {ops::Celu::kind, celu, HalfFloats::widened},
       {ops::Softplus::kind, softplus, HalfFloats::widened},
       {ops::Softsign::kind, softsign, HalfFloats::widened},
       {ops::Mish::kind, mish, HalfFloats::widened},
       {ops::Gelu::kind, gelu, HalfFloats::widened},
       {"onnx.com.microsoft::Gelu", gelu, HalfFloats::widened},
       {"onnx.com.microsoft::BiasGelu", bias_gelu, HalfFloats::widened},
       {"onnx.com.microsoft::FastGelu", fast_gelu, HalfFloats::widened},
       {"onnx.com.microsoft::QuickGelu", quick_gelu, HalfFloats::widened}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
