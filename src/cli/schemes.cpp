#include "cli/schemes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "cli/near_names.hpp"
#include "quadrant/methods/weight_only.hpp"

namespace quadrant::cli {
namespace {

constexpr std::array entries{
    SchemeEntry{
        "weight_only",
        "weights become symmetric integers with one scale per channel; activations stay float",
        "--bits 8                 width of the integers\n"
        "--granularity channel    what shares one scale: the elements of one channel",
        [](const SchemeOptions& options) { return weight_only_registry({.bits = options.bits}); }},
};

}  // namespace

std::span<const SchemeEntry> schemes() noexcept { return entries; }

Expected<const SchemeEntry*> find_scheme(std::string_view name) {
  std::string wanted(name);
  std::ranges::replace(wanted, '-', '_');
  const auto found = std::ranges::find(entries, wanted, &SchemeEntry::name);
  if (found != entries.end()) return &*found;
  std::vector<std::string_view> names;
  names.reserve(entries.size());
  for (const SchemeEntry& entry : entries) names.push_back(entry.name);
  const std::string near = did_you_mean(wanted, names);
  return fail(
      ErrorCode::usage,
      fmt::format("there is no scheme '{}'{}", name,
                  near.empty() ? fmt::format("; there are: {}", fmt::join(names, ", ")) : near));
}

}  // namespace quadrant::cli
