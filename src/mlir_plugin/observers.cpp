#include "mlir_plugin/observers.hpp"

#include <fmt/format.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Dialect/Tensor/IR/Tensor.h>
#include <mlir/IR/SymbolTable.h>

#include <utility>
#include <vector>

#include "mlir_plugin/constants.hpp"
#include "mlir_plugin/headers.hpp"
#include "mlir_plugin/types.hpp"
#include "quadrant/calibration/data_set.hpp"

namespace quadrant::inline v0::mlir_plugin {
namespace {

namespace arith = mlir::arith;
namespace func = mlir::func;
namespace tensor = mlir::tensor;

constexpr llvm::StringLiteral observe = "quadrant_observe";
constexpr llvm::StringLiteral observe_into = "quadrant_observe_into";

// A function of the observers' library.
Expected<void> declare(mlir::ModuleOp module, llvm::StringRef name, mlir::TypeRange operands) {
  auto builder = mlir::OpBuilder::atBlockBegin(module.getBody());
  const mlir::FunctionType type = builder.getFunctionType(operands, {});
  if (mlir::Operation* const there = mlir::SymbolTable::lookupSymbolIn(module, name)) {
    auto function = llvm::dyn_cast<func::FuncOp>(there);
    if (function && function.isExternal() && function.getFunctionType() == type) return {};
    return fail(ErrorCode::impossible,
                fmt::format("the module has a '{}' of its own, and observers are called that",
                            std::string_view(name)));
  }
  auto made = make_op<func::FuncOp>(builder, module.getLoc(), name, type);
  made.setPrivate();
  made->setAttr("llvm.emit_c_interface", builder.getUnitAttr());
  // Or bufferization keeps copies of what it is handed.
  for (unsigned i = 0; i < operands.size(); ++i) {
    made.setArgAttr(i, "bufferization.access", builder.getStringAttr("read"));
  }
  return {};
}

// Text as a tensor of its bytes, of unknown extent.
mlir::Value text_value(mlir::OpBuilder& builder, mlir::Location location, llvm::StringRef text) {
  const mlir::Type byte = builder.getI8Type();
  const auto type = mlir::RankedTensorType::get({static_cast<std::int64_t>(text.size())}, byte);
  const auto contents =
      mlir::DenseElementsAttr::getFromRawBuffer(type, llvm::ArrayRef(text.data(), text.size()));
  const mlir::Value bytes = make_op<arith::ConstantOp>(builder, location, contents);
  const auto any = mlir::UnrankedTensorType::get(byte);
  auto cast = make_op<tensor::CastOp>(builder, location, any, bytes);
  return cast.getResult();
}

mlir::Value as_float32(mlir::OpBuilder& builder, mlir::Location location, mlir::Value value) {
  const mlir::Type wanted = with_element(value.getType(), builder.getF32Type());
  const unsigned width = mlir::getElementTypeOrSelf(value).getIntOrFloatBitWidth();
  if (width < 32) return make_op<arith::ExtFOp>(builder, location, wanted, value);
  if (width > 32) return make_op<arith::TruncFOp>(builder, location, wanted, value);
  return value;
}

Expected<mlir::ElementsAttr> to_attribute(mlir::RankedTensorType type, const Tensor& given,
                                          std::string_view name) {
  if (given.element() != ElementType::boolean) return to_elements(type, given.to_constant(), name);
  // MLIR packs them.
  const auto bytes = given.as<std::uint8_t>();
  llvm::SmallVector<bool> values;
  for (const std::uint8_t byte : bytes) values.push_back(byte != 0);
  return mlir::DenseElementsAttr::get(type, values);
}

bool is_observed(const FunctionGraph& graph, NodeId node) {
  if (graph.result_count(node) == 0 || graph.constant(node) != nullptr) return false;
  const std::string_view kind = graph.kind(node);
  if (kind == "tensor.empty" || kind == "linalg.fill") return false;
  const mlir::Value value = graph.value({node});
  const bool is_tensor = llvm::isa<mlir::TensorType>(value.getType());
  return is_tensor && is_float(graph.type({node}).element);
}

}  // namespace

std::string observed_name(const FunctionGraph& graph, Value value) {
  return fmt::format("{}:{}", std::string_view(graph.function().getName()),
                     graph.value_name(value));
}

Expected<void> insert_observers(const FunctionGraph& graph, mlir::ModuleOp module,
                                const std::string& statistics) {
  std::vector<std::pair<mlir::Value, std::string>> observed;
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    if (!is_observed(graph, {index})) continue;
    observed.emplace_back(graph.value({{index}}), observed_name(graph, {{index}}));
  }
  mlir::OpBuilder builder(module.getContext());
  const mlir::Type text = mlir::UnrankedTensorType::get(builder.getI8Type());
  const mlir::Type reals = mlir::UnrankedTensorType::get(builder.getF32Type());
  QUADRANT_CHECK(declare(module, observe, {text, text, reals}));
  QUADRANT_CHECK(declare(module, observe_into, {text}));
  for (const auto& [value, name] : observed) {
    const mlir::Location location = value.getLoc();
    builder.setInsertionPointAfterValue(value);
    mlir::Value seen = as_float32(builder, location, value);
    if (seen.getType() != reals) seen = make_op<tensor::CastOp>(builder, location, reals, seen);
    make_op<func::CallOp>(builder, location, observe, mlir::TypeRange(),
                          mlir::ValueRange{text_value(builder, location, statistics),
                                           text_value(builder, location, name), seen});
  }
  mlir::FunctionOpInterface function = graph.function();
  builder.setInsertionPointToStart(&function.getFunctionBody().front());
  make_op<func::CallOp>(builder, function->getLoc(), observe_into, mlir::TypeRange(),
                        mlir::ValueRange{text_value(builder, function->getLoc(), statistics)});
  return {};
}

Expected<void> add_entry(mlir::FunctionOpInterface function, mlir::ModuleOp module,
                         const std::string& entry, const std::string& data) {
  if (mlir::SymbolTable::lookupSymbolIn(module, entry) != nullptr) {
    return fail(ErrorCode::impossible,
                fmt::format("the module has a function '{}' already: entry=NAME calls the one that "
                            "feeds samples otherwise, and without data= there is none",
                            entry));
  }
  Graph inputs;
  for (const mlir::BlockArgument argument : function.getArguments()) {
    const TensorType type = to_tensor_type(argument.getType());
    if (!type.shape.is_ranked() || is_carried(type.element)) {
      return fail(ErrorCode::impossible,
                  fmt::format("argument {} is no tensor of known rank, and no sample gives it",
                              argument.getArgNumber()));
    }
    const auto name =
        function.getArgAttrOfType<mlir::StringAttr>(argument.getArgNumber(), "quadrant.name");
    inputs.add_input(name ? name.str() : fmt::format("argument_{}", argument.getArgNumber()), type);
  }
  QUADRANT_TRY(const auto samples, open_data_set(data, inputs));
  const mlir::Location location = function->getLoc();
  auto builder = mlir::OpBuilder::atBlockEnd(module.getBody());
  auto made = make_op<func::FuncOp>(builder, location, entry, builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(made.addEntryBlock());
  for (std::size_t i = 0; i < samples->size(); ++i) {
    QUADRANT_TRY(const Sample sample, samples->sample(i));
    llvm::SmallVector<mlir::Value> operands;
    for (std::size_t input = 0; input < sample.inputs.size(); ++input) {
      const Tensor& given = sample.inputs[input];
      const mlir::Type wanted = function.getArgument(static_cast<unsigned>(input)).getType();
      const auto type = mlir::RankedTensorType::get(
          llvm::ArrayRef(given.extents().data(), given.extents().size()),
          mlir::getElementTypeOrSelf(wanted));
      QUADRANT_TRY(const mlir::ElementsAttr contents,
                   to_attribute(type, given, fmt::format("sample_{}_{}", i, input)));
      mlir::Value value =
          make_op<arith::ConstantOp>(builder, location, llvm::cast<mlir::TypedAttr>(contents));
      if (type != wanted) value = make_op<tensor::CastOp>(builder, location, wanted, value);
      operands.push_back(value);
    }
    make_op<func::CallOp>(builder, location, function.getName(), function.getResultTypes(),
                          operands);
  }
  make_op<func::ReturnOp>(builder, location);
  return {};
}

}  // namespace quadrant::inline v0::mlir_plugin
