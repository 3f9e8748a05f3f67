#include "report/agreement.hpp"

#include <fmt/format.h>

#include <cmath>

namespace quadrant::inline v0 {

namespace {

// JSON has no infinity.
Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

}  // namespace

std::string format_decibels(double value) {
  if (std::isinf(value)) return value > 0 ? "exact" : "-inf dB";
  return fmt::format("{:.2f} dB", value);
}

std::string format_percent(double share) { return fmt::format("{:.2f}%", 100 * share); }

Json to_json(const ValueAgreement& value) {
  const Agreement& agreement = value.agreement;
  return {{"name", value.name},
          {"kind", value.kind},
          {"elements", agreement.elements},
          {"equal", agreement.equal},
          {"exact", agreement.equal == agreement.elements},
          {"non_finite", agreement.non_finite},
          {"sqnr_db", finite(agreement.sqnr_db())},
          {"cosine", agreement.cosine()},
          {"largest_error", agreement.largest_error}};
}

}  // namespace quadrant::inline v0
