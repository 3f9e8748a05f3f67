// Sums of products: convolutions and matrix products compute on codes of both factors.
//
//   sum (s_x (q_x - z_x)) (s_w q_w) + b  =  s_x s_w (sum (q_x - z_x) q_w + b / (s_x s_w))
//
// The sum is of integers, and so is the bias, whose scale is the product of the other two (Jacob et
// al., arXiv 1712.05877, section 2.4).
#include <optional>
#include <vector>

#include "quadrant/ir/ops.hpp"
#include "static_affine/codes.hpp"
#include "static_affine/methods.hpp"

namespace quadrant::inline v0::static_affine {
namespace {

struct Product {
  std::uint32_t data = 0;
  std::uint32_t weight = 1;
  std::uint32_t bias = 2;
  /// The axis of the weight that the sum keeps; empty: it has none.
  std::optional<std::int64_t> (*channel)(NodeRef node, const Shape& weight);
  /// Whether codes in the scale of the products can be added to the sum.
  bool (*adds_bias)(NodeRef node);
};

std::optional<std::int64_t> first_axis(NodeRef /*node*/, const Shape& /*weight*/) { return 0; }

std::optional<std::int64_t> second_axis(NodeRef /*node*/, const Shape& /*weight*/) { return 1; }

std::optional<std::int64_t> last_axis(NodeRef /*node*/, const Shape& weight) {
  return weight.rank() < 2 ? std::nullopt : std::optional(weight.rank() - 1);
}

std::optional<std::int64_t> gemm_axis(NodeRef node, const Shape& /*weight*/) {
  return ops::Gemm{node}.trans_b() ? 0 : 1;
}

bool always(NodeRef /*node*/) { return true; }

bool never(NodeRef /*node*/) { return false; }

// With groups, channels of the result share an index of the weight's axis.
bool has_one_group(NodeRef node) { return node.attribute_or<std::int64_t>("group", 1) == 1; }

bool has_no_factors(NodeRef node) {
  return node.attribute_or("alpha", 1.0) == 1 && node.attribute_or("beta", 1.0) == 1;
}

constexpr Product conv{0, 1, 2, first_axis, always};
constexpr Product conv_transpose{0, 1, 2, second_axis, has_one_group};
constexpr Product gemm{0, 1, 2, gemm_axis, has_no_factors};
constexpr Product matmul{0, 1, 2, last_axis, never};
constexpr Product linear{0, 1, 2, first_axis, always};
constexpr Product addmm{1, 2, 0, second_axis, has_no_factors};

QUADRANT_PARAMETERIZED(ProductMethod, StaticAffine, const Product*,
                       requires_parents(variadic(optional(AnyState)))) {
  using ProductMethodBase::ProductMethodBase;

  void request(NodeRef node, Asks& asks) const override {
    if (const char* const why = scheme().refusal(*node.graph, node.result())) {
      asks.refuse(why);
    } else {
      asks.produce(scheme().activation());
    }
  }

  void callback(const AffineForm& wanted, NodeRef node, Asks& asks) const override {
    if (!makes_activation(scheme(), node, wanted, asks)) return;
    const Product& product = *parameters();
    std::vector<Asks::Need> needs{{product.data, wanted}};
    const Constant* const weight = constant_behind(*node.graph, node.operand(product.weight));
    if (weight == nullptr) {
      needs.push_back({product.weight, wanted});
      asks.compute(needs);
      return;
    }
    const Shape& shape = node.operand_type(product.weight)->shape;
    const auto channel = product.channel(node, shape.is_ranked() ? shape : weight->shape());
    // One of the two: per tensor takes less room, and would win where both can be had.
    const bool has_channels =
        channel && reaches_constant(*node.graph, node.operand(product.weight), *channel);
    compute_with(has_channels ? scheme().weight(*channel) : per_tensor(), needs, node, asks);
  }

  void tie(NodeRef node, ParameterRules& rules) const override {
    if (scheme().options().bias_bits != 32) return;
    const Product& product = *parameters();
    const Slot data = Slot::operand(product.data);
    const Slot weight = Slot::operand(product.weight);
    // So that the weight's scale can make room for a bias that is large.
    if (is_only_reader(node, product.weight)) rules.derive(weight, {data});
    rules.derive(Slot::operand(product.bias), {data, weight});
  }

  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    return compute_codes(node, context);
  }

 private:
  void compute_with(const AffineForm& weight, std::vector<Asks::Need> needs, NodeRef node,
                    Asks& asks) const {
    needs.push_back({parameters()->weight, weight});
    if (const auto bias = bias_form(node, weight)) needs.push_back({parameters()->bias, *bias});
    asks.compute(needs);
  }

  [[nodiscard]] AffineForm per_tensor() const {
    AffineForm form = scheme().weight(0);
    form.granularity = Granularity::per_tensor();
    return form;
  }

  static bool is_only_reader(NodeRef node, std::uint32_t operand) {
    return node.operand_constant(operand) != nullptr &&
           node.graph->uses(node.operand(operand).node).size() == 1;
  }

  // Empty where the bias stays float: it is computed, or its elements are not the channels'; or
  // another product adds it too, in another scale; or that scale is not known in time.
  [[nodiscard]] std::optional<AffineForm> bias_form(NodeRef node, const AffineForm& weight) const {
    const Product& product = *parameters();
    const Constant* const bias = node.operand_constant(product.bias);
    if (bias == nullptr || !product.adds_bias(node)) return std::nullopt;
    if (!is_only_reader(node, product.bias)) return std::nullopt;
    // Scales of a weight behind moves are found where codes move, which is after the bias's.
    if (scheme().options().bias_bits == 32 && node.operand_constant(product.weight) == nullptr) {
      return std::nullopt;
    }
    const AffineForm form = scheme().bias(0);
    if (form.granularity.kind == Granularity::Kind::tensor) return form;
    if (weight.granularity.kind == Granularity::Kind::tensor) {
      AffineForm whole = form;
      whole.granularity = Granularity::per_tensor();
      return whole;
    }
    const Shape& shape = bias->shape();
    const TensorType* const weight_type = node.operand_type(product.weight);
    const bool is_channelwise =
        shape.rank() == 1 && shape[0] == weight_type->shape[weight.granularity.axis];
    return is_channelwise ? std::optional(form) : std::nullopt;
  }
};

}  // namespace

void register_products(StaticAffine::Registration& methods) {
  methods.add_parameterized<ProductMethod, ops::Conv>(&conv);
  methods.add_parameterized<ProductMethod, ops::ConvTranspose>(&conv_transpose);
  methods.add_parameterized<ProductMethod, ops::Gemm>(&gemm);
  methods.add_parameterized<ProductMethod, ops::MatMul>(&matmul);
  methods.add_parameterized<ProductMethod, ops::BatchMatMul>(&matmul);
  methods.add_parameterized<ProductMethod, ops::Linear>(&linear);
  methods.add_parameterized<ProductMethod, ops::Addmm>(&addmm);
}

}  // namespace quadrant::inline v0::static_affine
