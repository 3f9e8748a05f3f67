// Tensors that a module holds as globals (`ml_program.global`, `memref.global`), and who changes
// them.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <mlir/IR/BuiltinAttributes.h>
#include <mlir/IR/Operation.h>
#include <mlir/IR/SymbolTable.h>

#include <string_view>

namespace quadrant::inline v0::mlir_plugin {

/// As operations below `root` see them, while none is added or taken away.
class Globals {
 public:
  /// `around`: where globals are, if `root` lies nowhere.
  Globals(mlir::Operation* root, mlir::Operation* around) : root_(root), around_(around) {}

  /// The contents that `op` loads of a global that nobody changes: one that is constant, or one
  /// that is private and only read, which all of a module below `root` says. Null: not known.
  [[nodiscard]] mlir::Attribute loaded(mlir::Operation& op);

  /// Why not, where `op` loads a global that begins with contents; empty: they are known, or it
  /// loads none.
  [[nodiscard]] std::string_view why_not(mlir::Operation& op);

 private:
  struct Load {
    mlir::Attribute contents;  // null: none
    std::string_view why_not;
  };
  [[nodiscard]] Load look_at(mlir::Operation& op);
  [[nodiscard]] std::string_view why_changed(mlir::Operation* global, mlir::Operation* table);
  [[nodiscard]] mlir::Operation* table_of(mlir::Operation& user) const;

  mlir::Operation* root_;
  mlir::Operation* around_;
  mlir::SymbolTableCollection tables_;
  /// By symbol table: the names that operations refer to which do not only read.
  llvm::DenseMap<mlir::Operation*, llvm::DenseSet<mlir::Attribute>> changed_;
};

}  // namespace quadrant::inline v0::mlir_plugin
