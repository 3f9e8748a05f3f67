#include "numerics/entropy.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <vector>

#include "numerics/helpers.hpp"
#include "quadrant/numerics/encoding.hpp"
#include "shortened.hpp"

namespace quadrant {
namespace {

using test::double_infinity;

using Values = std::vector<float>;

EncodingRule rule_of(int bits, EncodingSymmetry symmetry = EncodingSymmetry::asymmetric) {
  EncodingRule rule = EncodingRule::snpe();
  rule.method = EncodingMethod::entropy;
  rule.bits = bits;
  rule.symmetry = symmetry;
  return rule;
}

// The definition in entropy.hpp, step by step: whole distributions, by bin.
double divergence(const std::map<int, double>& bins, int first, int last, double width,
                  const Encoding& encoding) {
  std::map<int, double> p;
  std::map<int, double> inside;
  for (const auto& [bin, count] : bins) {
    p[std::clamp(bin, first, last)] += count;
    if (bin >= first && bin <= last) inside[bin] = count;
  }
  const auto code_of = [&](int bin) { return quantize_value(bin * width, encoding); };
  std::map<std::int64_t, double> sums;
  std::map<std::int64_t, int> occupied;
  for (const auto& [bin, count] : p) ++occupied[code_of(bin)];
  for (const auto& [bin, count] : inside) sums[code_of(bin)] += count;
  std::map<int, double> q;
  for (const auto& [bin, count] : p) q[bin] = sums[code_of(bin)] / occupied[code_of(bin)];
  double all_p = 0;
  double all_q = 0;
  for (const auto& [bin, count] : p) all_p += count;
  for (const auto& [bin, count] : q) all_q += count;
  if (all_q == 0) return double_infinity;
  double sum = 0;
  for (const auto& [bin, count] : p) {
    const double share = q[bin] == 0 ? 1e-8 : q[bin] / all_q;
    sum += count / all_p * std::log(count / all_p / share);
  }
  return sum;
}

// The divergence of each threshold; of the widest first.
struct Candidate {
  Encoding encoding;
  double divergence = 0;
};
std::vector<Candidate> candidates(const Values& values, const EncodingRule& rule) {
  EncodingRule plain = rule;
  plain.method = EncodingMethod::minmax;
  const auto [lowest, highest] = std::ranges::minmax(values);
  const auto min = static_cast<double>(lowest);
  const auto max = static_cast<double>(highest);
  const double width = std::max(-min, max) / 2048;
  std::map<int, double> bins;
  for (const float value : values) {
    bins[static_cast<int>(std::round(static_cast<double>(value) / width))] += 1;
  }
  std::vector<Candidate> result;
  for (int k = 2048; k > 0; --k) {
    const int first = std::max(static_cast<int>(std::round(std::min(min, 0.0) / width)), -k);
    const int last = std::min(static_cast<int>(std::round(std::max(max, 0.0) / width)), k);
    const double threshold = (k + .5) * width;
    const Encoding encoding = find_encoding(std::clamp(min, -threshold, threshold),
                                            std::clamp(max, -threshold, threshold), plain)
                                  .value();
    if (last - first + 1 < encoding.steps + 1) break;
    result.push_back({encoding, divergence(bins, first, last, width, encoding)});
  }
  return result;
}

Values made(std::size_t size, const std::function<float(std::mt19937&)>& generator) {
  std::mt19937 random(21);
  Values values(size);
  for (float& value : values) value = generator(random);
  return values;
}

float normal(std::mt19937& random) { return std::normal_distribution<float>()(random); }

std::vector<Values> data() {
  return {made(200, normal),
          made(200, [](std::mt19937& random) { return std::max(normal(random), 0.0F); }),
          made(200, [](std::mt19937& random) { return -std::fabs(normal(random)) - 1; }),
          made(200, [](std::mt19937& random) { return std::pow(normal(random), 3.0F) + .1F; }),
          made(200, [](std::mt19937& random) { return normal(random) * .01F + 5; }),
          made(30, normal),
          made(1, normal)};
}

TEST_CASE("entropy: the least divergence of all thresholds") {
  test::Turns turns;
  for (const Values& values : data()) {
    for (const EncodingSymmetry symmetry :
         {EncodingSymmetry::asymmetric, EncodingSymmetry::symmetric}) {
      if (!turns.next()) continue;
      const EncodingRule rule = rule_of(values.size() == 200 ? 8 : 4, symmetry);
      const Encoding found = find_encoding(values, rule).value();
      const std::vector<Candidate> all = candidates(values, rule);
      REQUIRE(!all.empty());
      double least = double_infinity;
      double of_found = double_infinity;
      for (const Candidate& candidate : all) {
        least = std::min(least, candidate.divergence);
        if (candidate.encoding == found) of_found = std::min(of_found, candidate.divergence);
      }
      CHECK(of_found <= least + 1e-9);
    }
  }
}

TEST_CASE("entropy: many zeros draw the threshold in, which mse does not let them") {
  Values values = made(20000, normal);
  for (float& value : values) value = std::max(value, 0.0F);
  const auto error = [&](EncodingMethod method) {
    EncodingRule rule = rule_of(8);
    rule.method = method;
    const Encoding encoding = find_encoding(values, rule).value();
    double sum = 0;
    for (const float value : values) {
      const double off = value - dequantize_value(quantize_value(value, encoding), encoding);
      sum += off * off;
    }
    return sum;
  };
  CHECK(error(EncodingMethod::entropy) > 10 * error(EncodingMethod::minmax));
  CHECK(error(EncodingMethod::mse) <= error(EncodingMethod::minmax));
}

TEST_CASE("entropy: a long tail is cut off, what has none is not") {
  Values values = made(20000, normal);
  values.push_back(100);
  const Encoding found = find_encoding(values, rule_of(8)).value();
  CHECK(found.max < 20);
  CHECK(found.max > 2);
  const Values uniform = made(20000, [](std::mt19937& random) {
    return std::uniform_real_distribution<float>(-1, 1)(random);
  });
  CHECK(find_encoding(uniform, rule_of(8))->max > .95);
}

TEST_CASE("entropy: where it cannot tell, minmax") {
  const auto minmax = [](const Values& values, EncodingRule rule) {
    rule.method = EncodingMethod::minmax;
    return find_encoding(values, rule).value();
  };
  const Values values = made(300, normal);
  for (const int bits : {13, 16}) {  // more codes than the 4097 bins
    CHECK(find_encoding(values, rule_of(bits)).value() == minmax(values, rule_of(bits)));
  }
  for (const Values& some : {Values{}, Values{0, 0}, Values{1e-40F, -1e-40F}}) {
    CHECK(find_encoding(some, rule_of(8)).value() == minmax(some, rule_of(8)));
  }
}

TEST_CASE("entropy: twice the data, shuffled data, counted data") {
  Values values = made(400, [](std::mt19937& random) { return std::pow(normal(random), 3.0F); });
  EncodingRule rule = rule_of(8);
  rule.minimum_range = 0;
  const Encoding encoding = find_encoding(values, rule).value();
  Values twice = values;
  for (float& value : twice) value *= 2;
  CHECK(find_encoding(twice, rule)->scale == 2 * encoding.scale);
  CHECK(find_encoding(twice, rule)->zero_point == encoding.zero_point);
  std::mt19937 random(22);
  std::ranges::shuffle(values, random);
  CHECK(find_encoding(values, rule).value() == encoding);
  // Three times as often is the same distribution.
  std::ranges::sort(values);
  std::vector<WeightedValue> counted;
  for (const float value : values) counted.push_back({static_cast<double>(value), 3});
  CHECK(find_encoding(counted, counted.front().value, counted.back().value, rule).value() ==
        encoding);
}

}  // namespace
}  // namespace quadrant
