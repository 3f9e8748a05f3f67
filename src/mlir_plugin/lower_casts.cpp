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
#include <span>
#include <utility>
#include <vector>

#include "mlir_plugin/element_reads.hpp"
#include "mlir_plugin/quantized_parts.hpp"
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
  std::optional<std::int64_t> axis;  // empty: one scale, or blocks
  // Of blocks, along each axis; empty: none.
  std::vector<std::int64_t> blocks;
  Shape scale_shape;
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
  } else if (auto blocks = to_block_type(type)) {
    made.scales = std::move(blocks->scales);
    made.zero_points = std::move(blocks->zero_points);
    made.blocks = std::move(blocks->blocks);
    made.scale_shape = std::move(blocks->scale_shape);
  } else {
    return fail(ErrorCode::impossible,
                "quadrant-lower-quant-ops knows types with one scale, one for each index of an "
                "axis, or for each block where the type says the block of each axis, not " +
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

// --- scales of channels and blocks --------------------------------------------------------------

struct Parameters {
  mlir::Value scales;
  mlir::Value zero_points;  // null: all zero
};

bool has_one_scale(const Arithmetic& type) { return !type.axis && type.blocks.empty(); }

// As constants, with as many axes as they differ along.
Parameters held_parameters(OpBuilder& builder, Location location, const Arithmetic& type) {
  std::span<const std::int64_t> extents;  // none: all share one
  if (!type.blocks.empty()) extents = type.scale_shape.known_extents();
  const auto count = static_cast<std::int64_t>(type.scales.size());
  const llvm::ArrayRef<std::int64_t> shape =
      type.axis ? llvm::ArrayRef(count) : llvm::ArrayRef(extents.data(), extents.size());
  const auto held = [&](mlir::Type of, llvm::ArrayRef<mlir::Attribute> values) -> mlir::Value {
    return make_part(builder, location,
                     mlir::DenseElementsAttr::get(mlir::RankedTensorType::get(shape, of), values));
  };
  llvm::SmallVector<mlir::Attribute> values;
  for (const double scale : type.scales) values.push_back(builder.getFloatAttr(type.real, scale));
  Parameters made{held(type.real, values), {}};
  if (!type.has_zero_points()) return made;
  values.clear();
  for (const std::int64_t zero : type.zero_points) {
    values.push_back(builder.getIntegerAttr(type.integer, zero));
  }
  made.zero_points = held(type.integer, values);
  return made;
}

// A tensor whose blocks have axes of their own, and where its scales are along them.
struct Layout {
  llvm::SmallVector<mlir::ReassociationIndices> groups;  // empty: as it is
  llvm::SmallVector<std::int64_t> extents;
  mlir::AffineMap scales;
};

Layout layout_of(OpBuilder& builder, const Arithmetic& type, mlir::RankedTensorType tensor) {
  Layout made;
  made.extents.assign(tensor.getShape().begin(), tensor.getShape().end());
  llvm::SmallVector<mlir::AffineExpr> along;
  if (type.axis) along.push_back(builder.getAffineDimExpr(static_cast<unsigned>(*type.axis)));
  if (!type.blocks.empty()) {
    made.extents.clear();
    for (const auto& [extent, block] : llvm::zip_equal(tensor.getShape(), type.blocks)) {
      mlir::ReassociationIndices& group = made.groups.emplace_back();
      along.push_back(builder.getAffineDimExpr(static_cast<unsigned>(made.extents.size())));
      group.push_back(static_cast<std::int64_t>(made.extents.size()));
      made.extents.push_back(block == 1 ? extent : extent / block);
      if (block == 1) continue;
      group.push_back(static_cast<std::int64_t>(made.extents.size()));
      made.extents.push_back(block);
    }
  }
  made.scales = mlir::AffineMap::get(static_cast<unsigned>(made.extents.size()), 0, along,
                                     builder.getContext());
  return made;
}

// --- all elements -------------------------------------------------------------------------------

using Element = std::function<mlir::Value(OpBuilder&, Location, mlir::Value element,
                                          mlir::Value scale, mlir::Value zero_point)>;

// `element` of each element of `operand`, a scalar or a ranked tensor. `given`: instead of those of
// the type, unless it is empty.
mlir::Value for_each(OpBuilder& builder, Location location, const Arithmetic& type,
                     mlir::Value operand, mlir::Type element_type, const Element& element,
                     const Parameters& given = {}) {
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
  const Layout layout = layout_of(builder, type, tensor);
  if (!layout.groups.empty()) {
    operand = make_op<mlir::tensor::ExpandShapeOp>(
        builder, location, mlir::RankedTensorType::get(layout.extents, tensor.getElementType()),
        operand, layout.groups);
  }
  const auto rank = static_cast<unsigned>(layout.extents.size());
  const mlir::AffineMap all = builder.getMultiDimIdentityMap(rank);
  llvm::SmallVector<mlir::Value> inputs{operand};
  llvm::SmallVector<mlir::AffineMap> maps{all};
  const bool is_shared = has_one_scale(type) && !given.scales;
  if (!is_shared) {
    const Parameters parameters = given.scales ? given : held_parameters(builder, location, type);
    for (const mlir::Value each : {parameters.scales, parameters.zero_points}) {
      if (!each) continue;
      inputs.push_back(each);
      maps.push_back(layout.scales);
    }
  }
  maps.push_back(all);
  const mlir::Value out = make_op<mlir::tensor::EmptyOp>(
      builder, location, mlir::tensor::getMixedSizes(builder, location, operand), element_type);
  const llvm::SmallVector<mlir::utils::IteratorType> loops(rank,
                                                           mlir::utils::IteratorType::parallel);
  const auto body = [&](OpBuilder& inside, Location at, mlir::ValueRange elements) {
    const mlir::Value scale = is_shared ? own_scale(inside) : elements[1];
    mlir::Value zero_point;
    if (type.has_zero_points()) zero_point = is_shared ? own_zero(inside) : elements[2];
    make_op<mlir::linalg::YieldOp>(inside, at, element(inside, at, elements[0], scale, zero_point));
  };
  auto shape = llvm::cast<mlir::RankedTensorType>(operand.getType());
  const mlir::Value made =
      make_op<mlir::linalg::GenericOp>(builder, location, shape.clone(element_type), inputs, out,
                                       maps, loops, body)
          .getResult(0);
  if (layout.groups.empty()) return made;
  const mlir::Value as_before = make_op<mlir::tensor::CollapseShapeOp>(
      builder, location, tensor.clone(element_type), made, layout.groups);
  return as_before;
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

mlir::Value dequantize_all(OpBuilder& builder, Location location, const Arithmetic& type,
                           mlir::Value codes, const Parameters& given = {}) {
  return for_each(
      builder, location, type, codes, type.expressed,
      [&](OpBuilder& inside, Location at, mlir::Value code, mlir::Value scale,
          mlir::Value zero_point) { return dequantize(inside, at, type, code, scale, zero_point); },
      given);
}

mlir::Value lower_dequantize(mlir::Operation* op, const Arithmetic& type) {
  OpBuilder builder(op);
  const mlir::Value quantized = op->getOperand(0);
  const mlir::Value codes = cast_storage(builder, op->getLoc(), quantized,
                                         with_element(quantized.getType(), type.storage));
  return dequantize_all(builder, op->getLoc(), type, codes);
}

// Where the scale of each element is.
mlir::AffineMap scale_map(OpBuilder& builder, const Arithmetic& type, unsigned rank) {
  llvm::SmallVector<mlir::AffineExpr> along;
  if (type.axis) along.push_back(builder.getAffineDimExpr(static_cast<unsigned>(*type.axis)));
  for (const std::int64_t block : type.blocks) {
    const mlir::AffineExpr axis = builder.getAffineDimExpr(static_cast<unsigned>(along.size()));
    along.push_back(axis.floorDiv(static_cast<std::uint64_t>(block)));
  }
  return mlir::AffineMap::get(rank, 0, along, builder.getContext());
}

// An element that is read alone is dequantized where it is read: a table of which a few rows are
// looked up is never there in real numbers. `held`: empty where all share one scale of the type.
void lower_single_reads(llvm::ArrayRef<mlir::tensor::ExtractOp> reads, const Arithmetic& type,
                        mlir::Value codes, const Parameters& held) {
  for (mlir::tensor::ExtractOp read : reads) {
    OpBuilder inside(read);
    const Location at = read.getLoc();
    const auto rank = static_cast<unsigned>(read.getIndices().size());
    const auto element = [&](mlir::Value tensor, mlir::AffineMap map) {
      return read_element(inside, at, tensor, map, read.getIndices());
    };
    mlir::Value scale;
    mlir::Value zero_point;
    if (held.scales) {
      const mlir::AffineMap map = scale_map(inside, type, rank);
      scale = element(held.scales, map);
      if (held.zero_points) zero_point = element(held.zero_points, map);
    } else {
      scale = constant(inside, at, type.real, type.scales.front());
      if (type.has_zero_points()) {
        zero_point = constant(inside, at, type.integer, type.zero_points.front());
      }
    }
    read.replaceAllUsesWith(dequantize(
        inside, at, type, element(codes, inside.getMultiDimIdentityMap(rank)), scale, zero_point));
    read.erase();
  }
}

void lower_single_reads(mlir::Operation* op, const Arithmetic& type) {
  const std::vector<mlir::tensor::ExtractOp> reads = single_reads(op->getResult(0));
  if (reads.empty()) return;
  OpBuilder builder(op);
  const mlir::Value quantized = op->getOperand(0);
  const mlir::Value codes = cast_storage(builder, op->getLoc(), quantized,
                                         with_element(quantized.getType(), type.storage));
  Parameters held;
  if (!has_one_scale(type)) held = held_parameters(builder, op->getLoc(), type);
  lower_single_reads(reads, type, codes, held);
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

// Known extents, of as many blocks as there are scales along each axis.
bool has_blocks_of(const Arithmetic& type, mlir::RankedTensorType tensor) {
  if (!tensor || tensor.getRank() != static_cast<std::int64_t>(type.blocks.size())) return false;
  for (std::size_t axis = 0; axis < type.blocks.size(); ++axis) {
    const std::int64_t count = type.scale_shape[static_cast<std::int64_t>(axis)].value();
    if (tensor.getDimSize(static_cast<unsigned>(axis)) != count * type.blocks[axis]) return false;
  }
  return true;
}

// Versions before 20 do not look at it.
Expected<void> check_axis(const Arithmetic& arithmetic, mlir::Type type) {
  const auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  if (!arithmetic.blocks.empty() && !has_blocks_of(arithmetic, tensor)) {
    return fail(ErrorCode::invalid_model,
                "blocks that do not divide the extents of " + printed(type));
  }
  if (!arithmetic.axis) return {};
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
    if (!cast.is_quantize) lower_single_reads(cast.op, cast.type);
    if (cast.op->use_empty()) {
      cast.op->erase();
      continue;
    }
    const mlir::Value made = cast.is_quantize ? lower_quantize(cast.op, cast.type, ties)
                                              : lower_dequantize(cast.op, cast.type);
    cast.op->getResult(0).replaceAllUsesWith(made);
    cast.op->erase();
  }
  drop_storage_casts(root);
  return {};
}

Expected<mlir::Value> hold_scales(OpBuilder& builder, Location location, QuantizedType type) {
  QUADRANT_TRY(const Arithmetic arithmetic, arithmetic_of(type));
  return held_parameters(builder, location, arithmetic).scales;
}

Expected<void> read_codes_instead(mlir::BlockArgument floats, QuantizedType type, mlir::Value codes,
                                  mlir::Value scales) {
  QUADRANT_TRY(const Arithmetic arithmetic, arithmetic_of(type));
  lower_single_reads(single_reads(floats), arithmetic, codes, {scales, {}});
  if (floats.use_empty()) return {};
  OpBuilder builder = OpBuilder::atBlockBegin(floats.getOwner());
  floats.replaceAllUsesWith(
      dequantize_all(builder, floats.getLoc(), arithmetic, codes, {scales, {}}));
  return {};
}

}  // namespace quadrant::inline v0::mlir_plugin
