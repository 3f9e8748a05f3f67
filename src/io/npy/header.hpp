// What stands in front of the elements of a .npy file: a magic, a version, and a Python dictionary.
#pragma once

#include <string>

#include "io/npy/input.hpp"
#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/shape.hpp"

namespace quadrant::inline v0::npy {

struct Header {
  ElementType element = ElementType::undefined;
  bool big_endian = false;
  bool fortran_order = false;  ///< by columns: the first index runs fastest
  Shape shape;
  std::uint64_t count = 0;  ///< of elements
};

/// Leaves `input` at the first element.
[[nodiscard]] Expected<Header> read_header(Input& input);

/// Of little-endian elements by rows, of a type that NumPy has. Its size is a multiple of 64.
[[nodiscard]] std::string make_header(ElementType element, const Shape& shape);

}  // namespace quadrant::inline v0::npy
