#include "quadrant/numerics/second_moments.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "numerics/helpers.hpp"
#include "quadrant/support/files.hpp"
#include "support/shared_room.hpp"

using namespace quadrant;

namespace {

// Two matrices of 3 rows and 70 columns, more than are summed at a time.
WeightMatrices layout() {
  WeightMatrices made{{0, 210}, {0, 70, 140}, {}};
  for (std::int64_t i = 0; i < 70; ++i) made.columns.push_back(i);
  return made;
}

std::vector<double> integers(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> draw(-32767, 32767);
  std::vector<double> made(count);
  std::ranges::generate(made, [&] { return draw(random); });
  return made;
}

SecondMoments empty() { return {layout(), std::vector<double>(140, 0.25)}; }

}  // namespace

TEST_CASE("sums are exact, whatever comes first") {
  const std::vector<double> x = integers(std::size_t{5000} * 70, 1);
  SecondMoments all = empty();
  REQUIRE(all.add(1, x));
  CHECK(all.count(0) == 0);
  CHECK(all.count(1) == 5000);

  SecondMoments parts = empty();
  const auto tail = std::span(x).subspan(std::size_t{70} * 123);
  REQUIRE(parts.add(1, tail));
  REQUIRE(parts.add(1, std::span(x).first(std::size_t{70} * 123)));
  CHECK(parts.mean(1) == all.mean(1));

  const std::vector<double> mean = all.mean(1);
  for (const auto& [i, j] :
       {std::pair<std::size_t, std::size_t>{0, 0}, {69, 3}, {3, 69}, {64, 63}}) {
    std::int64_t sum = 0;
    for (std::size_t row = 0; row < 5000; ++row) {
      sum +=
          static_cast<std::int64_t>(x[row * 70 + i]) * static_cast<std::int64_t>(x[row * 70 + j]);
    }
    CHECK(mean[i * 70 + j] == static_cast<double>(sum) * 0.0625 / 5000);
  }
  CHECK(std::ranges::all_of(all.mean(0), [](double number) { return number == 0; }));
}

TEST_CASE("the diagonal lies where the weight has what it is multiplied with") {
  SecondMoments moments = empty();
  std::vector<double> x(70);
  x[5] = 8;
  REQUIRE(moments.add(1, x));
  const std::vector<float> diagonal = moments.relative_diagonal(420);
  CHECK(diagonal[210 + 70 + 5] == 140);
  CHECK(diagonal[5] == 0);  // of the first matrix
  CHECK(std::ranges::count(diagonal, 140.0F) == 3);
}

TEST_CASE("numbers far beyond float's squares are as good as others") {
  for (const double step : {1e30, 1e-30}) {
    SecondMoments moments(layout(), std::vector<double>(140, step));
    REQUIRE(moments.add(0, std::vector<double>(70, 3)));
    CHECK(moments.relative_diagonal(420)[0] == 2);
  }
}

TEST_CASE("rows that are not whole, and matrices that are not there, are refused") {
  SecondMoments moments = empty();
  CHECK_FALSE(moments.add(0, std::vector<double>(69)));
  CHECK_FALSE(moments.add(2, std::vector<double>(70)));
  SecondMoments none({{0}, {0}, {}}, {});
  CHECK_FALSE(none.add(0, std::vector<double>(1)));
  CHECK(none.add(0, {}));
}

namespace {

std::vector<std::int64_t> sums_of(const SecondMoments& moments) {
  std::vector<std::int64_t> sums;
  for (std::size_t matrix = 0; matrix < 2; ++matrix) {
    const auto own = moments.triangle(matrix);
    sums.insert(sums.end(), own.begin(), own.end());
  }
  return sums;
}

}  // namespace

TEST_CASE("parts add up to the whole, in any order") {
  const std::vector<double> x = integers(std::size_t{3000} * 70, 3);
  SecondMoments all = empty();
  std::vector<SecondMoments> parts(3, empty());
  for (std::size_t i = 0; i < 3000; ++i) {
    const auto row = std::span(x).subspan(i * 70, 70);
    REQUIRE(all.add(i % 2, row));
    REQUIRE(parts[i % 3].add(i % 2, row));
  }
  SecondMoments sum = empty();
  for (const std::size_t i : std::array<std::size_t, 3>{2, 0, 1}) REQUIRE(sum.merge(parts[i]));
  CHECK(sum.fingerprint() == all.fingerprint());
  CHECK(sums_of(sum) == sums_of(all));

  const auto again = SecondMoments::from_sums(layout(), std::vector<double>(140, 0.25),
                                              {all.count(0), all.count(1)}, sums_of(all));
  REQUIRE(again);
  CHECK(again->fingerprint() == all.fingerprint());
}

TEST_CASE("sums of blocks are those of all pairs of columns in them") {
  const std::vector<double> x = integers(std::size_t{300} * 70, 6);
  SecondMoments all = empty();
  REQUIRE(all.add(1, x));
  const std::vector<double> whole = all.mean(1);
  for (const std::size_t block : std::array<std::size_t, 7>{1, 7, 32, 64, 69, 70, 200}) {
    CAPTURE(block);
    SecondMoments moments(layout(), std::vector<double>(140, 0.25), block);
    CHECK(moments.block() == std::min<std::size_t>(block, 70));
    REQUIRE(moments.add(1, x));
    const std::vector<double> mean = moments.mean(1);
    std::size_t count = 0;
    for (std::size_t i = 0; i < 70; ++i) {
      for (std::size_t j = 0; j < 70; ++j) {
        const bool is_inside = i / block == j / block;
        if (is_inside && j <= i) ++count;
        CHECK(mean[i * 70 + j] == (is_inside ? whole[i * 70 + j] : 0));
      }
    }
    CHECK(std::as_const(moments).triangle(1).size() == count);
    CHECK(SecondMoments::bytes_of(layout(), block) == 2 * 8 * count);
    CHECK(moments.relative_diagonal(420) == all.relative_diagonal(420));
    if (block < 70) CHECK_FALSE(moments.merge(all));

    KeptMoments away = moments;
    REQUIRE(away.put_away(ScratchFile::create(".").value()));
    CHECK(away.is_away());
    CHECK(away.count(1) == 300);
    CHECK(away.brought_back().value().fingerprint() == moments.fingerprint());
  }
}

TEST_CASE("what is loaded of a table is in memory, and the room for it is given back") {
  SecondMoments seen = empty();
  REQUIRE(seen.add(0, integers(70, 5)));
  KeptMoments away = seen;
  REQUIRE(away.put_away(ScratchFile::create(".").value()));
  SecondMomentsTable table{.weights = {{"a", away}, {"b", seen}}};
  // For one at a time.
  table.room = std::make_shared<SharedRoom>(SecondMoments::bytes_of(layout()));
  CHECK(table.load("c").value() == nullptr);
  std::array<std::uint64_t, 8> found{};
  test::TwoThreads threads;
  threads.parallel_for(found.size(), [&](std::size_t i) {
    const auto loaded = table.load(i % 2 == 0 ? "a" : "b").value();
    const auto once_more = table.load("b").value();  // does not wait for itself
    found[i] = loaded->fingerprint();
  });
  CHECK(std::ranges::count(found, seen.fingerprint()) == std::ssize(found));

  SecondMomentsTable more{.weights = {{"a", seen}}};
  REQUIRE(table.merge(more));
  SecondMoments twice = seen;
  REQUIRE(twice.merge(seen));
  CHECK(table.load("a").value()->fingerprint() == twice.fingerprint());
}

TEST_CASE("moments of another grid, and more inputs than there is room for, are not added") {
  SecondMoments moments = empty();
  const SecondMoments coarser(layout(), std::vector<double>(140, 0.5));
  const auto refused = moments.merge(coarser);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::usage);
  WeightMatrices fewer = layout();
  fewer.matrices.pop_back();
  CHECK_FALSE(moments.merge(SecondMoments(fewer, std::vector<double>(70, 0.25))));

  const auto many = SecondMoments::from_sums(layout(), std::vector<double>(140, 0.25),
                                             {SecondMoments::largest_count, 0}, sums_of(moments));
  REQUIRE(many);
  SecondMoments twice = *many;
  const auto full = twice.merge(*many);
  REQUIRE_FALSE(full);
  CHECK(full.error().code == ErrorCode::impossible);
  CHECK(twice.fingerprint() == many->fingerprint());
}

TEST_CASE("tables add up whole or not at all, and count no further than they can") {
  SecondMoments seen = empty();
  REQUIRE(seen.add(0, integers(70, 5)));
  const SecondMoments coarser(layout(), std::vector<double>(140, 0.5));
  SecondMomentsTable table{.weights = {{"a", seen}, {"b", seen}}, .samples = 3};
  const SecondMomentsTable other{.weights = {{"a", seen}, {"b", coarser}, {"c", seen}},
                                 .left = {{"d", "a reason"}},
                                 .samples = 4,
                                 .model = "m.onnx"};
  const auto refused = table.merge(other);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().place.tensor == "b");
  CHECK(table.weights.size() == 2);
  CHECK(table.load("a").value()->fingerprint() == seen.fingerprint());
  CHECK(table.left.empty());
  CHECK(table.model.empty());
  CHECK(table.samples == 3);

  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  SecondMomentsTable many{.samples = most - 1};
  REQUIRE(many.merge(SecondMomentsTable{.samples = 5}));
  CHECK(many.samples == most);
}

TEST_CASE("sums that no inputs have are refused") {
  SecondMoments moments = empty();
  REQUIRE(moments.add(0, integers(std::size_t{20} * 70, 4)));
  const std::vector<double> steps(140, 0.25);
  const std::vector<std::int64_t> counts{20, 0};
  const std::vector<std::int64_t> sums = sums_of(moments);
  const auto is_refused = [&](std::vector<double> of_steps, std::vector<std::int64_t> of_counts,
                              std::vector<std::int64_t> of_sums) {
    const auto made = SecondMoments::from_sums(layout(), std::move(of_steps), std::move(of_counts),
                                               std::move(of_sums));
    return !made && made.error().code == ErrorCode::invalid_model;
  };
  CHECK_FALSE(is_refused(steps, counts, sums));
  CHECK(is_refused(steps, {20}, sums));
  CHECK(is_refused(steps, {20, -1}, sums));
  CHECK(is_refused(steps, {1, 0}, sums));  // larger than one input can be
  CHECK(is_refused(std::vector<double>(139, 0.25), counts, sums));
  CHECK(is_refused(std::vector<double>(140, -0.25), counts, sums));
  CHECK(is_refused(std::vector<double>(140, 1e300), counts, sums));  // squares are not finite
  auto changed = sums;
  changed[0] = -1;  // a square
  CHECK(is_refused(steps, counts, changed));
  changed = sums;
  changed[1] = std::int64_t{1} << 60;  // a product far beyond those of the squares
  CHECK(is_refused(steps, counts, changed));
}

TEST_CASE("the factor is a root of the moments, damped") {
  SecondMoments moments = empty();
  REQUIRE(moments.add(1, integers(std::size_t{90} * 70, 5)));
  const std::vector<double> mean = moments.mean(1);
  double unit = 0;
  for (std::size_t i = 0; i < 70; ++i) unit += mean[i * 70 + i] / 70;
  const std::vector<double> factor = moments.factor(1, 0.25);
  double largest = 0;
  for (std::size_t i = 0; i < 70; ++i) {
    for (std::size_t j = 0; j < 70; ++j) {
      double product = 0;
      for (std::size_t k = 0; k < 70; ++k) product += factor[i * 70 + k] * factor[j * 70 + k];
      const double wanted = mean[i * 70 + j] + (i == j ? 0.25 * unit : 0);
      largest = std::max(largest, std::abs(product - wanted));
      if (j > i) CHECK(factor[i * 70 + j] == 0);
    }
  }
  CHECK(largest < 1e-12 * 70 * unit);
  SUBCASE("of blocks, without what is outside of them") {
    for (const std::size_t block : {1U, 32U, 70U}) {
      SecondMoments blocks(layout(), std::vector<double>(140, 0.25), block);
      REQUIRE(blocks.add(1, integers(std::size_t{90} * 70, 5)));
      const std::vector<double> narrow = blocks.block_factor(1, 0.25);
      REQUIRE(narrow.size() == 70 * block);
      for (std::size_t i = 0; i < 70; ++i) {
        for (std::size_t j = 0; j <= i; ++j) {
          double product = 0;
          if (i / block != j / block) continue;
          for (std::size_t k = 0; k < block; ++k) {
            product += narrow[i * block + k] * narrow[j * block + k];
          }
          const double wanted = mean[i * 70 + j] + (i == j ? 0.25 * unit : 0);
          CHECK(std::abs(product - wanted) < 1e-12 * 70 * unit);
        }
      }
    }
  }
  // Nothing was seen of the other matrix.
  const std::vector<double> nothing = moments.factor(0, 0.25);
  for (std::size_t i = 0; i < 70; ++i) {
    for (std::size_t j = 0; j < 70; ++j) CHECK(nothing[i * 70 + j] == (i == j ? 1 : 0));
  }
}
