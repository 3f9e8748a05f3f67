// Operations whose results have the elements of operand 0, or means of them: codes move as they
// are, and mean the same wherever they go.
#include <algorithm>

#include "quadrant/ir/ops.hpp"
#include "static_affine/codes.hpp"
#include "static_affine/methods.hpp"
#include "static_affine/onnx_op.hpp"

namespace quadrant::inline v0::static_affine {
namespace {

// No parameters: what differs between them, `is_move` and the operation's own kind tell.
struct Nothing {};

QUADRANT_PARAMETERIZED(MoveMethod, StaticAffine, Nothing,
                       requires_parents(AnyState, variadic(optional(AnyState)))) {
  using MoveMethodBase::MoveMethodBase;

  void callback(const AffineForm& wanted, NodeRef node, Asks& asks) const override {
    if (!is_move(node)) {
      asks.refuse("its result is no choice of its operand's elements");
    } else if (const auto source = source_form(node, wanted)) {
      asks.alternative({{0, *source}});
    } else {
      asks.refuse("the channels of its result are not those of one axis of its operand");
    }
  }

  void tie(NodeRef node, ParameterRules& rules) const override {
    // The parameters of a weight's channels move with them: `rewriter`.
    if (constant_behind(*node.graph, node.operand(0)) != nullptr) return;
    for (std::uint32_t i = 0; i < node.graph->result_count(node.id); ++i) {
      rules.share(Slot::result(i), Slot::operand(0));
    }
  }

  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    const auto codes = context.quantization(node.operand(0));
    for (std::uint32_t i = 0; i < node.graph->result_count(node.id); ++i) {
      const Value result = node.result(i);
      const auto* const form = context.form<AffineForm>(result);
      if (form == nullptr) continue;
      auto moved = std::make_shared<UniformType>(*codes);
      moved->granularity = form->granularity;
      const bool is_same = moved->granularity == codes->granularity;
      QUADRANT_CHECK(context.set_quantized(result, is_same ? codes : std::move(moved)));
    }
    return {};
  }

 private:
  static std::optional<AffineForm> source_form(NodeRef node, const AffineForm& wanted) {
    if (wanted.granularity.kind == Granularity::Kind::tensor) return wanted;
    if (node.kind() == ops::Identity::kind) return wanted;
    if (node.kind() != ops::Transpose::kind) return std::nullopt;
    const auto perm = ops::Transpose{node}.perm();
    const auto axis = static_cast<std::size_t>(wanted.granularity.axis);
    if (axis >= perm.size()) return std::nullopt;
    AffineForm source = wanted;
    source.granularity.axis = perm[axis];
    return source;
  }
};

}  // namespace

void register_moves(StaticAffine::Registration& methods) {
  methods.add_parameterized<MoveMethod, ops::Identity>({});
  methods.add_parameterized<MoveMethod, ops::Transpose>({});
  methods.add_parameterized<MoveMethod, ops::Reshape>({});
  methods.add_parameterized<MoveMethod, ops::Squeeze>({});
  methods.add_parameterized<MoveMethod, ops::Unsqueeze>({});
  methods.add_parameterized<MoveMethod, ops::Flatten>({});
  methods.add_parameterized<MoveMethod, ops::Expand>({});
  methods.add_parameterized<MoveMethod, ops::Slice>({});
  methods.add_parameterized<MoveMethod, ops::Split>({});
  methods.add_parameterized<MoveMethod, ops::Gather>({});
  methods.add_parameterized<MoveMethod, OnnxOp<"onnx.MaxPool">>({});
  methods.add_parameterized<MoveMethod, OnnxOp<"onnx.AveragePool">>({});
  methods.add_parameterized<MoveMethod, OnnxOp<"onnx.Pad">>({});
  methods.add_parameterized<MoveMethod, OnnxOp<"onnx.Resize">>({});
  methods.add_parameterized<MoveMethod, OnnxOp<"onnx.DepthToSpace">>({});
  methods.add_parameterized<MoveMethod, OnnxOp<"onnx.SpaceToDepth">>({});
}

}  // namespace quadrant::inline v0::static_affine
