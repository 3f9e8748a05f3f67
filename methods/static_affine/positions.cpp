#include "static_affine/positions.hpp"

#include <cstddef>
#include <vector>

#include "ir/ops/places.hpp"
#include "ir/work.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::static_affine {

namespace {

// What is looked up in a table is no longer the number that it was looked up by.
bool looks_up(NodeRef node) {
  for (std::uint32_t i = 0; i < node.operands().size(); ++i) {
    if (role_of(node, i) != quadrant::Role::table || node.operand_constant(i) == nullptr) continue;
    if (is_float(node.operand_type(i)->element)) return true;
  }
  return false;
}

}  // namespace

bool is_computed_from_integers(const GraphView& graph, Value value) {
  constexpr std::size_t most_values = 32;  // a limit, as above
  std::vector<Value> open{value};
  std::size_t visited = 0;
  bool has_integers = false;
  while (!open.empty()) {
    const NodeRef node{&graph, open.back().node};
    open.pop_back();
    if (graph.constant(node.id) != nullptr) continue;
    if (node.kind() == ops::ShapeOf::kind) {
      has_integers = true;
      continue;
    }
    const bool is_value = node.kind() == ops::Input::kind || looks_up(node);
    // What a layer makes of them is no position any more.
    if (is_value || multiply_accumulates(node) != 0 || ++visited > most_values) return false;
    for (const Value operand : node.operands()) {
      if (operand.is_absent()) continue;
      const ElementType element = graph.type(operand).element;
      if (element == ElementType::undefined || is_float(element)) {
        open.push_back(operand);
      } else if (element == ElementType::boolean || bit_width(element) > 8) {
        has_integers = true;  // those of 8 bits, pictures for example, are exact as codes, too
      }
    }
  }
  return has_integers;
}

}  // namespace quadrant::inline v0::static_affine
