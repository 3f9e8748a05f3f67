#include "ir.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace kiln {

void Use::set(Value* to) {
  if (value != nullptr) {
    *link = next;
    if (next != nullptr) next->link = link;
  }
  value = to;
  next = to->uses;
  link = &to->uses;
  if (next != nullptr) next->link = &next;
  to->uses = this;
}

Op::Op(OpCode made, std::string name, Type type, const std::vector<Value*>& reads)
    : code(made), result{this, std::move(name), std::move(type), nullptr} {
  for (Value* value : reads) {
    operands.emplace_back(this, static_cast<std::uint32_t>(operands.size()), value);
  }
}

Module::~Module() {
  while (first_) first_ = std::move(first_->next);  // without recursion
}

Op* Module::insert_after(Op* place, OpCode code, const std::string& name, Type type,
                         const std::vector<Value*>& operands) {
  auto made = std::make_unique<Op>(code, free_name(name), std::move(type), operands);
  std::unique_ptr<Op>& slot = place != nullptr ? place->next : first_;
  made->next = std::move(slot);
  slot = std::move(made);
  if (place == last_) last_ = slot.get();
  return slot.get();
}

Value* Module::append(OpCode code, const std::string& name, Type type,
                      const std::vector<Value*>& operands) {
  return &insert_after(last_, code, name, std::move(type), operands)->result;
}

Value* Module::append_weight(const std::string& name, std::vector<std::int64_t> extents,
                             const std::vector<float>& values) {
  Value* made = append(OpCode::weight, name, {Scalar::f32, std::move(extents)});
  const auto bytes = std::as_bytes(std::span(values));
  made->def->contents = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
  return made;
}

void Module::rename(Value& value, const std::string& name) {
  names_.erase(value.name);
  value.name = free_name(name);
}

std::string Module::free_name(const std::string& name) {
  std::string candidate = name;
  for (int suffix = 1; !names_.insert(candidate).second; ++suffix) {
    candidate = name + "_" + std::to_string(suffix);
  }
  return candidate;
}

namespace {

class Verifier {
 public:
  // Empty: the operation may stand here.
  std::string fault_of(const Op& op) {
    if (op.code == OpCode::input || op.code == OpCode::state) scopes_.emplace_back();
    if (op.code == OpCode::input) {
      if (scopes_.size() != 2) return "begins a function inside of another";
    } else if (const Value* hidden = find_hidden(op)) {
      return "reads %" + hidden->name + ", which is not seen there";
    }
    std::string broken = broken_type(op);
    if (op.code == OpCode::state) starts_.push_back(&op);
    if (op.code == OpCode::loop) {
      if (starts_.empty()) return "ends a loop that nothing began";
      const Op& start = *starts_.back();
      const Type& type = start.result.type;
      const bool is_same = are_same(type, start.operands[0].value->type) &&
                           are_same(type, op.operands[0].value->type) &&
                           are_same(type, op.result.type);
      if (!is_same) return "has states of several types";
      starts_.pop_back();
    }
    if (op.code == OpCode::output || op.code == OpCode::loop) scopes_.pop_back();
    if (scopes_.empty()) return "ends what nothing began";
    scopes_.back().insert(&op.result);
    return broken;
  }
  [[nodiscard]] bool is_done() const { return scopes_.size() == 1; }

 private:
  [[nodiscard]] static bool are_same(const Type& a, const Type& b) {
    const bool is_real = a.scales == nullptr || b.scales == nullptr;
    const bool are_scaled_so = is_real ? a.scales == b.scales : *a.scales == *b.scales;
    return a.scalar == b.scalar && a.extents == b.extents && are_scaled_so;
  }
  // What the operation reads and cannot see. A state's start lies outside of its body.
  [[nodiscard]] const Value* find_hidden(const Op& op) const {
    for (const Use& use : op.operands) {
      const bool is_seen = std::ranges::any_of(
          scopes_, [&](const auto& scope) { return scope.contains(use.value); });
      if (!is_seen) return use.value;
    }
    return nullptr;
  }
  [[nodiscard]] static std::string broken_type(const Op& op) {
    const auto is_real = [](const Use& use) { return use.value->type.is_real(); };
    switch (op.code) {
      case OpCode::transpose:
        return are_same(op.result.type, op.operands[1].value->type) ? "" : "writes another type";
      case OpCode::dequantize:
        return op.operands[0].value->type.scales ? "" : "reads float";
      case OpCode::weight:
      case OpCode::alloc:
      case OpCode::input:
      case OpCode::state:
      case OpCode::loop:
        return "";
      default:
        return std::ranges::all_of(op.operands, is_real) ? "" : "reads codes";
    }
  }

  std::vector<std::unordered_set<const Value*>> scopes_{1};
  std::vector<const Op*> starts_;
};

}  // namespace

std::string fault_of(const Module& module) {
  Verifier verifier;
  for (const Op* op = module.first(); op != nullptr; op = op->next.get()) {
    const std::string broken = verifier.fault_of(*op);
    if (!broken.empty()) return "%" + op->result.name + " " + broken;
  }
  return verifier.is_done() ? "" : "a function or a loop does not end";
}

std::string to_string(const Module& module) {
  constexpr std::array codes{"input", "weight",     "alloc",  "conv2d", "dense", "transpose",
                             "relu",  "dequantize", "output", "state",  "loop"};
  std::string text;
  for (const Op* op = module.first(); op != nullptr; op = op->next.get()) {
    const Type& type = op->result.type;
    text += "  ";
    if (op->code != OpCode::output) text += "%" + op->result.name + " = ";
    text += codes[static_cast<std::size_t>(op->code)];
    for (const Use& use : op->operands) text += " %" + use.value->name;
    text += type.scalar == Scalar::f32 ? " : f32[" : " : i8[";
    for (std::size_t i = 0; i < type.extents.size(); ++i) {
      text += (i == 0 ? "" : " ") + std::to_string(type.extents[i]);
    }
    text += "]";
    if (type.scales) text += " scales along " + std::to_string(type.scales->axis);
    text += "\n";
  }
  return text;
}

}  // namespace kiln
