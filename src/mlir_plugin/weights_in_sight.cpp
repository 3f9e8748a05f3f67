#include "mlir_plugin/weights_in_sight.hpp"

#include <fmt/format.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <mlir/Dialect/Linalg/IR/Linalg.h>
#include <mlir/Dialect/Tensor/IR/Tensor.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/Diagnostics.h>
#include <mlir/Interfaces/FunctionInterfaces.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "mlir_plugin/calls.hpp"
#include "mlir_plugin/constant_contents.hpp"
#include "mlir_plugin/constants.hpp"
#include "mlir_plugin/globals.hpp"
#include "mlir_plugin/headers.hpp"
#include "mlir_plugin/private_copies.hpp"
#include "mlir_plugin/quantized_parts.hpp"
#include "mlir_plugin/seen.hpp"
#include "mlir_plugin/unread.hpp"

namespace quadrant::inline v0::mlir_plugin {
namespace {

namespace linalg = mlir::linalg;
namespace tensor = mlir::tensor;
using Numbers = llvm::SmallVector<std::int64_t>;  // one for each axis

// The operations whose operands the engine sees, in their order; constants first of all.
std::vector<mlir::Operation*> seen_operations(mlir::Operation* function) {
  std::vector<mlir::Operation*> all;
  function->walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation* op) {
    if (op == function) return mlir::WalkResult::advance();
    all.push_back(op);
    return hides_regions(*op) ? mlir::WalkResult::skip() : mlir::WalkResult::advance();
  });
  return all;
}

bool is_readable(mlir::Attribute contents, mlir::Type type) {
  const auto elements = llvm::dyn_cast_if_present<mlir::ElementsAttr>(contents);
  return elements && elements.getType() == type && to_constant(contents);
}

// --- one function -----------------------------------------------------------------------------

// The groups of axes that stand for `kept` ones, each with the unit axes in front of it.
llvm::SmallVector<mlir::ReassociationIndices> groups_around(std::int64_t rank,
                                                            llvm::ArrayRef<std::int64_t> kept) {
  llvm::SmallVector<mlir::ReassociationIndices> groups;
  std::int64_t next = 0;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    mlir::ReassociationIndices& group = groups.emplace_back();
    const std::int64_t end = i + 1 == kept.size() ? rank : kept[i] + 1;
    while (next < end) group.push_back(next++);
  }
  return groups;
}

// The weights of one function.
class Weights {
 public:
  Weights(mlir::FunctionOpInterface function, Globals& globals, mlir::Location& at)
      : name_(function.getName()),
        globals_(globals),
        at_(at),
        operations_(seen_operations(function)) {}

  Expected<void> bring_into_sight() {
    find_known();
    find_wanted();
    for (mlir::Operation* const op : operations_) {
      if (op->getNumResults() != 1 || !wanted_.contains(op->getResult(0))) continue;
      at_ = op->getLoc();
      QUADRANT_CHECK(rewrite(op));
    }
    // Nothing is erased while others are looked at.
    erase_unread(std::move(replaced_));
    return {};
  }

 private:
  static bool is_floats(mlir::Operation& op) {
    return op.getNumResults() == 1 &&
           llvm::isa<mlir::FloatType>(mlir::getElementTypeOrSelf(op.getResult(0)));
  }

  bool is_constant(mlir::Operation& op) {
    if (op.getNumResults() != 1 || !is_floats(op) || is_part(op)) return false;
    const mlir::Type type = op.getResult(0).getType();
    return is_readable(contents_of(op), type) || is_readable(globals_.loaded(op), type);
  }

  // What constants alone make.
  void find_known() {
    for (mlir::Operation* const op : operations_) {
      const std::vector<mlir::Value> sources = sources_of(*op);
      const bool is_made = !sources.empty() && llvm::all_of(sources, [&](mlir::Value source) {
        return known_.contains(source);
      });
      if (is_made || is_constant(*op)) known_.insert(op->getResult(0));
    }
  }

  // Of this, what products read, and what that is made of.
  void find_wanted() {
    for (mlir::Operation* const op : llvm::reverse(operations_)) {
      llvm::for_each(factors_and_tables(*op), [&](mlir::Value operand) { want(operand); });
      if (op->getNumResults() == 1 && wanted_.contains(op->getResult(0))) {
        llvm::for_each(sources_of(*op), [&](mlir::Value source) { want(source); });
      }
    }
  }

  void want(mlir::Value value) {
    if (known_.contains(value)) {
      wanted_.insert(value);
    } else {
      say_changed(value);
    }
  }

  // A global that is not constant, and that alone the value is made of.
  void say_changed(mlir::Value value) {
    mlir::Operation* maker = value.getDefiningOp();
    while (maker != nullptr && said_.insert(maker).second) {
      if (const std::string_view why = globals_.why_not(*maker); !why.empty()) {
        mlir::emitRemark(maker->getLoc(), fmt::format("this global stays float: {}", why));
      }
      const std::vector<mlir::Value> sources = sources_of(*maker);
      maker = sources.size() == 1 ? sources.front().getDefiningOp() : nullptr;
    }
  }

  // Whether the engine looks through it, or will once it has the name for it.
  static bool is_looked_through(mlir::Operation& op) {
    return moved_axes(op) || see(op).kind != op.getName().getStringRef();
  }

  // Whether it is read by others that become constants, alone.
  bool is_in_between(mlir::Operation& op) {
    return llvm::all_of(op.getUsers(), [&](mlir::Operation* user) {
      return user->getNumResults() == 1 && wanted_.contains(user->getResult(0)) &&
             !is_looked_through(*user);
    });
  }

  Expected<void> rewrite(mlir::Operation* op) {
    if (contents_of(*op)) return {};
    if (const mlir::Attribute contents = globals_.loaded(*op)) {
      mlir::OpBuilder builder(op);
      mlir::OperationState state(op->getLoc(), "arith.constant");
      state.addAttribute("value", contents);
      state.addTypes(op->getResult(0).getType());
      replace(op, builder.create(state)->getResult(0));
    } else if (moved_axes(*op)) {
      rename(op);
    } else if (!is_looked_through(*op) && !is_in_between(*op)) {
      QUADRANT_TRY(const Contents contents, contents_of_value(op->getResult(0)));
      // Functions are rewritten at the same time, and have names in common.
      const std::string name = fmt::format("{}_weight_{}", std::string_view(name_), made_++);
      QUADRANT_TRY(const mlir::Value made, make_constant(*op, contents, name));
      replace(op, made);
    }
    return {};
  }

  void replace(mlir::Operation* op, mlir::Value made) {
    op->getResult(0).replaceAllUsesWith(made);
    known_.insert(made);
    wanted_.insert(made);
    replaced_.push_back(op);
  }

  // A generic operation that moves and repeats, by the names that the engine knows.
  void rename(mlir::Operation* operation) {
    const auto axes = moved_axes(*operation).value_or(std::vector<std::int64_t>());
    mlir::OpBuilder builder(operation);
    const mlir::Location location = operation->getLoc();
    const auto type = llvm::cast<mlir::RankedTensorType>(operation->getResult(0).getType());
    mlir::Value made = operation->getOperand(0);
    const auto of = [&](llvm::ArrayRef<std::int64_t> extents) {
      return mlir::RankedTensorType::get(extents, type.getElementType());
    };
    const auto place = [&](llvm::ArrayRef<std::int64_t> extents) {
      return make_op<tensor::EmptyOp>(builder, location, extents, type.getElementType());
    };
    // Unit axes that are none of the result's.
    Numbers kept;
    Numbers extents;
    Numbers order;  // of the result's axes, which those that are kept are
    const auto source = llvm::cast<mlir::RankedTensorType>(made.getType());
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (axes[i] < 0) continue;
      kept.push_back(static_cast<std::int64_t>(i));
      order.push_back(axes[i]);
      extents.push_back(source.getDimSize(static_cast<unsigned>(i)));
    }
    Numbers added;
    for (std::int64_t axis = 0; axis < type.getRank(); ++axis) {
      if (!llvm::is_contained(order, axis)) added.push_back(axis);
    }
    const bool repeats = llvm::any_of(added, [&](std::int64_t axis) {
      return type.getDimSize(static_cast<unsigned>(axis)) != 1;
    });
    if (llvm::isa<linalg::TransposeOp>(operation) ||
        (repeats && llvm::isa<linalg::BroadcastOp>(operation))) {
      return;
    }
    if (kept.size() != axes.size()) {
      made = make_op<tensor::CollapseShapeOp>(builder, location, of(extents), made,
                                              groups_around(source.getRank(), kept));
    }
    if (!llvm::is_sorted(order)) {
      Numbers perm(order.size());
      for (std::size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<std::int64_t>(i);
      llvm::sort(perm, [&](std::int64_t a, std::int64_t b) {
        return order[static_cast<std::size_t>(a)] < order[static_cast<std::size_t>(b)];
      });
      Numbers moved;
      for (const std::int64_t axis : perm) moved.push_back(extents[static_cast<std::size_t>(axis)]);
      made =
          make_op<linalg::TransposeOp>(builder, location, made, place(moved), perm)->getResult(0);
      llvm::sort(order);
      extents = moved;
    }
    if (repeats) {
      made = make_op<linalg::BroadcastOp>(builder, location, made, place(type.getShape()), added)
                 ->getResult(0);
    } else if (!added.empty()) {
      made = make_op<tensor::ExpandShapeOp>(builder, location, type, made,
                                            groups_around(type.getRank(), order));
    }
    replace(operation, made);
  }

  // From what it is made of, the innermost first.
  static Expected<Contents> contents_of_value(mlir::Value value) {
    llvm::DenseMap<mlir::Value, Contents> made;
    std::vector<mlir::Value> open{value};
    while (!open.empty()) {
      const mlir::Value next = open.back();
      mlir::Operation& op = *next.getDefiningOp();
      if (made.contains(next)) {
        open.pop_back();
        continue;
      }
      if (contents_of(op)) {
        QUADRANT_TRY(made[next], read_contents(op));
        continue;
      }
      const std::vector<mlir::Value> sources = sources_of(op);
      const std::size_t before = open.size();
      llvm::copy_if(sources, std::back_inserter(open),
                    [&](mlir::Value source) { return !made.contains(source); });
      if (open.size() != before) continue;
      std::vector<const Contents*> held;
      held.reserve(sources.size());
      for (const mlir::Value source : sources) held.push_back(&made.find(source)->second);
      Contents contents = evaluate(op, held);
      // What nobody else reads is needed no more: a long chain has two at a time.
      for (const mlir::Value source : sources) {
        if (source.hasOneUse()) made.erase(source);
      }
      made[next] = std::move(contents);
    }
    return std::move(made[value]);
  }

  llvm::StringRef name_;
  Globals& globals_;
  mlir::Location& at_;  // of what is looked at
  std::vector<mlir::Operation*> operations_;
  std::vector<mlir::Operation*> replaced_;
  llvm::DenseSet<mlir::Operation*> said_;
  llvm::DenseSet<mlir::Value> known_;
  llvm::DenseSet<mlir::Value> wanted_;
  std::size_t made_ = 0;
};

// --- calls -------------------------------------------------------------------------------------

// What all calls pass for the argument: operations that hold the same constant. Null: they do not.
mlir::Operation* common_constant(llvm::ArrayRef<mlir::Operation*> calls, unsigned argument) {
  mlir::Operation* common = nullptr;
  for (mlir::Operation* const call : calls) {
    mlir::Operation* const maker = call->getOperand(argument).getDefiningOp();
    if (maker == nullptr || !contents_of(*maker)) return nullptr;
    if (common != nullptr && contents_of(*common) != contents_of(*maker)) return nullptr;
    common = maker;
  }
  return common;
}

bool take_constants_in(mlir::FunctionOpInterface function, llvm::ArrayRef<mlir::Operation*> calls,
                       const PrivateCopies& copies) {
  bool takes = false;
  for (unsigned i = function.getNumArguments(); i-- > 0;) {
    mlir::BlockArgument argument = function.getArgument(i);
    mlir::Operation* const constant = common_constant(calls, i);
    if (constant == nullptr || is_part(*constant) || !copies.may_take_in(argument) ||
        constant->getResult(0).getType() != argument.getType() ||
        !is_readable(contents_of(*constant), argument.getType()) ||
        !llvm::isa<mlir::FloatType>(mlir::getElementTypeOrSelf(argument))) {
      continue;
    }
    mlir::OpBuilder builder = mlir::OpBuilder::atBlockBegin(argument.getOwner());
    mlir::Operation* const inside = builder.clone(*constant);
    argument.replaceAllUsesWith(inside->getResult(0));
    erase_argument(function, i);
    for (mlir::Operation* const call : calls) {
      mlir::Operation* const maker = call->getOperand(i).getDefiningOp();
      call->eraseOperand(i);
      if (mlir::isOpTriviallyDead(maker)) maker->erase();
    }
    takes = true;
  }
  return takes;
}

// Into private functions of which all uses are calls in the module, not in one inside it. Whether
// some took any.
bool take_constants_in(mlir::Operation* module, const PrivateCopies& copies) {
  const Calls calls(module);
  bool takes = false;
  for (mlir::FunctionOpInterface function : functions_of(module)) {
    const llvm::ArrayRef<mlir::Operation*> all = calls.of(function);
    if (!calls.are_known(function) || all.empty() || function.isExternal()) continue;
    takes = take_constants_in(function, all, copies) || takes;
  }
  return takes;
}

}  // namespace

Expected<void> bring_weights_into_sight(mlir::Operation* root, mlir::Operation* around, bool copies,
                                        mlir::Location& at) {
  PrivateCopies private_copies;
  // Functions may stand in any order, and hand on what they are given.
  for (int calls = 0; calls < most_nested_calls && llvm::isa<mlir::ModuleOp>(root); ++calls) {
    if (copies) private_copies.make(root);
    if (!take_constants_in(root, private_copies)) break;
  }
  std::vector<mlir::FunctionOpInterface> functions;
  root->walk([&](mlir::FunctionOpInterface function) {
    if (!function.isExternal()) functions.push_back(function);
  });
  Globals globals(root, around);
  for (const mlir::FunctionOpInterface function : functions) {
    QUADRANT_CHECK(Weights(function, globals, at).bring_into_sight());
  }
  return {};
}

}  // namespace quadrant::inline v0::mlir_plugin
