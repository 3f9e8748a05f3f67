// Small builders that the tests of the IR share.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "quadrant/ir/graph.hpp"

namespace build {

using namespace quadrant;

inline TensorType tensor(ElementType element, Shape shape) {
  return {element, std::move(shape), nullptr};
}
inline TensorType f32(Shape shape) { return tensor(ElementType::float32, std::move(shape)); }

inline Constant floats(Shape shape, const std::vector<float>& values) {
  return Constant::from_values<float>(ElementType::float32, std::move(shape), values);
}
inline Constant integers(const std::vector<std::int64_t>& values) {
  return Constant::from_values<std::int64_t>(ElementType::int64,
                                             {static_cast<std::int64_t>(values.size())}, values);
}
/// Of zeros.
inline Constant zeros(ElementType element, Shape shape) {
  const auto bytes = static_cast<std::size_t>(*shape.element_count() * byte_width(element));
  return Constant::from_bytes(element, std::move(shape), std::vector<std::byte>(bytes));
}

/// Byte `i` is `i` modulo 256; fails when `broken`.
class CountingSource final : public ConstantSource {
 public:
  explicit CountingSource(bool broken = false) : broken_(broken) {}
  Expected<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    if (broken_) return fail(ErrorCode::io, "broken");
    for (std::byte& byte : out) byte = static_cast<std::byte>(offset++ & 0xffU);
    return {};
  }

 private:
  bool broken_;
};
inline Constant deferred(ElementType element, Shape shape, bool broken = false) {
  return Constant::deferred(element, std::move(shape), std::make_shared<CountingSource>(broken));
}

/// A node with one result.
inline Value add(Graph& graph, std::string kind, std::vector<Value> operands, TensorType type = {},
                 Attributes attributes = {}, std::string name = {}) {
  return {graph.add({.kind = std::move(kind),
                     .operands = std::move(operands),
                     .results = {{std::move(name), std::move(type)}},
                     .attributes = std::move(attributes)})};
}

/// int8 codes of float32.
inline std::shared_ptr<UniformType> uniform(const std::vector<float>& scales,
                                            Granularity granularity = {}) {
  auto type = std::make_shared<UniformType>();
  type->granularity = granularity;
  const bool single = granularity.kind == Granularity::Kind::tensor;
  type->scales = floats(
      single ? Shape(std::vector<std::int64_t>{}) : Shape{static_cast<std::int64_t>(scales.size())},
      scales);
  return type;
}
inline TensorType quantized(Shape shape, std::shared_ptr<const UniformType> type) {
  const ElementType element = type->storage;
  return {element, std::move(shape), std::move(type)};
}

}  // namespace build
