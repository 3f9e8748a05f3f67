// Strict reading of JSON: no exceptions, bounded depth, and errors that name the JSON path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// More levels than any document has that is read here. Of a document of another kind this leaves
/// its reader to say so, who knows what it should be.
inline constexpr std::size_t json_depth = 64;

/// Parses JSON text (RFC 8259). Nesting deeper than `json_depth` and keys that an object repeats
/// are errors, although JSON itself allows both.
///
/// A document takes far more memory than its text: 16 bytes a number, thrice that while its list
/// grows or is let go, for the two that `1,` has in the text. One that may take more bytes than
/// `memory_limit` is an error, before it does.
[[nodiscard]] Expected<nlohmann::json> parse_json(
    std::string_view text, std::size_t memory_limit = std::numeric_limits<std::size_t>::max());

/// Reads an object member by member. The first mistake is kept and the members after it read as
/// empty, so that a caller reads everything and asks `finish` once.
class ObjectReader {
 public:
  /// `path` is that of `object`: `$`, `$.values[3]`. What is no object is the first mistake.
  ObjectReader(const nlohmann::json& object, std::string path);

  [[nodiscard]] std::string string(const char* key);
  [[nodiscard]] std::int64_t integer(const char* key);
  /// The same of `4.0`, too, which JSON Schema takes for an integer.
  [[nodiscard]] std::int64_t whole_number(const char* key);
  /// An integer that is not negative.
  [[nodiscard]] std::uint64_t count(const char* key);
  [[nodiscard]] bool boolean(const char* key);
  /// Any number.
  [[nodiscard]] double real(const char* key);
  [[nodiscard]] std::vector<std::string> strings(const char* key);
  [[nodiscard]] std::vector<std::uint64_t> counts(const char* key);
  [[nodiscard]] std::vector<double> reals(const char* key);
  /// An array of arrays.
  [[nodiscard]] std::vector<std::vector<std::uint64_t>> lists_of_counts(const char* key);
  /// The elements of an array, each for a reader of its own.
  [[nodiscard]] std::vector<ObjectReader> objects(const char* key);
  /// An object that may be missing.
  [[nodiscard]] std::optional<ObjectReader> optional_object(const char* key);
  /// Whatever stands there; null where nothing does, and after a mistake.
  [[nodiscard]] const nlohmann::json* optional_member(const char* key);

  /// Reads `format` and `version`, and refuses others than these. To be asked first: a wrong file
  /// is better called that than short of keys.
  void check_format(std::string_view name, std::int64_t version);
  /// Where a member stands: `$.values[3].gain`.
  [[nodiscard]] std::string path_of(std::string_view key) const;
  /// The keys that were not asked for, which from now on count as asked for.
  [[nodiscard]] std::vector<std::string> take_unknown();
  /// Makes what was read under `key` a mistake.
  void refuse(const char* key, const std::string& message);
  /// Keeps `error` if it is the first.
  void note(Expected<void> status);
  /// The first mistake so far, without the key that may stand there instead of a missing one.
  [[nodiscard]] const Expected<void>& status() const noexcept { return status_; }
  /// The first mistake; a member that was not asked for is one.
  [[nodiscard]] Expected<void> finish();

 private:
  using Type = nlohmann::json::value_t;
  /// The member, or null with the mistake noted.
  const nlohmann::json* find(const char* key);
  /// The same, of that type; `expected` is what the member should be.
  const nlohmann::json* member(const char* key, Type type, const char* expected);
  /// What `read` makes of an array's elements, up to the first that it refuses.
  template <class T>
  std::vector<T> elements(const nlohmann::json& array, const std::string& path,
                          const char* expected, bool (*read)(const nlohmann::json&, T&));
  [[nodiscard]] std::string instead_of(std::string_view key) const;
  void mistake(const std::string& path, const std::string& message);

  const nlohmann::json* object_;
  std::string path_;
  std::set<std::string, std::less<>> asked_;
  Expected<void> status_;
  std::optional<std::string> missing_;  ///< the key that `status_` is about, until `finish`
};

}  // namespace quadrant::inline v0
