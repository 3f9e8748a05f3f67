#include "quadrant/engine/eligibility.hpp"

namespace quadrant::inline v0 {
namespace {

class Context final : public EligibilityContext {
 public:
  explicit Context(const ValueMap<State>& states) noexcept : states_(&states) {}
  [[nodiscard]] State state(Value value) const noexcept override { return (*states_)[value]; }

 private:
  const ValueMap<State>* states_;
};

}  // namespace

const char* Eligibility::why(NodeId node) const noexcept {
  const auto found = whys_.find(node);
  return found == whys_.end() ? nullptr : found->second;
}

Eligibility detect_eligibility(const GraphView& graph, const std::vector<NodeId>& order,
                               const Registry& registry, const Vetoes& vetoes) {
  Eligibility result;
  result.states_ =
      ValueMap<State>(std::make_shared<const ValueNumbering>(graph), State::Unquantized);
  result.causes_.assign(graph.index_bound(), EligibilityCause::no_method);
  result.methods_.assign(graph.index_bound(), nullptr);
  const Context context(result.states_);

  for (const NodeId node : order) {
    EligibilityCause& cause = result.causes_[node.index];
    const std::uint32_t results = graph.result_count(node);
    // A model may come with values that are quantized already: they are what they are.
    bool already = false;
    for (std::uint32_t i = 0; i < results; ++i) {
      if (!graph.type({node, i}).is_quantized()) continue;
      result.states_[{node, i}] = State::Quantized;
      already = true;
    }
    if (already) {
      cause = EligibilityCause::already_quantized;
      continue;
    }
    const QuantizationMethod* method = registry.find(graph.kind(node));
    if (method == nullptr) continue;
    if (vetoes.contains(node)) {
      cause = EligibilityCause::vetoed;
      continue;
    }
    const Verdict verdict = method->check_eligibility({&graph, node}, context);
    if (verdict.state == State::Unquantized) {
      cause = verdict.why != nullptr ? EligibilityCause::method : EligibilityCause::pattern;
      if (verdict.why != nullptr) result.whys_[node] = verdict.why;
      continue;
    }
    cause = EligibilityCause::eligible;
    result.methods_[node.index] = method;
    for (std::uint32_t i = 0; i < results; ++i) result.states_[{node, i}] = verdict.state;
  }
  return result;
}

}  // namespace quadrant::inline v0
