#include "mlir_plugin/globals.hpp"

namespace quadrant::inline v0::mlir_plugin {
namespace {

// Of a buffer, what only looks at its elements.
bool reads_buffer(mlir::Operation* user) {
  const llvm::StringRef name = user->getName().getStringRef();
  if (name == "bufferization.to_tensor") return !user->hasAttr("writable");
  return name == "memref.load" || name == "memref.dim";
}

bool only_reads(mlir::Operation* op) {
  const llvm::StringRef name = op->getName().getStringRef();
  if (name == "memref.get_global") return llvm::all_of(op->getUsers(), reads_buffer);
  return name.starts_with("ml_program.global_load");
}

llvm::DenseSet<mlir::Attribute> changed_in(mlir::Operation* table) {
  llvm::DenseSet<mlir::Attribute> changed;
  table->walk([&](mlir::Operation* op) {
    if (only_reads(op)) return;
    for (const mlir::NamedAttribute& named : op->getAttrs()) {
      named.getValue().walk(
          [&](mlir::SymbolRefAttr name) { changed.insert(name.getRootReference()); });
    }
  });
  return changed;
}

}  // namespace

mlir::Operation* Globals::table_of(mlir::Operation& user) const {
  mlir::Operation* const table = mlir::SymbolTable::getNearestSymbolTable(&user);
  return table == nullptr ? around_ : table;  // of a copy of one function
}

// Empty: nobody does.
std::string_view Globals::why_changed(mlir::Operation* global, mlir::Operation* table) {
  if (mlir::SymbolTable::getSymbolVisibility(global) != mlir::SymbolTable::Visibility::Private) {
    return "it is mutable, and not private: others may store to it";
  }
  if (!root_->isAncestor(table)) {
    return "it is mutable, and whether something stores to it is seen where the pass runs on the "
           "module";
  }
  auto found = changed_.find(table);
  if (found == changed_.end()) found = changed_.try_emplace(table, changed_in(table)).first;
  return found->second.contains(mlir::SymbolTable::getSymbolName(global))
             ? "it is mutable, and something in the module may store to it"
             : std::string_view();
}

Globals::Load Globals::look_at(mlir::Operation& op) {
  const llvm::StringRef name = op.getName().getStringRef();
  mlir::Operation* load = &op;
  const bool is_buffer = name == "bufferization.to_tensor";
  if (is_buffer) load = op.getOperand(0).getDefiningOp();
  const bool loads =
      load != nullptr &&
      (is_buffer ? load->getName().getStringRef() == "memref.get_global"
                 : name == "ml_program.global_load" || name == "ml_program.global_load_const");
  if (!loads) return {};
  const auto symbol = load->getAttrOfType<mlir::SymbolRefAttr>(is_buffer ? "name" : "global");
  mlir::Operation* const table = table_of(*load);
  mlir::Operation* const global =
      symbol && table != nullptr ? tables_.lookupSymbolIn(table, symbol) : nullptr;
  if (global == nullptr) return {};
  const auto contents = llvm::dyn_cast_if_present<mlir::ElementsAttr>(
      global->getAttr(is_buffer ? "initial_value" : "value"));
  if (!contents) return {};
  const bool is_mutable = is_buffer ? !global->hasAttr("constant") : global->hasAttr("is_mutable");
  const std::string_view why = is_mutable ? why_changed(global, table) : std::string_view();
  return {why.empty() ? mlir::Attribute(contents) : mlir::Attribute(), why};
}

mlir::Attribute Globals::loaded(mlir::Operation& op) { return look_at(op).contents; }

std::string_view Globals::why_not(mlir::Operation& op) { return look_at(op).why_not; }

}  // namespace quadrant::inline v0::mlir_plugin
