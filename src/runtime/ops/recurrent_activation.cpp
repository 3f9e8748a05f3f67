#include "runtime/ops/recurrent_activation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>

namespace quadrant::inline v0::interpreted {

namespace {

using Function = Activation::Function;

struct Definition {
  std::string_view name;
  Function function;
  std::optional<double> alpha;  // its default; empty where the function has none
  std::optional<double> beta;
};

constexpr std::array definitions{
    Definition{"relu", Function::relu, {}, {}},
    Definition{"tanh", Function::tanh, {}, {}},
    Definition{"sigmoid", Function::sigmoid, {}, {}},
    Definition{"affine", Function::affine, 1.0, 0.0},
    Definition{"leakyrelu", Function::leaky_relu, 0.01, {}},
    Definition{"thresholdedrelu", Function::thresholded_relu, 1.0, {}},
    Definition{"scaledtanh", Function::scaled_tanh, 1.0, 1.0},
    Definition{"hardsigmoid", Function::hard_sigmoid, 0.2, 0.5},
    Definition{"elu", Function::elu, 1.0, {}},
    Definition{"softsign", Function::softsign, {}, {}},
    Definition{"softplus", Function::softplus, {}, {}},
};

// Capitals and small letters are the same.
const Definition* find_definition(std::string_view name) {
  const auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; };
  const auto found = std::ranges::find_if(definitions, [&](const Definition& definition) {
    return std::ranges::equal(name, definition.name, same);
  });
  return found == definitions.end() ? nullptr : &*found;
}

// Hands out the elements of a list, one after the other.
class Queue {
 public:
  explicit Queue(std::vector<double> values) : values_(std::move(values)) {}
  double take(std::optional<double> fallback) {
    if (!fallback) return 0;
    return next_ < values_.size() ? values_[next_++] : *fallback;
  }

 private:
  std::vector<double> values_;
  std::size_t next_ = 0;
};

template <class T, class F>
void replace(std::span<T> values, F function) {
  std::ranges::transform(values, values.begin(), function);
}

}  // namespace

template <class T>
void activate(const Activation& activation, std::span<T> values) {
  const auto alpha = static_cast<T>(activation.alpha);
  const auto beta = static_cast<T>(activation.beta);
  switch (activation.function) {
    case Function::relu:
      return replace(values, [](T x) { return x < 0 ? 0 : x; });
    case Function::tanh:
      return replace(values, [](T x) { return std::tanh(x); });
    case Function::sigmoid:
      return replace(values, [](T x) { return 1 / (1 + std::exp(-x)); });
    case Function::affine:
      return replace(values, [=](T x) { return alpha * x + beta; });
    case Function::leaky_relu:
      return replace(values, [=](T x) { return x < 0 ? alpha * x : x; });
    case Function::thresholded_relu:
      return replace(values, [=](T x) { return x > alpha ? x : 0; });
    case Function::scaled_tanh:
      return replace(values, [=](T x) { return alpha * std::tanh(beta * x); });
    case Function::hard_sigmoid:
      return replace(values, [=](T x) { return std::clamp<T>(alpha * x + beta, 0, 1); });
    case Function::elu:
      return replace(values, [=](T x) { return x < 0 ? alpha * std::expm1(x) : x; });
    case Function::softsign:
      return replace(values, [](T x) { return x / (1 + std::abs(x)); });
    case Function::softplus:  // log(1 + e^x), which must not overflow
      return replace(values,
                     [](T x) { return std::max<T>(x, 0) + std::log1p(std::exp(-std::abs(x))); });
  }
}

template void activate(const Activation&, std::span<float>);
template void activate(const Activation&, std::span<double>);

Expected<std::vector<Activation>> activations_of(const KernelCall& call, std::size_t count,
                                                 std::span<const std::string_view> fallback) {
  auto names = call.attribute_or("activations", std::vector<std::string>());
  if (names.empty()) {
    for (std::size_t i = 0; i < count; ++i) names.emplace_back(fallback[i % fallback.size()]);
  }
  if (names.size() != count) {
    return KernelCall::refuse(
        fmt::format("{} activations, where {} are wanted", names.size(), count));
  }
  Queue alphas(call.attribute_or("activation_alpha", std::vector<double>()));
  Queue betas(call.attribute_or("activation_beta", std::vector<double>()));
  std::vector<Activation> activations;
  for (const std::string& name : names) {
    const Definition* definition = find_definition(name);
    if (definition == nullptr) {
      return KernelCall::refuse(fmt::format("the activation '{}' is not known", name));
    }
    activations.push_back(
        {definition->function, alphas.take(definition->alpha), betas.take(definition->beta)});
  }
  return activations;
}

}  // namespace quadrant::inline v0::interpreted
