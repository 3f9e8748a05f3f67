// What having values in the forms that are read costs, in the model of phase 3.
#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "engine/policies/conversions.hpp"
#include "engine/policies/selection_model.hpp"

namespace quadrant::inline v0 {
namespace {

// Sets of what readers want, of one value: beyond, the tables would not stay small.
constexpr std::size_t most_sets = 256;

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

// --- what readers want ---------------------------------------------------------------------------

SelectionModel::Wants SelectionModel::wants_of(NodeId user, std::uint32_t operand, const Read& read,
                                               const FormSet& forms) const {
  Wants wants{forms.bit(read.form), 0};
  if (!read.float_node) return wants;
  for (const Benefit& benefit : problem_.requests.benefits(user, operand)) {
    if (benefit.is_of_holding()) wants.held |= forms.bit(benefit.constraint);
  }
  return wants;
}

// How an operand is read, by the states of the variable that decides it, or of none.
SelectionModel::OperandReads SelectionModel::reads_of(NodeId user, std::uint32_t operand) const {
  OperandReads reads = reads_[user][operand];
  if (reads.variable != none) return reads;
  reads.variable = variable(user);
  for (const Label& label : labels(user)) {
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
void SelectionModel::add_values_of(NodeId node) {
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
    for (const Label& label : labels(value.node)) {
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
  for (const Label& label : labels(value.node)) {
    const ConstraintId form = made(value, label);
    std::map<std::uint32_t, std::optional<Supply>> supplies;  // by the forms that are read
    for (const Wants& wants : gathered.wants) {
      const auto [known, is_new] = supplies.try_emplace(wants.read);
      if (is_new) known->second = supply(value, label, forms.of(wants.read));
      const std::optional<Supply>& found = known->second;
      const Worth worth = found ? Worth{found->price, 0} : Worth::impossible();
      const bool is_read_as_made =
          form != float_form && ((wants.read | wants.held) & forms.bit(form)) != 0;
      const bool follows = form != float_form && problem_.couplings.follows(value);
      const bool is_used = label.is_float() || label.gains_itself || is_read_as_made || follows ||
                           (found && found->requantizes);
      add_by_use(worth, is_used, used != none, table);
      if (used_before != none) add_by_use(worth, true, used != none, table);
    }
  }
  add_factor(scope, table);
}

// What nodes in float gain from the form that one of their operands is held in.
void SelectionModel::add_held_gains(Value value) {
  const std::span<const Label> makers = labels(value.node);
  for (const Use& use : problem_.graph.uses(value.node)) {
    if (use.result != value.result || !has_held_benefit(use.user, use.operand)) continue;
    const std::span<const Label> users = labels(use.user);
    std::vector<Worth> table;
    for (const Label& maker : makers) {
      const ConstraintId form = made(value, maker);
      for (const Label& user : users) {
        Worth worth;
        for (const Benefit& benefit : problem_.requests.benefits(use.user, use.operand)) {
          const bool is_true = benefit.is_of_holding() && benefit.constraint == form;
          if (is_true && user.is_float()) worth.gain += benefit.gain;
        }
        table.push_back(worth);
      }
    }
    add_factor(present({variable(value.node), variable(use.user)}), table);
  }
}

}  // namespace quadrant::inline v0
