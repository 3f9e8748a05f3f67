#include "io/onnx/names.hpp"

#include <fmt/format.h>

#include "quadrant/ir/operations.hpp"

namespace quadrant::inline v0::onnx {
namespace {

constexpr std::string_view separator = "::";
constexpr std::string_view fake_quantize = "FakeQuantize";

}  // namespace

std::string kind_of(const OpName& name) {
  const std::string_view domain = in_default_domain(name) ? std::string_view() : name.domain;
  if (name.op_type == fake_quantize && (domain.empty() || domain == openvino_domain)) {
    return std::string(ops::FakeQuantize::kind);
  }
  if (!domain.empty()) return fmt::format("{}{}::{}", prefix, domain, name.op_type);
  const Operation* const known = find_onnx_operator(name.op_type);
  return known != nullptr ? std::string(known->kind) : fmt::format("{}{}", prefix, name.op_type);
}

OpName op_name_of(std::string_view kind) {
  if (kind == ops::FakeQuantize::kind) {
    return {std::string(openvino_domain), std::string(fake_quantize)};
  }
  const Operation* const known = find_operation(kind);
  if (known != nullptr && !known->onnx.empty()) return {"", std::string(known->onnx)};
  if (!kind.starts_with(prefix)) return {};
  kind.remove_prefix(prefix.size());
  const std::size_t end = kind.rfind(separator);
  if (end == std::string_view::npos) return {"", std::string(kind)};
  return {std::string(kind.substr(0, end)), std::string(kind.substr(end + separator.size()))};
}

OpName op_name_of(const NodeRef& node) {
  const OpName name = op_name_of(node.kind());
  return {node.attribute_or(key::domain, name.domain),
          node.attribute_or(key::op_type, name.op_type)};
}

std::string value_info_key(std::uint32_t result) {
  return result == 0 ? std::string(key::value_info) : fmt::format("{}.{}", key::value_info, result);
}

std::string yield_info_key(std::size_t operand) {
  return fmt::format("{}.yield.{}", key::value_info, operand);
}

std::string body_key(std::string_view key, std::string_view body) {
  return fmt::format("{}.{}", key, body);
}

}  // namespace quadrant::inline v0::onnx
