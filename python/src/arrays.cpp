#include "arrays.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "quadrant/ir/constant.hpp"
#include "session.hpp"

namespace quadrant::python {
namespace {

using Bytes = nb::ndarray<nb::numpy, const std::uint8_t, nb::ndim<1>>;
using GivenBytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// `Owner` keeps the bytes.
template <class Owner>
Array array_of(ElementType element, std::span<const std::int64_t> extents,
               std::span<const std::byte> bytes, Owner owner) {
  auto kept = std::make_unique<Owner>(std::move(owner));
  const nb::capsule keeper(kept.release(), [](void* last) noexcept {
    const std::unique_ptr<Owner> gone(static_cast<Owner*>(last));
  });
  return nb::make_tuple(std::string(to_string(element)),
                        std::vector<std::int64_t>(extents.begin(), extents.end()),
                        Bytes(bytes.data(), {bytes.size()}, keeper));
}

}  // namespace

Array to_python(const Tensor& tensor) {
  return array_of(tensor.element(), tensor.extents(), tensor.bytes(), tensor);
}

Array to_python(const Constant& constant, const ConstantBytes& contents) {
  return array_of(constant.element(), constant.shape().known_extents(), contents.bytes(), contents);
}

Tensor to_tensor(nb::handle array) {
  const auto [element, extents, bytes] =
      nb::cast<std::tuple<std::string, std::vector<std::int64_t>, GivenBytes>>(array);
  const auto type = parse_element_type(element);
  if (!type) throw Failure({ErrorCode::usage, "an array of " + element + " is no tensor"});
  const Shape shape(extents);
  const auto count = shape.element_count();
  if (!count || *count < 0 ||
      static_cast<std::size_t>(*count) * static_cast<std::size_t>(byte_width(*type)) !=
          bytes.size()) {
    throw nb::value_error("not a tensor");
  }
  return Tensor::from_bytes(*type, shape, std::as_bytes(std::span(bytes.data(), bytes.size())));
}

}  // namespace quadrant::python
