// BatchNormalization: (x - mean) / sqrt(variance + epsilon) * scale + bias for each channel.
//
// The statistics are given; in training (opset 14) they are those of the batch, and the given ones
// move towards them. Data, scale and statistics may be of different types.
#include <cmath>

#include "ir/ops/normalization.hpp"
#include "runtime/half_floats.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/lanes.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

using Reals = std::vector<double>;

// Operands 1 to 4, one element a channel.
struct Normalization {
  Reals scale;
  Reals bias;
  Reals mean;
  Reals variance;
};

// Axis 1 are the channels. One-dimensional data has one; before opset 9 every element of a sample
// could be one (`spatial`).
Lanes channels_of(const KernelCall& call) {
  const Shape& shape = call.operand(0).shape();
  if (shape.rank() < 2) return {.outer = shape.element_count().value_or(0)};
  if (call.opset() >= 9 || call.attribute_or<std::int64_t>("spatial", 1) != 0) {
    return lanes_along(shape, 1);
  }
  return lanes_from(shape, 1);
}

Expected<Reals> parameter(const KernelCall& call, std::size_t index, std::int64_t channels) {
  const Tensor& given = call.operand(index);
  if (!given || given.element_count() != channels) {
    return KernelCall::refuse(fmt::format("operand {} has shape [{}], for {} channels", index,
                                          to_string(given.shape()), channels));
  }
  return reals_of(given);
}

Expected<Normalization> parameters_of(const KernelCall& call, std::int64_t channels) {
  Normalization result;
  QUADRANT_TRY(result.scale, parameter(call, 1, channels));
  QUADRANT_TRY(result.bias, parameter(call, 2, channels));
  QUADRANT_TRY(result.mean, parameter(call, 3, channels));
  QUADRANT_TRY(result.variance, parameter(call, 4, channels));
  return result;
}

// Calls `body(channel, run)` for each run of elements of one channel.
template <class T, class Body>
void for_each_channel(std::span<T> data, const Lanes& lanes, Body body) {
  const auto inner = static_cast<std::size_t>(lanes.inner);
  for (std::size_t first = 0, run = 0; first < data.size(); first += inner, ++run) {
    body(run % static_cast<std::size_t>(lanes.length), data.subspan(first, inner));
  }
}

// The batch's own mean and variance.
template <class T>
void measure(std::span<const T> x, const Lanes& lanes, Normalization& parameters) {
  const double count = static_cast<double>(lanes.outer) * static_cast<double>(lanes.inner);
  std::ranges::fill(parameters.mean, 0);
  std::ranges::fill(parameters.variance, 0);
  for_each_channel(x, lanes, [&](std::size_t channel, std::span<const T> run) {
    for (const T value : run) parameters.mean[channel] += value / count;
  });
  for_each_channel(x, lanes, [&](std::size_t channel, std::span<const T> run) {
    for (const T value : run) {
      const double off = value - parameters.mean[channel];
      parameters.variance[channel] += off * off / count;
    }
  });
}

template <class T>
void normalize(std::span<T> y, const Lanes& lanes, const Normalization& parameters,
               double epsilon) {
  for_each_channel(y, lanes, [&](std::size_t channel, std::span<T> run) {
    const auto mean = static_cast<T>(parameters.mean[channel]);
    const auto factor = static_cast<T>(parameters.scale[channel] /
                                       std::sqrt(parameters.variance[channel] + epsilon));
    const auto bias = static_cast<T>(parameters.bias[channel]);
    for (T& value : run) value = (value - mean) * factor + bias;
  });
}

// The given statistics, moved towards those of the batch.
Expected<Tensor> running(const Tensor& given, const Reals& before, const Reals& batch,
                         double momentum) {
  const ElementType element = given.element();
  const ElementType wide = is_half_float(element) ? ElementType::float32 : element;
  QUADRANT_TRY(const Tensors result, with_real(wide, [&]<class T>() -> Expected<Tensors> {
                 QUADRANT_TRY(Tensor moved, Tensor::make(wide, given.shape()));
                 std::ranges::transform(
                     before, batch, moved.fill<T>().begin(), [=](double from, double to) {
                       return static_cast<T>(from * momentum + to * (1 - momentum));
                     });
                 return Tensors{std::move(moved)};
               }));
  return is_half_float(element) ? rounded_to(element, result[0]) : result[0];
}

Expected<Tensors> batch_normalization(const KernelCall& call) {
  const bool training = call.attribute_or<std::int64_t>("training_mode", 0) != 0;
  const bool trains_by_results = call.opset() < 14 && call.result_count() > 1;
  if (trains_by_results) {
    return KernelCall::refuse("more than one result asks for training, which came with opset 14");
  }
  QUADRANT_TRY(const Tensor x, widened(call.operand(0)));
  const Lanes lanes = channels_of(call);
  QUADRANT_TRY(Normalization parameters, parameters_of(call, lanes.length));
  const Normalization given = parameters;
  const double epsilon = call.attribute_or("epsilon", 1e-5);
  QUADRANT_TRY(Tensors results, with_real(x.element(), [&]<class T>() -> Expected<Tensors> {
                 if (training) measure(x.as<T>(), lanes, parameters);
                 QUADRANT_TRY(Tensor y, Tensor::make(x.element(), x.shape()));
                 std::ranges::copy(x.as<T>(), y.fill<T>().begin());
                 normalize(y.fill<T>(), lanes, parameters, epsilon);
                 return Tensors{std::move(y)};
               }));
  if (is_half_float(call.operand(0).element())) {
    QUADRANT_TRY(results[0], rounded_to(call.operand(0).element(), results[0]));
  }
  if (!training) return results;
  const double momentum = call.attribute_or("momentum", 0.9);
  QUADRANT_TRY(Tensor mean, running(call.operand(3), given.mean, parameters.mean, momentum));
  QUADRANT_TRY(Tensor variance,
               running(call.operand(4), given.variance, parameters.variance, momentum));
  results.push_back(std::move(mean));
  results.push_back(std::move(variance));
  return results;
}

}  // namespace

std::span<const KernelEntry> kernels::in_batch_normalization() noexcept {
  // Half floats are kept: operands or results may be of another type than the data.
  static constexpr auto table =
      std::to_array<KernelEntry>({{ops::BatchNormalization::kind, batch_normalization}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
