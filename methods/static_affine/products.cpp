// Sums of products: convolutions and matrix products compute on codes of both factors.
//
//   sum (s_x (q_x - z_x)) (s_w q_w) + b  =  s_x s_w (sum (q_x - z_x) q_w + b / (s_x s_w))
//
// The sum is of integers, and so is the bias, whose scale is the product of the other two (Jacob et
// al., arXiv 1712.05877, section 2.4).
#include "static_affine/products.hpp"

#include <utility>

#include "ir/scales.hpp"
#include "quadrant/ir/operations.hpp"
#include "static_affine/activations.hpp"
#include "static_affine/coded_bias.hpp"
#include "static_affine/element_moves.hpp"
#include "static_affine/methods.hpp"

namespace quadrant::inline v0::static_affine {
namespace {

struct ProductUse {
  const Product* product = nullptr;  // null, unless the operation's row does not say it
  ChannelsOfSum channels = nullptr;
};

QUADRANT_PARAMETERIZED(ProductMethod, StaticAffine, ProductUse,
                       requires_parents(variadic(or_absent(AnyState)))) {
  using ProductMethodBase::ProductMethodBase;

  void request(NodeRef node, Asks& asks) const override {
    if (parameters().channels != nullptr) {
      asks.produce(sum_form());
    } else if (const char* const why = scheme().refusal(*node.graph, node.result())) {
      asks.refuse(why);
    } else {
      asks.produce(scheme().activation());
    }
  }

  void callback(const AffineForm& wanted, NodeRef node, Asks& asks) const override {
    const bool is_sum = wanted.role == AffineForm::Role::sum;
    if (!is_sum && !makes_activation(scheme(), node, wanted, asks)) return;
    const Product& product = product_of(node);
    const AffineForm activation = scheme().activation();
    const Asks::Need data{product.data, activation};
    const Constant* const weight = constant_behind(*node.graph, node.operand(product.weight));
    if (weight == nullptr) {
      asks.compute({data, {product.weight, activation}});
      return;
    }
    const AffineForm form = weight_form(node, *weight);
    if (is_sum && form.granularity.kind == Granularity::Kind::axis &&
        parameters().channels(node) < 0) {
      asks.refuse("its result has no axis of the weight's channels");
      return;
    }
    const bool is_derived = scheme().options().bias_bits == 32;
    if (coded_bias(node, product, form.granularity, is_derived) == nullptr) {
      asks.compute({data, {product.weight, form}});
    } else {
      asks.compute({data, {product.weight, form}, {product.bias, bias_form(form)}});
    }
  }

  void tie(NodeRef node, ParameterRules& rules) const override {
    if (scheme().options().bias_bits != 32) return;
    const Product& product = product_of(node);
    const Slot data = Slot::operand(product.data);
    const Slot weight = Slot::operand(product.weight);
    // So that the weight's scale can make room for a bias that is large. That of one which several
    // read cannot follow from the data of each: `weight_type` judges by what is known of them.
    if (is_only_reader(node, product.weight)) rules.derive(weight, {data});
    rules.derive(Slot::operand(product.bias), {data, weight});
  }

  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    const auto* const form = context.form<AffineForm>(node.result());
    if (form == nullptr || form->role != AffineForm::Role::sum) return compute_codes(node, context);
    const Product& product = product_of(node);
    const auto data = context.quantization(node.operand(product.data));
    const auto weight = context.quantization(node.operand(product.weight));
    auto type = data == nullptr || weight == nullptr
                    ? nullptr
                    : sum_type(*data, *weight, parameters().channels(node), node.type().element);
    if (type == nullptr) {
      return fail(ErrorCode::impossible, "its sums have no scales: exclude the operation",
                  {.node = std::string(node.name())});
    }
    return context.set_quantized(node.result(), std::move(type));
  }

 private:
  [[nodiscard]] const Product& product_of(NodeRef node) const {
    return parameters().product == nullptr ? *find_product(node) : *parameters().product;
  }

  static AffineForm sum_form() {
    return {AffineForm::Role::sum, ElementType::int32, Granularity::per_tensor()};
  }

  static std::optional<std::int64_t> channel_of(NodeRef node, const Product& product,
                                                const Constant& weight) {
    const Shape& shape = node.operand_type(product.weight)->shape;
    return product.channel(node, shape.is_ranked() ? shape : weight.shape());
  }

  // ONNX Runtime, up to 1.23 at least, makes operators of what it finds, which then refuse weights
  // of three axes with scales for channels, and scales along another axis than theirs, as one of
  // two products has that read one weight along different axes. OpenVINO, in 2026.4, computes
  // products by several matrices with scales for channels wrongly.
  [[nodiscard]] bool takes_channels(NodeRef node, std::int64_t channel,
                                    const Constant& weight) const {
    const Product& product = product_of(node);
    const Value operand = node.operand(product.weight);
    const auto axis = axis_at_constant(*node.graph, operand, channel);
    const KernelsTarget kernels = scheme().options().kernels;
    if (kernels == KernelsTarget::tflite) return axis.has_value();
    const Shape& shape = node.operand_type(product.weight)->shape;
    const bool is_foreign = parameters().product != nullptr;  // runs in neither
    if (is_foreign) return axis.has_value();
    if (!is_convolution(product) && shape.is_ranked() && shape.rank() > 2) return false;
    return axis && has_one_axis(*node.graph, source_of(*node.graph, operand), *axis, weight);
  }

  static Value source_of(const GraphView& graph, Value value) {
    while (graph.constant(value.node) == nullptr) value = NodeRef{&graph, value.node}.operand(0);
    return value;
  }

  static bool has_one_axis(const GraphView& graph, Value constant, std::int64_t axis,
                           const Constant& weight) {
    for (const Value value : moved_values(graph, constant)) {
      for (const Use& use : graph.uses(value.node)) {
        const NodeRef user{&graph, use.user};
        const Product* const product = find_product(user);
        const bool is_weight =
            use.result == value.result && product != nullptr && use.operand == product->weight;
        if (!is_weight) continue;
        const auto channel = channel_of(user, *product, weight);
        if (channel && axis_at_constant(graph, value, *channel) != axis) return false;
      }
    }
    return true;
  }

  // One scale for each channel where they reach the constant and runtimes take them, else one for
  // the tensor. That takes less room, and would win where both can be had.
  [[nodiscard]] AffineForm weight_form(NodeRef node, const Constant& weight) const {
    const auto channel = channel_of(node, product_of(node), weight);
    if (channel && takes_channels(node, *channel, weight)) return scheme().weight(*channel);
    AffineForm form = scheme().weight(0);
    form.granularity = Granularity::per_tensor();
    return form;
  }

  [[nodiscard]] AffineForm bias_form(const AffineForm& weight) const {
    AffineForm bias = scheme().bias(0);
    if (weight.granularity.kind == Granularity::Kind::tensor) {
      bias.granularity = Granularity::per_tensor();
    }
    return bias;
  }
};

}  // namespace

void add_product(StaticAffine::Registration& methods, const Product& product,
                 ChannelsOfSum channels) {
  methods.add_parameterized<ProductMethod>(product.kind, ProductUse{&product, channels});
}

std::shared_ptr<const UniformType> sum_type(const UniformType& data, const UniformType& weight,
                                            std::int64_t axis, ElementType expressed) {
  const auto of_data = read_exact_scales(data.scales);
  auto scales = read_exact_scales(weight.scales);
  if (!of_data || of_data->size() != 1 || !scales) return nullptr;
  for (double& scale : *scales) scale *= of_data->front();
  const auto range = integer_range(ElementType::int32).value_or(IntegerRange{});
  UniformType made{.storage = ElementType::int32,
                   .expressed = expressed,
                   .granularity = Granularity::per_tensor(),
                   .storage_min = range.min,
                   .storage_max = range.max,
                   .scales = {},
                   .zero_points = {}};
  Shape shape = Shape::scalar();
  if (weight.granularity.kind == Granularity::Kind::axis) {
    if (axis < 0) return nullptr;
    made.granularity = Granularity::per_axis(axis);
    shape = Shape{static_cast<std::int64_t>(scales->size())};
  }
  made.scales = make_exact_scales(ElementType::float64, shape, *scales);
  return std::make_shared<const UniformType>(std::move(made));
}

void register_products(StaticAffine::Registration& methods) {
  methods.add_where<ProductMethod>([](const Operation& row) { return row.product != nullptr; });
}

}  // namespace quadrant::inline v0::static_affine
