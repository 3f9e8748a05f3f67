#include "quadrant/engine/phases/rewriting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ir/scales.hpp"
#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0 {

struct RewriteContext::Made {
  // A value that was decided on, in one of its forms.
  struct Form {
    Value value;
    ConstraintId form = float_form;
  };
  std::vector<NodeId> nodes;
  std::unordered_set<std::string> node_names;  // filled when the first node is emitted
  std::unordered_map<std::string, std::size_t> name_suffixes;  // the last one, of each name
  std::unordered_map<Value, Value> replaced;
  std::unordered_map<Value, Value> dequantized;  // by codes: what `dequantize` added
  std::unordered_map<Value, Form> forms;         // of the values that phase 4 made

  // What `value` is by now: made by phase 4, or there before.
  [[nodiscard]] Form form(Value value, const Decided& decided) const {
    const auto found = forms.find(value);
    if (found != forms.end()) return found->second;
    const bool is_known = decided.problem.eligibility.numbering()->contains(value);
    return {value, is_known ? decided.selection.produced(value) : float_form};
  }
  std::string free_node_name(const std::string& wanted, const GraphView& graph);
};

namespace {

const ConstraintTable& constraints(const Decided& decided) noexcept {
  return decided.problem.requests.constraints();
}

// Null for floats, and for a form of another scheme.
const void* form_of(const Decided& decided, ConstraintId form, std::uint32_t scheme) noexcept {
  const bool is_ours = form != float_form && constraints(decided).scheme(form) == scheme;
  return is_ours ? constraints(decided).get(form) : nullptr;
}

std::shared_ptr<const UniformType> parameters_of(const Decided& decided, Value value,
                                                 ConstraintId form) {
  if (form == float_form) return nullptr;
  const RequestId request = decided.problem.requests.find(value, form);
  const std::uint32_t group =
      request == no_request ? ParameterTable::none : decided.parameters.group(request);
  return group == ParameterTable::none ? nullptr : decided.data.parameters[group];
}

}  // namespace

RewriteContext::RewriteContext(GraphRewriter& graph, const Decided& decided)
    : graph_(&graph), decided_(&decided), made_(std::make_unique<Made>()) {}

RewriteContext::~RewriteContext() = default;

const void* RewriteContext::erased_form(Value value) const {
  return form_of(*decided_, made_->form(value, *decided_).form, scheme_);
}

const void* RewriteContext::erased_read(NodeRef node, std::uint32_t operand) const noexcept {
  return form_of(*decided_, decided_->selection.read(node.id, operand), scheme_);
}

std::shared_ptr<const UniformType> RewriteContext::parameters(Value value) const {
  const Made::Form known = made_->form(value, *decided_);
  return parameters_of(*decided_, known.value, known.form);
}

std::shared_ptr<const UniformType> RewriteContext::erased_parameters(Value value,
                                                                     const void* form) const {
  const RequestGraph& requests = decided_->problem.requests;
  const Value asked = made_->form(value, *decided_).value;
  if (!decided_->problem.eligibility.numbering()->contains(asked)) return nullptr;
  for (RequestId id = requests.first(asked); id != no_request; id = requests[id].next) {
    const ConstraintId known = requests[id].constraint;
    if (requests.constraints().equals(known, scheme_, form)) {
      return parameters_of(*decided_, asked, known);
    }
  }
  return nullptr;
}

Constant RewriteContext::prepared(NodeId node, std::size_t index) const {
  const auto found = decided_->data.kept.find(node);
  const bool is_kept = found != decided_->data.kept.end() && index < found->second.size();
  return is_kept ? found->second[index] : Constant{};
}

const SharedFacts& RewriteContext::facts() const noexcept {
  return decided_->problem.eligibility.facts(scheme_);
}

Expected<void> RewriteContext::set_quantized(Value value, Quantization type) {
  TensorType changed = view().type(value);
  changed.element = type.storage();
  changed.quantization = std::move(type);
  return graph_->set_type(value, std::move(changed));
}

Expected<Value> RewriteContext::emit(std::string_view kind, std::vector<Value> operands,
                                     std::string name, TensorType type, Attributes attributes) {
  NodeSpec spec;
  spec.kind = kind;
  spec.name = made_->free_node_name(fmt::format("{}_{}", name, kind), view());
  spec.operands = std::move(operands);
  spec.results.push_back({std::move(name), std::move(type)});
  spec.attributes = std::move(attributes);
  return add(std::move(spec));
}

// `wanted`, or with a number behind it. Names of nodes need not be unique, but some runtimes refuse
// two of one name.
std::string RewriteContext::Made::free_node_name(const std::string& wanted,
                                                 const GraphView& graph) {
  if (node_names.empty()) {
    for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
      const NodeId node = graph.node_at(i);
      if (node.is_valid()) node_names.emplace(graph.name(node));
    }
  }
  std::string name = wanted;
  if (node_names.insert(name).second) return name;
  // From where the last search ended: many nodes may want one name.
  std::size_t& suffix = name_suffixes[wanted];
  do {
    name = fmt::format("{}_{}", wanted, ++suffix);
  } while (!node_names.insert(name).second);
  return name;
}

Expected<Value> RewriteContext::dequantize(Value quantized) {
  const TensorType real = view().type(quantized).expressed();
  Value& known = made_->dequantized[quantized];
  // A rewriter may have erased it, or given the codes another type since.
  const bool is_there = !known.is_absent() && view().node_at(known.node.index) == known.node &&
                        std::ranges::equal(view().operands(known.node), std::array{quantized});
  if (is_there && view().type(known).element == real.element) return known;
  QUADRANT_TRY(known, emit(ops::Dequantize::kind, {quantized},
                           std::string(view().value_name(quantized)), real));
  return known;
}

Expected<Value> RewriteContext::quantize(Value real, Quantization to) {
  const TensorType& reals = view().type(real);
  if (reals.element != ElementType::undefined && reals.element != to.expressed()) {
    return fail(ErrorCode::impossible,
                fmt::format("floats of {} as a type of {}", to_string(reals.element),
                            to_string(to.expressed())),
                {.tensor = std::string(view().value_name(real))});
  }
  TensorType type{to.storage(), reals.shape, std::move(to)};
  return emit(ops::Quantize::kind, {real}, std::string(view().value_name(real)), std::move(type));
}

Expected<Value> RewriteContext::emit_constant(std::string name, Constant contents,
                                              Quantization quantization) {
  NodeSpec spec;
  spec.kind = ops::Constant::kind;
  spec.results.push_back(
      {std::move(name), {contents.element(), contents.shape(), std::move(quantization)}});
  spec.constant = std::move(contents);
  return add(std::move(spec));
}

Expected<Value> RewriteContext::add(NodeSpec spec) {
  QUADRANT_TRY(const NodeId node, graph_->emit(std::move(spec)));
  made_->nodes.push_back(node);
  return Value{node};
}

Expected<void> RewriteContext::replace(Value value, Value made) {
  QUADRANT_CHECK(graph_->replace_uses(value, made, made.node));
  made_->replaced[value] = made;
  made_->forms[made] = made_->form(value, *decided_);
  return {};
}

Expected<void> RewriteContext::take_place(Value value, Value made, std::string_view suffix) {
  const std::string name(view().value_name(value));
  TensorType type = view().type(made);
  if (!type.shape.is_static() && view().type(value).shape.is_ranked()) {
    type.shape = view().type(value).shape;
    QUADRANT_CHECK(graph_->set_type(made, std::move(type)));
  }
  QUADRANT_CHECK(replace(value, made));
  QUADRANT_CHECK(graph_->set_value_name(value, name + std::string(suffix)));
  return graph_->set_value_name(made, name);
}

Value RewriteContext::current(Value value) const {
  const auto& replaced = made_->replaced;
  for (auto found = replaced.find(value); found != replaced.end(); found = replaced.find(value)) {
    value = found->second;
  }
  return value;
}

class Rewriting {
 public:
  Rewriting(GraphRewriter& graph, const Decided& decided)
      : graph_(graph),
        decided_(decided),
        context_(graph, decided),
        next_(decided.selection.conversions().begin()) {}

  Expected<void> run() {
    std::set<NodeId> used = used_nodes();
    for (const NodeId node : decided_.problem.order) {
      QUADRANT_CHECK(rewrite_node(node));
      QUADRANT_CHECK(convert_results(node));
    }
    QUADRANT_CHECK(check_strict_couplings());
    return erase_unused(std::move(used));
  }

 private:
  // One form is one type, but for what moves do to the order of scales, which no form says.
  [[nodiscard]] Expected<void> check_strict_couplings() const {
    const GraphView& view = graph_.view();
    for (const std::vector<Value>& members : decided_.problem.couplings.strict()) {
      if (decided_.selection.produced(members.front()) == float_form) continue;
      TensorType first = view.type(context_.current(members.front()));
      QUADRANT_TRY(first.quantization, in_memory(first.quantization));
      for (const Value value : std::span(members).subspan(1)) {
        const TensorType& type = view.type(context_.current(value));
        const bool is_same =
            type.element == first.element && mean_the_same(type.quantization, first.quantization);
        if (is_same) continue;
        return fail(ErrorCode::impossible,
                    fmt::format("it has one type with '{}', but came to other scales or zero "
                                "points; exclude one of them",
                                decided_.problem.graph.value_name(members.front())),
                    {.tensor = std::string(decided_.problem.graph.value_name(value))});
      }
    }
    return {};
  }

  // Of these, of what was emitted and of what was replaced, whatever has no user: a replaced node
  // that never had one may not fit its operands any more.
  Expected<void> erase_unused(std::set<NodeId> used) {
    const RewriteContext::Made& made = *context_.made_;
    used.insert(made.nodes.begin(), made.nodes.end());
    for (const auto& [value, instead] : made.replaced) used.insert(value.node);
    std::vector<NodeId> candidates(used.begin(), used.end());
    std::erase_if(candidates, [&](NodeId node) { return !graph_.view().uses(node).empty(); });
    while (!candidates.empty()) {
      const NodeId node = candidates.back();
      candidates.pop_back();
      const auto operands = graph_.view().operands(node);
      std::set<NodeId> read;
      for (const Value operand : operands) {
        if (!operand.is_absent()) read.insert(operand.node);
      }
      QUADRANT_CHECK(graph_.erase(node));
      for (const NodeId producer : read) {
        const bool is_unused = graph_.view().uses(producer).empty() &&
                               graph_.view().kind(producer) != ops::Input::kind;
        if (is_unused) candidates.push_back(producer);
      }
    }
    return {};
  }

  // What somebody used before; inputs stay whatever happens.
  [[nodiscard]] std::set<NodeId> used_nodes() const {
    std::set<NodeId> used;
    for (const NodeId node : decided_.problem.order) {
      const bool is_used = !graph_.view().uses(node).empty();
      if (is_used && graph_.view().kind(node) != ops::Input::kind) used.insert(node);
    }
    return used;
  }

  [[nodiscard]] std::uint32_t scheme_of(ConstraintId form) const {
    return decided_.problem.requests.constraints().scheme(form);
  }
  [[nodiscard]] const Scheme& scheme(ConstraintId form) const {
    return decided_.problem.registry.scheme(scheme_of(form));
  }

  Expected<void> rewrite_node(NodeId node) {
    const Eligibility& eligibility = decided_.problem.eligibility;
    std::vector<Value> selected;
    for (std::uint32_t i = 0; i < decided_.problem.graph.result_count(node); ++i) {
      if (decided_.selection.is_selected({node, i})) selected.push_back({node, i});
    }
    if (selected.empty()) {
      for (std::uint32_t i = 0; i < eligibility.scheme_count(); ++i) {
        const QuantizationMethod* method = eligibility.method(node, i);
        if (method != nullptr && gains_by(node, i, *method)) {
          QUADRANT_CHECK(call_rewriter(*method, i, node));
        }
      }
      return {};
    }
    const std::uint32_t scheme = scheme_of(decided_.selection.produced(selected.front()));
    const QuantizationMethod& method = *eligibility.method(node, scheme);
    QUADRANT_CHECK(call_rewriter(method, scheme, node));
    for (const Value value : selected) {
      const Value made = context_.current(value);
      if (graph_.view().type(made).is_quantized()) continue;
      return fail(
          ErrorCode::impossible,
          fmt::format("method {} was asked to quantize this value and did not", method.name()),
          {.file = {},
           .node = std::string(graph_.view().name(node)),
           .tensor = std::string(graph_.view().value_name(made)),
           .offset = {}});
    }
    return {};
  }

  Expected<void> call_rewriter(const QuantizationMethod& method, std::uint32_t scheme,
                               NodeId node) {
    context_.scheme_ = scheme;
    return method.rewriter({&graph_.view(), node}, context_);
  }

  // Whether a node that makes floats is to be rewritten by the scheme: it is a Consumer, unless it
  // reads another scheme's codes; or it got what it asked for.
  [[nodiscard]] bool gains_by(NodeId node, std::uint32_t scheme,
                              const QuantizationMethod& method) const {
    if (method.eligible_state() == State::Consumer && !reads_codes_of_another(node, scheme)) {
      return true;
    }
    const RequestGraph& requests = decided_.problem.requests;
    return std::ranges::any_of(requests.benefits(node), [&](const Benefit& benefit) {
      return scheme_of(benefit.constraint) == scheme &&
             decided_.selection.is_realized(requests, benefit);
    });
  }

  [[nodiscard]] bool reads_codes_of_another(NodeId node, std::uint32_t scheme) const {
    for (std::uint32_t i = 0; i < graph_.view().operands(node).size(); ++i) {
      const ConstraintId form = decided_.selection.read(node, i);
      if (form != float_form && scheme_of(form) != scheme) return true;
    }
    return false;
  }

  // Makes the other forms of the node's results, which come in the order of the nodes.
  Expected<void> convert_results(NodeId node) {
    Value converted;  // the value at hand, and its float form if one was made
    Value real;
    for (; next_ != decided_.selection.conversions().end() && next_->value.node == node; ++next_) {
      if (next_->value != converted) real = Value{};
      converted = next_->value;
      QUADRANT_TRY(const Value made, convert(*next_, real));
      context_.made_->forms[made] = {next_->value, next_->to};
      if (next_->to == float_form) real = made;
      for (const Use& use : next_->readers) {
        QUADRANT_CHECK(graph_.set_operand(use.user, use.operand, made));
      }
    }
    return {};
  }

  Expected<Value> convert(const Conversion& conversion, Value real) {
    const Value made = context_.current(conversion.value);
    if (conversion.to == float_form) return leave(made, conversion);
    context_.scheme_ = scheme_of(conversion.to);
    const Scheme& target = scheme(conversion.to);
    const void* to = decided_.problem.requests.constraints().get(conversion.to);
    // The value is named by the float form, if another one was made of it.
    const Value named = real.is_absent() ? made : real;
    QUADRANT_TRY(const Value converted, conversion.from == float_form
                                            ? target.erased_enter(named, to, context_)
                                            : target.erased_convert(made, to, context_));
    const std::string name(graph_.view().value_name(named));
    QUADRANT_CHECK(graph_.set_value_name(converted, name + std::string(quantized_ending)));
    return converted;
  }

  [[nodiscard]] bool is_given(Value value) const {
    const Eligibility& eligibility = decided_.problem.eligibility;
    return eligibility.numbering()->contains(value) && eligibility.given(value) != float_form;
  }

  Expected<Value> leave(Value made, const Conversion& conversion) {
    context_.scheme_ = scheme_of(conversion.from);
    const std::string name(graph_.view().value_name(made));
    QUADRANT_TRY(const Value left, scheme(conversion.from).leave(made, context_));
    // Who calls the model knows its inputs by name; codes that came with it keep theirs, too.
    if (is_given(made) || graph_.view().kind(made.node) == ops::Input::kind) {
      QUADRANT_CHECK(graph_.set_value_name(left, name + std::string(dequantized_ending)));
      return left;
    }
    QUADRANT_CHECK(graph_.set_value_name(made, name + std::string(quantized_ending)));
    QUADRANT_CHECK(graph_.set_value_name(left, name));
    return left;
  }

  GraphRewriter& graph_;
  const Decided& decided_;
  RewriteContext context_;
  std::span<const Conversion>::iterator next_;
};

Expected<void> rewrite(GraphRewriter& graph, const Decided& decided) {
  return Rewriting(graph, decided).run();
}

}  // namespace quadrant::inline v0
