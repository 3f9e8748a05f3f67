#include "support/file_on_ranks.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace quadrant::inline v0 {
namespace {

// Opens what the first rank calls `name`, on the others: whether all could.
Expected<bool> join_all(const Expected<std::string>& name, FileOnRanks& made, Ranks& ranks) {
  QUADRANT_TRY(const std::string told, ranks.of_first(name));
  if (!ranks.is_first()) {
    auto joined = NewFile::join(told);
    if (joined) made.file.emplace(*std::move(joined));
  }
  QUADRANT_TRY(const std::vector<std::string> all, ranks.gather(std::string(made.file ? "+" : "")));
  return std::ranges::all_of(all, [](const std::string& each) { return !each.empty(); });
}

}  // namespace

Expected<FileOnRanks> open_on_ranks(Expected<std::optional<NewFile>> own, Ranks& ranks) {
  FileOnRanks made;
  Expected<std::string> name;
  if (!own) {
    name = fail(own.error());
  } else if (std::optional<NewFile>& file = *own; file.has_value()) {
    name = file->name_here();
    made.file.emplace(*std::move(file));
  }
  QUADRANT_TRY(bool are_all, join_all(name, made, ranks));
  if (!are_all) {
    if (made.file && ranks.is_first()) name = made.file->name_everywhere();
    QUADRANT_TRY(are_all, join_all(name, made, ranks));
  }
  made.is_on_all = are_all;
  return made;
}

}  // namespace quadrant::inline v0
