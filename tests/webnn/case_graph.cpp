#include "case_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>

#include "io/onnx/raise.hpp"
#include "ir/shape_inference.hpp"
#include "operations.hpp"
#include "quadrant/ir/graph.hpp"
#include "runtime/ops/cast.hpp"

namespace quadrant::webnn {
namespace {

/// An operand that WebNN has as an option: files may list it as an input or name it there.
struct OperandOption {
  std::string_view op;
  const char* key;
  std::size_t position;
};

constexpr std::array operand_options{
    OperandOption{"conv2d", "bias", 2},
    OperandOption{"convTranspose2d", "bias", 2},
    OperandOption{"gemm", "c", 2},
    OperandOption{"batchNormalization", "scale", 3},
    OperandOption{"batchNormalization", "bias", 4},
    OperandOption{"instanceNormalization", "scale", 1},
    OperandOption{"instanceNormalization", "bias", 2},
    OperandOption{"layerNormalization", "scale", 1},
    OperandOption{"layerNormalization", "bias", 2},
};

/// Begins no name of the case.
std::string helper_prefix(const Case& from) {
  std::string prefix = "helper.";
  const auto is_taken = [&](std::string_view name) { return name.starts_with(prefix); };
  const auto any_taken = [&] {
    return std::ranges::any_of(from.tensors, is_taken,
                               [](const auto& entry) { return entry.first; }) ||
           std::ranges::any_of(from.nodes, [&](const CaseNode& node) {
             return std::ranges::any_of(node.outputs, is_taken);
           });
  };
  while (any_taken()) prefix.insert(prefix.begin(), '_');
  return prefix;
}

bool is_move(std::string_view op) {
  return op == "gather" || std::ranges::count(move_operations(), op, &OperationEntry::op) != 0;
}

class CaseBuilder {
 public:
  explicit CaseBuilder(const Case& from) : from_(from), graph_(helper_prefix(from)) {}

  Expected<CaseGraph> build() && {
    for (std::size_t i = 0; i < from_.nodes.size(); ++i) {
      const CaseNode& node = from_.nodes[i];
      const std::string label = fmt::format("{}#{}", node.op, i);
      if (auto added = add(node, label); !added) {
        if (added.error().place.node.empty()) added.error().place.node = label;
        return fail(std::move(added).error());
      }
      const bool converts = node.op == "quantizeLinear" || node.op == "dequantizeLinear";
      operations_.push_back({label, node.op, converts});
    }
    std::vector<std::pair<std::string, Value>> outputs;
    for (const std::string& name : from_.outputs) {
      QUADRANT_TRY(const Value value, value_named(name));
      outputs.emplace_back(name, value);
    }
    std::vector<CaseOutput> described;
    for (const auto& [name, value] : outputs) described.push_back({name, steps_[value]});
    GraphBuilder::Built built = std::move(graph_).finish(outputs);
    onnx::raise_linear(built.graph);
    QUADRANT_CHECK(infer_shapes(built.graph));
    QUADRANT_CHECK(verify(built.graph));
    return CaseGraph{std::move(built.graph), std::move(built.inputs), std::move(described),
                     std::move(operations_)};
  }

 private:
  /// Inputs and constants become part of the graph when they are first read.
  Expected<Value> value_named(const std::string& name) {
    if (const auto found = values_.find(name); found != values_.end()) return found->second;
    const auto tensor = from_.tensors.find(name);
    if (tensor == from_.tensors.end()) {
      return refuse(fmt::format("there is no '{}' up to here", name));
    }
    const Value value = tensor->second.constant ? graph_.add_constant(name, tensor->second.tensor)
                                                : graph_.add_input(name, tensor->second.tensor);
    values_.emplace(name, value);
    return value;
  }

  Expected<std::vector<Value>> inputs_of(const CaseNode& node, nlohmann::json& attributes) {
    std::vector<std::string> names = node.inputs;
    for (const OperandOption& option : operand_options) {
      const auto found = attributes.find(option.key);
      if (option.op != node.op || found == attributes.end() || !found->is_string()) continue;
      if (names.size() <= option.position) names.resize(option.position + 1);
      names[option.position] = found->get<std::string>();
      attributes.erase(found);
    }
    std::vector<Value> inputs;
    for (const std::string& name : names) {
      inputs.emplace_back();
      if (name.empty()) continue;
      QUADRANT_TRY(inputs.back(), value_named(name));
    }
    return inputs;
  }

  Expected<void> add(const CaseNode& node, const std::string& label) {
    const OperationEntry* entry = find_operation(node.op);
    if (entry == nullptr) return refuse(fmt::format("the operation '{}' is not known", node.op));
    nlohmann::json attributes = node.attributes;
    QUADRANT_TRY(std::vector<Value> inputs, inputs_of(node, attributes));
    const auto given = std::span(inputs).first(std::min(inputs.size(), entry->least_inputs));
    if (given.size() < entry->least_inputs || inputs.size() > entry->most_inputs ||
        std::ranges::any_of(given, &Value::is_absent)) {
      return refuse(fmt::format("{} inputs", inputs.size()));
    }
    Options options(attributes, node.path);
    Operation operation{graph_, options, std::move(inputs), node.outputs.size()};
    graph_.begin(label);
    QUADRANT_TRY(const std::vector<Value> results, entry->build(operation, entry->kind));
    QUADRANT_CHECK(options.finish());
    if (results.size() != node.outputs.size()) {
      return refuse(fmt::format("{} names for {} results", node.outputs.size(), results.size()));
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      const std::string& name = node.outputs[i];
      if (name.empty() || from_.tensors.contains(name) ||
          !values_.emplace(name, results[i]).second) {
        return refuse(fmt::format("the name '{}' is given twice, or empty", name));
      }
      graph_.name_value(results[i], name);
    }
    if (is_move(node.op)) note_moved(operation, results);
    if (node.op == "quantizeLinear") note_codes(operation.input(0), results[0]);
    if (node.op == "dequantizeLinear") return note_reals(operation, results[0]);
    return {};
  }

  /// What is moved keeps the step that all of it has.
  void note_moved(const Operation& operation, std::span<const Value> results) {
    std::optional<double> step;
    for (const Value input : operation.inputs) {
      if (!is_float(graph_.element(input))) continue;
      const auto known = steps_.find(input);
      if (known == steps_.end() || known->second.empty()) return;
      const double first = step.value_or(known->second.front());
      step = first;
      if (std::ranges::count(known->second, first) != std::ssize(known->second)) return;
    }
    if (!step) return;
    for (const Value result : results) {
      steps_[result].assign(static_cast<std::size_t>(graph_.tensor(result).element_count()), *step);
    }
  }

  void note_codes(Value real, Value codes) {
    const auto values = interpreted::cast_to(graph_.tensor(real), ElementType::float64);
    if (!values) return;
    for (const double value : values->as<double>()) {
      steps_[codes].push_back(std::isnan(value) ? std::numeric_limits<double>::infinity() : 1);
    }
  }

  Expected<void> note_reals(const Operation& operation, Value reals) {
    const Value codes = operation.input(0);
    if (!graph_.is_constant(operation.input(1))) return {};
    QUADRANT_TRY(const Value scale, scale_of_each(graph_, operation.input(1), graph_.shape(codes)));
    QUADRANT_TRY(const Tensor scales,
                 interpreted::cast_to(graph_.tensor(scale), ElementType::float64));
    const auto values = scales.as<double>();
    std::vector<double> steps(values.begin(), values.end());
    if (const auto known = steps_.find(codes); known != steps_.end()) {
      for (std::size_t i = 0; i < steps.size(); ++i) steps[i] *= known->second[i];
    }
    steps_.emplace(reals, std::move(steps));
    return {};
  }

  const Case& from_;
  GraphBuilder graph_;
  std::map<std::string, Value, std::less<>> values_;
  std::unordered_map<Value, std::vector<double>> steps_;
  std::vector<CaseOperation> operations_;
};

}  // namespace

Expected<CaseGraph> build_graph(const Case& from) { return CaseBuilder(from).build(); }

}  // namespace quadrant::webnn
