#include "quadrant/ir/type.hpp"

#include <fmt/format.h>

#include "ir/codes_text.hpp"
#include "ir/type_text.hpp"
#include "quadrant/ir/scales.hpp"

namespace quadrant::inline v0 {

Shape parameter_shape(const Shape& shape, const Granularity& granularity) {
  switch (granularity.kind) {
    case Granularity::Kind::tensor:
      return Shape::scalar();
    case Granularity::Kind::axis:
      return Shape{shape[granularity.axis]};
    case Granularity::Kind::block: {
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
  return {quantization->expressed, shape, nullptr};
}

bool operator==(const TensorType& a, const TensorType& b) {
  if (a.element != b.element || a.shape != b.shape) return false;
  if (!a.quantization || !b.quantization) return a.quantization == b.quantization;
  return *a.quantization == *b.quantization;
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

std::string print_type(const TensorType& type, std::int64_t largest) {
  const std::string shape = to_string(type.shape);
  const std::string element = type.quantization ? print_type(*type.quantization, largest)
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

}  // namespace quadrant::inline v0
