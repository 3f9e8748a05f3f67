// Matrix products ask for channels along the axis that the product keeps: a scale that varied along
// the contracted axis could not be taken out of the sum.
#include "quadrant/ir/ops.hpp"
#include "quadrant/methods/weight_only.hpp"
#include "weight_only/methods.hpp"

namespace quadrant::inline v0::weight_only {
namespace {

QUADRANT_CONSUMER(MatMulMethod, WeightOnly, ops::MatMul,
                  requires_parents(AnyQuantizable, AnyQuantizable),
                  requires_parents(AnyQuantizable, AnyUnquantized),
                  requires_parents(AnyUnquantized, AnyQuantizable)) {
  void request(NodeRef node, Asks& asks) const override {
    ask(node, 0, 2, asks);  // rows of A
    ask(node, 1, 1, asks);  // columns of B
  }

 private:
  // `from_end`: the kept axis, counted from the last.
  static void ask(NodeRef node, std::uint32_t operand, std::int64_t from_end, Asks& asks) {
    const Shape& shape = node.operand_type(operand)->shape;
    if (shape.rank() >= 2) {
      asks.benefit(operand, {shape.rank() - from_end});
    } else if (shape.is_ranked()) {
      asks.refuse("a one-dimensional operand has the contracted axis alone");
    }
  }
};

}  // namespace

void register_matmul(WeightOnly::Registration& methods) { methods.add<MatMulMethod>(); }

}  // namespace quadrant::inline v0::weight_only
