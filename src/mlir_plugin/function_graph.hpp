// A function of MLIR as the engine reads and rewrites it: no conversion, the function stays the
// truth. Beside each operation stands what the two interfaces hand out by reference.
#pragma once

#include <llvm/ADT/SetVector.h>
#include <mlir/IR/Operation.h>
#include <mlir/Interfaces/FunctionInterfaces.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "mlir_plugin/code_arithmetic.hpp"
#include "mlir_plugin/headers.hpp"
#include "quadrant/ir/graph_rewriter.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/operations.hpp"

namespace quadrant::inline v0::mlir_plugin {

/// Every operation of the function and of the regions in it is a node, and so is every argument of
/// a block, as an `input`. Operations whose regions are their own business (linalg's) are one node,
/// which reads what its regions capture.
///
/// Codes are plain integers; `quant.scast` and `quant.dcast` stand where floats are read, and
/// `quant.qcast` and `quant.scast` where they are quantized. Constants whose meaning no quantized
/// type says become floats by arithmetic (CodeArithmetic).
///
/// Refers to the function, which nothing else may change meanwhile.
class FunctionGraph final : public GraphView, public GraphRewriter {
 public:
  /// Whether products on codes are sums of integers, or stay in floats between casts, for
  /// another compiler to fuse.
  enum class Products : std::uint8_t { integers, casts };

  /// Of products that are wanted as integers and cannot be, it says so: MlirRealProduct.
  explicit FunctionGraph(mlir::FunctionOpInterface function, Products products = Products::casts);

  [[nodiscard]] mlir::FunctionOpInterface function() const { return function_; }
  /// Null for an argument of a block.
  [[nodiscard]] mlir::Operation* operation(NodeId node) const { return rows_[node.index].op; }
  [[nodiscard]] mlir::Value value(Value of) const;
  [[nodiscard]] mlir::Location location(NodeId node) const;
  /// That of the operation or the value that is named; else the function's.
  [[nodiscard]] mlir::Location location(const Place& place) const;
  /// An attribute that somebody put on the operation, or on the argument of the function; null
  /// where there is none.
  [[nodiscard]] mlir::Attribute annotation(NodeId node, llvm::StringRef name) const;

  /// To be called once, after phase 4: operations that make codes of codes, which only types say so
  /// far, do. Sums of products as in `sum_integers`, where that can be and is wanted; others
  /// between `quant.dcast` and `quant.qcast`.
  [[nodiscard]] Expected<void> finish();

  // --- GraphView ------------------------------------------------------------------------------
  [[nodiscard]] std::span<const Operation> operations() const noexcept override;
  [[nodiscard]] std::uint32_t index_bound() const noexcept override;
  [[nodiscard]] NodeId node_at(std::uint32_t index) const noexcept override;
  [[nodiscard]] std::string_view kind(NodeId node) const noexcept override;
  [[nodiscard]] std::string_view name(NodeId node) const noexcept override;
  [[nodiscard]] std::span<const Value> operands(NodeId node) const noexcept override;
  [[nodiscard]] std::uint32_t result_count(NodeId node) const noexcept override;
  [[nodiscard]] std::span<const Use> uses(NodeId node) const noexcept override;
  [[nodiscard]] const Attribute* attribute(NodeId node,
                                           std::string_view name) const noexcept override;
  [[nodiscard]] const Constant* constant(NodeId node) const noexcept override;
  [[nodiscard]] const TensorType& type(Value value) const noexcept override;
  [[nodiscard]] std::string_view value_name(Value value) const noexcept override;

  // --- GraphRewriter --------------------------------------------------------------------------
  [[nodiscard]] const GraphView& view() const noexcept override { return *this; }
  [[nodiscard]] Expected<NodeId> emit(NodeSpec spec) override;
  [[nodiscard]] Expected<void> set_operand(NodeId node, std::uint32_t operand,
                                           Value value) override;
  [[nodiscard]] Expected<void> set_type(Value value, TensorType type) override;
  [[nodiscard]] Expected<void> set_constant(NodeId node, Constant constant,
                                            Quantization quantization) override;
  [[nodiscard]] Expected<void> set_value_name(Value value, std::string name) override;
  [[nodiscard]] Expected<void> erase(NodeId node) override;

 private:
  struct Result {
    TensorType type;
    std::string name;
  };
  struct Row {
    mlir::Operation* op = nullptr;
    mlir::BlockArgument argument;  // where `op` is null
    std::string kind;
    std::string name;
    Attributes attributes;
    Constant constant;
    std::uint32_t shown = 0;      // how many operands of `op` are operands here
    std::vector<Value> operands;  // those, and behind them what its regions read
    std::vector<Use> uses;
    std::vector<Result> results;
    bool makes_codes = false;  // by its type; `finish` makes it so
    bool is_erased = false;
  };

  using Known = std::unordered_map<void*, Value>;  // by MLIR's own
  /// What regions that are hidden read, by their operations' nodes.
  using Captured = std::unordered_map<std::uint32_t, llvm::SetVector<mlir::Value>>;
  void connect(const Known& values, const Captured& captured);
  Row& add_row(std::string name, mlir::ResultRange results);
  [[nodiscard]] Expected<mlir::quant::QuantizedType> quantized_type(const UniformType& type,
                                                                    std::string_view of) const;
  // `name`, or one like it that is free; it is taken then.
  std::string free_name(const std::string& name);
  NodeId adopt(mlir::Operation* made, std::string name, Value operand, TensorType type);
  [[nodiscard]] Expected<NodeId> emit_quantize(NodeSpec spec);
  void move_as_codes(NodeId node);
  [[nodiscard]] Expected<NodeId> emit_arithmetic(NodeSpec spec);
  [[nodiscard]] Expected<NodeId> emit_dequantize(NodeSpec spec);
  [[nodiscard]] std::vector<NodeId> moves_that_repeat_scales(Value codes) const;
  [[nodiscard]] Expected<NodeId> emit_repeated(NodeSpec spec, const std::vector<NodeId>& moves);
  [[nodiscard]] Expected<NodeId> emit_constant(NodeSpec spec);
  [[nodiscard]] Expected<mlir::ElementsAttr> coded_contents(const TensorType& type,
                                                            const Constant& codes,
                                                            std::string_view name);
  [[nodiscard]] bool is_quantized_anyway(Value codes) const;
  [[nodiscard]] Expected<void> compute_real(NodeId node, std::unordered_map<Value, Value>& real);
  // Null: the product is none of integers.
  [[nodiscard]] mlir::Value sum_of_integers(NodeId node);
  [[nodiscard]] Expected<void> sum_to_reals(NodeId node, std::unordered_map<Value, Value>& real);
  [[nodiscard]] Expected<void> compute_codes(NodeId node, mlir::Value real);
  void add_use(Value value, NodeId user, std::uint32_t operand);
  void drop_use(Value value, NodeId user, std::uint32_t operand);

  mlir::FunctionOpInterface function_;
  Products products_;
  std::vector<Row> rows_;  // by the index of the node
  std::unordered_set<std::string> names_;
  std::vector<std::pair<NodeId, CodeArithmetic>> arithmetic_;  // and what makes floats by it
};

}  // namespace quadrant::inline v0::mlir_plugin
