#include "quadrant/ir/type.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/codes_text.hpp"
#include "ir/scales.hpp"
#include "ir/type_text.hpp"
#include "quadrant/ir/number_format.hpp"

namespace quadrant::inline v0 {

Shape parameter_shape(const Shape& shape, const Granularity& granularity) {
  switch (granularity.kind) {
    case Granularity::Kind::tensor:
      return Shape::scalar();
    case Granularity::Kind::axis:
      return Shape{shape.is_ranked() ? shape[granularity.axis] : Extent::open()};
    case Granularity::Kind::block: {
      if (!shape.is_ranked()) return {};
      std::vector<Extent> extents(shape.extents().begin(), shape.extents().end());
      Extent& blocked = extents[static_cast<std::size_t>(granularity.axis)];
      blocked = blocked.transformed([&](std::int64_t extent) {
        return extent == 0 ? 0 : (extent - 1) / granularity.block_size + 1;
      });
      return Shape(std::move(extents));
    }
  }
  return {};
}

IntegerRange code_range(int bits, bool is_signed) noexcept {
  const std::int64_t count = std::int64_t{1} << bits;
  return is_signed ? IntegerRange{-count / 2, count / 2 - 1} : IntegerRange{0, count - 1};
}

ElementType storage_element(int bits, bool is_signed) noexcept {
  if (bits <= 4) return is_signed ? ElementType::int4 : ElementType::uint4;
  if (bits <= 8) return is_signed ? ElementType::int8 : ElementType::uint8;
  if (bits <= 16) return is_signed ? ElementType::int16 : ElementType::uint16;
  return is_signed ? ElementType::int32 : ElementType::uint32;
}

int declared_bits(const UniformType& type) noexcept {
  return type.storage_bits != 0 ? type.storage_bits : bit_width(type.storage);
}

bool has_signed_codes(const UniformType& type) noexcept {
  const auto range = integer_range(type.storage);
  return range && range->min < 0;
}

TensorType TensorType::expressed() const {
  if (!quantization) return *this;
  return {quantization.expressed(), shape, {}};
}

TensorType symmetric_type(ElementType storage, Shape shape, Granularity granularity,
                          std::vector<float> scales) {
  const std::int64_t most = integer_range(storage).value_or(IntegerRange()).max;
  UniformType type{
      .storage = storage, .granularity = granularity, .storage_min = -most, .storage_max = most};
  type.scales = Constant::from_vector(ElementType::float32, parameter_shape(shape, granularity),
                                      std::move(scales));
  return {storage, std::move(shape), std::make_shared<const UniformType>(std::move(type))};
}

bool is_symmetric(const TensorType& type, ElementType storage, Granularity::Kind kind) noexcept {
  const UniformType* const uniform = type.uniform().get();
  return uniform != nullptr && uniform->storage == storage &&
         uniform->expressed == ElementType::float32 && uniform->granularity.kind == kind &&
         !uniform->zero_points;
}

bool operator==(const TensorType& a, const TensorType& b) {
  return a.element == b.element && a.shape == b.shape && a.quantization == b.quantization;
}

Quantization::Quantization(const ScaledFormat& format) {
  if (auto uniform = format.uniform()) {
    uniform_ = std::make_shared<const UniformType>(*std::move(uniform));
  } else {
    other_ = std::make_shared<const ScaledFormat>(format);
  }
}

ElementType Quantization::storage() const noexcept {
  if (uniform_) return uniform_->storage;
  return other_ ? storage_element(other_->format) : ElementType::undefined;
}

ElementType Quantization::expressed() const noexcept {
  if (uniform_) return uniform_->expressed;
  return other_ ? other_->format.expressed : ElementType::undefined;
}

bool operator==(const Quantization& a, const Quantization& b) {
  const auto says_the_same = [](const auto& one, const auto& other) {
    return one == other || (one && other && *one == *other);
  };
  return says_the_same(a.uniform_, b.uniform_) && says_the_same(a.other_, b.other_);
}

namespace {

// In memory and at most `largest`.
bool is_shown(const Constant& constant, std::int64_t largest) {
  return constant && !constant.is_deferred() && constant.element_count() <= largest;
}

std::string parameters(const UniformType& type, std::int64_t largest) {
  if (!is_shown(type.scales, largest) ||
      (type.zero_points && !is_shown(type.zero_points, largest))) {
    return "{...}";
  }
  const auto scales = read_exact_scales(type.scales);
  const auto zero_points = type.zero_points
                               ? read_integers(type.zero_points, largest)
                               : Expected<std::vector<std::int64_t>>(std::vector<std::int64_t>{});
  if (!scales || !zero_points) return "{...}";
  const bool braces = type.granularity.kind != Granularity::Kind::tensor;
  const ElementType element = type.scales.element();
  std::string text = element == ElementType::float32 ? "" : fmt::format("{} ", to_string(element));
  if (braces) text += '{';
  for (std::size_t i = 0; i < scales->size(); ++i) {
    if (i != 0) text += ", ";
    // As many digits as give it back; MLIR wants a point or an exponent in it.
    std::string scale = element == ElementType::float64
                            ? fmt::format("{}", (*scales)[i])
                            : fmt::format("{}", static_cast<float>((*scales)[i]));
    if (scale.find_first_of(".en") == std::string::npos) scale += ".0";
    text += scale;
    if (i < zero_points->size() && (*zero_points)[i] != 0) {
      text += fmt::format(":{}", (*zero_points)[i]);
    }
  }
  return braces ? text + '}' : text;
}

// As many digits as give it back.
std::string print_numbers(const Constant& numbers, std::int64_t largest) {
  if (!is_shown(numbers, largest)) return "[...]";
  if (is_integer(numbers.element())) {
    const auto integers = read_integers(numbers, largest);
    return integers ? fmt::format("[{}]", fmt::join(*integers, ", ")) : "[...]";
  }
  const auto values = read_scales(numbers);
  return values ? fmt::format("[{}]", fmt::join(*values, ", ")) : "[...]";
}

}  // namespace

namespace detail {

std::string print_type(const UniformType& type, std::int64_t largest) {
  std::string text = "!quant.uniform<" + print_codes({type.storage, type.storage_bits,
                                                      type.storage_min, type.storage_max});
  text += fmt::format(":{}", to_string(type.expressed));
  if (type.granularity.kind == Granularity::Kind::axis) {
    text += fmt::format(":{}", type.granularity.axis);
  } else if (type.granularity.kind == Granularity::Kind::block) {
    text += fmt::format(":{{{}:{}}}", type.granularity.axis, type.granularity.block_size);
  }
  return text + fmt::format(", {}>", parameters(type, largest));
}

std::string print_type(const Quantization& quantization, std::int64_t largest) {
  if (!quantization) return "none";
  if (quantization.uniform()) return print_type(*quantization.uniform(), largest);
  const ScaledFormat& other = *quantization.other();
  std::string text = fmt::format("!quadrant.numbers<\"{}\"", to_string(other.format));
  for (const Constant& part : contents_of(other)) text += ", " + print_numbers(part, largest);
  return text + '>';
}

std::string print_type(const TensorType& type, std::int64_t largest) {
  const std::string shape = to_string(type.shape);
  const std::string element = type.quantization ? print_type(type.quantization, largest)
                                                : std::string(to_string(type.element));
  return fmt::format("tensor<{}{}{}>", shape, shape.empty() ? "" : "x", element);
}

}  // namespace detail

namespace {
constexpr std::int64_t shown_parameters = 64;
}  // namespace

std::string to_string(const TensorType& type) { return detail::print_type(type, shown_parameters); }
std::string to_string(const UniformType& type) {
  return detail::print_type(type, shown_parameters);
}
std::string to_string(const Quantization& quantization) {
  return detail::print_type(quantization, shown_parameters);
}

}  // namespace quadrant::inline v0
