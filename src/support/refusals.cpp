#include "support/refusals.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>

#include "support/printable.hpp"

namespace quadrant::inline v0::failures {

void Refusals::add(const std::string& why, std::string_view node, Remedy remedy) {
  if (remedy_ == Remedy::none) remedy_ = remedy;
  const auto [known, is_new] = index_of_.try_emplace(why, refused_.size());
  if (is_new) refused_.push_back({why, {}});
  refused_[known->second].nodes.emplace_back(node);
}

std::string Refusals::text() const {
  constexpr std::size_t most_reasons = 50;
  constexpr std::size_t most_names = 3;
  std::string all;
  for (const Refused& refused : refused_ | std::views::take(most_reasons)) {
    if (!all.empty()) all += "; ";
    const std::size_t shown = std::min(most_names, refused.nodes.size());
    all += fmt::format(
        "{} ('{}'{})", printable(refused.why),
        printable(fmt::format(
            "{}", fmt::join(refused.nodes.begin(),
                            refused.nodes.begin() + static_cast<std::ptrdiff_t>(shown), "', '"))),
        shown < refused.nodes.size() ? fmt::format(" and {} more", refused.nodes.size() - shown)
                                     : "");
  }
  if (refused_.size() > most_reasons) {
    all += fmt::format("; and {} more reasons", refused_.size() - most_reasons);
  }
  return all;
}

}  // namespace quadrant::inline v0::failures
