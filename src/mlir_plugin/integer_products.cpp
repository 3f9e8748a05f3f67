#include "mlir_plugin/integer_products.hpp"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Linalg/IR/Linalg.h>
#include <mlir/Dialect/Tensor/IR/Tensor.h>
#include <mlir/IR/Builders.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mlir_plugin/seen.hpp"
#include "mlir_plugin/tosa_products.hpp"
#include "mlir_plugin/types.hpp"
#include "mlir_plugin/unread.hpp"
#include "static_affine/products.hpp"

namespace quadrant::inline v0::mlir_plugin {
namespace {

namespace arith = mlir::arith;
namespace linalg = mlir::linalg;

// The one zero point of all codes; empty where they differ or cannot be read.
std::optional<std::int64_t> common_zero_point(const UniformType& type) {
  if (!type.zero_points) return 0;
  const auto zeros = read_integers(type.zero_points, type.zero_points.element_count());
  if (!zeros || zeros->empty()) return std::nullopt;
  const bool is_common =
      std::ranges::all_of(*zeros, [&](std::int64_t zero) { return zero == zeros->front(); });
  return is_common ? std::optional(zeros->front()) : std::nullopt;
}

std::int64_t largest_magnitude(const UniformType& type, std::int64_t zero_point) {
  return std::max(std::abs(type.storage_min - zero_point), std::abs(type.storage_max - zero_point));
}

// Whether any partial sum over these extents is a 32-bit integer, as far as they are known.
bool fits_32_bits(llvm::ArrayRef<std::int64_t> summed, std::int64_t largest_product) {
  auto terms = static_cast<double>(largest_product);
  for (const std::int64_t extent : summed) {
    if (mlir::ShapedType::isDynamic(extent)) return false;
    terms *= static_cast<double>(extent);
  }
  return terms <= std::numeric_limits<std::int32_t>::max();
}

llvm::SmallVector<std::int64_t> summed_extents(linalg::LinalgOp op) {
  const auto iterators = op.getIteratorTypesArray();
  llvm::SmallVector<std::int64_t> summed;
  for (const auto& [extent, iterator] : llvm::zip_equal(op.getStaticLoopRanges(), iterators)) {
    if (iterator == mlir::utils::IteratorType::reduction) summed.push_back(extent);
  }
  return summed;
}

bool is_signed(const UniformType& type) { return type.storage_min < 0; }

struct Sum {
  mlir::OpBuilder builder;
  linalg::LinalgOp op;
  mlir::Value zero;  // where the sum begins
  std::int64_t data_zero_point = 0;
  std::int64_t weight_zero_point = 0;
  bool data_is_signed = true;
  bool weight_is_signed = true;
};

mlir::Value integer(mlir::OpBuilder& builder, mlir::Location location, std::int64_t value) {
  return make_op<arith::ConstantOp>(builder, location,
                                    builder.getI32IntegerAttr(static_cast<std::int32_t>(value)));
}

// Whether it reads data and weight, and puts the sum, as `op` does.
bool has_maps_of(linalg::LinalgOp quantized, linalg::LinalgOp op) {
  const llvm::SmallVector<mlir::AffineMap> ours = quantized.getIndexingMapsArray();
  const llvm::SmallVector<mlir::AffineMap> theirs = op.getIndexingMapsArray();
  return ours[0] == theirs[0] && ours[1] == theirs[1] && ours.back() == theirs.back();
}

template <class Plain, class Quantized>
mlir::Value sum_named(Sum& sum) {
  if (!llvm::isa<Plain>(sum.op.getOperation())) return {};
  const mlir::Location location = sum.op.getLoc();
  llvm::SmallVector<mlir::NamedAttribute> window;
  for (const llvm::StringRef name : {"strides", "dilations"}) {
    if (const mlir::Attribute found = sum.op->getAttr(name)) {
      window.push_back(sum.builder.getNamedAttr(name, found));
    }
  }
  const llvm::SmallVector<mlir::Value> inputs{
      sum.op->getOperand(0), sum.op->getOperand(1),
      integer(sum.builder, location, sum.data_zero_point),
      integer(sum.builder, location, sum.weight_zero_point)};
  auto made = make_op<Quantized>(sum.builder, location, mlir::TypeRange{sum.zero.getType()},
                                 mlir::ValueRange(inputs), mlir::ValueRange{sum.zero},
                                 llvm::ArrayRef(window));
  // From version 21 on, what is called a product of matrices may have maps of its own.
  if (!has_maps_of(llvm::cast<linalg::LinalgOp>(made.getOperation()), sum.op)) {
    made->erase();
    return {};
  }
  return made->getResult(0);
}

template <class... Pairs>
struct NamedSums;

template <class Plain, class Quantized, class... Rest>
struct NamedSums<Plain, Quantized, Rest...> {
  static mlir::Value make(Sum& sum) {
    if (const mlir::Value made = sum_named<Plain, Quantized>(sum)) return made;
    return NamedSums<Rest...>::make(sum);
  }
};

template <>
struct NamedSums<> {
  static mlir::Value make(Sum& /*sum*/) { return {}; }
};

using Named = NamedSums<linalg::MatmulOp, linalg::QuantizedMatmulOp,            //
                        linalg::BatchMatmulOp, linalg::QuantizedBatchMatmulOp,  //
                        linalg::Conv2DNhwcHwcfOp, linalg::Conv2DNhwcHwcfQOp,    //
                        linalg::Conv2DNhwcFhwcOp, linalg::Conv2DNhwcFhwcQOp,    //
                        linalg::DepthwiseConv2DNhwcHwcOp, linalg::DepthwiseConv2DNhwcHwcQOp,
                        linalg::DepthwiseConv2DNhwcHwcmOp, linalg::DepthwiseConv2DNhwcHwcmQOp>;

// By the same maps. Whoever has no name for it, and codes without a sign.
mlir::Value sum_generic(Sum& sum) {
  const auto less = [&](mlir::OpBuilder& inside, mlir::Location at, mlir::Value code, bool has_sign,
                        std::int64_t zero_point) {
    const mlir::Type type = inside.getI32Type();
    const mlir::Value wide = has_sign ? make_op<arith::ExtSIOp>(inside, at, type, code).getResult()
                                      : make_op<arith::ExtUIOp>(inside, at, type, code).getResult();
    if (zero_point == 0) return wide;
    return make_op<arith::SubIOp>(inside, at, wide, integer(inside, at, zero_point)).getResult();
  };
  const auto body = [&](mlir::OpBuilder& inside, mlir::Location at, mlir::ValueRange elements) {
    const mlir::Value a = less(inside, at, elements[0], sum.data_is_signed, sum.data_zero_point);
    const mlir::Value b =
        less(inside, at, elements[1], sum.weight_is_signed, sum.weight_zero_point);
    const mlir::Value product = make_op<arith::MulIOp>(inside, at, a, b);
    const mlir::Value added = make_op<arith::AddIOp>(inside, at, elements[2], product);
    make_op<linalg::YieldOp>(inside, at, added);
  };
  const llvm::SmallVector<mlir::Value> inputs{sum.op->getOperand(0), sum.op->getOperand(1)};
  return make_op<linalg::GenericOp>(sum.builder, sum.op.getLoc(), sum.zero.getType(), inputs,
                                    sum.zero, sum.op.getIndexingMapsArray(),
                                    sum.op.getIteratorTypesArray(), body)
      ->getResult(0);
}

bool is_zero(mlir::Value value) {
  // What repeats, and is shaped like, a bias.
  while (mlir::Operation* const maker = value.getDefiningOp()) {
    if (!llvm::isa<linalg::BroadcastOp, mlir::tensor::ExpandShapeOp, mlir::tensor::CollapseShapeOp>(
            maker)) {
      break;
    }
    value = maker->getOperand(0);
  }
  if (auto fill = value.getDefiningOp<linalg::FillOp>()) value = fill.getInputs()[0];
  if (const auto number = number_of(value)) return number->isZero();
  mlir::Operation* const maker = value.getDefiningOp();
  const auto dense = llvm::dyn_cast_if_present<mlir::DenseFPElementsAttr>(
      maker == nullptr ? mlir::Attribute() : contents_of(*maker));
  return dense && dense.isSplat() && dense.getSplatValue<llvm::APFloat>().isZero();
}

// `summed`: the extents over which it sums, of which its type may not know all.
mlir::Value sum_linalg(linalg::LinalgOp op, llvm::ArrayRef<std::int64_t> summed,
                       const UniformType& data, const UniformType& weight, std::int64_t channels) {
  if (op->getNumResults() != 1 || data.granularity.kind != Granularity::Kind::tensor ||
      weight.granularity.kind == Granularity::Kind::block) {
    return {};
  }
  const auto data_zero_point = common_zero_point(data);
  const auto weight_zero_point = common_zero_point(weight);
  if (!data_zero_point || !weight_zero_point) return {};
  const std::int64_t largest =
      largest_magnitude(data, *data_zero_point) * largest_magnitude(weight, *weight_zero_point);
  const ElementType expressed = to_tensor_type(op->getResult(0).getType()).element;
  const auto type = static_affine::sum_type(data, weight, channels, expressed);
  if (!fits_32_bits(summed, largest) || !type) return {};
  // The product of two scales may be none of the result's type, float16.
  const auto quantized = to_quantized_type(op->getContext(), *type);
  if (!quantized) return {};

  mlir::OpBuilder builder(op);
  const mlir::Location location = op->getLoc();
  const mlir::Value init = op->getOperand(2);
  const mlir::Value empty = make_op<mlir::tensor::EmptyOp>(
      builder, location, mlir::tensor::getMixedSizes(builder, location, init),
      builder.getI32Type());
  const mlir::Value zero =
      make_op<linalg::FillOp>(builder, location, integer(builder, location, 0), empty).getResult(0);
  Sum sum{builder,          op, zero, *data_zero_point, *weight_zero_point, is_signed(data),
          is_signed(weight)};
  mlir::Value made;
  if (sum.data_is_signed && sum.weight_is_signed) made = Named::make(sum);
  if (!made) made = sum_generic(sum);
  const auto cast = [&](llvm::StringRef name, mlir::Value value, mlir::Type element) {
    mlir::OperationState state(location, name);
    state.addOperands(value);
    state.addTypes(with_element(value.getType(), element));
    return sum.builder.create(state)->getResult(0);
  };
  const mlir::Value real =
      cast("quant.dcast", cast("quant.scast", made, *quantized), quantized->getExpressedType());
  if (is_zero(init)) return real;
  return make_op<arith::AddFOp>(sum.builder, location, real, init);
}

// `made` with its last two axes as one where `like` has one axis less.
mlir::Value merge_last_axes(mlir::Value made, mlir::Type like) {
  const auto rank = llvm::cast<mlir::ShapedType>(made.getType()).getRank();
  const auto wanted = llvm::cast<mlir::ShapedType>(like).getRank();
  if (rank == wanted) return made;
  llvm::SmallVector<mlir::ReassociationIndices> groups;
  for (std::int64_t axis = 0; axis < wanted; ++axis) groups.push_back({axis});
  groups.back().push_back(wanted);
  mlir::OpBuilder builder(made.getContext());
  builder.setInsertionPointAfterValue(made);
  return make_op<mlir::tensor::CollapseShapeOp>(builder, made.getLoc(), like, made, groups)
      .getResult();
}

}  // namespace

std::string why_in_floats(mlir::Operation* op) {
  // Of 8 bits, whatever the zero points are.
  constexpr std::int64_t largest = std::int64_t{255} * 128;
  llvm::SmallVector<std::int64_t> summed;
  if (const auto sum = llvm::dyn_cast<linalg::LinalgOp>(op)) {
    summed = summed_extents(sum);
  } else if (const TosaProduct* const product = find_tosa_product(*op)) {
    if (std::string why = why_not_in_linalg(*product, *op); !why.empty()) return why;
    summed = llvm::to_vector(summed_extents(*product, *op));
  }
  return fits_32_bits(summed, largest)
             ? ""
             : "its sums may not fit into 32 bits, or how long they are is not known";
}

mlir::Value sum_integers(mlir::Operation* operation, const UniformType& data,
                         const UniformType& weight, std::int64_t channels) {
  if (auto op = llvm::dyn_cast<linalg::LinalgOp>(operation)) {
    return sum_linalg(op, summed_extents(op), data, weight, channels);
  }
  const TosaProduct* const product = find_tosa_product(*operation);
  const auto padding = common_zero_point(data);  // the code of a real zero
  if (product == nullptr || !padding) return {};
  linalg::LinalgOp op = as_linalg(*product, *operation, *padding);
  const mlir::Value made =
      sum_linalg(op, summed_extents(*product, *operation), data, weight, channels);
  // With what it began with, which is not read where that is zero.
  erase_unread({op.getOperation()});
  return made ? merge_last_axes(made, operation->getResult(0).getType()) : made;
}

}  // namespace quadrant::inline v0::mlir_plugin
