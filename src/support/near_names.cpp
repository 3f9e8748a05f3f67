#include "support/near_names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace quadrant::inline v0 {
namespace {

constexpr std::size_t shown_names = 3;
// A name in a model may be megabytes long; nobody means those.
constexpr std::size_t longest_name = 256;

// `sel/then_branch/w` for `w`: what is in a body goes by its place.
bool is_in_a_body(std::string_view name, std::string_view wanted) {
  return !wanted.empty() && name.size() > wanted.size() && name.ends_with(wanted) &&
         name[name.size() - wanted.size() - 1] == '/';
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::size_t edit_distance(std::string_view wanted, std::string_view name, std::size_t limit,
                          Match match) {
  const bool is_part = match == Match::part;
  if (!is_part && name.size() > wanted.size() + limit) return limit + 1;
  if (wanted.size() > name.size() + limit) return limit + 1;
  // Optimal string alignment, three rows of the table at a time. A piece may begin and end anywhere
  // in the name for free.
  std::vector<std::size_t> before_last(name.size() + 1);
  std::vector<std::size_t> last(name.size() + 1);
  std::vector<std::size_t> row(name.size() + 1);
  for (std::size_t j = 0; j <= name.size(); ++j) last[j] = is_part ? 0 : j;
  for (std::size_t i = 1; i <= wanted.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= name.size(); ++j) {
      const bool same = lower(wanted[i - 1]) == lower(name[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0U : 1U)});
      if (i > 1 && j > 1 && lower(wanted[i - 1]) == lower(name[j - 2]) &&
          lower(wanted[i - 2]) == lower(name[j - 1])) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return std::min(is_part ? std::ranges::min(last) : last.back(), limit + 1);
}

std::vector<std::string> near_names(std::string_view wanted,
                                    std::span<const std::string_view> names, Match match) {
  // A short piece is near to everything, and so is a name of which no letter need be there.
  const std::size_t most = std::max<std::size_t>(2, wanted.size() / 3);
  const std::size_t some_letter = std::max<std::size_t>(wanted.size(), 1) - 1;
  const std::size_t limit = match == Match::part ? wanted.size() / 3 : std::min(most, some_letter);
  std::vector<std::pair<std::size_t, std::string_view>> found;
  for (const std::string_view name : names) {
    if (name.empty() || name.size() > longest_name || wanted.size() > longest_name) continue;
    const std::size_t edits =
        is_in_a_body(name, wanted) ? 0 : edit_distance(wanted, name, limit, match);
    if (edits <= limit) found.emplace_back(edits, name);
  }
  std::ranges::sort(found);
  const auto repeated = std::ranges::unique(found);
  found.erase(repeated.begin(), repeated.end());
  std::vector<std::string> result;
  for (const auto& [edits, name] : found) {
    // Beside one that is a slip away, those that are merely similar are noise.
    if (result.size() == shown_names || edits > 2 * found.front().first + 1) break;
    result.emplace_back(name);
  }
  return result;
}

std::string did_you_mean(std::string_view wanted, std::span<const std::string_view> names,
                         Match match) {
  std::string text;
  const std::vector<std::string> near = near_names(wanted, names, match);
  for (std::size_t i = 0; i < near.size(); ++i) {
    std::string_view separator = i + 1 == near.size() ? " or " : ", ";
    if (i == 0) separator = "; did you mean ";
    text += fmt::format("{}'{}'", separator, near[i]);
  }
  return text.empty() ? text : text + '?';
}

std::string did_you_mean_or_all(std::string_view wanted, std::span<const std::string_view> names) {
  std::string near = did_you_mean(wanted, names);
  return near.empty() ? fmt::format("; there are: {}", fmt::join(names, ", ")) : near;
}

}  // namespace quadrant::inline v0
