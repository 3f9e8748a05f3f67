// Makes a graph node by node, and computes each as soon as it is there.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/type.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::webnn {

using Integers = std::vector<std::int64_t>;

/// The graph of one case. A case has values for all inputs, so each node is run by the interpreter
/// when it is added: that gives its results their types, whatever the operation, and those who add
/// nodes the shapes and element types that they ask for.
class GraphBuilder {
 public:
  /// Names of helper values begin with `prefix`.
  explicit GraphBuilder(std::string prefix);

  /// Nodes made from now on have this name: of the case's operation that they stand for.
  void begin(std::string label) { label_ = std::move(label); }

  Value add_input(const std::string& name, Tensor tensor);
  Value add_constant(const std::string& name, Tensor tensor);
  /// A list of integers as operand.
  Value integers(Integers values);
  Value integer(std::int64_t value);
  /// A number of the type `element`, rounded to it.
  Expected<Value> number(ElementType element, double value);

  Expected<std::vector<Value>> add_all(std::string_view kind, std::vector<Value> operands,
                                       Attributes attributes, std::size_t results);
  Expected<Value> add(std::string_view kind, std::vector<Value> operands,
                      Attributes attributes = {});
  /// The same, but what is computed from constants alone is a constant.
  Expected<Value> fold(std::string_view kind, std::vector<Value> operands,
                       Attributes attributes = {});
  Expected<Value> cast(Value value, ElementType to);
  /// The value itself where its axes stand so already.
  Expected<Value> transpose(Value value, const Integers& permutation);

  /// The first constant with the same contents that was asked for, or `value`: quantized types are
  /// the same only where their parameters are the same constants.
  Value shared(Value value);

  void name_value(Value value, const std::string& name) { graph_.set_value_name(value, name); }

  [[nodiscard]] const Tensor& tensor(Value value) const { return tensors_.at(value); }
  [[nodiscard]] bool is_constant(Value value) const;
  [[nodiscard]] const Shape& shape(Value value) const { return tensor(value).shape(); }
  [[nodiscard]] std::int64_t rank(Value value) const { return shape(value).rank(); }
  [[nodiscard]] ElementType element(Value value) const { return tensor(value).element(); }

  /// The graph, without constants that nobody reads, and the values of its inputs.
  struct Built {
    Graph graph;
    Tensors inputs;
  };
  [[nodiscard]] Built finish(const std::vector<std::pair<std::string, Value>>& outputs) &&;

 private:
  Graph graph_;
  std::string prefix_;
  std::string label_;
  std::unordered_map<Value, Tensor> tensors_;
  std::vector<Value> shared_;
};

}  // namespace quadrant::webnn
