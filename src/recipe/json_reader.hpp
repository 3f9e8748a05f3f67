// Strict reading of JSON: no exceptions, bounded depth, and errors that name the JSON path.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// Parses JSON text (RFC 8259). Nesting deeper than `depth_limit` and keys that an object repeats
/// are errors, although JSON itself allows both.
[[nodiscard]] Expected<nlohmann::json> parse_json(std::string_view text, std::size_t depth_limit);

/// Reads an object member by member. The first mistake is kept and the members after it read as
/// empty, so that a caller reads everything and asks `finish` once.
class ObjectReader {
 public:
  /// `path` is that of `object`: `$`, `$.values[3]`. What is no object is the first mistake.
  ObjectReader(const nlohmann::json& object, std::string path);

  [[nodiscard]] std::string string(const char* key);
  [[nodiscard]] std::int64_t integer(const char* key);
  [[nodiscard]] std::vector<std::string> strings(const char* key);
  /// The elements of an array, each for a reader of its own.
  [[nodiscard]] std::vector<ObjectReader> objects(const char* key);

  /// Keeps `error` if it is the first.
  void note(Expected<void> status);
  /// The first mistake; a member that nobody asked for is one.
  [[nodiscard]] Expected<void> finish();

 private:
  using Type = nlohmann::json::value_t;
  /// The member, or null with the mistake noted. `expected` is what the member should be.
  const nlohmann::json* member(const char* key, Type type, const char* expected);
  void mistake(const std::string& path, const std::string& message);

  const nlohmann::json* object_;
  std::string path_;
  std::set<std::string, std::less<>> asked_;
  Expected<void> status_;
};

}  // namespace quadrant::inline v0
