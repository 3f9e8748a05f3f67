#include "ir/scales.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "ir/float16.hpp"
#include "ir/ops/elementwise.hpp"
#include "ir/same_numbers.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0 {

namespace {

Expected<ConstantBytes> read_checked(const Constant& scales) {
  const ElementType element = scales ? scales.element() : ElementType::undefined;
  if (!is_scale_type(element) && element != ElementType::float64) {
    return fail(ErrorCode::impossible,
                fmt::format("scales of type {}: they are f32, f16 or f64", to_string(element)));
  }
  return scales.read();
}

bool have_same_bytes(const Constant& a, const Constant& b) {
  if (a == b) return true;
  if (!a || !b || a.element() != b.element() || a.shape() != b.shape()) return false;
  const auto bytes_a = a.read();
  const auto bytes_b = b.read();
  return bytes_a && bytes_b && std::ranges::equal(bytes_a->bytes(), bytes_b->bytes());
}

Expected<void> keep_in_memory(Constant& constant) {
  if (!constant || !constant.is_deferred()) return {};
  QUADRANT_TRY(const ConstantBytes contents, constant.read());
  constant = Constant::from_values(constant.element(), constant.shape(), contents.bytes());
  return {};
}

Expected<std::vector<float>> rounded(std::span<const double> exact) {
  std::vector<float> values;
  values.reserve(exact.size());
  for (const double scale : exact) {
    const auto single = static_cast<float>(scale);
    const bool is_lost = single == 0.0F ? scale != 0 : std::isinf(single);
    if (is_lost && std::isfinite(scale)) {
      return fail(ErrorCode::impossible,
                  fmt::format("a scale of {}, which is outside float32", scale));
    }
    values.push_back(single);
  }
  return values;
}

template <class Real>
std::vector<Real> widened(std::span<const std::uint16_t> halves) {
  std::vector<Real> values(halves.size());
  std::ranges::transform(halves, values.begin(), widen_float16);
  return values;
}

}  // namespace

Expected<std::vector<double>> read_exact_scales(const Constant& scales) {
  QUADRANT_TRY(const ConstantBytes bytes, read_checked(scales));
  if (scales.element() == ElementType::float16) return widened<double>(bytes.as<std::uint16_t>());
  if (scales.element() == ElementType::float64) {
    const auto values = bytes.as<double>();
    return std::vector<double>(values.begin(), values.end());
  }
  const auto values = bytes.as<float>();
  return std::vector<double>(values.begin(), values.end());
}

Expected<std::vector<float>> read_scales(const Constant& scales) {
  QUADRANT_TRY(const ConstantBytes bytes, read_checked(scales));
  if (scales.element() == ElementType::float16) return widened<float>(bytes.as<std::uint16_t>());
  if (scales.element() == ElementType::float64) return rounded(bytes.as<double>());
  const auto values = bytes.as<float>();
  return std::vector<float>(values.begin(), values.end());
}

Expected<std::vector<std::int64_t>> read_zero_points(const UniformType& type) {
  return read_zero_points(ScaledFormat::of(type));
}

Expected<std::vector<std::int64_t>> read_zero_points(const Quantization& type) {
  const ScaledFormat scaled = scaled_format(type);
  if (scaled.format.offset == Offset::zero_point) {
    return read_integers(scaled.offsets.front(), scaled.offsets.front().element_count());
  }
  const std::int64_t count = scaled.scales.empty() ? 1 : scaled.scales.back().element_count();
  return std::vector<std::int64_t>(static_cast<std::size_t>(count));
}

Expected<std::vector<float>> read_scales(const Quantization& type) {
  const ScaledFormat scaled = scaled_format(type);
  if (scaled.scales.size() == 1) return read_scales(scaled.scales.front());
  return fail(ErrorCode::impossible,
              fmt::format("codes of {}, which have no one level of scales", to_string(type)));
}

Granularity granularity_of(const Quantization& type) {
  if (type.uniform()) return type.uniform()->granularity;
  return type ? innermost_groups(type.other()->format) : Granularity::per_tensor();
}

Expected<std::shared_ptr<const UniformType>> uniform_for(std::string_view target,
                                                         const Quantization& type) {
  if (!type.other()) return type.uniform();
  const NumberFormat& format = type.other()->format;
  return fail(
      ErrorCode::impossible,
      fmt::format("{} has no codes of {}: the nearest that it has are {}", target,
                  to_string(format), to_string(storage_element(bit_width(format.code), true))));
}

Expected<ConstantBytes> read_scale_bytes(const Constant& scales) {
  if (scales && scales.element() == ElementType::float32) return scales.read();
  QUADRANT_TRY(std::vector<float> values, read_scales(scales));
  auto owner = std::make_shared<const std::vector<float>>(std::move(values));
  const auto bytes = std::as_bytes(std::span(*owner));
  return ConstantBytes(std::move(owner), bytes);
}

const Constant* scales_read_by(NodeRef node, std::size_t operand) {
  const Constant* const direct = node.operand_constant(operand);
  if (direct != nullptr) return is_scale_type(direct->element()) ? direct : nullptr;
  const Value read = node.operand(operand);
  if (read.is_absent() || node.graph->kind(read.node) != ops::Cast::kind) return nullptr;
  const NodeRef cast{node.graph, read.node};
  const Constant* const halves = cast.operand_constant(0);
  const bool is_widened = halves != nullptr && halves->element() == ElementType::float16 &&
                          cast.type().element == ElementType::float32;
  return is_widened ? halves : nullptr;
}

Constant make_scales(ElementType element, Shape shape, std::vector<float> values) {
  if (element == ElementType::float32) {
    return Constant::from_vector(element, std::move(shape), std::move(values));
  }
  std::vector<std::uint16_t> halves(values.size());
  std::ranges::transform(values, halves.begin(), round_to_float16);
  return Constant::from_vector(element, std::move(shape), std::move(halves));
}

Constant make_exact_scales(ElementType element, Shape shape, const std::vector<double>& values) {
  if (element == ElementType::float64) {
    return Constant::from_values<double>(element, std::move(shape), values);
  }
  std::vector<float> singles(values.size());
  std::ranges::transform(values, singles.begin(),
                         [](double value) { return static_cast<float>(value); });
  return make_scales(element, std::move(shape), std::move(singles));
}

Constant make_zero_points(ElementType storage, Shape shape, std::span<const std::int64_t> values) {
  const auto width = static_cast<std::size_t>(byte_width(storage));
  std::vector<std::byte> bytes;
  bytes.reserve(values.size() * width);
  for (const std::int64_t value : values) {
    const auto all = std::as_bytes(std::span(&value, 1));  // little-endian, as constants are
    bytes.insert(bytes.end(), all.begin(), all.begin() + static_cast<std::ptrdiff_t>(width));
  }
  return Constant::from_bytes(storage, std::move(shape), std::move(bytes));
}

Expected<std::vector<float>> product_scales(const Quantization& data, const Quantization& weight) {
  QUADRANT_TRY(const std::vector<float> of_data, read_scales(data));
  QUADRANT_TRY(std::vector<float> scales, read_scales(weight));
  for (float& scale : scales) {
    const float product = scale * of_data.front();
    if (!std::isnormal(product)) {
      return fail(ErrorCode::impossible,
                  fmt::format("the scale of products, {} x {}, is no normal number of float32",
                              of_data.front(), scale));
    }
    scale = product;
  }
  return scales;
}

bool has_product_scales(const Quantization& bias, const Quantization& data,
                        const Quantization& weight) {
  constexpr float tolerance = 1e-6F;
  const auto given = read_scales(bias);
  const auto scales = product_scales(data, weight);
  return given && scales && std::ranges::equal(*given, *scales, [](float a, float b) {
           return std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b));
         });
}

std::uint64_t stored_bytes(const Shape& shape, const Granularity& granularity, ElementType storage,
                           ElementType scale, bool has_zero_points) {
  const auto packed = [storage](std::uint64_t count) {
    return (count * static_cast<std::uint64_t>(bit_width(storage)) + 7) / 8;
  };
  const auto elements = static_cast<std::uint64_t>(shape.element_count().value_or(0));
  const auto groups =
      static_cast<std::uint64_t>(parameter_shape(shape, granularity).element_count().value_or(0));
  const bool stores_zero_points = has_zero_points || granularity.kind != Granularity::Kind::block;
  return packed(elements) + groups * static_cast<std::uint64_t>(std::min(byte_width(scale), 4)) +
         (stores_zero_points ? packed(groups) : 0);
}

std::uint64_t stored_bytes(const Quantization& quantization, const Shape& shape) {
  if (quantization.other()) return stored_bytes(quantization.other()->format, shape);
  const UniformType& type = *quantization.uniform();
  const ElementType scale = type.scales ? type.scales.element() : ElementType::float32;
  return stored_bytes(shape, type.granularity, type.storage, scale,
                      static_cast<bool>(type.zero_points));
}

void note_rounded_scales(const GraphView& graph, Sink* sink) {
  if (sink == nullptr) return;
  const auto is_rounded = [](const UniformType& type) {
    if (!type.scales || type.scales.element() != ElementType::float64) return false;
    const auto exact = read_exact_scales(type.scales);
    return exact && !std::ranges::all_of(*exact, [](double scale) {
             return static_cast<double>(static_cast<float>(scale)) == scale;
           });
  };
  std::int64_t count = 0;
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    if (!node.is_valid()) continue;
    for (std::uint32_t result = 0; result < graph.result_count(node); ++result) {
      const auto& type = graph.type({node, result}).uniform();
      if (type && is_rounded(*type)) ++count;
    }
  }
  if (count == 0) return;
  sink->report({Severity::note,
                fmt::format("the float64 scales of {} values are written as the float32 nearest to "
                            "them",
                            count),
                {}});
}

bool have_same_numbers(const UniformType& a, const UniformType& b) {
  if (a.storage != b.storage || a.granularity != b.granularity || !a.scales || !b.scales) {
    return false;
  }
  const auto scales_a = read_exact_scales(a.scales);
  const auto scales_b = read_exact_scales(b.scales);
  if (!scales_a || !scales_b || *scales_a != *scales_b) return false;
  const auto zeros_a = read_zero_points(a);
  const auto zeros_b = read_zero_points(b);
  return zeros_a && zeros_b && *zeros_a == *zeros_b;
}

bool mean_the_same(const UniformType& a, const UniformType& b) {
  if (a == b) return true;
  return a.expressed == b.expressed && declared_bits(a) == declared_bits(b) &&
         a.storage_min == b.storage_min && a.storage_max == b.storage_max &&
         have_same_numbers(a, b);
}

bool mean_the_same(const Quantization& a, const Quantization& b) {
  if (a == b) return true;
  if (!a || !b) return false;
  if (a.uniform() && b.uniform()) return mean_the_same(*a.uniform(), *b.uniform());
  const ScaledFormat left = scaled_format(a);
  const ScaledFormat right = scaled_format(b);
  return left.format == right.format &&
         std::ranges::equal(contents_of(left), contents_of(right), have_same_bytes);
}

Expected<Quantization> in_memory(const Quantization& quantization) {
  if (!quantization) return quantization;
  ScaledFormat kept = scaled_format(quantization);
  for (Constant& scales : kept.scales) QUADRANT_CHECK(keep_in_memory(scales));
  for (Constant& offsets : kept.offsets) QUADRANT_CHECK(keep_in_memory(offsets));
  QUADRANT_CHECK(keep_in_memory(kept.table));
  return kept;
}

}  // namespace quadrant::inline v0
