#include "mlir_plugin/code_arithmetic.hpp"

#include <llvm/ADT/APFloat.h>
#include <llvm/ADT/APInt.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Linalg/IR/Linalg.h>
#include <mlir/Dialect/Tensor/IR/Tensor.h>

#include <algorithm>
#include <span>

#include "ir/scales.hpp"
#include "ir/small_float.hpp"
#include "mlir_plugin/element_reads.hpp"
#include "mlir_plugin/headers.hpp"
#include "mlir_plugin/quantized_parts.hpp"
#include "mlir_plugin/types.hpp"

namespace quadrant::inline v0::mlir_plugin {
namespace {

namespace arith = mlir::arith;
using mlir::Location;
using mlir::OpBuilder;

// --- constants ----------------------------------------------------------------------------------

using DenseShape = llvm::ArrayRef<std::int64_t>;

mlir::Value hold_floats(OpBuilder& builder, Location location, DenseShape shape,
                        mlir::FloatType element, std::span<const float> numbers) {
  std::vector<llvm::APFloat> values;
  values.reserve(numbers.size());
  for (const float number : numbers) {
    bool is_inexact = false;
    values.emplace_back(number).convert(element.getFloatSemantics(),
                                        llvm::APFloat::rmNearestTiesToEven, &is_inexact);
  }
  return make_part(
      builder, location,
      mlir::DenseElementsAttr::get(mlir::RankedTensorType::get(shape, element), values));
}

// In as few bits as others store integers in.
mlir::Value hold_integers(OpBuilder& builder, Location location, DenseShape shape,
                          const IntegerCode& range, std::span<const std::int64_t> numbers) {
  int bits = 4;
  const auto holds = [&](const IntegerCode& all) {
    return all.min <= range.min && range.max <= all.max;
  };
  while (!holds(IntegerCode::of(bits, range.is_signed))) bits *= 2;
  const auto width = static_cast<unsigned>(bits);
  std::vector<llvm::APInt> values;
  values.reserve(numbers.size());
  for (const std::int64_t number : numbers) {
    values.emplace_back(width, static_cast<std::uint64_t>(number), range.is_signed);
  }
  const auto type = mlir::RankedTensorType::get(shape, builder.getIntegerType(width));
  return make_part(builder, location, mlir::DenseElementsAttr::get(type, values));
}

// What each pattern of the bits stands for.
mlir::Value hold_table(OpBuilder& builder, Location location, const NumberCode& code) {
  const std::vector<float> values = code_values(code);
  return hold_floats(builder, location, static_cast<std::int64_t>(values.size()),
                     builder.getF32Type(), values);
}

Expected<std::vector<std::int64_t>> read_multiples(const Constant& contents) {
  if (is_integer(contents.element())) return read_integers(contents, contents.element_count());
  QUADRANT_TRY(const std::vector<float> numbers, read_scales(contents));
  std::vector<std::int64_t> made(numbers.size());
  std::ranges::transform(numbers, made.begin(),
                         [](float number) { return static_cast<std::int64_t>(number); });
  return made;
}

// --- parts of a format --------------------------------------------------------------------------

// Where the number of each element's group is.
mlir::AffineMap map_of(mlir::MLIRContext* context, const Granularity& groups, unsigned rank) {
  llvm::SmallVector<mlir::AffineExpr> along;
  const auto axis = static_cast<unsigned>(groups.axis);
  if (groups.kind == Granularity::Kind::axis) {
    along.push_back(mlir::getAffineDimExpr(axis, context));
  } else if (groups.kind == Granularity::Kind::block) {
    for (unsigned i = 0; i < rank; ++i) along.push_back(mlir::getAffineDimExpr(i, context));
    along[axis] = along[axis].floorDiv(static_cast<std::uint64_t>(groups.block_size));
  }
  return mlir::AffineMap::get(rank, 0, along, context);
}

// The integers that the part has; null: floats.
const IntegerCode* integers_of(const FormatPart& part, const NumberFormat& format) {
  if (part.level != nullptr) return std::get_if<IntegerCode>(&part.level->type);
  return std::get_if<IntegerCode>(&format.code);  // zero points are codes
}

// A level of scales or minima, or zero points. Small floats are bits, for which version 19 lacks
// some types, and which MLIR lowers for some targets alone.
Expected<HeldNumbers> hold_part(OpBuilder& builder, Location location, const FormatPart& part,
                                const NumberFormat& format, const Constant& contents) {
  const auto extents = contents.shape().known_extents();
  const DenseShape shape(extents.data(), extents.size());
  HeldNumbers made;
  if (const IntegerCode* const range = integers_of(part, format)) {
    QUADRANT_TRY(const std::vector<std::int64_t> numbers, read_multiples(contents));
    made.is_signed = range->is_signed;
    made.tensor = hold_integers(builder, location, shape, *range, numbers);
    return made;
  }
  const ElementType element = std::get<FloatScale>(part.level->type).type;
  QUADRANT_TRY(const std::vector<float> numbers, read_scales(contents));
  const auto small = small_float(element);
  if (!small) {
    const mlir::FloatType type = to_float_type(builder.getContext(), element);
    made.tensor = hold_floats(builder, location, shape, type, numbers);
    return made;
  }
  std::vector<std::int64_t> bits;
  bits.reserve(numbers.size());
  for (const float number : numbers) bits.push_back(small_float_bits(*small, number).value_or(0));
  made.is_signed = false;
  made.tensor = hold_integers(builder, location, shape, IntegerCode::of(8, false), bits);
  made.table = hold_table(builder, location, FloatCode{element});
  return made;
}

Expected<HeldNumbers> codes_of(OpBuilder& builder, mlir::Value codes, const ScaledFormat& format,
                               unsigned rank) {
  HeldNumbers made{.tensor = codes, .map = builder.getMultiDimIdentityMap(rank)};
  made.table_map = map_of(builder.getContext(), Granularity::per_tensor(), rank);
  if (const auto* const integers = std::get_if<IntegerCode>(&format.format.code)) {
    made.is_signed = integers->is_signed;
  } else if (const auto* const stored = std::get_if<StoredTable>(&format.format.code)) {
    QUADRANT_TRY(const std::vector<float> values, read_scales(format.table));
    const auto extents = format.table.shape().known_extents();
    made.table = hold_floats(builder, codes.getLoc(), {extents.data(), extents.size()},
                             to_float_type(builder.getContext(), stored->values), values);
    made.table_map = map_of(builder.getContext(), stored->groups, rank);
  } else {
    made.table = hold_table(builder, codes.getLoc(), format.format.code);
  }
  return made;
}

// --- one element --------------------------------------------------------------------------------

// In float32. `indices`: of the code that it belongs to.
mlir::Value real_number(OpBuilder& builder, Location location, const HeldNumbers& numbers,
                        mlir::Value element, mlir::ValueRange indices) {
  const mlir::FloatType real = builder.getF32Type();
  if (numbers.table) {
    llvm::SmallVector<mlir::Value> at;
    if (numbers.table_map) at = mapped_indices(builder, location, numbers.table_map, indices);
    at.push_back(make_op<arith::IndexCastUIOp>(builder, location, builder.getIndexType(), element));
    element = make_op<mlir::tensor::ExtractOp>(builder, location, numbers.table, at);
  }
  if (llvm::isa<mlir::FloatType>(element.getType())) {
    return resize(builder, location, element, real);
  }
  if (numbers.is_signed) return make_op<arith::SIToFPOp>(builder, location, real, element);
  return make_op<arith::UIToFPOp>(builder, location, real, element);
}

}  // namespace

Expected<CodeArithmetic> CodeArithmetic::make(OpBuilder& builder, mlir::Value codes,
                                              const ScaledFormat& format) {
  const auto type = llvm::cast<mlir::RankedTensorType>(codes.getType());
  const auto rank = static_cast<unsigned>(type.getRank());
  CodeArithmetic made;
  made.scales_ = format.scales.size();
  made.has_zero_points_ = format.format.offset == Offset::zero_point;
  made.expressed_ = to_float_type(codes.getContext(), format.format.expressed);
  QUADRANT_TRY(made.numbers_.emplace_back(), codes_of(builder, codes, format, rank));
  const std::vector<FormatPart> parts = parts_of(format.format);
  const std::vector<Constant> contents = contents_of(format);
  for (std::size_t i = 0; i < std::min(parts.size(), contents.size()); ++i) {
    if (parts[i].values > 0) continue;  // the table
    QUADRANT_TRY(HeldNumbers held,
                 hold_part(builder, codes.getLoc(), parts[i], format.format, contents[i]));
    held.map = map_of(codes.getContext(), parts[i].groups, rank);
    made.numbers_.push_back(held);
  }
  return made;
}

mlir::Value CodeArithmetic::decode(OpBuilder& builder, Location location, mlir::ValueRange elements,
                                   mlir::ValueRange indices) const {
  const auto number = [&](std::size_t i) {
    return real_number(builder, location, numbers_[i], elements[i], indices);
  };
  const auto product = [&](std::size_t first, std::size_t end) {
    mlir::Value made = number(first);
    for (std::size_t i = first + 1; i < end; ++i) {
      made = make_op<arith::MulFOp>(builder, location, made, number(i));
    }
    return made;
  };
  const std::size_t behind_scales = 1 + scales_;
  mlir::Value value = number(0);
  if (has_zero_points_) {
    value = make_op<arith::SubFOp>(builder, location, value, number(behind_scales));
  }
  if (scales_ > 0) {
    value = make_op<arith::MulFOp>(builder, location, value, product(1, behind_scales));
  }
  if (!has_zero_points_ && numbers_.size() > behind_scales) {
    const mlir::Value minimum = product(behind_scales, numbers_.size());
    value = make_op<arith::SubFOp>(builder, location, value, minimum);
  }
  return resize(builder, location, value, expressed_);
}

mlir::Value CodeArithmetic::all(OpBuilder& builder) const {
  const mlir::Value codes = numbers_.front().tensor;
  llvm::SmallVector<mlir::Value> inputs;
  llvm::SmallVector<mlir::AffineMap> maps;
  for (const HeldNumbers& each : numbers_) {
    inputs.push_back(each.tensor);
    maps.push_back(each.map);
  }
  maps.push_back(maps.front());
  const auto type = llvm::cast<mlir::RankedTensorType>(codes.getType()).clone(expressed_);
  const Location location = codes.getLoc();
  const mlir::Value out = make_op<mlir::tensor::EmptyOp>(
      builder, location, mlir::tensor::getMixedSizes(builder, location, codes), expressed_);
  const llvm::SmallVector<mlir::utils::IteratorType> loops(maps.front().getNumDims(),
                                                           mlir::utils::IteratorType::parallel);
  const auto body = [&](OpBuilder& inside, Location at, mlir::ValueRange elements) {
    llvm::SmallVector<mlir::Value> indices;
    const mlir::AffineMap groups = numbers_.front().table_map;
    for (unsigned i = 0; groups.getNumResults() > 0 && i < groups.getNumDims(); ++i) {
      indices.push_back(make_op<mlir::linalg::IndexOp>(inside, at, i));
    }
    make_op<mlir::linalg::YieldOp>(inside, at, decode(inside, at, elements, indices));
  };
  return make_op<mlir::linalg::GenericOp>(builder, location, type, inputs, out, maps, loops, body)
      .getResult(0);
}

void CodeArithmetic::compute_where_read(mlir::Value floats) const {
  for (mlir::tensor::ExtractOp read : single_reads(floats)) {
    OpBuilder builder(read);
    llvm::SmallVector<mlir::Value> elements;
    for (const HeldNumbers& each : numbers_) {
      elements.push_back(
          read_element(builder, read.getLoc(), each.tensor, each.map, read.getIndices()));
    }
    read.replaceAllUsesWith(decode(builder, read.getLoc(), elements, read.getIndices()));
    read.erase();
  }
  if (!floats.use_empty()) return;
  mlir::Operation* const unread = floats.getDefiningOp();
  mlir::Operation* const destination = unread->getOperands().back().getDefiningOp();
  unread->erase();
  destination->erase();
}

}  // namespace quadrant::inline v0::mlir_plugin
