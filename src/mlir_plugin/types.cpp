#include "mlir_plugin/types.hpp"

#include <mlir/IR/Builders.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "ir/float16.hpp"
#include "ir/quantized_type.hpp"
#include "ir/scales.hpp"

namespace quadrant::inline v0::mlir_plugin {
namespace {

using mlir::quant::QuantizedType;
using mlir::quant::UniformQuantizedPerAxisType;
using mlir::quant::UniformQuantizedType;

Shape to_shape(mlir::Type type) {
  const auto shaped = llvm::dyn_cast<mlir::ShapedType>(type);
  if (!shaped || !shaped.hasRank()) return {};
  std::vector<Extent> extents;
  for (const std::int64_t extent : shaped.getShape()) {
    extents.push_back(mlir::ShapedType::isDynamic(extent) ? Extent::open() : Extent(extent));
  }
  return Shape(std::move(extents));
}

ElementType integer_element(mlir::IntegerType type) {
  const bool is_unsigned = type.isUnsigned();
  switch (type.getWidth()) {
    case 1:
      return is_unsigned ? ElementType::opaque : ElementType::boolean;
    case 4:
      return is_unsigned ? ElementType::uint4 : ElementType::int4;
    case 8:
      return is_unsigned ? ElementType::uint8 : ElementType::int8;
    case 16:
      return is_unsigned ? ElementType::uint16 : ElementType::int16;
    case 32:
      return is_unsigned ? ElementType::uint32 : ElementType::int32;
    case 64:
      return is_unsigned ? ElementType::uint64 : ElementType::int64;
    default:
      return ElementType::opaque;
  }
}

ElementType to_element(mlir::Type type) {
  if (type.isF16()) return ElementType::float16;
  if (type.isBF16()) return ElementType::bfloat16;
  if (type.isF32()) return ElementType::float32;
  if (type.isF64()) return ElementType::float64;
  if (const auto integer = llvm::dyn_cast<mlir::IntegerType>(type)) return integer_element(integer);
  return ElementType::opaque;
}

#if LLVM_VERSION_MAJOR >= 20
using UniformQuantizedSubChannelType = mlir::quant::UniformQuantizedSubChannelType;

// Blocks along one axis; along the others each index has its own.
Expected<QuantizedType> to_sub_channel_type(mlir::MLIRContext* context, const UniformType& type,
                                            unsigned flags, mlir::Type storage,
                                            mlir::Type expressed, const std::vector<double>& scales,
                                            const std::vector<std::int64_t>& zero_points) {
  const auto extents = type.scales.shape().known_extents();
  const llvm::ArrayRef<std::int64_t> shape(extents.data(), extents.size());
  mlir::Builder builder(context);
  llvm::SmallVector<mlir::Attribute> scale_values;
  llvm::SmallVector<mlir::Attribute> zero_values;
  for (std::size_t i = 0; i < scales.size(); ++i) {
    scale_values.push_back(builder.getFloatAttr(expressed, scales[i]));
    zero_values.push_back(
        builder.getIntegerAttr(storage, zero_points[zero_points.size() == 1 ? 0 : i]));
  }
  llvm::SmallVector<std::int32_t> axes;
  llvm::SmallVector<std::int64_t> blocks;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    const bool is_blocked = static_cast<std::int64_t>(axis) == type.granularity.axis;
    axes.push_back(static_cast<std::int32_t>(axis));
    blocks.push_back(is_blocked ? type.granularity.block_size : 1);
  }
  const auto held = [&](mlir::Type element, llvm::ArrayRef<mlir::Attribute> values) {
    return mlir::DenseElementsAttr::get(mlir::RankedTensorType::get(shape, element), values);
  };
  return UniformQuantizedSubChannelType::getChecked(
      [context] { return mlir::emitError(mlir::UnknownLoc::get(context)); }, flags, storage,
      expressed, held(expressed, scale_values), held(storage, zero_values), axes, blocks,
      type.storage_min, type.storage_max);
}
#endif

// Null where there are blocks along several axes, or none that one axis would not say.
std::optional<Granularity> block_granularity(const BlockType& type) {
  std::optional<Granularity> found;
  for (std::size_t axis = 0; axis < type.blocks.size(); ++axis) {
    if (type.blocks[axis] == 1) continue;
    if (found) return std::nullopt;
    found = Granularity::per_block(static_cast<std::int64_t>(axis), type.blocks[axis]);
  }
  return found;
}

}  // namespace

mlir::FloatType to_float_type(mlir::MLIRContext* context, ElementType element) {
  mlir::Builder builder(context);
  switch (element) {
    case ElementType::float16:
      return builder.getF16Type();
    case ElementType::bfloat16:
      return builder.getBF16Type();
    case ElementType::float64:
      return builder.getF64Type();
    default:
      return builder.getF32Type();
  }
}

std::optional<BlockType> to_block_type(QuantizedType type) {
#if LLVM_VERSION_MAJOR >= 20
  const auto of_blocks = llvm::dyn_cast<UniformQuantizedSubChannelType>(type);
  if (!of_blocks) return std::nullopt;
  BlockType made;
  const auto shape = of_blocks.getScales().getType().getShape();
  made.scale_shape = Shape(std::vector<std::int64_t>(shape.begin(), shape.end()));
  made.blocks.assign(shape.size(), 0);
  for (const auto& [axis, block] :
       llvm::zip_equal(of_blocks.getQuantizedDimensions(), of_blocks.getBlockSizes())) {
    if (axis < 0 || static_cast<std::size_t>(axis) >= shape.size()) return std::nullopt;
    made.blocks[static_cast<std::size_t>(axis)] = block;
  }
  if (std::ranges::count(made.blocks, 0) != 0) return std::nullopt;
  for (llvm::APFloat scale : of_blocks.getScales().getValues<llvm::APFloat>()) {
    bool is_inexact = false;
    scale.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &is_inexact);
    made.scales.push_back(scale.convertToDouble());
  }
  // Printed with a sign, whatever the storage is; what was read back has that sign above its bits.
  const std::uint64_t mask = (std::uint64_t{1} << type.getStorageTypeIntegralWidth()) - 1;
  for (const llvm::APInt& zero : of_blocks.getZeroPoints().getValues<llvm::APInt>()) {
    made.zero_points.push_back(type.isSigned()
                                   ? zero.getSExtValue()
                                   : static_cast<std::int64_t>(*zero.getRawData() & mask));
  }
  return made;
#else
  (void)type;
  return std::nullopt;
#endif
}

std::shared_ptr<const UniformType> to_uniform_type(QuantizedType type) {
  const auto of_blocks = to_block_type(type);
  // The others have no storage, or say nothing of it.
  if (!of_blocks && !llvm::isa<UniformQuantizedType, UniformQuantizedPerAxisType>(type)) {
    return nullptr;
  }
  UniformType made;
  const auto bits = static_cast<int>(type.getStorageTypeIntegralWidth());
  made.storage = storage_element(bits, type.isSigned());

  if (bits != bit_width(made.storage)) made.storage_bits = bits;
  made.storage_min = type.getStorageTypeMin();
  made.storage_max = type.getStorageTypeMax();
  std::vector<double> scales;
  std::vector<std::int64_t> zero_points;
  Shape shape = Shape::scalar();
  if (const auto whole = llvm::dyn_cast<UniformQuantizedType>(type)) {
    scales = {whole.getScale()};
    zero_points = {whole.getZeroPoint()};
  } else if (const auto axis = llvm::dyn_cast<UniformQuantizedPerAxisType>(type)) {
    made.granularity = Granularity::per_axis(axis.getQuantizedDimension());
    scales.assign(axis.getScales().begin(), axis.getScales().end());
    zero_points.assign(axis.getZeroPoints().begin(), axis.getZeroPoints().end());
    shape = Shape{static_cast<std::int64_t>(scales.size())};
  } else if (of_blocks) {
    const auto granularity = block_granularity(*of_blocks);
    if (!granularity) return nullptr;
    made.granularity = *granularity;
    scales = of_blocks->scales;
    zero_points = of_blocks->zero_points;
    shape = of_blocks->scale_shape;
  }
  // MLIR does not look at them; what is no code cannot be stored as one.
  const auto range = integer_range(made.storage);
  const bool are_codes = range && std::ranges::all_of(zero_points, [&](std::int64_t zero) {
                           return zero >= range->min && zero <= range->max;
                         });
  if (!are_codes) return nullptr;
  made.expressed = to_element(type.getExpressedType());
  made.scales = make_exact_scales(ElementType::float64, shape, scales);
  made.zero_points = make_zero_points(made.storage, shape, zero_points);
  return std::make_shared<const UniformType>(std::move(made));
}

TensorType to_tensor_type(mlir::Type type) {
  const auto tensor = llvm::dyn_cast<mlir::TensorType>(type);
  if (!tensor) return {ElementType::opaque, {}, nullptr};
  // What an encoding says of the elements, nobody here knows.
  const auto ranked = llvm::dyn_cast<mlir::RankedTensorType>(type);
  if (ranked && ranked.getEncoding()) return {ElementType::opaque, to_shape(tensor), nullptr};
  TensorType made{to_element(tensor.getElementType()), to_shape(tensor), nullptr};
  if (const auto quantized = llvm::dyn_cast<QuantizedType>(tensor.getElementType())) {
    made.quantization = to_uniform_type(quantized);
    if (made.quantization) made.element = made.uniform()->storage;
  }
  return made;
}

mlir::Type with_element(mlir::Type type, mlir::Type element) {
  auto shaped = llvm::dyn_cast<mlir::ShapedType>(type);
  // NOLINTNEXTLINE(cppcoreguidelines-slicing): an interface is what it is of, and its functions
  return shaped ? mlir::Type(shaped.clone(element)) : element;
}

namespace {

// Whether `type` has these numbers; scales of blocks are elements of the expressed type.
bool holds(ElementType type, const Constant& scales) {
  if (type != ElementType::float16 && type != ElementType::bfloat16) return true;
  const auto numbers = read_exact_scales(scales);
  return !numbers || std::ranges::all_of(*numbers, [&](double scale) {
    const auto number = static_cast<float>(scale);
    const float held = type == ElementType::float16 ? widen_float16(round_to_float16(number))
                                                    : widen_bfloat16(round_to_bfloat16(number));
    return static_cast<double>(held) == scale;
  });
}

}  // namespace

bool has_quantized_type(const TensorType& type) {
  if (!type.uniform()) return false;
  const bool is_in_blocks = type.uniform()->granularity.kind == Granularity::Kind::block;
  if (is_in_blocks && (!has_blocks || !holds(type.uniform()->expressed, type.uniform()->scales))) {
    return false;
  }
  return static_cast<bool>(verify_quantized_type(*type.uniform(), type.shape));
}

mlir::IntegerType to_code_type(mlir::MLIRContext* context, const Quantization& type) {
  const int bits = type.uniform() ? declared_bits(*type.uniform()) : bit_width(type.storage());
  return mlir::IntegerType::get(context, static_cast<unsigned>(bits));
}

Expected<QuantizedType> to_quantized_type(mlir::MLIRContext* context, const UniformType& type) {
  // MLIR's own check says nothing of the place, and version 19 lets types pass that 22 refuses.
  QUADRANT_CHECK(verify_quantized_type(type));
  QUADRANT_TRY(const std::vector<double> scales, read_exact_scales(type.scales));
  QUADRANT_TRY(const std::vector<std::int64_t> zero_points, read_zero_points(type));
  const IntegerRange range = integer_range(type.storage).value_or(IntegerRange{});
  const unsigned flags = range.min < 0 ? mlir::quant::QuantizationFlags::Signed : 0;
  const mlir::Type storage =
      mlir::IntegerType::get(context, static_cast<unsigned>(declared_bits(type)));
  const mlir::Type expressed = to_float_type(context, type.expressed);
  const auto refuse = [context] { return mlir::emitError(mlir::UnknownLoc::get(context)); };
  QuantizedType made;
  switch (type.granularity.kind) {
    case Granularity::Kind::tensor:
      made =
          UniformQuantizedType::getChecked(refuse, flags, storage, expressed, scales.front(),
                                           zero_points.front(), type.storage_min, type.storage_max);
      break;
    case Granularity::Kind::axis:
      made = UniformQuantizedPerAxisType::getChecked(
          refuse, flags, storage, expressed, scales, zero_points,
          static_cast<std::int32_t>(type.granularity.axis), type.storage_min, type.storage_max);
      break;
    case Granularity::Kind::block: {
#if LLVM_VERSION_MAJOR >= 20
      QUADRANT_TRY(
          made, to_sub_channel_type(context, type, flags, storage, expressed, scales, zero_points));
      break;
#else
      return fail(ErrorCode::impossible,
                  "versions of MLIR before 20 have types with a scale for the tensor or for each "
                  "index of an axis, not for blocks: use granularity=channel");
#endif
    }
  }
  if (!made) {
    return fail(ErrorCode::impossible, "MLIR has no type " + to_string(type));
  }
  return made;
}

}  // namespace quadrant::inline v0::mlir_plugin
