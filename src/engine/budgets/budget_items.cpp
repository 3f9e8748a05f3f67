#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/pending/disjoint_sets.hpp>
#include <cmath>
#include <iterator>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "engine/phases/sort_by_name.hpp"
#include "ir/work.hpp"
#include "quadrant/engine/budgets/budget.hpp"
#include "quadrant/engine/gains/gain.hpp"

namespace quadrant::inline v0 {
namespace {

// A selected value, and what its node stores.
struct Selected {
  Value value;
  PlannedValue planned;
  std::optional<StorageChange> storage;
};

std::vector<Selected> selected_values(const GraphView& graph, const Analysis& analysis) {
  const ConstraintTable& constraints = analysis.requests.constraints();
  std::vector<Selected> all;
  for (const NodeId node : analysis.order) {
    for (std::uint32_t result = 0; result < graph.result_count(node); ++result) {
      const Value value{node, result};
      if (!analysis.selection.is_selected(value)) continue;
      const ConstraintId form = analysis.selection.produced(value);
      const std::uint32_t scheme = constraints.scheme(form);
      Selected found{
          value,
          {std::string(graph.value_name(value)), std::string(analysis.registry.name(scheme)),
           constraints.print(form), analysis.selection[value].gain},
          {}};
      const QuantizationMethod* method = analysis.eligibility.method(node, scheme);
      if (method != nullptr && result == 0) {
        found.storage = method->erased_storage(constraints.get(form), {&graph, node});
      }
      all.push_back(std::move(found));
    }
  }
  return all;
}

void sort_values(BudgetOption& option) {
  sort_by_name(option.values,
               [](const PlannedValue& one) -> std::string_view { return one.value; });
}

class ItemFinder {
 public:
  ItemFinder(const GraphView& graph, const Registry& registry)
      : graph_(graph),
        registry_(registry),
        rank_(graph.index_bound()),
        parent_(graph.index_bound()),
        together_(rank_.data(), parent_.data()) {
    std::iota(parent_.begin(), parent_.end(), 0U);
  }

  // The options, with what is vetoed of this scheme alone.
  [[nodiscard]] QuantizeOptions of_scheme(const QuantizeOptions& options,
                                          std::uint32_t scheme) const {
    QuantizeOptions own = options;
    std::erase_if(own.scheme_vetoes,
                  [&](const auto& entry) { return entry.first != registry_.name(scheme); });
    return own;
  }

  Expected<void> run(const QuantizeOptions& options) {
    const CouplingTable couplings(graph_, options.couplings);
    for (const std::vector<Value>& coupled : couplings.all()) {
      for (const Value value : coupled) unite(value.node, coupled.front().node);
    }
    for (std::uint32_t scheme = 0; scheme < registry_.scheme_count(); ++scheme) {
      QUADRANT_TRY(const Analysis analysis,
                   analyze(graph_, registry_.only(scheme), of_scheme(options, scheme)));
      if (scheme == 0) order_ = analysis.order;
      found_.push_back(selected_values(graph_, analysis));
      for (const Selected& selected : found_.back()) {
        for (const Value operand : graph_.operands(selected.value.node)) {
          const bool is_one = !operand.is_absent() && analysis.selection.is_selected(operand);
          if (is_one) unite(selected.value.node, operand.node);
        }
      }
      for (const ParameterGroup& group : analysis.parameters.groups()) {
        const auto node = [&](RequestId id) { return analysis.requests[id].value.node; };
        for (const RequestId member : group.members) unite(node(member), node(group.members[0]));
      }
    }
    return {};
  }

  [[nodiscard]] std::vector<BudgetItem> items() {
    number_items();
    std::vector<BudgetItem> items(number_.size());
    floats_before_.assign(items.size(), 0);
    for (const auto& found : found_) add_scheme(found, items);
    for (const Saved& saved : saved_) {
      // What the scheme leaves as it is counts in floats.
      items[saved.item].options[saved.option].stored_bytes +=
          floats_before_[saved.item] - std::min(floats_before_[saved.item], saved.before);
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
      BudgetItem& item = items[i];
      item.options[0].stored_bytes = floats_before_[i];
      for (BudgetOption& option : item.options) sort_values(option);
      if (item.stored.empty()) continue;
      item.name = item.stored.size() == 1
                      ? item.stored[0]
                      : fmt::format("{} and {} more", item.stored[0], item.stored.size() - 1);
    }
    std::erase_if(items, [](const BudgetItem& item) { return item.stored.empty(); });
    return items;
  }

 private:
  // What a scheme stores of an option, in floats, before it is known what all schemes store.
  struct Saved {
    std::size_t item = 0;
    std::size_t option = 0;
    std::uint64_t before = 0;
  };

  void number_items() {
    std::vector<std::uint8_t> is_in(graph_.index_bound(), 0);
    for (const auto& found : found_) {
      for (const Selected& selected : found) is_in[selected.value.node.index] = 1;
    }
    for (const NodeId node : order_) {
      if (is_in[node.index] == 0) continue;
      number_.try_emplace(together_.find_set(node.index), number_.size());
    }
  }

  // One scheme may store a weight, another what is made of it. What more of the weights can be
  // stored by says what they are in float.
  void add_scheme(const std::vector<Selected>& found, std::vector<BudgetItem>& items) {
    std::vector<BudgetItem> of_scheme(items.size());
    std::vector<std::uint64_t> after(items.size(), 0);
    for (const Selected& selected : found) {
      const std::size_t i = number_.at(together_.find_set(selected.value.node.index));
      add(selected, of_scheme[i], after[i]);
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
      BudgetItem& one = of_scheme[i];
      if (one.options.empty()) continue;
      const std::uint64_t before = std::exchange(one.options[0].stored_bytes, after[i]);
      if (items[i].options.empty() || one.elements > items[i].elements) {
        items[i].elements = one.elements;
        items[i].stored = one.stored;
        floats_before_[i] = before;
      }
      if (items[i].options.empty()) items[i].options.push_back({.label = "float"});
      saved_.push_back({i, items[i].options.size(), before});
      items[i].options.push_back(std::move(one.options[0]));
    }
  }

  void add(const Selected& selected, BudgetItem& item, std::uint64_t& after) const {
    if (item.options.empty()) item.options.push_back({.label = selected.planned.scheme});
    item.options[0].values.push_back(selected.planned);
    if (!selected.storage) return;
    item.options[0].stored_bytes += selected.storage->before;
    after += selected.storage->after;
    item.stored.push_back(selected.planned.value);
    item.elements +=
        static_cast<std::uint64_t>(counted_elements(graph_.type(selected.value).shape));
  }

  void unite(NodeId a, NodeId b) { together_.union_set(a.index, b.index); }

  const GraphView& graph_;
  const Registry& registry_;
  std::vector<std::uint32_t> rank_;
  std::vector<std::uint32_t> parent_;
  boost::disjoint_sets<std::uint32_t*, std::uint32_t*> together_;
  std::vector<NodeId> order_;
  std::vector<std::vector<Selected>> found_;               // by scheme
  std::unordered_map<std::uint32_t, std::size_t> number_;  // of an item, by what holds it together
  std::vector<std::uint64_t> floats_before_;               // by item
  std::vector<Saved> saved_;
};

bool is_same(const std::vector<PlannedValue>& a, const std::vector<PlannedValue>& b) {
  return std::ranges::equal(a, b, [](const PlannedValue& one, const PlannedValue& other) {
    return one.value == other.value && one.scheme == other.scheme &&
           one.constraint == other.constraint;
  });
}

// Collects what selection makes of items of several stored values.
class MixedOptions {
 public:
  explicit MixedOptions(const std::vector<BudgetItem>& items)
      : items_(items), mixed_(items.size()) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (items[i].stored.size() < 2) continue;
      for (const BudgetOption& option : items[i].options) {
        for (const PlannedValue& planned : option.values) item_of_.emplace(planned.value, i);
      }
    }
  }

  [[nodiscard]] bool is_of_use() const noexcept { return !item_of_.empty(); }

  void add(const std::vector<Selected>& found) {
    std::unordered_map<std::size_t, BudgetOption> options;
    for (const Selected& selected : found) {
      const auto item = item_of_.find(selected.planned.value);
      if (item == item_of_.end()) continue;
      BudgetOption& option = options[item->second];
      if (option.values.empty()) {
        option.stored_bytes = items_[item->second].options[0].stored_bytes;
      }
      option.values.push_back(selected.planned);
      if (!selected.storage) continue;
      option.stored_bytes += selected.storage->after;
      option.stored_bytes -= std::min(option.stored_bytes, selected.storage->before);
    }
    for (auto& [item, option] : options) keep(std::move(option), mixed_[item]);
  }

  [[nodiscard]] std::vector<std::vector<BudgetOption>> take() && { return std::move(mixed_); }

 private:
  // If it is of several schemes, and new.
  static void keep(BudgetOption option, std::vector<BudgetOption>& known) {
    std::set<std::string_view> schemes;
    for (const PlannedValue& planned : option.values) schemes.insert(planned.scheme);
    if (schemes.size() < 2) return;
    option.label = fmt::format("{}", fmt::join(schemes, "+"));
    option.is_mixed = true;
    sort_values(option);
    const bool is_known = std::ranges::any_of(
        known, [&](const BudgetOption& other) { return is_same(other.values, option.values); });
    if (!is_known) known.push_back(std::move(option));
  }

  const std::vector<BudgetItem>& items_;
  std::unordered_map<std::string, std::size_t> item_of_;  // by value
  std::vector<std::vector<BudgetOption>> mixed_;
};

}  // namespace

Expected<std::vector<BudgetItem>> find_budget_items(const GraphView& graph,
                                                    const Registry& registry,
                                                    const QuantizeOptions& options) {
  QuantizeOptions alone = options;
  alone.plan = nullptr;
  ItemFinder finder(graph, registry);
  QUADRANT_CHECK(finder.run(alone));
  return finder.items();
}

Expected<void> add_mixed_options(const GraphView& graph, const Registry& registry,
                                 const ErrorTable& errors, const QuantizeOptions& options,
                                 std::vector<BudgetItem>& items) {
  MixedOptions mixed(items);
  const double most = errors.largest_sum();
  if (!mixed.is_of_use() || most <= 0) return {};
  std::uint64_t bytes = 0;
  for (const BudgetItem& item : items) bytes += item.options[0].stored_bytes;
  constexpr int prices = 24;
  for (int step = 0; step <= prices; ++step) {
    // From 2^-12 to 2^12 times what makes all bytes worth as much as all errors.
    const double price = static_cast<double>(bytes) / most * std::exp2(step - prices / 2);
    const TradeGain gains({.byte = 1, .error = price, .nanosecond = 0}, {.bytes = bytes}, errors);
    QuantizeOptions priced = options;
    priced.plan = nullptr;
    priced.gains = &gains;
    QUADRANT_TRY(const Analysis analysis, analyze(graph, registry, priced));
    mixed.add(selected_values(graph, analysis));
  }
  auto found = std::move(mixed).take();
  for (std::size_t i = 0; i < items.size(); ++i) {
    std::ranges::move(found[i], std::back_inserter(items[i].options));
  }
  return {};
}

Plan plan_of(std::span<const BudgetItem> items, std::span<const std::uint32_t> options,
             const Registry& registry) {
  Plan plan;
  for (std::uint32_t i = 0; i < registry.scheme_count(); ++i) {
    plan.schemes.push_back({std::string(registry.name(i)), registry.scheme(i).describe()});
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto& values = items[i].options[options[i]].values;
    plan.values.insert(plan.values.end(), values.begin(), values.end());
  }
  sort_by_name(plan.values, [](const PlannedValue& one) -> std::string_view { return one.value; });
  return plan;
}

}  // namespace quadrant::inline v0
