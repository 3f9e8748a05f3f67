// Operations whose results have the elements of operand 0, or means of them: codes move as they
// are, and mean the same wherever they go.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "ir/ops/windows.hpp"
#include "quadrant/ir/operations.hpp"
#include "static_affine/element_moves.hpp"
#include "static_affine/methods.hpp"

namespace quadrant::inline v0::static_affine {
namespace {

// No parameters: what differs between them, `is_move` and the operation's own kind tell.
struct Nothing {};

QUADRANT_PARAMETERIZED(MoveMethod, StaticAffine, Nothing,
                       requires_parents(AnyState, variadic(or_absent(AnyState)))) {
  using MoveMethodBase::MoveMethodBase;

  void callback(const AffineForm& wanted, NodeRef node, Asks& asks) const override {
    if (!is_move(node)) {
      asks.refuse("its result is no choice of its operand's elements");
    } else if (is_dilated_mean(node)) {
      asks.refuse("integer kernels of poolings have no dilations");
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
    const Move* const move = find_move(node);
    for (std::uint32_t i = 0; i < node.graph->result_count(node.id); ++i) {
      const auto* const form = context.form<AffineForm>(node.result(i));
      if (form == nullptr) continue;
      std::shared_ptr<const UniformType> type = codes;
      if (codes->granularity.kind != Granularity::Kind::tensor) {
        QUADRANT_TRY(type, moved_type(*move, node, i, form->granularity));
      }
      QUADRANT_CHECK(context.set_quantized(node.result(i), std::move(type)));
    }
    return {};
  }

 private:
  // ONNX Runtime, which has integer kernels without dilations, does not load what it makes of one.
  static bool is_dilated_mean(NodeRef node) {
    const auto dilations = node.attribute_or("dilations", std::vector<std::int64_t>());
    return node.kind() == ops::AveragePool::kind &&
           std::ranges::any_of(dilations, [](std::int64_t dilation) { return dilation != 1; });
  }

  // The form of operand 0 that becomes `wanted`. One scale is that of all elements, wherever they
  // go.
  static std::optional<AffineForm> source_form(NodeRef node, const AffineForm& wanted) {
    if (wanted.granularity.kind == Granularity::Kind::tensor) return wanted;
    const Move* const move = find_move(node);
    const auto source = move == nullptr ? std::nullopt : move->source(node, wanted.granularity);
    if (!source || source->kind == Granularity::Kind::block) return std::nullopt;
    return AffineForm{wanted.role, wanted.storage, *source};
  }
};

}  // namespace

void register_moves(StaticAffine::Registration& methods) {
  methods.add_where<MoveMethod>([](const Operation& row) {
    const bool may_stay = row.when != nullptr;  // `is_move` asks the node
    return row.product == nullptr && (may_stay || row.traits.contains(Trait::stays_in_range));
  });
}

}  // namespace quadrant::inline v0::static_affine
