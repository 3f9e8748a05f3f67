// Reading of the fields that entries of encodings files consist of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quadrant/recipe/encodings.hpp"
#include "quadrant/support/error.hpp"
#include "recipe/json_reader.hpp"

namespace quadrant::inline v0::encodings_json {

inline constexpr std::size_t most_scales = std::size_t{1} << 24U;  ///< of one tensor

/// `invalid_model`, at that JSON path.
[[nodiscard]] tl::unexpected<Error> fail_at(const std::string& path, const std::string& message);

/// Neither missing nor null.
[[nodiscard]] bool is_present(ObjectReader& reader, const char* key);
/// Python's names of the two, as strings, and JSON's own.
[[nodiscard]] bool read_flag(ObjectReader& reader, const char* key);
/// 2 to 32.
[[nodiscard]] int read_bits(ObjectReader& reader, const char* key);
/// 1 or more elements.
[[nodiscard]] std::int64_t read_block_size(ObjectReader& reader);

/// The integer that a number is, which a double holds exactly.
[[nodiscard]] std::optional<std::int64_t> whole(double value);
[[nodiscard]] bool all_equal(std::span<const std::int64_t> values, std::int64_t wanted);
/// Half of the codes: where zero lies if they are symmetric.
[[nodiscard]] constexpr std::int64_t middle_of(int bits) {
  return std::int64_t{1} << static_cast<unsigned>(bits - 1);
}

/// Numbers in lists of lists, which all have the same length at the same depth.
struct Numbers {
  std::vector<double> values;
  std::vector<std::int64_t> extents;  ///< none: a number alone

  [[nodiscard]] std::size_t size() const noexcept { return values.size(); }
};

/// Must be there; 1 to `most_scales` of them.
[[nodiscard]] Expected<Numbers> read_numbers(ObjectReader& reader, const char* key);
/// The same, in one list.
[[nodiscard]] Expected<std::vector<double>> read_list(ObjectReader& reader, const char* key);

/// Zero points: `sign` times the numbers, plus `shift`. `path` is theirs, for errors, as below.
[[nodiscard]] Expected<std::vector<std::int64_t>> zero_points_from(std::span<const double> values,
                                                                   int sign, std::int64_t shift,
                                                                   const std::string& path);
/// Factors of blocks: `LowPowerScales::blocks`.
[[nodiscard]] Expected<std::vector<std::uint16_t>> read_factors(std::span<const double> values,
                                                                const std::string& path);
/// A float of as many bits as the field `bits` says. The fields `numbers`, which only codes have,
/// must not be there.
[[nodiscard]] Expected<TensorEncoding> read_float(ObjectReader& reader, const char* bits,
                                                  std::span<const char* const> numbers);

}  // namespace quadrant::inline v0::encodings_json
