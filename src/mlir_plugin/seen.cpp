#include "mlir_plugin/seen.hpp"

#include <llvm/ADT/SetVector.h>
#include <mlir/Dialect/Linalg/IR/Linalg.h>
#include <mlir/Dialect/Tensor/IR/Tensor.h>
#include <mlir/Interfaces/FunctionInterfaces.h>
#include <mlir/Transforms/RegionUtils.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "mlir_plugin/headers.hpp"
#include "mlir_plugin/tosa_products.hpp"
#include "quadrant/ir/ops.hpp"
#include "support/saturating.hpp"

namespace quadrant::inline v0::mlir_plugin {
namespace {

using Axes = std::vector<std::int64_t>;

Attributes product_attributes(Axes channels, Axes contracted, std::int64_t of_sum,
                              std::int64_t terms) {
  return Attributes{{std::string(MlirProduct::channels), std::move(channels)},
                    {std::string(MlirProduct::contracted), std::move(contracted)},
                    {std::string(MlirProduct::of_sum), of_sum},
                    {std::string(MlirProduct::terms), terms}};
}

std::int64_t with_more_terms(std::int64_t terms, std::int64_t extent) {
  return saturating_multiply(terms, mlir::ShapedType::isDynamic(extent) ? 32 : extent);
}

// --- linalg -------------------------------------------------------------------------------------

// The axis of `map`'s operand that is dimension `dim` itself, -1 if it is none or part of a sum.
std::int64_t axis_of(mlir::AffineMap map, unsigned dim) {
  const auto position = map.getResultPosition(mlir::getAffineDimExpr(dim, map.getContext()));
  return position ? static_cast<std::int64_t>(*position) : -1;
}

// By the maps: scales may differ along axes that are not summed. One that the other operand does
// not share is the axis of channels; depthwise, both have it.
void find_axes(mlir::linalg::LinalgOp op, unsigned operand, Axes& channels, Axes& contracted) {
  const llvm::SmallVector<mlir::AffineMap> maps = op.getIndexingMapsArray();
  const auto iterators = op.getIteratorTypesArray();
  std::int64_t own = -1;
  std::int64_t shared = -1;
  std::int64_t summed = -1;
  for (unsigned dim = 0; dim < iterators.size(); ++dim) {
    const std::int64_t axis = axis_of(maps[operand], dim);
    if (axis < 0) continue;
    if (iterators[dim] == mlir::utils::IteratorType::reduction) {
      // Of several, the one that the other operand has as it is, too: not a kernel's window.
      if (summed < 0 || axis_of(maps[1 - operand], dim) >= 0) summed = axis;
    } else if (maps[1 - operand].isFunctionOfDim(dim)) {
      shared = axis;
    } else {
      own = axis;
    }
  }
  channels.push_back(own >= 0 ? own : shared);
  contracted.push_back(summed);
}

// The axis of the result that an axis of operand 1 becomes; -1: none.
std::int64_t result_axis(mlir::linalg::LinalgOp op, std::int64_t axis) {
  if (axis < 0) return -1;
  const llvm::SmallVector<mlir::AffineMap> maps = op.getIndexingMapsArray();
  const auto position = maps[2].getResultPosition(maps[1].getResult(static_cast<unsigned>(axis)));
  return position ? static_cast<std::int64_t>(*position) : -1;
}

// Of real numbers; what it was before it got the type of the sum.
mlir::Value without_casts(mlir::Value value) {
  while (mlir::Operation* const maker = value.getDefiningOp()) {
    const llvm::StringRef name = maker->getName().getStringRef();
    if (name != "arith.extf" && name != "arith.truncf") break;
    value = maker->getOperand(0);
  }
  return value;
}

// The operands of `value` if `name` makes it, else nothing.
std::optional<std::array<mlir::Value, 2>> operands_of(mlir::Value value, llvm::StringRef name) {
  mlir::Operation* const maker = value.getDefiningOp();
  if (maker == nullptr || maker->getName().getStringRef() != name) return std::nullopt;
  return std::array<mlir::Value, 2>{maker->getOperand(0), maker->getOperand(1)};
}

// a and b where `value` is sum + a * b.
std::optional<std::array<mlir::Value, 2>> added_factors(mlir::Value value, mlir::Value sum) {
  if (auto fused = operands_of(value, "math.fma")) {
    return value.getDefiningOp()->getOperand(2) == sum ? fused : std::nullopt;
  }
  const auto terms = operands_of(value, "arith.addf");
  if (!terms) return std::nullopt;
  const auto& [left, right] = *terms;
  if (left != sum && right != sum) return std::nullopt;
  return operands_of(left == sum ? right : left, "arith.mulf");
}

// Whether it computes sum + a * b, and nothing else.
bool adds_products(mlir::Block& body) {
  if (body.getNumArguments() != 3 || body.back().getNumOperands() != 1) return false;
  const auto factors = added_factors(body.back().getOperand(0), body.getArgument(2));
  if (!factors) return false;
  const mlir::Value a = without_casts((*factors)[0]);
  const mlir::Value b = without_casts((*factors)[1]);
  return (a == body.getArgument(0) && b == body.getArgument(1)) ||
         (a == body.getArgument(1) && b == body.getArgument(0));
}

std::optional<Seen> see_linalg_product(mlir::Operation& operation) {
  auto op = llvm::dyn_cast<mlir::linalg::LinalgOp>(operation);
  if (!op || op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1 || op->getNumResults() != 1) {
    return std::nullopt;
  }
  // By the maps, whatever the body computes: pooling, distances.
  if (op.getNumReductionLoops() == 0 || !adds_products(*op.getBlock())) return std::nullopt;
  const bool is_contraction = llvm::all_of(
      op.getIndexingMapsArray(), [](mlir::AffineMap map) { return map.isProjectedPermutation(); });
  if (!is_contraction && !mlir::linalg::isaConvolutionOpInterface(op)) return std::nullopt;
  Axes channels;
  Axes contracted;
  for (unsigned operand = 0; operand < 2; ++operand) {
    find_axes(op, operand, channels, contracted);
  }
  std::int64_t terms = 1;
  for (const auto& [extent, iterator] :
       llvm::zip_equal(op.getStaticLoopRanges(), op.getIteratorTypesArray())) {
    if (iterator == mlir::utils::IteratorType::reduction) terms = with_more_terms(terms, extent);
  }
  return Seen{
      std::string(MlirProduct::kind), operation.getNumOperands(),
      product_attributes(channels, std::move(contracted), result_axis(op, channels[1]), terms)};
}

bool yields_its_operand(mlir::Block& body) {
  mlir::Operation& last = body.back();
  return &body.front() == &last && last.getNumOperands() == 1 &&
         last.getOperand(0) == body.getArgument(0);
}

// --- tosa ---------------------------------------------------------------------------------------

std::optional<Seen> see_tosa_product(mlir::Operation& op) {
  const TosaProduct* const found = find_tosa_product(op);
  if (found == nullptr) return std::nullopt;
  std::int64_t terms = 1;
  for (const std::int64_t extent : summed_extents(*found, op)) {
    terms = with_more_terms(terms, extent);
  }
  const auto axes = [](const std::array<std::int64_t, 2>& of) {
    return Axes(of.begin(), of.end());
  };
  return Seen{
      std::string(MlirProduct::kind), op.getNumOperands(),
      product_attributes(axes(found->channels), axes(found->contracted), found->of_sum, terms)};
}

// --- lookups ------------------------------------------------------------------------------------

// The axis whose index is no loop of `op`: whoever looks up computes it.
std::int64_t looked_up_axis(mlir::tensor::ExtractOp extract) {
  for (const auto& [axis, index] : llvm::enumerate(extract.getIndices())) {
    if (!index.getDefiningOp<mlir::linalg::IndexOp>()) return static_cast<std::int64_t>(axis);
  }
  return -1;
}

std::optional<Seen> see_extracting(mlir::Operation& operation) {
  auto op = llvm::dyn_cast<mlir::linalg::GenericOp>(operation);
  if (!op) return std::nullopt;
  llvm::SetVector<mlir::Value> read;
  mlir::getUsedValuesDefinedAbove(op->getRegions(), read);
  Axes rows(operation.getNumOperands() + read.size(), -1);
  bool looks_up = false;
  op.getRegion().walk([&](mlir::tensor::ExtractOp extract) {
    const auto found = llvm::find(read, extract.getTensor());
    const std::int64_t axis = looked_up_axis(extract);
    if (found == read.end() || axis < 0) return;
    rows[operation.getNumOperands() + static_cast<std::size_t>(found - read.begin())] = axis;
    looks_up = true;
  });
  if (!looks_up) return std::nullopt;
  return Seen{std::string(MlirLookup::kind), operation.getNumOperands(),
              Attributes{{std::string(MlirLookup::channels), std::move(rows)}}};
}

std::optional<Seen> see_lookup(mlir::Operation& op) {
  const llvm::StringRef name = op.getName().getStringRef();
  std::int64_t rows = 1;  // https://www.mlplatform.org/tosa/tosa_spec.html#_gather
  if (name == "tensor.gather") {
    const auto axes = op.getAttrOfType<mlir::DenseI64ArrayAttr>("gather_dims");
    if (!axes || axes.empty()) return std::nullopt;
    rows = axes.asArrayRef().front();
  } else if (name != "tosa.gather") {
    return see_extracting(op);
  }
  if (op.getNumOperands() != 2) return std::nullopt;
  return Seen{std::string(MlirLookup::kind), 2,
              Attributes{{std::string(MlirLookup::channels), Axes{rows, -1}}}};
}

// --- calls --------------------------------------------------------------------------------------

std::optional<Seen> see_call(mlir::Operation& op) {
  if (op.getName().getStringRef() != "func.call") return std::nullopt;
  Attributes attributes;
  for (const std::string_view name : {MlirCall::channels, MlirCall::contracted}) {
    const auto axes = op.getAttrOfType<mlir::DenseI64ArrayAttr>(llvm::StringRef(name));
    if (!axes || axes.size() != static_cast<std::int64_t>(op.getNumOperands())) return std::nullopt;
    // Anybody may have put it there.
    for (const auto& [axis, operand] : llvm::zip_equal(axes.asArrayRef(), op.getOperands())) {
      const auto type = llvm::dyn_cast<mlir::RankedTensorType>(operand.getType());
      if (axis < -1 || axis >= (type ? type.getRank() : 0)) return std::nullopt;
    }
    attributes.set(std::string(name), Axes(axes.asArrayRef().begin(), axes.asArrayRef().end()));
  }
  return Seen{std::string(MlirCall::kind), op.getNumOperands(), std::move(attributes)};
}

// --- moves --------------------------------------------------------------------------------------

// From an attribute, or from the constant that is operand 1. Empty: neither.
Axes permutation(mlir::Operation& op) {
  for (const llvm::StringRef name : {"permutation", "perms"}) {
    if (const auto axes = op.getAttrOfType<mlir::DenseI64ArrayAttr>(name)) {
      return {axes.asArrayRef().begin(), axes.asArrayRef().end()};
    }
    if (const auto axes = op.getAttrOfType<mlir::DenseI32ArrayAttr>(name)) {
      return {axes.asArrayRef().begin(), axes.asArrayRef().end()};
    }
  }
  mlir::Operation* const second =
      op.getNumOperands() < 2 ? nullptr : op.getOperand(1).getDefiningOp();
  const auto axes = llvm::dyn_cast_if_present<mlir::DenseIntElementsAttr>(
      second == nullptr ? mlir::Attribute() : contents_of(*second));
  if (!axes) return {};
  Axes found;
  for (const llvm::APInt& axis : axes.getValues<llvm::APInt>()) {
    found.push_back(axis.getSExtValue());
  }
  return found;
}

// MLIR does not verify that of all that say one.
bool is_permutation(Axes axes, mlir::Type of) {
  std::ranges::sort(axes);
  bool is_one =
      static_cast<std::int64_t>(axes.size()) == llvm::cast<mlir::ShapedType>(of).getRank();
  for (std::size_t i = 0; i < axes.size(); ++i) {
    is_one = is_one && axes[i] == static_cast<std::int64_t>(i);
  }
  return is_one;
}

std::optional<Seen> see_move(mlir::Operation& op) {
  const llvm::StringRef name = op.getName().getStringRef();
  if (op.getNumOperands() == 0 || op.getNumResults() != 1) return std::nullopt;
  // Without a rank, nobody knows where an axis goes.
  if (!llvm::isa<mlir::RankedTensorType>(op.getOperand(0).getType()) ||
      !llvm::isa<mlir::RankedTensorType>(op.getResult(0).getType())) {
    return std::nullopt;
  }
  if (name == "linalg.transpose" || name == "tosa.transpose") {
    Axes axes = permutation(op);
    if (axes.empty() || !is_permutation(axes, op.getOperand(0).getType())) return std::nullopt;
    return Seen{std::string(ops::Transpose::kind), 1, Attributes{{"perm", std::move(axes)}}};
  }
  if (name == "linalg.broadcast") {
    auto axes = stretched_axes(op);
    if (!axes) return std::nullopt;
    return Seen{std::string(MlirBroadcast::kind), 1,
                Attributes{{std::string(MlirBroadcast::axes), *std::move(axes)}}};
  }
  for (const llvm::StringRef reshape :
       {"tensor.expand_shape", "tensor.collapse_shape", "tensor.reshape", "tosa.reshape"}) {
    if (name == reshape) return Seen{std::string(ops::Reshape::kind), 1, {}};
  }
  for (const llvm::StringRef identity : {"tensor.cast", "tosa.identity"}) {
    if (name == identity) return Seen{std::string(ops::Identity::kind), 1, {}};
  }
  return std::nullopt;
}

// --- the rest -----------------------------------------------------------------------------------

std::optional<std::string_view> same_meaning(llvm::StringRef name) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> names{{
      {"quant.qcast", ops::Quantize::kind},
      {"quant.dcast", ops::Dequantize::kind},
      {"quant.scast", ops::StorageCast::kind},
      {"arith.addf", ops::Add::kind},
      {"linalg.add", ops::Add::kind},
      {"tosa.add", ops::Add::kind},
  }};
  const auto* const found =
      std::ranges::find(names, std::string_view(name), [](const auto& pair) { return pair.first; });
  return found == names.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

bool is_unread_destination(mlir::OpOperand& operand) {
  mlir::Operation& op = *operand.getOwner();
  return llvm::isa<mlir::linalg::LinalgOp>(op) && operand.getOperandNumber() >= see(op).operands;
}

std::vector<mlir::Value> factors_and_tables(mlir::Operation& op) {
  const std::string kind = see(op).kind;
  if (kind == MlirProduct::kind) return {op.getOperand(0), op.getOperand(1)};
  if (kind != MlirLookup::kind) return {};
  if (!llvm::isa<mlir::linalg::LinalgOp>(op)) return {op.getOperand(0)};
  llvm::SetVector<mlir::Value> read;
  mlir::getUsedValuesDefinedAbove(op.getRegions(), read);
  return {read.begin(), read.end()};
}

std::optional<std::vector<std::int64_t>> moved_axes(mlir::Operation& operation) {
  auto op = llvm::dyn_cast<mlir::linalg::LinalgOp>(operation);
  if (!op || op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1 || op->getNumResults() != 1 ||
      !llvm::isa<mlir::RankedTensorType>(op->getOperand(0).getType()) ||
      op.getNumReductionLoops() != 0 || !yields_its_operand(*op.getBlock())) {
    return std::nullopt;
  }
  const llvm::SmallVector<mlir::AffineMap> maps = op.getIndexingMapsArray();
  if (!maps[1].isPermutation()) return std::nullopt;
  const auto source = llvm::cast<mlir::RankedTensorType>(op->getOperand(0).getType());
  Axes axes;
  for (unsigned i = 0; i < maps[0].getNumResults(); ++i) {
    const auto axis = llvm::dyn_cast<mlir::AffineDimExpr>(maps[0].getResult(i));
    const auto at = llvm::dyn_cast<mlir::AffineConstantExpr>(maps[0].getResult(i));
    const bool is_unit = at && at.getValue() == 0 && source.getDimSize(i) == 1;
    if (!axis && !is_unit) return std::nullopt;
    axes.push_back(axis ? axis_of(maps[1], axis.getPosition()) : -1);
    if (axis && std::ranges::count(axes, axes.back()) != 1) return std::nullopt;
  }
  return axes;
}

std::optional<std::vector<std::int64_t>> stretched_axes(mlir::Operation& operation) {
  auto axes = moved_axes(operation);
  if (!axes || !std::ranges::is_sorted(*axes) || std::ranges::count(*axes, -1) != 0) {
    return std::nullopt;
  }
  return axes;
}

bool hides_regions(mlir::Operation& op) {
  return llvm::isa<mlir::linalg::LinalgOp, mlir::FunctionOpInterface>(op);
}

std::optional<mlir::APFloat> number_of(mlir::Value value) {
  mlir::Operation* const maker = value.getDefiningOp();
  const auto number = llvm::dyn_cast_if_present<mlir::FloatAttr>(
      maker == nullptr ? mlir::Attribute() : contents_of(*maker));
  return number ? std::optional(number.getValue()) : std::nullopt;
}

mlir::Attribute contents_of(mlir::Operation& op) {
  const llvm::StringRef name = op.getName().getStringRef();
  if (name == "arith.constant") return op.getAttr("value");
  if (name == "tosa.const") return op.getAttr(llvm::StringRef(tosa_constant_attribute));
  return {};
}

Seen see(mlir::Operation& op) {
  if (auto seen = see_linalg_product(op)) return *std::move(seen);
  if (auto seen = see_tosa_product(op)) return *std::move(seen);
  if (auto seen = see_lookup(op)) return *std::move(seen);
  if (auto seen = see_call(op)) return *std::move(seen);
  if (auto seen = see_move(op)) return *std::move(seen);
  if (const auto kind = same_meaning(op.getName().getStringRef())) {
    const bool has_destination = op.getName().getStringRef() == "linalg.add";
    return {std::string(*kind), op.getNumOperands() - (has_destination ? 1U : 0U), {}};
  }
  return {op.getName().getStringRef().str(), op.getNumOperands(), {}};
}

}  // namespace quadrant::inline v0::mlir_plugin
