#include "pipeline/contents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "io/onnx/names.hpp"
#include "ir/two_bits.hpp"
#include "quadrant/ir/number_format.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/text.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/report/tables.hpp"
#include "report/terminal_text.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr std::size_t shown_constants = 10;

struct Port {
  std::string name;
  TensorType type;
};

struct ConstantsOfType {
  std::uint64_t count = 0;
  std::uint64_t elements = 0;
  std::uint64_t bytes = 0;
};

struct StoredConstant {
  std::string name;
  TensorType type;
  std::uint64_t bytes = 0;
};

struct Contents {
  std::vector<Port> inputs;
  std::vector<Port> outputs;
  std::map<std::string, std::uint64_t> operations;
  std::map<ElementType, ConstantsOfType> by_type;
  std::vector<StoredConstant> constants;  // largest first
};

// Of a tensor of the file, whether its elements are read or carried. Where their width is not
// known, what the file has for it.
std::optional<StoredConstant> stored_constant(const Graph& graph, NodeId node) {
  const Value value{node, 0};
  if (graph.constant(node) == nullptr && graph.kind(node) != onnx::opaque_initializer_kind &&
      graph.kind(node) != onnx::sparse_initializer_kind) {
    return std::nullopt;
  }
  TensorType type = graph.type(value);
  type.element = declared_element(type);
  const auto count = static_cast<std::uint64_t>(type.shape.element_count().value_or(0));
  StoredConstant stored{std::string(graph.value_name(value)), type,
                        packed_size(type.element, count)};
  const bool is_sparse = graph.kind(node) == onnx::sparse_initializer_kind;
  if (is_sparse || bit_width(type.element) == 0) {
    const Opaque carried = graph.attributes(node).get_or(onnx::key::tensor, Opaque());
    stored.bytes = carried.bytes ? carried.bytes.byte_size() : 0;
  }
  return stored;
}

Contents look_into(const Graph& graph) {
  Contents contents;
  for (const NodeId input : graph.inputs()) {
    const Value value{input, 0};
    contents.inputs.push_back({std::string(graph.value_name(value)), graph.type(value)});
  }
  for (const NodeId output : graph.outputs()) {
    contents.outputs.push_back(
        {std::string(graph.name(output)), graph.type(graph.operands(output)[0])});
  }
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    const NodeId node = graph.node_at(i);
    if (!node.is_valid()) continue;
    const std::string_view kind = graph.kind(node);
    if (auto constant = stored_constant(graph, node)) {
      ConstantsOfType& same = contents.by_type[constant->type.element];
      ++same.count;
      same.elements += static_cast<std::uint64_t>(constant->type.shape.element_count().value_or(0));
      same.bytes += constant->bytes;
      contents.constants.push_back(*std::move(constant));
    } else if (kind != ops::Input::kind && kind != ops::Output::kind) {
      ++contents.operations[std::string(kind)];
    }
  }
  std::ranges::sort(contents.constants, [](const auto& a, const auto& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.name < b.name;
  });
  return contents;
}

// Domain and version, in the file's order. The default domain has no name.
std::vector<std::pair<std::string, std::int64_t>> opsets(const Graph& graph) {
  const Attributes& facts = graph.attributes();
  const auto domains = facts.get_or(onnx::key::opset_domains, std::vector<std::string>{});
  const auto versions = facts.get_or(onnx::key::opset_versions, std::vector<std::int64_t>{});
  std::vector<std::pair<std::string, std::int64_t>> result;
  for (std::size_t i = 0; i < std::min(domains.size(), versions.size()); ++i) {
    result.emplace_back(domains[i], versions[i]);
  }
  return result;
}

std::string text_attribute(const Graph& graph, std::string_view key) {
  return graph.attributes().get_or(key, std::string());
}

// For programs.
std::string_view format_key(ModelFormat format) {
  switch (format) {
    case ModelFormat::tflite:
      return "tflite";
    case ModelFormat::openvino:
      return "openvino";
    case ModelFormat::mlir:
      return "mlir";
    case ModelFormat::text:
      return "qd";
    case ModelFormat::onnx:
      break;
  }
  return "onnx";
}

std::string print_head(const Graph& graph, const std::string& path) {
  Table table({{""}, {""}});
  table.add({"model", path});
  const ModelFormat read = read_format(path);
  std::string format(to_string(read));
  for (const auto& [domain, version] : opsets(graph)) {
    if (read != ModelFormat::onnx) break;  // of what the graph would be in ONNX
    format += domain.empty() ? fmt::format(", opset {}", version)
                             : fmt::format(", {} {}", domain, version);
  }
  table.add({"format", format});
  const std::string producer = fmt::format("{} {}", text_attribute(graph, onnx::key::producer_name),
                                           text_attribute(graph, onnx::key::producer_version));
  if (producer != " ") table.add({"producer", producer});
  table.add({"file", format_bytes(file_bytes(path))});
  return table.print();
}

std::string print_ports(const std::string& title, const std::vector<Port>& ports) {
  Table table({{title}, {"type"}});
  for (const Port& port : ports) table.add({port.name, to_string(port.type)});
  return table.print();
}

// Without the scales: one for each channel is too much for a line.
std::string stored_type(TensorType type) {
  const Quantization quantization = std::exchange(type.quantization, nullptr);
  std::string stored = to_string(type);
  if (!quantization.other()) return stored;
  return fmt::format("{} as {}", stored, to_string(quantization.other()->format));
}

std::string print_tables(const Contents& contents) {
  using enum Table::Align;
  Table operations({{"operation"}, {"count", right}});
  for (const auto& [kind, count] : contents.operations) {
    operations.add({kind, fmt::to_string(count)});
  }
  Table types({{"constants of"}, {"count", right}, {"elements", right}, {"bytes", right}});
  for (const auto& [element, same] : contents.by_type) {
    types.add({std::string(to_string(element)), fmt::to_string(same.count),
               fmt::to_string(same.elements), format_bytes(same.bytes)});
  }
  Table largest({{"largest constants"}, {"type"}, {"bytes", right}});
  const std::size_t shown = std::min(contents.constants.size(), shown_constants);
  for (std::size_t i = 0; i < shown; ++i) {
    const StoredConstant& constant = contents.constants[i];
    largest.add({constant.name, stored_type(constant.type), format_bytes(constant.bytes)});
  }
  std::string text = operations.print() + '\n' + types.print() + '\n' + largest.print();
  if (shown < contents.constants.size()) {
    text +=
        fmt::format("  ... and {} more (--json lists all)\n", contents.constants.size() - shown);
  }
  return text;
}

Json named_type(const std::string& name, const TensorType& type) {
  Json json = {{"name", name}};
  json.update(to_json(type));
  return json;
}

Json ports_json(const std::vector<Port>& ports) {
  Json json = Json::array();
  for (const Port& port : ports) json.push_back(named_type(port.name, port.type));
  return json;
}

}  // namespace

std::string print_contents(const Graph& graph, const std::string& path) {
  const Contents contents = look_into(graph);
  return fmt::format("{}\n{}\n{}\n{}", print_head(graph, path),
                     print_ports("input", contents.inputs), print_ports("output", contents.outputs),
                     print_tables(contents));
}

Json contents_json(const Graph& graph, const std::string& path) {
  const Contents contents = look_into(graph);
  Json opset_list = Json::array();
  for (const auto& [domain, version] : opsets(graph)) {
    opset_list.push_back({{"domain", domain}, {"version", version}});
  }
  Json types = Json::array();
  for (const auto& [element, same] : contents.by_type) {
    types.push_back({{"element", to_string(element)},
                     {"count", same.count},
                     {"elements", same.elements},
                     {"bytes", same.bytes}});
  }
  Json constants = Json::array();
  for (const StoredConstant& constant : contents.constants) {
    Json json = named_type(constant.name, constant.type);
    json["bytes"] = constant.bytes;
    constants.push_back(std::move(json));
  }
  return {{"model", path},
          {"format", format_key(read_format(path))},
          {"opsets", std::move(opset_list)},
          {"producer_name", text_attribute(graph, onnx::key::producer_name)},
          {"producer_version", text_attribute(graph, onnx::key::producer_version)},
          {"file_bytes", file_bytes(path)},
          {"inputs", ports_json(contents.inputs)},
          {"outputs", ports_json(contents.outputs)},
          {"operations", contents.operations},
          {"constants_by_element", std::move(types)},
          {"constants", std::move(constants)}};
}

}  // namespace quadrant::inline v0
