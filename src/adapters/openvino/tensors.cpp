#include "adapters/openvino/tensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace quadrant::inline v0::openvino {
namespace {

struct Pair {
  ElementType element;
  ov_element_type_e type;
};

constexpr std::array types{
    Pair{ElementType::boolean, BOOLEAN}, Pair{ElementType::int8, I8},
    Pair{ElementType::uint8, U8},        Pair{ElementType::int16, I16},
    Pair{ElementType::uint16, U16},      Pair{ElementType::int32, I32},
    Pair{ElementType::uint32, U32},      Pair{ElementType::int64, I64},
    Pair{ElementType::uint64, U64},      Pair{ElementType::float16, F16},
    Pair{ElementType::bfloat16, BF16},   Pair{ElementType::float32, F32},
    Pair{ElementType::float64, F64},
};

Expected<std::span<std::byte>> bytes_of(const Library& library, const ov_tensor_t& tensor) {
  void* data = nullptr;
  std::size_t size = 0;
  QUADRANT_CHECK(
      library.check(library.ov_tensor_get_byte_size(&tensor, &size), "measure a tensor"));
  if (size == 0) return std::span<std::byte>{};
  QUADRANT_CHECK(library.check(library.ov_tensor_data(&tensor, &data), "read a tensor"));
  return std::span(static_cast<std::byte*>(data), size);
}

Expected<ElementType> element_of(const Library& library, const ov_tensor_t& tensor) {
  ov_element_type_e type = DYNAMIC;
  QUADRANT_CHECK(
      library.check(library.ov_tensor_get_element_type(&tensor, &type), "tell a tensor's type"));
  const auto* found = std::ranges::find(types, type, &Pair::type);
  if (found != types.end()) return found->element;
  return fail(ErrorCode::impossible,
              fmt::format("OpenVINO gives elements of a type that is not read here (its number {})",
                          static_cast<int>(type)));
}

Expected<Shape> shape_of(const Library& library, const ov_tensor_t& tensor) {
  ov_shape_t shape{};
  const ov_status_e status = library.ov_tensor_get_shape(&tensor, &shape);
  // What the C interface says of a tensor of rank 0: it makes no shapes without extents.
  if (status == ov_status_e::INVALID_C_PARAM) return Shape::scalar();
  QUADRANT_CHECK(library.check(status, "tell a shape"));
  std::vector<std::int64_t> extents(shape.dims, shape.dims + shape.rank);
  QUADRANT_CHECK(library.check(library.ov_shape_free(&shape), "free a shape"));
  return Shape(extents);
}

}  // namespace

ElementType interface_type(ElementType element) noexcept {
  switch (element) {
    case ElementType::int4:
      return ElementType::int8;
    case ElementType::uint4:
      return ElementType::uint8;
    default:
      return element;
  }
}

Expected<Handle<ov_tensor_t>> to_openvino(const Library& library, const Tensor& tensor) {
  const auto* found = std::ranges::find(types, interface_type(tensor.element()), &Pair::element);
  if (found == types.end()) {
    return fail(ErrorCode::impossible,
                fmt::format("OpenVINO has no tensors of {}", to_string(tensor.element())));
  }
  std::vector<std::int64_t> extents(tensor.extents().begin(), tensor.extents().end());
  const ov_shape_t shape{.rank = tensor.rank(), .dims = extents.data()};
  QUADRANT_TRY(Handle<ov_tensor_t> made,
               library.make("make a tensor", library.ov_tensor_free, library.ov_tensor_create,
                            found->type, shape));
  QUADRANT_TRY(const std::span<std::byte> bytes, bytes_of(library, *made));
  std::ranges::copy(tensor.bytes(), bytes.begin());
  return made;
}

Expected<Tensor> from_openvino(const Library& library, const ov_tensor_t& tensor,
                               ElementType wanted) {
  QUADRANT_TRY(const ElementType given, element_of(library, tensor));
  if (wanted == ElementType::undefined) wanted = given;
  if (interface_type(wanted) != given) {
    return fail(ErrorCode::impossible, fmt::format("OpenVINO gives {}, where the model has {}",
                                                   to_string(given), to_string(wanted)));
  }
  QUADRANT_TRY(Shape shape, shape_of(library, tensor));
  QUADRANT_TRY(const std::span<const std::byte> bytes, bytes_of(library, tensor));
  return Tensor::from_bytes(wanted, std::move(shape), bytes);
}

}  // namespace quadrant::inline v0::openvino
