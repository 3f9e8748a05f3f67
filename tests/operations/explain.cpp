#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "reasons.hpp"

namespace quadrant::test {
namespace {

bool names(std::string_view word, const Operation& operation) {
  constexpr std::string_view family = "family:";
  if (word.starts_with(family)) return to_string(operation.family) == word.substr(family.size());
  if (word.ends_with('*')) return operation.kind.starts_with(word.substr(0, word.size() - 1));
  return operation.kind == word;
}

class Explaining {
 public:
  Explaining(std::span<const Row> rows, std::span<const Reason> reasons)
      : rows_(rows), reasons_(reasons) {}

  Explanation explain() && {
    // What is named comes before the rest.
    for (std::size_t i = 0; i < reasons_.size(); ++i) {
      for (const Covered& covered : reasons_[i].covered) {
        for (const Column column : covered.columns) cover_named(column, covered.kinds, i);
      }
    }
    for (std::size_t i = 0; i < reasons_.size(); ++i) {
      for (const Covered& covered : reasons_[i].covered) {
        if (covered.rest == nullptr) continue;
        for (const Column column : covered.columns) cover_rest(column, covered.rest, i);
      }
    }
    for (const Row& row : rows_) {
      for (const auto& [column, heading, meaning] : columns) {
        if (row[column].state != State::empty) continue;
        if (explanation_.reasons.contains({row.operation, column})) continue;
        complain("{}, {}: empty, and no reason says why", row.operation->kind, heading);
      }
    }
    return std::move(explanation_);
  }

 private:
  void cover_named(Column column, std::string_view kinds, std::size_t reason) {
    std::istringstream words{std::string(kinds)};
    for (std::string word; words >> word;) {
      bool is_known = false;
      for (const Row& row : rows_) {
        if (!names(word, *row.operation)) continue;
        is_known = true;
        const auto heading = columns[static_cast<std::size_t>(column)].heading;
        if (row[column].state != State::empty) {
          complain("{}, {}: there it is, but a reason says why not: {}", row.operation->kind,
                   heading, reasons_[reason].text);
        } else if (!explanation_.reasons.try_emplace({row.operation, column}, reason).second) {
          complain("{}, {}: two reasons, one of them: {}", row.operation->kind, heading,
                   reasons_[reason].text);
        }
      }
      if (!is_known) complain("{}: a reason is about it, and there is no such operation", word);
    }
  }

  void cover_rest(Column column, bool (*rest)(const Row&), std::size_t reason) {
    for (const Row& row : rows_) {
      if (row[column].state != State::empty || !rest(row)) continue;
      explanation_.reasons.try_emplace({row.operation, column}, reason);
    }
  }

  template <class... Parts>
  void complain(fmt::format_string<Parts...> text, Parts&&... parts) {
    explanation_.problems.push_back(fmt::format(text, std::forward<Parts>(parts)...));
  }

  std::span<const Row> rows_;
  std::span<const Reason> reasons_;
  Explanation explanation_;
};

}  // namespace

Explanation explain(std::span<const Row> rows, std::span<const Reason> reasons) {
  return Explaining(rows, reasons).explain();
}

}  // namespace quadrant::test
