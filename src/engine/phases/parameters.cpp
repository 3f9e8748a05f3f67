#include <fmt/format.h>

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/depth_first_search.hpp>
#include <boost/pending/disjoint_sets.hpp>
#include <optional>
#include <utility>

#include "quadrant/engine/phases/selection.hpp"

namespace quadrant::inline v0 {

class ParameterUnifier {
 public:
  ParameterUnifier(const SelectionProblem& problem, const Selection& selection)
      : problem_(problem),
        selection_(selection),
        in_use_(problem.requests.requests().size(), 0),
        rank_(in_use_.size()),
        parent_(in_use_.size()),
        sets_(rank_.data(), parent_.data()) {}

  [[nodiscard]] Expected<ParameterTable> run() && {
    find_forms_in_use();
    couple();
    collect_rules();
    if (error_) return fail(*std::move(error_));
    if (!matters()) return std::move(table_);
    QUADRANT_CHECK(make_groups());
    QUADRANT_CHECK(sort_groups());
    return std::move(table_);
  }

 private:
  struct Derivation {
    RequestId derived;
    std::vector<RequestId> sources;
  };

  // What one node says under one scheme, with its slots looked up.
  class Rules final : public ParameterRules {
   public:
    Rules(ParameterUnifier& run, NodeId node, std::uint32_t scheme) noexcept
        : run_(&run), node_(node), scheme_(scheme) {}

    void share(Slot a, Slot b) override {
      const RequestId first = request(a);
      const RequestId second = request(b);
      if (first == no_request || second == no_request) return;
      run_->share(first, second);
    }
    void derive(Slot derived, std::initializer_list<Slot> sources) override {
      Derivation derivation{request(derived), {}};
      if (derivation.derived == no_request) return;
      for (const Slot slot : sources) {
        const RequestId source = request(slot);
        if (source == no_request) return;
        derivation.sources.push_back(source);
      }
      run_->derivations_.push_back(std::move(derivation));
    }

   private:
    [[nodiscard]] RequestId request(Slot slot) const {
      const auto operands = run_->problem_.graph.operands(node_);
      if (!slot.is_result && slot.index >= operands.size()) return no_request;
      const Value value = slot.is_result ? Value{node_, slot.index} : operands[slot.index];
      if (value.is_absent()) return no_request;
      const ConstraintId form = slot.is_result ? run_->selection_.produced(value)
                                               : run_->selection_.read(node_, slot.index);
      const RequestGraph& requests = run_->problem_.requests;
      const bool is_ours = form != float_form && requests.constraints().scheme(form) == scheme_;
      return is_ours ? requests.find(value, form) : no_request;
    }

    ParameterUnifier* run_;
    NodeId node_;
    std::uint32_t scheme_;
  };

  template <class Visit>
  void for_each_value(Visit visit) const {
    for (const NodeId node : problem_.order) {
      const std::uint32_t count = problem_.eligibility.numbering()->result_count(node);
      for (std::uint32_t i = 0; i < count; ++i) visit(Value{node, i});
    }
  }

  // Where nobody shares parameters and no scheme resolves them, there is nothing to tell.
  [[nodiscard]] bool matters() const {
    bool matters = is_shared_ || !derivations_.empty() || !problem_.couplings.empty();
    for (std::uint32_t i = 0; i < problem_.registry.scheme_count(); ++i) {
      matters |= problem_.registry.scheme(i).can_resolve();
    }
    return matters;
  }

  void use(RequestId id) {
    if (id == no_request || in_use_[id] != 0) return;
    in_use_[id] = 1;
    sets_.make_set(id);
  }

  void find_forms_in_use() {
    for_each_value([&](Value value) {
      if (selection_.is_selected(value)) {
        use(selection_[value].request);
      } else if (selection_.produced(value) != float_form) {
        use(problem_.requests.find(value, selection_.produced(value)));
      }
    });
    for (const Conversion& conversion : selection_.conversions()) use(conversion.request);
  }

  [[nodiscard]] std::string_view name(RequestId id) const {
    return problem_.graph.value_name(problem_.requests[id].value);
  }

  void share(RequestId a, RequestId b) {
    const ConstraintTable& constraints = problem_.requests.constraints();
    if (problem_.requests[a].constraint != problem_.requests[b].constraint) {
      if (error_) return;
      error_ = refusal(fmt::format("'{}' as {} and '{}' as {} cannot share parameters", name(a),
                                   constraints.print(problem_.requests[a].constraint), name(b),
                                   constraints.print(problem_.requests[b].constraint)),
                       a);
      return;
    }
    sets_.union_set(a, b);
    is_shared_ = true;
  }

  [[nodiscard]] Error refusal(std::string message, RequestId request) const {
    return {ErrorCode::impossible, std::move(message), {.tensor = std::string(name(request))}};
  }

  // Coupled values share in each form that several of them have.
  void couple() {
    for (const std::vector<Value>& members : problem_.couplings.all()) {
      std::unordered_map<std::uint32_t, RequestId> first;
      for (const Value value : members) {
        for (RequestId id = problem_.requests.first(value); id != no_request;
             id = problem_.requests[id].next) {
          if (in_use_[id] == 0) continue;
          const auto form = static_cast<std::uint32_t>(problem_.requests[id].constraint);
          const auto [known, is_new] = first.emplace(form, id);
          if (!is_new) sets_.union_set(known->second, id);
        }
      }
    }
  }

  void collect_rules() {
    for (const NodeId node : problem_.order) {
      for (std::uint32_t scheme = 0; scheme < problem_.registry.scheme_count(); ++scheme) {
        const QuantizationMethod* method = problem_.eligibility.method(node, scheme);
        if (method == nullptr) continue;
        Rules rules(*this, node, scheme);
        method->tie({&problem_.graph, node}, rules);
      }
    }
  }

  Expected<void> make_groups() {
    constexpr std::uint32_t none = ParameterTable::none;
    table_.group_of_.assign(in_use_.size(), none);
    std::vector<std::uint32_t> group_of_root(in_use_.size(), none);
    for_each_value([&](Value value) {
      for (RequestId id = problem_.requests.first(value); id != no_request;
           id = problem_.requests[id].next) {
        if (in_use_[id] == 0) continue;
        std::uint32_t& group = group_of_root[sets_.find_set(id)];
        if (group == none) {
          group = static_cast<std::uint32_t>(table_.groups_.size());
          table_.groups_.push_back({problem_.requests[id].constraint, {}, {}});
        }
        table_.group_of_[id] = group;
        table_.groups_[group].members.push_back(id);
      }
    });
    for (ParameterGroup& group : table_.groups_) {
      std::ranges::sort(group.members, {}, [&](RequestId id) { return name(id); });
    }
    for (const Derivation& derivation : derivations_) {
      ParameterGroup& group = table_.groups_[table_.group_of_[derivation.derived]];
      std::vector<std::uint32_t> sources;
      sources.reserve(derivation.sources.size());
      for (const RequestId source : derivation.sources) {
        sources.push_back(table_.group_of_[source]);
      }
      if (!group.sources.empty() && group.sources != sources) {
        return fail(
            refusal("its parameters follow from those of two users, which differ; exclude one of "
                    "them",
                    derivation.derived));
      }
      group.sources = std::move(sources);
    }
    return {};
  }

  // Sources before what is derived from them.
  Expected<void> sort_groups() {
    using Dependencies = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;
    if (derivations_.empty()) return {};
    const auto count = static_cast<std::uint32_t>(table_.groups_.size());
    Dependencies dependencies(count);
    for (std::uint32_t group = 0; group < count; ++group) {
      for (const std::uint32_t source : table_.groups_[group].sources) {
        boost::add_edge(group, source, dependencies);
      }
    }
    // As in topological_order: a cycle is noted where BGL would throw.
    std::vector<std::size_t> order;
    std::optional<std::size_t> on_cycle;
    struct Visitor : boost::default_dfs_visitor {
      std::vector<std::size_t>* order = nullptr;
      std::optional<std::size_t>* on_cycle = nullptr;
      void back_edge(const Dependencies::edge_descriptor& edge, const Dependencies& graph) const {
        *on_cycle = boost::source(edge, graph);
      }
      void finish_vertex(std::size_t vertex, const Dependencies&) const {
        order->push_back(vertex);
      }
    };
    Visitor visitor;
    visitor.order = &order;
    visitor.on_cycle = &on_cycle;
    boost::depth_first_search(dependencies, boost::visitor(visitor));
    if (on_cycle) {
      return fail(refusal("its parameters would follow from themselves",
                          table_.groups_[*on_cycle].members.front()));
    }
    std::vector<std::uint32_t> place(count);
    std::vector<ParameterGroup> sorted(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      place[order[i]] = i;
      sorted[i] = std::move(table_.groups_[order[i]]);
    }
    for (ParameterGroup& group : sorted) {
      for (std::uint32_t& source : group.sources) source = place[source];
    }
    for (std::uint32_t& group : table_.group_of_) {
      if (group != ParameterTable::none) group = place[group];
    }
    table_.groups_ = std::move(sorted);
    return {};
  }

  const SelectionProblem& problem_;
  const Selection& selection_;
  ParameterTable table_;
  std::vector<std::uint8_t> in_use_;  // by request
  std::vector<std::uint32_t> rank_;
  std::vector<std::uint32_t> parent_;
  boost::disjoint_sets<std::uint32_t*, std::uint32_t*> sets_;
  bool is_shared_ = false;
  std::vector<Derivation> derivations_;
  std::optional<Error> error_;
};

Expected<ParameterTable> unify_parameters(const SelectionProblem& problem,
                                          const Selection& selection) {
  return ParameterUnifier(problem, selection).run();
}

}  // namespace quadrant::inline v0
