#include "mlir_plugin/function_graph.hpp"

#include <fmt/format.h>
#include <llvm/ADT/SetVector.h>
#include <mlir/Transforms/RegionUtils.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "mlir_plugin/constants.hpp"
#include "mlir_plugin/integer_products.hpp"
#include "mlir_plugin/operations.hpp"
#include "mlir_plugin/quantized_parts.hpp"
#include "mlir_plugin/seen.hpp"
#include "mlir_plugin/types.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::mlir_plugin {
namespace {

// The name that a front end gave; empty where there is none.
std::string given_name(mlir::Location location) {
  const auto named = llvm::dyn_cast<mlir::NameLoc>(location);
  return named ? named.getName().str() : std::string();
}

// Names that are unique, by counting those of each operation.
class Names {
 public:
  explicit Names(std::unordered_set<std::string>& taken) : taken_(&taken) {}

  std::string of(mlir::Location location, llvm::StringRef what) {
    std::string given = given_name(location);
    if (!given.empty() && taken_->insert(given).second) return given;
    std::string made;
    do {
      made = fmt::format("{}#{}", std::string_view(what), counts_[what.str()]++);
    } while (!taken_->insert(made).second);
    return made;
  }

  // `name`, or one like it that is free.
  std::string free(std::string name) {
    std::string made = name;
    while (!taken_->insert(made).second) made = fmt::format("{}#{}", name, counts_[name]++);
    return made;
  }

 private:
  std::unordered_set<std::string>* taken_;
  std::unordered_map<std::string, std::size_t> counts_;
};

}  // namespace

FunctionGraph::FunctionGraph(mlir::FunctionOpInterface function, Products products)
    : function_(function), products_(products) {
  Known values;
  Captured captured;
  Names names(names_);
  const auto add_arguments = [&](mlir::Block& block) {
    for (const mlir::BlockArgument argument : block.getArguments()) {
      Row& row = add_row(names.of(argument.getLoc(), "argument"), {nullptr, 0});
      row.argument = argument;
      row.kind = ops::Input::kind;
      row.results.push_back({to_tensor_type(argument.getType()), row.name});
      values.emplace(argument.getAsOpaquePointer(), Value{{index_bound() - 1}});
    }
  };
  const auto add_regions = [&](mlir::Operation& op) {
    for (mlir::Region& region : op.getRegions()) std::ranges::for_each(region, add_arguments);
  };
  add_regions(*function);
  function->walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation* op) {
    if (op == function.getOperation()) return mlir::WalkResult::advance();
    Row& row = add_row(names.of(op->getLoc(), op->getName().getStringRef()), op->getResults());
    for (Result& result : std::span(row.results).subspan(row.results.empty() ? 0 : 1)) {
      result.name = names.free(std::move(result.name));
    }
    row.op = op;
    Seen seen = see(*op);
    row.kind = std::move(seen.kind);
    row.attributes = std::move(seen.attributes);
    row.shown = seen.operands;
    const bool is_summed = products_ == Products::integers && row.kind == MlirProduct::kind;
    if (std::string why = is_summed ? why_in_floats(op) : std::string(); !why.empty()) {
      row.kind = MlirRealProduct::kind;
      row.attributes = Attributes{{std::string(MlirRealProduct::reason), std::move(why)}};
    }
    if (const mlir::Attribute contents = contents_of(*op); contents && !is_part(*op)) {
      row.constant = to_constant(contents);
      if (row.constant) row.kind = ops::Constant::kind;
    }
    const Value first{{index_bound() - 1}};
    for (const mlir::OpResult result : op->getResults()) {
      values.emplace(result.getAsOpaquePointer(), Value{first.node, result.getResultNumber()});
    }
    if (!hides_regions(*op)) {
      add_regions(*op);
      return mlir::WalkResult::advance();
    }
    mlir::getUsedValuesDefinedAbove(op->getRegions(), captured[first.node.index]);
    return mlir::WalkResult::skip();
  });

  connect(values, captured);
}

void FunctionGraph::connect(const Known& values, const Captured& captured) {
  for (std::uint32_t index = 0; index < index_bound(); ++index) {
    Row& row = rows_[index];
    if (row.op == nullptr) continue;
    std::vector<mlir::Value> read(row.op->operand_begin(), row.op->operand_end());
    read.resize(row.shown);
    if (const auto found = captured.find(index); found != captured.end()) {
      read.insert(read.end(), found->second.begin(), found->second.end());
    }
    for (const mlir::Value operand : read) {
      const auto found = values.find(operand.getAsOpaquePointer());
      const Value known = found == values.end() ? Value{} : found->second;
      add_use(known, {index}, static_cast<std::uint32_t>(row.operands.size()));
      row.operands.push_back(known);
    }
  }
}

FunctionGraph::Row& FunctionGraph::add_row(std::string name, mlir::ResultRange results) {
  Row& row = rows_.emplace_back();
  row.name = std::move(name);
  for (const mlir::OpResult result : results) {
    const unsigned number = result.getResultNumber();
    row.results.push_back({to_tensor_type(result.getType()),
                           number == 0 ? row.name : fmt::format("{}:{}", row.name, number)});
  }
  return row;
}

void FunctionGraph::add_use(Value value, NodeId user, std::uint32_t operand) {
  if (!value.is_absent()) rows_[value.node.index].uses.push_back({value.result, user, operand});
}

void FunctionGraph::drop_use(Value value, NodeId user, std::uint32_t operand) {
  if (value.is_absent()) return;
  std::vector<Use>& uses = rows_[value.node.index].uses;
  const auto found = std::ranges::find(uses, Use{value.result, user, operand});
  if (found != uses.end()) uses.erase(found);
}

mlir::Value FunctionGraph::value(Value of) const {
  const Row& row = rows_[of.node.index];
  if (row.op == nullptr) return row.argument;
  return row.op->getResult(of.result);
}

mlir::Location FunctionGraph::location(NodeId node) const {
  const Row& row = rows_[node.index];
  return row.op == nullptr ? row.argument.getLoc() : row.op->getLoc();
}

mlir::Location FunctionGraph::location(const Place& place) const {
  const std::string& name = place.tensor.empty() ? place.node : place.tensor;
  const auto found = std::ranges::find_if(rows_, [&](const Row& row) {
    return !row.is_erased &&
           (row.name == name ||
            std::ranges::find(row.results, name, &Result::name) != row.results.end());
  });
  if (name.empty() || found == rows_.end()) return function_->getLoc();
  return location(NodeId{static_cast<std::uint32_t>(found - rows_.begin())});
}

mlir::Attribute FunctionGraph::annotation(NodeId node, llvm::StringRef name) const {
  const Row& row = rows_[node.index];
  if (row.op != nullptr) return row.op->getDiscardableAttr(name);
  auto function = llvm::dyn_cast<mlir::FunctionOpInterface>(row.argument.getOwner()->getParentOp());
  const bool is_own = function && row.argument.getOwner()->isEntryBlock();
  return is_own ? function.getArgAttr(row.argument.getArgNumber(), name) : mlir::Attribute();
}

// --- GraphView ----------------------------------------------------------------------------------

std::span<const Operation> FunctionGraph::operations() const noexcept { return own_operations(); }

std::uint32_t FunctionGraph::index_bound() const noexcept {
  return static_cast<std::uint32_t>(rows_.size());
}

NodeId FunctionGraph::node_at(std::uint32_t index) const noexcept {
  return rows_[index].is_erased ? NodeId{} : NodeId{index};
}

std::string_view FunctionGraph::kind(NodeId node) const noexcept { return rows_[node.index].kind; }

std::string_view FunctionGraph::name(NodeId node) const noexcept { return rows_[node.index].name; }

std::span<const Value> FunctionGraph::operands(NodeId node) const noexcept {
  return rows_[node.index].operands;
}

std::uint32_t FunctionGraph::result_count(NodeId node) const noexcept {
  return static_cast<std::uint32_t>(rows_[node.index].results.size());
}

std::span<const Use> FunctionGraph::uses(NodeId node) const noexcept {
  return rows_[node.index].uses;
}

const Attribute* FunctionGraph::attribute(NodeId node, std::string_view name) const noexcept {
  return rows_[node.index].attributes.find(name);
}

const Constant* FunctionGraph::constant(NodeId node) const noexcept {
  const Row& row = rows_[node.index];
  return row.constant ? &row.constant : nullptr;
}

const TensorType& FunctionGraph::type(Value value) const noexcept {
  return rows_[value.node.index].results[value.result].type;
}

std::string_view FunctionGraph::value_name(Value value) const noexcept {
  return rows_[value.node.index].results[value.result].name;
}

}  // namespace quadrant::inline v0::mlir_plugin
