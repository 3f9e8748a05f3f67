#include "numerics/weighted_codes.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "numerics/code_grid.hpp"
#include "numerics/code_values.hpp"

namespace quadrant::inline v0 {
namespace {

// Columns without inputs count a little, so that nothing is chosen at random for them.
constexpr float least_weight = 0.01F;

}  // namespace

Expected<Encoded> weighted_codes(std::span<const float> values, const Shape& shape,
                                 const NumberFormat& format, const SecondMoments& moments,
                                 const Encoded& encoded, const RoundWeightsOptions& options) {
  std::vector<float> weights = moments.relative_diagonal(values.size());
  for (float& weight : weights) weight += least_weight;
  EncodeOptions how{.weights = weights, .executor = options.executor};
  const auto* const stored = std::get_if<StoredTable>(&format.code);
  if (options.keeps_table && stored != nullptr) {
    if (encoded.table.size() != static_cast<std::size_t>(stored->levels)) {
      return fail(ErrorCode::impossible, "a table that stays is one for all groups");
    }
    how.table = encoded.table;
  }
  const bool is_shifted = options.keeps_zero_points && format.offset == Offset::zero_point &&
                          !encoded.offsets.front().empty();
  if (!is_shifted) return encode(values, shape, format, how);
  // Codes less their zero point, which is one for all.
  const float zero_point = encoded.offsets.front().front();
  if (std::ranges::count(encoded.offsets.front(), zero_point) !=
      std::ssize(encoded.offsets.front())) {
    return fail(ErrorCode::impossible, "zero points that stay are the same for all groups");
  }
  NumberFormat symmetric = format;
  symmetric.offset = Offset::none;
  auto& code = std::get<IntegerCode>(symmetric.code);
  code.min -= static_cast<std::int64_t>(zero_point);
  code.max -= static_cast<std::int64_t>(zero_point);
  code.is_signed = true;
  QUADRANT_TRY(Encoded found, encode(values, shape, symmetric, how));
  const std::size_t width = found.codes.size() / std::max<std::size_t>(values.size(), 1);
  const CodeValues code_values(symmetric.code);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float stored = code_values.value_of(code_at(found.codes, i, width)) + zero_point;
    set_code(found.codes, i, width, static_cast<std::uint32_t>(stored));
  }
  found.offsets = encoded.offsets;
  return found;
}

}  // namespace quadrant::inline v0
