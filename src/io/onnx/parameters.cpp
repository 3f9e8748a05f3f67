#include "io/onnx/parameters.hpp"

#include <algorithm>

#include "io/onnx/edit.hpp"
#include "io/onnx/failure.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::onnx {
namespace {

Constant as_floats(const Constant& integers) {
  const auto values = value_of(read_integers(integers, integers.element_count()));
  std::vector<float> floats;
  floats.reserve(values.size());
  for (const std::int64_t value : values) floats.push_back(static_cast<float>(value));
  return Constant::from_values(ElementType::float32, integers.shape(),
                               std::span<const float>(floats));
}

const Constant& scales_of(const UniformType& type) {
  if (!type.scales) impossible("a quantized type without scales");
  return type.scales;
}

}  // namespace

Value Parameters::scales(const std::string& name, const UniformType& type) {
  return shared(scales_of(type), 0,
                [&] { return add_scales(graph_, name + "_scale", type.scales); });
}

Value Parameters::zero_points(const std::string& name, const UniformType& type) {
  if (type.zero_points) {
    return shared(type.zero_points, 0,
                  [&] { return graph_.add_constant(name + "_zero_point", type.zero_points); });
  }
  const int width = byte_width(type.storage);
  return shared(scales_of(type), static_cast<int>(type.storage), [&] {
    const auto count = static_cast<std::size_t>(type.scales.element_count());
    return graph_.add_constant(
        name + "_zero_point",
        Constant::from_bytes(type.storage, type.scales.shape(),
                             std::vector<std::byte>(count * static_cast<std::size_t>(width))));
  });
}

Value Parameters::unit_scale() {
  if (unit_scale_.is_absent()) unit_scale_ = graph_.add_constant("unit_scale", float_scalar(1));
  return unit_scale_;
}

Value Parameters::factors(const std::string& name, Value codes, const UniformType& type) {
  return broadcast(scales_of(type), name + "_scale", codes, type);
}

Value Parameters::offsets(const std::string& name, Value codes, const UniformType& type) {
  return broadcast(as_floats(type.zero_points), name + "_zero_point", codes, type);
}

Value Parameters::code(ElementType storage, std::int64_t value, std::string name) {
  const auto bytes =
      std::as_bytes(std::span(&value, 1)).first(static_cast<std::size_t>(byte_width(storage)));
  return graph_.add_constant(std::move(name),
                             Constant::from_bytes(storage, Shape(std::vector<std::int64_t>{}),
                                                  {bytes.begin(), bytes.end()}));
}

template <class Make>
Value Parameters::shared(const Constant& constant, int variant, Make make) {
  // Equality of constants is identity, and the shape lives inside.
  auto& variants = shared_[&constant.shape()];
  const auto found = std::ranges::find(variants, variant, &std::pair<int, Value>::first);
  if (found != variants.end()) return found->second;
  const Value value = make();
  variants.emplace_back(variant, value);
  kept_alive_.push_back(constant);
  return value;
}

Value Parameters::broadcast(Constant parameters, std::string name, Value codes,
                            const UniformType& type) {
  const Granularity& granularity = type.granularity;
  if (granularity.kind == Granularity::Kind::tensor) {
    return add_scales(graph_, std::move(name), std::move(parameters));
  }
  const Shape shape = graph_.type(codes).shape;
  if (!shape.is_ranked()) impossible("quantized along an axis, but the rank is unknown");
  const std::int64_t axis = axis_of(graph_, codes, type);
  if (granularity.kind == Granularity::Kind::axis) {
    std::vector<std::int64_t> extents(static_cast<std::size_t>(shape.rank()), 1);
    extents[static_cast<std::size_t>(axis)] = parameters.element_count();
    return add_scales(graph_, std::move(name), parameters.reshaped(Shape(extents)));
  }
  // Each block's parameter as often as the block is long. That serves a short last block, too.
  if (!shape[axis].is_known()) impossible("quantized in blocks along an axis of unknown extent");
  const Value indices = block_indices(shape[axis].value(), granularity.block_size);
  TensorType expanded{ElementType::float32, shape, nullptr};
  const Value blocks = add_scales(graph_, name, std::move(parameters));
  return add_op(graph_, "onnx.Gather", {}, {blocks, indices},
                {std::move(name), std::move(expanded)}, {{"axis", axis}});
}

/// Which block each index of the axis belongs to.
Value Parameters::block_indices(std::int64_t extent, std::int64_t block_size) {
  constexpr std::int64_t longest = std::int64_t{1} << 24U;
  if (extent > longest || block_size < 1) {
    impossible(fmt::format("quantized in blocks of {} along {} elements", block_size, extent));
  }
  // Blocks longer than the axis are all alike.
  const std::int64_t size = std::min(block_size, std::max<std::int64_t>(extent, 1));
  Value& made = block_indices_[{extent, size}];
  if (made.is_absent()) {
    std::vector<std::int64_t> indices(static_cast<std::size_t>(extent));
    for (std::int64_t i = 0; i < extent; ++i) indices[static_cast<std::size_t>(i)] = i / size;
    made = graph_.add_constant(fmt::format("blocks_of_{}", size), int64_constant(indices));
  }
  return made;
}

std::int64_t axis_of(const Graph& graph, Value value, const UniformType& type) {
  const Shape& shape = graph.type(value).shape;
  if (!shape.is_ranked()) return type.granularity.axis;
  const auto axis = normalize_axis(type.granularity.axis, shape.rank());
  if (!axis) {
    impossible(fmt::format("quantized along axis {} of {} dimensions", type.granularity.axis,
                           shape.rank()));
  }
  return *axis;
}

Constant with_element(const Constant& constant, ElementType element) {
  const ConstantBytes bytes = value_of(constant.read());
  return Constant::from_bytes(element, constant.shape(),
                              {bytes.bytes().begin(), bytes.bytes().end()});
}

}  // namespace quadrant::inline v0::onnx
