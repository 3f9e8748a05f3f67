#include "engine/policies/dual_bound.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

namespace quadrant::inline v0 {
namespace {

// Tables of doubles, which the multipliers are added to.
class Split {
 public:
  Split(const FactorGraph& graph, std::span<const VariableId> component)
      : graph_(&graph), component_(component) {
    for (const VariableId variable : component) {
      for (const FactorId id : graph.factors_of(variable)) {
        if (graph.factor(id).scope.front() == variable) add(id);
      }
    }
  }

  /// A bound by all factors' best entries.
  [[nodiscard]] double bound() const {
    double total = 0;
    for (const Table& table : tables_) {
      total += *std::ranges::max_element(entries_.begin() + table.first,
                                         entries_.begin() + table.first + table.size);
    }
    return total;
  }
  /// How far rounding may have moved `bound`.
  [[nodiscard]] double slack() const noexcept { return slack_; }

  void pass() {
    for (const VariableId variable : component_) average(variable);
  }

 private:
  struct Table {
    FactorId id = 0;
    std::ptrdiff_t first = 0;
    std::ptrdiff_t size = 0;
  };

  void add(FactorId id) {
    const FactorView factor = graph_->factor(id);
    place_.emplace(id, tables_.size());
    tables_.push_back({id, std::ssize(entries_), std::ssize(factor.table)});
    double largest = 0;
    for (const Worth& worth : factor.table) {
      if (worth.is_possible()) {
        largest = std::max(largest, std::abs(static_cast<double>(worth.gain.amount())));
      }
    }
    scale_ += largest;
    for (const Worth& worth : factor.table) {
      entries_.push_back(worth.is_possible() ? static_cast<double>(worth.gain.amount())
                                             : impossible);
    }
    slack_ = 1e-9 * (scale_ + 1);
  }

  // The best of a factor for each state of one of its variables.
  void find_marginals(const Table& table, VariableId variable, std::vector<double>& marginals) {
    const FactorView factor = graph_->factor(table.id);
    const auto [stride, states] = layout(factor, variable);
    marginals.assign(states, impossible);
    for (std::ptrdiff_t at = 0; at < table.size; ++at) {
      double& best = marginals[(static_cast<std::size_t>(at) / stride) % states];
      best = std::max(best, entries_[static_cast<std::size_t>(table.first + at)]);
    }
  }

  [[nodiscard]] std::pair<std::size_t, std::size_t> layout(const FactorView& factor,
                                                           VariableId variable) const {
    std::size_t stride = 1;
    for (std::size_t i = factor.scope.size(); i > 0; --i) {
      if (factor.scope[i - 1] == variable) break;
      stride *= graph_->states(factor.scope[i - 1]);
    }
    return {stride, graph_->states(variable)};
  }

  void average(VariableId variable) {
    const auto factors = graph_->factors_of(variable);
    if (factors.size() < 2) return;
    const std::uint32_t states = graph_->states(variable);
    mean_.assign(states, 0);
    marginals_.resize(factors.size());
    for (std::size_t i = 0; i < factors.size(); ++i) {
      find_marginals(tables_[place_.at(factors[i])], variable, marginals_[i]);
      for (std::uint32_t state = 0; state < states; ++state) mean_[state] += marginals_[i][state];
    }
    for (double& mean : mean_) mean /= static_cast<double>(factors.size());
    for (std::size_t i = 0; i < factors.size(); ++i) {
      const Table& table = tables_[place_.at(factors[i])];
      const auto [stride, count] = layout(graph_->factor(table.id), variable);
      for (std::ptrdiff_t at = 0; at < table.size; ++at) {
        const std::size_t state = (static_cast<std::size_t>(at) / stride) % count;
        double& entry = entries_[static_cast<std::size_t>(table.first + at)];
        // A state that one factor rules out is out in all of them.
        const double shifted = entry - marginals_[i][state] + mean_[state];
        entry = std::isfinite(mean_[state]) ? shifted : impossible;
      }
    }
  }

  static constexpr double impossible = -std::numeric_limits<double>::infinity();

  const FactorGraph* graph_;
  std::span<const VariableId> component_;
  std::vector<Table> tables_;
  std::unordered_map<FactorId, std::size_t> place_;
  std::vector<double> entries_;
  double scale_ = 0;
  double slack_ = 0;
  std::vector<std::vector<double>> marginals_;  // scratch of average
  std::vector<double> mean_;
};

}  // namespace

Gain dual_bound(const FactorGraph& graph, std::span<const VariableId> component, Gain reached) {
  constexpr int most_passes = 200;
  Split split(graph, component);
  const auto goal = static_cast<double>(reached.amount());
  double best = split.bound();
  for (int pass = 0; pass < most_passes; ++pass) {
    split.pass();
    const double before = best;
    best = std::min(best, split.bound());
    // Gains are whole numbers: less than one above is none above.
    if (best + split.slack() < goal + 1) break;
    if (pass >= 20 && before - best < 1e-5 * std::abs(best - goal)) break;
  }
  const double bound = std::floor(best + split.slack());
  constexpr double largest = 9.2e18;
  if (!(bound < largest)) return Gain{std::numeric_limits<std::int64_t>::max()};
  if (bound < -largest) return reached;  // nothing is possible
  return std::max(reached, Gain{static_cast<std::int64_t>(bound)});
}

}  // namespace quadrant::inline v0
