#include "engine/policies/selection_model.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "engine/phases/canonical_order.hpp"
#include "engine/policies/storage_gain.hpp"

namespace quadrant::inline v0 {
namespace {

// Quantizing is preferred among equals; else a number that is as good as random, but the same
// however the graph was built.
std::int64_t tie(std::uint32_t position, std::uint64_t which) noexcept {
  // The finalizer of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
  // generators, OOPSLA 2014).
  std::uint64_t mixed = (std::uint64_t{position} << 32U) + which + 0x9e3779b97f4a7c15U;
  mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
  mixed ^= mixed >> 31U;
  return (std::int64_t{1} << 33U) + static_cast<std::int64_t>(mixed >> 32U);
}

}  // namespace

SelectionModel::SelectionModel(const SelectionProblem& problem, const Prices& prices,
                               const ValueMap<RequestId>* planned)
    : problem_(problem),
      prices_(prices),
      order_(canonical_order(problem.graph, problem.order)),
      ranges_(problem.graph.index_bound()),
      variables_(problem.graph.index_bound(), none),
      reads_(problem.graph, [](Value /*operand*/) { return OperandReads{}; }) {
  for (std::uint32_t position = 0; position < order_.size(); ++position) {
    add_labels(order_[position], position, planned);
  }
  for (std::uint32_t position = 0; position < order_.size(); ++position) {
    const NodeId node = order_[position];
    const auto operands = static_cast<std::uint32_t>(problem_.graph.operands(node).size());
    for (std::uint32_t i = 0; i < operands; ++i) add_reads(node, i, position);
  }
}

void SelectionModel::add_values() {
  for (const NodeId node : order_) add_values_of(node);
  const Couplings& couplings = problem_.couplings.all();
  for (std::size_t i = 0; i < couplings.size(); ++i) {
    add_coupling(couplings[i], i < problem_.couplings.strict().size());
  }
  factors_.freeze();
}

// --- what nodes can do ---------------------------------------------------------------------------

void SelectionModel::add_labels(NodeId node, std::uint32_t position,
                                const ValueMap<RequestId>* planned) {
  std::vector<Label> labels;
  find_float_labels(node, labels);
  find_quantized_labels(node, planned, labels);
  const auto count = static_cast<std::uint32_t>(labels.size());
  ranges_[node.index] = {static_cast<std::uint32_t>(labels_.size()), count};
  labels_.insert(labels_.end(), labels.begin(), labels.end());
  if (count == 1) return;
  variables_[node.index] = factors_.add_variable(count);
  std::vector<Worth> worths;
  worths.reserve(count);
  for (const Label& label : labels) {
    const bool is_nothing = label.is_float() && label.together == 0;
    worths.push_back(is_nothing ? Worth{} : Worth{label.own, tie(position, label.number)});
  }
  add_factor(std::array{variable(node)}, worths);
}

// One for each scheme whose codes it may take one by one, if there are several; and one for each
// set of operands that it takes all of.
void SelectionModel::find_float_labels(NodeId node, std::vector<Label>& labels) const {
  std::vector<std::uint32_t> schemes;
  for (const Benefit& benefit : problem_.requests.benefits(node)) {
    if (!benefit.is_of_taking()) continue;
    const std::uint32_t scheme = problem_.requests.constraints().scheme(benefit.constraint);
    if (std::ranges::find(schemes, scheme) == schemes.end()) schemes.push_back(scheme);
  }
  std::ranges::sort(schemes);
  labels.emplace_back();
  if (schemes.size() >= 2) {
    labels.resize(schemes.size());
    for (std::size_t i = 0; i < schemes.size(); ++i) labels[i].scheme = schemes[i];
  }
  for (const auto& members : problem_.requests.taken_together(node)) {
    const Benefit& first = *members.front();
    Label label{.scheme = problem_.requests.constraints().scheme(first.constraint),
                .together = first.together,
                .number = static_cast<std::uint32_t>(labels.size())};
    for (const Benefit* member : members) label.own += member->gain;
    labels.push_back(label);
  }
}

void SelectionModel::find_quantized_labels(NodeId node, const ValueMap<RequestId>* planned,
                                           std::vector<Label>& labels) const {
  const RequestGraph& requests = problem_.requests;
  const std::size_t in_float = labels.size();
  for (std::uint32_t result = 0; result < problem_.graph.result_count(node); ++result) {
    for (const RequestId id : requests_in_order({node, result})) {
      const auto alternatives = requests.alternatives(requests[id]);
      for (std::uint32_t i = 0; i < alternatives.size(); ++i) {
        const bool can_be =
            std::ranges::none_of(requests.needs(alternatives[i]),
                                 [](const Need& need) { return need.request == no_request; });
        if (!can_be) continue;
        const Gain gain = alternatives[i].gain;
        labels.push_back({id, i, std::nullopt, gain + storage_gain(problem_, requests[id]),
                          gain > Gain{}, 0, static_cast<std::uint32_t>(labels.size())});
      }
    }
    // What one result can be, all can: the first that can be anything speaks for them.
    if (labels.size() != in_float) break;
  }
  if (planned == nullptr || labels.size() == in_float) return;
  const auto is_planned = [&](const Label& label) {
    const ConstraintId form = requests[label.request].constraint;
    for (std::uint32_t result = 0; result < problem_.graph.result_count(node); ++result) {
      const RequestId id = (*planned)[{node, result}];
      if (id != no_request && requests[id].constraint == form) return true;
    }
    return false;
  };
  const bool is_any_planned =
      std::any_of(labels.begin() + static_cast<std::ptrdiff_t>(in_float), labels.end(), is_planned);
  std::erase_if(labels, [&](const Label& label) {
    return label.is_float() ? is_any_planned : !is_planned(label);
  });
}

// By their constraints, whatever came first.
std::vector<RequestId> SelectionModel::requests_in_order(Value value) const {
  const RequestGraph& requests = problem_.requests;
  std::vector<RequestId> ids;
  for (RequestId id = requests.first(value); id != no_request; id = requests[id].next) {
    ids.push_back(id);
  }
  std::ranges::sort(ids, [&](RequestId a, RequestId b) {
    return requests.constraints().less(requests[a].constraint, requests[b].constraint);
  });
  return ids;
}

// The form that an operand is read in where that follows from the label alone.
SelectionModel::Read SelectionModel::read_by(NodeId node, std::uint32_t operand,
                                             const Label& label) const {
  Read read{float_form, label.is_float() && has_held_benefit(node, operand)};
  if (label.is_float()) {
    for (const Benefit& benefit : problem_.requests.benefits(node, operand)) {
      const bool is_taken = label.together != 0 && benefit.together == label.together;
      if (is_taken) read.form = benefit.constraint;
    }
    return read;
  }
  const Request& request = problem_.requests[label.request];
  const Alternative& alternative = problem_.requests.alternatives(request)[label.alternative];
  for (const Need& need : problem_.requests.needs(alternative)) {
    if (need.operand == operand) read.form = problem_.requests[need.request].constraint;
  }
  return read;
}

bool SelectionModel::has_held_benefit(NodeId user, std::uint32_t operand) const {
  return std::ranges::any_of(problem_.requests.benefits(user, operand), &Benefit::is_of_holding);
}

// The forms whose codes the node may take of an operand, and what each is worth; by their order.
std::vector<SelectionModel::Take> SelectionModel::find_takes(NodeId node,
                                                             std::uint32_t operand) const {
  std::vector<Take> takes;
  for (const Benefit& benefit : problem_.requests.benefits(node, operand)) {
    if (!benefit.is_of_taking()) continue;
    const auto known = std::ranges::find(takes, benefit.constraint, &Take::form);
    if (known == takes.end()) {
      takes.push_back({benefit.constraint, benefit.gain});
    } else {
      known->gain += benefit.gain;
    }
  }
  const ConstraintTable& constraints = problem_.requests.constraints();
  std::ranges::sort(takes,
                    [&](const Take& a, const Take& b) { return constraints.less(a.form, b.form); });
  return takes;
}

// A variable for an operand whose codes the node may take while its results are float.
void SelectionModel::add_reads(NodeId node, std::uint32_t operand, std::uint32_t position) {
  const std::vector<Take> takes = find_takes(node, operand);
  if (takes.empty()) return;
  const bool is_held = has_held_benefit(node, operand);
  OperandReads& reads = reads_[node][operand];
  const auto add = [&](const Read& read) {
    if (std::ranges::find(reads.states, read) == reads.states.end()) reads.states.push_back(read);
  };
  const std::span<const Label> node_labels = labels(node);
  for (const Label& label : node_labels) {
    add(read_by(node, operand, label));
    if (!label.is_float()) continue;
    for (const Take& take : takes) add({take.form, is_held});
  }
  reads.variable = factors_.add_variable(static_cast<std::uint32_t>(reads.states.size()));

  const ConstraintTable& constraints = problem_.requests.constraints();
  const auto worth_of_taking = [&](const Label& label, const Read& read) {
    const auto take = std::ranges::find(takes, read.form, &Take::form);
    const bool is_take = label.is_float() && read.float_node == is_held && take != takes.end();
    if (!is_take) return Worth::impossible();
    const std::uint32_t scheme = constraints.scheme(read.form);
    if (label.scheme.value_or(scheme) != scheme) return Worth::impossible();
    const auto number = static_cast<std::uint64_t>(take - takes.begin());
    return Worth{take->gain, tie(position, ((std::uint64_t{operand} + 1) << 16U) + number)};
  };
  // What is taken together is read so; who takes it by itself as well gains from that, too.
  const auto worth_of = [&](const Label& label, const Read& without, const Read& read) {
    const bool is_fixed = label.is_float() && without.form != float_form;
    if (!is_fixed) return read == without ? Worth{} : worth_of_taking(label, read);
    if (read != without) return Worth::impossible();
    const auto take = std::ranges::find(takes, read.form, &Take::form);
    return take == takes.end() ? Worth{} : Worth{take->gain, 0};
  };
  std::vector<Worth> worths;
  worths.reserve(node_labels.size() * reads.states.size());
  for (const Label& label : node_labels) {
    const Read without = read_by(node, operand, label);
    std::ranges::transform(reads.states, std::back_inserter(worths),
                           [&](const Read& read) { return worth_of(label, without, read); });
  }
  add_factor(present({variable(node), reads.variable}), worths);
}

// The forms of which the members of a coupling take one, if they are quantized.
std::vector<ConstraintId> SelectionModel::forms_of_coupling(std::span<const Value> members) const {
  std::optional<ConstraintId> given;
  std::vector<ConstraintId> forms;
  for (const Value value : members) {
    const ConstraintId came = problem_.eligibility.given(value);
    if (came != float_form) given = given.value_or(came) == came ? came : float_form;
    for (const Label& label : labels(value.node)) {
      const ConstraintId form = made(value, label);
      const bool is_new = std::ranges::find(forms, form) == forms.end();
      if (form != float_form && is_new) forms.push_back(form);
    }
  }
  // Where two came in different forms, none fits.
  return given ? std::vector{*given} : forms;
}

// Of a strict one, floats are a form like any other.
void SelectionModel::add_coupling(std::span<const Value> members, bool is_strict) {
  CouplingVariable coupling{none, forms_of_coupling(members), {}};
  if (coupling.forms.empty()) return;
  if (is_strict) coupling.forms.push_back(float_form);
  if (coupling.forms.size() > 1) {
    coupling.variable = factors_.add_variable(static_cast<std::uint32_t>(coupling.forms.size()));
  }
  for (const Value value : members) {
    const bool is_free = variable(value.node) != none;
    if (problem_.eligibility.given(value) != float_form || (!is_free && !is_strict)) continue;
    std::vector<Worth> table;
    for (const ConstraintId form : coupling.forms) {
      for (const Label& label : labels(value.node)) {
        const ConstraintId here = made(value, label);
        const bool fits = here == form || (here == float_form && !is_strict);
        table.push_back(fits ? Worth{} : Worth::impossible());
      }
    }
    add_factor(present({coupling.variable, variable(value.node)}), table);
    coupling.members.push_back(value);
  }
  if (coupling.variable != none) couplings_.push_back(std::move(coupling));
}

// Those that are there.
std::vector<VariableId> SelectionModel::present(std::initializer_list<VariableId> variables) {
  std::vector<VariableId> found;
  for (const VariableId variable : variables) {
    if (variable != none) found.push_back(variable);
  }
  return found;
}

void SelectionModel::add_factor(std::span<const VariableId> scope,
                                const std::vector<Worth>& table) {
  if (scope.empty()) {
    constant_ += table.front();
  } else {
    factors_.add_factor(scope, table);
  }
}

// --- from and to assignments ---------------------------------------------------------------------

Labelling SelectionModel::labelling(const Assignment& assignment) const {
  Labelling result{std::vector<std::uint32_t>(ranges_.size(), 0),
                   {problem_.graph, [](Value /*operand*/) { return float_form; }}};
  for (const NodeId node : problem_.order) {
    std::uint32_t& label = result.labels[node.index];
    if (variable(node) != none) label = assignment[variable(node)];
    const auto operands = reads_[node];
    for (std::uint32_t i = 0; i < operands.size(); ++i) {
      const OperandReads& reads = operands[i];
      result.reads[node][i] = reads.variable != none ? reads.states[assignment[reads.variable]].form
                                                     : read_by(node, i, labels(node)[label]).form;
    }
  }
  return result;
}

namespace {

// What the selection takes of a node all together; 0: nothing.
std::uint32_t taken_together(const RequestGraph& requests, const Selection& selection,
                             NodeId node) {
  std::uint32_t together = 0;
  for (const Benefit& benefit : requests.benefits(node)) {
    const bool is_taken = benefit.together != 0 && selection.is_realized(requests, benefit);
    if (is_taken) together = benefit.together;
  }
  return together;
}

bool is_any_selected(const GraphView& graph, const Selection& selection, NodeId node) {
  for (std::uint32_t i = 0; i < graph.result_count(node); ++i) {
    if (selection.is_selected({node, i})) return true;
  }
  return false;
}

}  // namespace

std::optional<Labelling> SelectionModel::labelling(const Selection& selection) const {
  Labelling result{std::vector<std::uint32_t>(ranges_.size(), 0),
                   {problem_.graph, [](Value /*operand*/) { return float_form; }}};
  for (const NodeId node : problem_.order) {
    std::optional<std::uint32_t> taken;  // the scheme whose codes it takes
    const auto reads = result.reads[node];
    for (std::uint32_t i = 0; i < reads.size(); ++i) {
      reads[i] = selection.read(node, i);
      if (reads[i] != float_form) taken = problem_.requests.constraints().scheme(reads[i]);
    }
    const std::uint32_t together = taken_together(problem_.requests, selection, node);
    const auto is_chosen = [&](const Label& label) {
      if (label.is_float()) {
        if (is_any_selected(problem_.graph, selection, node)) return false;
        return label.together == together && (!label.scheme || !taken || label.scheme == taken);
      }
      const Choice& choice = selection[problem_.requests[label.request].value];
      return choice.cause == SelectionCause::selected && choice.request == label.request &&
             choice.alternative == label.alternative;
    };
    const std::span<const Label> possible = labels(node);
    const auto label = std::ranges::find_if(possible, is_chosen);
    if (label == possible.end()) return std::nullopt;
    result.labels[node.index] = static_cast<std::uint32_t>(label - possible.begin());
  }
  return result;
}

std::optional<Assignment> SelectionModel::assignment(const Labelling& labelling) const {
  Assignment result(factors_.variable_count(), 0);
  for (const NodeId node : problem_.order) {
    const std::uint32_t number = labelling.labels[node.index];
    const Label& label = labels(node)[number];
    if (variable(node) != none) result[variable(node)] = number;
    const auto operands = reads_[node];
    for (std::uint32_t i = 0; i < operands.size(); ++i) {
      const OperandReads& reads = operands[i];
      if (reads.variable == none) continue;
      const Read read{labelling.reads[node][i], label.is_float() && has_held_benefit(node, i)};
      const auto state = std::ranges::find(reads.states, read);
      if (state == reads.states.end()) return std::nullopt;
      result[reads.variable] = static_cast<std::uint32_t>(state - reads.states.begin());
    }
  }
  complete(result);
  return result;
}

void SelectionModel::complete(Assignment& assignment) const {
  for (const Gathering& gathering : gatherings_) {
    const std::size_t at =
        std::size_t{assignment[gathering.before]} * factors_.states(gathering.reader) +
        assignment[gathering.reader];
    assignment[gathering.variable] = gathering.next[at];
  }
  for (const CouplingVariable& coupling : couplings_) {
    for (const Value value : coupling.members) {
      const bool is_free = variable(value.node) != none;
      const Label& label = labels(value.node)[is_free ? assignment[variable(value.node)] : 0];
      const auto form = std::ranges::find(coupling.forms, made(value, label));
      if (form == coupling.forms.end()) continue;
      assignment[coupling.variable] = static_cast<std::uint32_t>(form - coupling.forms.begin());
    }
  }
  for (const UsedVariable& used : used_) {
    assignment[used.variable] = 0;
    if (!factors_.worth(used.factor, assignment).is_possible()) assignment[used.variable] = 1;
  }
}

}  // namespace quadrant::inline v0
