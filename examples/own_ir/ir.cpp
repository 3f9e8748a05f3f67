#include "ir.hpp"

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

Function::~Function() {
  while (first_) first_ = std::move(first_->next);  // without recursion
}

Op* Function::insert_after(Op* place, OpCode code, const std::string& name, Type type,
                           const std::vector<Value*>& operands) {
  auto made = std::make_unique<Op>(code, free_name(name), std::move(type), operands);
  std::unique_ptr<Op>& slot = place != nullptr ? place->next : first_;
  made->next = std::move(slot);
  slot = std::move(made);
  if (place == last_) last_ = slot.get();
  return slot.get();
}

Value* Function::append(OpCode code, const std::string& name, Type type,
                        const std::vector<Value*>& operands) {
  return &insert_after(last_, code, name, std::move(type), operands)->result;
}

Value* Function::append_weight(const std::string& name, std::vector<std::int64_t> extents,
                               const std::vector<float>& values) {
  Value* made = append(OpCode::weight, name, {Scalar::f32, std::move(extents)});
  const auto bytes = std::as_bytes(std::span(values));
  made->def->contents = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
  return made;
}

void Function::rename(Value& value, const std::string& name) {
  names_.erase(value.name);
  value.name = free_name(name);
}

std::string Function::free_name(const std::string& name) {
  std::string candidate = name;
  for (int suffix = 1; !names_.insert(candidate).second; ++suffix) {
    candidate = name + "_" + std::to_string(suffix);
  }
  return candidate;
}

std::string to_string(const Function& function) {
  constexpr std::array codes{"input",     "weight", "alloc",      "conv2d", "dense",
                             "transpose", "relu",   "dequantize", "output"};
  std::string text;
  for (const Op* op = function.first(); op != nullptr; op = op->next.get()) {
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
