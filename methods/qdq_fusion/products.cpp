// Convolutions and matrix products: sums of 32 bits in the scale of the product, then the result's
// parameters (Jacob et al., arXiv 1712.05877, section 2.2).
#include <algorithm>
#include <cmath>
#include <string_view>

#include "ir/scales.hpp"
#include "qdq_fusion/bias.hpp"
#include "qdq_fusion/fusing.hpp"
#include "qdq_fusion/methods.hpp"
#include "quadrant/engine/macros.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"
#include "targets/kernels/conditions.hpp"
#include "targets/kernels/litert.hpp"

namespace quadrant::inline v0::qdq_fusion {
namespace {

QUADRANT_PARAMETERIZED(ProductMethod, QdqFusion, const KernelRule*,
                       requires_parents(AnyQuantizable, AnyQuantizable, or_absent(AnyState))) {
  using ProductMethodBase::ProductMethodBase;

  [[nodiscard]] Verdict check_eligibility(NodeRef node,
                                          const EligibilityContext& context) const override {
    const Verdict verdict = ProductMethodBase::check_eligibility(node, context);
    return verdict.state == State::Unquantized ? verdict : fusible(scheme(), node);
  }

  void possible(NodeRef node, Possibilities& possibilities) const override {
    add_forms(scheme(), node, possibilities);
  }

  void callback(const GivenForm& wanted, NodeRef node, Asks& asks) const override {
    const Product& product = *find_product(node);
    if (const char* const why = refuse_form(*parameters(), wanted)) {
      asks.refuse(why);
      return;
    }
    if (const char* const why = refuse_node(node)) {
      asks.refuse(why);
      return;
    }
    const char* why = "an operand is float";
    bool is_asked = false;
    for (const GivenForm& data : operand_forms(asks, node, product.data)) {
      for (const GivenForm& weight : operand_forms(asks, node, product.weight)) {
        const char* refusal = refuse_data(data, wanted);
        if (refusal == nullptr) refusal = refuse_scales(weight);
        if (refusal == nullptr) refusal = refuse_weight(node, product, data, weight);
        if (refusal == nullptr) refusal = refuse_factor(node, product, data, weight, wanted);
        BiasReading bias;
        if (refusal == nullptr) {
          bias = read_bias(node, product, channels(node, product), data, weight);
          refusal = bias.why;
        }
        if (refusal != nullptr) {
          why = refusal;
          continue;
        }
        is_asked = true;
        if (bias.form) {
          asks.compute(
              {{product.data, data}, {product.weight, weight}, {product.bias, *bias.form}});
        } else {
          asks.compute({{product.data, data}, {product.weight, weight}});
        }
      }
    }
    if (!is_asked) asks.refuse(why);
  }

  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    QUADRANT_CHECK(set_forms(node, context));
    const Product& product = *find_product(node);
    return encode_bias(node, product, channels(node, product), context);
  }

 private:
  // How many numbers a bias has; 0 where that is not known.
  [[nodiscard]] static std::int64_t channels(NodeRef node, const Product& product) {
    const Shape& shape = node.operand_type(product.weight)->shape;
    const auto axis = shape.is_ranked() ? product.channel(node, shape) : std::nullopt;
    return axis && *axis < shape.rank() ? shape[*axis].value_or(0) : 0;
  }

  [[nodiscard]] static const char* refuse_node(NodeRef node) {
    const bool is_grouped =
        node.kind() == ops::ConvTranspose::kind && node.attribute_or<std::int64_t>("group", 1) != 1;
    if (is_grouped) return "the kernel supports one group only";
    if (node.kind() != ops::Gemm::kind) return nullptr;
    if (node.attribute_or("alpha", 1.0) != 1) return "alpha is not 1";
    const bool has_bias = !node.operand(2).is_absent();
    return has_bias && node.attribute_or("beta", 1.0) != 1 ? "beta is not 1" : nullptr;
  }

  [[nodiscard]] const char* refuse_data(const GivenForm& data, const GivenForm& wanted) const {
    if (const char* const why = refuse_form(*parameters(), data)) return why;
    return data.storage() == wanted.storage() ? nullptr : "codes of different types meet";
  }

  [[nodiscard]] const char* refuse_weight(NodeRef node, const Product& product,
                                          const GivenForm& data, const GivenForm& weight) const {
    if (parameters()->mixes_signs) return refuse_byte(node, product, data, weight);
    const bool is_matmul = node.kind() == ops::MatMul::kind;
    const bool is_matrix = target_kernels::is_constant_matrix(node, product.weight);
    if (is_matmul && !is_matrix && !weight.is_per_tensor()) {
      return "its weight is no constant matrix: that has one scale";
    }
    if (const char* const why = refuse_groups(node, product, weight)) return why;
    // Of a MatMul, the first kernel is for constant matrices, and the last for any other.
    const std::string_view names = parameters()->operation;
    std::string_view first = names.substr(0, names.find(','));
    std::string_view last = names.substr(names.rfind(' ') + 1);
    if (is_matmul) (is_matrix ? last : first) = is_matrix ? first : last;
    for (const std::string_view name : {first, last}) {
      const auto& kernel = target_kernels::litert_kernel(name);
      if (const char* const why = kernel.refuse_weights(data.storage(), weight.type)) return why;
    }
    return nullptr;
  }

  // Of kernels that multiply bytes with and without a sign.
  [[nodiscard]] static const char* refuse_byte(NodeRef node, const Product& product,
                                               const GivenForm& data, const GivenForm& weight) {
    if (data.storage() == ElementType::int8 && weight.storage() == ElementType::uint8) {
      return "the runtime does not multiply data with a sign by a weight without one";
    }
    if (const char* const why = refuse_groups(node, product, weight)) return why;
    if (bit_width(weight.storage()) != 8) return "its weight's codes are not of 8 bits";
    const bool takes_zero_points = node.kind() != ops::Conv::kind || has_one_zero_point(weight);
    return takes_zero_points ? nullptr : "its channels have different zero points";
  }

  // In fixed point, a factor above 1 shifts sums of 32 bits to the left.
  [[nodiscard]] const char* refuse_factor(NodeRef node, const Product& product,
                                          const GivenForm& data, const GivenForm& weight,
                                          const GivenForm& wanted) const {
    if (parameters()->mixes_signs) return nullptr;
    const auto scales = product_scales(data.type, weight.type);
    if (!scales) return "float32 does not hold the scales of its products";
    const double factor = static_cast<double>(std::ranges::max(*scales)) / std::abs(wanted.scale);
    if (factor < 1) return nullptr;
    constexpr const char* too_far = "the scales of its operands are too far above the result's";
    constexpr double most_of_16_bits = 128;  // sums of 64 bits, of which the kernel shifts by 8
    if (data.storage() == ElementType::int16) {
      return factor < most_of_16_bits ? nullptr : too_far;
    }
    const auto elements = node.operand_type(product.weight)->shape.element_count();
    const std::int64_t results = channels(node, product);
    if (!elements || results == 0) return too_far;
    const double summed = static_cast<double>(*elements) / static_cast<double>(results);
    constexpr double largest_product = 255.0 * 256;  // and something for the bias
    return summed * largest_product * factor < 0x1p31 ? nullptr : too_far;
  }

  [[nodiscard]] static const char* refuse_scales(const GivenForm& weight) {
    if (weight.type->expressed != ElementType::float32) return "its weight is no float32";
    const auto scales = read_scales(weight.type->scales);
    const bool is_positive =
        scales && std::ranges::all_of(*scales, [](float scale) { return scale > 0; });
    return is_positive ? nullptr : "a scale of its weight is negative";
  }

  [[nodiscard]] static bool has_one_zero_point(const GivenForm& weight) {
    const Constant& zeros = weight.type->zero_points;
    if (!zeros) return true;
    const auto values = read_integers(zeros, zeros.element_count());
    return values &&
           std::ranges::adjacent_find(*values, std::ranges::not_equal_to{}) == values->end();
  }

  // One scale, or one for each channel of the sum.
  [[nodiscard]] static const char* refuse_groups(NodeRef node, const Product& product,
                                                 const GivenForm& weight) {
    const Granularity& groups = weight.type->granularity;
    if (groups.kind == Granularity::Kind::tensor) return nullptr;
    if (groups.kind == Granularity::Kind::block) return "its weight has scales of blocks";
    const Shape& shape = node.operand_type(product.weight)->shape;
    const auto axis = shape.is_ranked() ? product.channel(node, shape) : std::nullopt;
    return axis == groups.axis ? nullptr
                               : "its weight has scales along another axis than the channels";
  }
};

}  // namespace

void register_product(QdqFusion::Registration& methods, const KernelRule& rule) {
  methods.add_parameterized<ProductMethod>(rule.kind, &rule);
}

}  // namespace quadrant::inline v0::qdq_fusion
