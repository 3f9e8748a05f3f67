#include "io/tflite/raw_operator.hpp"

#include <algorithm>

#include "io/tflite/failure.hpp"

namespace quadrant::inline v0::tflite {
namespace {

OperatorKind raw_kind_of(NodeRef node) {
  OperatorKind kind;
  kind.version = static_cast<std::int32_t>(
      std::clamp<std::int64_t>(node.attribute_or<std::int64_t>(raw_version_key, 1), 1, 1000));
  std::string_view name = node.kind();
  if (name.starts_with(custom_prefix)) {
    kind.custom = name.substr(custom_prefix.size());
    return kind;
  }
  name.remove_prefix(raw_prefix.size());
  for (const BuiltinOperator code : schema::EnumValuesBuiltinOperator()) {
    if (name == schema::EnumNameBuiltinOperator(code)) {
      kind.code = code;
      return kind;
    }
  }
  impossible(std::string(node.kind()));
}

/// An operator as plain structs. One that says which options it has and has none, which is allowed,
/// says that it has none.
schema::OperatorT unpacked_operator(const schema::Operator& op) {
  schema::OperatorT unpacked;
  op.UnPackTo(&unpacked);
  if (!unpacked.builtin_options.value) unpacked.builtin_options.type = schema::BuiltinOptions::NONE;
  return unpacked;
}

schema::OperatorT options_of(NodeRef node) {
  const Attribute* found = node.graph->attribute(node.id, raw_options_key);
  const Opaque* opaque = found ? std::get_if<Opaque>(found) : nullptr;
  if (!opaque || opaque->format != raw_format) return {};
  const ConstantBytes bytes = value_of(opaque->bytes.read());
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.bytes().data());
  flatbuffers::Verifier verifier(data, bytes.bytes().size());
  if (!verifier.VerifyBuffer<schema::Operator>()) invalid("damaged options of an operator");
  return unpacked_operator(*flatbuffers::GetRoot<schema::Operator>(data));
}

}  // namespace

Opaque raw_options(const schema::Operator& op) {
  schema::OperatorT kept = unpacked_operator(op);
  kept.inputs.clear();
  kept.outputs.clear();
  kept.opcode_index = 0;
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(schema::Operator::Pack(builder, &kept));
  const auto bytes = std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
  return {std::string(raw_format),
          Constant::from_values(ElementType::uint8, Shape{static_cast<std::int64_t>(bytes.size())},
                                bytes)};
}

void lower_raw(Lowering& lowering, const NodeRef& node) {
  Tensors inputs;
  for (const Value operand : node.operands()) {
    inputs.push_back(operand.is_absent() ? no_tensor : lowering.plain(operand));
  }
  Tensors outputs;
  for (std::uint32_t i = 0; i < lowering.graph().result_count(node.id); ++i) {
    const Value result = node.result(i);
    outputs.push_back(lowering.define(result, plain_axes(lowering.ranked(result).rank())));
  }
  schema::OperatorT options = options_of(node);
  schema::OperatorT& made = lowering.model().emit(raw_kind_of(node), inputs, outputs);
  made.builtin_options = std::move(options.builtin_options);
  made.custom_options = std::move(options.custom_options);
  made.custom_options_format = options.custom_options_format;
  made.mutating_variable_inputs = std::move(options.mutating_variable_inputs);
}

}  // namespace quadrant::inline v0::tflite
