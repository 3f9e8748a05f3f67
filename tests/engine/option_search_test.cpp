#include "engine/budgets/option_search.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "shortened.hpp"

using namespace quadrant;

namespace {

OptionTable random_table(std::mt19937& random, bool convex) {
  std::uniform_int_distribution<int> items(1, 5);
  std::uniform_int_distribution<int> options(1, 5);
  std::uniform_int_distribution<int> number(-20, 200);
  OptionTable table(static_cast<std::size_t>(items(random)));
  for (auto& item : table) {
    item.resize(static_cast<std::size_t>(options(random)));
    for (OptionFigures& option : item) {
      option.cost = number(random);
      option.loss = convex ? 5000.0 / (30.0 + option.cost) : number(random) / 7.0;
    }
  }
  return table;
}

// Every choice there is.
template <class Visit>
void for_each_choice(const OptionTable& table, Visit visit) {
  std::vector<std::uint32_t> options(table.size(), 0);
  while (true) {
    visit(choice_of(table, options));
    std::size_t item = 0;
    while (item < table.size() && ++options[item] == table[item].size()) options[item++] = 0;
    if (item == table.size()) return;
  }
}

}  // namespace

TEST_CASE(
    "what is found is within the limit, and not below the bound; the optimum, nearly always") {
  std::mt19937 random(1);
  int optimal = 0;
  int feasible = 0;
  double worst = 0;
  for (int round = 0; round < test::shortened(4000); ++round) {
    const OptionTable table = random_table(random, round % 2 == 0);
    const double limit = std::uniform_real_distribution<double>(-50, 600)(random);
    double optimum = std::numeric_limits<double>::infinity();
    double least = std::numeric_limits<double>::infinity();
    double most = -std::numeric_limits<double>::infinity();
    for_each_choice(table, [&](const OptionChoice& choice) {
      least = std::min(least, choice.loss);
      if (choice.cost > limit) return;
      optimum = std::min(optimum, choice.loss);
      most = std::max(most, choice.loss);
    });
    const auto found = search_options(table, limit);
    REQUIRE(found.has_value() == std::isfinite(optimum));
    if (!found) continue;
    ++feasible;
    CHECK(found->best.cost <= limit);
    CHECK(found->best.loss >= optimum - 1e-9);
    CHECK(found->bound <= optimum + 1e-9);
    CHECK(found->bound >= least - 1e-9);
    const double gap = most > optimum ? (found->best.loss - optimum) / (most - optimum) : 0;
    worst = std::max(worst, gap);
    if (found->best.loss <= optimum + 1e-9) ++optimal;
    // None is left that fits.
    for (std::size_t item = 0; item < table.size(); ++item) {
      for (std::uint32_t to = 0; to < table[item].size(); ++to) {
        auto changed = found->best.options;
        changed[item] = to;
        const OptionChoice other = choice_of(table, changed);
        CHECK_FALSE((other.cost <= limit && other.loss < found->best.loss - 1e-9));
      }
    }
  }
  MESSAGE(feasible << " tables: the optimum in " << optimal << ", at worst " << 100 * worst
                   << " % of the range above it");
  CHECK(optimal >= feasible * 99 / 100);
  CHECK(worst < 0.1);
}

TEST_CASE("the choices on the hull are those that are best for some price") {
  std::mt19937 random(2);
  for (int round = 0; round < 300; ++round) {
    const OptionTable table = random_table(random, round % 2 == 0);
    const std::vector<OptionChoice> hull = hull_choices(table);
    CHECK(std::ranges::is_sorted(hull, {}, &OptionChoice::cost));
    for (const double price : {0.001, 0.01, 0.1, 0.5, 1.0, 3.0, 100.0}) {
      const auto worth = [&](const OptionChoice& choice) {
        return choice.loss + price * choice.cost;
      };
      double best = std::numeric_limits<double>::infinity();
      for_each_choice(table,
                      [&](const OptionChoice& choice) { best = std::min(best, worth(choice)); });
      const auto of_hull = std::ranges::min(hull, {}, worth);
      CHECK(worth(of_hull) == doctest::Approx(best));
    }
  }
}

TEST_CASE("a point off the hull is found") {
  // On the hull are costs 0 and 10 alone; 9 is to be spent.
  const OptionTable table{{{0, 100}, {10, 0}}, {{0, 30}, {9, 25}, {10, 0}}};
  const auto found = search_options(table, 9);
  REQUIRE(found.has_value());
  CHECK(found->best.loss == 125);
  CHECK(found->bound < 125);
  CHECK_FALSE(search_options(table, -1).has_value());
}

TEST_CASE("ten thousand items") {
  std::mt19937 random(3);
  OptionTable table;
  for (int i = 0; i < 10000; ++i) {
    table.push_back({{1.0 + i % 7, 100.0 / (1 + i % 13)}, {4.0 + i % 11, 1.0}, {32, 0}});
  }
  const auto found = search_options(table, 80000);
  REQUIRE(found.has_value());
  CHECK(found->best.cost <= 80000);
  CHECK(found->best.loss <= found->bound + 100.0);
}
