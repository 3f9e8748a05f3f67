#include "io/tflite/element.hpp"

#include <algorithm>
#include <array>

#include "io/tflite/failure.hpp"
#include "ir/scales.hpp"
#include "numerics/kernels/pack.hpp"

namespace quadrant::inline v0::tflite {
namespace {

struct ElementPair {
  schema::TensorType type;
  ElementType element;
};

constexpr std::array element_pairs{
    ElementPair{schema::TensorType::FLOAT32, ElementType::float32},
    ElementPair{schema::TensorType::FLOAT16, ElementType::float16},
    ElementPair{schema::TensorType::INT32, ElementType::int32},
    ElementPair{schema::TensorType::UINT8, ElementType::uint8},
    ElementPair{schema::TensorType::INT64, ElementType::int64},
    ElementPair{schema::TensorType::BOOL, ElementType::boolean},
    ElementPair{schema::TensorType::INT16, ElementType::int16},
    ElementPair{schema::TensorType::INT8, ElementType::int8},
    ElementPair{schema::TensorType::FLOAT64, ElementType::float64},
    ElementPair{schema::TensorType::UINT64, ElementType::uint64},
    ElementPair{schema::TensorType::UINT32, ElementType::uint32},
    ElementPair{schema::TensorType::UINT16, ElementType::uint16},
    ElementPair{schema::TensorType::INT4, ElementType::int4},
    ElementPair{schema::TensorType::BFLOAT16, ElementType::bfloat16},
    ElementPair{schema::TensorType::INT2, ElementType::int2},
    ElementPair{schema::TensorType::UINT4, ElementType::uint4},
};

}  // namespace

std::optional<schema::TensorType> tensor_type_of(ElementType element) noexcept {
  const auto* found = std::ranges::find(element_pairs, element, &ElementPair::element);
  if (found == element_pairs.end()) return std::nullopt;
  return found->type;
}

ElementType element_of(schema::TensorType type) noexcept {
  const auto* found = std::ranges::find(element_pairs, type, &ElementPair::type);
  return found == element_pairs.end() ? ElementType::opaque : found->element;
}

std::shared_ptr<const UniformType> uniform_of(const Quantization& type) {
  return value_of(uniform_for("TFLite", type));
}

bool is_packed(ElementType element) noexcept {
  return element == ElementType::int4 || element == ElementType::uint4 ||
         element == ElementType::int2;
}

std::vector<std::uint8_t> packed(ElementType element, std::span<const std::byte> bytes) {
  if (!is_packed(element)) {
    std::vector<std::uint8_t> stored(bytes.size());
    std::ranges::transform(bytes, stored.begin(), std::to_integer<std::uint8_t>);
    return stored;
  }
  std::vector<std::uint8_t> stored(packed_size(element, bytes.size()));
  kernels::pack_bits(bytes.data(), bytes.size(), bit_width(element),
                     reinterpret_cast<std::byte*>(stored.data()));
  return stored;
}

std::vector<std::byte> unpacked(ElementType element, std::uint64_t count,
                                std::span<const std::byte> bytes) {
  if (!is_packed(element)) return {bytes.begin(), bytes.end()};
  std::vector<std::byte> elements(count);
  kernels::unpack_bits(bytes.data(), count, bit_width(element), element != ElementType::uint4,
                       elements.data());
  return elements;
}

}  // namespace quadrant::inline v0::tflite
