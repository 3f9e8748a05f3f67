#include "mlir_plugin/weight_arguments.hpp"

#include <fmt/format.h>
#include <llvm/ADT/DenseMap.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/BuiltinTypes.h>
#include <mlir/IR/Diagnostics.h>
#include <mlir/IR/SymbolTable.h>
#include <mlir/Interfaces/FunctionInterfaces.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/scales.hpp"
#include "mlir_plugin/calls.hpp"
#include "mlir_plugin/constants.hpp"
#include "mlir_plugin/headers.hpp"
#include "mlir_plugin/lower_casts.hpp"
#include "mlir_plugin/seen.hpp"
#include "mlir_plugin/types.hpp"
#include "mlir_plugin/unread.hpp"
#include "mlir_plugin/weight_readers.hpp"

namespace quadrant::inline v0::mlir_plugin {
namespace {

constexpr llvm::StringLiteral weight_mark = "quadrant.weight";
// By us, for as long as the pass runs: weights that constants are passed for, and private copies.
constexpr llvm::StringLiteral found_mark = "quadrant.weight_found";
constexpr llvm::StringLiteral copy_mark = "quadrant.copy";
constexpr llvm::StringLiteral codes_mark = "quadrant.codes";
constexpr llvm::StringLiteral scales_mark = "quadrant.scales";
constexpr llvm::StringLiteral name_mark = "quadrant.name";

// An argument of a function.
struct Argument {
  mlir::FunctionOpInterface function;
  unsigned index = 0;
};

std::vector<Argument> marked_arguments(mlir::Operation* module) {
  std::vector<Argument> found;
  for (mlir::Region& region : module->getRegions()) {
    for (auto function : region.getOps<mlir::FunctionOpInterface>()) {
      for (unsigned i = 0; i < function.getNumArguments(); ++i) {
        if (function.getArgAttr(i, weight_mark) || function.getArgAttr(i, found_mark)) {
          found.push_back({function, i});
        }
      }
    }
  }
  return found;
}

void warn(const Argument& place, const std::string& why) {
  mlir::FunctionOpInterface function = place.function;
  if (!function.getArgAttr(place.index, weight_mark)) return;  // nobody asked
  mlir::emitWarning(function.getLoc(),
                    fmt::format("argument {} stays float: {}", place.index, why));
}

// --- marks --------------------------------------------------------------------------------------

// Empty, and `why`: the argument stays float.
std::optional<WeightAxes> find_axes(const Argument& place, std::string& why) {
  mlir::FunctionOpInterface function = place.function;
  const auto type =
      llvm::dyn_cast<mlir::RankedTensorType>(function.getArgumentTypes()[place.index]);
  if (!type || !type.hasStaticShape() || type.getEncoding() ||
      !llvm::isa<mlir::FloatType>(type.getElementType())) {
    why = "quadrant.weight is for tensors of floats of which all extents are known";
    return std::nullopt;
  }
  if (function.isExternal()) {
    why = "the function has no body";
    return std::nullopt;
  }
  const WeightReaders readers = readers_of(function.getArgument(place.index));
  if (const auto asked = llvm::dyn_cast_if_present<mlir::IntegerAttr>(
          function.getArgAttr(place.index, weight_mark))) {
    const std::int64_t axis = asked.getValue().getSExtValue();
    if (axis >= 0 && axis < type.getRank()) return WeightAxes{axis, readers.axes.contracted};
    why = fmt::format("quadrant.weight = {} is none of its {} axes", axis, type.getRank());
    return std::nullopt;
  }
  if (!readers.are_there) why = "no product and no lookup reads it";
  if (!readers.agree) {
    why = "its readers keep scales apart along different axes; quadrant.weight = 0 says axis 0";
  }
  return why.empty() ? std::optional(readers.axes) : std::nullopt;
}

// --- functions that are called with constants ---------------------------------------------------

// Arguments that products have on the right, or lookups read.
std::vector<unsigned> weights_of(mlir::FunctionOpInterface function) {
  std::vector<unsigned> found;
  for (unsigned i = 0; i < function.getNumArguments() && !function.isExternal(); ++i) {
    const auto type = llvm::dyn_cast<mlir::RankedTensorType>(function.getArgumentTypes()[i]);
    std::string why;
    if (type && type.getRank() > 1 && find_axes({function, i}, why) &&
        readers_of(function.getArgument(i)).multiply_by_it) {
      found.push_back(i);
    }
  }
  return found;
}

bool passes_constant(mlir::Operation* call, unsigned operand) {
  mlir::Operation* const maker = call->getOperand(operand).getDefiningOp();
  return maker != nullptr && contents_of(*maker) && to_constant(contents_of(*maker));
}

// Those that all calls pass constants for.
std::vector<unsigned> constant_ones(const std::vector<unsigned>& weights,
                                    llvm::ArrayRef<mlir::Operation*> calls) {
  std::vector<unsigned> found;
  llvm::copy_if(weights, std::back_inserter(found), [&](unsigned weight) {
    return llvm::all_of(calls,
                        [&](mlir::Operation* call) { return passes_constant(call, weight); });
  });
  return found;
}

bool is_called_by_these_alone(mlir::FunctionOpInterface function, const Calls& calls) {
  return calls.are_all(function) &&
         mlir::SymbolTable::getSymbolVisibility(function) == mlir::SymbolTable::Visibility::Private;
}

std::vector<mlir::FunctionOpInterface> functions_of(mlir::Operation* module) {
  std::vector<mlir::FunctionOpInterface> all;
  for (mlir::Region& region : module->getRegions()) {
    for (auto function : region.getOps<mlir::FunctionOpInterface>()) {
      if (function->getName().getStringRef() == "func.func") all.push_back(function);
    }
  }
  return all;
}

// --- codes --------------------------------------------------------------------------------------

// The type that arguments have, but for its scales, which are 1. `impossible`: the scheme has none.
Expected<mlir::quant::QuantizedType> type_of_codes(const WeightOnly& scheme, const WeightAxes& axes,
                                                   mlir::RankedTensorType floats) {
  const TensorType real = to_tensor_type(floats);
  std::optional<TensorType> type;
  const bool has_whole_blocks =
      axes.contracted >= 0 && axes.contracted < floats.getRank() &&
      floats.getDimSize(static_cast<unsigned>(axes.contracted)) % scheme.options().block_size == 0;
  if (const auto groups =
          scheme.groups(real.shape, axes.channel, has_whole_blocks ? axes.contracted : -1)) {
    type = scheme.type_of(*groups, real);
  }
  const auto held = type ? type->uniform() : nullptr;
  if (held == nullptr) return fail(ErrorCode::impossible, "there are no channels");
  UniformType made = *held;
  const Shape shape = parameter_shape(real.shape, made.granularity);
  made.scales = make_exact_scales(
      ElementType::float64, shape,
      std::vector<double>(static_cast<std::size_t>(shape.element_count().value_or(1)), 1));
  made.zero_points = {};
  return to_quantized_type(floats.getContext(), made);
}

bool differ_in_scales_alone(mlir::quant::QuantizedType a, mlir::quant::QuantizedType b) {
  const auto left = to_uniform_type(a);
  const auto right = to_uniform_type(b);
  if (left == nullptr || right == nullptr) return false;
  UniformType other = *right;
  other.scales = left->scales;
  return mean_the_same(*left, other);
}

// The quantized value that becomes the float here; null: none does.
mlir::Value quantized_value(mlir::Value floats) {
  mlir::Operation* const dequantize = floats.getDefiningOp();
  if (dequantize == nullptr || dequantize->getName().getStringRef() != "quant.dcast") return {};
  mlir::Operation* const stored = dequantize->getOperand(0).getDefiningOp();
  const bool is_stored = stored != nullptr && stored->getName().getStringRef() == "quant.scast";
  return is_stored ? dequantize->getOperand(0) : mlir::Value();
}

mlir::quant::QuantizedType quantized_type(mlir::Value value) {
  return llvm::cast<mlir::quant::QuantizedType>(mlir::getElementTypeOrSelf(value));
}

void mark(mlir::FunctionOpInterface function, const std::vector<unsigned>& weights) {
  for (const unsigned index : weights) {
    function.setArgAttr(index, found_mark, mlir::UnitAttr::get(function.getContext()));
  }
}

// Of private functions, whose calls are known.
void mark_constant_weights(mlir::Operation* module) {
  const Calls calls(module);
  for (mlir::FunctionOpInterface function : functions_of(module)) {
    if (!is_called_by_these_alone(function, calls) || calls.of(function).empty()) continue;
    mark(function, constant_ones(weights_of(function), calls.of(function)));
  }
}

class Arguments {
 public:
  Arguments(mlir::Operation* module, const WeightOnly& scheme) : calls_(module) {
    for (const Argument& place : marked_arguments(module)) add(place, scheme);
    for (std::size_t i = 0; i < rows_.size(); ++i) look_at_calls(i);
    drop_what_depends();
  }

  Expected<void> change() {
    // From the last argument on: those in front keep their numbers.
    for (std::size_t i = rows_.size(); i-- > 0;) {
      if (rows_[i].is_passed) add_arguments(rows_[i]);
    }
    for (std::size_t i = rows_.size(); i-- > 0;) {
      if (rows_[i].is_passed) QUADRANT_CHECK(change_calls(rows_[i]));
    }
    for (std::size_t i = rows_.size(); i-- > 0;) {
      if (!rows_[i].is_passed) continue;
      QUADRANT_CHECK(
          read_codes_instead(rows_[i].floats, rows_[i].type, rows_[i].codes, rows_[i].scales));
      erase_argument(rows_[i].place.function, rows_[i].floats.getArgNumber());
    }
    erase_unread(std::move(unread_));
    return {};
  }

 private:
  struct Row {
    Argument place;
    mlir::BlockArgument floats;
    mlir::quant::QuantizedType type;
    bool is_passed = true;
    std::vector<std::size_t> handed_on;  // rows whose calls pass this one
    mlir::BlockArgument codes;
    mlir::BlockArgument scales;
  };

  void add(const Argument& place, const WeightOnly& scheme) {
    std::string why;
    mlir::FunctionOpInterface function = place.function;
    const auto axes = find_axes(place, why);
    if (axes && !calls_.are_all(function)) why = "not only calls refer to the function";
    mlir::quant::QuantizedType type;
    if (axes && why.empty()) {
      const auto floats =
          llvm::cast<mlir::RankedTensorType>(function.getArgumentTypes()[place.index]);
      const auto made = type_of_codes(scheme, *axes, floats);
      if (made) type = *made;
      if (!made) why = made.error().message;
    }
    if (!why.empty()) return warn(place, why);
    const mlir::BlockArgument floats = function.getArgument(place.index);
    row_of_[floats] = rows_.size();
    rows_.push_back({place, floats, type, true, {}, {}, {}});
  }

  void look_at_calls(std::size_t index) {
    Row& row = rows_[index];
    for (mlir::Operation* const call : calls_.of(row.place.function)) {
      const mlir::Value passed = call->getOperand(row.place.index);
      if (const auto found = row_of_.find(passed); found != row_of_.end()) {
        Row& own = rows_[found->second];
        own.handed_on.push_back(index);
        if (differ_in_scales_alone(own.type, row.type)) continue;
      }
      const mlir::Value quantized = quantized_value(passed);
      if (quantized && differ_in_scales_alone(quantized_type(quantized), row.type)) continue;
      row.is_passed = false;
      mlir::emitWarning(
          call->getLoc(),
          fmt::format("operand {} stays float, and with it the argument that gets it: it is no "
                      "argument with quadrant.weight, and no constant that became {} quantized "
                      "values with scales by {}",
                      row.place.index, row.type.isSigned() ? "signed" : "unsigned",
                      to_uniform_type(row.type)->granularity.print()));
    }
  }

  void drop_what_depends() {
    std::vector<std::size_t> dropped;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (!rows_[i].is_passed) dropped.push_back(i);
    }
    while (!dropped.empty()) {
      const std::size_t index = dropped.back();
      dropped.pop_back();
      for (const std::size_t next : rows_[index].handed_on) {
        if (!std::exchange(rows_[next].is_passed, false)) continue;
        warn(rows_[next].place, "a call passes an argument of its own function that does");
        dropped.push_back(next);
      }
    }
  }

  static void add_arguments(Row& row) {
    mlir::FunctionOpInterface function = row.place.function;
    mlir::Builder builder(function.getContext());
    const unsigned at = row.place.index;
    const mlir::Type element = mlir::getElementTypeOrSelf(row.floats);
    mlir::NamedAttrList codes(function.getArgAttrDict(at));
    codes.erase(weight_mark);
    codes.erase(found_mark);
    codes.set(codes_mark, builder.getUnitAttr());
    mlir::NamedAttrList scales;
    scales.set(scales_mark, builder.getUnitAttr());
    if (const auto name = llvm::dyn_cast_if_present<mlir::StringAttr>(codes.get(name_mark))) {
      scales.set(name_mark, builder.getStringAttr(name.getValue() + "_scales"));
    }
    const UniformType known = *to_uniform_type(row.type);
    const mlir::Type real =
        element.isF64() ? builder.getF64Type() : mlir::Type(builder.getF32Type());
    const auto extents = known.scales.shape().known_extents();
    insert_argument(function, at + 1, with_element(row.floats.getType(), row.type.getStorageType()),
                    codes.getDictionary(function.getContext()), row.floats.getLoc());
    insert_argument(function, at + 2,
                    mlir::RankedTensorType::get({extents.data(), extents.size()}, real),
                    scales.getDictionary(function.getContext()), row.floats.getLoc());
    row.codes = function.getArgument(at + 1);
    row.scales = function.getArgument(at + 2);
    mlir::emitRemark(function.getLoc(),
                     fmt::format("argument {} becomes two: quantized values and their scales ({})",
                                 at, known.granularity.print()));
  }

  Expected<void> change_calls(const Row& row) {
    for (mlir::Operation* const call : calls_.of(row.place.function)) {
      const mlir::Value passed = call->getOperand(row.place.index);
      mlir::Value codes;
      mlir::Value scales;
      if (const auto found = row_of_.find(passed); found != row_of_.end()) {
        codes = rows_[found->second].codes;
        scales = rows_[found->second].scales;
      } else {
        mlir::OpBuilder builder(call);
        const mlir::Value quantized = quantized_value(passed);
        codes = quantized.getDefiningOp()->getOperand(0);
        QUADRANT_TRY(scales, hold_scales(builder, call->getLoc(), quantized_type(quantized)));
        unread_.push_back(quantized.getDefiningOp());
        unread_.push_back(passed.getDefiningOp());
      }
      call->setOperands(row.place.index, 1, {codes, scales});
    }
    return {};
  }

  Calls calls_;
  std::vector<Row> rows_;
  llvm::DenseMap<mlir::Value, std::size_t> row_of_;
  std::vector<mlir::Operation*> unread_;
};

}  // namespace

llvm::SmallBitVector arguments_to_take_in(mlir::FunctionOpInterface function) {
  const unsigned count = function.getNumArguments();
  llvm::SmallBitVector taken(count, !function->hasAttr(copy_mark));
  for (unsigned i = 0; i < count; ++i) {
    if (function.getArgAttr(i, found_mark)) taken.set(i);
  }
  return taken;
}

void copy_called_functions(mlir::Operation* module) {
  const Calls calls(module);
  mlir::SymbolTable symbols(module);
  for (mlir::FunctionOpInterface function : functions_of(module)) {
    if (is_called_by_these_alone(function, calls) || calls.of(function).empty()) continue;
    const std::vector<unsigned> weights = weights_of(function);
    std::vector<mlir::Operation*> with_constants;
    llvm::copy_if(calls.of(function), std::back_inserter(with_constants),
                  [&](mlir::Operation* call) {
                    return llvm::any_of(
                        weights, [&](unsigned weight) { return passes_constant(call, weight); });
                  });
    if (with_constants.empty()) continue;
    mlir::Operation* const copy = function->clone();
    mlir::SymbolTable::setSymbolVisibility(copy, mlir::SymbolTable::Visibility::Private);
    copy->setAttr(copy_mark, mlir::UnitAttr::get(copy->getContext()));
    const auto name = mlir::FlatSymbolRefAttr::get(
        symbols.insert(copy, std::next(mlir::Block::iterator(function))));
    for (mlir::Operation* const call : with_constants) call->setAttr("callee", name);
    mark(llvm::cast<mlir::FunctionOpInterface>(copy), constant_ones(weights, with_constants));
  }
}

void mark_calls(mlir::Operation* module) {
  mark_constant_weights(module);
  const std::vector<Argument> places = marked_arguments(module);
  if (places.empty()) return;
  const Calls calls(module);
  mlir::Builder builder(module->getContext());
  // Functions may stand in any order, and hand on what they are given.
  bool is_new = true;
  for (int round = 0; round < most_nested_calls && is_new; ++round) {
    is_new = false;
    for (const Argument& place : places) {
      std::string why;
      const auto axes = find_axes(place, why);
      if (!axes) continue;
      for (mlir::Operation* const call : calls.of(place.function)) {
        const auto set = [&](std::string_view name, std::int64_t axis) {
          const auto held = call->getAttrOfType<mlir::DenseI64ArrayAttr>(llvm::StringRef(name));
          std::vector<std::int64_t> all(call->getNumOperands(), -1);
          if (held && held.size() == static_cast<std::int64_t>(all.size())) {
            all.assign(held.asArrayRef().begin(), held.asArrayRef().end());
          }
          is_new = std::exchange(all[place.index], axis) != axis || is_new;
          call->setAttr(llvm::StringRef(name), builder.getDenseI64ArrayAttr(all));
        };
        set(MlirCall::channels, axes->channel);
        set(MlirCall::contracted, axes->contracted);
      }
    }
  }
}

Expected<void> pass_codes(mlir::Operation* module, const WeightOnly& scheme) {
  QUADRANT_CHECK(Arguments(module, scheme).change());
  for (mlir::FunctionOpInterface function : functions_of(module)) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      if (function.getArgAttr(i, found_mark)) function.removeArgAttr(i, found_mark);
    }
    function->removeAttr(copy_mark);
  }
  module->walk([](mlir::Operation* op) {
    if (op->getName().getStringRef() != "func.call") return;
    for (const std::string_view name : {MlirCall::channels, MlirCall::contracted}) {
      op->removeAttr(llvm::StringRef(name));
    }
  });
  return {};
}

void warn_of_marks(mlir::Operation* root, llvm::StringRef why) {
  root->walk([&](mlir::FunctionOpInterface function) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      if (function.getArgAttr(i, weight_mark)) warn({function, i}, why.str());
    }
  });
}

}  // namespace quadrant::inline v0::mlir_plugin
