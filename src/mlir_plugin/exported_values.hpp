// The graph that a function is exported to, and what of it stands for which value of MLIR.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <mlir/IR/Value.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::mlir_plugin {

/// `impossible`, because of what is not exported.
[[nodiscard]] tl::unexpected<Error> refuse_export(std::string what);

/// The type, which has to be static, of elements that the library has; else `impossible`.
[[nodiscard]] Expected<TensorType> exported_type(mlir::Value value);

class ExportedValues {
 public:
  using Axes = std::vector<std::int64_t>;

  Graph graph;

  /// `value` is `exported` from now on.
  void set(mlir::Value value, Value exported) { values_[value] = exported; }
  /// `value` is `exported`, of the same rank, with one index where elements repeat.
  void set_stretched(mlir::Value value, Value exported) { stretched_[value] = exported; }

  /// What stands for `value`, of its shape; `impossible` where nothing does.
  [[nodiscard]] Expected<Value> read(mlir::Value value);
  /// The same, perhaps not yet stretched: for operations that repeat their operands themselves.
  [[nodiscard]] Expected<Value> read_for_broadcast(mlir::Value value);

  [[nodiscard]] const TensorType& type(Value value) const { return graph.type(value); }
  [[nodiscard]] Value emit(std::string_view kind, std::vector<Value> operands, TensorType type,
                           Attributes attributes = {});
  /// `perm` empty: as it is.
  [[nodiscard]] Value transposed(Value value, const Axes& perm);
  [[nodiscard]] Value reshaped(Value value, const Shape& shape);

  /// Zeros that sums begin with, and lists in their former shapes.
  void drop_unread_constants();

 private:
  Value integers(const Axes& values);
  [[nodiscard]] bool is_list(Value value) const;
  Value emit_move(std::string_view kind, std::vector<Value> operands, TensorType type,
                  Attributes attributes);

  llvm::DenseMap<mlir::Value, Value> values_;
  llvm::DenseMap<mlir::Value, Value> stretched_;
};

}  // namespace quadrant::inline v0::mlir_plugin
