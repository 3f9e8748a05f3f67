// What the tests of this room share.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "ir/float16.hpp"
#include "quadrant/ir/type.hpp"
#include "quadrant/support/executor.hpp"

namespace quadrant::test {

inline constexpr float infinity = std::numeric_limits<float>::infinity();
inline constexpr double double_infinity = std::numeric_limits<double>::infinity();
inline constexpr float nan = std::numeric_limits<float>::quiet_NaN();
inline constexpr float largest = std::numeric_limits<float>::max();
inline constexpr float smallest = std::numeric_limits<float>::denorm_min();

/// `Shape{}` is one of unknown rank.
inline Shape scalar_shape() { return Shape(std::vector<std::int64_t>{}); }

class TwoThreads final : public Executor {
 public:
  void parallel_for(std::size_t count, FunctionRef<void(std::size_t)> body) override {
    std::jthread other([&] {
      for (std::size_t i = count; i-- > 0;) {
        if (i % 2 == 1) body(i);
      }
    });
    for (std::size_t i = 0; i < count; i += 2) body(i);
  }
};

/// The contents of an in-memory or deferred constant, which must be readable.
template <class T>
std::vector<T> contents(const Constant& constant) {
  const auto bytes = constant.read().value();
  std::vector<T> values(bytes.bytes().size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.bytes().data(), bytes.bytes().size());
  return values;
}

/// `values` as a constant of float type `element`, rounded to it.
inline Constant float_constant(ElementType element, const Shape& shape,
                               std::span<const float> values) {
  std::vector<std::uint16_t> halves;
  switch (element) {
    case ElementType::float16:
      for (const float value : values) halves.push_back(round_to_float16(value));
      return Constant::from_values<std::uint16_t>(element, shape, halves);
    case ElementType::bfloat16:
      for (const float value : values) halves.push_back(round_to_bfloat16(value));
      return Constant::from_values<std::uint16_t>(element, shape, halves);
    case ElementType::float64: {
      const std::vector<double> doubles(values.begin(), values.end());
      return Constant::from_values<double>(element, shape, doubles);
    }
    default:
      return Constant::from_values<float>(element, shape, values);
  }
}

inline Constant float_constant(const Shape& shape, std::span<const float> values) {
  return float_constant(ElementType::float32, shape, values);
}

/// Normally distributed, about 1 in size.
inline std::vector<float> random_values(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> distribution;
  std::vector<float> values(count);
  for (float& value : values) value = distribution(random);
  return values;
}

/// A file in the place of which a buffer stands. Records what is asked of it; can fail.
class RecordingSource final : public ConstantSource {
 public:
  explicit RecordingSource(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}

  Expected<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    if (fail_from <= offset + out.size()) return fail(ErrorCode::io, "the disk is gone");
    total += out.size();
    largest = std::max<std::uint64_t>(largest, out.size());
    std::memcpy(out.data(), bytes_.data() + offset, out.size());
    return {};
  }

  // Written from const functions: these tests read from one thread.
  mutable std::uint64_t total = 0;
  mutable std::uint64_t largest = 0;
  std::uint64_t fail_from = ~std::uint64_t{0};

 private:
  std::vector<std::byte> bytes_;
};

inline std::shared_ptr<RecordingSource> recording(const Constant& constant) {
  const auto bytes = contents<std::byte>(constant);
  return std::make_shared<RecordingSource>(bytes);
}

/// The group of each element, found from its coordinates one by one: the row-major index, in the
/// scales' shape, of the scale that it has.
inline std::vector<std::size_t> groups_of(const Shape& shape, const Granularity& granularity) {
  const auto count = static_cast<std::size_t>(shape.element_count().value());
  std::vector<std::size_t> groups(count, 0);
  if (granularity.kind == Granularity::Kind::tensor) return groups;
  const bool blocks = granularity.kind == Granularity::Kind::block;
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t rest = i;
    std::size_t stride = 1;  // of the scales
    for (std::int64_t axis = shape.rank() - 1; axis >= 0; --axis) {
      const auto extent = static_cast<std::size_t>(shape[axis].value());
      std::size_t index = rest % extent;
      std::size_t scales = extent;
      rest /= extent;
      if (blocks && axis == granularity.axis) {
        const auto size = static_cast<std::size_t>(granularity.block_size);
        index /= size;
        scales = extent / size + (extent % size == 0 ? 0 : 1);
      }
      if (!blocks && axis != granularity.axis) continue;
      groups[i] += index * stride;
      stride *= scales;
    }
  }
  return groups;
}

inline std::vector<Granularity> granularities_of(const Shape& shape) {
  std::vector<Granularity> result{Granularity::per_tensor()};
  for (std::int64_t axis = 0; axis < shape.rank(); ++axis) {
    result.push_back(Granularity::per_axis(axis));
    result.push_back(Granularity::per_block(axis, 2));
    result.push_back(Granularity::per_block(axis, 32));
  }
  return result;
}

/// Smaller than any extent, and larger than most.
inline std::vector<Granularity> odd_blocks_of(const Shape& shape) {
  std::vector<Granularity> result;
  for (std::int64_t axis = 0; axis < shape.rank(); ++axis) {
    for (const std::int64_t size : {std::int64_t{1}, std::int64_t{3}, std::int64_t{1000},
                                    std::numeric_limits<std::int64_t>::max()}) {
      result.push_back(Granularity::per_block(axis, size));
    }
  }
  return result;
}

/// Small ones, degenerate ones, and ones whose rows do not align with the pieces in which the
/// library reads (2^15 elements).
inline std::vector<Shape> shapes() {
  return {scalar_shape(), {1},          {7},          {0},        {3, 0},       {0, 3},
          {1, 1},         {1, 5},       {5, 1},       {4, 6},     {2, 3, 4},    {3, 1, 5, 2},
          {2, 3, 3, 3},   {5, 4, 1, 1}, {1, 1, 1, 1}, {70000},    {40000, 2},   {2, 40000},
          {300, 333},     {3, 32768},   {32768, 3},   {32767, 2}, {3, 11003, 3}};
}

}  // namespace quadrant::test
