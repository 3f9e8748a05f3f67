#include "scheme_module.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "encode.hpp"
#include "hook.hpp"
#include "scheme.hpp"

namespace quadrant::python {

using namespace nb::literals;

void bind_schemes(nb::module_& m) {
  nb::class_<CodesType>(m, "CodesType").def("describe", &describe);
  m.def("uniform", &uniform, "storage"_a, "expressed"_a, "axis"_a.none(), "block_size"_a, "range"_a,
        "scales"_a, "zero_points"_a.none());
  m.def("encode", &encode, "session"_a, "array"_a, "format"_a, "axis"_a, "block_axis"_a,
        nb::kw_only(), "table"_a.none(), "moments"_a.none(), "rounding"_a);
  m.def("decode", &decode, "codes"_a, "type"_a);

  nb::class_<Node>(m, "Node")
      .def_prop_ro("id", &Node::id)
      .def_prop_ro("result", &Node::result)
      .def_prop_ro("kind", &Node::kind)
      .def_prop_ro("name", &Node::name)
      .def_prop_ro("label", &Node::label)
      .def_prop_ro("shape", &Node::shape)
      .def_prop_ro("element", &Node::element)
      .def("operands", &Node::operands)
      .def_prop_ro("most_operands", &Node::most_operands)
      .def("results", &Node::results)
      .def("users", &Node::users)
      .def("attributes", &Node::attributes)
      .def("contents", &Node::contents,
           nb::sig("def contents(self) -> tuple[str, list[int], Any] | None"))
      .def("codes_type", &Node::codes_type);

  nb::class_<Hook>(m, "Hook")
      .def("node", nb::overload_cast<>(&Hook::node, nb::const_))
      .def("state", &Hook::state)
      .def("match", &Hook::match)
      .def("need", &Hook::need)
      .def("end_alternative", &Hook::end_alternative)
      .def("benefit", &Hook::benefit)
      .def("produce", &Hook::produce)
      .def("refuse", &Hook::refuse)
      .def("form", &Hook::form, nb::sig("def form(self, value: Node, /) -> Any"))
      .def("read", &Hook::read)
      .def("offer", &Hook::offer)
      .def("offer_requests", &Hook::offer_requests)
      .def("keep", &Hook::keep)
      .def("kept", &Hook::kept,
           nb::sig("def kept(self, index: int, /) -> tuple[str, list[int], Any] | None"))
      .def("set_type", &Hook::set_type)
      .def("set_constant", &Hook::set_constant)
      .def("set_operand", &Hook::set_operand)
      .def("emit", &Hook::emit, "kind"_a, "operands"_a, "name"_a, "element"_a, "shape"_a.none(),
           "type"_a.none(), "attributes"_a)
      .def("emit_constant", &Hook::emit_constant, "name"_a, "array"_a, "type"_a.none())
      .def("take_place", &Hook::take_place);

  m.def("runs_hooks", &KnownConstraints::is_kept);
  nb::class_<SchemeBuilder>(m, "SchemeBuilder")
      .def(nb::init<std::string, std::string, nb::object>(), "name"_a, "options"_a, "adapter"_a)
      .def("add", &SchemeBuilder::add, "op"_a, "name"_a, "patterns"_a, "is_consumer"_a, "hooks"_a,
           "adapter"_a)
      .def("quantize", &SchemeBuilder::quantize, "session"_a, "model"_a, nb::kw_only(), "gain"_a,
           "policy"_a, "leave_non_finite"_a, "include"_a, "exclude"_a, "plan"_a.none());
}

}  // namespace quadrant::python
