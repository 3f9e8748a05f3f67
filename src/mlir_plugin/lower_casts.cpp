#include "mlir_plugin/lower_casts.hpp"

#include <fmt/format.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Linalg/IR/Linalg.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/Tensor/IR/Tensor.h>
#include <mlir/IR/Builders.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "mlir_plugin/types.hpp"

namespace quadrant::inline v0::mlir_plugin {
namespace {

namespace arith = mlir::arith;
using mlir::Location;
using mlir::OpBuilder;
using mlir::quant::QuantizedType;

// A quantized type, and in which types its arithmetic is done.
struct Arithmetic {
  std::vector<double> scales;
  std::vector<std::int64_t> zero_points;
  std::optional<std::int64_t> axis;  // empty: one scale
  std::int64_t min = 0;
  std::int64_t max = 0;
  bool is_signed = true;
  mlir::IntegerType storage;
  mlir::FloatType expressed;
  mlir::FloatType real;       // of products and quotients
  mlir::FloatType rounded;    // of quotients while they are clamped and rounded: exact
  mlir::IntegerType integer;  // of differences

  [[nodiscard]] bool has_zero_points() const {
    return std::ranges::any_of(zero_points, [](std::int64_t zero) { return zero != 0; });
  }
};

std::string printed(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

Expected<Arithmetic> arithmetic_of(QuantizedType type) {
  Arithmetic made;
  if (const auto whole = llvm::dyn_cast<mlir::quant::UniformQuantizedType>(type)) {
    made.scales = {whole.getScale()};
    made.zero_points = {whole.getZeroPoint()};
  } else if (const auto axis = llvm::dyn_cast<mlir::quant::UniformQuantizedPerAxisType>(type)) {
    made.scales.assign(axis.getScales().begin(), axis.getScales().end());
    made.zero_points.assign(axis.getZeroPoints().begin(), axis.getZeroPoints().end());
    made.axis = axis.getQuantizedDimension();
  } else {
    return fail(ErrorCode::impossible,
                "quadrant-lower-quant-ops knows types with one scale, or one for each index of an "
                "axis, not " +
                    printed(type));
  }
  mlir::Builder builder(type.getContext());
  made.min = type.getStorageTypeMin();
  made.max = type.getStorageTypeMax();
  made.is_signed = type.isSigned();
  made.storage = builder.getIntegerType(type.getStorageTypeIntegralWidth());
  made.expressed = llvm::cast<mlir::FloatType>(type.getExpressedType());
  const bool is_wide = type.getStorageTypeIntegralWidth() > 16;
  made.real =
      type.getExpressedType().getIntOrFloatBitWidth() < 32 ? builder.getF32Type() : made.expressed;
  made.rounded = is_wide ? builder.getF64Type() : made.real;
  made.integer = is_wide ? builder.getI64Type() : builder.getI32Type();
  return made;
}

// --- one element --------------------------------------------------------------------------------

mlir::Value constant(OpBuilder& builder, Location location, mlir::FloatType type, double value) {
  return make_op<arith::ConstantOp>(builder, location, builder.getFloatAttr(type, value));
}

mlir::Value constant(OpBuilder& builder, Location location, mlir::IntegerType type,
                     std::int64_t value) {
  return make_op<arith::ConstantOp>(builder, location, builder.getIntegerAttr(type, value));
}

mlir::Value resize(OpBuilder& builder, Location location, mlir::Value value, mlir::FloatType type) {
  auto from = llvm::cast<mlir::FloatType>(value.getType());
  if (from == type) return value;
  if (from.getWidth() < type.getWidth()) {
    return make_op<arith::ExtFOp>(builder, location, type, value);
  }
  return make_op<arith::TruncFOp>(builder, location, type, value);
}

// `zero_point` null: all zero.
mlir::Value dequantize(OpBuilder& builder, Location location, const Arithmetic& type,
                       mlir::Value code, mlir::Value scale, mlir::Value zero_point) {
  mlir::Value wide =
      type.is_signed ? make_op<arith::ExtSIOp>(builder, location, type.integer, code).getResult()
                     : make_op<arith::ExtUIOp>(builder, location, type.integer, code).getResult();
  if (zero_point) wide = make_op<arith::SubIOp>(builder, location, wide, zero_point);
  const mlir::Value real = make_op<arith::SIToFPOp>(builder, location, type.real, wide);
  const mlir::Value product = make_op<arith::MulFOp>(builder, location, real, scale);
  return resize(builder, location, product, type.expressed);
}

// Clamped before the conversion, which a real number outside of the integers does not have, and
// before the rounding, which leaves the bounds where they are.
mlir::Value quantize(OpBuilder& builder, Location location, const Arithmetic& type, TieRule ties,
                     mlir::Value real, mlir::Value scale, mlir::Value zero_point) {
  const mlir::Value wide = resize(builder, location, real, type.real);
  const mlir::Value divided = make_op<arith::DivFOp>(builder, location, wide, scale);
  const mlir::Value is_nan =
      make_op<arith::CmpFOp>(builder, location, arith::CmpFPredicate::UNO, wide, wide);
  const mlir::Value number = make_op<arith::SelectOp>(
      builder, location, is_nan, constant(builder, location, type.real, 0), divided);
  const mlir::Value quotient = resize(builder, location, number, type.rounded);
  const auto bound = [&](std::int64_t code) -> mlir::Value {
    const mlir::Value limit = constant(builder, location, type.integer, code);
    if (!zero_point) {
      return constant(builder, location, type.rounded, static_cast<double>(code));
    }
    const mlir::Value left = make_op<arith::SubIOp>(builder, location, limit, zero_point);
    return make_op<arith::SIToFPOp>(builder, location, type.rounded, left);
  };
  const mlir::Value above =
      make_op<arith::MaximumFOp>(builder, location, quotient, bound(type.min));
  const mlir::Value inside = make_op<arith::MinimumFOp>(builder, location, above, bound(type.max));
  const mlir::Value rounded =
      ties == TieRule::half_even
          ? make_op<mlir::math::RoundEvenOp>(builder, location, inside).getResult()
          : make_op<mlir::math::RoundOp>(builder, location, inside).getResult();
  mlir::Value code = make_op<arith::FPToSIOp>(builder, location, type.integer, rounded);
  if (zero_point) code = make_op<arith::AddIOp>(builder, location, code, zero_point);
  if (type.storage == type.integer) return code;
  return make_op<arith::TruncIOp>(builder, location, type.storage, code);
}

// --- all elements -------------------------------------------------------------------------------

using Element = std::function<mlir::Value(OpBuilder&, Location, mlir::Value element,
                                          mlir::Value scale, mlir::Value zero_point)>;

// `element` of each element of `operand`, a scalar or a ranked tensor.
mlir::Value for_each(OpBuilder& builder, Location location, const Arithmetic& type,
                     mlir::Value operand, mlir::Type element_type, const Element& element) {
  const auto own_scale = [&](OpBuilder& inside) {
    return constant(inside, location, type.real, type.scales.front());
  };
  const auto own_zero = [&](OpBuilder& inside) -> mlir::Value {
    if (!type.has_zero_points()) return {};
    return constant(inside, location, type.integer, type.zero_points.front());
  };
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(operand.getType());
  if (!tensor) {
    return element(builder, location, operand, own_scale(builder), own_zero(builder));
  }
  const auto rank = static_cast<unsigned>(tensor.getRank());
  const mlir::AffineMap all = builder.getMultiDimIdentityMap(rank);
  llvm::SmallVector<mlir::Value> inputs{operand};
  llvm::SmallVector<mlir::AffineMap> maps{all};
  if (type.axis) {
    const mlir::AffineMap along = mlir::AffineMap::get(
        rank, 0, builder.getAffineDimExpr(static_cast<unsigned>(*type.axis)), builder.getContext());
    const auto count = static_cast<std::int64_t>(type.scales.size());
    llvm::SmallVector<mlir::Attribute> scales;
    llvm::SmallVector<mlir::Attribute> zero_points;
    for (const double scale : type.scales) {
      scales.push_back(builder.getFloatAttr(type.real, scale));
    }
    for (const std::int64_t zero : type.zero_points) {
      zero_points.push_back(builder.getIntegerAttr(type.integer, zero));
    }
    const auto add = [&](mlir::Type of, llvm::ArrayRef<mlir::Attribute> values) {
      const auto contents =
          mlir::DenseElementsAttr::get(mlir::RankedTensorType::get({count}, of), values);
      inputs.push_back(make_op<arith::ConstantOp>(builder, location, contents));
      maps.push_back(along);
    };
    add(type.real, scales);
    if (type.has_zero_points()) add(type.integer, zero_points);
  }
  maps.push_back(all);
  const mlir::Value out = make_op<mlir::tensor::EmptyOp>(
      builder, location, mlir::tensor::getMixedSizes(builder, location, operand), element_type);
  const llvm::SmallVector<mlir::utils::IteratorType> loops(rank,
                                                           mlir::utils::IteratorType::parallel);
  const auto body = [&](OpBuilder& inside, Location at, mlir::ValueRange elements) {
    const mlir::Value scale = type.axis ? elements[1] : own_scale(inside);
    mlir::Value zero_point;
    if (type.has_zero_points()) zero_point = type.axis ? elements[2] : own_zero(inside);
    make_op<mlir::linalg::YieldOp>(inside, at, element(inside, at, elements[0], scale, zero_point));
  };
  return make_op<mlir::linalg::GenericOp>(builder, location, tensor.clone(element_type), inputs,
                                          out, maps, loops, body)
      .getResult(0);
}

// --- casts --------------------------------------------------------------------------------------

mlir::Type element_of(mlir::Type type) { return mlir::getElementTypeOrSelf(type); }

mlir::Value cast_storage(OpBuilder& builder, Location location, mlir::Value value,
                         mlir::Type type) {
  mlir::OperationState state(location, "quant.scast");
  state.addOperands(value);
  state.addTypes(type);
  return builder.create(state)->getResult(0);
}

mlir::Value lower_dequantize(mlir::Operation* op, const Arithmetic& type) {
  OpBuilder builder(op);
  const mlir::Value quantized = op->getOperand(0);
  const mlir::Value codes = cast_storage(builder, op->getLoc(), quantized,
                                         with_element(quantized.getType(), type.storage));
  return for_each(builder, op->getLoc(), type, codes, type.expressed,
                  [&](OpBuilder& inside, Location at, mlir::Value code, mlir::Value scale,
                      mlir::Value zero_point) {
                    return dequantize(inside, at, type, code, scale, zero_point);
                  });
}

mlir::Value lower_quantize(mlir::Operation* op, const Arithmetic& type, TieRule ties) {
  OpBuilder builder(op);
  const mlir::Value codes =
      for_each(builder, op->getLoc(), type, op->getOperand(0), type.storage,
               [&](OpBuilder& inside, Location at, mlir::Value real, mlir::Value scale,
                   mlir::Value zero_point) {
                 return quantize(inside, at, type, ties, real, scale, zero_point);
               });
  return cast_storage(builder, op->getLoc(), codes, op->getResult(0).getType());
}

// From integers to a quantized type and back; and what nobody reads.
void drop_storage_casts(mlir::Operation* root) {
  std::vector<mlir::Operation*> casts;
  root->walk([&](mlir::Operation* op) {
    if (op->getName().getStringRef() == "quant.scast") casts.push_back(op);
  });
  for (mlir::Operation* const cast : casts) {
    mlir::Operation* const before = cast->getOperand(0).getDefiningOp();
    if (before != nullptr && before->getName().getStringRef() == "quant.scast" &&
        before->getOperand(0).getType() == cast->getResult(0).getType()) {
      cast->getResult(0).replaceAllUsesWith(before->getOperand(0));
    }
  }
  // Users come after what they use.
  for (mlir::Operation* const cast : llvm::reverse(casts)) {
    if (cast->use_empty()) cast->erase();
  }
}

// Versions before 20 do not look at it.
Expected<void> check_axis(const Arithmetic& arithmetic, mlir::Type type) {
  if (!arithmetic.axis) return {};
  const auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  const auto count = static_cast<std::int64_t>(arithmetic.scales.size());
  if (tensor && *arithmetic.axis >= 0 && *arithmetic.axis < tensor.getRank()) {
    const std::int64_t extent = tensor.getDimSize(static_cast<unsigned>(*arithmetic.axis));
    if (extent == count || mlir::ShapedType::isDynamic(extent)) return {};
  }
  return fail(ErrorCode::invalid_model,
              fmt::format("{} scales, one for each index of axis {}, are not for {}", count,
                          *arithmetic.axis, printed(type)));
}

// Scalars and ranked tensors, whose encoding would say of the elements what nobody here knows.
bool is_lowered(mlir::Type type) {
  if (const auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type)) {
    return !tensor.getEncoding();
  }
  return !llvm::isa<mlir::ShapedType>(type);
}

}  // namespace

Expected<void> lower_casts(mlir::Operation* root, TieRule ties, mlir::Location& at) {
  struct Cast {
    mlir::Operation* op = nullptr;
    bool is_quantize = false;
    Arithmetic type;
  };
  std::vector<mlir::Operation*> found;
  root->walk([&](mlir::Operation* op) {
    const llvm::StringRef name = op->getName().getStringRef();
    if (name == "quant.qcast" || name == "quant.dcast") found.push_back(op);
  });
  std::vector<Cast> casts;
  casts.reserve(found.size());
  for (mlir::Operation* const op : found) {
    at = op->getLoc();
    const bool is_quantize = op->getName().getStringRef() == "quant.qcast";
    const mlir::Type type = is_quantize ? op->getResult(0).getType() : op->getOperand(0).getType();
    const auto quantized = llvm::dyn_cast<QuantizedType>(element_of(type));
    if (!quantized || !is_lowered(type)) {
      return fail(
          ErrorCode::impossible,
          "quadrant-lower-quant-ops knows scalars and ranked tensors without an encoding, not " +
              printed(type));
    }
    QUADRANT_TRY(Arithmetic arithmetic, arithmetic_of(quantized));
    QUADRANT_CHECK(check_axis(arithmetic, type));
    casts.push_back({op, is_quantize, std::move(arithmetic)});
  }
  for (const Cast& cast : casts) {
    const mlir::Value made = cast.is_quantize ? lower_quantize(cast.op, cast.type, ties)
                                              : lower_dequantize(cast.op, cast.type);
    cast.op->getResult(0).replaceAllUsesWith(made);
    cast.op->erase();
  }
  drop_storage_casts(root);
  return {};
}

}  // namespace quadrant::inline v0::mlir_plugin
