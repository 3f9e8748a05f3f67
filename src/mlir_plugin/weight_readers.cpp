#include "mlir_plugin/weight_readers.hpp"

#include <llvm/ADT/DenseSet.h>
#include <mlir/IR/BuiltinTypes.h>
#include <mlir/Interfaces/FunctionInterfaces.h>

#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "mlir_plugin/constant_contents.hpp"
#include "mlir_plugin/seen.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::mlir_plugin {
namespace {

// Whether what is inside only is a part of it: of a lookup, maybe.
bool looks_up(mlir::Operation* parent) {
  return hides_regions(*parent) && !llvm::isa<mlir::FunctionOpInterface>(parent);
}

// Blocks of a table lie along its rows.
WeightAxes table_axes(mlir::Value table, std::int64_t rows) {
  const std::int64_t last = llvm::cast<mlir::RankedTensorType>(table.getType()).getRank() - 1;
  return {rows, last == rows ? -1 : last};
}

// Those of a weight, as one that reads it sees it: of its operands, or of what its body reads.
std::optional<WeightAxes> axes_of(mlir::OpOperand& use) {
  const std::vector<std::int64_t> none;
  mlir::Operation* const parent = use.getOwner()->getParentOp();
  if (looks_up(parent)) {
    // Its rows stand where what is read from outside does, in the same order.
    const Seen seen = see(*parent);
    const auto rows = seen.attributes.get_or(MlirLookup::channels, none);
    const std::vector<mlir::Value> read = factors_and_tables(*parent);
    for (std::size_t i = 0; i < read.size() && seen.kind == MlirLookup::kind; ++i) {
      if (read[i] == use.get()) {
        return table_axes(use.get(), rows[parent->getNumOperands() + i]);
      }
    }
    return std::nullopt;
  }
  const Seen seen = see(*use.getOwner());
  const bool is_call = seen.kind == MlirCall::kind;
  const auto channels =
      seen.attributes.get_or(is_call ? MlirCall::channels : MlirProduct::channels, none);
  const auto contracted =
      seen.attributes.get_or(is_call ? MlirCall::contracted : MlirProduct::contracted, none);
  const unsigned operand = use.getOperandNumber();
  if (operand >= channels.size()) return std::nullopt;
  if (seen.kind == MlirLookup::kind) {
    if (channels[operand] < 0) return std::nullopt;
    return table_axes(use.get(), channels[operand]);
  }
  const WeightAxes axes{channels[operand], contracted.empty() ? -1 : contracted[operand]};
  return axes.channel < 0 && axes.contracted < 0 ? std::nullopt : std::optional(axes);
}

// For each axis of the result of a move, which of `axes`, those of its operand, it is.
std::optional<std::vector<std::int64_t>> moved(mlir::OpOperand& use,
                                               const std::vector<std::int64_t>& axes) {
  mlir::Operation& op = *use.getOwner();
  if (use.getOperandNumber() != 0 || op.getNumResults() != 1) return std::nullopt;
  const auto type = llvm::dyn_cast<mlir::RankedTensorType>(op.getResult(0).getType());
  if (!type) return std::nullopt;
  const auto rank = static_cast<std::size_t>(type.getRank());
  const Seen seen = see(op);
  // Of which MLIR does not verify the shapes.
  if (seen.kind == ops::Identity::kind) {
    return axes.size() == rank ? std::optional(axes) : std::nullopt;
  }
  std::vector<std::int64_t> made(rank, -1);
  if (seen.kind == ops::Transpose::kind) {
    const auto perm = seen.attributes.get_or("perm", std::vector<std::int64_t>());
    if (perm.size() != rank || axes.size() != rank) return std::nullopt;
    for (std::size_t i = 0; i < rank; ++i) made[i] = axes[static_cast<std::size_t>(perm[i])];
    return made;
  }
  const auto to = moved_axes(op);
  if (!to) return std::nullopt;
  for (std::size_t i = 0; i < to->size(); ++i) {
    if ((*to)[i] >= 0) made[static_cast<std::size_t>((*to)[i])] = axes[i];
  }
  return made;
}

// Whether a constant is all that it is made of.
bool is_constant(mlir::Value value) {
  while (mlir::Operation* const maker = value.getDefiningOp()) {
    if (contents_of(*maker) || maker->getName().getStringRef().starts_with("ml_program.global")) {
      return true;
    }
    const std::vector<mlir::Value> sources = sources_of(*maker);
    if (sources.empty()) return false;
    value = sources.front();
  }
  return false;
}

// Whether the product has it where data are: on the left, or beside a constant.
bool is_multiplied(mlir::OpOperand& use) {
  mlir::Operation& op = *use.getOwner();
  if (see(op).kind != MlirProduct::kind) return false;
  return use.getOperandNumber() != 1 || is_constant(op.getOperand(0));
}

// One that sees the weight with its axes as `axes` are.
void add_reader(WeightReaders& found, const WeightAxes& seen, const std::vector<std::int64_t>& axes,
                bool is_multiplied) {
  const auto own_axis = [&](std::int64_t axis) {
    return axis < 0 ? -1 : axes[static_cast<std::size_t>(axis)];
  };
  const WeightAxes here{own_axis(seen.channel), own_axis(seen.contracted)};
  if (!found.are_there) found.axes = here;
  found.multiply_by_it = found.multiply_by_it && !is_multiplied;
  found.agree = found.agree && found.axes.channel == here.channel;
  if (found.axes.contracted != here.contracted) found.axes.contracted = -1;
  found.are_there = true;
}

}  // namespace

bool is_weight_type(mlir::RankedTensorType type) {
  return type && type.hasStaticShape() && !type.getEncoding() &&
         llvm::isa<mlir::FloatType>(type.getElementType());
}

WeightReaders readers_of(mlir::Value weight) {
  WeightReaders found;
  llvm::DenseSet<mlir::Operation*> tables;
  const auto type = llvm::cast<mlir::RankedTensorType>(weight.getType());
  std::vector<std::int64_t> own(static_cast<std::size_t>(type.getRank()));
  std::iota(own.begin(), own.end(), std::int64_t{0});
  std::vector<std::pair<mlir::Value, std::vector<std::int64_t>>> open{{weight, std::move(own)}};
  while (!open.empty()) {
    const auto [value, axes] = std::move(open.back());
    open.pop_back();
    for (mlir::OpOperand& use : value.getUses()) {
      if (auto next = moved(use, axes)) {
        open.emplace_back(use.getOwner()->getResult(0), *std::move(next));
        continue;
      }
      mlir::Operation* const parent = use.getOwner()->getParentOp();
      if (looks_up(parent) && !tables.insert(parent).second) continue;  // it is one reader
      if (const auto seen = axes_of(use)) add_reader(found, *seen, axes, is_multiplied(use));
    }
  }
  return found;
}

}  // namespace quadrant::inline v0::mlir_plugin
