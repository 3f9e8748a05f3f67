#include "options.hpp"

#include <fmt/format.h>

#include <utility>

#include "case_file.hpp"

namespace quadrant::webnn {
namespace {

using nlohmann::json;

constexpr std::uint64_t largest_count = 0xffffffffU;  // `unsigned long` of the interface

}  // namespace

const json* Options::find(const char* key) {
  const json* found = reader_.optional_member(key);
  return found == nullptr || found->is_null() ? nullptr : found;
}

std::int64_t Options::integer(const char* key, std::int64_t fallback) {
  return has(key) ? reader_.integer(key) : fallback;
}

std::int64_t Options::required_integer(const char* key) { return reader_.integer(key); }

double Options::real(const char* key, double fallback) {
  const json* found = find(key);
  if (found == nullptr) return fallback;
  const std::optional<double> number = read_number(*found);
  if (!number) refuse(key, "expected a number");
  return number.value_or(fallback);
}

bool Options::boolean(const char* key, bool fallback) {
  return has(key) ? reader_.boolean(key) : fallback;
}

std::string Options::text(const char* key, std::string_view fallback) {
  return has(key) ? reader_.string(key) : std::string(fallback);
}

std::vector<std::int64_t> Options::counts(const char* key, std::vector<std::int64_t> fallback) {
  if (!has(key)) return fallback;
  std::vector<std::int64_t> result;
  for (const std::uint64_t count : reader_.counts(key)) {
    if (count > largest_count) {
      refuse(key, fmt::format("{} is too large", count));
      break;
    }
    result.push_back(static_cast<std::int64_t>(count));
  }
  return result;
}

std::vector<std::int64_t> Options::counts(const char* key, std::size_t length,
                                          std::int64_t fallback) {
  std::vector<std::int64_t> result = counts(key, std::vector(length, fallback));
  if (result.size() != length) {
    refuse(key, fmt::format("{} numbers, where {} are wanted", result.size(), length));
    result.assign(length, fallback);
  }
  return result;
}

std::vector<double> Options::reals(const char* key, std::vector<double> fallback) {
  return has(key) ? reader_.reals(key) : std::move(fallback);
}

bool Options::is_number(const char* key) {
  const json* found = find(key);
  return found != nullptr && found->is_number();
}

Expected<void> Options::finish() {
  std::ignore = find("label");  // what a developer calls the operation
  return reader_.finish();
}

}  // namespace quadrant::webnn
