#include "recipe/encodings_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace quadrant::inline v0::encodings_json {
namespace {

constexpr std::size_t most_axes = 8;

Expected<Numbers> numbers_in(const nlohmann::json& root, const std::string& path) {
  Numbers numbers;
  std::vector<const nlohmann::json*> level{&root};
  while (level.front()->is_array()) {
    if (numbers.extents.size() == most_axes) {
      return fail_at(path, fmt::format("lists in more than {} levels", most_axes));
    }
    const std::size_t extent = level.front()->size();
    if (extent == 0 || extent > most_scales / level.size()) {
      return fail_at(path, fmt::format("expected 1 to {} numbers", most_scales));
    }
    numbers.extents.push_back(static_cast<std::int64_t>(extent));
    std::vector<const nlohmann::json*> next;
    next.reserve(level.size() * extent);
    for (const nlohmann::json* list : level) {
      if (!list->is_array() || list->size() != extent) {
        return fail_at(path, "expected lists of the same length");
      }
      for (const nlohmann::json& element : *list) next.push_back(&element);
    }
    level = std::move(next);
  }
  numbers.values.reserve(level.size());
  for (const nlohmann::json* number : level) {
    if (!number->is_number()) {
      return fail_at(path, fmt::format("expected numbers, found {}", number->type_name()));
    }
    numbers.values.push_back(number->get<double>());
  }
  return numbers;
}

}  // namespace

tl::unexpected<Error> fail_at(const std::string& path, const std::string& message) {
  return fail(ErrorCode::invalid_model, fmt::format("{}: {}", path, message));
}

bool is_present(ObjectReader& reader, const char* key) {
  const nlohmann::json* member = reader.optional_member(key);
  return member != nullptr && !member->is_null();
}

bool read_flag(ObjectReader& reader, const char* key) {
  const nlohmann::json* member = reader.optional_member(key);
  if (member != nullptr && member->is_string()) {
    const auto& text = member->get_ref<const std::string&>();
    if (text == "True" || text == "true") return true;
    if (text == "False" || text == "false") return false;
    reader.refuse(key, R"(expected "True" or "False")");
    return false;
  }
  return reader.boolean(key);
}

int read_bits(ObjectReader& reader, const char* key) {
  const std::int64_t bits = reader.integer(key);
  if (bits >= 2 && bits <= 32) return static_cast<int>(bits);
  reader.refuse(key, fmt::format("{} bits: 2 to 32 are possible", bits));
  return 2;
}

std::optional<std::int64_t> whole(double value) {
  if (std::fabs(value) <= 0x1p53 && std::trunc(value) == value) {
    return static_cast<std::int64_t>(value);
  }
  return std::nullopt;
}

std::int64_t read_block_size(ObjectReader& reader) {
  const std::int64_t size = reader.integer("block_size");
  if (size < 1 || size > std::int64_t{1} << 31U) {
    reader.refuse("block_size", fmt::format("{} elements: 1 or more are possible", size));
  }
  return size;
}

Expected<Numbers> read_numbers(ObjectReader& reader, const char* key) {
  const nlohmann::json* member = reader.optional_member(key);
  if (member != nullptr) return numbers_in(*member, reader.path_of(key));
  reader.refuse(key, "is missing");
  return fail(reader.status().error());
}

Expected<std::vector<double>> read_list(ObjectReader& reader, const char* key) {
  QUADRANT_TRY(Numbers numbers, read_numbers(reader, key));
  if (numbers.extents.size() == 1) return std::move(numbers.values);
  return fail_at(reader.path_of(key), "expected a list of numbers");
}

Expected<std::vector<std::int64_t>> zero_points_from(std::span<const double> values, int sign,
                                                     std::int64_t shift, const std::string& path) {
  std::vector<std::int64_t> zero_points;
  zero_points.reserve(values.size());
  for (const double value : values) {
    const std::optional<std::int64_t> number = whole(value);
    if (!number) {
      return fail_at(path,
                     fmt::format("{} is no integer; fractional zero points are not read", value));
    }
    zero_points.push_back(sign * *number + shift);
  }
  return zero_points;
}

bool all_equal(std::span<const std::int64_t> values, std::int64_t wanted) {
  return std::ranges::all_of(values, [wanted](std::int64_t value) { return value == wanted; });
}

Expected<std::vector<std::uint16_t>> read_factors(std::span<const double> values,
                                                  const std::string& path) {
  std::vector<std::uint16_t> factors;
  factors.reserve(values.size());
  for (const double value : values) {
    const bool is_factor = value >= 1 && value <= 65535 && whole(value).has_value();
    if (!is_factor) {
      return fail_at(path, fmt::format("{} is none of the integers 1 to 65535", value));
    }
    factors.push_back(static_cast<std::uint16_t>(value));
  }
  return factors;
}

Expected<TensorEncoding> read_float(ObjectReader& reader, const char* bits,
                                    std::span<const char* const> numbers) {
  TensorEncoding encoding;
  encoding.kind = TensorEncoding::Kind::floating;
  encoding.bits = read_bits(reader, bits);
  for (const char* key : numbers) {
    if (is_present(reader, key)) reader.refuse(key, "floats have none");
  }
  QUADRANT_CHECK(reader.finish());
  return encoding;
}

}  // namespace quadrant::inline v0::encodings_json
