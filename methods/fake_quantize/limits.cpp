// Codes that are part of their type, for formats that know none.
#include <algorithm>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fake_quantize/forms.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/scales.hpp"
#include "quadrant/methods/fake_quantize.hpp"
#include "quadrant/numerics/reals.hpp"

namespace quadrant::inline v0 {
namespace low_precision {
namespace {

bool is_part_of_type(const UniformType& type) {
  const auto whole = integer_range(type.storage);
  constexpr int most_bits = 16;  // sums use what they need
  return whole && bit_width(type.storage) <= most_bits &&
         (type.storage_min > whole->min || type.storage_max < whole->max);
}

// The numbers that the first and the last code stand for, by channel, in a shape that broadcasts.
struct Limits {
  std::vector<double> low;
  std::vector<double> high;
  Shape shape;
};

Expected<Limits> limits_of(const UniformType& type, const Shape& tensor) {
  Limits limits;
  QUADRANT_TRY(const std::vector<float> scales, read_scales(type.scales));
  std::vector<std::int64_t> zeros(scales.size(), 0);
  if (type.zero_points) {
    QUADRANT_TRY(zeros, read_integers(type.zero_points, static_cast<std::int64_t>(scales.size())));
  }
  for (std::size_t i = 0; i < scales.size(); ++i) {
    const auto scale = static_cast<double>(scales[i]);
    const double first = scale * static_cast<double>(type.storage_min - zeros[i]);
    const double last = scale * static_cast<double>(type.storage_max - zeros[i]);
    limits.low.push_back(std::min(first, last));
    limits.high.push_back(std::max(first, last));
  }
  std::vector<std::int64_t> extents;
  if (type.granularity.kind == Granularity::Kind::axis) {
    extents.assign(static_cast<std::size_t>(tensor.rank()), 1);
    extents[static_cast<std::size_t>(type.granularity.axis)] =
        static_cast<std::int64_t>(scales.size());
  }
  limits.shape = Shape(std::move(extents));
  return limits;
}

Value add_limit(Graph& graph, std::string_view kind, Value real, const std::vector<double>& bound,
                const Shape& shape) {
  const std::string name(graph.value_name(real));
  const TensorType type = graph.type(real);
  const Value constant =
      graph.add_constant(name + "_limit", rounded_constant(ElementType::float32, shape, bound));
  return {graph.add({.kind = std::string(kind),
                     .name = {},
                     .operands = {real, constant},
                     .results = {{name + "_limited", type}},
                     .attributes = {},
                     .constant = {}})};
}

}  // namespace
}  // namespace low_precision

Expected<std::int64_t> limit_before_quantize(Graph& graph) {
  using namespace low_precision;
  std::int64_t count = 0;
  std::unordered_map<const UniformType*, std::shared_ptr<const UniformType>> whole;
  const std::uint32_t bound = graph.index_bound();
  for (std::uint32_t index = 0; index < bound; ++index) {
    const NodeId id = graph.node_at(index);
    if (!id.is_valid() || graph.constant(id) || graph.kind(id) == ops::Input::kind) continue;
    if (graph.result_count(id) != 1 || !graph.type({id}).is_quantized()) continue;
    TensorType type = graph.type({id});
    if (!is_part_of_type(*type.quantization)) continue;
    const bool quantizes = graph.kind(id) == ops::Quantize::kind;
    if (quantizes) {
      const Value real = graph.operands(id)[0];
      // Other real numbers than float32 are not what these formats quantize.
      const bool is_known = graph.type(real).element == ElementType::float32 &&
                            type.quantization->granularity.kind != Granularity::Kind::block;
      if (!is_known) continue;
      QUADRANT_TRY(const Limits limits, limits_of(*type.quantization, type.shape));
      const Value raised = add_limit(graph, "onnx.Max", real, limits.low, limits.shape);
      graph.set_operand(id, 0, add_limit(graph, "onnx.Min", raised, limits.high, limits.shape));
      ++count;
    }
    auto& wide = whole[type.quantization.get()];
    if (!wide) {
      auto made = std::make_shared<UniformType>(*type.quantization);
      const auto range = integer_range(made->storage).value_or(IntegerRange{});
      made->storage_min = range.min;
      made->storage_max = range.max;
      wide = std::move(made);
    }
    type.quantization = wide;
    graph.set_type({id}, std::move(type));
  }
  return count;
}

}  // namespace quadrant::inline v0
