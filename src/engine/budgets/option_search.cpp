#include "engine/budgets/option_search.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

namespace quadrant::inline v0 {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// The options of one item on the lower hull, cheapest first: each step loses less, and less for the
// money, than the one before it.
std::vector<std::uint32_t> hull_of(const std::vector<OptionFigures>& options) {
  std::vector<std::uint32_t> order(options.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(
      order, {}, [&](std::uint32_t i) { return std::tuple(options[i].cost, options[i].loss, i); });
  const auto slope = [&](std::uint32_t from, std::uint32_t to) {
    return (options[to].loss - options[from].loss) / (options[to].cost - options[from].cost);
  };
  std::vector<std::uint32_t> hull;
  for (const std::uint32_t next : order) {
    if (!hull.empty() && options[next].loss >= options[hull.back()].loss) continue;
    while (hull.size() > 1 &&
           slope(hull.back(), next) <= slope(hull[hull.size() - 2], hull.back())) {
      hull.pop_back();
    }
    hull.push_back(next);
  }
  return hull;
}

// A change of one item.
struct Change {
  std::size_t item = 0;
  std::uint32_t to = 0;
  double cost = 0;
  double loss = 0;
};

struct Hull {
  std::vector<std::uint32_t> cheapest;
  std::vector<Change> steps;  // from point to point, steepest first, those of one item in order
};

Hull make_hull(const OptionTable& table) {
  Hull hull;
  for (std::size_t item = 0; item < table.size(); ++item) {
    const std::vector<std::uint32_t> points = hull_of(table[item]);
    hull.cheapest.push_back(points.front());
    for (std::size_t i = 1; i < points.size(); ++i) {
      const OptionFigures& from = table[item][points[i - 1]];
      const OptionFigures& to = table[item][points[i]];
      hull.steps.push_back({item, points[i], to.cost - from.cost, to.loss - from.loss});
    }
  }
  std::ranges::stable_sort(hull.steps, {},
                           [](const Change& step) { return step.loss / step.cost; });
  return hull;
}

class LocalSearch {
 public:
  LocalSearch(const OptionTable& table, double limit, OptionChoice& choice)
      : table_(table), limit_(limit), choice_(choice) {}

  void run() {
    // Each change loses less than the one before it, so this ends; the bound is for rounding.
    const std::size_t most = 16 * table_.size() + 64;
    for (std::size_t i = 0; i < most && (improve_one() || exchange_two()); ++i) {
    }
  }

 private:
  [[nodiscard]] std::vector<Change> changes() const {
    std::vector<Change> all;
    for (std::size_t item = 0; item < table_.size(); ++item) {
      const OptionFigures& now = table_[item][choice_.options[item]];
      for (std::uint32_t to = 0; to < table_[item].size(); ++to) {
        if (to == choice_.options[item]) continue;
        all.push_back(
            {item, to, table_[item][to].cost - now.cost, table_[item][to].loss - now.loss});
      }
    }
    return all;
  }

  [[nodiscard]] bool is_less(double loss) const {
    return loss < -1e-12 * std::max(std::abs(choice_.loss), 1e-300);
  }

  void apply(const Change& change) { choice_.options[change.item] = change.to; }
  void add_up() { choice_ = choice_of(table_, std::move(choice_.options)); }

  bool improve_one() {
    const Change* best = nullptr;
    const std::vector<Change> all = changes();
    for (const Change& change : all) {
      if (choice_.cost + change.cost > limit_ || !is_less(change.loss)) continue;
      if (best == nullptr || change.loss < best->loss) best = &change;
    }
    if (best == nullptr) return false;
    apply(*best);
    add_up();
    return true;
  }

  // The change that loses least of those that save so much, and the best one of another item.
  using LeastTwo = std::array<const Change*, 2>;

  static void enter(LeastTwo& least, const Change& change) {
    if (least[0] == nullptr || change.loss < least[0]->loss) {
      if (least[0] != nullptr && least[0]->item != change.item) least[1] = least[0];
      least[0] = &change;
    } else if (change.item != least[0]->item &&
               (least[1] == nullptr || change.loss < least[1]->loss)) {
      least[1] = &change;
    }
  }

  bool exchange_two() {
    const std::vector<Change> all = changes();
    std::vector<const Change*> savings;
    for (const Change& change : all) {
      if (change.cost < 0) savings.push_back(&change);
    }
    std::ranges::sort(savings, {}, &Change::cost);
    std::vector<LeastTwo> least(savings.size());
    for (std::size_t i = 0; i < savings.size(); ++i) {
      if (i != 0) least[i] = least[i - 1];
      enter(least[i], *savings[i]);
    }
    const double room = limit_ - choice_.cost;
    double most = 0;
    std::array<const Change*, 2> best{};
    for (const Change& upgrade : all) {
      if (upgrade.loss >= 0) continue;
      const auto end = std::ranges::upper_bound(savings, room - upgrade.cost, {}, &Change::cost);
      if (end == savings.begin()) continue;
      const LeastTwo& partners = least[static_cast<std::size_t>(end - savings.begin()) - 1];
      const Change* partner = partners[0]->item != upgrade.item ? partners[0] : partners[1];
      if (partner == nullptr || upgrade.loss + partner->loss >= most) continue;
      most = upgrade.loss + partner->loss;
      best = {&upgrade, partner};
    }
    if (best[0] == nullptr || !is_less(most)) return false;
    apply(*best[0]);
    apply(*best[1]);
    add_up();
    return true;
  }

  const OptionTable& table_;
  double limit_;
  OptionChoice& choice_;
};

// Costs above the cheapest, in buckets, rounded up: what fits here fits.
std::optional<OptionChoice> search_by_programme(const OptionTable& table,
                                                const OptionChoice& cheapest, double limit) {
  constexpr std::size_t buckets = 4096;
  constexpr std::size_t most_items = 4096;  // 16 MiB of decisions a byte; more options have no room
  const double room = limit - cheapest.cost;
  const bool has_room = room > 0 && table.size() <= most_items &&
                        std::ranges::all_of(table, [](const auto& o) { return o.size() < 256; });
  if (!has_room) return std::nullopt;
  std::vector<double> loss(buckets + 1, 0);
  std::vector<double> next(buckets + 1);
  std::vector<std::vector<std::uint8_t>> chosen(table.size());
  for (std::size_t item = 0; item < table.size(); ++item) {
    std::ranges::fill(next, infinity);
    chosen[item].assign(buckets + 1, 0);
    const double least = table[item][cheapest.options[item]].cost;
    for (std::uint32_t option = 0; option < table[item].size(); ++option) {
      const double steps = std::ceil((table[item][option].cost - least) / room * buckets);
      if (steps > buckets) continue;
      const auto width = static_cast<std::size_t>(steps);
      for (std::size_t at = width; at <= buckets; ++at) {
        const double sum = loss[at - width] + table[item][option].loss;
        if (sum >= next[at]) continue;
        next[at] = sum;
        chosen[item][at] = static_cast<std::uint8_t>(option);
      }
    }
    std::swap(loss, next);
  }
  std::vector<std::uint32_t> options(table.size());
  std::size_t at = buckets;
  for (std::size_t item = table.size(); item-- > 0;) {
    options[item] = chosen[item][at];
    const double least = table[item][cheapest.options[item]].cost;
    const double cost = table[item][options[item]].cost - least;
    at -= static_cast<std::size_t>(std::ceil(cost / room * buckets));
  }
  OptionChoice choice = choice_of(table, std::move(options));
  return choice.cost <= limit ? std::optional(std::move(choice)) : std::nullopt;
}

}  // namespace

OptionChoice choice_of(const OptionTable& table, std::vector<std::uint32_t> options) {
  OptionChoice choice{std::move(options), 0, 0};
  for (std::size_t item = 0; item < table.size(); ++item) {
    choice.cost += table[item][choice.options[item]].cost;
    choice.loss += table[item][choice.options[item]].loss;
  }
  return choice;
}

std::vector<OptionChoice> hull_choices(const OptionTable& table) {
  Hull hull = make_hull(table);
  std::vector<OptionChoice> choices{choice_of(table, hull.cheapest)};
  for (const Change& step : hull.steps) {
    hull.cheapest[step.item] = step.to;
    choices.push_back(choice_of(table, hull.cheapest));
  }
  return choices;
}

std::optional<OptionSearch> search_options(const OptionTable& table, double limit) {
  Hull hull = make_hull(table);
  const OptionChoice cheapest = choice_of(table, hull.cheapest);
  if (cheapest.cost > limit) return std::nullopt;
  OptionSearch search{cheapest, cheapest.loss};
  double cost = cheapest.cost;
  bool is_cut = false;
  for (const Change& step : hull.steps) {
    if (!is_cut) search.bound += step.loss * std::min(1.0, (limit - cost) / step.cost);
    is_cut = is_cut || cost + step.cost > limit;
    if (is_cut) continue;
    cost += step.cost;
    hull.cheapest[step.item] = step.to;
  }
  search.best = choice_of(table, hull.cheapest);
  if (search.best.cost > limit) search.best = cheapest;  // sums in another order
  LocalSearch(table, limit, search.best).run();
  if (auto other = search_by_programme(table, cheapest, limit)) {
    LocalSearch(table, limit, *other).run();
    if (other->loss < search.best.loss) search.best = std::move(*other);
  }
  return search;
}

}  // namespace quadrant::inline v0
