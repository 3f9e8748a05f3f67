#include "recipe/name_pattern.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

namespace quadrant::inline v0 {
namespace {

bool has_meaning(char c) {
  return std::string_view("\\^$.*+?()[]{}|").find(c) != std::string_view::npos;
}

}  // namespace

Expected<NamePattern> NamePattern::make(const std::string& pattern) {
  re2::RE2::Options options;
  options.set_log_errors(false);  // to stderr, if it did
  auto expression = std::make_shared<const re2::RE2>(pattern, options);
  if (expression->ok()) return NamePattern(std::move(expression));
  return fail(ErrorCode::usage, fmt::format("'{}': {}", pattern, expression->error()));
}

bool NamePattern::matches(std::string_view name) const {
  return re2::RE2::PartialMatch(re2::StringPiece(name.data(), name.size()), *expression_);
}

std::string literal(std::string pattern) {
  std::erase_if(pattern, [](char c) { return c != '.' && has_meaning(c); });
  return pattern;
}

std::string pattern_of(std::string_view name) {
  std::string pattern = "^";
  for (const char c : name) {
    if (has_meaning(c)) pattern += '\\';
    pattern += c;
  }
  return pattern + "$";
}

}  // namespace quadrant::inline v0
