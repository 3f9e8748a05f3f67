// The network's answers against all answers compared: some hubs, and leaves that depend on hubs
// alone, so that each leaf has a best answer once those of the hubs are held.
#include "engine/policies/cut_network.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "shortened.hpp"

using namespace quadrant;

namespace {

constexpr std::uint32_t hubs = 3;
constexpr std::int64_t never = -1'000'000'000'000;  // what an answer gains that is not possible

struct Leaf {
  std::int64_t gain = 0;
  bool is_needed = false;  // whatever leaf is true makes its hub true
  std::uint32_t hub = 0;
  std::array<std::int64_t, hubs> above{};  // costs where the leaf is true and the hub is not
  std::array<std::int64_t, hubs> below{};  // costs where the hub is true and the leaf is not

  [[nodiscard]] std::int64_t worth(bool is_true, std::uint32_t answers) const {
    const auto of = [&](std::uint32_t at) { return ((answers >> at) & 1U) != 0; };
    std::int64_t sum = is_true ? gain : 0;
    if (is_needed && is_true && !of(hub)) return never;
    for (std::uint32_t at = 0; at < hubs; ++at) {
      if (is_true && !of(at)) sum -= above[at];
      if (!is_true && of(at)) sum -= below[at];
    }
    return sum;
  }
};

struct Star {
  std::array<std::int64_t, hubs> gains{};
  std::vector<Leaf> leaves;

  Star(std::mt19937& random, std::size_t count) : leaves(count) {
    const auto between = [&](std::int64_t low, std::int64_t high) {
      return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
    };
    const auto reach = static_cast<std::int64_t>(count);
    for (std::int64_t& gain : gains) gain = between(-reach, reach);
    for (Leaf& leaf : leaves) {
      leaf.gain = between(-9, 9);
      leaf.is_needed = between(0, 2) == 0;
      leaf.hub = static_cast<std::uint32_t>(between(0, hubs - 1));
      for (std::int64_t& cost : leaf.above) cost = std::max<std::int64_t>(0, between(-9, 4));
      for (std::int64_t& cost : leaf.below) cost = std::max<std::int64_t>(0, between(-9, 4));
    }
  }

  [[nodiscard]] CutNetwork network() const {
    CutNetwork network;
    std::array<Literal, hubs> hub{};
    for (std::uint32_t at = 0; at < hubs; ++at) {
      hub[at] = network.ask();
      network.add_gain(hub[at], gains[at]);
    }
    for (const Leaf& leaf : leaves) {
      const Literal answer = network.ask();
      network.add_gain(answer, leaf.gain);
      if (leaf.is_needed) network.imply(answer, hub[leaf.hub]);
      for (std::uint32_t at = 0; at < hubs; ++at) {
        network.add_cost(answer, hub[at], leaf.above[at]);
        network.add_cost(hub[at], answer, leaf.below[at]);
      }
    }
    return network;
  }

  [[nodiscard]] std::int64_t of_hubs(std::uint32_t answers) const {
    std::int64_t sum = 0;
    for (std::uint32_t at = 0; at < hubs; ++at) sum += ((answers >> at) & 1U) != 0 ? gains[at] : 0;
    return sum;
  }
  [[nodiscard]] std::int64_t best() const {
    std::int64_t best = std::numeric_limits<std::int64_t>::min();
    for (std::uint32_t answers = 0; answers < 1U << hubs; ++answers) {
      std::int64_t sum = of_hubs(answers);
      for (const Leaf& leaf : leaves) {
        sum += std::max(leaf.worth(true, answers), leaf.worth(false, answers));
      }
      best = std::max(best, sum);
    }
    return best;
  }
  [[nodiscard]] std::int64_t worth(const CutNetwork::Answers& found) const {
    std::uint32_t answers = 0;
    for (std::uint32_t at = 0; at < hubs; ++at) {
      answers |= static_cast<std::uint32_t>(found.is_true[at]) << at;
    }
    std::int64_t sum = of_hubs(answers);
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      sum += leaves[i].worth(found.is_true[hubs + i] != 0, answers);
    }
    return sum;
  }
};

void check(const Star& star) {
  const auto found = star.network().solve();
  REQUIRE(found.has_value());
  CHECK(found->is_true.size() == hubs + star.leaves.size());
  CHECK(found->gain == star.best());
  CHECK(star.worth(*found) == found->gain);
}

}  // namespace

TEST_CASE("hubs are answered as all answers compared say, however many neighbours they have") {
  std::mt19937 random(31);
  for (std::size_t round = 0; round < test::shortened(std::size_t{600}); ++round) {
    check(Star(random, round % 300));
  }
  for (const std::size_t leaves : {1'100U, 3'000U, 40'000U}) check(Star(random, leaves));
}

TEST_CASE("of answers that are worth the same, a hub's are those with the fewest yes") {
  for (const std::uint32_t leaves : {5U, 50U, 5'000U}) {
    CutNetwork network;
    const Literal hub = network.ask();
    network.add_gain(hub, -std::int64_t{leaves});
    for (std::uint32_t i = 0; i < leaves; ++i) {
      const Literal leaf = network.ask();
      network.add_gain(leaf, 1);
      network.imply(leaf, hub);
    }
    const auto found = network.solve();
    REQUIRE(found.has_value());
    CHECK(found->gain == 0);
    CHECK(std::ranges::count(found->is_true, 1) == 0);
  }
}
