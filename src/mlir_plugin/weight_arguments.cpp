#include "mlir_plugin/weight_arguments.hpp"

#include <fmt/format.h>
#include <llvm/ADT/BitVector.h>
#include <llvm/ADT/DenseMap.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/BuiltinTypes.h>
#include <mlir/IR/Diagnostics.h>
#include <mlir/Interfaces/FunctionInterfaces.h>

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ir/scales.hpp"
#include "mlir_plugin/calls.hpp"
#include "mlir_plugin/headers.hpp"
#include "mlir_plugin/lower_casts.hpp"
#include "mlir_plugin/passed_types.hpp"
#include "mlir_plugin/private_copies.hpp"
#include "mlir_plugin/seen.hpp"
#include "mlir_plugin/types.hpp"
#include "mlir_plugin/unread.hpp"
#include "mlir_plugin/weight_readers.hpp"

namespace quadrant::inline v0::mlir_plugin {
namespace {

constexpr llvm::StringLiteral codes_mark = "quadrant.codes";
constexpr llvm::StringLiteral name_mark = "quadrant.name";

// --- marks --------------------------------------------------------------------------------------

// A warning where somebody asked for codes, else a remark.
void say_float(mlir::FunctionOpInterface function, unsigned index, llvm::StringRef why,
               std::optional<mlir::Location> at = {}) {
  const mlir::Location location = at.value_or(function.getLoc());
  const bool is_asked = static_cast<bool>(function.getArgAttr(index, weight_mark));
  (is_asked ? mlir::emitWarning(location) : mlir::emitRemark(location))
      << fmt::format("argument {} of '{}' stays float: {}", index,
                     std::string_view(function.getName()), std::string_view(why));
}

// The axis that the mark names; -1: none. Empty, and `why`: the mark says something else.
std::optional<std::int64_t> asked_axis(mlir::Attribute mark, std::int64_t rank, std::string& why) {
  if (!mark || llvm::isa<mlir::UnitAttr>(mark)) return -1;
  const auto axis = llvm::dyn_cast<mlir::IntegerAttr>(mark);
  const auto integer = axis ? llvm::dyn_cast<mlir::IntegerType>(axis.getType()) : nullptr;
  const bool is_number = integer && integer.getWidth() > 1 && integer.getWidth() <= 64;
  const std::int64_t value = is_number ? axis.getValue().getSExtValue() : -1;
  if (value >= 0 && value < rank) return value;
  why = fmt::format("quadrant.weight says nothing else, or one of its {} axes: quadrant.weight = 0",
                    rank);
  return std::nullopt;
}

// Empty, and `why`: the argument stays float.
std::optional<WeightAxes> find_axes(mlir::FunctionOpInterface function, unsigned index,
                                    std::string& why) {
  const auto type = llvm::dyn_cast<mlir::RankedTensorType>(function.getArgumentTypes()[index]);
  if (!is_weight_type(type)) {
    why = "quadrant.weight is for tensors of floats of which all extents are known";
    return std::nullopt;
  }
  if (function.isExternal()) {
    why = "the function has no body";
    return std::nullopt;
  }
  const auto asked = asked_axis(function.getArgAttr(index, weight_mark), type.getRank(), why);
  if (!asked) return std::nullopt;
  const WeightReaders readers = readers_of(function.getArgument(index));
  if (*asked >= 0) return WeightAxes{*asked, readers.axes.contracted};
  if (!readers.are_there) {
    why =
        "no product and no lookup reads it as it is, or transposed; quadrant.weight = 0 says "
        "axis 0";
  }
  if (!readers.agree) {
    why = "its readers keep scales apart along different axes; quadrant.weight = 0 says axis 0";
  }
  return why.empty() ? std::optional(readers.axes) : std::nullopt;
}

// --- codes --------------------------------------------------------------------------------------

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

// --- signatures and calls -----------------------------------------------------------------------

class Signatures {
 public:
  Signatures(mlir::Operation* module, const WeightOnly& scheme) : calls_(module), scheme_(scheme) {}

  // Arguments of a function in their order, one function after the other.
  void add(mlir::FunctionOpInterface function, unsigned index) {
    std::string why;
    const auto axes = find_axes(function, index, why);
    if (axes && !calls_.are_all(function)) why = "not only calls refer to the function";
    mlir::quant::QuantizedType type;
    if (axes && why.empty()) {
      auto made = type_of_codes(
          scheme_, *axes, llvm::cast<mlir::RankedTensorType>(function.getArgumentTypes()[index]));
      if (made) type = *made;
      if (!made) why = std::move(made).error().message;
    }
    if (!why.empty()) {
      say_float(function, index, why);
      return;
    }
    const mlir::BlockArgument floats = function.getArgument(index);
    row_of_[floats] = rows_.size();
    rows_.push_back({function, floats, type, true, {}, {}, {}});
  }

  Expected<void> change() {
    for (std::size_t i = 0; i < rows_.size(); ++i) look_at_calls(i);
    drop_what_depends();
    std::erase_if(rows_, [](const Row& row) { return !row.is_passed; });
    row_of_.clear();
    for (std::size_t i = 0; i < rows_.size(); ++i) row_of_[rows_[i].floats] = i;
    const std::vector<std::span<Row>> functions = by_function();
    for (const std::span<Row> rows : functions) add_arguments(rows);
    for (const std::span<Row> rows : functions) QUADRANT_CHECK(change_calls(rows));
    for (const std::span<Row> rows : functions) QUADRANT_CHECK(drop_arguments(rows));
    erase_unread(std::move(unread_));
    return {};
  }

 private:
  struct Row {
    mlir::FunctionOpInterface function;
    mlir::BlockArgument floats;
    mlir::quant::QuantizedType type;
    bool is_passed = true;
    std::vector<std::size_t> handed_on;  // rows whose calls pass this one
    mlir::BlockArgument codes;
    mlir::BlockArgument scales;
  };

  std::vector<std::span<Row>> by_function() {
    std::vector<std::span<Row>> all;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const bool is_first = i == 0 || rows_[i].floats.getOwner() != rows_[i - 1].floats.getOwner();
      if (is_first) all.emplace_back(&rows_[i], 0);
      all.back() = {all.back().data(), all.back().size() + 1};
    }
    return all;
  }

  // Why the row's argument cannot be passed as codes here; empty: it can.
  std::string_view why_not(std::size_t index, mlir::Value passed) {
    const mlir::quant::QuantizedType type = rows_[index].type;
    if (const auto found = row_of_.find(passed); found != row_of_.end()) {
      Row& own = rows_[found->second];
      own.handed_on.push_back(index);
      if (differ_in_scales_alone(own.type, type)) return {};
      return "this call passes an argument whose scales lie along another axis";
    }
    if (const mlir::Value quantized = quantized_value(passed)) {
      if (differ_in_scales_alone(quantized_type(quantized), type)) return {};
      return "this call passes quantized values whose scales lie otherwise";
    }
    mlir::Operation* const maker = passed.getDefiningOp();
    if (maker != nullptr && contents_of(*maker))
      return "this call passes a constant that stays float, too";
    return "this call passes neither a constant nor an argument with quadrant.weight";
  }

  void look_at_calls(std::size_t index) {
    mlir::FunctionOpInterface function = rows_[index].function;
    const unsigned number = rows_[index].floats.getArgNumber();
    for (mlir::Operation* const call : calls_.of(function)) {
      const std::string_view why = why_not(index, call->getOperand(number));
      if (why.empty()) continue;
      rows_[index].is_passed = false;
      say_float(function, number, why, call->getLoc());
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
        say_float(rows_[next].function, rows_[next].floats.getArgNumber(),
                  "a call passes an argument of its own function that stays float, too");
        dropped.push_back(next);
      }
    }
  }

  // Two behind each, all at once: every change makes the type of the function anew.
  static void add_arguments(std::span<Row> rows) {
    mlir::FunctionOpInterface function = rows.front().function;
    mlir::Builder builder(function.getContext());
    std::vector<unsigned> places;
    std::vector<mlir::Type> types;
    std::vector<mlir::DictionaryAttr> attributes;
    std::vector<mlir::Location> locations;
    const auto add = [&](const Row& row, mlir::Type type, const mlir::NamedAttrList& held) {
      places.push_back(row.floats.getArgNumber() + 1);
      types.push_back(type);
      attributes.push_back(held.getDictionary(builder.getContext()));
      locations.push_back(row.floats.getLoc());
    };
    for (const Row& row : rows) {
      const unsigned number = row.floats.getArgNumber();
      mlir::NamedAttrList codes(function.getArgAttrDict(number));
      codes.erase(weight_mark);
      codes.set(codes_mark, builder.getUnitAttr());
      mlir::NamedAttrList scales;
      scales.set(scales_mark, builder.getUnitAttr());
      if (const auto name = llvm::dyn_cast_if_present<mlir::StringAttr>(codes.get(name_mark))) {
        scales.set(name_mark, builder.getStringAttr(name.getValue() + "_scales"));
      }
      const UniformType known = *to_uniform_type(row.type);
      const mlir::Type element = mlir::getElementTypeOrSelf(row.floats);
      const mlir::Type real =
          element.isF64() ? builder.getF64Type() : mlir::Type(builder.getF32Type());
      const auto extents = known.scales.shape().known_extents();
      add(row, with_element(row.floats.getType(), row.type.getStorageType()), codes);
      add(row, mlir::RankedTensorType::get({extents.data(), extents.size()}, real), scales);
      mlir::emitRemark(
          function.getLoc(),
          fmt::format("argument {} of '{}' becomes two: quantized values and their "
                      "scales ({})",
                      number, std::string_view(function.getName()), known.granularity.print()));
    }
    insert_arguments(function, places, types, attributes, locations);
    for (Row& row : rows) {
      row.codes = function.getArgument(row.floats.getArgNumber() + 1);
      row.scales = function.getArgument(row.floats.getArgNumber() + 2);
    }
  }

  // Those of a call are as the function's were.
  Expected<void> change_calls(std::span<const Row> rows) {
    for (mlir::Operation* const call : calls_.of(rows.front().function)) {
      std::vector<mlir::Value> operands;
      std::size_t changed = 0;
      for (const mlir::Value operand : call->getOperands()) {
        // What was in front has two more arguments behind it each.
        const bool is_changed = changed < rows.size() &&
                                operands.size() + changed == rows[changed].floats.getArgNumber();
        if (!is_changed) {
          operands.push_back(operand);
          continue;
        }
        ++changed;
        QUADRANT_CHECK(pass(operand, call, operands));
      }
      call->setOperands(operands);
    }
    return {};
  }

  Expected<void> pass(mlir::Value passed, mlir::Operation* call,
                      std::vector<mlir::Value>& operands) {
    if (const auto found = row_of_.find(passed); found != row_of_.end()) {
      operands.insert(operands.end(), {rows_[found->second].codes, rows_[found->second].scales});
      return {};
    }
    mlir::OpBuilder builder(call);
    const mlir::Value quantized = quantized_value(passed);
    operands.push_back(quantized.getDefiningOp()->getOperand(0));
    QUADRANT_TRY(const mlir::Value scales,
                 hold_scales(builder, call->getLoc(), quantized_type(quantized)));
    operands.push_back(scales);
    unread_.push_back(quantized.getDefiningOp());
    unread_.push_back(passed.getDefiningOp());
    return {};
  }

  static Expected<void> drop_arguments(std::span<const Row> rows) {
    mlir::FunctionOpInterface function = rows.front().function;
    llvm::BitVector dropped(function.getNumArguments());
    for (const Row& row : rows) {
      QUADRANT_CHECK(read_codes_instead(row.floats, row.type, row.codes, row.scales));
      dropped.set(row.floats.getArgNumber());
    }
    erase_arguments(function, dropped);
    return {};
  }

  Calls calls_;
  const WeightOnly& scheme_;
  std::vector<Row> rows_;
  llvm::DenseMap<mlir::Value, std::size_t> row_of_;
  std::vector<mlir::Operation*> unread_;
};

void forget(mlir::Operation* module) {
  module->walk([](mlir::Operation* op) {
    if (op->getName().getStringRef() != "func.call") return;
    for (const std::string_view name : {MlirCall::channels, MlirCall::contracted}) {
      op->removeAttr(llvm::StringRef(name));
    }
  });
}

}  // namespace

WeightArguments::WeightArguments(mlir::Operation* module, WeightOnly scheme)
    : module_(module), scheme_(std::move(scheme)) {}

bool WeightArguments::is_marked(mlir::BlockArgument argument) const {
  auto function = llvm::dyn_cast<mlir::FunctionOpInterface>(argument.getOwner()->getParentOp());
  const bool is_own = function && argument.getOwner()->isEntryBlock();
  return is_own &&
         (found_.contains(argument) || function.getArgAttr(argument.getArgNumber(), weight_mark));
}

std::string WeightArguments::fate_of(mlir::BlockArgument argument) const {
  if (!is_marked(argument)) return {};
  const std::string why = why_not_passed(scheme_);
  return why.empty() ? "codes and scales are passed for it where all calls of the module can" : why;
}

// Of private functions: all calls pass constants for it, or weights of their own function. Whether
// there are more than before.
bool WeightArguments::find_weights(mlir::FunctionOpInterface function, const Calls& calls) {
  if (!calls.are_known(function) || calls.of(function).empty()) return false;
  const auto passes_weight = [&](mlir::Operation* call, unsigned operand) {
    const auto argument = llvm::dyn_cast<mlir::BlockArgument>(call->getOperand(operand));
    return argument ? is_marked(argument) : passes_constant(call, operand);
  };
  bool is_new = false;
  for (const unsigned weight : weights_of(function)) {
    if (llvm::all_of(calls.of(function),
                     [&](mlir::Operation* call) { return passes_weight(call, weight); })) {
      is_new = found_.insert(function.getArgument(weight)).second || is_new;
    }
  }
  return is_new;
}

// Whether calls of the function know more than before.
bool WeightArguments::say_axes(mlir::FunctionOpInterface function, const Calls& calls) {
  std::vector<std::int64_t> channels(function.getNumArguments(), -1);
  std::vector<std::int64_t> contracted(function.getNumArguments(), -1);
  bool has_any = false;
  for (unsigned i = 0; i < function.getNumArguments() && !function.isExternal(); ++i) {
    std::string why;
    if (!is_marked(function.getArgument(i))) continue;
    const auto axes = find_axes(function, i, why);
    if (!axes) continue;
    channels[i] = axes->channel;
    contracted[i] = axes->contracted;
    has_any = true;
  }
  if (!has_any) return false;
  mlir::Builder builder(module_->getContext());
  const mlir::Attribute of_channels = builder.getDenseI64ArrayAttr(channels);
  const mlir::Attribute of_contracted = builder.getDenseI64ArrayAttr(contracted);
  bool is_new = false;
  for (mlir::Operation* const call : calls.of(function)) {
    for (const auto& [name, made] : {std::pair(MlirCall::channels, of_channels),
                                     std::pair(MlirCall::contracted, of_contracted)}) {
      is_new = is_new || call->getAttr(llvm::StringRef(name)) != made;
      call->setAttr(llvm::StringRef(name), made);
    }
  }
  return is_new;
}

void WeightArguments::mark_calls() {
  forget(module_);  // what somebody else said
  const bool can_pass = why_not_passed(scheme_).empty();
  const Calls calls(module_);
  // Functions may stand in any order, and hand on what they are given.
  bool is_new = true;
  for (int round = 0; round < most_nested_calls && is_new; ++round) {
    is_new = false;
    for (const mlir::FunctionOpInterface function : functions_of(module_)) {
      is_new = find_weights(function, calls) || is_new;
      is_new = (can_pass && say_axes(function, calls)) || is_new;
    }
  }
}

Expected<void> WeightArguments::pass_codes() {
  if (const std::string why = why_not_passed(scheme_); !why.empty()) {
    warn_of_marks(module_, why);
    for (mlir::FunctionOpInterface function : functions_of(module_)) {
      for (unsigned i = 0; i < function.getNumArguments(); ++i) {
        const bool is_found = !function.isExternal() && found_.contains(function.getArgument(i));
        if (is_found && !function.getArgAttr(i, weight_mark)) say_float(function, i, why);
      }
    }
    return {};
  }
  Signatures signatures(module_, scheme_);
  const std::vector<mlir::FunctionOpInterface> own = functions_of(module_);
  module_->walk([&](mlir::FunctionOpInterface function) {
    const bool is_own =
        function->getParentOp() == module_ && function->getName().getStringRef() == "func.func";
    if (is_own) return;
    warn_of_marks(function, "signatures change where the pass runs on the module that has it");
  });
  for (mlir::FunctionOpInterface function : own) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      const bool is_asked = static_cast<bool>(function.getArgAttr(i, weight_mark));
      const bool is_found = !function.isExternal() && found_.contains(function.getArgument(i));
      if (is_asked || is_found) signatures.add(function, i);
    }
  }
  QUADRANT_CHECK(signatures.change());
  forget(module_);
  return {};
}

void warn_of_marks(mlir::Operation* root, llvm::StringRef why) {
  root->walk([&](mlir::FunctionOpInterface function) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      if (function.getArgAttr(i, weight_mark)) say_float(function, i, why);
    }
  });
}

}  // namespace quadrant::inline v0::mlir_plugin
