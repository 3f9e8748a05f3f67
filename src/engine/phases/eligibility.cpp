#include "quadrant/engine/phases/eligibility.hpp"

#include "engine/phases/possible.hpp"

namespace quadrant::inline v0 {

const std::string* find_veto(const Vetoes& vetoes, const SchemeVetoes& of_schemes, NodeId node,
                             std::string_view scheme) noexcept {
  const auto of_all = vetoes.find(node);
  if (of_all != vetoes.end()) return &of_all->second;
  const auto own = of_schemes.find(scheme);
  if (own == of_schemes.end()) return nullptr;
  const auto found = own->second.find(node);
  return found == own->second.end() ? nullptr : &found->second;
}

State Eligibility::furthest_state(Value value) const noexcept {
  State furthest = State::Unquantized;
  for (const OfScheme& scheme : schemes_) {
    const State state = scheme.states[value];
    if (state == State::Quantizable || state == State::Quantized) return state;
    if (state == State::Consumer) furthest = state;
  }
  return furthest;
}

const std::string* Eligibility::why(NodeId node, std::uint32_t scheme) const noexcept {
  const auto& whys = schemes_[scheme].whys;
  const auto found = whys.find(node);
  return found == whys.end() ? nullptr : found->second;
}

ConstraintId Eligibility::given(Value value) const noexcept {
  const auto found = given_.find(value);
  return found == given_.end() ? float_form : found->second;
}

const std::vector<ConstraintId>* Eligibility::possible(NodeId node,
                                                       std::uint32_t scheme) const noexcept {
  const auto& all = schemes_[scheme].possible;
  if (all.empty()) return nullptr;
  const auto found = all.find(node);
  return found == all.end() ? nullptr : &found->second;
}

class EligibilityDetector {
 public:
  EligibilityDetector(const GraphView& graph, const std::vector<NodeId>& order,
                      const Registry& registry, const Vetoes& vetoes,
                      const SchemeVetoes& of_schemes, const ValueVetoes& of_values,
                      const SchemeFacts& facts)
      : graph_(graph),
        order_(order),
        registry_(registry),
        vetoes_(vetoes),
        of_schemes_(of_schemes),
        facts_(facts) {
    for (const auto& [value, reason] : of_values) result_.staying_float_.insert(value);
  }

  [[nodiscard]] Eligibility run() && {
    const auto numbering = std::make_shared<const ValueNumbering>(graph_);
    std::vector<const ConstraintType*> types;
    types.reserve(registry_.scheme_count());
    for (std::uint32_t scheme = 0; scheme < registry_.scheme_count(); ++scheme) {
      types.push_back(&registry_.scheme(scheme).constraint_type());
    }
    result_.constraints_ = std::make_shared<ConstraintTable>(std::move(types));
    result_.schemes_.resize(registry_.scheme_count());
    for (std::uint32_t scheme = 0; scheme < registry_.scheme_count(); ++scheme) {
      auto& found = result_.schemes_[scheme];
      if (scheme < facts_.size()) found.facts = facts_[scheme];
      found.states = ValueMap<State>(numbering, State::Unquantized);
      found.causes.assign(graph_.index_bound(), EligibilityCause::no_method);
      found.methods.assign(graph_.index_bound(), nullptr);
      for (const NodeId node : order_) detect(node, scheme);
    }
    return std::move(result_);
  }

 private:
  // What a method sees of the nodes before its own.
  class States final : public EligibilityContext {
   public:
    States(const ValueMap<State>& states, const SharedFacts& facts) noexcept
        : EligibilityContext(facts), states_(&states) {}
    [[nodiscard]] State state(Value value) const noexcept override { return (*states_)[value]; }

   private:
    const ValueMap<State>* states_;
  };

  // A model may come with values that are quantized already: they are what they are.
  bool is_given(NodeId node, std::uint32_t scheme) {
    bool is_given = false;
    for (std::uint32_t i = 0; i < graph_.result_count(node); ++i) {
      const TensorType& type = graph_.type({node, i});
      if (!type.is_quantized()) continue;
      is_given = true;
      result_.schemes_[scheme].states[{node, i}] = State::Quantized;
      const auto known =
          registry_.scheme(scheme).erased_recognize(type, scheme, *result_.constraints_);
      if (known) result_.given_.emplace(Value{node, i}, *known);
    }
    return is_given;
  }

  // A node makes all its results in one form.
  [[nodiscard]] bool makes_floats(NodeId node) const {
    for (std::uint32_t i = 0; i < graph_.result_count(node); ++i) {
      if (result_.stays_float({node, i})) return true;
    }
    return false;
  }

  void detect(NodeId node, std::uint32_t scheme) {
    auto& found = result_.schemes_[scheme];
    EligibilityCause& cause = found.causes[node.index];
    const bool given = is_given(node, scheme);
    if (given) cause = EligibilityCause::already_quantized;
    if (find_veto(vetoes_, of_schemes_, node, registry_.name(scheme)) != nullptr) {
      if (!given) cause = EligibilityCause::vetoed;
      return;
    }
    const bool stays_float = !given && makes_floats(node);
    if (stays_float) cause = EligibilityCause::vetoed;
    const QuantizationMethod* method = registry_.find(NodeRef{&graph_, node}, scheme);
    if (method == nullptr) return;
    const NodeRef ref{&graph_, node};
    if (given) {
      // Its results are what they are; a Consumer may still gain from its operands.
      if (method->eligible_state() != State::Consumer) return;
      const Verdict verdict = method->check_eligibility(ref, States(found.states, found.facts));
      if (verdict.state == State::Consumer) found.methods[node.index] = method;
      return;
    }
    const Verdict verdict = method->check_eligibility(ref, States(found.states, found.facts));
    if (verdict.state == State::Unquantized) {
      if (stays_float) return;
      cause = verdict.why.empty() ? EligibilityCause::pattern : EligibilityCause::method;
      if (!verdict.why.empty()) found.whys[node] = result_.reasons_->keep(verdict.why);
      return;
    }
    if (stays_float) {
      found.methods[node.index] = method;
      return;
    }
    Possible possible(result_, scheme);
    method->erased_possible(ref, possible);
    if (possible.added().size() > most_possibilities) {
      cause = EligibilityCause::possibilities;
      found.whys[node] = result_.reasons_->keep("too many different quantizations meet here");
      return;
    }
    if (!possible.added().empty()) found.possible.emplace(node, std::move(possible.added()));
    cause = EligibilityCause::eligible;
    found.methods[node.index] = method;
    for (std::uint32_t i = 0; i < graph_.result_count(node); ++i) {
      // Indices and masks beside the numbers are not quantized with them.
      if (may_be_real(graph_.type({node, i}).element)) found.states[{node, i}] = verdict.state;
    }
  }

  const GraphView& graph_;
  const std::vector<NodeId>& order_;
  const Registry& registry_;
  const Vetoes& vetoes_;
  const SchemeVetoes& of_schemes_;
  const SchemeFacts& facts_;
  Eligibility result_;
};

Expected<SchemeFacts> prepare_schemes(const GraphView& graph, const Registry& registry) {
  SchemeFacts facts;
  for (std::uint32_t scheme = 0; scheme < registry.scheme_count(); ++scheme) {
    QUADRANT_TRY(facts.emplace_back(), registry.scheme(scheme).erased_prepare(graph));
  }
  return facts;
}

Eligibility detect_eligibility(const GraphView& graph, const std::vector<NodeId>& order,
                               const Registry& registry, const Vetoes& vetoes,
                               const SchemeVetoes& of_schemes, const ValueVetoes& of_values,
                               const SchemeFacts& facts) {
  return EligibilityDetector(graph, order, registry, vetoes, of_schemes, of_values, facts).run();
}

}  // namespace quadrant::inline v0
