#include "ir/tensor_bytes.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

using namespace quadrant;

namespace {

std::string bytes_of(unsigned element, const std::vector<std::int64_t>& extents, std::size_t size) {
  ByteWriter out;
  out.number(static_cast<std::uint8_t>(element));
  out.numbers(std::span(extents));
  out.text(std::string(size, 'x'));
  return out.take();
}

}  // namespace

TEST_CASE("tensors come back as they were") {
  const std::array<std::int16_t, 6> numbers{1, -2, 3, -4, 5, -6};
  ByteWriter out;
  write(out, {ElementType::int16, Shape{2, 3}, std::as_bytes(std::span(numbers))});
  write(out, {ElementType::float32, Shape::scalar(), std::as_bytes(std::span(numbers).first(2))});
  const std::string bytes = out.take();
  ByteReader in(bytes);
  const TensorBytes first = read_tensor(in);
  CHECK(first.element == ElementType::int16);
  CHECK(first.shape == Shape{2, 3});
  CHECK(std::memcmp(first.bytes.data(), numbers.data(), sizeof(numbers)) == 0);
  CHECK(read_tensor(in).shape == Shape::scalar());
  CHECK_FALSE(in.failed());
  CHECK(in.is_at_end());
}

TEST_CASE("bytes that are no tensor") {
  constexpr auto int16 = static_cast<unsigned>(ElementType::int16);
  constexpr auto opaque = static_cast<unsigned>(ElementType::opaque);
  constexpr std::int64_t large = std::int64_t{1} << 62U;
  for (const std::string& bytes :
       {bytes_of(int16, {2, 3}, 6), bytes_of(int16, {2, 3}, 13), bytes_of(int16, {-2, -3}, 12),
        bytes_of(int16, {large, 4}, 0), bytes_of(opaque, {2}, 2), bytes_of(opaque + 1, {2}, 2),
        bytes_of(0, {2}, 0), bytes_of(255, {}, 1), bytes_of(int16, {1}, 2).substr(0, 10)}) {
    ByteReader in(bytes);
    CHECK(read_tensor(in).bytes.empty());
    CHECK(in.failed());
  }
}
