#include "engine/selection_model.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "engine/canonical_order.hpp"
#include "engine/conversions.hpp"
#include "engine/storage_gain.hpp"

namespace quadrant::inline v0 {
namespace {

// Sets of what readers want, of one value: beyond, the tables would not stay small.
constexpr std::size_t most_sets = 256;

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

bool FormSet::add(ConstraintId form) {
  if (std::ranges::find(forms_, form) != forms_.end()) return true;
  if (forms_.size() == most_forms) return false;
  forms_.push_back(form);
  return true;
}

std::vector<ConstraintId> FormSet::of(std::uint32_t bits) const {
  std::vector<ConstraintId> found;
  if ((bits & bit(float_form)) != 0) found.push_back(float_form);
  for (const ConstraintId form : forms_) {
    if ((bits & bit(form)) != 0) found.push_back(form);
  }
  return found;
}

// Bit 0 is that of floats.
std::uint32_t FormSet::bit(ConstraintId form) const noexcept {
  if (form == float_form) return 1;
  const auto found = std::ranges::find(forms_, form);
  return found == forms_.end() ? 0 : 2U << static_cast<std::uint32_t>(found - forms_.begin());
}

SelectionModel::SelectionModel(const SelectionProblem& problem, const Prices& prices,
                               const ValueMap<RequestId>* planned)
    : problem_(problem),
      prices_(prices),
      labels_(problem.graph.index_bound()),
      variables_(problem.graph.index_bound(), none),
      reads_(problem.graph, [](Value /*operand*/) { return OperandReads{}; }) {
  const std::vector<NodeId> order = canonical_order(problem_.graph, problem_.order);
  for (std::uint32_t position = 0; position < order.size(); ++position) {
    add_labels(order[position], position, planned);
  }
  for (std::uint32_t position = 0; position < order.size(); ++position) {
    const NodeId node = order[position];
    const auto operands = static_cast<std::uint32_t>(problem_.graph.operands(node).size());
    for (std::uint32_t i = 0; i < operands; ++i) add_reads(node, i, position);
  }
  for (const NodeId node : order) add_values(node);
  for (const std::vector<Value>& members : problem_.couplings) add_coupling(members);
  factors_.freeze();
}

// --- what nodes can do ---------------------------------------------------------------------------

void SelectionModel::add_labels(NodeId node, std::uint32_t position,
                                const ValueMap<RequestId>* planned) {
  std::vector<Label>& labels = labels_[node.index];
  std::vector<std::uint32_t> schemes;  // whose codes it may take
  for (const Benefit& benefit : problem_.requests.benefits(node)) {
    if (!benefit.takes_codes || benefit.request == no_request) continue;
    const std::uint32_t scheme = problem_.requests.constraints().scheme(benefit.constraint);
    if (std::ranges::find(schemes, scheme) == schemes.end()) schemes.push_back(scheme);
  }
  std::ranges::sort(schemes);
  if (schemes.size() < 2) {
    labels.emplace_back();
  } else {
    for (const std::uint32_t scheme : schemes) {
      labels.emplace_back();
      labels.back().scheme = scheme;
    }
  }
  add_quantized_labels(node, planned);
  if (labels.size() == 1) return;
  variables_[node.index] = factors_.add_variable(static_cast<std::uint32_t>(labels.size()));
  std::vector<Worth> worths;
  worths.reserve(labels.size());
  for (const Label& label : labels) {
    worths.push_back(label.is_float() ? Worth{} : Worth{label.own, tie(position, label.number)});
  }
  add_factor(std::array{variable(node)}, worths);
}

void SelectionModel::add_quantized_labels(NodeId node, const ValueMap<RequestId>* planned) {
  const RequestGraph& requests = problem_.requests;
  std::vector<Label>& labels = labels_[node.index];
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
                          gain > Gain{}, static_cast<std::uint32_t>(labels.size())});
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
  if (label.is_float()) return read;
  const Request& request = problem_.requests[label.request];
  const Alternative& alternative = problem_.requests.alternatives(request)[label.alternative];
  for (const Need& need : problem_.requests.needs(alternative)) {
    if (need.operand == operand) read.form = problem_.requests[need.request].constraint;
  }
  return read;
}

bool SelectionModel::has_held_benefit(NodeId user, std::uint32_t operand) const {
  return std::ranges::any_of(problem_.requests.benefits(user), [&](const Benefit& benefit) {
    return !benefit.takes_codes && benefit.request != no_request && benefit.operand == operand;
  });
}

// The forms whose codes the node may take of an operand, and what each is worth; by their order.
std::vector<SelectionModel::Take> SelectionModel::find_takes(NodeId node,
                                                             std::uint32_t operand) const {
  std::vector<Take> takes;
  for (const Benefit& benefit : problem_.requests.benefits(node)) {
    if (!benefit.takes_codes || benefit.request == no_request || benefit.operand != operand) {
      continue;
    }
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
  const std::vector<Label>& labels = labels_[node.index];
  for (const Label& label : labels) {
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
  std::vector<Worth> worths;
  worths.reserve(labels.size() * reads.states.size());
  for (const Label& label : labels) {
    const Read without = read_by(node, operand, label);
    for (const Read& read : reads.states) {
      worths.push_back(read == without ? Worth{} : worth_of_taking(label, read));
    }
  }
  add_factor(present({variable(node), reads.variable}), worths);
}

// --- what readers want ---------------------------------------------------------------------------

SelectionModel::Wants SelectionModel::wants_of(NodeId user, std::uint32_t operand, const Read& read,
                                               const FormSet& forms) const {
  Wants wants{forms.bit(read.form), 0};
  if (!read.float_node) return wants;
  for (const Benefit& benefit : problem_.requests.benefits(user)) {
    if (benefit.takes_codes || benefit.request == no_request || benefit.operand != operand) {
      continue;
    }
    wants.held |= forms.bit(benefit.constraint);
  }
  return wants;
}

// How an operand is read, by the states of the variable that decides it, or of none.
SelectionModel::OperandReads SelectionModel::reads_of(NodeId user, std::uint32_t operand) const {
  OperandReads reads = reads_[user][operand];
  if (reads.variable != none) return reads;
  reads.variable = variable(user);
  for (const Label& label : labels_[user.index]) {
    reads.states.push_back(read_by(user, operand, label));
  }
  return reads;
}

// The variables on which the wants of `value`'s readers depend; what is wanted in any case goes to
// `always`.
std::vector<SelectionModel::Reader> SelectionModel::find_readers(Value value, const FormSet& forms,
                                                                 Wants& always) const {
  std::vector<Reader> readers;
  std::unordered_map<VariableId, std::size_t> known;
  for (const Use& use : problem_.graph.uses(value.node)) {
    if (use.result != value.result) continue;
    const OperandReads reads = reads_of(use.user, use.operand);
    std::vector<Wants> wants;
    wants.reserve(reads.states.size());
    for (const Read& read : reads.states) {
      wants.push_back(wants_of(use.user, use.operand, read, forms));
    }
    if (std::ranges::count(wants, wants.front()) == std::ssize(wants)) {
      always = always | wants.front();
      continue;
    }
    const auto [found, is_new] = known.emplace(reads.variable, readers.size());
    if (is_new) {
      readers.push_back({reads.variable, std::move(wants)});
      continue;
    }
    Reader& same = readers[found->second];
    for (std::size_t i = 0; i < wants.size(); ++i) same.wants[i] = same.wants[i] | wants[i];
  }
  for (Reader& reader : readers) {
    for (Wants& wants : reader.wants) wants = wants | always;
  }
  return readers;
}

// All readers together, by two variables at most. Empty: there would be too many sets.
std::optional<SelectionModel::Gathered> SelectionModel::gather(Value value, const FormSet& forms) {
  Wants always;
  const std::vector<Reader> readers = find_readers(value, forms, always);
  if (readers.empty()) return Gathered{{}, {always}};
  Gathered so_far{{readers[0].variable}, readers[0].wants};
  for (std::size_t i = 1; i < readers.size(); ++i) {
    if (so_far.scope.size() == 2) {
      // Its sets become the states of a variable.
      std::map<Wants, std::uint32_t> numbers;
      for (const Wants& wants : so_far.wants) {
        numbers.emplace(wants, static_cast<std::uint32_t>(numbers.size()));
      }
      if (numbers.size() > most_sets) return std::nullopt;
      const auto states = static_cast<std::uint32_t>(numbers.size());
      Gathering gathering{factors_.add_variable(states), so_far.scope[0], so_far.scope[1], {}};
      std::vector<Worth> table(so_far.wants.size() * states, Worth::impossible());
      Gathered gathered{{gathering.variable}, std::vector<Wants>(states)};
      for (std::size_t at = 0; at < so_far.wants.size(); ++at) {
        const std::uint32_t number = numbers.at(so_far.wants[at]);
        gathering.next.push_back(number);
        table[at * states + number] = Worth{};
        gathered.wants[number] = so_far.wants[at];
      }
      add_factor(std::array{so_far.scope[0], so_far.scope[1], gathering.variable}, table);
      gatherings_.push_back(std::move(gathering));
      so_far = std::move(gathered);
    }
    Gathered both{{so_far.scope[0], readers[i].variable}, {}};
    for (const Wants& a : so_far.wants) {
      for (const Wants& b : readers[i].wants) both.wants.push_back(a | b);
    }
    so_far = std::move(both);
  }
  return so_far;
}

// --- what values cost ----------------------------------------------------------------------------

ConstraintId SelectionModel::made(Value value, const Label& label) const {
  if (const ConstraintId given = problem_.eligibility.given(value); given != float_form) {
    return given;
  }
  if (label.is_float()) return float_form;
  const ConstraintId form = problem_.requests[label.request].constraint;
  const std::uint32_t scheme = problem_.requests.constraints().scheme(form);
  const bool is_real = problem_.eligibility.state(value, scheme) == State::Quantizable;
  return is_real ? form : float_form;
}

// The prices of the conversions of the node's results, what is gained where they are held, and that
// nothing is quantized for nobody.
void SelectionModel::add_values(NodeId node) {
  std::vector<Value> values;
  for (std::uint32_t result = 0; result < problem_.graph.result_count(node); ++result) {
    if (problem_.requests.first({node, result}) != no_request) values.push_back({node, result});
  }
  const bool is_exact = add_exact_values(values);
  is_relaxed_ |= !is_exact;
  for (const Value value : values) {
    if (!is_exact) add_relaxed_reads(value);
    add_held_gains(value);
  }
}

// False, with nothing that counts added: the sets of forms would be too many.
bool SelectionModel::add_exact_values(std::span<const Value> values) {
  const RequestGraph& requests = problem_.requests;
  std::vector<FormSet> forms(values.size());
  std::vector<Gathered> gathered;
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (const RequestId id : requests_in_order(values[i])) {
      if (!forms[i].add(requests[id].constraint)) return false;
    }
    std::optional<Gathered> all = gather(values[i], forms[i]);
    if (!all) return false;
    gathered.push_back(*std::move(all));
  }
  VariableId used_before = none;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool is_last = i + 1 == values.size();
    const VariableId used = is_last ? none : factors_.add_variable(2);
    if (!is_last) used_.push_back({used, factors_.factor_count()});
    add_supply(values[i], forms[i], gathered[i], used_before, used);
    used_before = used;
  }
  return true;
}

// That each form that is read can be had, one by one.
void SelectionModel::add_relaxed_reads(Value value) {
  for (const Use& use : problem_.graph.uses(value.node)) {
    if (use.result != value.result) continue;
    const OperandReads reads = reads_of(use.user, use.operand);
    std::vector<Worth> table;
    for (const Label& label : labels_[value.node.index]) {
      for (const Read& read : reads.states) {
        const bool can_be_had = supply(value, label, std::array{read.form}).has_value();
        table.push_back(can_be_had ? Worth{} : Worth::impossible());
      }
    }
    add_factor(present({variable(value.node), reads.variable}), table);
  }
}

// What it takes to have `forms` of a value that a label makes. Empty: there is no way.
std::optional<SelectionModel::Supply> SelectionModel::supply(
    Value value, const Label& label, std::span<const ConstraintId> forms) const {
  const ConstraintId form = made(value, label);
  const bool came_quantized = problem_.eligibility.state(value) == State::Quantized;
  WantedForms wanted;
  for (const ConstraintId one : forms) {
    if (one == form) continue;
    if (one != float_form) {
      wanted.codes.push_back(one);
    } else if (!came_quantized) {
      wanted.floats = true;
    }
  }
  Supply found;
  if (!wanted.floats && wanted.codes.empty()) return found;
  const auto conversions = cheapest_conversions(problem_, prices_, value, form, wanted);
  if (!conversions) return std::nullopt;
  for (const Conversion& conversion : *conversions) {
    found.price += conversion.price;
    found.requantizes |= conversion.from != float_form && conversion.to != float_form;
  }
  return found;
}

// Adds what is worth `worth` if what is said of use is true: that it is not, if `may_be_unused`,
// and that it is.
void SelectionModel::add_by_use(Worth worth, bool is_used, bool may_be_unused,
                                std::vector<Worth>& table) {
  if (may_be_unused) table.push_back(is_used ? Worth::impossible() : worth);
  table.push_back(is_used ? worth : Worth::impossible());
}

// By the label, what the readers want, and whether the node is `used_before` this result: the
// conversions; and whether it is `used` with it, or that it is.
void SelectionModel::add_supply(Value value, const FormSet& forms, const Gathered& gathered,
                                VariableId used_before, VariableId used) {
  std::vector<VariableId> scope = present({variable(value.node)});
  scope.insert(scope.end(), gathered.scope.begin(), gathered.scope.end());
  for (const VariableId one : present({used_before, used})) scope.push_back(one);
  std::vector<Worth> table;
  for (const Label& label : labels_[value.node.index]) {
    const ConstraintId form = made(value, label);
    std::map<std::uint32_t, std::optional<Supply>> supplies;  // by the forms that are read
    for (const Wants& wants : gathered.wants) {
      const auto [known, is_new] = supplies.try_emplace(wants.read);
      if (is_new) known->second = supply(value, label, forms.of(wants.read));
      const std::optional<Supply>& found = known->second;
      const Worth worth = found ? Worth{found->price, 0} : Worth::impossible();
      const bool is_read_as_made =
          form != float_form && ((wants.read | wants.held) & forms.bit(form)) != 0;
      const bool is_used = label.is_float() || label.gains_itself || is_read_as_made ||
                           (found && found->requantizes);
      add_by_use(worth, is_used, used != none, table);
      if (used_before != none) add_by_use(worth, true, used != none, table);
    }
  }
  add_factor(scope, table);
}

// What nodes in float gain from the form that one of their operands is held in.
void SelectionModel::add_held_gains(Value value) {
  const std::vector<Label>& makers = labels_[value.node.index];
  for (const Use& use : problem_.graph.uses(value.node)) {
    if (use.result != value.result || !has_held_benefit(use.user, use.operand)) continue;
    const std::vector<Label>& users = labels_[use.user.index];
    std::vector<Worth> table;
    for (const Label& maker : makers) {
      const ConstraintId form = made(value, maker);
      for (const Label& user : users) {
        Worth worth;
        for (const Benefit& benefit : problem_.requests.benefits(use.user)) {
          const bool is_true = !benefit.takes_codes && benefit.request != no_request &&
                               benefit.operand == use.operand && benefit.constraint == form;
          if (is_true && user.is_float()) worth.gain += benefit.gain;
        }
        table.push_back(worth);
      }
    }
    add_factor(present({variable(value.node), variable(use.user)}), table);
  }
}

// The forms of which the members of a coupling take one, if they are quantized.
std::vector<ConstraintId> SelectionModel::find_coupled_forms(std::span<const Value> members) const {
  std::optional<ConstraintId> given;
  std::vector<ConstraintId> forms;
  for (const Value value : members) {
    const ConstraintId came = problem_.eligibility.given(value);
    if (came != float_form) given = given.value_or(came) == came ? came : float_form;
    for (const Label& label : labels_[value.node.index]) {
      const ConstraintId form = made(value, label);
      const bool is_new = std::ranges::find(forms, form) == forms.end();
      if (form != float_form && is_new) forms.push_back(form);
    }
  }
  // Where two came in different forms, none fits.
  return given ? std::vector{*given} : forms;
}

void SelectionModel::add_coupling(std::span<const Value> members) {
  CouplingVariable coupling{none, find_coupled_forms(members), {}};
  if (coupling.forms.empty()) return;
  if (coupling.forms.size() > 1) {
    coupling.variable = factors_.add_variable(static_cast<std::uint32_t>(coupling.forms.size()));
  }
  for (const Value value : members) {
    if (problem_.eligibility.given(value) != float_form || variable(value.node) == none) continue;
    std::vector<Worth> table;
    for (const ConstraintId form : coupling.forms) {
      for (const Label& label : labels_[value.node.index]) {
        const ConstraintId here = made(value, label);
        table.push_back(here == float_form || here == form ? Worth{} : Worth::impossible());
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
  Labelling result{std::vector<std::uint32_t>(labels_.size(), 0),
                   {problem_.graph, [](Value /*operand*/) { return float_form; }}};
  for (const NodeId node : problem_.order) {
    std::uint32_t& label = result.labels[node.index];
    if (variable(node) != none) label = assignment[variable(node)];
    const auto operands = reads_[node];
    for (std::uint32_t i = 0; i < operands.size(); ++i) {
      const OperandReads& reads = operands[i];
      result.reads[node][i] = reads.variable != none
                                  ? reads.states[assignment[reads.variable]].form
                                  : read_by(node, i, labels_[node.index][label]).form;
    }
  }
  return result;
}

std::optional<Labelling> SelectionModel::labelling(const Selection& selection) const {
  Labelling result{std::vector<std::uint32_t>(labels_.size(), 0),
                   {problem_.graph, [](Value /*operand*/) { return float_form; }}};
  for (const NodeId node : problem_.order) {
    std::optional<std::uint32_t> taken;  // the scheme whose codes it takes
    const auto reads = result.reads[node];
    for (std::uint32_t i = 0; i < reads.size(); ++i) {
      reads[i] = selection.read(node, i);
      if (reads[i] != float_form) taken = problem_.requests.constraints().scheme(reads[i]);
    }
    const auto is_chosen = [&](const Label& label) {
      if (label.is_float()) {
        for (std::uint32_t i = 0; i < problem_.graph.result_count(node); ++i) {
          if (selection.is_selected({node, i})) return false;
        }
        return !label.scheme || !taken || label.scheme == taken;
      }
      const Choice& choice = selection[problem_.requests[label.request].value];
      return choice.cause == SelectionCause::selected && choice.request == label.request &&
             choice.alternative == label.alternative;
    };
    const std::vector<Label>& labels = labels_[node.index];
    const auto label = std::ranges::find_if(labels, is_chosen);
    if (label == labels.end()) return std::nullopt;
    result.labels[node.index] = static_cast<std::uint32_t>(label - labels.begin());
  }
  return result;
}

std::optional<Assignment> SelectionModel::assignment(const Labelling& labelling) const {
  Assignment result(factors_.variable_count(), 0);
  for (const NodeId node : problem_.order) {
    const std::uint32_t number = labelling.labels[node.index];
    const Label& label = labels_[node.index][number];
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
      const Label& label = labels_[value.node.index][assignment[variable(value.node)]];
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
