// The attributes of a WebNN operation, which may be missing: each has its default there.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/support/error.hpp"
#include "recipe/json_reader.hpp"

namespace quadrant::webnn {

/// The first mistake is kept, and all members after it read as missing: a caller reads what it
/// needs and asks `finish`, to which an attribute that nobody asked for is a mistake too, since it
/// would have meant something. An attribute that is null is missing.
class Options {
 public:
  Options(const nlohmann::json& attributes, const std::string& path) : reader_(attributes, path) {}

  [[nodiscard]] bool has(const char* key) { return find(key) != nullptr; }
  [[nodiscard]] std::int64_t integer(const char* key, std::int64_t fallback);
  /// One that has no default.
  [[nodiscard]] std::int64_t required_integer(const char* key);
  [[nodiscard]] double real(const char* key, double fallback);
  [[nodiscard]] bool boolean(const char* key, bool fallback);
  [[nodiscard]] std::string text(const char* key, std::string_view fallback);
  /// Numbers that are not negative.
  [[nodiscard]] std::vector<std::int64_t> counts(const char* key,
                                                 std::vector<std::int64_t> fallback);
  /// The same, exactly `length` of them.
  [[nodiscard]] std::vector<std::int64_t> counts(const char* key, std::size_t length,
                                                 std::int64_t fallback);
  [[nodiscard]] std::vector<double> reals(const char* key, std::vector<double> fallback);
  /// Whether the attribute is one number instead of a list.
  [[nodiscard]] bool is_number(const char* key);

  void refuse(const char* key, const std::string& message) { reader_.refuse(key, message); }
  [[nodiscard]] const Expected<void>& status() const noexcept { return reader_.status(); }
  [[nodiscard]] Expected<void> finish();

 private:
  const nlohmann::json* find(const char* key);

  ObjectReader reader_;
};

}  // namespace quadrant::webnn
