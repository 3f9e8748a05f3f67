// AttributeProto: to an Attribute and back.
#pragma once

#include "io/onnx/rope.hpp"
#include "io/onnx/source.hpp"
#include "io/onnx/subgraph.hpp"
#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0::onnx {

/// Throws `Failure` where a node that has the `others` cannot have one of this name, too.
void check_attribute_name(std::string_view name, Range range, const Attributes& others);
/// Throws `Failure` for more than they are looked up one after another in good time.
void check_attribute_count(std::size_t count);

/// Adds the attribute to `out`: typed where it is a number, a string, a list of them or a tensor,
/// else as carried bytes. Fields that the typed form has no place for (a doc string, a tensor's
/// name) are carried beside it. `names` learns what its subgraphs use and define.
void read_attribute(Source& source, Range range, Attributes& out, SubgraphNames& names);

/// The attribute `name` as a field of a NodeProto; `all` holds what is carried beside it.
void add_attribute(Rope& node, std::string_view name, const Attribute& value,
                   const Attributes& all);

/// A TensorProto's dims, data type and contents (as raw_data). Throws `impossible` for an element
/// type that ONNX does not have. `data_type`: what is said instead of the type of its elements.
void add_tensor_type(Rope& tensor, ElementType element, const Shape& shape,
                     std::int64_t data_type = 0);
void add_tensor(Rope& tensor, const Constant& constant);

/// Adds an attribute that carries fields, if there is one.
void add_carried(Rope& message, const Attributes& attributes, std::string_view name);

}  // namespace quadrant::inline v0::onnx
