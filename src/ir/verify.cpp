#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <unordered_set>
#include <variant>
#include <vector>

#include "ir/exists.hpp"
#include "ir/float16.hpp"
#include "ir/result_type.hpp"
#include "ir/scales.hpp"
#include "ir/small_float.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/graph_rewriter.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/number_format.hpp"
#include "quadrant/ir/operations.hpp"

namespace quadrant::inline v0 {
namespace {

tl::unexpected<Error> broken_rule(std::string message) {
  return fail(ErrorCode::invalid_model, std::move(message));
}

// --- quantized types ----------------------------------------------------------------------------

// `parameter_shape` may not be asked before the granularity is known to fit.
Expected<Shape> expected_parameters(const Granularity& granularity, const Shape& shape) {
  if (granularity.kind == Granularity::Kind::tensor) return parameter_shape(shape, granularity);
  if (granularity.axis < 0 || (shape.is_ranked() && granularity.axis >= shape.rank())) {
    return broken_rule(
        fmt::format("quantized along axis {} of shape [{}]", granularity.axis, to_string(shape)));
  }
  const bool blocks = granularity.kind == Granularity::Kind::block;
  if (blocks && granularity.block_size < 1) {
    return broken_rule(fmt::format("quantized in blocks of {}", granularity.block_size));
  }
  return parameter_shape(shape, granularity);
}

Expected<void> check_scale_values(std::span<const double> scales) {
  const auto unusable = std::ranges::find_if(
      scales, [](double scale) { return scale == 0 || !std::isfinite(scale); });
  if (unusable == scales.end()) return {};
  return broken_rule(fmt::format("a scale of {}; scales are finite and not zero", *unusable));
}

// Whether all are finite and not 0, in a form that vectorises: blocks have many scales. By their
// bits without the sign: 0 is carried into the sign's place by taking one away, what is not finite
// by adding. Inside its caller GCC takes it for cold and does not vectorise it.
[[gnu::noinline]] bool are_usable(std::span<const float> scales) {
  constexpr std::uint32_t above_infinity = 0x80000000 - 0x7f800000;
  std::uint32_t carries = 0;
  for (const float scale : scales) {
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(scale) & 0x7fffffff;
    carries |= (magnitude - 1) | (magnitude + above_infinity);
  }
  return (carries & 0x80000000) == 0;
}

Expected<void> check_scales(const UniformType& type, const Shape& expected) {
  const Constant& scales = type.scales;
  if (!scales) return broken_rule("a quantized type without scales");
  if (!is_scale_type(scales.element()) && scales.element() != ElementType::float64) {
    return broken_rule(
        fmt::format("scales of type {}, not f32, f16 or f64", to_string(scales.element())));
  }
  if (!may_equal(scales.shape(), expected)) {
    return broken_rule(fmt::format("scales of shape [{}] where [{}] is needed",
                                   to_string(scales.shape()), to_string(expected)));
  }
  if (scales.is_deferred()) return {};
  if (scales.element() == ElementType::float32) {
    QUADRANT_TRY(const ConstantBytes bytes, scales.read());
    if (are_usable(bytes.as<float>())) return {};
  }
  QUADRANT_TRY(const std::vector<double> values, read_exact_scales(scales));
  return check_scale_values(values);
}

Expected<void> check_within(const Constant& zero_points, const IntegerRange& range) {
  QUADRANT_TRY(const auto values, read_integers(zero_points, zero_points.element_count()));
  for (const std::int64_t value : values) {
    if (value >= range.min && value <= range.max) continue;
    return broken_rule(
        fmt::format("a zero point of {} outside {} to {}", value, range.min, range.max));
  }
  return {};
}

Expected<void> check_zero_points(const UniformType& type) {
  const Constant& zero_points = type.zero_points;
  if (!zero_points) return {};
  if (zero_points.element() != type.storage) {
    return broken_rule(fmt::format("zero points of type {} for codes of {}",
                                   to_string(zero_points.element()), to_string(type.storage)));
  }
  if (zero_points.shape() != type.scales.shape()) {
    return broken_rule(fmt::format("zero points of shape [{}] with scales of shape [{}]",
                                   to_string(zero_points.shape()), to_string(type.scales.shape())));
  }
  if (zero_points.is_deferred()) return {};
  return check_within(zero_points, {type.storage_min, type.storage_max});
}

// Whether a level can hold the number.
bool holds(const FloatScale& level, float value) {
  if (!std::isfinite(value) || (value < 0 && !level.has_sign)) return false;
  if (const auto small = small_float(level.type))
    return small_float_bits(*small, value).has_value();
  if (level.type == ElementType::float16) return widen_float16(round_to_float16(value)) == value;
  if (level.type == ElementType::bfloat16) return widen_bfloat16(round_to_bfloat16(value)) == value;
  return true;
}

bool holds(const IntegerCode& level, float value) {
  return value == std::trunc(value) && value >= static_cast<float>(level.min) &&
         value <= static_cast<float>(level.max);
}

// Of one level, or the values of a table.
Expected<void> check_numbers(const Constant& numbers, const ScaleLevel* level) {
  QUADRANT_TRY(const std::vector<float> values, read_scales(numbers));
  for (const float value : values) {
    const bool is_held =
        level == nullptr
            ? std::isfinite(value)
            : std::visit([&](const auto& type) { return holds(type, value); }, level->type);
    if (!is_held) return broken_rule(fmt::format("a scale of {}, which its type lacks", value));
  }
  return {};
}

Expected<void> check_part(const NumberFormat& format, const FormatPart& part,
                          const Constant& numbers, const Shape& shape) {
  QUADRANT_TRY(const Shape groups, expected_parameters(part.groups, shape));
  if (!numbers) return broken_rule("a format of which scales are missing");
  if (numbers.element() != part.element) {
    return broken_rule(fmt::format("numbers of type {} where a format holds {}",
                                   to_string(numbers.element()), to_string(part.element)));
  }
  const Shape expected = shape.is_static() ? shape_of(part, shape) : groups;
  if (shape.is_static() && numbers.shape() != expected) {
    return broken_rule(fmt::format("numbers of shape [{}] where [{}] is needed",
                                   to_string(numbers.shape()), to_string(expected)));
  }
  if (numbers.is_deferred()) return {};
  if (part.element == ElementType::float32) return check_numbers(numbers, part.level);
  const auto& code = std::get<IntegerCode>(format.code);
  return check_within(numbers, {code.min, code.max});
}

Expected<void> check_type(const TensorType& type) {
  QUADRANT_CHECK(detail::check_extents(type.shape));
  if (!type.is_quantized()) return {};
  if (type.element != type.quantization.storage()) {
    return broken_rule(fmt::format("a tensor of {} whose codes are {}", to_string(type.element),
                                   to_string(type.quantization.storage())));
  }
  return verify(type.quantization, type.shape);
}

// --- graphs -------------------------------------------------------------------------------------

template <class Visit>
Expected<void> for_each_node(const GraphView& graph, Visit&& visit) {
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId id = graph.node_at(index);
    if (!id.is_valid()) continue;
    if (auto valid = visit(NodeRef{&graph, id}); !valid) {
      return fail(detail::at({&graph, id}, std::move(valid).error()));
    }
  }
  return {};
}

// Every operand is a value of the graph, and `uses` lists each of them once and nothing else.
Expected<void> check_edges(const GraphView& graph) {
  std::vector<std::size_t> first(graph.index_bound(), 0);  // of the node's operands, in `listed`
  std::size_t operands = 0;
  QUADRANT_CHECK(for_each_node(graph, [&](NodeRef node) -> Expected<void> {
    first[node.id.index] = operands;
    operands += node.operands().size();
    for (std::size_t i = 0; i < node.operands().size(); ++i) {
      const Value value = node.operand(i);
      if (value.is_absent()) continue;
      if (!exists(graph, value)) {
        return broken_rule(fmt::format("operand {} does not exist", i));
      }
    }
    return {};
  }));
  std::vector<bool> listed(operands, false);
  QUADRANT_CHECK(for_each_node(graph, [&](NodeRef node) -> Expected<void> {
    for (const Use& use : graph.uses(node.id)) {
      const NodeRef user{&graph, use.user};
      const bool real = exists(graph, use.user) && use.operand < user.operands().size() &&
                        user.operand(use.operand) == node.result(use.result);
      if (!real || listed[first[use.user.index] + use.operand]) {
        return broken_rule("the uses differ from the operands of the users");
      }
      listed[first[use.user.index] + use.operand] = true;
    }
    return {};
  }));
  return for_each_node(graph, [&](NodeRef node) -> Expected<void> {
    for (std::size_t i = 0; i < node.operands().size(); ++i) {
      if (!node.operand(i).is_absent() && !listed[first[node.id.index] + i]) {
        return broken_rule(fmt::format("operand {} is not among the uses of its producer", i));
      }
    }
    return {};
  });
}

Expected<void> check_names(const GraphView& graph) {
  std::unordered_set<std::string_view> names;
  return for_each_node(graph, [&](NodeRef node) -> Expected<void> {
    for (std::uint32_t result = 0; result < graph.result_count(node.id); ++result) {
      const std::string_view name = graph.value_name(node.result(result));
      if (name.empty()) return broken_rule(fmt::format("result {} has no name", result));
      if (!names.insert(name).second) {
        return broken_rule(fmt::format("two values have the name '{}'", name));
      }
    }
    return {};
  });
}

// A constant's type is that of its contents, with nothing left open.
Expected<void> check_contents(NodeRef node) {
  const Constant* const contents = node.graph->constant(node.id);
  if (contents == nullptr) return {};
  const TensorType& type = node.type();
  if (type.element == contents->element() && type.shape == contents->shape()) return {};
  return broken_rule(
      fmt::format("a constant of {} with contents of {}", to_string(type),
                  to_string(TensorType{contents->element(), contents->shape(), nullptr})));
}

Expected<void> check_node(NodeRef node) {
  const std::uint32_t results = node.graph->result_count(node.id);
  for (std::uint32_t result = 0; result < results; ++result) {
    if (auto valid = check_type(node.type(result)); !valid) {
      Error error = detail::at(node, std::move(valid).error());
      error.place.tensor = node.graph->value_name(node.result(result));
      return fail(std::move(error));
    }
  }
  QUADRANT_TRY(const auto inferred, detail::infer_results(node));
  for (std::uint32_t result = 0; result < inferred.size(); ++result) {
    QUADRANT_CHECK(detail::merge(node.type(result), inferred[result]));
  }
  return check_contents(node);
}

}  // namespace

Expected<void> verify(const UniformType& type, const Shape& shape) {
  if (!integer_range(type.storage)) {
    return broken_rule(
        fmt::format("codes of {}; they are integers of at most 32 bits", to_string(type.storage)));
  }
  const bool is_signed = has_signed_codes(type);
  if (type.storage_bits < 0 || type.storage_bits > bit_width(type.storage) ||
      storage_element(declared_bits(type), is_signed) != type.storage) {
    return broken_rule(
        fmt::format("codes of {} bits, stored as {}", type.storage_bits, to_string(type.storage)));
  }
  const IntegerRange range = code_range(declared_bits(type), is_signed);
  if (!is_float(type.expressed)) {
    return broken_rule(
        fmt::format("codes that express {}, not a float type", to_string(type.expressed)));
  }
  if (type.storage_min >= type.storage_max || type.storage_min < range.min ||
      type.storage_max > range.max) {
    return broken_rule(fmt::format("codes from {} to {}, where {} bits hold {} to {}",
                                   type.storage_min, type.storage_max, declared_bits(type),
                                   range.min, range.max));
  }
  QUADRANT_TRY(const Shape expected, expected_parameters(type.granularity, shape));
  QUADRANT_CHECK(check_scales(type, expected));
  return check_zero_points(type);
}

Expected<void> verify(const ScaledFormat& format, const Shape& shape) {
  QUADRANT_CHECK(verify(format.format, shape));
  if (is_uniform(format.format)) return broken_rule("a uniform type that is held as another");
  if (bit_width(format.format.code) > 16) {
    return broken_rule(fmt::format("codes of {}: they have 16 bits at most, but for uniform types",
                                   to_string(format.format)));
  }
  const std::vector<FormatPart> parts = parts_of(format.format);
  const std::vector<Constant> contents = contents_of(format);
  if (parts.size() != contents.size() || format.scales.size() != format.format.scales.size()) {
    return broken_rule(fmt::format("{} with {} constants: it has {}", to_string(format.format),
                                   contents.size(), parts.size()));
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    QUADRANT_CHECK(check_part(format.format, parts[i], contents[i], shape));
  }
  return {};
}

Expected<void> verify(const Quantization& quantization, const Shape& shape) {
  const ScaledFormat* const other = quantization.other().get();
  return other == nullptr ? verify(*quantization.uniform(), shape) : verify(*other, shape);
}

namespace {

// Those of `Capabilities::of_one_type`.
Expected<void> check_groups(const GraphView& graph) {
  const Capabilities* const capabilities = graph.capabilities();
  if (capabilities == nullptr) return {};
  for (const std::vector<Value>& group : capabilities->of_one_type()) {
    TensorType first;
    for (std::size_t i = 0; i < group.size(); ++i) {
      const Value value = group[i];
      if (!exists(graph, value)) {
        return broken_rule("a value that is of one type, and is not there");
      }
      const TensorType& type = graph.type(value);
      if (i == 0) {
        first = type;
        QUADRANT_TRY(first.quantization, in_memory(type.quantization));
        continue;
      }
      const bool is_same = type.element == first.element && may_equal(type.shape, first.shape) &&
                           mean_the_same(type.quantization, first.quantization);
      if (is_same) continue;
      return fail(ErrorCode::invalid_model,
                  fmt::format("its type is {}, and that of '{}', which is the same, {}",
                              to_string(type), graph.value_name(group.front()), to_string(first)),
                  {.tensor = std::string(graph.value_name(value))});
    }
  }
  return {};
}

}  // namespace

Expected<void> verify(NodeRef node) {
  auto valid = detail::check_onnx_signature(node);
  if (valid) valid = check_node(node);
  if (!valid) return fail(detail::at(node, std::move(valid).error()));
  return {};
}

Expected<void> verify(const GraphView& graph) {
  // First: what a view says that is not as its IR is needs no other explanation.
  if (graph.capabilities() != nullptr) QUADRANT_CHECK(graph.capabilities()->check_view());
  for (const Operation& row : graph.operations()) QUADRANT_CHECK(check_row(row));
  QUADRANT_CHECK(check_edges(graph));
  QUADRANT_CHECK(check_names(graph));
  QUADRANT_CHECK(topological_order(graph));
  QUADRANT_CHECK(for_each_node(graph, check_node));
  return check_groups(graph);
}

}  // namespace quadrant::inline v0
