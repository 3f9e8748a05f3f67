#include "io/onnx/names.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace quadrant::inline v0::onnx {
namespace {

constexpr std::string_view separator = "::";

/// What `kind` alone says.
OpName parse_kind(std::string_view kind) {
  const auto* known = std::ranges::find(known_ops, kind, &KnownOp::kind);
  if (known != known_ops.end()) return {std::string(known->domain), std::string(known->op_type)};
  if (!kind.starts_with(prefix)) return {};
  kind.remove_prefix(prefix.size());
  const std::size_t end = kind.rfind(separator);
  if (end == std::string_view::npos) return {"", std::string(kind)};
  return {std::string(kind.substr(0, end)), std::string(kind.substr(end + separator.size()))};
}

}  // namespace

std::string kind_of(const OpName& name) {
  const std::string_view domain = in_default_domain(name) ? std::string_view() : name.domain;
  const auto* known = std::ranges::find_if(known_ops, [&](const KnownOp& op) {
    return op.op_type == name.op_type && op.domain == domain;
  });
  if (known != known_ops.end()) return std::string(known->kind);
  if (domain.empty()) return fmt::format("{}{}", prefix, name.op_type);
  return fmt::format("{}{}::{}", prefix, domain, name.op_type);
}

OpName op_name_of(const NodeRef& node) {
  const OpName name = parse_kind(node.kind());
  return {node.attribute_or(key::domain, name.domain),
          node.attribute_or(key::op_type, name.op_type)};
}

std::string value_info_key(std::uint32_t result) {
  return result == 0 ? std::string(key::value_info) : fmt::format("{}.{}", key::value_info, result);
}

}  // namespace quadrant::inline v0::onnx
