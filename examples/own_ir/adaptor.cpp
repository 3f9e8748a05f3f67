#include "adaptor.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "quadrant/ir/moves.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"

namespace kiln {
namespace {

using quadrant::ConstantBytes;
using quadrant::ElementType;
using quadrant::ErrorCode;
using quadrant::Expected;
using quadrant::fail;
using quadrant::Granularity;
using quadrant::NodeId;
using quadrant::Shape;
using quadrant::TensorType;
using quadrant::UniformType;

// A weight's contents where they lie: nothing is copied, and they live as long as someone reads.
class ContentsSource final : public quadrant::ConstantSource {
 public:
  explicit ContentsSource(Contents contents) : contents_(std::move(contents)) {}
  [[nodiscard]] Expected<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    std::ranges::copy(std::span(*contents_).subspan(offset, out.size()), out.begin());
    return {};
  }

 private:
  Contents contents_;
};

ElementType element(Scalar scalar) {
  return scalar == Scalar::f32 ? ElementType::float32 : ElementType::int8;
}

TensorType to_quadrant(const Type& type) {
  TensorType made{element(type.scalar), Shape(type.extents), nullptr};
  if (type.scales) {
    const auto count = static_cast<std::int64_t>(type.scales->values.size());
    UniformType codes;
    codes.granularity = Granularity::per_axis(static_cast<std::int64_t>(type.scales->axis));
    codes.storage_min = -127;
    codes.scales = quadrant::Constant::from_values(ElementType::float32, Shape{count},
                                                   std::span(type.scales->values));
    made.quantization = std::make_shared<const UniformType>(std::move(codes));
  }
  return made;
}

// Kiln has two of Quadrant's many types.
Expected<Type> to_kiln(const TensorType& type) {
  if (!type.shape.is_static()) {
    return fail(ErrorCode::impossible,
                "Kiln knows all extents, unlike those of " + to_string(type));
  }
  const auto extents = type.shape.known_extents();
  Type made{Scalar::f32, {extents.begin(), extents.end()}};
  if (type.element == ElementType::float32) return made;
  const bool is_known = type.element == ElementType::int8 && type.uniform() &&
                        type.uniform()->granularity.kind == Granularity::Kind::axis &&
                        !type.uniform()->zero_points;
  if (!is_known) return fail(ErrorCode::impossible, "Kiln has no type " + to_string(type));
  QUADRANT_TRY(const ConstantBytes values, type.uniform()->scales.read());
  const auto scales = values.as<float>();
  made.scalar = Scalar::i8;
  made.scales = std::make_shared<Scales>(Scales{
      static_cast<std::size_t>(type.uniform()->granularity.axis), {scales.begin(), scales.end()}});
  return made;
}

// The engine does not see the destination of a transpose, which is written and not read: that
// makes it the library's transpose. What dense and conv2d add to is read, and so it is an operand.
// A loop's state is shown with what it starts as, and the loop with the next state: so there is no
// cycle. Both hand on what they read.
bool is_shown(const Use& use) { return use.user->code != OpCode::transpose || use.number == 0; }

constexpr quadrant::Operation handing_on(std::string_view kind) {
  using enum quadrant::Trait;
  return {.kind = kind,
          .family = quadrant::Family::move,
          .operands = {1, 1},
          .results = {1, 1},
          .traits = {stays_in_range, takes_elements, keeps_elements, keeps_order, keeps_shape},
          .move = &quadrant::identity_move};
}
constexpr std::array rows{handing_on(State::kind), handing_on(Loop::kind)};

}  // namespace

Adaptor::Adaptor(Module& module) : module_(module) {
  for (Op* op = module.first(); op != nullptr; op = op->next.get()) number(*op);
  for (const Row& row : rows_) {
    refresh_contents(*row.op);
    refresh_edges(*row.op);
  }
}

void Adaptor::number(Op& op) {
  numbers_.emplace(&op, index_bound());
  rows_.push_back({.op = &op});
}

NodeId Adaptor::adopt(Op& made) {
  number(made);
  refresh_contents(made);
  refresh_edges(made);
  for (const Use& use : made.operands) refresh_edges(*use.value->def);
  return id(made);
}

void Adaptor::refresh_edges(const Op& op) {
  Row& row = rows_[id(op).index];
  row.operands.clear();
  for (const Use& use : op.operands) {
    if (is_shown(use)) row.operands.push_back({id(*use.value->def)});
  }
  row.uses.clear();
  for (const Use* use = op.result.uses; use != nullptr; use = use->next) {
    if (is_shown(*use)) row.uses.push_back({0, id(*use->user), use->number});
  }
}

void Adaptor::refresh_contents(const Op& op) {
  Row& row = rows_[id(op).index];
  row.type = to_quadrant(op.result.type);
  if (op.code == OpCode::weight) {
    row.constant = quadrant::Constant::deferred(row.type.element, row.type.shape,
                                                std::make_shared<ContentsSource>(op.contents));
  }
}

// --- GraphView ----------------------------------------------------------------------------------

std::uint32_t Adaptor::index_bound() const noexcept {
  return static_cast<std::uint32_t>(rows_.size());
}

NodeId Adaptor::node_at(std::uint32_t index) const noexcept { return {index}; }

std::string_view Adaptor::kind(NodeId node) const noexcept {
  switch (op(node).code) {
    case OpCode::input:
      return quadrant::ops::Input::kind;
    case OpCode::weight:
      return quadrant::ops::Constant::kind;
    case OpCode::transpose:
      return quadrant::ops::Transpose::kind;
    case OpCode::dequantize:
      return quadrant::ops::Dequantize::kind;
    case OpCode::output:
      return quadrant::ops::Output::kind;
    case OpCode::conv2d:
      return Conv2d::kind;
    case OpCode::dense:
      return Dense::kind;
    case OpCode::alloc:
      return "kiln.alloc";
    case OpCode::relu:
      return "kiln.relu";
    case OpCode::state:
      return State::kind;
    case OpCode::loop:
      return Loop::kind;
  }
  return {};
}

std::string_view Adaptor::name(NodeId node) const noexcept { return op(node).result.name; }

std::span<const quadrant::Value> Adaptor::operands(NodeId node) const noexcept {
  return rows_[node.index].operands;
}

std::uint32_t Adaptor::result_count(NodeId node) const noexcept {
  return op(node).code == OpCode::output ? 0 : 1;
}

std::span<const quadrant::Use> Adaptor::uses(NodeId node) const noexcept {
  return rows_[node.index].uses;
}

// Kiln transposes matrices, which is what the library's transpose does without a `perm`.
const quadrant::Attribute* Adaptor::attribute(NodeId /*node*/,
                                              std::string_view /*name*/) const noexcept {
  return nullptr;
}

const quadrant::Constant* Adaptor::constant(NodeId node) const noexcept {
  return op(node).code == OpCode::weight ? &rows_[node.index].constant : nullptr;
}

const TensorType& Adaptor::type(quadrant::Value value) const noexcept {
  return rows_[value.node.index].type;
}

std::string_view Adaptor::value_name(quadrant::Value value) const noexcept {
  return op(value.node).result.name;
}

std::span<const quadrant::Operation> Adaptor::operations() const noexcept { return rows; }

// --- Capabilities -------------------------------------------------------------------------------

Expected<void> Adaptor::can_hold(const TensorType& type) const {
  return to_kiln(type).map([](const Type& /*made*/) {});
}

Expected<void> Adaptor::can_emit(std::string_view kind, std::span<const TensorType> /*operands*/,
                                 const TensorType& result) const {
  if (kind != quadrant::ops::Dequantize::kind) {
    return fail(ErrorCode::impossible, "Kiln cannot emit '" + std::string(kind) + "'");
  }
  return can_hold(result);
}

std::vector<std::vector<quadrant::Value>> Adaptor::of_one_type() const {
  std::vector<std::vector<quadrant::Value>> loops;
  std::vector<quadrant::NodeId> begun;
  for (const Op* each = module_.first(); each != nullptr; each = each->next.get()) {
    if (each->code == OpCode::state) begun.push_back(id(*each));
    if (each->code != OpCode::loop || begun.empty()) continue;
    const quadrant::NodeId state = begun.back();
    loops.push_back({operands(state)[0], {state}, operands(id(*each))[0], {id(*each)}});
    begun.pop_back();
  }
  return loops;
}

// --- GraphRewriter ------------------------------------------------------------------------------

Expected<NodeId> Adaptor::emit(quadrant::NodeSpec spec) {
  QUADRANT_CHECK(
      can_emit(spec.kind, {}, spec.results.empty() ? TensorType{} : spec.results[0].type));
  QUADRANT_TRY(Type type, to_kiln(spec.results[0].type));
  Op& codes = op(spec.operands[0].node);
  return adopt(*module_.insert_after(&codes, OpCode::dequantize, spec.results[0].name,
                                     std::move(type), {&codes.result}));
}

Expected<void> Adaptor::set_operand(NodeId node, std::uint32_t operand, quadrant::Value value) {
  Use& use = op(node).operands[operand];
  const Op& before = *use.value->def;
  const Op& after = op(value.node);
  use.set(&op(value.node).result);
  refresh_edges(op(node));
  refresh_edges(before);
  refresh_edges(after);
  return {};
}

// Whose result becomes codes needs a destination for codes. The other alloc is for the compiler's
// dead code elimination.
Expected<void> Adaptor::set_type(quadrant::Value value, TensorType type) {
  QUADRANT_TRY(const Type changed, to_kiln(type));
  Op& writer = op(value.node);
  if (writer.code == OpCode::state || writer.code == OpCode::loop) {
    writer.result.type = changed;
    refresh_contents(writer);
    return {};
  }
  if (writer.code != OpCode::transpose) {
    return fail(ErrorCode::impossible, "'" + writer.result.name + "' is computed in float",
                {.tensor = writer.result.name});
  }
  Use& destination = writer.operands[1];
  Op* alloc = module_.insert_after(destination.value->def, OpCode::alloc, destination.value->name,
                                   changed, {});
  destination.set(&alloc->result);
  adopt(*alloc);
  writer.result.type = changed;
  refresh_contents(writer);
  return {};
}

Expected<void> Adaptor::set_constant(NodeId node, quadrant::Constant constant,
                                     quadrant::Quantization quantization) {
  QUADRANT_TRY(Type type, to_kiln({constant.element(), constant.shape(), std::move(quantization)}));
  QUADRANT_TRY(const ConstantBytes bytes, constant.read());  // here the codes are computed
  Op& weight = op(node);
  weight.contents =
      std::make_shared<std::vector<std::byte>>(bytes.bytes().begin(), bytes.bytes().end());
  weight.result.type = std::move(type);
  refresh_contents(weight);
  return {};
}

Expected<void> Adaptor::set_value_name(quadrant::Value value, std::string name) {
  module_.rename(op(value.node).result, name);
  return {};
}

}  // namespace kiln
