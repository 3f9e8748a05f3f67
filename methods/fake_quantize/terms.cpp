// What is added to a sum becomes codes of it.
//
//   s (q + round(b / s))    instead of    s q + b
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fake_quantize/forms.hpp"
#include "fake_quantize/methods.hpp"
#include "numerics/reals.hpp"
#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::low_precision {
namespace {

// The axis of the term that is axis `axis` of the result; a bias has its channels alone.
std::optional<std::int64_t> axis_of_term(NodeRef node, const Shape& term, std::int64_t axis) {
  if (find_product(node) != nullptr) {
    return term.rank() > 0 ? std::optional(term.rank() - 1) : std::nullopt;
  }
  const std::int64_t at = axis - (node.type().shape.rank() - term.rank());
  return at >= 0 ? std::optional(at) : std::nullopt;
}

// A number for all channels, written out.
Shape written_out(NodeRef node, std::int64_t axis, std::int64_t channels) {
  if (find_product(node) != nullptr) return Shape{channels};
  std::vector<std::int64_t> extents(static_cast<std::size_t>(node.type().shape.rank()), 1);
  extents[static_cast<std::size_t>(axis)] = channels;
  return Shape(extents);
}

}  // namespace

Expected<void> encode_term(NodeRef node, std::uint32_t operand, const GivenForm& sum,
                           RewriteContext& context) {
  const Constant& term = *node.operand_constant(operand);
  QUADRANT_TRY(std::vector<double> reals, read_reals(term));
  const auto scales = axis_scales(sum);
  if (!scales || reals.empty()) return {};
  Shape shape = term.shape();
  auto type = std::make_shared<UniformType>(*sum.type);
  std::size_t inner = 1;
  if (scales->axis) {
    const auto channels = static_cast<std::int64_t>(scales->scales.size());
    if (reals.size() == 1 && channels > 1) {
      shape = written_out(node, *scales->axis, channels);
      reals.resize(scales->scales.size(), reals.front());
    }
    const auto axis = axis_of_term(node, shape, *scales->axis);
    // Several channels share an element: it stays real.
    if (!axis || !surely_equal(shape[*axis], channels)) return {};
    type->granularity = Granularity::per_axis(*axis);
    for (std::int64_t i = *axis + 1; i < shape.rank(); ++i) {
      inner *= static_cast<std::size_t>(shape[i].value());
    }
  }
  std::vector<std::int32_t> codes;
  codes.reserve(reals.size());
  for (std::size_t i = 0; i < reals.size(); ++i) {
    const float scale = scales->at(i / inner % scales->scales.size());
    codes.push_back(static_cast<std::int32_t>(
        std::nearbyint(reals[i] / static_cast<double>(scale))));  // fits_sum
  }
  const std::string name =
      std::string(node.graph->value_name(node.operand(operand))).append(quantized_ending);
  QUADRANT_TRY(
      const Value coded,
      context.emit_constant(
          name, Constant::from_values<std::int32_t>(ElementType::int32, std::move(shape), codes),
          std::move(type)));
  return context.graph().set_operand(node.id, operand, coded);
}

}  // namespace quadrant::inline v0::low_precision
