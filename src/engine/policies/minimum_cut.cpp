#include "engine/policies/minimum_cut.hpp"

#include <algorithm>
#include <boost/pending/disjoint_sets.hpp>
#include <numeric>
#include <utility>
#include <vector>

#include "engine/policies/cut_network.hpp"

namespace quadrant::inline v0 {
namespace {

// Requests on one of two sides, so that what needs each other is on one, and two forms of a value
// are on both. Each request is there twice, as one that is high and as one that is low.
class Sides {
 public:
  explicit Sides(std::size_t requests)
      : rank_(2 * requests), parent_(2 * requests), is_high_(2 * requests, undecided) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }

  void join(RequestId a, RequestId b) {
    sets().union_set(high(a), high(b));
    sets().union_set(low(a), low(b));
  }
  void oppose(RequestId a, RequestId b) {
    sets().union_set(high(a), low(b));
    sets().union_set(low(a), high(b));
  }
  /// False where it cannot be. What is open is decided by the order of `requests`.
  [[nodiscard]] bool decide(const std::vector<RequestId>& requests) {
    return std::ranges::all_of(requests, [this](RequestId id) { return decide(id); });
  }
  [[nodiscard]] bool is_high(RequestId id) { return is_high_[sets().find_set(high(id))] == 1; }

 private:
  static constexpr std::uint8_t undecided = 2;

  [[nodiscard]] bool decide(RequestId id) {
    const std::size_t as_high = sets().find_set(high(id));
    const std::size_t as_low = sets().find_set(low(id));
    if (as_high != as_low && is_high_[as_high] == undecided) {
      is_high_[as_high] = 0;
      is_high_[as_low] = 1;
    }
    return as_high != as_low;
  }

  [[nodiscard]] static std::size_t high(RequestId id) noexcept { return 2 * std::size_t{id}; }
  [[nodiscard]] static std::size_t low(RequestId id) noexcept { return 2 * std::size_t{id} + 1; }
  [[nodiscard]] boost::disjoint_sets<std::size_t*, std::size_t*> sets() {
    return {rank_.data(), parent_.data()};
  }

  std::vector<std::size_t> rank_;
  std::vector<std::size_t> parent_;
  std::vector<std::uint8_t> is_high_;  // by set
};

// Labels in a row: low < float < high. A node asks whether its label is high, and whether it is
// above low; an operand asks the same of the form that it reads.
class Cut {
 public:
  Cut(const SelectionProblem& problem, const Prices& prices, const SelectionModel& model,
      std::span<const VariableId> component)
      : problem_(problem),
        requests_(problem.requests),
        prices_(prices),
        model_(model),
        is_in_(model.variable_count(), 0),
        is_met_(problem.requests.requests().size(), 0),
        sides_(problem.requests.requests().size()),
        nodes_(problem.graph.index_bound()),
        operands_(problem.graph, [](Value /*operand*/) { return Answer{}; }) {
    for (const VariableId variable : component) is_in_[variable] = 1;
  }

  [[nodiscard]] std::optional<CutSelection> run(const Labelling& around) {
    if (!decide_sides() || !ask()) return std::nullopt;
    const auto answers = network_.solve();
    if (!answers) return std::nullopt;
    return CutSelection{read_off(*answers, around), Gain{answers->gain}};
  }

 private:
  // What is asked of a node, or of how an operand is read.
  struct Answer {
    Literal high = no;        // is it high?
    Literal above_low = yes;  // is it not low?
  };
  struct OfNode {
    Answer label;
    const Label* high = nullptr;
    const Label* low = nullptr;
    const Label* real = nullptr;
  };

  [[nodiscard]] bool contains(VariableId variable) const {
    return variable != SelectionModel::none && is_in_[variable] != 0;
  }
  [[nodiscard]] bool takes(NodeId node, const Benefit& benefit) const {
    return benefit.is_of_taking() && contains(model_.variable(node, benefit.operand));
  }

  void meet(RequestId id) {
    if (std::exchange(is_met_[id], 1) != 0) return;
    ordered_.push_back(id);
    const Request& request = requests_[id];
    for (RequestId other = requests_.first(request.value); other != no_request;
         other = requests_[other].next) {
      if (other != id && is_met_[other] != 0) sides_.oppose(id, other);
    }
  }

  // A value that somebody in the component may make or read in codes.
  [[nodiscard]] bool is_met(Value value) const {
    for (RequestId id = requests_.first(value); id != no_request; id = requests_[id].next) {
      if (is_met_[id] != 0) return true;
    }
    return false;
  }

  [[nodiscard]] bool find_sides(NodeId node) {
    if (contains(model_.variable(node))) {
      for (const Label& label : model_.labels(node)) {
        if (label.scheme) return false;
        if (!label.is_float()) join_sides(node, label);
      }
    }
    for (const Benefit& benefit : requests_.benefits(node)) {
      if (takes(node, benefit)) meet(benefit.request);
    }
    // What came as asked is a gain as long as the node stays float: more than a cut can say.
    const auto came_as_asked = [&](const Benefit& benefit) {
      return benefit.is_of_holding() && requests_[benefit.request].given;
    };
    return !contains(model_.variable(node)) ||
           std::ranges::none_of(requests_.benefits(node), came_as_asked);
  }

  // What a label makes, and what it needs for that.
  void join_sides(NodeId node, const Label& label) {
    const Request& request = requests_[label.request];
    meet(label.request);
    const auto join = [&](RequestId id) {
      meet(id);
      sides_.join(label.request, id);
    };
    for (std::uint32_t i = 0; i < problem_.graph.result_count(node); ++i) {
      const RequestId sibling = requests_.find({node, i}, request.constraint);
      if (sibling != no_request) join(sibling);
    }
    const Alternative& alternative = requests_.alternatives(request)[label.alternative];
    for (const Need& need : requests_.needs(alternative)) join(need.request);
  }

  // `made`: one request of each form. False where the member is in a form that nobody asks it for.
  [[nodiscard]] bool join_member(Value value, const Label& label, std::vector<RequestId>& made) {
    const ConstraintId form = model_.made(value, label);
    if (form == float_form) return true;
    const RequestId id = requests_.find(value, form);
    if (id == no_request) return false;
    const auto same =
        std::ranges::find(made, form, [&](RequestId other) { return requests_[other].constraint; });
    if (same != made.end()) {
      sides_.join(*same, id);
    } else {
      made.push_back(id);
    }
    return true;
  }

  // False where the members of a coupling may take more than two forms, or one without a request.
  [[nodiscard]] bool find_sides_of_couplings() {
    for (const std::vector<Value>& members : problem_.couplings.all()) {
      std::vector<RequestId> made;
      for (const Value value : members) {
        if (!contains(model_.variable(value.node))) continue;
        for (const Label& label : model_.labels(value.node)) {
          if (!join_member(value, label, made)) return false;
        }
      }
      if (made.size() > 2) return false;
      if (made.size() == 2) sides_.oppose(made[0], made[1]);
    }
    return true;
  }

  [[nodiscard]] bool decide_sides() {
    const auto find = [this](NodeId node) { return find_sides(node); };
    if (!std::ranges::all_of(model_.order(), find)) return false;
    return find_sides_of_couplings() && sides_.decide(ordered_);
  }

  // Puts all questions and what their answers cost.
  [[nodiscard]] bool ask() {
    if (!std::ranges::all_of(model_.order(), [this](NodeId node) { return add_node(node); }))
      return false;
    for (const NodeId node : model_.order()) {
      for (std::uint32_t i = 0; i < problem_.graph.result_count(node); ++i) {
        if (is_met({node, i}) && !add_value({node, i})) return false;
      }
    }
    return add_couplings();
  }

  // --- what nodes decide ---
  [[nodiscard]] bool add_node(NodeId node) {
    if (contains(model_.variable(node)) && !add_labels(node)) return false;
    add_needs(node, nodes_[node.index].high, &Answer::high);
    add_needs(node, nodes_[node.index].low, &Answer::above_low);
    const std::size_t operands = problem_.graph.operands(node).size();
    for (std::uint32_t i = 0; i < operands; ++i) {
      if (!add_read(node, i)) return false;
    }
    return true;
  }

  [[nodiscard]] bool add_labels(NodeId node) {
    OfNode& of = nodes_[node.index];
    for (const Label& label : model_.labels(node)) {
      const Label*& place = place_of(of, label);
      if (place != nullptr) return false;  // two ways of the same form
      place = &label;
    }
    if (of.real == nullptr) return false;
    if (of.high != nullptr) of.label.high = network_.ask();
    if (of.low != nullptr) of.label.above_low = network_.ask();
    network_.imply(of.label.high, of.label.above_low);
    if (of.high != nullptr) network_.add_gain(of.label.high, of.high->own.amount());
    if (of.low != nullptr) network_.add_gain_of_not(of.label.above_low, of.low->own.amount());
    return true;
  }
  [[nodiscard]] const Label*& place_of(OfNode& of, const Label& label) {
    if (label.is_float()) return of.real;
    return sides_.is_high(label.request) ? of.high : of.low;
  }

  // What a label needs is read as the label says.
  void add_needs(NodeId node, const Label* label, Literal Answer::* side) {
    if (label == nullptr) return;
    const Request& request = requests_[label->request];
    for (const Need& need : requests_.needs(requests_.alternatives(request)[label->alternative])) {
      operands_[node][need.operand].*side = nodes_[node.index].label.*side;
    }
  }

  [[nodiscard]] bool add_read(NodeId node, std::uint32_t operand) {
    const OfNode& of = nodes_[node.index];
    Answer& read = operands_[node][operand];
    std::optional<Gain> take_high;
    std::optional<Gain> take_low;
    for (const Benefit& benefit : requests_.benefits(node, operand)) {
      if (!takes(node, benefit)) continue;
      std::optional<Gain>& take = sides_.is_high(benefit.request) ? take_high : take_low;
      if (take) return false;  // asked for twice
      take = benefit.gain;
    }
    // A node that makes codes reads as its label says: what it takes in float must go with that.
    if (take_high) {
      if (of.high != nullptr && read.high != of.label.high) return false;
      read.high = network_.ask();
      network_.imply(of.label.high, read.high);
      network_.imply(read.high, of.label.above_low);
      network_.add_gain(read.high, take_high->amount());
      network_.add_gain(of.label.high, (Gain{} - *take_high).amount());
    }
    if (take_low) {
      if (of.low != nullptr && read.above_low != of.label.above_low) return false;
      read.above_low = network_.ask();
      network_.imply(read.above_low, of.label.above_low);
      network_.imply(of.label.high, read.above_low);
      network_.add_gain_of_not(read.above_low, take_low->amount());
      network_.add_gain_of_not(of.label.above_low, (Gain{} - *take_low).amount());
    }
    network_.imply(read.high, read.above_low);
    return true;
  }

  // --- what values cost ---
  [[nodiscard]] bool add_value(Value value) {
    RequestId high = no_request;
    RequestId low = no_request;
    for (RequestId id = requests_.first(value); id != no_request; id = requests_[id].next) {
      if (is_met_[id] == 0) continue;
      RequestId& place = sides_.is_high(id) ? high : low;
      if (place != no_request) return false;
      place = id;
    }
    const bool came_quantized = problem_.eligibility.state(value) == State::Quantized;
    const auto is_other = [&](RequestId id) { return id != no_request && !requests_[id].given; };
    if (came_quantized && (is_other(high) || is_other(low))) return false;  // codes of codes
    const Answer made = made_of(value, high, low);
    if (!is_by_float(value, high, low)) return false;
    find_reads(value);
    if (high != no_request) add_high(value, high, made, came_quantized);
    if (low != no_request) add_low(value, low, made, came_quantized);
    return add_held(value, high, low, made);
  }

  [[nodiscard]] Answer made_of(Value value, RequestId high, RequestId low) const {
    const auto is_made = [&](RequestId id, const Label* label) {
      return id != no_request && label != nullptr &&
             model_.made(value, *label) == requests_[id].constraint;
    };
    const auto is_given = [&](RequestId id) {
      return id != no_request && problem_.eligibility.given(value) == requests_[id].constraint;
    };
    const OfNode& of = nodes_[value.node.index];
    Answer made;
    if (is_made(high, of.high)) made.high = of.label.high;
    if (is_made(low, of.low)) made.above_low = of.label.above_low;
    if (is_given(high)) made = {yes, yes};
    if (is_given(low)) made = {no, no};
    return made;
  }

  // Whether the way from one form to the other is never cheaper than through floats.
  [[nodiscard]] bool is_by_float(Value value, RequestId high, RequestId low) const {
    if (high == no_request || low == no_request) return true;
    const auto is_longer = [&](RequestId from, RequestId to) {
      const auto direct =
          prices_.convert(value, requests_[from].constraint, requests_[to].constraint);
      if (!direct) return true;
      const std::optional<Gain> entry = requests_[to].entry;
      return entry && *direct <= prices_.leave(value, requests_[from].constraint) + *entry;
    };
    return is_longer(high, low) && is_longer(low, high);
  }

  // The answers to how a value is read, each once.
  void find_reads(Value value) {
    are_high_.clear();
    are_above_low_.clear();
    for (const Use& use : problem_.graph.uses(value.node)) {
      if (use.result != value.result) continue;
      const Answer& read = operands_[use.user][use.operand];
      are_high_.push_back(read.high);
      are_above_low_.push_back(read.above_low);
    }
    for (std::vector<Literal>* answers : {&are_high_, &are_above_low_}) {
      std::ranges::sort(*answers, {}, &Literal::question);
      const auto [first, last] = std::ranges::unique(*answers);
      answers->erase(first, last);
    }
  }

  // Whether any of `answers` is true, or more: it costs something.
  [[nodiscard]] Literal any_of(std::span<const Literal> answers) {
    if (answers.size() == 1) return answers.front();
    const Literal any = network_.ask();
    for (const Literal answer : answers) network_.imply(answer, any);
    return any;
  }
  // Whether all of `answers` are true, or less: it costs something that they are not.
  [[nodiscard]] Literal all_of(std::span<const Literal> answers) {
    if (answers.size() == 1) return answers.front();
    const Literal all = network_.ask();
    for (const Literal answer : answers) network_.imply(all, answer);
    return all;
  }

  void add_high(Value value, RequestId high, const Answer& made, bool came_quantized) {
    if (const std::optional<Gain> entry = requests_[high].entry) {
      // Made of floats once, for all who read it so.
      network_.add_cost(any_of(are_high_), made.high, (Gain{} - *entry).amount());
    } else {
      for (const Literal is_high : are_high_) network_.imply(is_high, made.high);
    }
    if (came_quantized || made.high == no) return;
    // Floats made of it once, for all who do not read it so.
    const Gain leave = prices_.leave(value, requests_[high].constraint);
    network_.add_cost(made.high, all_of(are_high_), (Gain{} - leave).amount());
  }

  void add_low(Value value, RequestId low, const Answer& made, bool came_quantized) {
    if (const std::optional<Gain> entry = requests_[low].entry) {
      network_.add_cost(made.above_low, all_of(are_above_low_), (Gain{} - *entry).amount());
    } else {
      for (const Literal is_above : are_above_low_) network_.imply(made.above_low, is_above);
    }
    if (came_quantized || made.above_low == yes) return;
    const Gain leave = prices_.leave(value, requests_[low].constraint);
    network_.add_cost(any_of(are_above_low_), made.above_low, (Gain{} - leave).amount());
  }

  // What nodes that are float in any case gain from how it is held.
  [[nodiscard]] bool add_held(Value value, RequestId high, RequestId low, const Answer& made) {
    const bool is_open = !made.high.is_constant() || !made.above_low.is_constant();
    // What is held whatever is decided counts with its node.
    if (!is_open && !contains(model_.variable(value.node))) return true;
    for (const Use& use : problem_.graph.uses(value.node)) {
      if (use.result != value.result) continue;
      for (const Benefit& benefit : requests_.benefits(use.user, use.operand)) {
        if (!benefit.is_of_holding()) continue;
        const bool is_high = benefit.request == high;
        if (!is_high && benefit.request != low) continue;
        if (contains(model_.variable(use.user))) return false;
        // Of a constant this is a constant gain, too.
        if (is_high) {
          network_.add_gain(made.high, benefit.gain.amount());
        } else {
          network_.add_gain_of_not(made.above_low, benefit.gain.amount());
        }
      }
    }
    return true;
  }

  // Whether the member is high, and whether it is above low: no question where it cannot choose.
  [[nodiscard]] Answer answer_of(Value value) const {
    const OfNode& of = nodes_[value.node.index];
    const auto makes = [&](const Label* label) {
      return label != nullptr && model_.made(value, *label) != float_form;
    };
    return {makes(of.high) ? of.label.high : no, makes(of.low) ? of.label.above_low : yes};
  }

  [[nodiscard]] bool add_couplings() {
    const Couplings& couplings = problem_.couplings.all();
    for (std::size_t i = 0; i < couplings.size(); ++i) {
      const std::vector<Value>& members = couplings[i];
      const bool is_ours = std::ranges::any_of(
          members, [&](Value value) { return contains(model_.variable(value.node)); });
      if (!is_ours) continue;
      const bool is_given = std::ranges::any_of(
          members, [&](Value value) { return problem_.eligibility.given(value) != float_form; });
      if (is_given) return false;
      // Whether some member is high; then none is low.
      const Literal is_any_high = network_.ask();
      for (const Value value : members) {
        const Answer made = answer_of(value);
        network_.imply(made.high, is_any_high);
        network_.imply(is_any_high, made.above_low);
      }
      if (i >= problem_.couplings.strict().size()) continue;
      const Answer first = answer_of(members.front());
      for (const Value value : members) {
        const Answer made = answer_of(value);
        network_.imply(first.high, made.high);
        network_.imply(made.high, first.high);
        network_.imply(first.above_low, made.above_low);
        network_.imply(made.above_low, first.above_low);
      }
    }
    return true;
  }

  // --- the answers ---
  [[nodiscard]] Labelling read_off(const CutNetwork::Answers& answers, const Labelling& around) {
    Labelling result = around;
    for (const NodeId node : model_.order()) {
      const bool is_ours = contains(model_.variable(node));
      if (is_ours) result.labels[node.index] = chosen_label(node, answers);
      const auto operands = problem_.graph.operands(node);
      for (std::uint32_t i = 0; i < operands.size(); ++i) {
        const bool is_decided = is_ours || contains(model_.variable(node, i));
        if (!is_decided || operands[i].is_absent()) continue;
        result.reads[node][i] = form_read(operands[i], operands_[node][i], answers);
      }
    }
    return result;
  }

  [[nodiscard]] std::uint32_t chosen_label(NodeId node, const CutNetwork::Answers& answers) const {
    const OfNode& of = nodes_[node.index];
    const Label* chosen = of.real;
    if (answers[of.label.high]) chosen = of.high;
    if (!answers[of.label.above_low]) chosen = of.low;
    return static_cast<std::uint32_t>(chosen - model_.labels(node).data());
  }

  [[nodiscard]] ConstraintId form_read(Value value, const Answer& read,
                                       const CutNetwork::Answers& answers) {
    const bool is_high = answers[read.high];
    if (!is_high && answers[read.above_low]) return float_form;
    for (RequestId id = requests_.first(value); id != no_request; id = requests_[id].next) {
      if (is_met_[id] != 0 && sides_.is_high(id) == is_high) return requests_[id].constraint;
    }
    return float_form;
  }

  const SelectionProblem& problem_;
  const RequestGraph& requests_;
  const Prices& prices_;
  const SelectionModel& model_;
  std::vector<std::uint8_t> is_in_;   // by variable
  std::vector<std::uint8_t> is_met_;  // by request
  std::vector<RequestId> ordered_;    // those that were met
  Sides sides_;
  std::vector<OfNode> nodes_;  // by index
  OperandMap<Answer> operands_;
  std::vector<Literal> are_high_;       // how readers of one value read it
  std::vector<Literal> are_above_low_;  // the same
  CutNetwork network_;
};

}  // namespace

std::optional<CutSelection> select_by_cut(const SelectionProblem& problem, const Prices& prices,
                                          const SelectionModel& model,
                                          std::span<const VariableId> component,
                                          const Labelling& around) {
  return Cut(problem, prices, model, component).run(around);
}

}  // namespace quadrant::inline v0
