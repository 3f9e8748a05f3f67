// Computes graphs of any operations, so that a test can tell whether rewriting kept their meaning.
//
// Every operation is a function of its own, made up from the node's kind and name, in which the
// order of the operands matters: an edge that leads elsewhere changes the outputs. Quantization is
// exact here (codes hold the very numbers that they stand for), so the outputs of a graph and of
// its quantized form are equal to the last bit. What codes and floats are is checked instead: each
// value is one or the other, as its type says, and who reads the wrong one is named.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <numbers>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/ops.hpp"

namespace evaluator {

using namespace quadrant;

/// What any value holds, whatever its shape.
using Numbers = std::array<double, 3>;

struct Evaluation {
  std::map<std::string, Numbers> outputs;  ///< by the name of the output node
  /// Reads in a form that the reader cannot have meant.
  std::vector<std::string> mistakes;
};

/// Whether the node is to read that operand as codes; asked for operations of the model, not for
/// the conversions between forms.
using ReadsCodes = std::function<bool(NodeRef node, std::uint32_t operand)>;

/// Nodes that make codes compute on codes alone, all others on floats.
inline bool codes_for_codes(NodeRef node, std::uint32_t /*operand*/) {
  return node.graph->result_count(node.id) > 0 && node.type().is_quantized();
}

inline constexpr std::string_view requantize_kind = "requantize";

namespace detail {

struct Conversion {
  bool from_codes;
  bool to_codes;
};

inline const Conversion* find_conversion(std::string_view kind) {
  static constexpr std::array<std::pair<std::string_view, Conversion>, 3> conversions{
      {{ops::Quantize::kind, {false, true}},
       {ops::Dequantize::kind, {true, false}},
       {requantize_kind, {true, true}}}};
  for (const auto& [known, conversion] : conversions) {
    if (known == kind) return &conversion;
  }
  return nullptr;
}

/// Mixes `next` into `state`; not commutative. The result is in [0, 1).
inline double mix(double state, double next) {
  using std::numbers::e, std::numbers::egamma, std::numbers::phi;
  const double mixed = state * phi + next * e + egamma;
  return mixed - std::floor(mixed);
}

inline double mix(double state, std::string_view text) {
  for (const char letter : text) state = mix(state, static_cast<double>(letter) / 128);
  return state;
}

}  // namespace detail

inline bool is_conversion(std::string_view kind) {
  return detail::find_conversion(kind) != nullptr;
}

class Evaluator {
 public:
  Evaluator(const Graph& graph, ReadsCodes reads_codes)
      : graph_(graph), reads_codes_(std::move(reads_codes)) {}

  [[nodiscard]] Evaluation run() && {
    const std::vector<NodeId> order = *topological_order(graph_);
    for (const NodeId id : order) {
      const NodeRef node{&graph_, id};
      check_forms(node);
      compute(node);
    }
    return std::move(evaluation_);
  }

 private:
  void check_forms(NodeRef node) {
    const detail::Conversion* const conversion = detail::find_conversion(node.kind());
    const auto operands = node.operands();
    for (std::uint32_t i = 0; i < operands.size(); ++i) {
      if (operands[i].is_absent()) continue;
      const bool wants_codes = conversion ? conversion->from_codes : reads_codes_(node, i);
      const bool has_codes = graph_.type(operands[i]).is_quantized();
      if (wants_codes == has_codes) continue;
      complain(node,
               fmt::format("reads operand {}, '{}', as {} where it wants {}", i,
                           graph_.value_name(operands[i]), form(has_codes), form(wants_codes)));
    }
    if (conversion && conversion->to_codes != node.type().is_quantized()) {
      complain(node, fmt::format("makes {}", form(!conversion->to_codes)));
    }
  }

  static std::string_view form(bool is_codes) { return is_codes ? "codes" : "floats"; }

  void complain(NodeRef node, const std::string& what) {
    evaluation_.mistakes.push_back(
        fmt::format("{} '{}' {}", node.kind(), label(graph_, node.id), what));
  }

  void compute(NodeRef node) {
    if (node.kind() == ops::Output::kind) {
      evaluation_.outputs.emplace(node.name(), values_.at(node.operand(0)));
    } else if (is_conversion(node.kind())) {
      values_[node.result()] = values_.at(node.operand(0));
    } else {
      compute_results(node);
    }
  }

  // Nodes keep their names when they are rewritten, values do not.
  void compute_results(NodeRef node) {
    const double seed = detail::mix(detail::mix(0, node.kind()), node.name());
    for (std::uint32_t result = 0; result < graph_.result_count(node.id); ++result) {
      Numbers numbers{};
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        double state = detail::mix(detail::mix(seed, result), static_cast<double>(i));
        for (const Value operand : node.operands()) {
          state = detail::mix(state, operand.is_absent() ? -1 : values_.at(operand)[i]);
        }
        numbers[i] = state;
      }
      values_.emplace(node.result(result), numbers);
    }
  }

  const Graph& graph_;
  ReadsCodes reads_codes_;
  std::unordered_map<Value, Numbers> values_;
  Evaluation evaluation_;
};

/// `graph` must have no cycle.
[[nodiscard]] inline Evaluation evaluate(const Graph& graph,
                                         ReadsCodes reads_codes = codes_for_codes) {
  return Evaluator(graph, std::move(reads_codes)).run();
}

}  // namespace evaluator
