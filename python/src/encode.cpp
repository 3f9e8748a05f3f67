#include "encode.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "hook.hpp"
#include "quadrant/ir/number_format.hpp"
#include "quadrant/numerics/round_weights.hpp"
#include "session.hpp"

namespace quadrant::python {
namespace {

Rounding rounding_called(const std::string& name) {
  constexpr std::array all{Rounding::nearest, Rounding::weighted, Rounding::feedback,
                           Rounding::descent};
  const auto* const found =
      std::ranges::find(all, name, [](Rounding each) { return to_string(each); });
  if (found != all.end()) return *found;
  throw Failure(
      {ErrorCode::usage, "rounding is nearest, weighted, feedback or descent, not '" + name + "'"});
}

std::vector<float> floats_of(nb::handle array) {
  const Tensor tensor = to_tensor(array);
  const std::span<const float> values = tensor.as<float>();
  return {values.begin(), values.end()};
}

}  // namespace

nb::tuple encode(nb::handle array, const std::string& format, std::int64_t axis,
                 std::int64_t block_axis, std::optional<nb::object> table,
                 const WeightMoments* moments, const std::string& rounding) {
  const Constant real = to_tensor(array).to_constant();
  const NumberFormat parsed = value_of(parse_number_format(format, {axis, block_axis}));
  std::vector<float> values;
  if (table) values = floats_of(*table);
  const RoundWeightsOptions options{.rounding = rounding_called(rounding),
                                    .keeps_table = table.has_value()};
  std::optional<Expected<EncodedConstant>> made;
  {
    const nb::gil_scoped_release no_gil;
    made.emplace([&]() -> Expected<EncodedConstant> {
      QUADRANT_TRY(EncodedConstant encoded, encode_constant(real, parsed, {.table = values}));
      if (moments != nullptr) {
        QUADRANT_TRY(encoded.rounded, round_constant(real, moments->moments, encoded, options));
      }
      return encoded;
    }());
  }
  const EncodedConstant encoded = value_of(*std::move(made));
  return nb::make_tuple(to_python(encoded.codes, value_of(encoded.codes.read())),
                        CodesType{encoded.quantization});
}

}  // namespace quadrant::python
