#include "io/npy/array.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "io/npy/header.hpp"
#include "ir/float16.hpp"

namespace quadrant::inline v0::npy {
namespace {

void swap_bytes(std::span<std::byte> bytes, std::size_t width) {
  for (std::size_t i = 0; i < bytes.size(); i += width) {
    std::ranges::reverse(bytes.subspan(i, width));
  }
}

Shape reversed(const Shape& shape) {
  const auto extents = shape.known_extents();
  return Shape(std::vector<std::int64_t>(extents.rbegin(), extents.rend()));
}

/// `columns` has the elements of `shape` with the first index running fastest.
Expected<Tensor> by_rows(const Tensor& columns, const Shape& shape) {
  QUADRANT_TRY(Tensor rows, Tensor::make(columns.element(), shape));
  const auto width = static_cast<std::size_t>(byte_width(columns.element()));
  // Element (i, j, k) stands at i * steps[0] + j * steps[1] + k * steps[2].
  std::vector<std::int64_t> steps = reversed(shape).strides();
  std::ranges::reverse(steps);
  const auto rank = static_cast<std::size_t>(shape.rank());
  std::vector<std::int64_t> index(rank, 0);
  const std::span<const std::byte> from = columns.bytes();
  std::int64_t source = 0;
  std::byte* out = rows.fill_bytes().data();
  for (std::int64_t i = 0; i < rows.element_count(); ++i, out += width) {
    std::memcpy(out, from.data() + static_cast<std::size_t>(source) * width, width);
    for (std::size_t axis = rank; axis-- > 0;) {
      source += steps[axis];
      if (++index[axis] < shape.known_extents()[axis]) break;
      source -= steps[axis] * index[axis];
      index[axis] = 0;
    }
  }
  return rows;
}

/// The same values in a type that NumPy has.
Expected<Tensor> storable(const Tensor& tensor) {
  switch (tensor.element()) {
    case ElementType::bfloat16: {
      QUADRANT_TRY(Tensor wide, Tensor::make(ElementType::float32, tensor.shape(), UINT64_MAX));
      std::ranges::transform(tensor.as<std::uint16_t>(), wide.fill<float>().begin(),
                             widen_bfloat16);
      return wide;
    }
    case ElementType::int4:
      return Tensor::from_bytes(ElementType::int8, tensor.shape(), tensor.bytes());
    case ElementType::uint4:
      return Tensor::from_bytes(ElementType::uint8, tensor.shape(), tensor.bytes());
    default:
      return tensor;
  }
}

}  // namespace

Expected<Tensor> read_array(Input& input) {
  QUADRANT_TRY(const Header header, read_header(input));
  // The file must have the elements before there is memory for them.
  const auto width = static_cast<std::uint64_t>(byte_width(header.element));
  const std::uint64_t count = header.count;
  if (count > input.left() / width || count * width != input.left()) {
    return damaged(fmt::format("{} bytes follow its header, where {} elements ({}) of {} bytes "
                               "belong",
                               input.left(), count, to_string(header.shape), width),
                   input.position());
  }
  const Shape as_stored = header.fortran_order ? reversed(header.shape) : header.shape;
  QUADRANT_TRY(Tensor tensor, Tensor::make(header.element, as_stored));
  QUADRANT_CHECK(input.read(tensor.fill_bytes(), "its elements"));
  if (header.big_endian && width > 1) swap_bytes(tensor.fill_bytes(), width);
  if (header.element == ElementType::boolean) {
    for (std::byte& element : tensor.fill_bytes()) element = std::byte{element != std::byte{0}};
  }
  if (!header.fortran_order) return tensor;
  return by_rows(tensor, header.shape);
}

Expected<StoredArray> stored_array(const Tensor& tensor) {
  if (!tensor) return fail(ErrorCode::impossible, "there is no tensor to write");
  QUADRANT_TRY(Tensor elements, storable(tensor));
  std::string header = make_header(elements.element(), elements.shape());
  return StoredArray{std::move(header), std::move(elements)};
}

}  // namespace quadrant::inline v0::npy
