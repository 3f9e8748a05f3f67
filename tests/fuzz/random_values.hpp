// Numbers, shapes, types and contents that the fuzzer's bytes say.
#pragma once

#include <fuzzer/FuzzedDataProvider.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/type.hpp"

namespace fuzz {

/// What graphs are for.
enum class Purpose : std::uint8_t {
  stored,    ///< to be read and written: types, attributes and contents of all sorts
  computed,  ///< to be run, too: mostly float32, numbers of moderate size, known attributes
};

class RandomValues {
 public:
  RandomValues(FuzzedDataProvider& data, Purpose purpose) : data_(data), purpose_(purpose) {}

  [[nodiscard]] bool is_computed() const noexcept { return purpose_ == Purpose::computed; }
  [[nodiscard]] bool has_more() const { return data_.remaining_bytes() > 0; }
  bool one_in(int times) { return data_.ConsumeIntegralInRange(1, times) == times; }
  std::int64_t number(std::int64_t min, std::int64_t max) {
    return data_.ConsumeIntegralInRange(min, max);
  }
  std::int64_t any_integer() { return data_.ConsumeIntegral<std::int64_t>(); }
  double any_real() { return data_.ConsumeFloatingPoint<double>(); }
  /// One of `list`, from `from` on.
  template <class List>
  const auto& pick(const List& list, std::size_t from = 0) {
    return list[data_.ConsumeIntegralInRange(from, std::size(list) - 1)];
  }
  std::string name() { return data_.ConsumeRandomLengthString(6); }

  std::int64_t extent();
  quadrant::Shape shape();
  quadrant::TensorType type();
  /// The parameters of a quantized type for tensors of that shape.
  std::shared_ptr<const quadrant::UniformType> quantization(const quadrant::Shape& shape);
  /// A type of such parameters.
  quadrant::TensorType quantized(const quadrant::Shape& shape);

  /// Empty where there are none of that type and shape, or too many.
  quadrant::Constant constant(quadrant::ElementType element, quadrant::Shape shape);
  /// As many elements as the shape has, of a few bytes over and over.
  std::vector<std::byte> contents(quadrant::ElementType element, const quadrant::Shape& shape);
  /// Of a float type: numbers between -8 and 8, above 0 where they are to be `positive`.
  quadrant::Constant reals(quadrant::ElementType element, quadrant::Shape shape,
                           bool positive = false);
  /// A list of int64.
  quadrant::Constant list(std::span<const std::int64_t> values);
  /// Such a list as shapes, axes, pads and sizes are.
  quadrant::Constant list();

 private:
  FuzzedDataProvider& data_;
  Purpose purpose_;
};

/// Of more elements there are no contents.
inline constexpr std::int64_t most_elements = 1 << 12;

}  // namespace fuzz
