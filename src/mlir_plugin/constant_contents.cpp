#include "mlir_plugin/constant_contents.hpp"

#include <mlir/Dialect/Linalg/IR/Linalg.h>
#include <mlir/Dialect/Tensor/IR/Tensor.h>
#include <mlir/IR/Builders.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "ir/float16.hpp"
#include "mlir_plugin/constants.hpp"
#include "mlir_plugin/moved_codes.hpp"
#include "mlir_plugin/seen.hpp"
#include "mlir_plugin/types.hpp"

namespace quadrant::inline v0::mlir_plugin {
namespace {

namespace linalg = mlir::linalg;
namespace tensor = mlir::tensor;
using Numbers = llvm::SmallVector<std::int64_t>;  // one for each axis

// A few words of text can ask for any number of elements.
constexpr std::int64_t most_elements = std::int64_t{1} << 28;

mlir::RankedTensorType result_type(mlir::Operation& op) {
  return llvm::cast<mlir::RankedTensorType>(op.getResult(0).getType());
}

// Of known extents and floats that the library has, without an encoding.
bool is_plain(mlir::Type type) {
  const auto ranked = llvm::dyn_cast<mlir::RankedTensorType>(type);
  if (!ranked || !ranked.hasStaticShape() || ranked.getEncoding()) return false;
  const mlir::Type element = ranked.getElementType();
  const bool is_known = element.isF16() || element.isBF16() || element.isF32() || element.isF64();
  return is_known && ranked.getNumElements() <= most_elements;
}

std::int64_t width_of(mlir::RankedTensorType type) {
  return type.getElementType().getIntOrFloatBitWidth() / 8;
}

// In bytes.
Numbers strides_of(mlir::RankedTensorType type) {
  Numbers strides(static_cast<std::size_t>(type.getRank()));
  std::int64_t stride = width_of(type);
  for (std::size_t axis = strides.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= type.getDimSize(static_cast<unsigned>(axis));
  }
  return strides;
}

std::int64_t place_of(llvm::ArrayRef<std::int64_t> at, llvm::ArrayRef<std::int64_t> strides) {
  return std::inner_product(at.begin(), at.end(), strides.begin(), std::int64_t{0});
}

struct Walk {
  std::int64_t offset = 0;  // in bytes
  Numbers strides;
};

// `extents` elements of `width` bytes each; strides of 0 repeat them.
void copy(std::byte* to, const Walk& into, const std::byte* from, const Walk& out_of,
          llvm::ArrayRef<std::int64_t> extents, std::int64_t width) {
  if (llvm::is_contained(extents, 0)) return;
  to += into.offset;
  from += out_of.offset;
  const std::size_t rank = extents.size();
  Numbers at(rank, 0);
  const bool has_rows = rank != 0 && into.strides.back() == width && out_of.strides.back() == width;
  const std::size_t outer = has_rows ? rank - 1 : rank;
  const auto piece = static_cast<std::size_t>(has_rows ? width * extents.back() : width);
  while (true) {
    std::memcpy(to, from, piece);
    std::size_t axis = outer;
    while (axis-- > 0) {
      to += into.strides[axis];
      from += out_of.strides[axis];
      if (++at[axis] < extents[axis]) break;
      to -= into.strides[axis] * extents[axis];
      from -= out_of.strides[axis] * extents[axis];
      at[axis] = 0;
    }
    if (axis == static_cast<std::size_t>(-1)) return;
  }
}

Contents empty_of(mlir::RankedTensorType type) {
  const auto size = static_cast<std::size_t>(type.getNumElements() * width_of(type));
  return {type, std::vector<std::byte>(size)};
}

// --- what each of them does
// -----------------------------------------------------------------------

struct Window {
  Numbers offsets;
  Numbers extents;
  Numbers strides;
};

// Empty: computed at run time.
template <class Op>
std::optional<Window> window_of(Op op) {
  Window window{Numbers(op.getStaticOffsets()), Numbers(op.getStaticSizes()),
                Numbers(op.getStaticStrides())};
  for (const Numbers* const numbers : {&window.offsets, &window.extents, &window.strides}) {
    if (llvm::any_of(*numbers, mlir::ShapedType::isDynamic)) return std::nullopt;
  }
  return window;
}

// Where the window's elements are in a tensor of `whole`.
Walk walk_of(const Window& window, mlir::RankedTensorType whole) {
  Walk walk{0, strides_of(whole)};
  walk.offset = place_of(window.offsets, walk.strides);
  for (std::size_t i = 0; i < walk.strides.size(); ++i) walk.strides[i] *= window.strides[i];
  return walk;
}

// In row-major order, whatever unit axes their type leaves out.
Walk row_by_row(llvm::ArrayRef<std::int64_t> extents, mlir::RankedTensorType type) {
  return {0, strides_of(mlir::RankedTensorType::get(extents, type.getElementType()))};
}

Contents slice(mlir::Operation& op, const Contents& whole) {
  const Window window = *window_of(llvm::cast<tensor::ExtractSliceOp>(op));
  Contents made = empty_of(result_type(op));
  copy(made.bytes.data(), row_by_row(window.extents, made.type), whole.bytes.data(),
       walk_of(window, whole.type), window.extents, width_of(made.type));
  return made;
}

Contents insert(mlir::Operation& op, const Contents& part, const Contents& whole) {
  const Window window = *window_of(llvm::cast<tensor::InsertSliceOp>(op));
  Contents made = whole;
  copy(made.bytes.data(), walk_of(window, made.type), part.bytes.data(),
       row_by_row(window.extents, part.type), window.extents, width_of(made.type));
  return made;
}

std::int64_t joined_axis(mlir::Operation& op) {
  if (auto concat = llvm::dyn_cast<tensor::ConcatOp>(op)) {
    return static_cast<std::int64_t>(concat.getDim());
  }
  return op.getAttrOfType<mlir::IntegerAttr>("axis").getInt();
}

Contents join(mlir::Operation& op, std::span<const Contents* const> parts) {
  Contents made = empty_of(result_type(op));
  Walk into{0, strides_of(made.type)};
  const auto axis = static_cast<std::size_t>(joined_axis(op));
  for (const Contents* const part : parts) {
    copy(made.bytes.data(), into, part->bytes.data(), {0, strides_of(part->type)},
         part->type.getShape(), width_of(made.type));
    into.offset += into.strides[axis] * part->type.getDimSize(static_cast<unsigned>(axis));
  }
  return made;
}

// The one number that it fills with; empty: computed at run time.
std::optional<mlir::APFloat> filling_of(tensor::PadOp op) {
  mlir::Operation* const maker = op.getBody()->back().getOperand(0).getDefiningOp();
  const auto number = llvm::dyn_cast_if_present<mlir::FloatAttr>(
      maker == nullptr ? mlir::Attribute() : contents_of(*maker));
  return number ? std::optional(number.getValue()) : std::nullopt;
}

Contents pad(mlir::Operation& op, const Contents& inner) {
  auto padding = llvm::cast<tensor::PadOp>(op);
  Contents made = empty_of(result_type(op));
  const std::uint64_t bits = filling_of(padding)->bitcastToAPInt().getZExtValue();
  const auto width = static_cast<std::size_t>(width_of(made.type));
  for (std::size_t at = 0; at < made.bytes.size(); at += width) {
    std::memcpy(made.bytes.data() + at, &bits, width);
  }
  Walk into{0, strides_of(made.type)};
  into.offset = place_of(padding.getStaticLow(), into.strides);
  copy(made.bytes.data(), into, inner.bytes.data(), {0, strides_of(inner.type)},
       inner.type.getShape(), width_of(made.type));
  return made;
}

// `axes`: of the result's axes, which the source's are, in its order, -1 for unit axes that are
// none; along others it repeats.
Contents spread(mlir::Operation& op, const Contents& source, llvm::ArrayRef<std::int64_t> axes) {
  Contents made = empty_of(result_type(op));
  const Numbers strides = strides_of(source.type);
  Walk out_of{0, Numbers(static_cast<std::size_t>(made.type.getRank()), 0)};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < 0) continue;
    out_of.strides[static_cast<std::size_t>(axes[i])] = strides[i];
  }
  copy(made.bytes.data(), {0, strides_of(made.type)}, source.bytes.data(), out_of,
       made.type.getShape(), width_of(made.type));
  return made;
}

float to_float(const std::byte* from, mlir::Type type) {
  if (type.isF32()) {
    float value = 0;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  if (type.isF64()) {
    double value = 0;
    std::memcpy(&value, from, sizeof value);
    return static_cast<float>(value);
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, from, sizeof bits);
  return type.isF16() ? widen_float16(bits) : widen_bfloat16(bits);
}

void put_float(std::byte* to, mlir::Type type, float value) {
  const double wide = value;
  const std::uint16_t half = type.isF16() ? round_to_float16(value) : round_to_bfloat16(value);
  if (type.isF32()) {
    std::memcpy(to, &value, sizeof value);
  } else if (type.isF64()) {
    std::memcpy(to, &wide, sizeof wide);
  } else {
    std::memcpy(to, &half, sizeof half);
  }
}

Contents cast(mlir::Operation& op, const Contents& source) {
  Contents made = empty_of(result_type(op));
  const mlir::Type from = source.type.getElementType();
  const mlir::Type to = made.type.getElementType();
  const auto step = static_cast<std::size_t>(width_of(source.type));
  const auto into = static_cast<std::size_t>(width_of(made.type));
  for (std::size_t i = 0; i * step < source.bytes.size(); ++i) {
    put_float(made.bytes.data() + i * into, to, to_float(source.bytes.data() + i * step, from));
  }
  return made;
}

// --- which there are
// ------------------------------------------------------------------------------

bool is_cast(mlir::Operation& op) {
  const llvm::StringRef name = op.getName().getStringRef();
  return name == "arith.extf" || name == "arith.truncf" || name == "tosa.cast";
}

bool is_join(mlir::Operation& op) {
  return llvm::isa<tensor::ConcatOp>(op) || op.getName().getStringRef() == "tosa.concat";
}

// The axes of the result that the source's are, of what moves them; empty: it keeps the order.
std::vector<std::int64_t> transposed_axes(mlir::Operation& op) {
  const Seen seen = see(op);
  const Attribute* const found = seen.attributes.find("perm");
  const auto* const perm =
      found == nullptr ? nullptr : std::get_if<std::vector<std::int64_t>>(found);
  if (perm == nullptr) return {};
  std::vector<std::int64_t> axes(perm->size());
  for (std::size_t i = 0; i < perm->size(); ++i) {
    axes[static_cast<std::size_t>((*perm)[i])] = static_cast<std::int64_t>(i);
  }
  return axes;
}

bool is_known_move(mlir::Operation& op) {
  if (!is_move(&op)) return false;
  const bool transposes = op.getName().getStringRef().ends_with("transpose");
  return !transposes || !transposed_axes(op).empty() || result_type(op).getRank() == 0;
}

bool can_evaluate(mlir::Operation& op) {
  if (auto slice = llvm::dyn_cast<tensor::ExtractSliceOp>(op)) return window_of(slice).has_value();
  if (auto insert = llvm::dyn_cast<tensor::InsertSliceOp>(op)) {
    return window_of(insert).has_value();
  }
  if (auto padding = llvm::dyn_cast<tensor::PadOp>(op)) {
    const bool is_static = !llvm::any_of(padding.getStaticLow(), mlir::ShapedType::isDynamic);
    return is_static && filling_of(padding).has_value();
  }
  if (is_cast(op)) {
    const mlir::Type from = mlir::getElementTypeOrSelf(op.getOperand(0));
    return !from.isF64() || mlir::getElementTypeOrSelf(op.getResult(0)).isF32();
  }
  return is_join(op) || is_known_move(op) || moved_axes(op).has_value();
}

}  // namespace

std::vector<mlir::Value> sources_of(mlir::Operation& op) {
  if (op.getNumResults() != 1 || op.getNumOperands() == 0) return {};
  if (!is_plain(op.getResult(0).getType())) return {};
  // What else is an operand says a shape, or where the result is put.
  const bool has_all = is_join(op) || llvm::isa<tensor::InsertSliceOp>(op);
  std::vector<mlir::Value> sources;
  for (unsigned i = 0; i < (has_all ? op.getNumOperands() : 1); ++i) {
    if (!is_plain(op.getOperand(i).getType())) {
      if (llvm::isa<mlir::FloatType>(mlir::getElementTypeOrSelf(op.getOperand(i)))) return {};
      continue;
    }
    sources.push_back(op.getOperand(i));
  }
  return !sources.empty() && can_evaluate(op) ? sources : std::vector<mlir::Value>();
}

Contents evaluate(mlir::Operation& op, std::span<const Contents* const> sources) {
  if (llvm::isa<tensor::ExtractSliceOp>(op)) return slice(op, *sources[0]);
  if (llvm::isa<tensor::InsertSliceOp>(op)) return insert(op, *sources[0], *sources[1]);
  if (llvm::isa<tensor::PadOp>(op)) return pad(op, *sources[0]);
  if (is_join(op)) return join(op, sources);
  if (is_cast(op)) return cast(op, *sources[0]);
  if (const auto axes = moved_axes(op)) return spread(op, *sources[0], *axes);
  const std::vector<std::int64_t> axes = transposed_axes(op);
  if (!axes.empty()) return spread(op, *sources[0], axes);
  return {result_type(op), sources[0]->bytes};
}

Expected<Contents> read_contents(mlir::Operation& constant) {
  const Constant held = to_constant(contents_of(constant));
  Contents made = empty_of(result_type(constant));
  QUADRANT_CHECK(held.read(0, made.bytes));
  return made;
}

Expected<mlir::Value> make_constant(mlir::Operation& op, const Contents& contents,
                                    std::string_view name) {
  const TensorType type = to_tensor_type(contents.type);
  const Constant held = Constant::from_bytes(type.element, type.shape, contents.bytes);
  QUADRANT_TRY(const mlir::ElementsAttr elements, to_elements(contents.type, held, name));
  mlir::OpBuilder builder(&op);
  mlir::OperationState state(op.getLoc(), "arith.constant");
  // NOLINTNEXTLINE(cppcoreguidelines-slicing): an interface is what it is of, and its functions
  state.addAttribute("value", elements);
  state.addAttributes(llvm::to_vector(op.getDiscardableAttrs()));
  state.addTypes(contents.type);
  return builder.create(state)->getResult(0);
}

}  // namespace quadrant::inline v0::mlir_plugin
