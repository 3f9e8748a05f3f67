// FunctionGraph as phase 4 changes it, and what makes operations compute on codes.
#include <fmt/format.h>
#include <mlir/Dialect/Tensor/IR/Tensor.h>
#include <mlir/IR/Builders.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "mlir_plugin/code_arithmetic.hpp"
#include "mlir_plugin/constants.hpp"
#include "mlir_plugin/function_graph.hpp"
#include "mlir_plugin/headers.hpp"
#include "mlir_plugin/integer_products.hpp"
#include "mlir_plugin/moved_codes.hpp"
#include "mlir_plugin/seen.hpp"
#include "mlir_plugin/types.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/number_format.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::mlir_plugin {
namespace {

// Behind whoever makes `value`.
mlir::OpBuilder builder_behind(mlir::Value value) {
  mlir::OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  return builder;
}

mlir::Operation* create(mlir::OpBuilder& builder, mlir::Location location, llvm::StringRef name,
                        mlir::Value operand, mlir::Type type) {
  mlir::OperationState state(location, name);
  state.addOperands(operand);
  state.addTypes(type);
  return builder.create(state);
}

// Whoever only puts its result where `value` is gets another place: `value` becomes codes.
void free_destinations(mlir::Value value) {
  std::vector<mlir::OpOperand*> uses;
  for (mlir::OpOperand& use : value.getUses()) {
    if (is_unread_destination(use)) uses.push_back(&use);
  }
  for (mlir::OpOperand* const use : uses) {
    const mlir::Location location = use->getOwner()->getLoc();
    mlir::OpBuilder builder(use->getOwner());
    use->set(make_op<mlir::tensor::EmptyOp>(builder, location,
                                            mlir::tensor::getMixedSizes(builder, location, value),
                                            mlir::getElementTypeOrSelf(value)));
  }
}

}  // namespace

std::string FunctionGraph::free_name(const std::string& name) {
  std::string free = name;
  for (std::size_t suffix = 1; !names_.insert(free).second; ++suffix) {
    free = fmt::format("{}_{}", name, suffix);
  }
  return free;
}

NodeId FunctionGraph::adopt(mlir::Operation* made, std::string name, Value operand,
                            TensorType type) {
  const NodeId node{index_bound()};
  Row& row = rows_.emplace_back();
  row.op = made;
  row.kind = see(*made).kind;
  name = free_name(name);
  row.name = name;
  row.results.push_back({std::move(type), std::move(name)});
  if (!operand.is_absent()) {
    row.shown = 1;
    row.operands.push_back(operand);
    add_use(operand, node, 0);
  }
  return node;
}

Expected<mlir::quant::QuantizedType> FunctionGraph::quantized_type(const UniformType& type,
                                                                   std::string_view of) const {
  auto made = to_quantized_type(function_->getContext(), type);
  if (!made) made.error().place.tensor = of;
  return made;
}

// Moves floats no more, but codes, and so does what it moves.
void FunctionGraph::move_as_codes(NodeId node) {
  std::vector<NodeId> moves;
  const auto is_due = [&](const Row& row) {
    return row.op != nullptr && row.makes_codes && is_move(row.op) &&
           llvm::isa<mlir::FloatType>(mlir::getElementTypeOrSelf(row.op->getResult(0)));
  };
  for (NodeId at = node; is_due(rows_[at.index]); at = rows_[at.index].operands[0].node) {
    moves.push_back(at);
  }
  for (const NodeId each : llvm::reverse(moves)) {
    Row& row = rows_[each.index];
    free_destinations(row.op->getResult(0));
    row.op =
        move_codes(row.op, to_code_type(function_->getContext(), row.results[0].type.quantization));
  }
}

// Of what the quantized types of this version of MLIR do not say.
Expected<NodeId> FunctionGraph::emit_arithmetic(NodeSpec spec) {
  const Value codes = spec.operands[0];
  move_as_codes(codes.node);
  mlir::OpBuilder builder = builder_behind(value(codes));
  auto made = CodeArithmetic::make(builder, value(codes), scaled_format(type(codes).quantization));
  if (!made) {
    made.error().place.tensor = value_name(codes);
    return fail(std::move(made).error());
  }
  mlir::Operation* const real = made->all(builder).getDefiningOp();
  auto& [name, type] = spec.results[0];
  const NodeId node = adopt(real, std::move(name), codes, std::move(type));
  arithmetic_.emplace_back(node, *std::move(made));
  return node;
}

// Those that make `codes`, the last first, down to the first that repeats blocks: each of the
// repeated ones would have scales of its own. Empty: none does.
std::vector<NodeId> FunctionGraph::moves_that_repeat_scales(Value codes) const {
  std::vector<NodeId> moves;
  const std::shared_ptr<const UniformType> uniform = type(codes).uniform();
  if (!uniform || uniform->granularity.kind != Granularity::Kind::block) return moves;
  const auto is_move_of_codes = [&](const Row& row) {
    return row.op != nullptr && row.makes_codes && is_move(row.op);
  };
  std::size_t count = 0;
  for (NodeId at = codes.node; is_move_of_codes(rows_[at.index]);
       at = rows_[at.index].operands[0].node) {
    moves.push_back(at);
    if (rows_[at.index].kind == MlirBroadcast::kind) count = moves.size();
  }
  moves.resize(count);
  return moves;
}

// Dequantized before: the moves are made anew, of floats.
Expected<NodeId> FunctionGraph::emit_repeated(NodeSpec spec, const std::vector<NodeId>& moves) {
  const Value source = rows_[moves.back().index].operands[0];
  QUADRANT_TRY(NodeId real, emit_dequantize({.kind = spec.kind,
                                             .name = spec.name,
                                             .operands = {source},
                                             .results = {{spec.name, type(source).expressed()}}}));
  for (const NodeId move : llvm::reverse(moves)) {
    mlir::Operation* const before = rows_[move.index].op;
    mlir::Operation* const made = mlir::OpBuilder(before).clone(*before);
    made->setOperand(0, value({real}));
    real = adopt(made, spec.results[0].name, {real}, type({move}).expressed());
  }
  return real;
}

Expected<NodeId> FunctionGraph::emit_dequantize(NodeSpec spec) {
  const Value codes = spec.operands[0];
  // `finish` makes the sum real numbers, with what it begins with.
  Row& maker = rows_[codes.node.index];
  if (maker.kind == MlirProduct::kind && maker.results[0].type.element == ElementType::int32) {
    maker.makes_codes = false;
    maker.results[0].type = std::move(spec.results[0].type);
    return codes.node;
  }
  const std::vector<NodeId> repeating = moves_that_repeat_scales(codes);
  if (!repeating.empty()) return emit_repeated(std::move(spec), repeating);
  const mlir::Value value = this->value(codes);
  const TensorType& type = this->type(codes);
  const bool is_ranked = llvm::isa<mlir::RankedTensorType>(value.getType());
  if (is_ranked && !has_quantized_type(type)) return emit_arithmetic(std::move(spec));
  QUADRANT_TRY(const mlir::quant::QuantizedType quantized,
               quantized_type(*type.uniform(), value_name(codes)));
  mlir::OpBuilder builder = builder_behind(value);
  mlir::Operation* const cast = create(builder, value.getLoc(), "quant.scast", value,
                                       with_element(value.getType(), quantized));
  mlir::Operation* const real = create(builder, value.getLoc(), "quant.dcast", cast->getResult(0),
                                       with_element(value.getType(), quantized.getExpressedType()));
  const NodeId typed = adopt(cast, spec.name + "_scast", codes, type);
  return adopt(real, std::move(spec.results[0].name), {typed}, std::move(spec.results[0].type));
}

Expected<NodeId> FunctionGraph::emit_quantize(NodeSpec spec) {
  const Value real = spec.operands[0];
  const mlir::Value value = this->value(real);
  TensorType& type = spec.results[0].type;
  QUADRANT_TRY(const mlir::quant::QuantizedType quantized,
               quantized_type(*type.uniform(), value_name(real)));
  mlir::OpBuilder builder = builder_behind(value);
  mlir::Operation* const typed = create(builder, value.getLoc(), "quant.qcast", value,
                                        with_element(value.getType(), quantized));
  mlir::Operation* const codes = create(builder, value.getLoc(), "quant.scast", typed->getResult(0),
                                        with_element(value.getType(), quantized.getStorageType()));
  const NodeId node = adopt(typed, spec.name + "_qcast", real, type);
  return adopt(codes, std::move(spec.results[0].name), {node}, std::move(type));
}

Expected<NodeId> FunctionGraph::emit(NodeSpec spec) {
  if (spec.kind == ops::Dequantize::kind) return emit_dequantize(std::move(spec));
  if (spec.kind == ops::Quantize::kind && spec.results[0].type.uniform()) {
    return emit_quantize(std::move(spec));
  }
  if (spec.kind == ops::Constant::kind) return emit_constant(std::move(spec));
  return fail(ErrorCode::impossible,
              fmt::format("the plug-in has no operation of MLIR for '{}'", spec.kind),
              {.node = spec.name});
}

Expected<void> FunctionGraph::set_operand(NodeId node, std::uint32_t operand, Value value) {
  Row& row = rows_[node.index];
  const mlir::Value made = this->value(value);
  if (operand < row.shown) {
    row.op->setOperand(operand, made);
  } else {
    // Only its regions read it, or those have read it before it became codes.
    this->value(row.operands[operand]).replaceUsesWithIf(made, [&](mlir::OpOperand& use) {
      return row.op->isProperAncestor(use.getOwner());
    });
  }
  drop_use(row.operands[operand], node, operand);
  row.operands[operand] = value;
  add_use(value, node, operand);
  return {};
}

Expected<void> FunctionGraph::set_type(Value value, TensorType type) {
  Row& row = rows_[value.node.index];
  if (row.op == nullptr || !type.quantization) {
    return fail(ErrorCode::impossible, "this value cannot get another type",
                {.tensor = std::string(value_name(value))});
  }
  row.makes_codes = true;
  row.results[value.result].type = std::move(type);
  return {};
}

Expected<mlir::ElementsAttr> FunctionGraph::coded_contents(const TensorType& type,
                                                           const Constant& codes,
                                                           std::string_view name) {
  if (!type.quantization) {
    return fail(ErrorCode::impossible, "constants become codes", {.tensor = std::string(name)});
  }
  const auto extents = codes.shape().known_extents();
  const auto held =
      mlir::RankedTensorType::get(llvm::ArrayRef(extents.data(), extents.size()),
                                  to_code_type(function_->getContext(), type.quantization));
  // Functions are rewritten at the same time, and have names in common.
  return to_elements(held, codes,
                     fmt::format("{}_{}", std::string_view(function_.getName()), name));
}

// Where every operation of the function can read it.
Expected<NodeId> FunctionGraph::emit_constant(NodeSpec spec) {
  auto& [name, type] = spec.results[0];
  QUADRANT_TRY(const mlir::ElementsAttr contents, coded_contents(type, spec.constant, name));
  auto builder = mlir::OpBuilder::atBlockBegin(&function_.getFunctionBody().front());
  mlir::OperationState state(function_->getLoc(), "arith.constant");
  // NOLINTNEXTLINE(cppcoreguidelines-slicing): an interface is what it is of, and its functions
  state.addAttribute("value", contents);
  state.addTypes(contents.getType());
  const NodeId node = adopt(builder.create(state), std::move(name), {}, std::move(type));
  rows_[node.index].kind = ops::Constant::kind;
  rows_[node.index].constant = std::move(spec.constant);
  return node;
}

Expected<void> FunctionGraph::set_constant(NodeId node, Constant constant,
                                           Quantization quantization) {
  Row& row = rows_[node.index];
  const TensorType coded{constant.element(), constant.shape(), std::move(quantization)};
  QUADRANT_TRY(const mlir::ElementsAttr contents, coded_contents(coded, constant, row.name));
  mlir::OpBuilder builder(row.op);
  mlir::OperationState state(row.op->getLoc(), row.op->getName());
  const bool is_tosa = row.op->getName().getStringRef() == "tosa.const";
  // NOLINTNEXTLINE(cppcoreguidelines-slicing): an interface is what it is of, and its functions
  state.addAttribute(is_tosa ? llvm::StringRef(tosa_constant_attribute) : "value", contents);
  state.addAttributes(llvm::to_vector(row.op->getDiscardableAttrs()));
  state.addTypes(contents.getType());
  mlir::Operation* const made = builder.create(state);
  free_destinations(row.op->getResult(0));
  row.op->replaceAllUsesWith(made);
  row.op->erase();
  row.op = made;
  row.results[0].type = coded;
  row.constant = std::move(constant);
  return {};
}

Expected<void> FunctionGraph::set_value_name(Value value, std::string name) {
  std::string& own = rows_[value.node.index].results[value.result].name;
  names_.erase(own);
  own = free_name(name);
  return {};
}

Expected<void> FunctionGraph::erase(NodeId node) {
  Row& row = rows_[node.index];
  // Others have effects, or are read where the engine does not look.
  if (row.op == nullptr || !mlir::isOpTriviallyDead(row.op)) return {};
  for (std::uint32_t i = 0; i < row.operands.size(); ++i) drop_use(row.operands[i], node, i);
  row.op->erase();
  row.op = nullptr;
  row.operands.clear();
  row.is_erased = true;
  return {};
}

// --- operations on codes ------------------------------------------------------------------------

// Whether the module itself says that the value is quantized: whoever reads it computes on that.
bool FunctionGraph::is_quantized_anyway(Value codes) const {
  return llvm::isa<mlir::quant::QuantizedType>(mlir::getElementTypeOrSelf(value(codes).getType()));
}

// Reads the real values of its operands; all who do share them.
Expected<void> FunctionGraph::compute_real(NodeId node, std::unordered_map<Value, Value>& real) {
  for (std::uint32_t i = 0; i < rows_[node.index].operands.size(); ++i) {
    const Value codes = rows_[node.index].operands[i];
    if (codes.is_absent() || !type(codes).quantization || is_quantized_anyway(codes)) continue;
    Value& made = real[codes];
    if (made.is_absent()) {
      const std::string name = fmt::format("{}_dequantized", value_name(codes));
      QUADRANT_TRY(const NodeId dequantized, emit({.kind = std::string(ops::Dequantize::kind),
                                                   .name = name,
                                                   .operands = {codes},
                                                   .results = {{name, type(codes).expressed()}}}));
      made = {dequantized};
    }
    QUADRANT_CHECK(set_operand(node, i, made));
  }
  return {};
}

// `real`, what the operation computes, is quantized, and whoever read its result reads the codes.
Expected<void> FunctionGraph::compute_codes(NodeId node, mlir::Value real) {
  Row& row = rows_[node.index];
  mlir::Operation* const before = row.op;
  QUADRANT_TRY(const mlir::quant::QuantizedType quantized,
               quantized_type(*row.results[0].type.uniform(), row.results[0].name));
  free_destinations(before->getResult(0));
  mlir::OpBuilder builder = builder_behind(real);
  mlir::Operation* const typed = create(builder, before->getLoc(), "quant.qcast", real,
                                        with_element(real.getType(), quantized));
  row.op = create(builder, before->getLoc(), "quant.scast", typed->getResult(0),
                  with_element(real.getType(), quantized.getStorageType()));
  before->getResult(0).replaceAllUsesExcept(row.op->getResult(0), typed);
  if (real != before->getResult(0)) before->erase();
  return {};
}

mlir::Value FunctionGraph::sum_of_integers(NodeId node) {
  Row& row = rows_[node.index];
  if (products_ != Products::integers || row.kind != MlirProduct::kind) return {};
  const UniformType* const data = type(row.operands[0]).uniform().get();
  const UniformType* const weight = type(row.operands[1]).uniform().get();
  if (data == nullptr || weight == nullptr || is_quantized_anyway(row.operands[0]) ||
      is_quantized_anyway(row.operands[1])) {
    return {};
  }
  return sum_integers(row.op, *data, *weight,
                      NodeRef{this, node}.attribute_or(MlirProduct::of_sum, std::int64_t{-1}));
}

// A product that reads codes and makes real numbers.
Expected<void> FunctionGraph::sum_to_reals(NodeId node, std::unordered_map<Value, Value>& real) {
  Row& row = rows_[node.index];
  if (row.kind != MlirProduct::kind) return {};
  if (const mlir::Value sum = sum_of_integers(node)) {
    row.op->getResult(0).replaceAllUsesWith(sum);
    row.op->erase();
    row.op = sum.getDefiningOp();
    return {};
  }
  return compute_real(node, real);
}

Expected<void> FunctionGraph::finish() {
  std::unordered_map<Value, Value> real_values;
  // Operands are codes before their readers are looked at; blocks may stand in any order.
  QUADRANT_TRY(const std::vector<NodeId> order, topological_order(*this));
  for (const NodeId node : llvm::reverse(order)) {
    const Row& row = rows_[node.index];
    const bool is_unread =
        !row.is_erased && row.makes_codes && is_move(row.op) && row.op->use_empty();
    if (is_unread) QUADRANT_CHECK(erase(node));
  }
  for (const NodeId node : order) {
    const std::uint32_t index = node.index;
    if (rows_[index].is_erased) continue;
    if (!rows_[index].makes_codes) {
      QUADRANT_CHECK(sum_to_reals(node, real_values));
      continue;
    }
    if (is_move(rows_[index].op)) {
      move_as_codes(node);
      continue;
    }
    mlir::Value real = sum_of_integers(node);
    if (!real) {
      QUADRANT_CHECK(compute_real(node, real_values));
      real = rows_[index].op->getResult(0);
    }
    QUADRANT_CHECK(compute_codes(node, real));
  }
  for (const auto& [node, arithmetic] : arithmetic_) {
    if (!rows_[node.index].is_erased) arithmetic.compute_where_read(value({node}));
  }
  return {};
}

}  // namespace quadrant::inline v0::mlir_plugin
