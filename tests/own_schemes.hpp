// Schemes of someone's own, by the library's methods: one that needs ranges, one that takes
// moments, and one that looks at no data.
#pragma once

#include <doctest/doctest.h>

#include <utility>

#include "quadrant/quadrant.hpp"

namespace quadrant::test {

inline Expected<Registry> make_ranged(const OptionValues& values, const SchemeData& data) {
  QUADRANT_CHECK(check_options({}, values, "ranged"));
  StaticAffineOptions options;
  options.statistics = data.statistics;
  return static_affine_registry(std::move(options));
}

inline Expected<Registry> make_stored(const OptionValues& values, const SchemeData& data) {
  QUADRANT_CHECK(check_options({}, values, "stored"));
  return weight_only_registry(data.weights("int4"));
}

/// `variants`: of the one that takes moments, for budgets.
inline void add_own_schemes(SchemeTable& schemes,
                            Expected<std::vector<SchemeChoice>> (*variants)() = nullptr) {
  const auto add = [&](const SchemeEntry& entry) { REQUIRE(schemes.add(entry).has_value()); };
  add({.name = "ranged",
       .summary = "static_affine's methods",
       .gain = "operations",
       .needs_data = true,
       .make = make_ranged});
  add({.name = "stored",
       .summary = "weight_only's methods",
       .gain = "bytes",
       .make = make_stored,
       .takes_moments = true,
       .variants = variants});
  add({.name = "plain", .summary = "no data", .gain = "bytes", .make = make_stored});
}

}  // namespace quadrant::test
