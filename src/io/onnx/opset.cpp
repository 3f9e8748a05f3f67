#include "io/onnx/opset.hpp"

#include <algorithm>
#include <array>

#include "io/onnx/fields.hpp"
#include "io/onnx/names.hpp"

namespace quadrant::inline v0::onnx {

OpsetImport read_opset_import(Source& source, Range range) {
  OpsetImport read;
  for (Message message = source.message(range); message.next();) {
    if (message.field() == opset_id::domain) read.domain = message.text();
    if (message.field() == opset_id::version) read.version = message.integer();
  }
  return read;
}

void set_opset(Graph& graph, std::int64_t opset) {
  Attributes& attributes = graph.attributes();
  auto domains = attributes.get_or(key::opset_domains, std::vector<std::string>{});
  auto versions = attributes.get_or(key::opset_versions, std::vector<std::int64_t>{});
  versions.resize(domains.size());
  bool found = false;
  for (std::size_t i = 0; i < domains.size(); ++i) {
    if (!in_default_domain({domains[i], {}})) continue;
    versions[i] = opset;
    found = true;
  }
  if (!found) {
    domains.insert(domains.begin(), "");
    versions.insert(versions.begin(), opset);
  }
  attributes.set(std::string(key::opset_domains), std::move(domains));
  attributes.set(std::string(key::opset_versions), std::move(versions));
}

namespace {

std::int64_t opset_of_operator(std::string_view op_type) {
  struct Newcomer {
    std::string_view op_type;
    std::int64_t opset;
  };
  // https://github.com/onnx/onnx/blob/main/docs/Changelog.md. Not LayerNormalization, which ONNX
  // Runtime has in all of them.
  constexpr std::array newcomers{Newcomer{"BitwiseXor", 18}, Newcomer{"Gelu", 20},
                                 Newcomer{"HardSwish", 14}, Newcomer{"Mish", 18}};
  const auto* const found = std::ranges::find(newcomers, op_type, &Newcomer::op_type);
  return found != newcomers.end() ? found->opset : 0;
}

std::int64_t opset_of_type(const TensorType& type) {
  if (type.is_quantized()) return 0;  // a type of ours: how it is written is decided later
  switch (type.element) {
    case ElementType::float8e4m3:
    case ElementType::float8e4m3fnuz:
    case ElementType::float8e5m2:
    case ElementType::float8e5m2fnuz:
      return 19;
    case ElementType::int4:
    case ElementType::uint4:
      return 21;
    case ElementType::float4e2m1:
      return 23;
    case ElementType::float8e8m0:
      return 24;
    case ElementType::int2:
    case ElementType::uint2:
      return 25;
    default:
      return 0;
  }
}

}  // namespace

OpsetNeed largest_need(const Graph& graph) {
  OpsetNeed largest;
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    if (!node.is_valid()) continue;
    const OpName name = op_name_of(graph.ref(node));
    if (name.op_type.empty() || !in_default_domain(name)) continue;
    const auto add = [&](std::int64_t opset) {
      if (opset > largest.opset) largest = {opset, node};
    };
    add(opset_of_operator(name.op_type));
    // What other types are read by is as the file had it.
    if (name.op_type == "Cast") add(opset_of_type(graph.type({node})));
  }
  return largest;
}

std::int64_t ir_version_for_opset(std::int64_t opset) noexcept {
  // https://github.com/onnx/onnx/blob/main/docs/Versioning.md#released-versions
  struct Release {
    std::int64_t last_opset;
    std::int64_t ir_version;
  };
  constexpr std::array releases{Release{8, 3},   Release{9, 4},   Release{10, 5}, Release{11, 6},
                                Release{14, 7},  Release{18, 8},  Release{20, 9}, Release{22, 10},
                                Release{23, 11}, Release{24, 12}, Release{27, 13}};
  for (const Release& release : releases) {
    if (opset <= release.last_opset) return release.ir_version;
  }
  return 14;
}

}  // namespace quadrant::inline v0::onnx
