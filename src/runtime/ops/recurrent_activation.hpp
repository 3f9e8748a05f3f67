// The functions that recurrent layers name in their attribute `activations`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "quadrant/runtime/interpreter.hpp"

namespace quadrant::inline v0::interpreted {

struct Activation {
  enum class Function : std::uint8_t {
    relu,
    tanh,
    sigmoid,
    affine,
    leaky_relu,
    thresholded_relu,
    scaled_tanh,
    hard_sigmoid,
    elu,
    softsign,
    softplus,
  };
  Function function = Function::tanh;
  double alpha = 0;
  double beta = 0;
};

/// Replaces each x by what the function makes of it. T: float, double.
template <class T>
void activate(const Activation& activation, std::span<T> values);

/// `count` of them, with `activation_alpha` and `activation_beta`: each function that has such a
/// parameter takes the next one of the list, or its default where the list ends. Without the
/// attribute, `fallback` again and again.
[[nodiscard]] Expected<std::vector<Activation>> activations_of(
    const KernelCall& call, std::size_t count, std::span<const std::string_view> fallback);

}  // namespace quadrant::inline v0::interpreted
