#include "mlir_plugin/tosa_products.hpp"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Tensor/IR/Tensor.h>
#include <mlir/IR/Builders.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "mlir_plugin/headers.hpp"
#include "mlir_plugin/types.hpp"

namespace quadrant::inline v0::mlir_plugin {
namespace {

namespace arith = mlir::arith;
namespace linalg = mlir::linalg;
namespace tensor = mlir::tensor;

using Extents = llvm::SmallVector<std::int64_t>;

template <class Op>
linalg::LinalgOp make_named(mlir::OpBuilder& builder, mlir::Location location,
                            mlir::ValueRange inputs, mlir::Value init,
                            llvm::ArrayRef<mlir::NamedAttribute> window) {
  auto made = make_op<Op>(builder, location, mlir::TypeRange{init.getType()}, inputs,
                          mlir::ValueRange{init}, window);
  return llvm::cast<linalg::LinalgOp>(made.getOperation());
}

const std::array<TosaProduct, 6>& tosa_products() {
  static const std::array<TosaProduct, 6> products{
      TosaProduct{.name = "tosa.matmul",
                  .channels = {1, 2},
                  .contracted = {2, 1},
                  .of_sum = 2,
                  .data = "bmk",
                  .weight = "bkn",
                  .sum = "bmn",
                  .bias = "",
                  .make = make_named<linalg::BatchMatmulOp>},
      TosaProduct{.name = "tosa.fully_connected",
                  .channels = {0, 0},
                  .contracted = {1, 1},
                  .of_sum = 1,
                  .data = "mk",
                  .weight = "nk",
                  .sum = "mn",
                  .bias = "n",
                  .make = make_named<linalg::MatmulTransposeBOp>},
      TosaProduct{.name = "tosa.conv2d",
                  .channels = {-1, 0},
                  .contracted = {-1, 3},
                  .of_sum = 3,
                  .data = "byxk",
                  .weight = "nvuk",
                  .sum = "byxn",
                  .bias = "n",
                  .make = make_named<linalg::Conv2DNhwcFhwcOp>},
      TosaProduct{.name = "tosa.conv3d",
                  .channels = {-1, 0},
                  .contracted = {-1, 4},
                  .of_sum = 4,
                  .data = "bzyxk",
                  .weight = "nwvuk",
                  .sum = "bzyxn",
                  .bias = "n",
                  .make = nullptr},
      // A scale is for all kernels of a channel of the data: types have scales along one axis.
      TosaProduct{.name = "tosa.depthwise_conv2d",
                  .channels = {-1, 2},
                  .contracted = {-1, -1},
                  .of_sum = 3,
                  .data = "byxn",
                  .weight = "vunm",
                  .sum = "byxnm",
                  .bias = "nm",
                  .make = make_named<linalg::DepthwiseConv2DNhwcHwcmOp>},
      TosaProduct{.name = "tosa.transpose_conv2d",
                  .channels = {-1, 0},
                  .contracted = {-1, 3},
                  .of_sum = 3,
                  .data = "byxk",
                  .weight = "nvuk",
                  .sum = "byxn",
                  .bias = "n",
                  .make = nullptr,
                  .is_transposed = true}};
  return products;
}

// --- extents ------------------------------------------------------------------------------------

std::int64_t extent_of(mlir::Value value, std::size_t axis) {
  return llvm::cast<mlir::ShapedType>(value.getType()).getDimSize(static_cast<unsigned>(axis));
}

bool is_known(std::int64_t extent) { return !mlir::ShapedType::isDynamic(extent); }

// The axis of the weight along which windows over this axis of the data reach; `npos`: it is none
// of those.
std::size_t window_axis(const TosaProduct& product, char axis) {
  static constexpr llvm::StringLiteral over{"zyx"};
  static constexpr llvm::StringLiteral by{"wvu"};
  const std::size_t found = over.find(axis);
  return found == llvm::StringRef::npos ? found : product.weight.find(by[found]);
}

// How windows move over one axis of the data, or of the result.
struct WindowSteps {
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t before = 0;  // so far they begin outside; transposed, so much more there is
  std::int64_t behind = 0;
};

// Numbers of which extents are computed without overflow.
constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();

// Those of an attribute; empty where there are others, or not as many.
llvm::ArrayRef<std::int64_t> read_steps(mlir::Operation& op, llvm::StringRef name,
                                        std::size_t count, std::int64_t least) {
  const auto held = op.getAttrOfType<mlir::DenseI64ArrayAttr>(name);
  if (!held || held.asArrayRef().size() != count) return {};
  const bool is_usable = llvm::all_of(
      held.asArrayRef(), [&](std::int64_t number) { return number >= least && number <= most; });
  return is_usable ? held.asArrayRef() : llvm::ArrayRef<std::int64_t>();
}

// The windows over each axis of the data, which may be none; empty where the attributes do not say
// them.
std::optional<std::vector<WindowSteps>> windows_of(const TosaProduct& product,
                                                   mlir::Operation& op) {
  std::vector<WindowSteps> windows(product.data.size());
  std::vector<std::size_t> moved;
  for (std::size_t axis = 0; axis < windows.size(); ++axis) {
    if (window_axis(product, product.data[axis]) != llvm::StringRef::npos) moved.push_back(axis);
  }
  if (moved.empty()) return windows;
  const std::vector<std::int64_t> dense(moved.size(), 1);
  const auto strides = read_steps(op, "stride", moved.size(), 1);
  const auto dilations =
      product.is_transposed ? llvm::ArrayRef(dense) : read_steps(op, "dilation", moved.size(), 1);
  const auto pads = product.is_transposed ? read_steps(op, "out_pad", 2 * moved.size(), -most)
                                          : read_steps(op, "pad", 2 * moved.size(), 0);
  if (strides.empty() || dilations.empty() || pads.empty()) return std::nullopt;
  for (std::size_t i = 0; i < moved.size(); ++i) {
    windows[moved[i]] = {strides[i], dilations[i], pads[2 * i], pads[2 * i + 1]};
  }
  return windows;
}

// How many windows there are; transposed, how far they reach. -1: none fits, or nobody can say.
std::int64_t count_windows(const TosaProduct& product, const WindowSteps& window,
                           std::int64_t extent, std::int64_t kernel) {
  if (!is_known(extent) || !is_known(kernel)) return mlir::ShapedType::kDynamic;
  if (extent > most || kernel > most || kernel < 1) return -1;
  const std::int64_t around = window.before + window.behind;
  if (product.is_transposed) {
    const bool is_cut = extent < 1 || window.before <= -kernel || window.behind <= -kernel;
    const std::int64_t made = (extent - 1) * window.stride + kernel + around;
    return is_cut || made < 1 ? -1 : made;
  }
  const std::int64_t room = extent + around;
  const std::int64_t reach = (kernel - 1) * window.dilation + 1;
  return room < reach ? -1 : (room - reach) / window.stride + 1;
}

// Where an axis of the sum comes from: operand and axis.
std::pair<unsigned, std::size_t> origin_of(const TosaProduct& product, char axis) {
  const std::size_t of_data = product.data.find(axis);
  if (of_data != llvm::StringRef::npos) return {0, of_data};
  return {1, product.weight.find(axis)};
}

// Those of the sum; empty where windows cannot be counted.
std::optional<Extents> sum_extents(const TosaProduct& product, mlir::Operation& op) {
  const auto windows = windows_of(product, op);
  if (!windows) return std::nullopt;
  Extents extents;
  for (const char letter : product.sum) {
    const auto [operand, axis] = origin_of(product, letter);
    std::int64_t extent = extent_of(op.getOperand(operand), axis);
    if (const std::size_t kernel = window_axis(product, letter); kernel != llvm::StringRef::npos) {
      extent =
          count_windows(product, (*windows)[axis], extent, extent_of(op.getOperand(1), kernel));
      if (extent == -1) return std::nullopt;
    }
    extents.push_back(extent);
  }
  return extents;
}

// The result's: the last two of the sum's may be one there.
Extents result_extents(const TosaProduct& product, mlir::Operation& op, Extents of_sum) {
  const auto rank = llvm::cast<mlir::ShapedType>(op.getResult(0).getType()).getRank();
  if (static_cast<std::int64_t>(product.sum.size()) == rank) return of_sum;
  const std::int64_t last = of_sum.pop_back_val();
  const bool is_open = !is_known(last) || !is_known(of_sum.back());
  of_sum.back() = is_open ? mlir::ShapedType::kDynamic : of_sum.back() * last;
  return of_sum;
}

// --- whether it is one --------------------------------------------------------------------------

bool has_rank(mlir::Value value, std::size_t rank) {
  const auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
  return type && static_cast<std::size_t>(type.getRank()) == rank;
}

bool has_ranks(const TosaProduct& product, mlir::Operation& op) {
  return has_rank(op.getOperand(0), product.data.size()) &&
         has_rank(op.getOperand(1), product.weight.size()) &&
         has_rank(op.getResult(0), product.data.size());
}

// Whether axes of data and weight that are the same have the same extent, as far as it is known.
bool is_of_same_extents(const TosaProduct& product, mlir::Operation& op) {
  for (std::size_t axis = 0; axis < product.data.size(); ++axis) {
    const std::size_t other = product.weight.find(product.data[axis]);
    if (other == llvm::StringRef::npos) continue;
    const std::int64_t ours = extent_of(op.getOperand(0), axis);
    const std::int64_t theirs = extent_of(op.getOperand(1), other);
    if (is_known(ours) && is_known(theirs) && ours != theirs) return false;
  }
  return true;
}

// Whether each channel of the sum has one element of the bias, or all share one.
bool has_bias(const TosaProduct& product, mlir::Operation& op, const Extents& of_result) {
  if (product.bias.empty()) return true;
  if (op.getNumOperands() < 3 || !has_rank(op.getOperand(2), 1)) return false;
  const auto bias = llvm::cast<mlir::RankedTensorType>(op.getOperand(2).getType());
  const std::int64_t count = bias.getDimSize(0);
  const bool is_of_channels = is_known(count) && count == of_result.back();
  return (count == 1 || is_of_channels) && !bias.getEncoding() &&
         bias.getElementType() == mlir::getElementTypeOrSelf(op.getResult(0).getType());
}

// Whether extents are computed of others, which must be known.
bool has_windows(const TosaProduct& product) { return product.weight.contains('u'); }

// --- as linalg has it ---------------------------------------------------------------------------

// Codes without a sign are signless integers, too: the same bits.
mlir::Value code(mlir::OpBuilder& builder, mlir::Location location, mlir::Type type,
                 std::int64_t value) {
  const llvm::APInt bits =
      llvm::APInt(64, static_cast<std::uint64_t>(value)).trunc(type.getIntOrFloatBitWidth());
  return make_op<arith::ConstantOp>(builder, location, mlir::IntegerAttr::get(type, bits));
}

// `value` with a border, where windows reach outside.
mlir::Value pad_codes(mlir::OpBuilder& builder, mlir::Location location, mlir::Value value,
                      llvm::ArrayRef<WindowSteps> windows, std::int64_t padding) {
  const bool reaches_outside = llvm::any_of(
      windows, [](const WindowSteps& window) { return window.before != 0 || window.behind != 0; });
  if (!reaches_outside) return value;
  auto type = llvm::cast<mlir::RankedTensorType>(value.getType());
  Extents extents;
  llvm::SmallVector<mlir::OpFoldResult> low;
  llvm::SmallVector<mlir::OpFoldResult> high;
  for (const auto& [extent, window] : llvm::zip_equal(type.getShape(), windows)) {
    extents.push_back(is_known(extent) ? extent + window.before + window.behind : extent);
    low.push_back(builder.getIndexAttr(window.before));
    high.push_back(builder.getIndexAttr(window.behind));
  }
  return make_op<tensor::PadOp>(builder, location, type.clone(extents), value, low, high,
                                code(builder, location, type.getElementType(), padding))
      .getResult();
}

// `value` with its elements as far apart as windows of the result are, and around them as much as
// a window reaches: what element `i` of the sum adds up lies at `i` and behind.
mlir::Value spread_codes(mlir::OpBuilder& builder, mlir::Location location,
                         const TosaProduct& product, mlir::Operation& op,
                         llvm::ArrayRef<WindowSteps> windows, std::int64_t padding) {
  const mlir::Value value = op.getOperand(0);
  const mlir::Type element = mlir::getElementTypeOrSelf(value.getType());
  const auto sizes = tensor::getMixedSizes(builder, location, value);
  llvm::SmallVector<mlir::OpFoldResult> places = sizes;
  llvm::SmallVector<mlir::OpFoldResult> offsets(sizes.size(), builder.getIndexAttr(0));
  llvm::SmallVector<mlir::OpFoldResult> steps(sizes.size(), builder.getIndexAttr(1));
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    const std::size_t kernel = window_axis(product, product.data[axis]);
    if (kernel == llvm::StringRef::npos) continue;
    const std::int64_t more = extent_of(op.getOperand(1), kernel) - 1;
    places[axis] = builder.getIndexAttr(extent_of(op.getResult(0), axis) + more);
    offsets[axis] = builder.getIndexAttr(windows[axis].before + more);
    steps[axis] = builder.getIndexAttr(windows[axis].stride);
  }
  const mlir::Value empty = make_op<tensor::EmptyOp>(builder, location, places, element);
  const mlir::Value filled =
      make_op<linalg::FillOp>(builder, location, code(builder, location, element, padding), empty)
          .getResult(0);
  return make_op<tensor::InsertSliceOp>(builder, location, value, filled, offsets, sizes, steps)
      .getResult();
}

// The bias as it stands along the last axes of `into`, repeated along the others.
mlir::Value repeat_bias(mlir::OpBuilder& builder, mlir::Location location, mlir::Value bias,
                        std::size_t axes, mlir::Value into) {
  auto place = llvm::cast<mlir::RankedTensorType>(into.getType());
  const auto rank = static_cast<std::size_t>(place.getRank());
  const mlir::Type element = place.getElementType();
  const bool is_one_for_all = extent_of(bias, 0) == 1;
  const std::size_t own = is_one_for_all ? 0 : axes;
  const auto shape = mlir::RankedTensorType::get(place.getShape().take_back(own), element);
  if (own == 0) {
    bias = make_op<tensor::CollapseShapeOp>(builder, location, shape, bias,
                                            llvm::ArrayRef<mlir::ReassociationIndices>());
  } else if (own == 2) {
    bias = make_op<tensor::ExpandShapeOp>(
        builder, location, shape, bias,
        llvm::SmallVector<mlir::ReassociationIndices>{mlir::ReassociationIndices{0, 1}});
  }
  Extents repeated;
  for (std::size_t axis = 0; axis + own < rank; ++axis) {
    repeated.push_back(static_cast<std::int64_t>(axis));
  }
  return make_op<linalg::BroadcastOp>(builder, location, bias, into, repeated)->getResult(0);
}

// How many windows there are over an axis of the data whose extent is open.
mlir::Value counted_when_run(mlir::OpBuilder& builder, const TosaProduct& product,
                             mlir::Operation& op, std::size_t axis, const WindowSteps& window) {
  const mlir::Location location = op.getLoc();
  const auto number = [&](std::int64_t value) -> mlir::Value {
    return make_op<arith::ConstantOp>(builder, location, builder.getIndexAttr(value));
  };
  const std::size_t kernel = window_axis(product, product.data[axis]);
  const std::int64_t reach = (extent_of(op.getOperand(1), kernel) - 1) * window.dilation + 1;
  const mlir::Value extent =
      make_op<tensor::DimOp>(builder, location, op.getOperand(0), static_cast<std::int64_t>(axis));
  const mlir::Value rest = number(window.before + window.behind - reach);
  const mlir::Value room = make_op<arith::AddIOp>(builder, location, extent, rest);
  const mlir::Value more = make_op<arith::DivSIOp>(builder, location, room, number(window.stride));
  return make_op<arith::AddIOp>(builder, location, more, number(1));
}

// What the sums begin with.
mlir::Value initial(mlir::OpBuilder& builder, const TosaProduct& product, mlir::Operation& op,
                    const Extents& extents, llvm::ArrayRef<WindowSteps> windows) {
  const mlir::Location location = op.getLoc();
  const mlir::Type element = mlir::getElementTypeOrSelf(op.getResult(0).getType());
  llvm::SmallVector<mlir::OpFoldResult> sizes;
  for (const auto& [letter, extent] : llvm::zip_equal(product.sum, extents)) {
    const auto [operand, axis] = origin_of(product, letter);
    if (is_known(extent)) {
      sizes.push_back(builder.getIndexAttr(extent));
    } else if (window_axis(product, letter) != llvm::StringRef::npos) {
      sizes.push_back(counted_when_run(builder, product, op, axis, windows[axis]));
    } else {
      sizes.push_back(tensor::getMixedSize(builder, location, op.getOperand(operand),
                                           static_cast<std::int64_t>(axis)));
    }
  }
  const mlir::Value place = make_op<tensor::EmptyOp>(builder, location, sizes, element);
  if (!product.bias.empty()) {
    return repeat_bias(builder, location, op.getOperand(2), product.bias.size(), place);
  }
  const mlir::Value zero =
      make_op<arith::ConstantOp>(builder, location, builder.getFloatAttr(element, 0));
  return make_op<linalg::FillOp>(builder, location, zero, place).getResult(0);
}

// As linalg's convolutions have them.
llvm::SmallVector<mlir::NamedAttribute> window_attributes(mlir::OpBuilder& builder,
                                                          const TosaProduct& product,
                                                          llvm::ArrayRef<WindowSteps> windows) {
  Extents strides;
  Extents dilations;
  for (const auto& [letter, window] : llvm::zip_equal(product.data, windows)) {
    if (window_axis(product, letter) == llvm::StringRef::npos) continue;
    strides.push_back(window.stride);
    dilations.push_back(window.dilation);
  }
  if (strides.empty()) return {};
  return {builder.getNamedAttr("strides", builder.getI64TensorAttr(strides)),
          builder.getNamedAttr("dilations", builder.getI64TensorAttr(dilations))};
}

// Where a window's element lies in the data.
mlir::AffineExpr position_in(const TosaProduct& product, const WindowSteps& window,
                             mlir::AffineExpr place, mlir::AffineExpr in_window,
                             std::int64_t kernel) {
  if (product.is_transposed) return place + (kernel - 1) - in_window;
  return place * window.stride + in_window * window.dilation;
}

// Without a name, by the letters.
linalg::LinalgOp make_generic(mlir::OpBuilder& builder, mlir::Location location,
                              const TosaProduct& product, mlir::Value data, mlir::Value weight,
                              mlir::Value init, llvm::ArrayRef<WindowSteps> windows) {
  using mlir::utils::IteratorType;
  std::string letters = product.sum.str();
  llvm::SmallVector<IteratorType> loops(letters.size(), IteratorType::parallel);
  for (const char letter : product.weight) {
    if (product.sum.contains(letter)) continue;
    letters.push_back(letter);
    loops.push_back(IteratorType::reduction);
  }
  const auto loop = [&](char letter) {
    return builder.getAffineDimExpr(static_cast<unsigned>(letters.find(letter)));
  };
  const auto map = [&](llvm::ArrayRef<mlir::AffineExpr> along) {
    return mlir::AffineMap::get(static_cast<unsigned>(letters.size()), 0, along,
                                builder.getContext());
  };
  llvm::SmallVector<mlir::AffineExpr> of_data;
  for (const auto& [letter, window] : llvm::zip_equal(product.data, windows)) {
    const std::size_t kernel = window_axis(product, letter);
    of_data.push_back(kernel == llvm::StringRef::npos
                          ? loop(letter)
                          : position_in(product, window, loop(letter), loop(product.weight[kernel]),
                                        extent_of(weight, kernel)));
  }
  const llvm::SmallVector<mlir::AffineMap> maps{map(of_data),
                                                map(llvm::map_to_vector(product.weight, loop)),
                                                map(llvm::map_to_vector(product.sum, loop))};
  const auto body = [](mlir::OpBuilder& inside, mlir::Location at, mlir::ValueRange elements) {
    make_op<linalg::YieldOp>(inside, at, elements.back());
  };
  auto made = make_op<linalg::GenericOp>(builder, location, mlir::TypeRange{init.getType()},
                                         mlir::ValueRange{data, weight}, mlir::ValueRange{init},
                                         maps, loops, body);
  return llvm::cast<linalg::LinalgOp>(made.getOperation());
}

}  // namespace

const TosaProduct* find_tosa_product(mlir::Operation& op) {
  const auto* const found =
      std::ranges::find(tosa_products(), op.getName().getStringRef(), &TosaProduct::name);
  return found == tosa_products().end() || op.getNumOperands() < 2 ? nullptr : found;
}

std::vector<std::int64_t> summed_extents(const TosaProduct& product, mlir::Operation& op) {
  const auto extent_in = [&](unsigned operand, llvm::StringRef letters, char letter) {
    const mlir::Value value = op.getOperand(operand);
    const bool is_there = has_rank(value, letters.size()) && letters.contains(letter);
    return is_there ? extent_of(value, letters.find(letter)) : mlir::ShapedType::kDynamic;
  };
  std::vector<std::int64_t> extents;
  for (const char letter : product.weight) {
    if (product.sum.contains(letter)) continue;
    const std::int64_t of_weight = extent_in(1, product.weight, letter);
    extents.push_back(is_known(of_weight) ? of_weight : extent_in(0, product.data, letter));
  }
  return extents;
}

std::string why_not_in_linalg(const TosaProduct& product, mlir::Operation& op) {
  if (!has_ranks(product, op)) return "the ranks of its operands or of its result are not known";
  if (!is_of_same_extents(product, op)) return "its data and its weight do not fit together";
  for (std::size_t axis = 1; has_windows(product) && axis < product.data.size(); ++axis) {
    const std::size_t kernel = window_axis(product, product.data[axis]);
    const bool is_moved = kernel != llvm::StringRef::npos;
    if (is_moved && !is_known(extent_of(op.getOperand(1), kernel))) {
      return "the extents of its kernel are not known";
    }
    if ((is_moved && !product.is_transposed) || is_known(extent_of(op.getOperand(0), axis)))
      continue;
    return "its channels, or transposed any extent but the batch, are not known";
  }
  const auto extents = sum_extents(product, op);
  if (!extents) return "its windows do not fit its data";
  const Extents of_result = result_extents(product, op, *extents);
  if (has_windows(product) && !is_known(of_result.back())) {
    return "how many channels its result has is not known";
  }
  if (!llvm::equal(of_result, llvm::cast<mlir::ShapedType>(op.getResult(0).getType()).getShape())) {
    return "its result has other extents than its operands give it";
  }
  if (!has_bias(product, op, of_result)) {
    return "its bias is not of the type and the channels of its result";
  }
  return {};
}

linalg::LinalgOp as_linalg(const TosaProduct& product, mlir::Operation& op, std::int64_t padding) {
  mlir::OpBuilder builder(&op);
  const mlir::Location location = op.getLoc();
  const std::vector<WindowSteps> windows =
      windows_of(product, op).value_or(std::vector<WindowSteps>());
  const Extents extents = sum_extents(product, op).value_or(Extents());
  const mlir::Value data = product.is_transposed
                               ? spread_codes(builder, location, product, op, windows, padding)
                               : pad_codes(builder, location, op.getOperand(0), windows, padding);
  const mlir::Value weight = op.getOperand(1);
  const mlir::Value init = initial(builder, product, op, extents, windows);
  if (product.make == nullptr) {
    return make_generic(builder, location, product, data, weight, init, windows);
  }
  return product.make(builder, location, mlir::ValueRange{data, weight}, init,
                      window_attributes(builder, product, windows));
}

}  // namespace quadrant::inline v0::mlir_plugin
