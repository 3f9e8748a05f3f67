#include "quadrant/engine/phases/propagation.hpp"

#include <algorithm>
#include <range/v3/view/reverse.hpp>
#include <set>
#include <unordered_map>
#include <utility>

#include "engine/phases/coupling.hpp"
#include "engine/phases/holding.hpp"
#include "engine/phases/possible.hpp"
#include "engine/policies/form_of.hpp"
#include "engine/policies/prices.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

class GainPropagator {
 public:
  GainPropagator(const GraphView& graph, const std::vector<NodeId>& order, const Registry& registry,
                 const Eligibility& eligibility, const GainModel& gains,
                 std::span<const std::vector<Value>> of_one_type)
      : graph_(graph),
        order_(order),
        registry_(registry),
        eligibility_(eligibility),
        gains_(gains),
        of_one_type_(of_one_type),
        requests_(eligibility.constraints(), eligibility.numbering(), graph),
        prices_(graph, registry, requests_.constraints(), gains) {}

  [[nodiscard]] RequestGraph run() && {
    // What a group is asked for reaches the unread of another through each group in between.
    constexpr int most_rounds = 8;
    for (int round = 0; round == 0 || (round < most_rounds && find_followers()); ++round) {
      for (const NodeId node : order_ | ranges::views::reverse) post(node);
    }
    for (const NodeId node : order_) resolve(node);
    for (const NodeId node : order_) add_flows(node);
    for (const NodeId node : order_ | ranges::views::reverse) pass_flow(node);
    return std::move(requests_);
  }

 private:
  // Receives what one node answers, and posts it to the node's parents. Needs and alternatives are
  // appended where they stay: no call adds to those of another request.
  class Collector final : public RequestCollector {
   public:
    enum class Hook : std::uint8_t { request, callback };

    Collector(GainPropagator& run, NodeRef node, std::uint32_t scheme, Hook hook) noexcept
        : RequestCollector(run.eligibility_.facts(scheme)),
          run_(&run),
          node_(node),
          scheme_(scheme),
          hook_(hook),
          possible_(run.eligibility_, scheme) {}

    void need(std::uint32_t operand, const void* constraint) override {
      RequestGraph& requests = run_->requests_;
      const ConstraintId id = intern(constraint);
      if (hook_ == Hook::request) {
        together_.push_back({node_.id, operand, id, no_request, true, Gain{}, 0});
        return;
      }
      const RequestId request = run_->ask(node_.operand(operand), id, true);
      requests.needs_.push_back({request, operand});
      if (request != no_request) run_->asked_.push_back({request, operand});
      worth_ += worth(operand, id, {.takes_codes = true, .makes_codes = true});
    }
    void end_alternative(std::optional<Gain> gain) override {
      QUADRANT_ASSERT(hook_ == Hook::callback);  // `request` has no alternatives to give
      RequestGraph& requests = run_->requests_;
      const auto end = static_cast<std::uint32_t>(requests.needs_.size());
      requests.alternatives_.push_back({first_need_, end - first_need_, gain.value_or(worth_)});
      first_need_ = end;
      worth_ = Gain{};
    }
    void benefit(std::uint32_t operand, const void* constraint, std::optional<Gain> gain,
                 bool takes_codes) override {
      QUADRANT_ASSERT(hook_ == Hook::request);  // `callback` answers, and asks for nothing itself
      const Value value = node_.operand(operand);
      if (value.is_absent()) return;
      const ConstraintId id = intern(constraint);
      const RequestId request = run_->ask(value, id, takes_codes);
      if (takes_codes && request != no_request) run_->asked_.push_back({request, operand});
      run_->requests_.benefits_.push_back(
          {node_.id, operand, id, request, takes_codes,
           gain ? *gain : worth(operand, id, {.takes_codes = takes_codes})});
    }
    void end_taking(std::optional<Gain> gain) override {
      QUADRANT_ASSERT(hook_ == Hook::request);  // `callback` answers, and asks for nothing itself
      const std::uint32_t number = ++run_->together_;
      const auto count = static_cast<std::int64_t>(together_.size());
      bool can_be_had = true;
      for (std::int64_t i = 0; i < count; ++i) {
        Benefit& member = together_[static_cast<std::size_t>(i)];
        member.together = number;
        member.gain = gain ? Gain{share_of(gain->amount(), i, count)}
                           : worth(member.operand, member.constraint, {.takes_codes = true});
        member.request = run_->ask(node_.operand(member.operand), member.constraint, true);
        can_be_had = can_be_had && member.request != no_request;
      }
      for (const Benefit& member : together_) {
        // One that is absent is nothing that could be told of.
        if (node_.operand(member.operand).is_absent()) continue;
        if (can_be_had) run_->asked_.push_back({member.request, member.operand});
        run_->requests_.benefits_.push_back(member);
      }
      together_.clear();
    }
    void produce(const void* constraint) override {
      QUADRANT_ASSERT(hook_ == Hook::request);
      const ConstraintId id = intern(constraint);
      for (std::uint32_t i = 0; i < node_.graph->result_count(node_.id); ++i) {
        const Value result{node_.id, i};
        if (run_->eligibility_.state(result, scheme_) == State::Quantizable) {
          std::ignore = run_->add(result, id);
        }
      }
    }
    void refuse(std::string_view why) override { refusal_ = run_->requests_.reasons_->keep(why); }
    [[nodiscard]] const PossibilityContext& possibilities() const noexcept override {
      return possible_;
    }

    [[nodiscard]] const std::string* refusal() const noexcept { return refusal_; }

   private:
    [[nodiscard]] ConstraintId intern(const void* constraint) {
      return run_->requests_.constraints().intern(scheme_, constraint);
    }

    struct Manner {
      bool takes_codes = false;
      bool makes_codes = false;
    };
    [[nodiscard]] Gain worth(std::uint32_t operand, ConstraintId form, Manner manner) const {
      const ConstraintTable& constraints = run_->requests_.constraints();
      return run_->gains_.of_operand({node_, operand, form_of(run_->registry_, constraints, form),
                                      manner.takes_codes, manner.makes_codes});
    }

    GainPropagator* run_;
    NodeRef node_;
    std::uint32_t scheme_;
    Hook hook_;
    Possible possible_;
    std::uint32_t first_need_ = static_cast<std::uint32_t>(run_->requests_.needs_.size());
    Gain worth_;
    std::vector<Benefit> together_;  // what is open, in `request`
    const std::string* refusal_ = nullptr;
  };

  // --- posting ---------------------------------------------------------------------------------
  // Equal constraints on one value are one request.
  [[nodiscard]] RequestId add(Value value, ConstraintId constraint) {
    if (const RequestId known = requests_.find(value, constraint); known != no_request) {
      return known;
    }
    const std::uint32_t scheme = requests_.constraints().scheme(constraint);
    Request request;
    request.value = value;
    request.constraint = constraint;
    request.next = requests_.first_of_value_[value];
    request.given = eligibility_.given(value) == constraint;
    const bool may_enter =
        eligibility_.state(value, scheme) != State::Quantized && !eligibility_.stays_float(value);
    if (may_enter && registry_.scheme(scheme).can_enter()) {
      request.entry = prices_.enter(value, constraint);
    }
    const auto id = static_cast<RequestId>(requests_.requests_.size());
    requests_.requests_.push_back(request);
    requests_.first_of_value_[value] = id;
    return id;
  }

  // What an operand is asked for. `codes`: in that form; otherwise it is to be stored so.
  [[nodiscard]] RequestId ask(Value value, ConstraintId constraint, bool codes) {
    if (value.is_absent() || eligibility_.stays_float(value)) return no_request;
    const std::uint32_t scheme = requests_.constraints().scheme(constraint);
    switch (eligibility_.state(value, scheme)) {
      case State::Quantizable:
        return add(value, constraint);
      case State::Quantized: {
        const ConstraintId given = eligibility_.given(value);
        const bool can_be =
            given == constraint ||
            (codes && given != float_form && prices_.convert(value, given, constraint).has_value());
        return can_be ? add(value, constraint) : no_request;
      }
      default: {
        if (!codes || !may_be_real(graph_.type(value).element) || !prices_.enter(value, constraint))
          return no_request;
        return add(value, constraint);
      }
    }
  }

  // Counts the uses that ask for codes, each once for each form: what several alternatives of a
  // node ask of one operand is one use.
  void count_asking_uses() {
    std::ranges::sort(asked_);
    const auto repeated = std::ranges::unique(asked_);
    asked_.erase(repeated.begin(), repeated.end());
    for (const auto& [request, operand] : asked_) ++requests_[request].asking_uses;
  }

  // Counts the uses that ask for codes in any form.
  void count_asked_operands(std::span<const Value> operands) {
    std::ranges::sort(asked_, {}, &Asked::operand);
    const auto repeated = std::ranges::unique(asked_, {}, &Asked::operand);
    asked_.erase(repeated.begin(), repeated.end());
    for (const Asked& asked : asked_) ++requests_.asked_uses_[operands[asked.operand]];
  }

  // Calls `visit(id)` for every request on `value`.
  template <class Visit>
  void for_each_request(Value value, Visit visit) const {
    for (RequestId id = requests_.first(value); id != no_request; id = requests_[id].next) {
      visit(id);
    }
  }

  // A node makes all its real results in one form, so what is asked of one is asked of all. The
  // first such result leads; the alternatives are found once, for it.
  [[nodiscard]] std::optional<Value> lead(NodeId node, std::uint32_t scheme) const {
    for (std::uint32_t i = 0; i < eligibility_.numbering()->result_count(node); ++i) {
      if (eligibility_.state({node, i}, scheme) == State::Quantizable) return Value{node, i};
    }
    return std::nullopt;
  }
  template <class Visit>
  void for_each_sibling(Value lead, std::uint32_t scheme, Visit visit) {
    for (std::uint32_t i = lead.result + 1; i < eligibility_.numbering()->result_count(lead.node);
         ++i) {
      const Value sibling{lead.node, i};
      if (eligibility_.state(sibling, scheme) == State::Quantizable) visit(sibling);
    }
  }
  void share_among_results(Value lead, std::uint32_t scheme) {
    const auto is_of_scheme = [&](RequestId id) {
      return requests_.constraints().scheme(requests_[id].constraint) == scheme;
    };
    for_each_sibling(lead, scheme, [&](Value sibling) {
      for_each_request(sibling, [&](RequestId id) {
        if (is_of_scheme(id)) std::ignore = add(lead, requests_[id].constraint);
      });
    });
    for_each_sibling(lead, scheme, [&](Value sibling) {
      for_each_request(lead, [&](RequestId id) {
        if (is_of_scheme(id)) std::ignore = add(sibling, requests_[id].constraint);
      });
    });
  }

  // What members of groups that nobody reads are to be asked for, as the others of their group are.
  // Whether there is more than before: then all is to be posted again, to an empty graph.
  [[nodiscard]] bool find_followers() {
    bool is_more = false;
    ReadValues read(graph_);
    for (const std::vector<Value>& members : of_one_type_) {
      std::set<ConstraintId> asked;
      for (const Value value : members) {
        for_each_request(value, [&](RequestId id) { asked.insert(requests_[id].constraint); });
      }
      for (const Value value : members) {
        if (read.contains(value)) continue;
        for (const ConstraintId form : asked) {
          const std::uint32_t scheme = requests_.constraints().scheme(form);
          const bool can_be = eligibility_.state(value, scheme) == State::Quantizable;
          if (!can_be || requests_.find(value, form) != no_request) continue;
          followers_[value].push_back(form);
          is_more = true;
        }
      }
    }
    if (is_more) start_anew();
    return is_more;
  }
  void start_anew() {
    requests_ = RequestGraph(eligibility_.constraints(), eligibility_.numbering(), graph_);
  }

  // Users before producers: when a node is reached, all requests to it have been posted.
  void post(NodeId node) {
    bool takes_part = false;
    for (std::uint32_t scheme = 0; scheme < registry_.scheme_count(); ++scheme) {
      takes_part |= eligibility_.method(node, scheme) != nullptr;
    }
    if (!takes_part) return;
    for (std::uint32_t i = 0; !followers_.empty() && i < graph_.result_count(node); ++i) {
      const auto found = followers_.find({node, i});
      if (found == followers_.end()) continue;
      for (const ConstraintId form : found->second) std::ignore = add(found->first, form);
    }
    const auto first_benefit = static_cast<std::uint32_t>(requests_.benefits_.size());
    asked_.clear();
    together_ = 0;
    for (std::uint32_t scheme = 0; scheme < registry_.scheme_count(); ++scheme) {
      const QuantizationMethod* method = eligibility_.method(node, scheme);
      if (method != nullptr) post(node, scheme, *method);
    }
    std::ranges::stable_sort(requests_.benefits_.begin() + first_benefit, requests_.benefits_.end(),
                             {}, &Benefit::operand);
    requests_.benefits_of_[node.index] = {
        first_benefit, static_cast<std::uint32_t>(requests_.benefits_.size()) - first_benefit};
    if (asked_.empty()) return;
    count_asking_uses();
    count_asked_operands(graph_.operands(node));
  }

  void post(NodeId node, std::uint32_t scheme, const QuantizationMethod& method) {
    const NodeRef ref{&graph_, node};
    Collector own(*this, ref, scheme, Collector::Hook::request);
    method.erased_request(ref, own);
    if (own.refusal() != nullptr) requests_.refusals_[{node, scheme}] = own.refusal();
    const std::optional<Value> leading = lead(node, scheme);
    if (!leading) return;
    if (eligibility_.numbering()->result_count(node) > 1) share_among_results(*leading, scheme);
    const auto* possible = eligibility_.possible(node, scheme);
    for_each_request(*leading, [&](RequestId id) {
      const ConstraintId constraint = requests_[id].constraint;
      if (requests_.constraints().scheme(constraint) != scheme) return;
      if (possible != nullptr && std::ranges::find(*possible, constraint) == possible->end()) {
        requests_[id].refusal =
            requests_.reasons_->keep("the quantizations that are given here do not include it");
        return;
      }
      if (const auto why_not = why_none_is_held(*leading, constraint)) {
        requests_[id].refusal = requests_.reasons_->keep(*why_not);
        for_each_sibling(*leading, scheme, [&](Value sibling) {
          requests_[requests_.find(sibling, constraint)].refusal = requests_[id].refusal;
        });
        return;
      }
      const auto first = static_cast<std::uint32_t>(requests_.alternatives_.size());
      Collector collector(*this, ref, scheme, Collector::Hook::callback);
      method.erased_callback(requests_.constraints().get(constraint), ref, collector);
      const auto count = static_cast<std::uint32_t>(requests_.alternatives_.size()) - first;
      const auto answer = [&](RequestId request) {
        requests_[request].refusal = collector.refusal();
        requests_[request].first_alternative = first;
        requests_[request].alternative_count = count;
      };
      answer(id);
      for_each_sibling(*leading, scheme,
                       [&](Value sibling) { answer(requests_.find(sibling, constraint)); });
    });
  }

  // A node makes all its results in one form, so the IR must hold all of them.
  [[nodiscard]] std::optional<std::string> why_none_is_held(Value lead, ConstraintId form) {
    const ConstraintTable& constraints = requests_.constraints();
    auto found = why_not_held(graph_, registry_, constraints, lead, form);
    for_each_sibling(lead, constraints.scheme(form), [&](Value sibling) {
      if (!found) found = why_not_held(graph_, registry_, constraints, sibling, form);
    });
    return found;
  }

  // --- acceptance ------------------------------------------------------------------------------
  [[nodiscard]] bool is_alive(const Alternative& alternative) const {
    return std::ranges::all_of(requests_.needs(alternative), [&](const Need& need) {
      return need.request != no_request && requests_[need.request].accepted;
    });
  }

  // Producers before users.
  void resolve(NodeId node) {
    for (std::uint32_t i = 0; i < eligibility_.numbering()->result_count(node); ++i) {
      const Value value{node, i};
      for_each_request(value, [&](RequestId id) {
        Request& request = requests_[id];
        request.producible =
            request.given || std::ranges::any_of(requests_.alternatives(request),
                                                 [&](const Alternative& a) { return is_alive(a); });
        request.accepted = request.producible || request.entry.has_value();
      });
      for_each_request(value, [&](RequestId id) {
        if (!requests_[id].accepted) requests_[id].accepted = is_convertible(requests_[id]);
      });
    }
  }

  // Whether the value can come in another form from which this one can be had.
  [[nodiscard]] bool is_convertible(const Request& request) const {
    const std::uint32_t scheme = requests_.constraints().scheme(request.constraint);
    if (!registry_.scheme(scheme).can_convert()) return false;
    const ConstraintId given = eligibility_.given(request.value);
    if (given != float_form) return true;  // or it would not have been posted
    bool found = false;
    for_each_request(request.value, [&](RequestId other) {
      found = found ||
              (requests_[other].producible &&
               prices_.convert(request.value, requests_[other].constraint, request.constraint));
    });
    return found;
  }

  // --- flow ------------------------------------------------------------------------------------
  void add_flows(NodeId node) {
    const auto benefits = requests_.benefits(node);
    const auto is_lost = [&](const Benefit& benefit) {
      return std::ranges::any_of(benefits, [&](const Benefit& other) {
        return other.together == benefit.together &&
               (other.request == no_request || !requests_[other.request].accepted);
      });
    };
    for (const Benefit& benefit : benefits) {
      if (benefit.together == 0 || !is_lost(benefit)) add_flow(benefit);
    }
  }

  void add_flow(const Benefit& benefit) {
    if (benefit.request == no_request) return;
    Request& request = requests_[benefit.request];
    if (benefit.takes_codes ? request.accepted : request.producible) request.flow += benefit.gain;
  }

  // Users before producers again: what can be made passes its gain on to what it needs.
  void pass_flow(NodeId node) {
    for (std::uint32_t scheme = 0; scheme < registry_.scheme_count(); ++scheme) {
      const std::optional<Value> leading = lead(node, scheme);
      if (!leading) continue;
      for_each_request(*leading, [&](RequestId id) {
        const Request& request = requests_[id];
        if (!request.producible || requests_.constraints().scheme(request.constraint) != scheme) {
          return;
        }
        Gain flow = request.flow;
        for_each_sibling(*leading, scheme, [&](Value sibling) {
          flow += requests_[requests_.find(sibling, request.constraint)].flow;
        });
        reached_.clear();
        for (const Alternative& alternative : requests_.alternatives(request)) {
          if (!is_alive(alternative)) continue;
          const auto needs = requests_.needs(alternative);
          share_flow((flow + alternative.gain).amount(), needs);
          if (request.alternative_count == 1) break;
          for (const Need& need : needs) reached_.push_back(need.request);
        }
      });
    }
  }

  // Splits `flow` evenly over the needs of one alternative, the remainder over the first ones.
  // Requests in `reached_` have had their share from another alternative: only one will come true.
  // A request that one alternative needs twice gets both shares.
  void share_flow(std::int64_t flow, std::span<const Need> needs) {
    if (needs.empty()) return;
    const auto count = static_cast<std::int64_t>(needs.size());
    for (std::int64_t i = 0; i < count; ++i) {
      const RequestId request = needs[static_cast<std::size_t>(i)].request;
      if (std::ranges::find(reached_, request) == reached_.end()) {
        requests_[request].flow += Gain{share_of(flow, i, count)};
      }
    }
  }
  // The part of `amount` that is the `which`-th of `count`, all of which add up to it.
  [[nodiscard]] static std::int64_t share_of(std::int64_t amount, std::int64_t which,
                                             std::int64_t count) noexcept {
    const std::int64_t remainder = amount % count;
    const std::int64_t unit = remainder < 0 ? -1 : 1;
    return amount / count + (which < remainder * unit ? unit : 0);
  }

  const GraphView& graph_;
  const std::vector<NodeId>& order_;
  const Registry& registry_;
  const Eligibility& eligibility_;
  const GainModel& gains_;
  std::span<const std::vector<Value>> of_one_type_;
  RequestGraph requests_;
  Prices prices_;
  std::unordered_map<Value, std::vector<ConstraintId>> followers_;  // what they are asked for
  struct Asked {
    RequestId request;
    std::uint32_t operand;
    friend auto operator<=>(const Asked&, const Asked&) = default;
  };
  std::vector<Asked> asked_;        // by the node at hand, as codes
  std::vector<RequestId> reached_;  // scratch of pass_flow
  std::uint32_t together_ = 0;      // how many `take_all` of the node at hand there were
};

RequestGraph propagate_gains(const GraphView& graph, const std::vector<NodeId>& order,
                             const Registry& registry, const Eligibility& eligibility,
                             const GainModel& gains,
                             std::span<const std::vector<Value>> of_one_type) {
  return GainPropagator(graph, order, registry, eligibility, gains, of_one_type).run();
}

}  // namespace quadrant::inline v0
