// The part of the extension module that schemes in Python use.
#pragma once

#include <nanobind/nanobind.h>

namespace quadrant::python {

void bind_schemes(nanobind::module_& m);

}  // namespace quadrant::python
