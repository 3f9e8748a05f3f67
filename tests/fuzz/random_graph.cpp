#include "random_graph.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "io/onnx/names.hpp"
#include "quadrant/ir/ops.hpp"
#include "random_attributes.hpp"
#include "random_layers.hpp"
#include "settle.hpp"

namespace fuzz {
namespace {

using namespace quadrant;

// Operations of ops.hpp, those of weights more than once, and two that nobody knows.
constexpr auto stored_kinds = std::to_array<std::string_view>({
    "identity",   "transpose",    "reshape",        "squeeze", "unsqueeze", "flatten",
    "cast",       "expand",       "slice",          "split",   "concat",    "gather",
    "einsum",     "add",          "multiply",       "matmul",  "matmul",    "gemm",
    "gemm",       "conv",         "conv_transpose", "rnn",     "gru",       "lstm",
    "linear",     "addmm",        "batch_matmul",   "baddbmm", "quantize",  "dequantize",
    "dequantize", "storage_cast", "onnx.Relu",      "strange",
});

constexpr std::uint32_t most_nodes = 24;

class Builder {
 public:
  Builder(FuzzedDataProvider& data, Purpose purpose, std::span<const std::string_view> kinds)
      : random_(data, purpose), kinds_(kinds) {}

  Graph build() {
    // From 18 on, operators have the forms that random_layers.cpp makes.
    const bool is_late = random_.is_computed() && !random_.one_in(8);
    if (is_late || random_.one_in(2)) {
      graph_.attributes().set(std::string(onnx::key::opset_domains), std::vector<std::string>{""});
      graph_.attributes().set(std::string(onnx::key::opset_versions),
                              std::vector<std::int64_t>{random_.number(is_late ? 18 : 7, 23)});
    }
    if (random_.is_computed()) add_trunk();
    while (random_.has_more() && graph_.node_count() < most_nodes) add_node();
    for (auto count = random_.number(1, 3); count > 0 && !values_.empty(); --count) {
      const bool is_end = count == 1 && !trunk_.is_absent();
      graph_.add_output(output_name(count), is_end ? trunk_ : pick_value());
    }
    return std::move(graph_);
  }

 private:
  // Models have names for their inputs and outputs, another one for each.
  std::string output_name(std::int64_t number) {
    if (random_.is_computed()) return random_.name() + std::to_string(number);
    return random_.one_in(4) ? random_.name() : std::string();
  }

  Value pick_value() {
    // Mostly one of the last: chains reach deeper than stars.
    const bool is_any = random_.one_in(3) || values_.size() < 4;
    return random_.pick(values_, is_any ? 0 : values_.size() - 4);
  }

  // What most layers of a model stand on: an input, often images.
  void add_trunk() {
    std::vector<std::int64_t> extents(
        static_cast<std::size_t>(random_.one_in(2) ? random_.number(0, 5) : 4));
    for (std::int64_t& extent : extents) extent = random_.extent();
    Shape shape(std::move(extents));
    trunk_ = graph_.add_input("x", {ElementType::float32, std::move(shape), nullptr});
    keep(trunk_.node);
    if (values_.empty()) trunk_ = {};
  }

  void add_node() {
    if (values_.empty() || random_.one_in(4)) {
      add_source();
    } else if (random_.is_computed() && !random_.one_in(3)) {
      add_layer();
    } else {
      add_operation();
    }
  }

  void add_source() {
    if (random_.one_in(3)) {
      std::string name = random_.name();
      if (random_.is_computed()) name += std::to_string(graph_.inputs().size());
      keep(graph_.add_input(std::move(name), random_.type()).node);
      return;
    }
    if (random_.one_in(8)) {  // a shape
      values_.push_back(graph_.add_constant(random_.name(), random_.list()));
      return;
    }
    TensorType type = random_.type();
    Constant contents = random_.constant(type.element, type.shape);
    if (!contents) return;
    const Value value = graph_.add_constant(random_.name(), contents);
    if (type.is_quantized()) graph_.set_type(value, std::move(type));
    keep(value.node);
  }

  void add_layer() {
    const bool grows = !trunk_.is_absent() && !random_.one_in(8);
    const Value data = grows ? trunk_ : pick_value();
    if (!is_real(data) || !graph_.type(data).shape.is_ranked()) return;
    const std::vector<Value> made = add_random_layer(graph_, random_, data);
    if (grows && !made.empty() && is_real(made[0])) trunk_ = made[0];
    values_.insert(values_.end(), made.begin(), made.end());
  }

  [[nodiscard]] bool is_real(Value value) const {
    return is_float(graph_.type(value).element) && !graph_.type(value).is_quantized();
  }

  void add_operation() {
    NodeSpec spec;
    spec.kind = random_.pick(kinds_);
    if (random_.one_in(4)) spec.name = random_.name();
    if (!add_operands(spec)) return;
    add_results(spec);
    for (auto count = random_.one_in(2) ? random_.number(0, 3) : 0; count > 0; --count) {
      auto [name, value] = random_attribute(random_);
      spec.attributes.set(std::move(name), std::move(value));
    }
    if (const auto node = add_settled(graph_, std::move(spec))) add_results_of(*node);
  }

  bool add_operands(NodeSpec& spec) {
    // What it means to compute on codes is for those to know who made such a graph.
    constexpr std::array of_codes{ops::Identity::kind, ops::Transpose::kind, ops::Reshape::kind,
                                  ops::Dequantize::kind, ops::StorageCast::kind};
    const bool computes = std::ranges::find(of_codes, spec.kind) == of_codes.end();
    // The verifier looks at shapes and axes that are constants, the file's reader finds more of
    // them.
    constexpr std::array of_lists{ops::Reshape::kind, ops::Squeeze::kind, ops::Unsqueeze::kind,
                                  ops::Expand::kind,  ops::Slice::kind,   ops::Split::kind};
    const bool reads_lists = std::ranges::find(of_lists, spec.kind) != of_lists.end();
    for (auto count = random_.number(1, random_.one_in(8) ? 6 : 2); count > 0; --count) {
      const Value value = operand(!spec.operands.empty());
      if (computes && !value.is_absent() && graph_.type(value).is_quantized()) return false;
      if (reads_lists && !spec.operands.empty() && !may_be_list(value)) return false;
      spec.operands.push_back(value);
    }
    return true;
  }

  Value operand(bool may_be_new_list) {
    if (random_.one_in(16)) return {};
    if (random_.is_computed() && may_be_new_list && random_.one_in(4)) {
      return graph_.add_constant("", random_.list());
    }
    return pick_value();
  }

  void add_results(NodeSpec& spec) {
    const bool is_unknown = spec.kind == "onnx.Relu" || spec.kind == "strange";
    const auto results = random_.one_in(16) ? random_.number(0, 3) : 1;
    for (auto count = results; count > 0; --count) {
      ResultSpec result;
      if (random_.one_in(4)) result.name = random_.name();
      if (!random_.is_computed() && (random_.one_in(4) || is_unknown)) result.type = random_.type();
      if (spec.kind == ops::Quantize::kind || spec.kind == ops::StorageCast::kind) {
        const Value data = spec.operands[0];
        const bool may_state = spec.kind == ops::Quantize::kind || random_.is_computed();
        if (may_state && !data.is_absent() && !random_.one_in(8)) {
          result.type = random_.quantized(graph_.type(data).shape);
        }
      }
      spec.results.push_back(std::move(result));
    }
  }

  void keep(NodeId node) {
    if (settle(graph_, node)) add_results_of(node);
  }

  void add_results_of(NodeId node) {
    for (std::uint32_t result = 0; result < graph_.result_count(node); ++result) {
      values_.push_back({node, result});
    }
  }

  [[nodiscard]] bool may_be_list(Value value) const {
    if (value.is_absent()) return true;
    const TensorType& type = graph_.type(value);
    return type.element == ElementType::int64 && !type.is_quantized() && type.shape.rank() == 1;
  }

  RandomValues random_;
  std::span<const std::string_view> kinds_;
  Graph graph_;
  std::vector<Value> values_;
  Value trunk_;  // absent in graphs that are only stored
};

}  // namespace

Graph random_graph(FuzzedDataProvider& data, Purpose purpose,
                   std::span<const std::string_view> kinds) {
  return Builder(data, purpose, purpose == Purpose::stored ? stored_kinds : kinds).build();
}

}  // namespace fuzz
