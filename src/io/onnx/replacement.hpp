// The operator that takes a node's place when a model is converted to a later opset.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/onnx/failure.hpp"
#include "io/onnx/names.hpp"
#include "quadrant/ir/graph.hpp"

namespace quadrant::inline v0::onnx {

/// Same name, same results; `finish` makes it and removes the node. Without `finish`, nothing
/// changes but that constants may have been added.
class Replacement {
 public:
  Replacement(Graph& graph, NodeId node);

  void set_kind(std::string_view kind) { kind_ = kind; }
  Attributes& attributes() { return attributes_; }
  std::vector<Value>& operands() { return operands_; }
  /// Of the results, which must be unused from there on.
  void set_result_count(std::uint32_t count) { result_count_ = count; }

  /// Removes an attribute and gives its value, if it had one of that type.
  template <class T>
  std::optional<T> take(std::string_view name) {
    const Attribute* found = attributes_.find(name);
    const T* typed = found ? std::get_if<T>(found) : nullptr;
    if (found && !typed) impossible(fmt::format("the attribute '{}' has the wrong type", name));
    if (!typed) return std::nullopt;
    T value = *typed;
    attributes_.erase(name);
    attributes_.erase(std::string(key::attribute_extra).append(name));
    return value;
  }

  /// Puts a value at operand `index`, after absent ones if need be.
  void set_operand(std::size_t index, Value value);
  /// The same with a new constant, whose name ends with its role.
  void set_operand(std::size_t index, std::string_view role, Constant constant);

  void finish();

 private:
  Graph& graph_;
  NodeId node_;
  std::string kind_;
  std::vector<Value> operands_;
  Attributes attributes_;
  std::uint32_t result_count_;
};

}  // namespace quadrant::inline v0::onnx
