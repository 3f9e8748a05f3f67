#include "io/onnx/graph_scope.hpp"

#include <fmt/format.h>

#include "io/onnx/failure.hpp"
#include "io/onnx/fields.hpp"
#include "io/onnx/tensor.hpp"
#include "io/onnx/value_info.hpp"

namespace quadrant::inline v0::onnx {
namespace {

void define(Scope& scope, std::string_view name, std::uint64_t offset) {
  if (!scope.values.emplace(name, Value{}).second) {
    invalid(fmt::format("the name '{}' is defined twice", name), {.offset = offset});
  }
}

// Whether the scope sees a value of that name, which is made already, around it.
bool is_around(const Scope& scope, std::string_view name) {
  for (const Scope* at = &scope; at->function == nullptr && at->outer != nullptr;) {
    at = at->outer;
    const auto found = at->values.find(name);
    if (found != at->values.end() && !found->second.is_absent()) return true;
    if (at->aliases.contains(name)) return true;
  }
  return false;
}

}  // namespace

void add_to(Outline& outline, Source& source, Range part) {
  Message message = source.message(part);
  while (message.next()) {
    switch (message.field()) {
      case graph::node:
        outline.nodes.push_back(message.payload());
        break;
      case graph::initializer:
        outline.initializers.push_back(message.payload());
        break;
      case graph::sparse_initializer:
        outline.sparse_initializers.push_back(message.payload());
        break;
      case graph::input:
        outline.inputs.push_back(message.payload());
        break;
      case graph::output:
        outline.outputs.push_back(message.payload());
        break;
      case graph::value_info:
        outline.value_infos.push_back({message.payload(), message.whole()});
        break;
      case graph::name:
        outline.name = message.text();
        break;
      default:
        outline.extra.push_back(message.whole());
    }
  }
}

std::string_view sparse_name(Source& source, Range range) {
  std::string_view name;
  Message message = source.message(range);
  while (message.next()) {
    if (message.field() == sparse_tensor::values) {
      name = outline_of_tensor(source.bytes(), message.payload()).name;
    }
  }
  if (name.empty()) invalid("a sparse initializer without a name", {.offset = range.offset});
  return name;
}

void define_names(Scope& scope, Source& source) {
  for (const Range& range : scope.outline.initializers) {
    const std::string_view name = outline_of_tensor(source.bytes(), range).name;
    if (name.empty()) invalid("an initializer without a name", {.offset = range.offset});
    if (is_around(scope, name)) scope.ambiguous.push_back(name);
    define(scope, name, range.offset);
    scope.initializers.insert(name);
  }
  for (const Range& range : scope.outline.sparse_initializers) {
    define(scope, sparse_name(source, range), range.offset);
  }
  std::unordered_set<std::string_view> listed;
  for (const Range& range : scope.outline.inputs) {
    const std::string_view name = read_value_info(source.bytes(), range).name;
    if (name.empty()) invalid("a graph input without a name", {.offset = range.offset});
    if (!listed.insert(name).second) {
      invalid(fmt::format("the graph input '{}' is listed twice", name), {.offset = range.offset});
    }
    if (!scope.initializers.contains(name)) define(scope, name, range.offset);
  }
  for (const Range& range : scope.outline.nodes) {
    Message message = source.message(range);
    while (message.next()) {
      if (message.field() != node::output) continue;
      if (const std::string_view name = message.text(); !name.empty()) {
        define(scope, name, message.whole().offset);
      }
    }
  }
}

}  // namespace quadrant::inline v0::onnx
