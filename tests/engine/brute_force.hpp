// What phase 3 could decide, all of it: docs/selection.md, word by word and without any cleverness.
//
// Shares nothing with src/engine/policies/decision.cpp, so that the two can disagree. Small graphs
// only:
//
//   const brute_force::Oracle oracle(problem);
//   CHECK(oracle.complaints(selection) == "");  // it is a decision, and worth what it says
//   if (oracle.choices() < 50'000) {
//     CHECK(selection.objective() <= oracle.explore({}).optimum);
//   }
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "quadrant/engine/phases/selection.hpp"

namespace brute_force {

using namespace quadrant;

/// What a node may do: make its results in a form, by an alternative, or stay float and take codes.
struct Option {
  ConstraintId form = float_form;
  std::uint32_t alternative = 0;
  std::vector<ConstraintId> reads;  ///< by operand
  Gain gain;                        ///< of the alternative and of storage, or of the codes taken
  bool gains_itself = false;        ///< the alternative has a gain above zero
  std::uint32_t together = 0;       ///< in float: what it takes all of
};

/// A decision: for each node of the order, the index of its option.
using Decision = std::vector<std::size_t>;

/// What all decisions together showed.
struct Outcome {
  Gain optimum{std::numeric_limits<std::int64_t>::min()};
  std::uint64_t feasible = 0;  ///< how many decisions there are
  std::optional<Gain> sought;  ///< what the decision looked for is worth, if it was met
};

class Oracle {
 public:
  explicit Oracle(const SelectionProblem& problem) : problem_(problem) {
    const std::size_t bound = problem.graph.index_bound();
    position_.resize(bound);
    for (std::size_t at = 0; at < problem.order.size(); ++at) {
      position_[problem.order[at].index] = at;
    }
    settled_at_.resize(problem.order.size());
    for (const NodeId node : problem.order) {
      options_.push_back(options_of(node));
      std::size_t last = position_[node.index];
      for (const Use& use : problem.graph.uses(node)) {
        last = std::max(last, position_[use.user.index]);
      }
      settled_at_[last].push_back(node);
    }
  }

  /// How many combinations of options there are, feasible or not.
  [[nodiscard]] std::uint64_t choices() const {
    std::uint64_t product = 1;
    for (const std::vector<Option>& options : options_) {
      constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
      product = std::min(product * options.size(), most);
    }
    return product;
  }

  /// Visits every combination; drops those that cannot become a decision as soon as that shows.
  [[nodiscard]] Outcome explore(const Decision& sought) const {
    Outcome outcome;
    Decision decision;
    explore(decision, Gain{}, sought, outcome);
    return outcome;
  }

  /// Nothing is quantized and nobody takes codes: always a decision.
  [[nodiscard]] Decision all_float() const {
    Decision nothing(problem_.order.size(), 0);
    return nothing;
  }

  /// Empty: this is no decision.
  [[nodiscard]] std::optional<Gain> worth(const Decision& decision) const {
    Gain total;
    Decision prefix;
    for (const std::size_t pick : decision) {
      prefix.push_back(pick);
      const std::optional<Gain> gain = gain_of_last(prefix);
      if (!gain) return std::nullopt;
      total += *gain;
    }
    return total;
  }

  /// The decision behind a selection's forms and reads. Empty where a node does what it cannot.
  [[nodiscard]] std::optional<Decision> decision(const Selection& selection) const {
    Decision found;
    for (std::size_t at = 0; at < problem_.order.size(); ++at) {
      const auto& options = options_[at];
      const auto same = std::ranges::find_if(options, [&](const Option& option) {
        return is_chosen(option, problem_.order[at], selection);
      });
      if (same == options.end()) return std::nullopt;
      found.push_back(static_cast<std::size_t>(same - options.begin()));
    }
    return found;
  }

  /// What is wrong with a selection, one line each; empty: nothing.
  [[nodiscard]] std::string complaints(const Selection& selection) const {
    std::string text;
    const auto complain = [&](std::string_view about, std::string_view what) {
      text += std::string(about) + ": " + std::string(what) + "\n";
    };
    for (std::size_t at = 0; at < problem_.order.size(); ++at) {
      const NodeId node = problem_.order[at];
      if (std::ranges::none_of(options_[at], [&](const Option& option) {
            return is_chosen(option, node, selection);
          })) {
        complain(label(problem_.graph, node), "no alternative and no take reads so");
      }
    }
    const std::optional<Decision> chosen = decision(selection);
    if (!chosen) return text;
    check_produced(*chosen, selection, complain);
    check_benefits(*chosen, selection, complain);
    check_conversions(*chosen, selection, complain);
    const std::optional<Gain> value = worth(*chosen);
    if (!value) {
      complain("decision", "not feasible");
    } else if (*value != selection.objective()) {
      complain("objective", std::to_string(selection.objective().amount()) + " is said, " +
                                std::to_string(value->amount()) + " is right");
    }
    return text;
  }

 private:
  /// The cheapest way to have a value in all the forms in which it is read.
  struct Supply {
    Gain price;
    bool converts = false;  ///< one of the conversions starts at the codes and makes codes
  };

  struct Known {
    bool is_known = false;
    std::optional<Gain> price;
  };

  // --- options -----------------------------------------------------------------------------------
  [[nodiscard]] std::uint32_t scheme(ConstraintId form) const {
    return problem_.requests.constraints().scheme(form);
  }

  [[nodiscard]] std::vector<Option> options_of(NodeId node) const {
    std::vector<Option> options = float_options(node);
    for (std::uint32_t result = 0; result < problem_.graph.result_count(node); ++result) {
      const std::size_t before = options.size();
      for (RequestId id = problem_.requests.first({node, result}); id != no_request;
           id = problem_.requests[id].next) {
        add_quantized_options(node, problem_.requests[id], options);
      }
      // What one result can be, all can: the first that can be anything speaks for them.
      if (options.size() != before) break;
    }
    return options;
  }

  void add_quantized_options(NodeId node, const Request& request,
                             std::vector<Option>& options) const {
    const auto alternatives = problem_.requests.alternatives(request);
    for (std::uint32_t i = 0; i < alternatives.size(); ++i) {
      const auto needs = problem_.requests.needs(alternatives[i]);
      Option option{request.constraint, i, all_float(node), alternatives[i].gain,
                    alternatives[i].gain > Gain{}};
      for (const Need& need : needs) {
        if (need.request == no_request) continue;
        option.reads[need.operand] = problem_.requests[need.request].constraint;
      }
      option.gain += storage(node, request.constraint);
      const bool can_be =
          std::ranges::none_of(needs, [](const Need& need) { return need.request == no_request; });
      if (can_be) options.push_back(std::move(option));
    }
  }

  [[nodiscard]] Gain storage(NodeId node, ConstraintId form) const {
    const QuantizationMethod* method = problem_.eligibility.method(node, scheme(form));
    const NodeRef ref{&problem_.graph, node};
    const auto change = method->erased_storage(problem_.requests.constraints().get(form), ref);
    return change ? problem_.gains.of_storage({ref, described(form), *change}) : Gain{};
  }

  /// As gain models see it.
  [[nodiscard]] ValueForm described(ConstraintId form) const {
    if (form == float_form) return {};
    const void* const constraint = problem_.requests.constraints().get(form);
    return {problem_.registry.name(scheme(form)), constraint,
            problem_.registry.scheme(scheme(form)).erased_storage_type(constraint)};
  }

  [[nodiscard]] std::vector<ConstraintId> all_float(NodeId node) const {
    return std::vector(problem_.graph.operands(node).size(), float_form);
  }

  // Reading everything in float, or some operands as codes of one scheme.
  [[nodiscard]] std::vector<Option> float_options(NodeId node) const {
    std::vector<Option> options{{float_form, 0, all_float(node), {}, false}};
    for (std::uint32_t of = 0; of < problem_.registry.scheme_count(); ++of) {
      std::vector<Option> ways{options.front()};
      add_takes(node, of, ways);
      options.insert(options.end(), ways.begin() + 1, ways.end());
      for (const std::uint32_t number : sets_taken_together(node, of)) {
        std::vector<Option> all{options.front()};
        all.front().together = number;
        for (const Benefit& benefit : problem_.requests.benefits(node)) {
          if (benefit.together != number) continue;
          all.front().reads[benefit.operand] = benefit.constraint;
          all.front().gain += benefit.gain;
        }
        add_takes(node, of, all);
        options.insert(options.end(), all.begin(), all.end());
      }
    }
    return options;
  }

  // Besides what `ways` take already, one operand after the other. One that is read so in any case
  // gains whatever that is worth.
  void add_takes(NodeId node, std::uint32_t of, std::vector<Option>& ways) const {
    const Option first = ways.front();
    for (std::uint32_t operand = 0; operand < first.reads.size(); ++operand) {
      const std::size_t before = ways.size();
      for (const auto& [form, gain] : takes(node, operand, of)) {
        const bool is_read_so = first.reads[operand] == form;
        if (first.reads[operand] != float_form && !is_read_so) continue;
        for (std::size_t i = 0; i < before; ++i) {
          Option taking = ways[i];
          taking.reads[operand] = form;
          taking.gain += gain;
          if (is_read_so) {
            ways[i] = std::move(taking);
          } else {
            ways.push_back(std::move(taking));
          }
        }
      }
    }
  }

  // By their numbers; those that lack an operand cannot be.
  [[nodiscard]] std::set<std::uint32_t> sets_taken_together(NodeId node, std::uint32_t of) const {
    std::set<std::uint32_t> found;
    for (const Benefit& benefit : problem_.requests.benefits(node)) {
      if (benefit.together != 0 && scheme(benefit.constraint) == of) found.insert(benefit.together);
    }
    for (const Benefit& benefit : problem_.requests.benefits(node)) {
      if (benefit.request == no_request) found.erase(benefit.together);
    }
    return found;
  }

  // The forms of one scheme that the node asks for, of one operand, and what each is worth.
  [[nodiscard]] std::map<ConstraintId, Gain> takes(NodeId node, std::uint32_t operand,
                                                   std::uint32_t of) const {
    std::map<ConstraintId, Gain> found;
    for (const Benefit& benefit : problem_.requests.benefits(node)) {
      const bool is_meant = benefit.takes_codes && benefit.together == 0 &&
                            benefit.request != no_request && benefit.operand == operand &&
                            scheme(benefit.constraint) == of;
      if (is_meant) found[benefit.constraint] += benefit.gain;
    }
    return found;
  }

  // --- one decision ------------------------------------------------------------------------------
  [[nodiscard]] const Option& option(const Decision& decision, NodeId node) const {
    const std::size_t at = position_[node.index];
    return options_[at][decision[at]];
  }

  /// The form that a value is made in.
  [[nodiscard]] ConstraintId made(const Decision& decision, Value value) const {
    if (const ConstraintId given = problem_.eligibility.given(value); given != float_form) {
      return given;
    }
    const ConstraintId form = option(decision, value.node).form;
    if (form == float_form) return form;
    const bool is_real = problem_.eligibility.state(value, scheme(form)) == State::Quantizable;
    return is_real ? form : float_form;
  }

  void explore(Decision& decision, Gain gain, const Decision& sought, Outcome& outcome) const {
    if (decision.size() == problem_.order.size()) {
      outcome.optimum = std::max(outcome.optimum, gain);
      ++outcome.feasible;
      if (decision == sought) outcome.sought = gain;
      return;
    }
    const std::size_t count = options_[decision.size()].size();
    decision.push_back(0);
    for (std::size_t pick = 0; pick < count; ++pick) {
      decision.back() = pick;
      if (const auto more = gain_of_last(decision)) {
        explore(decision, gain + *more, sought, outcome);
      }
    }
    decision.pop_back();
  }

  // What the last pick adds: its own gain, and the conversions of the values that only now have all
  // their readers. Empty: there is no such decision.
  [[nodiscard]] std::optional<Gain> gain_of_last(const Decision& decision) const {
    const NodeId node = problem_.order[decision.size() - 1];
    const Option& picked = option(decision, node);
    if (!fits_couplings(decision, node)) return std::nullopt;
    Gain gain = picked.gain;
    for (const Benefit& benefit : problem_.requests.benefits(node)) {
      if (!benefit.takes_codes && is_true(decision, benefit)) gain += benefit.gain;
    }
    for (const NodeId settled : settled_at_[decision.size() - 1]) {
      const std::optional<Gain> price = settle(decision, settled);
      if (!price) return std::nullopt;
      gain += *price;
    }
    return gain;
  }

  [[nodiscard]] bool is_true(const Decision& decision, const Benefit& benefit) const {
    const Option& picked = option(decision, benefit.consumer);
    if (picked.form != float_form || benefit.request == no_request) return false;
    if (benefit.together != 0) return picked.together == benefit.together;
    if (benefit.takes_codes) return picked.reads[benefit.operand] == benefit.constraint;
    const Value value = problem_.graph.operands(benefit.consumer)[benefit.operand];
    return made(decision, value) == benefit.constraint;
  }

  // Against those decided before.
  [[nodiscard]] bool fits_couplings(const Decision& decision, NodeId node) const {
    const Couplings& couplings = problem_.couplings.all();
    for (std::size_t i = 0; i < couplings.size(); ++i) {
      const bool is_strict = i < problem_.couplings.strict().size();
      for (const Value value : couplings[i]) {
        // What came quantized is as it came.
        const bool is_decided_here = option(decision, node).form != float_form || is_strict;
        if (value.node != node || !is_decided_here) continue;
        const ConstraintId form = made(decision, value);
        const bool fits = std::ranges::all_of(couplings[i], [&](Value other) {
          if (!is_decided(decision, other)) {
            return is_strict || agree(form, problem_.eligibility.given(other));
          }
          const ConstraintId of_other = made(decision, other);
          return is_strict ? form == of_other : agree(form, of_other);
        });
        if (!fits) return false;
      }
    }
    return true;
  }
  [[nodiscard]] static bool agree(ConstraintId a, ConstraintId b) {
    return a == float_form || b == float_form || a == b;
  }
  [[nodiscard]] bool is_decided(const Decision& decision, Value value) const {
    return position_[value.node.index] < decision.size();
  }

  // The price of all conversions of a node's results. Empty: a form cannot be had, or the node is
  // quantized for nobody.
  [[nodiscard]] std::optional<Gain> settle(const Decision& decision, NodeId node) const {
    const Option& picked = option(decision, node);
    bool is_used = picked.form == float_form || picked.gains_itself;
    Gain price;
    for (std::uint32_t result = 0; result < problem_.graph.result_count(node); ++result) {
      const Value value{node, result};
      const std::optional<Supply> found = supply(decision, value);
      if (!found) return std::nullopt;
      price += found->price;
      const bool follows = made(decision, value) != float_form && problem_.couplings.follows(value);
      is_used = is_used || found->converts || follows || is_wanted_as_made(decision, value);
    }
    return is_used ? std::optional(price) : std::nullopt;
  }

  [[nodiscard]] bool is_wanted_as_made(const Decision& decision, Value value) const {
    const ConstraintId form = made(decision, value);
    return std::ranges::any_of(problem_.graph.uses(value.node), [&](const Use& use) {
      if (use.result != value.result) return false;
      if (option(decision, use.user).reads[use.operand] == form) return form != float_form;
      return std::ranges::any_of(problem_.requests.benefits(use.user), [&](const Benefit& benefit) {
        return !benefit.takes_codes && benefit.operand == use.operand && is_true(decision, benefit);
      });
    });
  }

  // --- conversions -------------------------------------------------------------------------------
  [[nodiscard]] std::optional<Gain> price(Value value, ConstraintId from, ConstraintId to) const {
    const auto place = [](ConstraintId form) {
      return form == float_form ? std::size_t{0} : static_cast<std::size_t>(form) + 1;
    };
    const std::size_t forms = problem_.requests.constraints().size() + 1;
    const std::size_t number = (*problem_.eligibility.numbering())(value);
    const std::size_t at = (number * forms + place(from)) * forms + place(to);
    if (prices_.size() <= at) prices_.resize(at + 1);
    if (!prices_[at].is_known) prices_[at] = {true, ask_price(value, from, to)};
    return prices_[at].price;
  }
  [[nodiscard]] std::optional<Gain> ask_price(Value value, ConstraintId from,
                                              ConstraintId to) const {
    if (from != float_form && to != float_form && scheme(from) != scheme(to)) return std::nullopt;
    const Scheme& responsible = problem_.registry.scheme(scheme(from != float_form ? from : to));
    const auto named = responsible.erased_price(
        {&problem_.graph, value, described(from), described(to)}, problem_.gains);
    return to == float_form ? named.value_or(Gain{}) : named;
  }

  using Forms = std::vector<ConstraintId>;

  // The forms, besides the one it is made in, in which a value is read.
  [[nodiscard]] Forms other_forms(const Decision& decision, Value value) const {
    Forms forms;
    const ConstraintId form = made(decision, value);
    const bool is_given = problem_.eligibility.given(value) != float_form;
    for (const Use& use : problem_.graph.uses(value.node)) {
      if (use.result != value.result) continue;
      const ConstraintId read = option(decision, use.user).reads[use.operand];
      // What came quantized is read in float as it came.
      if (read == form || (is_given && read == float_form)) continue;
      if (std::ranges::find(forms, read) == forms.end()) forms.push_back(read);
    }
    return forms;
  }

  // The cheaper of two: without the float form, or with it. Of two that cost the same, the one that
  // converts: it is the one that may be needed for the node to be quantized for somebody.
  [[nodiscard]] std::optional<Supply> supply(const Decision& decision, Value value) const {
    const ConstraintId form = made(decision, value);
    const Forms wanted = other_forms(decision, value);
    if (wanted.empty()) return Supply{};
    std::optional<Supply> best;
    const bool needs_float = std::ranges::find(wanted, float_form) != wanted.end();
    if (!needs_float) best = supply(value, form, wanted, false);
    if (form == float_form || problem_.eligibility.given(value) != float_form) return best;
    const std::optional<Supply> with_float = supply(value, form, wanted, true);
    const auto rank = [](const Supply& one) { return std::pair(one.price, one.converts); };
    const bool is_better = with_float && (!best || rank(*best) < rank(*with_float));
    return is_better ? with_float : best;
  }

  [[nodiscard]] std::optional<Supply> supply(Value value, ConstraintId form, const Forms& wanted,
                                             bool makes_float) const {
    Supply found;
    if (makes_float) found.price += *price(value, form, float_form);
    for (const ConstraintId to : wanted) {
      if (to == float_form) continue;
      std::optional<Gain> direct;
      std::optional<Gain> entry;
      if (form != float_form) direct = price(value, form, to);
      if (makes_float || form == float_form) entry = price(value, float_form, to);
      if (direct && (!entry || *direct >= *entry)) {
        found.price += *direct;
        found.converts = true;
      } else if (entry) {
        found.price += *entry;
      } else {
        return std::nullopt;
      }
    }
    return found;
  }

  // --- a selection against its decision ----------------------------------------------------------
  [[nodiscard]] bool is_chosen(const Option& option, NodeId node,
                               const Selection& selection) const {
    ConstraintId form = float_form;
    std::uint32_t alternative = 0;
    for (std::uint32_t result = 0; result < problem_.graph.result_count(node); ++result) {
      const Value value{node, result};
      if (!selection.is_selected(value)) continue;
      form = selection.produced(value);
      alternative = selection[value].alternative;
    }
    std::uint32_t together = 0;
    for (const Benefit& benefit : problem_.requests.benefits(node)) {
      if (benefit.together != 0 && selection.is_realized(problem_.requests, benefit)) {
        together = benefit.together;
      }
    }
    if (option.form != form || option.alternative != alternative) return false;
    if (option.together != together) return false;
    for (std::uint32_t i = 0; i < option.reads.size(); ++i) {
      if (option.reads[i] != selection.read(node, i)) return false;
    }
    return true;
  }

  template <class Complain>
  void check_produced(const Decision& decision, const Selection& selection,
                      Complain complain) const {
    for_each_value([&](Value value) {
      const ConstraintId form = made(decision, value);
      if (selection.produced(value) != form) {
        complain(problem_.graph.value_name(value), "not made in the form of its node");
      }
      const bool is_given = problem_.eligibility.given(value) != float_form;
      if (selection.is_selected(value) != (form != float_form && !is_given)) {
        complain(problem_.graph.value_name(value), "selected, or not, against its form");
      }
    });
  }

  template <class Complain>
  void check_benefits(const Decision& decision, const Selection& selection,
                      Complain complain) const {
    for (const Benefit& benefit : problem_.requests.benefits()) {
      if (selection.is_realized(problem_.requests, benefit) == is_true(decision, benefit)) continue;
      complain(label(problem_.graph, benefit.consumer),
               "operand " + std::to_string(benefit.operand) +
                   (is_true(decision, benefit) ? ": a benefit came true and is not counted"
                                               : ": a benefit is counted that did not come true"));
    }
  }

  // That the conversions make every form that is read, for exactly those who read it, at the price
  // of the cheapest set.
  template <class Complain>
  void check_conversions(const Decision& decision, const Selection& selection,
                         Complain complain) const {
    std::map<Value, std::map<ConstraintId, const Conversion*>> made_of;
    for (const Conversion& conversion : selection.conversions()) {
      if (!made_of[conversion.value].emplace(conversion.to, &conversion).second) {
        complain(problem_.graph.value_name(conversion.value), "one form is made twice");
      }
    }
    for_each_value([&](Value value) {
      const std::string_view name = problem_.graph.value_name(value);
      Forms wanted = other_forms(decision, value);
      Gain total;
      for (const auto& [to, conversion] : made_of[value]) {
        total += conversion->price;
        check_conversion(decision, *conversion, made_of[value], complain);
        std::erase(wanted, to);
      }
      if (!wanted.empty()) complain(name, "read in a form that nothing makes");
      const std::optional<Supply> best = supply(decision, value);
      if (!best) {
        complain(name, "read in a form that cannot be had");
      } else if (best->price != total) {
        complain(name, "its conversions are not the cheapest");
      }
    });
  }

  template <class Complain>
  void check_conversion(const Decision& decision, const Conversion& conversion,
                        const std::map<ConstraintId, const Conversion*>& all,
                        Complain complain) const {
    const std::string_view name = problem_.graph.value_name(conversion.value);
    const ConstraintId form = made(decision, conversion.value);
    const auto real = all.find(float_form);
    const bool has_source =
        conversion.from == form ||
        (conversion.from == float_form && real != all.end() && real->second < &conversion);
    if (!has_source) complain(name, "converted from a form that is not there yet");
    if (price(conversion.value, conversion.from, conversion.to) != conversion.price) {
      complain(name, "a conversion has another price");
    }
    std::set<std::pair<NodeId, std::uint32_t>> readers;
    for (const Use& use : problem_.graph.uses(conversion.value.node)) {
      if (use.result != conversion.value.result) continue;
      if (option(decision, use.user).reads[use.operand] == conversion.to) {
        readers.emplace(use.user, use.operand);
      }
    }
    std::set<std::pair<NodeId, std::uint32_t>> said;
    for (const Use& use : conversion.readers) said.emplace(use.user, use.operand);
    if (said != readers || said.size() != conversion.readers.size()) {
      complain(name, "a conversion's readers are not those who read it");
    }
    const bool serves_entry = std::ranges::any_of(all, [&](const auto& other) {
      return conversion.to == float_form && other.second->from == float_form;
    });
    if (readers.empty() && !serves_entry) complain(name, "a conversion that nobody reads");
  }

  template <class Visit>
  void for_each_value(Visit visit) const {
    for (const NodeId node : problem_.order) {
      for (std::uint32_t i = 0; i < problem_.graph.result_count(node); ++i) visit(Value{node, i});
    }
  }

  const SelectionProblem& problem_;
  std::vector<std::size_t> position_;            // in the order, by node index
  std::vector<std::vector<Option>> options_;     // by position
  mutable std::vector<Known> prices_;            // by value and forms; asked for once
  std::vector<std::vector<NodeId>> settled_at_;  // by position of the last reader
};

}  // namespace brute_force
