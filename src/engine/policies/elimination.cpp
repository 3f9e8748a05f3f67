#include "engine/policies/elimination.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/minimum_degree_ordering.hpp>
#include <iterator>
#include <utility>

namespace quadrant::inline v0 {
namespace {

// A table that is read along with others, in the order of another scope.
struct Reader {
  const Worth* entries = nullptr;
  std::vector<std::size_t> strides;  // by place in that scope; 0: it does not depend on it
  std::size_t stride = 0;            // of the variable that is eliminated
  std::size_t at = 0;
};

// Adds all but the first of `scope` to `joined`, which ascends.
void join_rest(const std::vector<std::uint32_t>& scope, std::vector<std::uint32_t>& joined) {
  std::vector<std::uint32_t> both;
  both.reserve(scope.size() + joined.size());
  std::set_union(scope.begin() + 1, scope.end(), joined.begin(), joined.end(),
                 std::back_inserter(both));
  joined = std::move(both);
}

}  // namespace

bool Elimination::maximize(std::span<const VariableId> free, const EliminationLimits& limits,
                           Assignment& assignment) {
  for (std::uint32_t i = 0; i < free.size(); ++i) local_[free[i]] = i;
  collect_factors(free);
  order_ = find_order(free);
  for (std::uint32_t position = 0; position < order_.size(); ++position) {
    local_[order_[position]] = position;
  }

  const bool is_small = fits(limits);
  std::vector<std::vector<Table>> buckets(order_.size());
  Worth best;
  const auto put = [&](Table table) {
    if (table.scope.empty()) {
      best += table.entries[0];
    } else {
      buckets[table.scope.front()].push_back(std::move(table));
    }
  };
  std::vector<Step> steps(order_.size());
  if (is_small) {
    for (const FactorId id : factors_) put(restrict(id, assignment));
    for (std::uint32_t position = 0; position < order_.size(); ++position) {
      std::vector<std::uint32_t> scope;
      for (const Table& table : buckets[position]) join_rest(table.scope, scope);
      put(eliminate(position, buckets[position], std::move(scope), steps[position]));
      buckets[position] = {};
    }
  }
  const bool is_done = is_small && best.is_possible();

  for (std::size_t left = is_done ? order_.size() : 0; left > 0; --left) {
    const Step& step = steps[left - 1];
    std::size_t at = 0;
    for (const std::uint32_t position : step.scope) {
      const VariableId variable = order_[position];
      at = at * graph_->states(variable) + assignment[variable];
    }
    assignment[order_[left - 1]] = step.states[at];
  }
  for (const VariableId variable : free) local_[variable] = held;
  return is_done;
}

void Elimination::collect_factors(std::span<const VariableId> free) {
  factors_.clear();
  for (const VariableId variable : free) {
    for (const FactorId id : graph_->factors_of(variable)) {
      if (std::exchange(is_met_[id], 1) == 0) factors_.push_back(id);
    }
  }
  for (const FactorId id : factors_) is_met_[id] = 0;
}

// Those first that touch few others, counting what earlier ones bring together.
std::vector<VariableId> Elimination::find_order(std::span<const VariableId> free) const {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  for (const FactorId id : factors_) {
    const auto scope = graph_->factor(id).scope;
    for (const VariableId a : scope) {
      for (const VariableId b : scope) {
        if (a != b && local_[a] != held && local_[b] != held) {
          edges.emplace_back(local_[a], local_[b]);
        }
      }
    }
  }
  std::ranges::sort(edges);
  const auto [first, last] = std::ranges::unique(edges);
  edges.erase(first, last);

  // Boost's algorithm looks one degree beyond the largest that there can be: two vertices without
  // neighbours, which it eliminates first, make room for that.
  const std::size_t padded = free.size() + 2;
  using Neighbours = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;
  Neighbours neighbours(edges.begin(), edges.end(), padded);
  const auto index = boost::get(boost::vertex_index, neighbours);
  std::vector<int> degree(padded, 0);
  std::vector<int> order(padded, 0);
  std::vector<int> place(padded, 0);
  std::vector<int> supernode_sizes(padded, 1);
  const auto map = [&](std::vector<int>& numbers) {
    return boost::make_iterator_property_map(numbers.begin(), index);
  };
  boost::minimum_degree_ordering(neighbours, map(degree), place.data(), order.data(),
                                 map(supernode_sizes), 0, index);
  std::vector<VariableId> result;
  result.reserve(free.size());
  for (const int local : order) {
    if (static_cast<std::size_t>(local) < free.size()) {
      result.push_back(free[static_cast<std::size_t>(local)]);
    }
  }
  return result;
}

// The factor as a table over its free variables alone.
Elimination::Table Elimination::restrict(FactorId id, const Assignment& assignment) const {
  const FactorView factor = graph_->factor(id);
  Table table;
  std::size_t base = 0;
  std::size_t stride = factor.table.size();
  std::vector<std::pair<std::uint32_t, std::size_t>> strides;  // of the free, by position
  for (const VariableId variable : factor.scope) {
    stride /= graph_->states(variable);
    if (local_[variable] == held) {
      base += stride * assignment[variable];
    } else {
      strides.emplace_back(local_[variable], stride);
    }
  }
  std::ranges::sort(strides);
  std::size_t size = 1;
  for (const auto& [position, of] : strides) {
    table.scope.push_back(position);
    size *= graph_->states(order_[position]);
  }
  table.entries.reserve(size);
  std::vector<std::uint32_t> states(strides.size(), 0);
  for (std::size_t at = base, count = 0; count < size; ++count) {
    table.entries.push_back(factor.table[at]);
    for (std::size_t place = strides.size(); place > 0; --place) {
      const auto& [position, of] = strides[place - 1];
      at += of;
      if (++states[place - 1] < graph_->states(order_[position])) break;
      at -= of * states[place - 1];
      states[place - 1] = 0;
    }
  }
  return table;
}

// Whether the limits allow it: all but the numbers.
bool Elimination::fits(const EliminationLimits& limits) const {
  std::vector<std::vector<std::vector<std::uint32_t>>> buckets(order_.size());
  for (const FactorId id : factors_) {
    std::vector<std::uint32_t> scope;
    for (const VariableId variable : graph_->factor(id).scope) {
      if (local_[variable] != held) scope.push_back(local_[variable]);
    }
    std::ranges::sort(scope);
    const std::uint32_t first = scope.front();
    buckets[first].push_back(std::move(scope));
  }
  std::size_t total = 0;
  for (auto& bucket : buckets) {
    std::vector<std::uint32_t> scope;
    for (const std::vector<std::uint32_t>& one : bucket) join_rest(one, scope);
    bucket = {};
    const std::size_t size = size_of(scope, limits.table);
    total += size;
    if (size > limits.table || total > limits.total) return false;
    if (scope.empty()) continue;
    const std::uint32_t first = scope.front();
    buckets[first].push_back(std::move(scope));
  }
  return true;
}

// How many entries a table over `scope` has; more than `limit` where that is exceeded.
std::size_t Elimination::size_of(std::span<const std::uint32_t> scope, std::size_t limit) const {
  std::size_t size = 1;
  for (const std::uint32_t position : scope) {
    size *= graph_->states(order_[position]);
    if (size > limit) break;
  }
  return size;
}

Elimination::Table Elimination::eliminate(std::uint32_t position, const std::vector<Table>& tables,
                                          std::vector<std::uint32_t> scope, Step& step) const {
  const auto states_at = [&](std::uint32_t at) { return graph_->states(order_[at]); };
  const std::uint32_t own_states = states_at(position);
  std::vector<Reader> readers;
  readers.reserve(tables.size());
  for (const Table& table : tables) {
    Reader reader{table.entries.data(), std::vector<std::size_t>(scope.size(), 0), 0, 0};
    std::size_t stride = 1;
    for (std::size_t i = table.scope.size(); i > 1; --i) {
      const std::uint32_t at = table.scope[i - 1];
      const auto place = std::ranges::lower_bound(scope, at) - scope.begin();
      reader.strides[static_cast<std::size_t>(place)] = stride;
      stride *= states_at(at);
    }
    reader.stride = stride;  // the variable that is eliminated stands first
    readers.push_back(std::move(reader));
  }

  const std::size_t size = size_of(scope, static_cast<std::size_t>(-1));
  Table result;
  result.entries.reserve(size);
  step.states.reserve(size);
  std::vector<std::uint32_t> states(scope.size(), 0);
  for (std::size_t count = 0; count < size; ++count) {
    Worth best = Worth::impossible();
    std::uint32_t chosen = 0;
    for (std::uint32_t state = 0; state < own_states; ++state) {
      Worth sum;
      for (const Reader& reader : readers) sum += reader.entries[reader.at + state * reader.stride];
      if (sum > best) {
        best = sum;
        chosen = state;
      }
    }
    result.entries.push_back(best);
    step.states.push_back(static_cast<std::uint16_t>(chosen));
    for (std::size_t place = scope.size(); place > 0; --place) {
      const std::size_t i = place - 1;
      const bool wraps = ++states[i] == states_at(scope[i]);
      for (Reader& reader : readers) {
        reader.at += reader.strides[i];
        if (wraps) reader.at -= reader.strides[i] * states[i];
      }
      if (!wraps) break;
      states[i] = 0;
    }
  }
  step.scope = scope;
  result.scope = std::move(scope);
  return result;
}

}  // namespace quadrant::inline v0
