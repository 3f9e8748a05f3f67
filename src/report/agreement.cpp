#include "report/agreement.hpp"

#include <fmt/format.h>

namespace quadrant::inline v0 {

std::string format_sqnr(const Agreement& agreement) {
  if (agreement.equal == agreement.elements) return "exact";
  const std::uint64_t non_finite = agreement.non_finite;
  if (agreement.equal + non_finite == agreement.elements) {
    return fmt::format("{} not finite", non_finite);
  }
  std::string text = fmt::format("{:.2f} dB", agreement.sqnr_db());
  if (non_finite != 0) text += fmt::format(", {} not finite", non_finite);
  return text;
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
          {"sqnr_db", agreement.sqnr_db()},
          {"cosine", agreement.cosine()},
          {"largest_error", agreement.largest_error}};
}

}  // namespace quadrant::inline v0
