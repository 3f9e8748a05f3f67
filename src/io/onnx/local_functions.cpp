#include "io/onnx/local_functions.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/onnx/fields.hpp"
#include "io/onnx/node_fields.hpp"

namespace quadrant::inline v0::onnx {
namespace {

bool has_graphs(Source& source, Range attribute_range) {
  for (Message message = source.message(attribute_range); message.next();) {
    if (message.field() == attribute::g || message.field() == attribute::graphs) return true;
  }
  return false;
}

void add_nodes(Source& source, Range graph_range, std::vector<Range>& nodes) {
  for (Message message = source.message(graph_range); message.next();) {
    if (message.field() == graph::node) nodes.push_back(message.payload());
  }
}

// Whether some operation has a subgraph that would be carried as bytes, in which names stay as they
// are.
bool has_carried_subgraph(Source& source, std::vector<Range> nodes) {
  while (!nodes.empty()) {
    const NodeFields fields = read_fields(source, nodes.back());
    nodes.pop_back();
    const std::vector<Body> bodies = bodies_of(source, fields);
    const auto with_graphs = std::ranges::count_if(
        fields.attributes, [&](const Range& each) { return has_graphs(source, each); });
    if (with_graphs != std::ssize(bodies)) return true;
    for (const Body& body : bodies) add_nodes(source, body.graph, nodes);
  }
  return false;
}

}  // namespace

void LocalFunctions::add(Source& source, Range range) {
  LocalFunction& made = functions_.emplace_back();
  for (Message message = source.message(range); message.next();) {
    switch (message.field()) {
      case function::name:
        made.op.op_type = message.text();
        break;
      case function::domain:
        made.op.domain = message.text();
        break;
      case function::input:
        made.inputs.push_back(message.text());
        break;
      case function::output:
        made.outputs.push_back(message.text());
        break;
      case function::node:
        made.nodes.push_back(message.payload());
        break;
      case function::attribute_proto:
        made.defaults.push_back(message.payload());
        break;
      case function::opset_import:
        made.opsets.push_back(read_opset_import(source, message.payload()));
        break;
      case function::overload:
        if (!message.text().empty()) why_not_ = "some are overloaded";
        break;
      case function::doc_string:
      case function::value_info:
      case function::metadata_props:
        made.says_more |= message.payload().size > 0;
        break;
      default:  // which attributes it has
        break;
    }
  }
  if (!by_kind_.emplace(kind_of(made.op), functions_.size() - 1).second) {
    why_not_ = fmt::format("'{}' is defined twice", made.op.op_type);
  }
}

const LocalFunction* LocalFunctions::given_graph(Source& source,
                                                 const std::vector<Range>& parts) const {
  std::vector<Range> nodes;
  for (const Range& part : parts) add_nodes(source, part, nodes);
  while (!nodes.empty()) {
    const NodeFields fields = read_fields(source, nodes.back());
    nodes.pop_back();
    for (const Body& body : bodies_of(source, fields)) add_nodes(source, body.graph, nodes);
    const LocalFunction* const called = find(fields.op);
    if (called != nullptr && std::ranges::any_of(fields.attributes, [&](const Range& each) {
          return has_graphs(source, each);
        })) {
      return called;
    }
  }
  return nullptr;
}

std::string LocalFunctions::why_not_inlined(Source& source, const std::vector<Range>& parts,
                                            std::vector<OpsetImport>& opsets) const {
  if (!why_not_.empty()) return why_not_;
  if (const LocalFunction* const called = given_graph(source, parts)) {
    return fmt::format("'{}' is given a graph", called->op.op_type);
  }
  const auto known = opsets;
  for (const LocalFunction& each : functions_) {
    const std::string_view name = each.op.op_type;
    if (has_carried_subgraph(source, each.nodes)) {
      return fmt::format("'{}' has subgraphs that are carried", name);
    }
    for (const auto& [domain, version] : each.opsets) {
      const auto same = std::ranges::find_if(opsets, [&](const OpsetImport& other) {
        return other.domain == domain ||
               (in_default_domain({other.domain, {}}) && in_default_domain({domain, {}}));
      });
      if (same == opsets.end()) {
        opsets.push_back({domain, version});
      } else if (same->version != version) {
        opsets = known;
        return fmt::format("'{}' is of opset {} of domain '{}', and the model of {}", name, version,
                           domain, same->version);
      }
    }
  }
  return {};
}

std::vector<std::string_view> LocalFunctions::saying_more() const {
  std::vector<std::string_view> names;
  for (const LocalFunction& each : functions_) {
    if (each.says_more) names.push_back(each.op.op_type);
  }
  return names;
}

const LocalFunction* LocalFunctions::find(const OpName& op) const {
  if (functions_.empty()) return nullptr;
  const auto found = by_kind_.find(kind_of(op));
  return found == by_kind_.end() ? nullptr : &functions_[found->second];
}

}  // namespace quadrant::inline v0::onnx
