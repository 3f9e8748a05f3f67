#include "mlir_plugin/export_graph.hpp"

#include <fmt/format.h>
#include <mlir/Dialect/Linalg/IR/Linalg.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/scales.hpp"
#include "mlir_plugin/constants.hpp"
#include "mlir_plugin/export_generic.hpp"
#include "mlir_plugin/export_product.hpp"
#include "mlir_plugin/exported_values.hpp"
#include "mlir_plugin/moved_codes.hpp"
#include "mlir_plugin/seen.hpp"
#include "mlir_plugin/types.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::mlir_plugin {
namespace {

using Axes = std::vector<std::int64_t>;

class Exporting {
 public:
  Exporting(mlir::FunctionOpInterface function, mlir::Location& at)
      : function_(function), at_(&at) {}

  Expected<Graph> run() {
    *at_ = function_->getLoc();
    mlir::Region& body = function_.getFunctionBody();
    if (!body.hasOneBlock()) {
      return fail(ErrorCode::impossible, "functions with branches are not exported");
    }
    for (const mlir::BlockArgument argument : body.getArguments()) {
      *at_ = argument.getLoc();
      QUADRANT_TRY(TensorType type, exported_type(argument));
      const std::string name = fmt::format("argument_{}", argument.getArgNumber());
      values_.set(argument, graph().add_input(name, std::move(type)));
    }
    for (mlir::Operation& op : body.front()) {
      *at_ = op.getLoc();
      QUADRANT_CHECK(convert(op));
    }
    values_.drop_unread_constants();
    return std::move(graph());
  }

 private:
  Graph& graph() { return values_.graph; }

  Expected<void> convert(mlir::Operation& op) {
    if (op.getName().getStringRef() == "func.return") return add_outputs(op);
    // Destinations and scalars are looked at where they are used.
    if (op.getNumResults() == 1 && is_looked_at_later(op)) return {};
    if (op.getNumResults() != 1) return unknown(op);
    if (const auto axes = stretched_axes(op)) return stretch(op, *axes);
    QUADRANT_TRY(const Value made,
                 is_elementwise_generic(op) ? export_generic(values_, op) : converted(op));
    if (made.is_absent()) return unknown(op);
    values_.set(op.getResult(0), made);
    return {};
  }

  // Operations that are computed element by element repeat their operands themselves.
  Expected<void> stretch(mlir::Operation& op, const Axes& axes) {
    QUADRANT_TRY(const TensorType type, exported_type(op.getResult(0)));
    QUADRANT_TRY(const Value operand, values_.read(op.getOperand(0)));
    Axes extents(static_cast<std::size_t>(type.shape.rank()), 1);
    for (std::size_t i = 0; i < axes.size(); ++i) {
      extents[static_cast<std::size_t>(axes[i])] =
          values_.type(operand).shape[static_cast<std::int64_t>(i)].value();
    }
    values_.set_stretched(op.getResult(0), values_.reshaped(operand, Shape(extents)));
    return {};
  }

  static tl::unexpected<Error> unknown(mlir::Operation& op) {
    return refuse_export(fmt::format("the operation {} is not exported",
                                     std::string_view(op.getName().getStringRef())));
  }

  static bool is_looked_at_later(mlir::Operation& op) {
    const llvm::StringRef name = op.getName().getStringRef();
    const auto shaped = llvm::dyn_cast<mlir::ShapedType>(op.getResult(0).getType());
    // Lists of extents are read where shapes are not known already.
    return name == "tensor.empty" || !shaped || shaped.getElementType().isIndex();
  }

  Expected<void> add_outputs(mlir::Operation& op) {
    for (const mlir::Value value : op.getOperands()) {
      QUADRANT_TRY(const Value known, values_.read(value));
      graph().add_output(fmt::format("result_{}", graph().outputs().size()), known);
    }
    return {};
  }

  Expected<Value> converted(mlir::Operation& op) {
    QUADRANT_TRY(TensorType type, exported_type(op.getResult(0)));
    if (const mlir::Attribute contents = contents_of(op)) {
      const Constant constant = to_constant(contents, are_unsigned_codes(op.getResult(0)));
      if (!constant) return refuse_export("the contents of this constant are not there");
      return graph().add_constant({}, constant);
    }
    const llvm::StringRef name = op.getName().getStringRef();
    if (name == "linalg.fill") return filled(op, type);
    const std::string_view kind = elementwise_kind(name);
    Seen seen = see(op);
    std::vector<Value> operands;
    const auto count = kind.empty() ? seen.operands : inputs_of(op);
    bool has_whole = kind.empty();
    for (std::uint32_t i = 0; i < count && seen.kind != MlirProduct::kind; ++i) {
      // One of them has the shape of the result.
      const bool is_last = i + 1 == count;
      const bool may_repeat = !kind.empty() && (has_whole || !is_last);
      QUADRANT_TRY(const Value operand, may_repeat ? values_.read_for_broadcast(op.getOperand(i))
                                                   : values_.read(op.getOperand(i)));
      has_whole = has_whole || values_.type(operand).shape == type.shape;
      operands.push_back(operand);
    }
    const bool is_product = seen.kind == MlirProduct::kind;
    const bool computes = !kind.empty() || is_product;
    if (computes && !has_one_real_type(op, is_product ? 2 : count, type.element)) {
      return refuse_export(fmt::format("{} of types other than one float type is not exported",
                                       std::string_view(name)));
    }
    if (!kind.empty()) return values_.emit(kind, std::move(operands), std::move(type));
    if (is_product) return export_product(values_, op);
    if (seen.kind == ops::Reshape::kind) return values_.reshaped(operands[0], type.shape);
    if (seen.kind == ops::Transpose::kind) {
      return values_.transposed(operands[0], std::get<Axes>(*seen.attributes.find("perm")));
    }
    if (seen.kind == ops::StorageCast::kind) return storage_cast(operands[0], std::move(type));
    for (const std::string_view same :
         {ops::Identity::kind, ops::Quantize::kind, ops::Dequantize::kind}) {
      if (seen.kind == same) return values_.emit(same, std::move(operands), std::move(type));
    }
    return Value{};
  }

  // Integers have shifts, zero points and widths of their own, which ONNX's operations do not.
  static bool has_one_real_type(mlir::Operation& op, std::uint32_t inputs, ElementType result) {
    const auto operands = op.getOperands().take_front(inputs);
    return is_float(result) && llvm::all_of(operands, [&](mlir::Value operand) {
             return to_tensor_type(operand.getType()).element == result;
           });
  }

  // Integers between two casts keep the type that they were cast from, while they are moved.
  Value storage_cast(Value value, TensorType type) {
    const TensorType& before = values_.type(value);
    if (!type.quantization && before.quantization) return value;
    const bool is_known = before.quantization && type.quantization &&
                          mean_the_same(*before.uniform(), *type.uniform());
    if (is_known) return value;
    if (before.quantization) {
      value =
          values_.emit(ops::StorageCast::kind, {value}, {before.element, before.shape, nullptr});
    }
    return values_.emit(ops::StorageCast::kind, {value}, std::move(type));
  }

  // Whether these integers, moved or not, become codes without a sign.
  static bool are_unsigned_codes(mlir::Value integers) {
    std::vector<mlir::Value> moved{integers};
    while (!moved.empty()) {
      const mlir::Value value = moved.back();
      moved.pop_back();
      for (mlir::Operation* const user : value.getUsers()) {
        if (is_move(user) || stretched_axes(*user)) {
          moved.push_back(user->getResult(0));
        } else if (user->getName().getStringRef() == "quant.scast") {
          const auto quantized = llvm::dyn_cast<mlir::quant::QuantizedType>(
              mlir::getElementTypeOrSelf(user->getResult(0)));
          return quantized && !quantized.isSigned();
        }
      }
    }
    return false;
  }

  // Without destinations, tosa.mul's shift and tosa.negate's zero points.
  static std::uint32_t inputs_of(mlir::Operation& op) {
    if (op.getName().getStringRef() == "tosa.negate") return 1;
    if (auto linalg = llvm::dyn_cast<mlir::linalg::LinalgOp>(op)) {
      return static_cast<std::uint32_t>(linalg.getNumDpsInputs());
    }
    return std::min(op.getNumOperands(), 2U);
  }

  Expected<Value> filled(mlir::Operation& op, const TensorType& type) {
    const auto number = number_of(op.getOperand(0));
    if (!number) {
      return refuse_export(
          "linalg.fill with a computed number, or an integer, is not exported: products=casts "
          "leaves sums in float");
    }
    const auto splat = mlir::DenseElementsAttr::get(
        llvm::cast<mlir::ShapedType>(op.getResult(0).getType()), *number);
    const Constant contents = to_constant(splat);
    if (!contents) {
      return refuse_export(fmt::format("{} is not exported", to_string(type)));
    }
    return graph().add_constant({}, contents);
  }

  mlir::FunctionOpInterface function_;
  mlir::Location* at_;  // of what is looked at
  ExportedValues values_;
};

}  // namespace

Expected<Graph> export_graph(mlir::FunctionOpInterface function, mlir::Location& at) {
  return Exporting(function, at).run();
}

}  // namespace quadrant::inline v0::mlir_plugin
