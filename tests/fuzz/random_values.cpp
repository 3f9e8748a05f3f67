#include "random_values.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "ir/float16.hpp"

namespace fuzz {
namespace {

using namespace quadrant;

constexpr std::array elements{
    ElementType::float32, ElementType::float32, ElementType::float32,   ElementType::float16,
    ElementType::int64,   ElementType::int8,    ElementType::bfloat16,  ElementType::float64,
    ElementType::uint8,   ElementType::int4,    ElementType::uint4,     ElementType::int32,
    ElementType::boolean, ElementType::opaque,  ElementType::undefined,
};

// What an element of less than a byte can be.
std::uint8_t fitting(ElementType element, std::uint8_t byte) {
  if (element == ElementType::boolean) return byte % 2;
  if (element == ElementType::uint4) return byte % 16;
  const auto low = static_cast<std::uint8_t>(byte % 16);
  if (element == ElementType::int4) return low < 8 ? low : static_cast<std::uint8_t>(low | 0xf0U);
  return byte;
}

/// Contents that a computation has yet to make, and may fail to.
class Computed final : public ConstantSource {
 public:
  Computed(ElementType element, bool fails) : element_(element), fails_(fails) {}
  [[nodiscard]] Expected<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    if (fails_) return fail(ErrorCode::io, "contents that cannot be read");
    for (std::byte& byte : out) {
      byte = std::byte{fitting(element_, static_cast<std::uint8_t>(offset++ % 64))};
    }
    return {};
  }

 private:
  ElementType element_;
  bool fails_;
};

template <class T>
Constant constant_of(ElementType element, Shape shape, std::span<const double> pattern,
                     T (*convert)(double)) {
  std::vector<T> values(static_cast<std::size_t>(*shape.element_count()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = convert(pattern[i % pattern.size()]);
  return Constant::from_vector(element, std::move(shape), std::move(values));
}

}  // namespace

std::int64_t RandomValues::extent() {
  constexpr std::array strange{std::int64_t{0}, std::int64_t{-1}, std::int64_t{-2},
                               std::int64_t{1} << 31, std::numeric_limits<std::int64_t>::max()};
  // What is computed is small: the rest would only be refused.
  if (is_computed()) return one_in(64) ? strange[one_in(4) ? 3 : 0] : number(1, 4);
  return one_in(32) ? pick(strange) : number(1, 4);
}

Shape RandomValues::shape() {
  if (one_in(32)) return {};
  std::vector<Extent> extents(static_cast<std::size_t>(one_in(2) ? number(0, 5) : 2), 1);
  for (Extent& extent : extents) {
    extent = one_in(8) ? Extent::open() : Extent(this->extent());
  }
  return Shape(std::move(extents));
}

std::vector<std::byte> RandomValues::contents(ElementType element, const Shape& shape) {
  const auto count = shape.element_count();
  const auto width = static_cast<std::int64_t>(byte_width(element));
  if (!count || width == 0 || *count > most_elements) return {};
  if (is_computed() && is_float(element) && !one_in(16)) {
    const auto read = reals(element, shape).read();
    return {read->bytes().begin(), read->bytes().end()};
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(*count * width));
  // A few bytes, over and over: the rest of the data is for the graph.
  const auto pattern = data_.ConsumeBytes<std::uint8_t>(8);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::uint8_t byte = pattern.empty() ? 0 : pattern[i % pattern.size()];
    bytes[i] = std::byte{fitting(element, byte)};
  }
  return bytes;
}

Constant RandomValues::constant(ElementType element, Shape shape) {
  const auto count = shape.element_count();
  if (!count || byte_width(element) == 0 || *count > most_elements) return {};
  if (one_in(is_computed() ? 32 : 8)) {
    return Constant::deferred(element, std::move(shape),
                              std::make_shared<Computed>(element, one_in(4)));
  }
  auto bytes = contents(element, shape);
  return Constant::from_bytes(element, std::move(shape), std::move(bytes));
}

Constant RandomValues::reals(ElementType element, Shape shape, bool positive) {
  const auto count = shape.element_count();
  if (!count || *count > most_elements) return {};
  std::vector<double> pattern{positive ? 1.0 : -0.5};
  for (const std::uint8_t byte : data_.ConsumeBytes<std::uint8_t>(5)) {
    const double value = static_cast<std::int8_t>(byte) / 16.0;
    pattern.push_back(positive ? (std::abs(value) + 1.0 / 16) : value);
  }
  switch (element) {
    case ElementType::float64:
      return constant_of<double>(element, std::move(shape), pattern, [](double x) { return x; });
    case ElementType::float16:
      return constant_of<std::uint16_t>(element, std::move(shape), pattern, [](double x) {
        return round_to_float16(static_cast<float>(x));
      });
    case ElementType::bfloat16:
      return constant_of<std::uint16_t>(element, std::move(shape), pattern, [](double x) {
        return round_to_bfloat16(static_cast<float>(x));
      });
    default:
      return constant_of<float>(ElementType::float32, std::move(shape), pattern,
                                [](double x) { return static_cast<float>(x); });
  }
}

Constant RandomValues::list(std::span<const std::int64_t> values) {
  return Constant::from_values<std::int64_t>(
      ElementType::int64, Shape{static_cast<std::int64_t>(values.size())}, values);
}

Constant RandomValues::list() {
  std::vector<std::int64_t> values(static_cast<std::size_t>(number(0, 4)));
  for (std::int64_t& value : values) value = one_in(4) ? -1 : extent();
  return list(values);
}

std::shared_ptr<const UniformType> RandomValues::quantization(const Shape& shape) {
  UniformType type;
  type.storage = is_computed() && !one_in(4) ? ElementType::int8 : pick(elements);
  type.expressed = one_in(4) ? pick(elements) : ElementType::float32;
  if (const auto range = integer_range(type.storage)) {
    type.storage_min = one_in(4) ? number(range->min, range->max) : range->min;
    type.storage_max = range->max;
  }
  const std::int64_t rank = shape.rank();
  type.granularity = {static_cast<Granularity::Kind>(number(0, 2)), number(-1, rank),
                      one_in(8) ? number(-1, 0) : number(1, 4)};
  const bool has_axis = type.granularity.axis >= 0 && type.granularity.axis < rank;
  const bool fits = type.granularity.kind == Granularity::Kind::tensor ||
                    (has_axis && type.granularity.block_size > 0);
  const Shape parameters =
      fits && !one_in(16) ? parameter_shape(shape, type.granularity) : this->shape();
  const ElementType scale = one_in(16) ? ElementType::float16 : ElementType::float32;
  type.scales = is_computed() ? reals(scale, parameters, !one_in(8)) : constant(scale, parameters);
  if (one_in(2)) type.zero_points = constant(type.storage, parameters);
  return std::make_shared<const UniformType>(std::move(type));
}

TensorType RandomValues::quantized(const Shape& shape) {
  TensorType type;
  type.shape = shape;
  type.quantization = quantization(shape);
  type.element = type.uniform()->storage;
  return type;
}

TensorType RandomValues::type() {
  const bool is_usual = is_computed() && !one_in(4);
  TensorType type{is_usual ? ElementType::float32 : pick(elements), shape(), nullptr};
  if (one_in(8)) {
    type.quantization = quantization(type.shape);
    if (!one_in(16)) type.element = type.uniform()->storage;
  }
  return type;
}

}  // namespace fuzz
