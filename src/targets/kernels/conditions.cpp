#include "targets/kernels/conditions.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "ir/work.hpp"
#include "numerics/clamp_bounds.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::target_kernels {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// The code that stands for the value, not limited to those that there are.
double code_of(double value, const GivenForm& form) {
  return value / static_cast<double>(form.scale) + static_cast<double>(form.zero_point);
}

// Whether the value is one that a code stands for, to what float32 tells.
bool is_code(double value, const GivenForm& form) {
  const double code = code_of(value, form);
  const double nearest = std::nearbyint(code);
  return std::abs(code - nearest) < 1e-4 &&
         nearest >= static_cast<double>(form.type->storage_min) &&
         nearest <= static_cast<double>(form.type->storage_max);
}

bool is_standard(const ClampBounds& bounds) {
  return (bounds.low == 0 && (bounds.high == infinity || bounds.high == 6)) ||
         (bounds.low == -1 && bounds.high == 1);
}

}  // namespace

bool is_constant_matrix(NodeRef node, std::uint32_t operand) {
  const TensorType* const type = node.operand_type(operand);
  const auto hands_on = [](NodeRef maker) {
    return maker.kind() == ops::Dequantize::kind || find_move(maker) != nullptr;
  };
  return type != nullptr && type->shape.rank() == 2 &&
         is_known(*node.graph, node.operand(operand), hands_on);
}

bool always(NodeRef /*node*/) { return true; }

bool takes_nearest(NodeRef node) { return traits_of(node).contains(Trait::takes_elements); }

bool has_bounds(NodeRef node) { return clamp_bounds(node).has_value(); }

bool keeps_bounded(NodeRef node, const GivenForm& form) {
  const auto bounds = clamp_bounds(node);
  if (!bounds || !form.is_per_tensor()) return false;
  const double sign = form.scale < 0 ? -1 : 1;
  const double first = form.scale * static_cast<double>(form.type->storage_min - form.zero_point);
  const double last = form.scale * static_cast<double>(form.type->storage_max - form.zero_point);
  const double lowest = sign > 0 ? first : last;
  const double highest = sign > 0 ? last : first;
  return (bounds->low <= lowest || is_code(bounds->low, form)) &&
         (bounds->high >= highest || is_code(bounds->high, form));
}

bool keeps_padded(NodeRef node, const GivenForm& form) {
  if (node.attribute_or<std::string>("mode", "constant") != "constant") return true;
  const auto value = known_number(node, 2, "value", 0);
  return value && form.is_per_tensor() && is_code(*value, form);
}

const char* refuse_odd_clamp(NodeRef node, const GivenForm& from, const GivenForm& to) {
  const auto bounds = clamp_bounds(node);
  if (!bounds) return "its bounds are not known";
  const bool has_kernel = is_standard(*bounds) && from.storage() != ElementType::int16;
  if (from == to || has_kernel) return nullptr;
  return "no kernel limits to these bounds and changes the parameters";
}

const char* refuse_changing_clamp(NodeRef node, const GivenForm& from, const GivenForm& to) {
  if (!clamp_bounds(node)) return "its bounds are not known";
  return from == to ? nullptr : "its operand and its result have different parameters";
}

const char* refuse_steep_leaky_relu(NodeRef node, const GivenForm& from, const GivenForm& to) {
  const double alpha = node.attribute_or("alpha", 0.01);
  const double ratio = static_cast<double>(from.scale) / static_cast<double>(to.scale);
  const auto fits = [](double factor) { return 1.0 / 256 <= factor && factor <= 128; };
  if (alpha == 0) return "its slope is 0";
  return fits(ratio) && fits(std::abs(alpha * ratio))
             ? nullptr
             : "the scales and the slope are too far apart for the kernel";
}

const char* refuse_scaled_elu(NodeRef node, const GivenForm& /*from*/, const GivenForm& /*to*/) {
  return node.attribute_or("alpha", 1.0) == 1 ? nullptr : "the kernel supports alpha 1 only";
}

const char* refuse_edge_padding(NodeRef node, const GivenForm& /*from*/, const GivenForm& /*to*/) {
  const auto mode = node.attribute_or<std::string>("mode", "constant");
  if (mode == "reflect") return nullptr;
  if (mode != "constant") return "no kernel has this mode of padding";
  const auto value = known_number(node, 2, "value", 0);
  if (!value) return "the value that it pads with is computed";
  return std::isfinite(*value) ? nullptr : "no code stands for the value that it pads with";
}

const char* refuse_wide_sigmoid(NodeRef /*node*/, const GivenForm& from, const GivenForm& /*to*/) {
  constexpr float widest = 4;
  return from.storage() == ElementType::int16 && from.scale >= widest
             ? "its operand's steps are too long for the kernel"
             : nullptr;
}

const char* refuse_negative_codes(NodeRef /*node*/, const GivenForm& from,
                                  const GivenForm& /*to*/) {
  return from.zero_point == from.type->storage_min
             ? nullptr
             : "some of its codes are negative numbers, which have no root";
}

const char* refuse_short_steps(NodeRef /*node*/, const GivenForm& from, const GivenForm& /*to*/) {
  constexpr float shortest = 1.0F / 256;
  return from.storage() == ElementType::int16 || from.scale >= shortest
             ? nullptr
             : "its operands' steps are too short for the kernel";
}

const char* refuse_long_sum(NodeRef node, const GivenForm& from, const GivenForm& /*to*/) {
  constexpr std::int64_t most = 65536;
  const Shape& terms = node.operand_type(0)->shape;
  const Shape& sums = node.type().shape;
  const bool is_known = terms.is_ranked() && sums.is_ranked();
  const std::int64_t sum_count = std::max<std::int64_t>(counted_elements(sums), 1);
  const bool is_long = !is_known || counted_elements(terms) / sum_count > most;
  return from.storage() == ElementType::int16 && is_long
             ? "the kernel's 32 bits do not hold a sum of so many codes"
             : nullptr;
}

const char* refuse_inner_axis(NodeRef node, const GivenForm& /*from*/, const GivenForm& /*to*/) {
  // What it makes has the shape of what it reads, where a file does not say so.
  const bool is_stated = node.type().shape.is_ranked();
  const Shape& shape = is_stated ? node.type().shape : node.operand_type(0)->shape;
  if (!shape.is_ranked()) return "the rank is not known";
  // Where the attribute is missing it is the last one, or, before opset 13, all from axis 1 on.
  const auto axis = normalize_axis(node.attribute_or<std::int64_t>("axis", -1), shape.rank());
  return axis == shape.rank() - 1 ? nullptr : "the kernel works along the last axis only";
}

const char* refuse_cubic(NodeRef node, const GivenForm& from, const GivenForm& /*to*/) {
  const auto mode = node.attribute_or<std::string>("mode", "nearest");
  if (mode == "linear" && from.storage() == ElementType::int16) {
    return "the kernel's fractions are too short for codes of 16 bits";
  }
  return mode == "nearest" || mode == "linear" ? nullptr : "no kernel has this mode of resizing";
}

const char* refuse_places(NodeRef node, const GivenForm& /*from*/, const GivenForm& /*to*/) {
  const bool has_places = node.graph->result_count(node.id) > 1;
  return has_places ? "no kernel returns the places of the largest" : nullptr;
}

const char* refuse_dilated(NodeRef node, const GivenForm& from, const GivenForm& to) {
  if (const char* const why = refuse_places(node, from, to)) return why;
  const auto dilations = node.attribute_or("dilations", std::vector<std::int64_t>{});
  const bool is_plain = std::ranges::all_of(dilations, [](std::int64_t d) { return d == 1; });
  return is_plain ? nullptr : "no kernel pools with dilations";
}

}  // namespace quadrant::inline v0::target_kernels
