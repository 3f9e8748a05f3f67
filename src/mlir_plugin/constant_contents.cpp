#include "mlir_plugin/constant_contents.hpp"

#include <mlir/Dialect/Linalg/IR/Linalg.h>
#include <mlir/Dialect/Tensor/IR/Tensor.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "ir/float16.hpp"
#include "mlir_plugin/moved_codes.hpp"
#include "mlir_plugin/seen.hpp"

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

// `offset + (extent - 1) * stride` is inside `whole`, whatever the numbers are.
bool is_inside(std::int64_t offset, std::int64_t extent, std::int64_t stride, std::int64_t whole) {
  if (offset < 0 || extent < 0 || stride < 1 || offset > whole) return false;
  if (extent == 0) return true;
  std::int64_t last = 0;
  return !__builtin_mul_overflow(extent - 1, stride, &last) && last < whole - offset;
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

// Contents that are being made.
struct Making {
  explicit Making(mlir::RankedTensorType of)
      : type(of),
        bytes(std::make_shared<std::vector<std::byte>>(
            static_cast<std::size_t>(of.getNumElements() * width_of(of)))) {}

  [[nodiscard]] std::byte* data() const { return bytes->data(); }
  [[nodiscard]] Contents finished() const { return {type, ConstantBytes(bytes, *bytes)}; }

  mlir::RankedTensorType type;
  std::shared_ptr<std::vector<std::byte>> bytes;
};

// --- what each of them does --------------------------------------------------------------------

struct Window {
  Numbers offsets;
  Numbers extents;
  Numbers strides;
};

// Of a part with so many elements in a tensor of type `whole`. Empty: computed at run time, or not
// inside it.
template <class Op>
std::optional<Window> window_of(Op op, mlir::RankedTensorType part, mlir::RankedTensorType whole) {
  Window window{Numbers(op.getStaticOffsets()), Numbers(op.getStaticSizes()),
                Numbers(op.getStaticStrides())};
  for (const Numbers* const numbers : {&window.offsets, &window.extents, &window.strides}) {
    if (llvm::any_of(*numbers, mlir::ShapedType::isDynamic)) return std::nullopt;
    if (static_cast<std::int64_t>(numbers->size()) != whole.getRank()) return std::nullopt;
  }
  std::int64_t elements = 1;
  for (unsigned axis = 0; axis < window.extents.size(); ++axis) {
    if (!is_inside(window.offsets[axis], window.extents[axis], window.strides[axis],
                   whole.getDimSize(axis))) {
      return std::nullopt;
    }
    elements *= window.extents[axis];  // of no more than the tensor has
  }
  return elements == part.getNumElements() ? std::optional(window) : std::nullopt;
}

std::optional<Window> window_of(tensor::ExtractSliceOp op) {
  return window_of(op, op.getType(), op.getSourceType());
}
std::optional<Window> window_of(tensor::InsertSliceOp op) {
  return window_of(op, op.getSourceType(), op.getType());
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
  const Window window = window_of(llvm::cast<tensor::ExtractSliceOp>(op)).value_or(Window());
  const Making made(result_type(op));
  copy(made.data(), row_by_row(window.extents, made.type), whole.data(),
       walk_of(window, whole.type), window.extents, width_of(made.type));
  return made.finished();
}

Contents insert(mlir::Operation& op, const Contents& part, const Contents& whole) {
  const Window window = window_of(llvm::cast<tensor::InsertSliceOp>(op)).value_or(Window());
  const Making made(whole.type);
  std::ranges::copy(whole.held.bytes(), made.data());
  copy(made.data(), walk_of(window, made.type), part.data(), row_by_row(window.extents, part.type),
       window.extents, width_of(made.type));
  return made.finished();
}

std::int64_t joined_axis(mlir::Operation& op) {
  if (auto concat = llvm::dyn_cast<tensor::ConcatOp>(op)) {
    return static_cast<std::int64_t>(concat.getDim());
  }
  return op.getAttrOfType<mlir::IntegerAttr>("axis").getInt();
}

Contents join(mlir::Operation& op, std::span<const Contents* const> parts) {
  const Making made(result_type(op));
  Walk into{0, strides_of(made.type)};
  const auto axis = static_cast<std::size_t>(joined_axis(op));
  for (const Contents* const part : parts) {
    copy(made.data(), into, part->data(), {0, strides_of(part->type)}, part->type.getShape(),
         width_of(made.type));
    into.offset += into.strides[axis] * part->type.getDimSize(static_cast<unsigned>(axis));
  }
  return made.finished();
}

// The one number that it fills with; empty: computed at run time.
std::optional<mlir::APFloat> filling_of(tensor::PadOp op) {
  return number_of(op.getBody()->back().getOperand(0));
}

Contents pad(mlir::Operation& op, const Contents& inner) {
  auto padding = llvm::cast<tensor::PadOp>(op);
  const Making made(result_type(op));
  const auto filling = filling_of(padding);
  const std::uint64_t bits = filling ? filling->bitcastToAPInt().getZExtValue() : 0;
  const auto width = static_cast<std::size_t>(width_of(made.type));
  for (std::size_t at = 0; at < made.bytes->size(); at += width) {
    std::memcpy(made.data() + at, &bits, width);
  }
  Walk into{0, strides_of(made.type)};
  into.offset = place_of(padding.getStaticLow(), into.strides);
  copy(made.data(), into, inner.data(), {0, strides_of(inner.type)}, inner.type.getShape(),
       width_of(made.type));
  return made.finished();
}

// `axes`: of the result's axes, which the source's are, in its order, -1 for unit axes that are
// none; along others it repeats.
Contents spread(mlir::Operation& op, const Contents& source, llvm::ArrayRef<std::int64_t> axes) {
  const Making made(result_type(op));
  const Numbers strides = strides_of(source.type);
  Walk out_of{0, Numbers(static_cast<std::size_t>(made.type.getRank()), 0)};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < 0) continue;
    out_of.strides[static_cast<std::size_t>(axes[i])] = strides[i];
  }
  copy(made.data(), {0, strides_of(made.type)}, source.data(), out_of, made.type.getShape(),
       width_of(made.type));
  return made.finished();
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

// Rounded once, which is not by way of float32.
void put_rounded(std::byte* to, mlir::Type type, const std::byte* from) {
  double value = 0;
  std::memcpy(&value, from, sizeof value);
  llvm::APFloat number(value);
  bool loses = false;
  number.convert(llvm::cast<mlir::FloatType>(type).getFloatSemantics(),
                 llvm::APFloat::rmNearestTiesToEven, &loses);
  const auto bits = static_cast<std::uint16_t>(number.bitcastToAPInt().getZExtValue());
  std::memcpy(to, &bits, sizeof bits);
}

void cast(const Making& made, const Contents& source) {
  const mlir::Type from = source.type.getElementType();
  const mlir::Type to = made.type.getElementType();
  const auto step = static_cast<std::size_t>(width_of(source.type));
  const auto into = static_cast<std::size_t>(width_of(made.type));
  for (std::size_t i = 0; i * step < source.held.bytes().size(); ++i) {
    const std::byte* const element = source.data() + i * step;
    if (from.isF64() && into == sizeof(std::uint16_t)) {
      put_rounded(made.data() + i * into, to, element);
    } else {
      put_float(made.data() + i * into, to, to_float(element, from));
    }
  }
}

// --- which there are ---------------------------------------------------------------------------

// The nearest number, ties to even.
bool is_plain_cast(mlir::Operation& op) {
  const llvm::StringRef name = op.getName().getStringRef();
  if (op.hasAttr("roundingmode")) return false;
  return name == "arith.extf" || name == "arith.truncf" || name == "tosa.cast";
}

// The same of each element, as a loop.
bool is_cast_of_each(mlir::Operation& operation) {
  auto op = llvm::dyn_cast<mlir::linalg::LinalgOp>(operation);
  if (!op || op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1 ||
      op.getNumReductionLoops() != 0 ||
      !llvm::all_of(op.getIndexingMapsArray(),
                    [](mlir::AffineMap map) { return map.isIdentity(); })) {
    return false;
  }
  mlir::Block& body = *op.getBlock();
  if (body.getOperations().size() != 2) return false;  // whatever else it does would be gone
  mlir::Operation& cast = body.front();
  return is_plain_cast(cast) && cast.getOperand(0) == body.getArgument(0) &&
         body.back().getNumOperands() == 1 && body.back().getOperand(0) == cast.getResult(0);
}

bool is_cast(mlir::Operation& op) { return is_plain_cast(op) || is_cast_of_each(op); }

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

// Whether the result has the extents of its one source, where they are.
bool has_extents(mlir::RankedTensorType result, mlir::RankedTensorType source,
                 llvm::ArrayRef<std::int64_t> axes) {
  if (static_cast<std::int64_t>(axes.size()) != source.getRank()) return false;
  for (unsigned i = 0; i < axes.size(); ++i) {
    if (axes[i] >= result.getRank()) return false;
    const std::int64_t extent = axes[i] < 0 ? 1 : result.getDimSize(static_cast<unsigned>(axes[i]));
    if (source.getDimSize(i) != extent) return false;
  }
  return true;
}

bool can_pad(tensor::PadOp op) {
  const mlir::RankedTensorType inner = op.getSourceType();
  for (unsigned axis = 0; axis < op.getStaticLow().size(); ++axis) {
    const std::int64_t low = op.getStaticLow()[axis];
    const std::int64_t high = op.getStaticHigh()[axis];
    const bool is_border = low >= 0 && high >= 0 && low <= most_elements && high <= most_elements;
    if (!is_border || low + inner.getDimSize(axis) + high != op.getType().getDimSize(axis)) {
      return false;
    }
  }
  return filling_of(op).has_value();
}

bool can_join(mlir::Operation& op) {
  const mlir::RankedTensorType whole = result_type(op);
  const std::int64_t axis = joined_axis(op);
  if (axis < 0 || axis >= whole.getRank()) return false;
  std::int64_t extent = 0;
  for (const mlir::Value operand : op.getOperands()) {
    const auto part = llvm::cast<mlir::RankedTensorType>(operand.getType());
    if (part.getRank() != whole.getRank()) return false;
    for (unsigned i = 0; i < whole.getRank(); ++i) {
      if (i != axis && part.getDimSize(i) != whole.getDimSize(i)) return false;
    }
    extent += part.getDimSize(static_cast<unsigned>(axis));
  }
  return extent == whole.getDimSize(static_cast<unsigned>(axis));
}

// Of operations whose operands and result are all plain.
bool can_evaluate(mlir::Operation& op) {
  if (auto slice = llvm::dyn_cast<tensor::ExtractSliceOp>(op)) return window_of(slice).has_value();
  if (auto insert = llvm::dyn_cast<tensor::InsertSliceOp>(op)) {
    return window_of(insert).has_value() && insert.getType() == insert.getDestType();
  }
  if (auto padding = llvm::dyn_cast<tensor::PadOp>(op)) return can_pad(padding);
  if (is_join(op)) return can_join(op);
  const mlir::RankedTensorType made = result_type(op);
  const auto source = llvm::cast<mlir::RankedTensorType>(op.getOperand(0).getType());
  if (is_cast(op)) {
    return made.getShape() == source.getShape();
  }
  if (made.getElementType() != source.getElementType()) return false;
  if (const auto axes = moved_axes(op)) return has_extents(made, source, *axes);
  if (!is_move(&op)) return false;
  if (!op.getName().getStringRef().ends_with("transpose")) {
    return made.getNumElements() == source.getNumElements();
  }
  return has_extents(made, source, transposed_axes(op));
}

// Of sources that are all one and the same element; empty: they are not, or more is put in.
std::optional<Contents> evaluate_splat(mlir::Operation& op,
                                       std::span<const Contents* const> sources) {
  const Contents& first = *sources.front();
  const bool is_one = std::ranges::all_of(sources, [&](const Contents* source) {
    return source->is_splat && std::ranges::equal(source->held.bytes(), first.held.bytes());
  });
  const bool is_empty = result_type(op).getNumElements() == 0;
  if (!is_one || is_empty || llvm::isa<tensor::PadOp>(op)) return std::nullopt;
  if (!is_cast(op)) return Contents{result_type(op), first.held, true};
  const Making made(mlir::RankedTensorType::get({1}, result_type(op).getElementType()));
  cast(made, first);
  return Contents{result_type(op), made.finished().held, true};
}

Contents whole(const Contents& splat) {
  const Making made(splat.type);
  const auto element = splat.held.bytes();
  for (std::size_t at = 0; at < made.bytes->size(); at += element.size()) {
    std::ranges::copy(element, made.data() + at);
  }
  return made.finished();
}

Contents evaluate_whole(mlir::Operation& op, std::span<const Contents* const> sources) {
  if (llvm::isa<tensor::ExtractSliceOp>(op)) return slice(op, *sources[0]);
  if (llvm::isa<tensor::InsertSliceOp>(op)) return insert(op, *sources[0], *sources[1]);
  if (llvm::isa<tensor::PadOp>(op)) return pad(op, *sources[0]);
  if (is_join(op)) return join(op, sources);
  if (is_cast(op)) {
    const Making made(result_type(op));
    cast(made, *sources[0]);
    return made.finished();
  }
  if (const auto axes = moved_axes(op)) return spread(op, *sources[0], *axes);
  const std::vector<std::int64_t> axes = transposed_axes(op);
  if (!axes.empty()) return spread(op, *sources[0], axes);
  return {result_type(op), sources[0]->held};
}

}  // namespace

std::vector<mlir::Value> sources_of(mlir::Operation& op) {
  if (op.getNumResults() != 1 || op.getNumOperands() == 0) return {};
  if (!is_plain(op.getResult(0).getType())) return {};
  // What else is an operand says a shape, a place, or where the result is put.
  const bool has_all = is_join(op) || llvm::isa<tensor::InsertSliceOp>(op);
  std::vector<mlir::Value> sources;
  for (unsigned i = 0; i < (has_all ? op.getNumOperands() : 1); ++i) {
    const bool is_place = op.getOperand(i).getType().isIndex();
    if (!is_place && !is_plain(op.getOperand(i).getType())) return {};
    if (!is_place) sources.push_back(op.getOperand(i));
  }
  return !sources.empty() && can_evaluate(op) ? sources : std::vector<mlir::Value>();
}

Contents evaluate(mlir::Operation& op, std::span<const Contents* const> sources) {
  if (const auto splat = evaluate_splat(op, sources)) return *splat;
  std::vector<Contents> wholes;
  std::vector<const Contents*> read(sources.begin(), sources.end());
  wholes.reserve(read.size());
  for (const Contents*& source : read) {
    if (source->is_splat) source = &wholes.emplace_back(whole(*source));
  }
  return evaluate_whole(op, read);
}

}  // namespace quadrant::inline v0::mlir_plugin
