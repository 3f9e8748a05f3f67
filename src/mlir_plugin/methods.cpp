#include "mlir_plugin/methods.hpp"

#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "mlir_plugin/seen.hpp"
#include "static_affine/products.hpp"
#include "weight_only/weighted.hpp"

namespace quadrant::inline v0::mlir_plugin {
namespace {

std::int64_t divided_axis_of(NodeRef node, std::uint32_t operand, std::int64_t axis,
                             const WeightOnlyOptions& options) {
  const TensorType* const type = node.operand_type(operand);
  return type == nullptr ? -1 : divided_axis(type->shape, axis, options);
}

// `Op`: what names the attributes.
template <class Op>
weight_only::Weighted weights(NodeRef node, const WeightOnlyOptions& options) {
  const std::vector<std::int64_t> none;
  const auto channels = node.attribute_or(Op::channels, none);
  const auto contracted = node.attribute_or(Op::contracted, none);
  weight_only::Weighted weighted;
  for (std::uint32_t i = 0; i < channels.size(); ++i) {
    if (channels[i] < 0 && contracted[i] < 0) continue;  // it may not be a weight
    weighted.weights.push_back({.operand = i,
                                .channel = channels[i],
                                .contracted = divided_axis_of(node, i, contracted[i], options)});
  }
  return weighted;
}

struct ProductOp {
  static constexpr std::string_view kind = MlirProduct::kind;
  NodeRef node;
};

QUADRANT_CONSUMER(MlirProductMethod, WeightOnly, ProductOp,
                  requires_parents(AnyQuantizable, AnyQuantizable, variadic(or_absent(AnyState))),
                  requires_parents(AnyQuantizable, AnyUnquantized, variadic(or_absent(AnyState))),
                  requires_parents(AnyUnquantized, AnyQuantizable, variadic(or_absent(AnyState)))) {
  void request(NodeRef node, Asks& asks) const override {
    weight_only::request_weights(scheme(), node, weights<MlirProduct>(node, scheme().options()),
                                 asks);
  }
};

struct LookupOp {
  static constexpr std::string_view kind = MlirLookup::kind;
  NodeRef node;
};

// A table may be any of the operands: a body's are behind the others.
QUADRANT_CONSUMER(MlirLookupMethod, WeightOnly, LookupOp,
                  requires_parents(variadic(or_absent(AnyState)))) {
  void request(NodeRef node, Asks& asks) const override {
    const auto rows = node.attribute_or(MlirLookup::channels, std::vector<std::int64_t>());
    for (std::uint32_t i = 0; i < rows.size(); ++i) {
      if (rows[i] < 0) continue;
      const TensorType* const type = node.operand_type(i);
      const std::int64_t last = type == nullptr ? -1 : type->shape.rank() - 1;
      const weight_only::Weight table{
          .operand = i,
          .channel = rows[i],
          .contracted = last == rows[i] ? -1 : divided_axis_of(node, i, last, scheme().options())};
      weight_only::request_weights(scheme(), node, {.weights = {table}}, asks);
    }
  }
};

struct CallOp {
  static constexpr std::string_view kind = MlirCall::kind;
  NodeRef node;
};

QUADRANT_CONSUMER(MlirCallMethod, WeightOnly, CallOp,
                  requires_parents(variadic(or_absent(AnyState)))) {
  void request(NodeRef node, Asks& asks) const override {
    weight_only::request_weights(scheme(), node, weights<MlirCall>(node, scheme().options()), asks);
  }
};

// --- static_affine ------------------------------------------------------------------------------

std::optional<std::int64_t> weight_channel(NodeRef node, const Shape& /*weight*/) {
  const auto channels = node.attribute_or(MlirProduct::channels, std::vector<std::int64_t>());
  return channels.size() < 2 || channels[1] < 0 ? std::nullopt : std::optional(channels[1]);
}

bool adds_no_bias(NodeRef /*node*/) { return false; }

// What it adds to are real numbers, added behind the sum: no operand is a bias.
constexpr std::uint32_t no_operand = std::numeric_limits<std::uint32_t>::max();
constexpr Product mlir_product{MlirProduct::kind, 0,  1,           no_operand,
                               weight_channel,    -1, adds_no_bias};

std::int64_t channels_of_sum(NodeRef node) {
  return node.attribute_or(MlirProduct::of_sum, std::int64_t{-1});
}

struct RealProductOp {
  static constexpr std::string_view kind = MlirRealProduct::kind;
  NodeRef node;
};

QUADRANT_QUANTIZER(MlirRealProductMethod, StaticAffine, RealProductOp) {
  void request(NodeRef node, Asks& asks) const override {
    asks.refuse(node.attribute_or(MlirRealProduct::reason, std::string()));
  }
  void callback(const AffineForm& /*wanted*/, NodeRef node, Asks& asks) const override {
    request(node, asks);
  }
  [[nodiscard]] Expected<void> rewriter(NodeRef /*node*/,
                                        RewriteContext& /*context*/) const override {
    return {};
  }
};

}  // namespace

std::int64_t divided_axis(const Shape& shape, std::int64_t axis, const WeightOnlyOptions& options) {
  if (axis < 0 || !shape.is_ranked() || axis >= shape.rank()) return -1;
  if (!options.type.empty()) return axis;  // the last block may be a short one
  return shape[axis].value_or(1) % options.block_size == 0 ? axis : -1;
}

Expected<Registry> mlir_static_registry(StaticAffineOptions options, bool has_sums) {
  QUADRANT_TRY(StaticAffine scheme, StaticAffine::make(std::move(options)));
  RegistryBuilder builder = RegistryBuilder::of(std::move(scheme));
  StaticAffine::Registration methods(builder);
  static_affine::add_product(methods, mlir_product, has_sums ? channels_of_sum : nullptr);
  methods.add<MlirRealProductMethod>();
  return std::move(builder).freeze();
}

Expected<Registry> mlir_weight_only_registry(const WeightOnlyOptions& options) {
  QUADRANT_TRY(WeightOnly scheme, WeightOnly::make(options));
  RegistryBuilder builder = RegistryBuilder::of(std::move(scheme));
  WeightOnly::Registration methods(builder);
  methods.add<MlirProductMethod>();
  methods.add<MlirLookupMethod>();
  methods.add<MlirCallMethod>();
  return std::move(builder).freeze();
}

}  // namespace quadrant::inline v0::mlir_plugin
