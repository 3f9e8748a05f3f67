#include "ir/behind_limits.hpp"

#include "ir/ops/elementwise.hpp"
#include "quadrant/ir/operations.hpp"

namespace quadrant::inline v0 {

Value behind_limits(const GraphView& graph, Value value) {
  constexpr int most_steps = 6;
  Value limited = value;
  for (int step = 0; step < most_steps && !value.is_absent(); ++step) {
    const auto uses = graph.uses(value.node);
    if (uses.size() != 1 || uses[0].operand != 0) break;
    const NodeRef reader{&graph, uses[0].user};
    const bool is_limit = reader.kind() == ops::Relu::kind || reader.kind() == ops::Clip::kind;
    if (!is_limit && !has_trait(reader, Trait::stays_in_range)) break;
    value = reader.result();
    if (is_limit) limited = value;
  }
  return limited;
}

}  // namespace quadrant::inline v0
