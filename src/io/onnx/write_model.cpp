#include "io/onnx/write_model.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "io/onnx/edit.hpp"
#include "io/onnx/failure.hpp"
#include "io/onnx/fields.hpp"
#include "io/onnx/names.hpp"
#include "io/onnx/opset.hpp"
#include "io/onnx/write_graph.hpp"
#include "ir/regions.hpp"

namespace quadrant::inline v0::onnx {
namespace {

constexpr std::string_view our_name = "quadrant";

/// Whether the subgraphs of a user refer to the value by its name.
bool is_captured(const Graph& graph, Value value) {
  return std::ranges::any_of(graph.uses(value.node), [&](const Use& use) {
    return use.result == value.result && is_capture(graph, use);
  });
}

bool may_be_renamed(const Graph& graph, Value value) {
  return graph.kind(value.node) != ops::Input::kind && !is_captured(graph, value);
}

/// Whether the output cannot be its value itself: ONNX Runtime gives back the very memory that it
/// was fed for an input that is an output. A file that says so keeps it.
bool is_input_alone(const Graph& graph, NodeId output) {
  const Value value = graph.operands(output)[0];
  constexpr int least_bits = 8;  // ONNX Runtime copies nothing smaller
  if (bit_width(graph.type(value).element) < least_bits) return false;
  return graph.kind(value.node) == ops::Input::kind &&
         graph.attribute(output, key::value_info) == nullptr;
}

/// Puts a value of that name in between, or of one that is like it where it is taken.
void copy_output(Graph& graph, NodeId output, std::string name) {
  const Value value = graph.operands(output)[0];
  TensorType type = graph.type(value);
  graph.set_operand(output, 0,
                    add_op(graph, std::string(ops::Identity::kind), {}, {value},
                           {std::move(name), std::move(type)}));
}

/// Domains that operators use and no opset import names (of graphs built by hand).
void add_missing_domains(const Graph& graph, std::vector<std::string>& domains,
                         std::vector<std::int64_t>& versions) {
  std::set<std::string> missing;
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    if (!node.is_valid() || !graph.kind(node).starts_with(prefix)) continue;
    OpName name = op_name_of(graph.ref(node));
    if (!in_default_domain(name) && std::ranges::find(domains, name.domain) == domains.end()) {
      missing.insert(std::move(name.domain));
    }
  }
  for (const std::string& domain : missing) {
    domains.push_back(domain);
    versions.push_back(1);
  }
}

std::int64_t ir_version(const Graph& graph) {
  constexpr std::int64_t unlisted_initializers = 4;  // older files list them among the inputs
  constexpr std::int64_t four_bits = 10;
  std::int64_t version = 0;
  if (const auto stated = graph.attributes().get_or<std::int64_t>(key::ir_version, 0)) {
    version = std::max(stated, ir_version_for_opset(opset_version(graph)));
  } else {
    version = std::max(default_ir_version, ir_version_for_opset(opset_version(graph)));
  }
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    if (!node.is_valid() || graph.kind(node) != ops::Constant::kind) continue;
    const ElementType element = graph.constant(node)->element();
    if (element == ElementType::int4 || element == ElementType::uint4) {
      version = std::max(version, four_bits);
    }
    if (is_initializer(graph, node) && !is_listed_input(graph, node)) {
      version = std::max(version, unlisted_initializers);
    }
  }
  return version;
}

void add_text(Rope& message, std::uint32_t field, const Attributes& attributes,
              std::string_view name) {
  const Attribute* found = attributes.find(name);
  if (const auto* text = found ? std::get_if<std::string>(found) : nullptr) {
    message.add_text(field, *text);
  }
}

void add_opsets(Rope& message, const Graph& graph) {
  const Attributes& attributes = graph.attributes();
  auto domains = attributes.get_or(key::opset_domains, std::vector<std::string>{});
  auto versions = attributes.get_or(key::opset_versions, std::vector<std::int64_t>{});
  versions.resize(domains.size(), 1);
  if (std::ranges::none_of(domains, [](const auto& d) { return in_default_domain({d, {}}); })) {
    domains.insert(domains.begin(), "");
    versions.insert(versions.begin(), default_opset);
  }
  add_missing_domains(graph, domains, versions);
  for (std::size_t i = 0; i < domains.size(); ++i) {
    Rope opset;
    if (!domains[i].empty()) opset.add_text(opset_id::domain, domains[i]);
    opset.add_integer(opset_id::version, versions[i]);
    message.add_message(model::opset_import, opset);
  }
}

}  // namespace

void settle_output_names(Graph& graph) {
  std::set<std::string, std::less<>> settled;
  std::vector<NodeId> copies;  // under names that the others leave
  for (const NodeId output : std::vector(graph.outputs().begin(), graph.outputs().end())) {
    const Value value = graph.ref(output).operand(0);
    if (value.is_absent()) impossible("a graph output without a value");
    const std::string name(graph.name(output));
    const std::string present(graph.value_name(value));
    if (name.empty() || name == present) {
      const bool is_first = settled.insert(present).second;
      if (!is_first || is_input_alone(graph, output)) copies.push_back(output);
      continue;
    }
    if (settled.contains(name)) {
      impossible(fmt::format("two graph outputs are called '{}'", name));
    }
    const Value other = graph.find_value(name);
    if (!other.is_absent()) {
      if (!may_be_renamed(graph, other)) {
        impossible(fmt::format("the graph output '{}' has the name of another value", name));
      }
      // Out of the way: the name is taken, so this one gets a suffix.
      graph.set_value_name(other, name + "_inner");
    }
    if (may_be_renamed(graph, value) && graph.kind(value.node) != ops::Constant::kind &&
        !settled.contains(present)) {
      graph.set_value_name(value, name);
    } else {
      copy_output(graph, output, name);
    }
    settled.insert(name);
  }
  for (const NodeId output : copies) {
    copy_output(graph, output, std::string(graph.value_name(graph.operands(output)[0])));
  }
}

namespace {

/// What an operator computes codes with, beside its data.
bool is_parameter(const Graph& graph, const Use& use) {
  const std::string type = op_name_of(graph.ref(use.user)).op_type;
  return use.operand > 0 && (type == "DequantizeLinear" || type == "QuantizeLinear");
}

using ReadersByRegion = std::map<std::uint32_t, std::vector<Use>>;

/// Readers of a constant that was made for this file, by the region that they are in.
ReadersByRegion readers_by_region(const Graph& graph, const Regions& found, NodeId node) {
  ReadersByRegion readers;
  for (const Use& use : graph.uses(node)) readers[found.of(graph, use)].push_back(use);
  readers.erase(Regions::nowhere);
  return readers;
}

/// The first region has the node itself, the others what `copy` makes.
void put_beside(Graph& graph, const Regions& found, NodeId node, const ReadersByRegion& readers,
                FunctionRef<Value()> copy) {
  NodeId placed = node;
  for (const auto& [region, uses] : readers) {
    if (!placed.is_valid()) {
      const Value other = copy();
      for (const Use& use : uses) graph.set_operand(use.user, use.operand, other);
      placed = other.node;
    }
    if (region != Regions::model) {
      graph.set_attribute(placed, std::string(regions::place), found[region].path);
    }
    placed = {};
  }
}

bool are_parameters(const Graph& graph, const ReadersByRegion& readers) {
  return std::ranges::all_of(readers, [&](const auto& entry) {
    return std::ranges::all_of(entry.second,
                               [&](const Use& use) { return is_parameter(graph, use); });
  });
}

void put_constant_beside_readers(Graph& graph, const Regions& found, NodeId node) {
  constexpr std::uint64_t small = 1024;
  const auto readers = readers_by_region(graph, found, node);
  const Constant constant = *graph.constant(node);
  // Copies of more would make the file larger.
  if (readers.size() > 1 && constant.byte_size() > small && !are_parameters(graph, readers)) return;
  put_beside(graph, found, node, readers, [&] {
    const Value copy = graph.add_constant(std::string(graph.value_name({node})), constant);
    graph.set_type(copy, graph.type({node}));
    if (const Attribute* const stored = graph.attribute(node, key::data_type)) {
      graph.set_attribute(copy.node, std::string(key::data_type), *stored);
    }
    return copy;
  });
}

/// Whether the node makes a parameter of a constant, as a Cast of float16 scales.
bool makes_parameter(const Graph& graph, NodeId node) {
  const auto uses = graph.uses(node);
  return graph.kind(node) == ops::Cast::kind && graph.ref(node).operand_constant(0) != nullptr &&
         graph.attribute(node, regions::place) == nullptr && !uses.empty() &&
         std::ranges::all_of(uses, [&](const Use& use) { return is_parameter(graph, use); });
}

void put_cast_beside_readers(Graph& graph, const Regions& found, NodeId node) {
  put_beside(graph, found, node, readers_by_region(graph, found, node), [&]() -> Value {
    const Value stored = graph.operands(node)[0];
    return {graph.add({.kind = std::string(graph.kind(node)),
                       .operands = {stored},
                       .results = {{std::string(graph.value_name({node})), graph.type({node})}},
                       .attributes = {{"to", *graph.attribute(node, "to")}}})};
  });
}

}  // namespace

void settle_constants(Graph& graph) {
  Regions found = value_of(Regions::find(graph));
  if (found.all().size() == 1) return;
  const auto for_each_node = [&](auto put) {
    const std::uint32_t bound = graph.index_bound();
    for (std::uint32_t index = 0; index < bound; ++index) {
      const NodeId node = graph.node_at(index);
      if (node.is_valid()) put(node);
    }
  };
  // ONNX Runtime does not load a model where scales of a body are computed outside of it.
  for_each_node([&](NodeId node) {
    if (makes_parameter(graph, node)) put_cast_beside_readers(graph, found, node);
  });
  found = value_of(Regions::find(graph));
  for_each_node([&](NodeId node) {
    const bool is_new = graph.attribute(node, regions::place) == nullptr;
    if (is_new && graph.kind(node) == ops::Constant::kind) {
      put_constant_beside_readers(graph, found, node);
    }
  });
}

void settle_yields(Graph& graph) {
  const Regions found = value_of(Regions::find(graph));
  for (std::uint32_t body = 1; body < found.all().size(); ++body) {
    const Region& region = found[body];
    std::set<Value> yielded;
    for (std::size_t i = region.first_yield; i < region.first_yield + region.yields; ++i) {
      const Value value = graph.operands(region.owner)[i];
      if (found.of(value.node) == body && yielded.insert(value).second) continue;
      TensorType type = graph.type(value);
      const Value copy = add_op(graph, ops::Identity::kind, {}, {value},
                                {std::string(graph.value_name(value)), std::move(type)},
                                {{std::string(regions::place), region.path}});
      graph.set_operand(region.owner, static_cast<std::uint32_t>(i), copy);
    }
  }
}

Rope model_message(const Graph& graph, const std::string& directory, const DataFile& data,
                   Sink* sink) {
  const Attributes& attributes = graph.attributes();
  if (const auto folder = attributes.get_or(key::data_directory, directory); folder != directory) {
    impossible(fmt::format("its functions name data files in '{}': write the model there", folder));
  }
  Rope message;
  message.add_integer(model::ir_version, ir_version(graph));
  const bool read = attributes.find(key::ir_version) != nullptr;
  if (!read && !attributes.find(key::producer_name)) {
    message.add_text(model::producer_name, our_name);
  }
  add_text(message, model::producer_name, attributes, key::producer_name);
  add_text(message, model::producer_version, attributes, key::producer_version);
  add_text(message, model::domain, attributes, key::model_domain);
  if (attributes.find(key::model_version)) {
    message.add_integer(model::model_version,
                        attributes.get_or<std::int64_t>(key::model_version, 0));
  }
  add_text(message, model::doc_string, attributes, key::model_doc_string);
  message.add_message(model::graph, graph_message(graph, directory, data, sink));
  add_opsets(message, graph);
  add_carried(message, attributes, key::model_extra);
  add_carried(message, attributes, key::functions);
  return message;
}

}  // namespace quadrant::inline v0::onnx
