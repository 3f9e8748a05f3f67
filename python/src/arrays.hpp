// Tensors as Python sees them: `(element, shape, bytes)`, where the bytes are an array of uint8
// that Python views as the element's type. So types that numpy does not have cross the border, too.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/type.hpp"

namespace quadrant::python {

namespace nb = nanobind;

/// As type checkers are to see them.
using Array = nb::typed<nb::tuple, nb::str, nb::typed<nb::list, nb::int_>, nb::any>;
using Dict = nb::typed<nb::dict, nb::str, nb::any>;
using Dicts = nb::typed<nb::list, Dict>;

/// Shares the elements, which Python cannot write to.
[[nodiscard]] Array to_python(const Tensor& tensor);
/// The contents, shared where they are in memory already.
[[nodiscard]] Array to_python(const Constant& constant, const ConstantBytes& contents);

/// Copies the elements. Throws for what is no tensor.
[[nodiscard]] Tensor to_tensor(nb::handle array);

}  // namespace quadrant::python
