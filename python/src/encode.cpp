#include "encode.hpp"

#include <utility>
#include <vector>

#include "arrays.hpp"
#include "quadrant/ir/number_format.hpp"
#include "quadrant/numerics/encode.hpp"
#include "quadrant/numerics/round_weights.hpp"
#include "quadrant/recipe/scheme_table.hpp"
#include "session.hpp"

namespace quadrant::python {
namespace {

std::vector<float> floats_of(nb::handle array) {
  const Tensor tensor = to_tensor(array);
  const std::span<const float> values = tensor.as<float>();
  return {values.begin(), values.end()};
}

}  // namespace

EncodedArray encode(Session& session, nb::handle array, const std::string& format,
                    std::int64_t axis, std::int64_t block_axis, std::optional<nb::object> table,
                    const WeightMoments* moments, const std::string& rounding) {
  const Constant real = to_tensor(array).to_constant();
  const NumberFormat parsed = value_of(parse_number_format(format, {axis, block_axis}));
  std::vector<float> values;
  if (table) values = floats_of(*table);
  // Its words are those of the scheme's option.
  const WeightOnlyOptions said = value_of(weight_only_options({{"rounding", rounding}}));
  RoundWeightsOptions options{.rounding = said.rounding, .keeps_table = table.has_value()};
  const EncodedConstant encoded =
      session.run([&](const RunContext& context) -> Expected<EncodedConstant> {
        options.executor = context.executor;
        const EncodeOptions encoding{.table = values, .executor = context.executor};
        QUADRANT_TRY(EncodedConstant made, of_arguments(encode_constant(real, parsed, encoding)));
        if (moments != nullptr) {
          QUADRANT_TRY(made.rounded, round_constant(real, *moments->moments, made, options));
        }
        return made;
      });
  return EncodedArray(nb::make_tuple(to_python(encoded.codes, value_of(encoded.codes.read())),
                                     CodesType{encoded.quantization}));
}

Array decode(nb::handle codes, const CodesType& type) {
  const Constant real =
      value_of(of_arguments(dequantized(to_tensor(codes).to_constant(), type.quantization)));
  return to_python(real, value_of(real.read()));
}

}  // namespace quadrant::python
