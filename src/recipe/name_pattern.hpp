// Regular expressions that people write, looked for in names.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "quadrant/support/error.hpp"

namespace re2 {  // NOLINT(readability-identifier-naming): RE2's
class RE2;
}

namespace quadrant::inline v0 {

/// A regular expression of RE2: matching takes linear time, whatever it is.
class NamePattern {
 public:
  /// `usage` for what is none: the message quotes it and says why.
  [[nodiscard]] static Expected<NamePattern> make(const std::string& pattern);

  /// Whether it matches somewhere in `name`.
  [[nodiscard]] bool matches(std::string_view name) const;

 private:
  explicit NamePattern(std::shared_ptr<const re2::RE2> expression)
      : expression_(std::move(expression)) {}
  std::shared_ptr<const re2::RE2> expression_;
};

/// `pattern` without what has a meaning in regular expressions: something that a name could hold.
[[nodiscard]] std::string literal(std::string pattern);

/// The pattern that matches this name and no other.
[[nodiscard]] std::string pattern_of(std::string_view name);

}  // namespace quadrant::inline v0
