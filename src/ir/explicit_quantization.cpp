#include "quadrant/ir/explicit_quantization.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr std::array conversion_kinds{ops::Quantize::kind, ops::Dequantize::kind,
                                      ops::StorageCast::kind};
constexpr std::array border_kinds{ops::Input::kind, ops::Constant::kind, ops::Output::kind};
template <std::size_t n>
bool is_one_of(std::string_view kind, const std::array<std::string_view, n>& kinds) {
  return std::ranges::find(kinds, kind) != kinds.end();
}

// The operation that moves elements which `kind` names, in the way of files too, for graphs that
// were not read but made so: `onnx.Reshape` is `reshape`. Empty for another.
std::string moving_kind(std::string_view kind) {
  constexpr std::string_view of_files = "onnx.";
  std::string name(kind.starts_with(of_files) ? kind.substr(of_files.size()) : kind);
  if (kind != name) name.front() = static_cast<char>(name.front() | 0x20);  // to lower case
  const Operation* const known = find_operation(name);
  return known == nullptr || known->move == nullptr ? std::string() : name;
}

bool is_quantized(const GraphView& graph, Value value) {
  return !value.is_absent() && graph.type(value).is_quantized();
}

std::vector<const UniformType*> quantizations(NodeRef node) {
  std::vector<const UniformType*> found;
  const auto add = [&](Value value) {
    if (is_quantized(*node.graph, value)) {
      found.push_back(node.graph->type(value).uniform().get());
    }
  };
  for (const Value operand : node.operands()) add(operand);
  for (std::uint32_t i = 0; i < node.graph->result_count(node.id); ++i) add(node.result(i));
  return found;
}

// Elements that move keep their meaning under parameters that are the same everywhere. With a scale
// for each channel or block, the types were made to follow the elements.
bool moves_codes(NodeRef node, const std::vector<const UniformType*>& types) {
  const std::string kind = moving_kind(node.kind());
  if (kind.empty()) return false;
  // Integers without a meaning, as a lookup finds in a table whose rows have scales of their own.
  const TensorType& result = node.graph->type(node.result());
  if (!result.is_quantized() && is_integer(result.element)) return true;
  // The others' further operands say where elements go.
  const std::size_t moved = kind == ops::Concat::kind ? node.operands().size() : 1;
  const std::size_t made = node.graph->result_count(node.id);
  return types.size() == moved + made && std::ranges::all_of(types, [&](const UniformType* type) {
           return type->granularity.kind != Granularity::Kind::tensor || type == types.front() ||
                  *type == *types.front();
         });
}

// Whether the types say of the node what operators should.
bool is_implicit(NodeRef node) {
  if (is_one_of(node.kind(), conversion_kinds) || is_one_of(node.kind(), border_kinds) ||
      is_defined_on_codes(node.kind())) {
    return false;
  }
  const auto types = quantizations(node);
  return !types.empty() && !moves_codes(node, types);
}

class Explication {
 public:
  explicit Explication(Graph& graph) : graph_(graph) {}

  MovedCodes run() {
    const std::uint32_t bound = graph_.index_bound();
    std::vector<NodeId> implicit;
    for (std::uint32_t i = 0; i < bound; ++i) {
      const NodeId node = graph_.node_at(i);
      if (node.is_valid() && is_implicit(graph_.ref(node))) implicit.push_back(node);
    }
    for (const NodeId node : implicit) quantize_results(node);
    for (const NodeId node : implicit) dequantize_operands(node);
    return std::move(moved_);
  }

 private:
  void quantize_results(NodeId node) {
    for (std::uint32_t i = 0; i < graph_.result_count(node); ++i) {
      const Value value{node, i};
      if (!is_quantized(graph_, value)) continue;
      TensorType codes = graph_.type(value);
      std::string name(graph_.value_name(value));
      const Value real = find_dequantize(value);
      graph_.set_type(value, codes.expressed());
      std::string computed(real.is_absent() ? name : graph_.value_name(real));
      graph_.set_value_name(value, computed.append(unquantized_ending));
      const Value quantized{graph_.add({.kind = std::string(ops::Quantize::kind),
                                        .name = name + "_quantize",
                                        .operands = {Value{}},
                                        .results = {{std::move(name), std::move(codes)}}})};
      graph_.replace_uses(value, quantized);
      graph_.set_operand(quantized.node, 0, value);
      moved_.emplace(value, quantized);
      made_.insert(quantized.node);
    }
  }

  void dequantize_operands(NodeId node) {
    const auto count = static_cast<std::uint32_t>(graph_.operands(node).size());
    for (std::uint32_t i = 0; i < count; ++i) {
      const Value value = graph_.operands(node)[i];
      if (is_quantized(graph_, value)) graph_.set_operand(node, i, dequantized(value));
    }
  }

  Value dequantized(Value codes) {
    const auto [known, is_new] = dequantized_.emplace(codes, Value{});
    if (is_new) known->second = find_or_add_dequantize(codes);
    return known->second;
  }

  [[nodiscard]] Value find_dequantize(Value codes) const {
    for (const Use& use : graph_.uses(codes.node)) {
      if (use.result == codes.result && graph_.kind(use.user) == ops::Dequantize::kind) {
        return {use.user};
      }
    }
    return {};
  }

  // Whether the codes have to keep their name, or are called after real values that are there.
  [[nodiscard]] bool keeps_name(Value codes) const {
    const bool is_made_here = made_.contains(codes.node);
    if (graph_.kind(codes.node) == ops::Input::kind) return true;
    if (graph_.kind(codes.node) == ops::Quantize::kind && !is_made_here) return true;
    return std::ranges::any_of(graph_.uses(codes.node), [&](const Use& use) {
      return use.result == codes.result && graph_.kind(use.user) == ops::Output::kind;
    });
  }

  Value find_or_add_dequantize(Value codes) {
    if (const Value real = find_dequantize(codes); !real.is_absent()) return real;
    std::string name(graph_.value_name(codes));
    if (keeps_name(codes)) {
      name += dequantized_ending;
    } else {
      graph_.set_value_name(codes, std::string(name).append(quantized_ending));
    }
    return {graph_.add({.kind = std::string(ops::Dequantize::kind),
                        .name = name + "_dequantize",
                        .operands = {codes},
                        .results = {{name, graph_.type(codes).expressed()}}})};
  }

  Graph& graph_;
  std::unordered_map<Value, Value> dequantized_;  // by codes
  MovedCodes moved_;
  std::unordered_set<NodeId> made_;  // by `quantize_results`
};

// What is in front of an ending; no name at all where there is none. Names that were taken have a
// number behind it.
std::string_view stem(std::string_view name, std::string_view ending) {
  if (name.size() <= ending.size() || !name.ends_with(ending)) return {};
  return name.substr(0, name.size() - ending.size());
}

std::string_view without_number(std::string_view name) {
  const std::size_t last = name.find_last_not_of("0123456789");
  if (last == std::string_view::npos || last + 1 == name.size() || name[last] != '_') return {};
  return name.substr(0, last);
}

// Whether `name` is what the value `of` would be called with that ending.
bool is_called(std::string_view name, std::string_view of, std::string_view ending) {
  return stem(name, ending) == of || stem(without_number(name), ending) == of;
}

// The name of the real values of codes, from the names around.
class RealName {
 public:
  RealName(const Graph& graph, Value codes)
      : graph_(graph), codes_(codes), own_(graph.value_name(codes)) {
    for (const Use& use : graph.uses(codes.node)) {
      if (use.result == codes.result && graph.kind(use.user) == ops::Dequantize::kind) {
        real_.push_back(graph.value_name({use.user}));
      }
    }
  }

  [[nodiscard]] std::string_view find() const {
    return graph_.kind(codes_.node) == ops::Quantize::kind
               ? of_quantized(graph_.value_name(graph_.operands(codes_.node)[0]))
               : of_codes();
  }

 private:
  // Of the codes that a `quantize` makes of `computed`.
  [[nodiscard]] std::string_view of_quantized(std::string_view computed) const {
    if (is_called(own_, computed, quantized_ending)) return computed;
    const std::string_view plain = stem(computed, unquantized_ending);
    if (!plain.empty()) return is_ours(plain) || !is_there(plain) ? plain : computed;
    const std::string_view numbered = stem(without_number(computed), unquantized_ending);
    return !numbered.empty() && is_ours(numbered) ? numbered : computed;
  }

  [[nodiscard]] std::string_view of_codes() const {
    for (const std::string_view real : real_) {
      if (is_called(own_, real, quantized_ending)) return real;
      if (is_called(real, own_, dequantized_ending)) return own_;
    }
    if (const std::string_view name = without(own_, quantized_ending); !name.empty()) return name;
    if (real_.empty() || graph_.kind(codes_.node) == ops::Input::kind) return own_;
    for (const std::string_view ending : {dequantized_ending, foreign_dequantized_ending}) {
      const std::string_view name = without(real_.front(), ending);
      if (!name.empty()) return name;
    }
    return real_.front();
  }

  // With a number only where it is clear what that is for.
  [[nodiscard]] std::string_view without(std::string_view name, std::string_view ending) const {
    std::string_view found = stem(name, ending);
    if (found.empty()) {
      const std::string_view taken = without_number(name);
      if (!taken.empty() && is_there(taken)) found = stem(taken, ending);
    }
    return is_another(found) ? std::string_view() : found;
  }

  // Whether the codes, or the real values made of them, are called `name`.
  [[nodiscard]] bool is_ours(std::string_view name) const {
    return own_ == name || is_called(own_, name, quantized_ending) ||
           std::ranges::find(real_, name) != real_.end();
  }

  // Whether the value of that name cannot be the one that the codes are of. A constant can, from
  // which codes were made as one more constant, and so can other codes of the same real values.
  [[nodiscard]] bool is_another(std::string_view name) const {
    return is_there(name) &&
           graph_.type(graph_.find_value(name)).expressed() != graph_.type(codes_).expressed();
  }

  [[nodiscard]] bool is_there(std::string_view name) const {
    return !graph_.find_value(name).is_absent();
  }

  static constexpr std::string_view foreign_dequantized_ending = "_DequantizeLinear_Output";

  const Graph& graph_;
  Value codes_;
  std::string_view own_;
  std::vector<std::string_view> real_;  // what `dequantize` makes of the codes
};

}  // namespace

// Operators of files that are defined on codes, whatever is known of those: to dequantize in front
// of them would be wrong. A lookup in a quantized table casts the codes that it finds; a shape is
// that of the codes.
bool is_defined_on_codes(std::string_view kind) {
  if (kind == ops::Cast::kind) return true;
  constexpr std::array names{std::string_view("Shape"),
                             std::string_view("Size"),
                             std::string_view("QuantizeLinear"),
                             std::string_view("DequantizeLinear"),
                             std::string_view("GatherBlockQuantized"),
                             std::string_view("MatMulBnb4"),
                             std::string_view("MatMulNBits"),
                             std::string_view("MatMulIntegerToFloat"),
                             std::string_view("QGemm")};
  if (!kind.starts_with("onnx.")) return false;
  const std::string_view name = kind.substr(kind.find_last_of(".:") + 1);
  return is_one_of(name, names) || name.starts_with("QLinear") || name.ends_with("Integer") ||
         name == "MatMulInteger16";
}

MovedCodes make_quantization_explicit(Graph& graph) { return Explication(graph).run(); }

bool is_quantization_explicit(const GraphView& graph) {
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    const NodeId node = graph.node_at(i);
    if (node.is_valid() && is_implicit({&graph, node})) return false;
  }
  return true;
}

std::string_view real_name_of(const Graph& graph, Value codes) {
  return RealName(graph, codes).find();
}

}  // namespace quadrant::inline v0
