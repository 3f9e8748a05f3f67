#include "mlir_plugin/passed_types.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "ir/scales.hpp"
#include "mlir_plugin/methods.hpp"
#include "mlir_plugin/types.hpp"
#include "quadrant/ir/number_format.hpp"

namespace quadrant::inline v0::mlir_plugin {
namespace {

// Types are kept as long as the context lives, and nothing else bounds what an argument claims.
constexpr std::int64_t most_scales = std::int64_t{1} << 24;

// Of integers with one scale for each group, its type where that alone makes them not uniform.
std::optional<ElementType> other_scales(const WeightOnly& scheme) {
  if (scheme.is_uniform()) return std::nullopt;
  const auto format = parse_number_format(scheme.options().type);
  const bool is_simple = format && std::holds_alternative<IntegerCode>(format->code) &&
                         format->scales.size() == 1 && format->offset != Offset::minimum;
  const auto* const scale =
      is_simple ? std::get_if<FloatScale>(&format->scales.front().type) : nullptr;
  return scale == nullptr ? std::nullopt : std::optional(scale->type);
}

}  // namespace

Expected<mlir::quant::QuantizedType> type_of_codes(const WeightOnly& scheme, const WeightAxes& axes,
                                                   mlir::RankedTensorType floats) {
  const TensorType real = to_tensor_type(floats);
  std::optional<TensorType> type;
  const auto groups = scheme.groups(real.shape, axes.channel,
                                    divided_axis(real.shape, axes.contracted, scheme.options()));
  if (groups) type = scheme.type_of(*groups, real);
  if (!type || !type->uniform()) return fail(ErrorCode::impossible, "there are no channels");
  if (!has_quantized_type(*type)) {
    return fail(ErrorCode::impossible,
                fmt::format("no quantized type of this version of MLIR is {}", to_string(*type)));
  }
  UniformType made = *type->uniform();
  const bool is_half =
      made.expressed == ElementType::float16 || made.expressed == ElementType::bfloat16;
  if (is_half && made.granularity.kind == Granularity::Kind::block) {
    return fail(ErrorCode::impossible,
                fmt::format("MLIR has the scales of its blocks as {} alone, and others are passed; "
                            "granularity=channel has no blocks",
                            to_string(made.expressed)));
  }
  const Shape shape = parameter_shape(real.shape, made.granularity);
  const std::int64_t count = shape.element_count().value_or(most_scales + 1);
  if (count > most_scales) {
    return fail(ErrorCode::impossible, fmt::format("it has more than {} scales", most_scales));
  }
  made.scales = make_exact_scales(ElementType::float64, shape,
                                  std::vector<double>(static_cast<std::size_t>(count), 1));
  made.zero_points = {};
  return to_quantized_type(floats.getContext(), made);
}

std::string why_not_passed(const WeightOnly& scheme) {
  const std::string& type = scheme.options().type;
  if (const auto scales = other_scales(scheme)) {
    return fmt::format("type={}: scales of {} are not passed; scales=float16 makes them float16",
                       type, to_string(*scales));
  }
  if (!scheme.is_uniform()) {
    return fmt::format(
        "type={}: arguments become integers and one scale for each group, no other codes", type);
  }
  if (!scheme.has_type()) {
    const bool has_zero_points = scheme.options().symmetry == Symmetry::asymmetric;
    return has_zero_points ? "zero points are not passed: symmetry=symmetric has none" : "";
  }
  const auto format = scheme.format(Granularity::per_axis(0), 2);
  if (format && format->offset == Offset::zero_point) {
    return fmt::format("type={}: zero points are not passed, and type=int8 has none", type);
  }
  // Whether some are, the weights decide, of which there may be several.
  const auto* const scale =
      format ? std::get_if<FloatScale>(&format->scales.front().type) : nullptr;
  if (scale != nullptr && scale->has_sign) {
    return fmt::format(
        "type={}: scales below zero are not passed; bits=4 has none, nor has 'i4 * f16[block=32] : "
        "f32'",
        type);
  }
  return "";
}

}  // namespace quadrant::inline v0::mlir_plugin
