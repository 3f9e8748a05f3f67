#include "mlir_plugin/export_generic.hpp"

#include <fmt/format.h>
#include <llvm/ADT/DenseMap.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Linalg/IR/Linalg.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/ops/elementwise.hpp"
#include "mlir_plugin/constants.hpp"
#include "mlir_plugin/seen.hpp"
#include "mlir_plugin/types.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::mlir_plugin {
namespace {

namespace linalg = mlir::linalg;
using Axes = std::vector<std::int64_t>;

// The axes of the result that are the operand's, in their order, from the first to the last.
std::optional<Axes> axes_in_order(mlir::AffineMap map) {
  if (!map.isProjectedPermutation()) return std::nullopt;
  Axes axes;
  for (unsigned i = 0; i < map.getNumResults(); ++i) axes.push_back(map.getDimPosition(i));
  return std::ranges::is_sorted(axes) ? std::optional(std::move(axes)) : std::nullopt;
}

class Body {
 public:
  Body(ExportedValues& values, linalg::LinalgOp op, TensorType type)
      : values_(values), op_(op), type_(std::move(type)) {}

  Expected<Value> convert() {
    QUADRANT_CHECK(read_operands());
    for (mlir::Operation& inner : op_.getBlock()->without_terminator()) {
      if (contents_of(inner) || inner.getName().getStringRef() == "arith.cmpf") continue;
      QUADRANT_TRY(made_[inner.getResult(0)], computed(inner));
    }
    QUADRANT_TRY(const Value yielded, value_of(op_.getBlock()->back().getOperand(0)));
    if (values_.type(yielded).shape == type_.shape) return yielded;
    return refuse_export("a generic whose result repeats is not exported");
  }

 private:
  // Each with the rank of the result.
  Expected<void> read_operands() {
    const auto maps = op_.getIndexingMapsArray();
    for (unsigned i = 0; i < static_cast<unsigned>(op_.getNumDpsInputs()); ++i) {
      QUADRANT_TRY(const Value whole, values_.read_for_broadcast(op_->getOperand(i)));
      const Shape& shape = values_.type(whole).shape;
      const Axes axes = axes_in_order(maps[i]).value_or(Axes());
      Value placed = whole;
      // What is stretched already has this rank.
      if (shape.rank() == static_cast<std::int64_t>(axes.size()) &&
          shape.rank() != type_.shape.rank()) {
        Axes extents(static_cast<std::size_t>(type_.shape.rank()), 1);
        for (std::size_t k = 0; k < axes.size(); ++k) {
          extents[static_cast<std::size_t>(axes[k])] = shape[static_cast<std::int64_t>(k)].value();
        }
        placed = values_.reshaped(whole, Shape(extents));
      }
      made_[op_.getBlock()->getArgument(i)] = placed;
    }
    return {};
  }

  Expected<Value> value_of(mlir::Value inner) {
    const auto found = made_.find(inner);
    if (found != made_.end()) return found->second;
    const auto number = number_of(inner);
    if (!number) {
      return refuse_export(
          "a generic that reads more than its operands and numbers is not exported");
    }
    const auto scalar = mlir::RankedTensorType::get({}, inner.getType());
    const Constant contents = to_constant(mlir::DenseElementsAttr::get(scalar, *number));
    if (!contents) return refuse_export("a number of this type is not exported");
    return values_.graph.add_constant({}, contents);
  }

  Expected<Value> computed(mlir::Operation& inner) {
    const llvm::StringRef name = inner.getName().getStringRef();
    const std::string_view chosen = chosen_kind(inner);
    const std::string_view kind = chosen.empty() ? elementwise_kind(name) : chosen;
    const bool is_known =
        !kind.empty() && inner.getNumResults() == 1 &&
        to_tensor_type(mlir::RankedTensorType::get({}, inner.getResult(0).getType())).element ==
            type_.element;
    if (!is_known) {
      return refuse_export(
          fmt::format("a generic that computes {} is not exported", std::string_view(name)));
    }
    const auto computing = inner.getOperands().take_back(2);
    const bool is_relu = kind == ops::Max::kind && llvm::count_if(computing, is_zero) == 1;
    std::vector<Value> operands;
    TensorType type{type_.element, Shape::scalar()};
    for (const mlir::Value operand : computing) {
      if (is_relu && is_zero(operand)) continue;
      QUADRANT_TRY(const Value read, value_of(operand));
      type.shape = larger(type.shape, values_.type(read).shape);
      operands.push_back(read);
    }
    return values_.emit(is_relu ? std::string_view(ops::Relu::kind) : kind, std::move(operands),
                        std::move(type));
  }

  // `a > b ? a : b`, where a NaN is no less than anything and `b` is a number, is a maximum, and
  // likewise a minimum.
  static std::string_view chosen_kind(mlir::Operation& inner) {
    auto select = llvm::dyn_cast<mlir::arith::SelectOp>(inner);
    if (!select) return {};
    auto compare = select.getCondition().getDefiningOp<mlir::arith::CmpFOp>();
    if (!compare || compare.getLhs() != select.getTrueValue() ||
        compare.getRhs() != select.getFalseValue()) {
      return {};
    }
    const auto bound = number_of(compare.getRhs());
    if (!bound || bound->isNaN()) return {};
    switch (compare.getPredicate()) {
      case mlir::arith::CmpFPredicate::UGT:
      case mlir::arith::CmpFPredicate::UGE:
        return ops::Max::kind;
      case mlir::arith::CmpFPredicate::ULT:
      case mlir::arith::CmpFPredicate::ULE:
        return ops::Min::kind;
      default:
        return {};
    }
  }

  static bool is_zero(mlir::Value inner) {
    const auto number = number_of(inner);
    return number && number->isZero();
  }

  // What both broadcast to: of one rank, or one is a number.
  static Shape larger(const Shape& a, const Shape& b) {
    if (a.rank() == 0) return b;
    if (b.rank() == 0) return a;
    Axes extents;
    for (std::int64_t axis = 0; axis < a.rank(); ++axis) {
      extents.push_back(std::max(a[axis].value(), b[axis].value()));
    }
    return Shape(extents);
  }

  ExportedValues& values_;
  linalg::LinalgOp op_;
  TensorType type_;
  llvm::DenseMap<mlir::Value, Value> made_;
};

}  // namespace

std::string_view elementwise_kind(llvm::StringRef name) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 47> kinds{{
      {"arith.addf", ops::Add::kind},
      {"linalg.add", ops::Add::kind},
      {"tosa.add", ops::Add::kind},
      {"arith.mulf", ops::Multiply::kind},
      {"linalg.mul", ops::Multiply::kind},
      {"tosa.mul", ops::Multiply::kind},
      {"arith.subf", ops::Sub::kind},
      {"linalg.sub", ops::Sub::kind},
      {"tosa.sub", ops::Sub::kind},
      {"arith.divf", ops::Div::kind},
      {"linalg.div", ops::Div::kind},
      {"arith.maximumf", ops::Max::kind},
      {"linalg.max", ops::Max::kind},
      {"tosa.maximum", ops::Max::kind},
      {"arith.minimumf", ops::Min::kind},
      {"linalg.min", ops::Min::kind},
      {"tosa.minimum", ops::Min::kind},
      {"arith.negf", ops::Neg::kind},
      {"linalg.negf", ops::Neg::kind},
      {"math.exp", ops::Exp::kind},
      {"linalg.exp", ops::Exp::kind},
      {"tosa.exp", ops::Exp::kind},
      {"math.log", ops::Log::kind},
      {"linalg.log", ops::Log::kind},
      {"tosa.log", ops::Log::kind},
      {"math.tanh", ops::Tanh::kind},
      {"linalg.tanh", ops::Tanh::kind},
      {"tosa.tanh", ops::Tanh::kind},
      {"tosa.sigmoid", ops::Sigmoid::kind},
      {"math.sqrt", ops::Sqrt::kind},
      {"linalg.sqrt", ops::Sqrt::kind},
      {"math.erf", ops::Erf::kind},
      {"linalg.erf", ops::Erf::kind},
      {"tosa.erf", ops::Erf::kind},
      {"math.absf", ops::Abs::kind},
      {"linalg.abs", ops::Abs::kind},
      {"tosa.abs", ops::Abs::kind},
      {"tosa.reciprocal", ops::Reciprocal::kind},
      {"linalg.reciprocal", ops::Reciprocal::kind},
      {"math.floor", ops::Floor::kind},
      {"linalg.floor", ops::Floor::kind},
      {"tosa.floor", ops::Floor::kind},
      {"linalg.ceil", ops::Ceil::kind},
      {"tosa.ceil", ops::Ceil::kind},
      {"tosa.negate", ops::Neg::kind},
      {"math.ceil", ops::Ceil::kind},
      {"math.roundeven", ops::Round::kind},
  }};
  const auto* const found =
      std::ranges::find(kinds, std::string_view(name), [](const auto& pair) { return pair.first; });
  return found == kinds.end() ? std::string_view() : found->second;
}

bool is_elementwise_generic(mlir::Operation& operation) {
  auto op = llvm::dyn_cast<linalg::GenericOp>(operation);
  if (!op || op.getNumDpsInits() != 1 || op.getNumReductionLoops() != 0 ||
      op->getNumResults() != 1 || op.getBlock()->without_terminator().empty()) {
    return false;
  }
  const mlir::BlockArgument destination = op.getBlock()->getArguments().back();
  const auto maps = op.getIndexingMapsArray();
  return destination.use_empty() && maps.back().isIdentity() &&
         llvm::all_of(maps, [](mlir::AffineMap map) { return axes_in_order(map).has_value(); });
}

Expected<Value> export_generic(ExportedValues& values, mlir::Operation& op) {
  QUADRANT_TRY(TensorType type, exported_type(op.getResult(0)));
  if (!is_float(type.element)) {
    return refuse_export("linalg.generic of types other than float is not exported");
  }
  return Body(values, llvm::cast<linalg::LinalgOp>(op), std::move(type)).convert();
}

}  // namespace quadrant::inline v0::mlir_plugin
