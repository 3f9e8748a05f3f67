#include "adaptor.hpp"

#include <array>
#include <memory>
#include <utility>

#include "quadrant/ir/operations.hpp"

namespace kiln {
namespace {

using namespace quadrant;

// By the operation's code: the library's names where Kiln means the same, and with them the
// library's methods.
constexpr std::array<std::string_view, 11> kinds{
    ops::Input::kind,  ops::Constant::kind,  "kiln.alloc", Conv2d::kind,
    Dense::kind,       ops::Transpose::kind, "kiln.relu",  ops::Dequantize::kind,
    ops::Output::kind, "kiln.state",         "kiln.loop"};

constexpr std::array rows{identity_operation("kiln.state"), identity_operation("kiln.loop")};

}  // namespace

// Weights before functions, and what is read before what reads it.
Adaptor::Adaptor(Module& module) : Mirror({ops::Dequantize::kind}, rows), module_(module) {
  std::vector<NodeId> states;
  for (Op* op = module.first(); op != nullptr; op = op->next.get()) {
    const NodeId node = add(op);
    if (op->code == OpCode::state) states.push_back(node);
    if (op->code != OpCode::loop || states.empty()) continue;
    keep_one_type({states.back(), node});
    states.pop_back();
  }
}

// The engine does not see the destination of a transpose, which is written and not read: that
// makes it the library's transpose. What dense and conv2d add to is read, and so it is an operand.
// A loop's state is shown with what it starts as, and the loop with the next state: so there is no
// cycle. Both hand on what they read.
NodeSpec Adaptor::show(Op* op) const {
  NodeSpec node{.kind = std::string(kinds[std::size_t(op->code)]), .name = op->result.name};
  const std::size_t read = op->code == OpCode::transpose ? 1 : op->operands.size();
  for (std::size_t i = 0; i < read; ++i) node.operands.push_back(value(op->operands[i].value->def));
  if (op->code == OpCode::output) return node;
  TensorType type{ElementType::float32, Shape(op->result.type.extents), nullptr};
  if (const auto& scales = op->result.type.scales) {
    type = symmetric_type(ElementType::int8, type.shape,
                          Granularity::per_axis(std::int64_t(scales->axis)), scales->values);
  }
  if (op->code == OpCode::weight) {
    node.constant = Constant::from_shared(type.element, type.shape, {op->contents, *op->contents});
  }
  node.results = {{op->result.name, std::move(type)}};
  return node;
}

// Kiln has two of Quadrant's many types.
Expected<Type> Adaptor::convert(const TensorType& type) const {
  const bool is_real = type.element == ElementType::float32;
  const bool is_known = is_real || is_symmetric(type, ElementType::int8, Granularity::Kind::axis);
  if (!is_known || !type.shape.is_static()) {
    return fail(ErrorCode::impossible, "Kiln has no type " + to_string(type));
  }
  const auto extents = type.shape.known_extents();
  Type made{is_real ? Scalar::f32 : Scalar::i8, {extents.begin(), extents.end()}};
  if (is_real) return made;
  QUADRANT_TRY(std::vector<float> scales, read_scales(type.uniform()->scales));
  const auto axis = static_cast<std::size_t>(type.uniform()->granularity.axis);
  made.scales = std::make_shared<Scales>(Scales{axis, std::move(scales)});
  return made;
}

Expected<Op*> Adaptor::make(const NodeSpec& spec, Type type) {
  Op* const codes = op(spec.operands[0]);
  return module_.insert_after(codes, OpCode::dequantize, spec.results[0].name, std::move(type),
                              {&codes->result});
}

Expected<void> Adaptor::connect(NodeId node, std::uint32_t operand, quadrant::Value value) {
  op(node)->operands[operand].set(&op(value)->result);
  return {};
}

// Whose result becomes codes needs a destination for codes. The other alloc is for the compiler's
// dead code elimination.
Expected<void> Adaptor::retype(quadrant::Value value, Type type) {
  Op* const writer = op(value);
  if (writer->code == OpCode::transpose) {
    kiln::Use& into = writer->operands[1];
    into.set(
        &module_.insert_after(into.value->def, OpCode::alloc, into.value->name, type, {})->result);
    add(into.value->def);
  } else if (writer->code != OpCode::state && writer->code != OpCode::loop) {
    return fail(ErrorCode::impossible, "'" + writer->result.name + "' is computed in float");
  }
  writer->result.type = std::move(type);
  return {};
}

// Codes are computed here, from the contents so far.
Expected<void> Adaptor::refill(NodeId node, const Constant& contents, Type type) {
  QUADRANT_TRY(const ConstantBytes bytes, contents.read());
  op(node)->contents =
      std::make_shared<std::vector<std::byte>>(bytes.bytes().begin(), bytes.bytes().end());
  op(node)->result.type = std::move(type);
  return {};
}

void Adaptor::rename(quadrant::Value value, const std::string& name) {
  module_.rename(op(value)->result, name);
}

}  // namespace kiln
