// Tensors and constants as bytes, for other ranks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/shape.hpp"
#include "support/byte_stream.hpp"

namespace quadrant::inline v0 {

struct TensorBytes {
  ElementType element = ElementType::undefined;
  Shape shape{};  ///< static
  std::span<const std::byte> bytes{};
};

inline void write(ByteWriter& out, const TensorBytes& tensor) {
  out.number(static_cast<std::uint8_t>(tensor.element));
  out.numbers(tensor.shape.known_extents());
  out.numbers(std::span(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()));
}

/// `in` has failed where the bytes are not of such elements and extents. What is read refers to
/// them.
[[nodiscard]] inline TensorBytes read_tensor(ByteReader& in) {
  const auto element = static_cast<ElementType>(in.number<std::uint8_t>());
  const auto extents = in.numbers<std::int64_t>();
  const auto bytes = std::as_bytes(std::span(in.part()));
  const auto width =
      static_cast<std::uint64_t>(element <= ElementType::opaque ? byte_width(element) : 0);
  const bool is_static = std::ranges::all_of(extents, [](std::int64_t n) { return n >= 0; });
  Shape shape = is_static ? Shape(extents) : Shape();
  const auto count = shape.element_count();
  if (width == 0 || bytes.size() % width != 0 || !count ||
      static_cast<std::uint64_t>(*count) != bytes.size() / width) {
    in.fail();
    return {};
  }
  return {element, std::move(shape), bytes};
}

}  // namespace quadrant::inline v0
