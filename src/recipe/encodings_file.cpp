#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "quadrant/ir/ops.hpp"
#include "quadrant/recipe/encodings.hpp"
#include "support/near_names.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr std::size_t shown_unknown_names = 3;  // a search for what comes near takes its time

std::vector<std::string_view> value_names(const Graph& graph) {
  std::vector<std::string_view> names;
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    const NodeId id = graph.node_at(i);
    if (!id.is_valid()) continue;
    for (std::uint32_t result = 0; result < graph.result_count(id); ++result) {
      const std::string_view name = graph.value_name({id, result});
      if (!name.empty()) names.push_back(name);
    }
  }
  return names;
}

}  // namespace

std::string_view to_string(EncodingsVersion version) noexcept {
  switch (version) {
    case EncodingsVersion::v0_6_1:
      return "0.6.1";
    case EncodingsVersion::v1_0_0:
      return "1.0.0";
    case EncodingsVersion::v2_0_0:
      break;
  }
  return "2.0.0";
}

Expected<void> check_names(const EncodingsFile& file, const Graph& graph) {
  std::vector<std::string_view> unknown;
  for (const auto& [name, encoding] : file.tensors) {
    if (graph.find_value(name).is_absent()) unknown.push_back(name);
  }
  if (unknown.empty()) return {};
  const std::vector<std::string_view> known = value_names(graph);
  std::string message;
  for (std::size_t i = 0; i < std::min(unknown.size(), shown_unknown_names); ++i) {
    message += fmt::format("{}the model has no value '{}'{}", i == 0 ? "" : "; ", unknown[i],
                           did_you_mean(unknown[i], known));
  }
  if (unknown.size() > shown_unknown_names) {
    message += fmt::format("; and {} more", unknown.size() - shown_unknown_names);
  }
  return fail(ErrorCode::usage, std::move(message), {.tensor = std::string(unknown.front())});
}

Expected<void> set_roles(EncodingsFile& file, const Graph& graph) {
  QUADRANT_CHECK(check_names(file, graph));
  for (auto& [name, encoding] : file.tensors) {
    if (encoding.role != TensorEncoding::Role::unknown) continue;
    const bool is_constant = graph.kind(graph.find_value(name).node) == ops::Constant::kind;
    encoding.role =
        is_constant ? TensorEncoding::Role::parameter : TensorEncoding::Role::activation;
  }
  return {};
}

Expected<PrescribedEncodings> prescribed_encodings(const EncodingsFile& file) {
  PrescribedEncodings prescribed;
  for (const auto& [name, encoding] : file.tensors) {
    Expected<void> checked = check(encoding);
    if (!checked) {
      checked.error().place.tensor = name;
      return fail(std::move(checked).error());
    }
    if (encoding.kind == TensorEncoding::Kind::floating) {
      return fail(ErrorCode::impossible,
                  "floats have no codes: exclude it from quantization, and take it out of the file",
                  {.tensor = name});
    }
    if (encoding.spread == TensorEncoding::Spread::blocks) {
      return fail(ErrorCode::impossible,
                  "blocks cannot be prescribed: one scale can, and one for each channel",
                  {.tensor = name});
    }
    PrescribedEncoding& made = prescribed[name];
    made.axis = encoding.axis;
    for (std::size_t i = 0; i < encoding.scales.size(); ++i) {
      made.encodings.push_back(encoding.encoding(i));
    }
  }
  return prescribed;
}

}  // namespace quadrant::inline v0
