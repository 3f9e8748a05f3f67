#include "adapters/openvino/cast.hpp"

#include <string>

#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::openvino {

Value add_cast(Graph& graph, Value value, TensorType type) {
  const std::int64_t to = element_type_number(type.element);
  return {graph.add({.kind = std::string(ops::Cast::kind),
                     .operands = {value},
                     .results = {{std::string(graph.value_name(value)), std::move(type)}},
                     .attributes = {{"to", to}}})};
}

}  // namespace quadrant::inline v0::openvino
