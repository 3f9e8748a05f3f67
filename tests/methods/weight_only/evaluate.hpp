// Computes small graphs in double precision, each operation as its definition says
// (https://onnx.ai/onnx/operators), one element after the other.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "ir/groups.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/numerics/encode.hpp"

namespace evaluate {

using namespace quadrant;
using groups::Index;

struct Tensor {
  Shape shape;
  std::vector<double> values;
  [[nodiscard]] double at(const Index& index) const {
    return values[static_cast<std::size_t>(groups::position_of(index, shape))];
  }
  double& at(const Index& index) {
    return values[static_cast<std::size_t>(groups::position_of(index, shape))];
  }
};

using Tensors = std::map<std::string, Tensor>;

inline Tensor zeros(const Shape& shape) {
  return {shape, std::vector<double>(static_cast<std::size_t>(*shape.element_count()))};
}

template <class Visit>
void for_each_index(const Shape& shape, Visit visit) {
  for (std::int64_t i = 0; i < *shape.element_count(); ++i) visit(groups::index_of(i, shape));
}

inline Tensor tensor_of(const Constant& constant) {
  Tensor tensor = zeros(constant.shape());
  const auto bytes = constant.read();
  REQUIRE(bytes.has_value());
  if (is_integer(constant.element())) {
    const auto integers = *read_integers(constant, constant.element_count());
    tensor.values.assign(integers.begin(), integers.end());
  } else if (constant.element() == ElementType::float64) {
    const auto reals = bytes->as<double>();
    tensor.values.assign(reals.begin(), reals.end());
  } else {
    std::vector<float> widened(tensor.values.size());
    widen_to_float(constant.element(), bytes->bytes(), widened);
    tensor.values.assign(widened.begin(), widened.end());
  }
  return tensor;
}

/// The element of `tensor` that broadcasts to `index`.
inline double broadcast(const Tensor& tensor, const Index& index) {
  const std::size_t added = index.size() - static_cast<std::size_t>(tensor.shape.rank());
  Index own(index.begin() + static_cast<std::ptrdiff_t>(added), index.end());
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (tensor.shape[static_cast<std::int64_t>(i)].value() == 1) own[i] = 0;
  }
  return tensor.at(own);
}

inline Tensor transposed(const Tensor& tensor, const std::vector<std::int64_t>& perm) {
  std::vector<std::int64_t> extents;
  for (const std::int64_t axis : perm) extents.push_back(tensor.shape[axis].value());
  Tensor result = zeros(Shape(extents));
  for_each_index(result.shape, [&](const Index& index) {
    Index from(index.size());
    for (std::size_t i = 0; i < perm.size(); ++i)
      from[static_cast<std::size_t>(perm[i])] = index[i];
    result.at(index) = tensor.at(from);
  });
  return result;
}

/// The last two axes swapped.
inline Tensor matrix_transposed(const Tensor& tensor, bool is_wanted = true) {
  std::vector<std::int64_t> perm;
  for (std::int64_t i = 0; i < tensor.shape.rank(); ++i) perm.push_back(i);
  if (is_wanted) std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return transposed(tensor, perm);
}

/// ONNX MatMul, into `shape`.
inline Tensor product(Tensor a, Tensor b, const Shape& shape) {
  const bool is_row = a.shape.rank() == 1;
  const bool is_column = b.shape.rank() == 1;
  if (is_row) a.shape = Shape{1, a.shape[0].value()};
  if (is_column) b.shape = Shape{b.shape[0].value(), 1};
  const std::int64_t inner = a.shape[a.shape.rank() - 1].value();
  Tensor result = zeros(shape);
  for_each_index(shape, [&](const Index& index) {
    Index full = index;
    if (is_column) full.push_back(0);
    if (is_row) full.insert(full.end() - 1, 0);
    const std::size_t rank = full.size();
    double& sum = result.at(index);
    for (std::int64_t k = 0; k < inner; ++k) {
      Index of_a = full;
      Index of_b = full;
      of_a[rank - 1] = k;
      of_b[rank - 2] = k;
      sum += broadcast(a, of_a) * broadcast(b, of_b);
    }
  });
  return result;
}

/// alpha * `product` + beta * `addend`, which is null or broadcasts.
inline Tensor scaled_sum(NodeRef node, Tensor product, const Tensor* addend) {
  const auto alpha = node.attribute_or<double>("alpha", 1);
  const auto beta = node.attribute_or<double>("beta", 1);
  for_each_index(product.shape, [&](const Index& index) {
    double& value = product.at(index);
    value = alpha * value + (addend == nullptr ? 0 : beta * broadcast(*addend, index));
  });
  return product;
}

inline Tensor einsum(NodeRef node, const Tensor& a, const Tensor& b) {
  const auto equation = ops::Einsum{node}.equation();
  REQUIRE(equation.has_value());
  std::map<char, std::int64_t> extents;
  const std::vector<const Tensor*> operands{&a, &b};
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t axis = 0; axis < equation->operands[i].size(); ++axis) {
      extents[equation->operands[i][axis]] =
          operands[i]->shape[static_cast<std::int64_t>(axis)].value();
    }
  }
  std::vector<std::int64_t> all;
  for (const auto& [label, extent] : extents) all.push_back(extent);
  Tensor result = zeros(node.type().shape);
  for_each_index(Shape(all), [&](const Index& index) {
    std::map<char, std::int64_t> at;
    std::size_t next = 0;
    for (const auto& [label, extent] : extents) at[label] = index[next++];
    const auto pick = [&](const std::string& labels) {
      Index picked;
      for (const char label : labels) picked.push_back(at[label]);
      return picked;
    };
    result.at(pick(equation->result)) +=
        a.at(pick(equation->operands[0])) * b.at(pick(equation->operands[1]));
  });
  return result;
}

/// ONNX Conv and ConvTranspose: every pair of a position and a kernel element, added where it goes.
inline Tensor convolution(NodeRef node, const Tensor& x, const Tensor& w, const Tensor* bias) {
  const bool is_transposed = node.kind() == ops::ConvTranspose::kind;
  const auto spatial = static_cast<std::size_t>(x.shape.rank() - 2);
  const std::vector<std::int64_t> ones(spatial, 1);
  const auto strides = node.attribute_or("strides", ones);
  const auto dilations = node.attribute_or("dilations", ones);
  const auto pads = node.attribute_or("pads", std::vector<std::int64_t>(2 * spatial, 0));
  const auto groups = node.attribute_or<std::int64_t>("group", 1);
  Tensor result = zeros(node.type().shape);
  if (bias != nullptr) {
    for_each_index(result.shape, [&](const Index& at) { result.at(at) = bias->at({at[1]}); });
  }
  // The side that is strided over is the result of a transposed convolution, else the input.
  const Tensor& small = is_transposed ? x : result;
  const Shape& large = is_transposed ? result.shape : x.shape;
  for_each_index(small.shape, [&](const Index& at) {
    for_each_index(w.shape, [&](const Index& of_w) {
      // W [M, C / group, ...] or, transposed, [C, M / group, ...]: axis 0 is the small side's.
      if (of_w[0] != at[1]) return;
      const std::int64_t group = of_w[0] / (w.shape[0].value() / groups);
      Index other = at;
      other[1] = group * w.shape[1].value() + of_w[1];
      for (std::size_t i = 0; i < spatial; ++i) {
        other[i + 2] = at[i + 2] * strides[i] + of_w[i + 2] * dilations[i] - pads[i];
        const bool is_outside = other[i + 2] < 0 || other[i + 2] >= large.known_extents()[i + 2];
        if (is_outside) return;
      }
      if (is_transposed) {
        result.at(other) += x.at(at) * w.at(of_w);
      } else {
        result.at(at) += x.at(other) * w.at(of_w);
      }
    });
  });
  return result;
}

/// scale * (code - zero point), with the groups of the type.
inline Tensor dequantized(Tensor codes, const UniformType& type) {
  const std::vector<int> group = groups::partition(codes.shape, {type.granularity});
  const Tensor scales = tensor_of(type.scales);
  const Tensor zero_points = type.zero_points ? tensor_of(type.zero_points) : zeros(scales.shape);
  for (std::size_t i = 0; i < codes.values.size(); ++i) {
    const auto own = static_cast<std::size_t>(group[i]);
    codes.values[i] = scales.values[own] * (codes.values[i] - zero_points.values[own]);
  }
  return codes;
}

inline Tensor gathered(NodeRef node, const Tensor& data, const Tensor& indices) {
  const auto axis = *ops::Gather{node}.axis();
  Tensor result = zeros(node.type().shape);
  for_each_index(result.shape, [&](const Index& index) {
    const auto middle = index.begin() + axis;
    const auto behind = middle + indices.shape.rank();
    Index from(index.begin(), middle);
    from.push_back(static_cast<std::int64_t>(indices.at(Index(middle, behind))));
    from.insert(from.end(), behind, index.end());
    result.at(index) = data.at(from);
  });
  return result;
}

/// The part of `tensor` that begins at `begin` along `axis`, which moves on behind it.
inline Tensor part(const Tensor& tensor, std::int64_t axis, std::int64_t& begin,
                   const Shape& shape) {
  Tensor result = zeros(shape);
  for_each_index(shape, [&](const Index& index) {
    Index from = index;
    from[static_cast<std::size_t>(axis)] += begin;
    result.at(index) = tensor.at(from);
  });
  begin += shape[axis].value();
  return result;
}

inline Tensor concatenated(NodeRef node, const std::vector<const Tensor*>& operands) {
  const auto axis = static_cast<std::size_t>(*ops::Concat{node}.axis());
  Tensor result = zeros(node.type().shape);
  for_each_index(result.shape, [&](const Index& index) {
    Index from = index;
    std::size_t operand = 0;
    const auto extent = [&] {
      return operands[operand]->shape[static_cast<std::int64_t>(axis)].value();
    };
    for (; from[axis] >= extent(); ++operand) from[axis] -= extent();
    result.at(index) = operands[operand]->at(from);
  });
  return result;
}

/// Result 0 of a node whose operands are there; absent ones are null.
inline Tensor result_of(NodeRef node, const std::vector<const Tensor*>& operands) {
  const std::string_view kind = node.kind();
  const Shape& shape = node.type().shape;
  const auto operand = [&](std::size_t i) -> const Tensor& { return *operands[i]; };
  const Tensor* const third = operands.size() > 2 ? operands[2] : nullptr;
  if (kind == ops::Identity::kind || kind == ops::Cast::kind || kind == ops::StorageCast::kind ||
      kind == ops::Reshape::kind || kind == ops::Squeeze::kind || kind == ops::Unsqueeze::kind ||
      kind == ops::Flatten::kind) {
    return {shape.is_static() ? shape : operand(0).shape, operand(0).values};
  }
  if (kind == ops::Transpose::kind) return transposed(operand(0), ops::Transpose{node}.perm());
  if (kind == ops::Concat::kind) return concatenated(node, operands);
  if (kind == ops::Gather::kind) return gathered(node, operand(0), operand(1));
  if (kind == ops::Add::kind || kind == ops::Multiply::kind) {
    Tensor result = zeros(shape);
    for_each_index(shape, [&](const Index& index) {
      const double a = broadcast(operand(0), index);
      const double b = broadcast(operand(1), index);
      result.at(index) = kind == ops::Add::kind ? a + b : a * b;
    });
    return result;
  }
  if (kind == ops::MatMul::kind || kind == ops::BatchMatMul::kind) {
    return product(operand(0), operand(1), shape);
  }
  if (kind == ops::Gemm::kind) {
    const ops::Gemm gemm{node};
    return scaled_sum(node,
                      product(matrix_transposed(operand(0), gemm.trans_a()),
                              matrix_transposed(operand(1), gemm.trans_b()), shape),
                      third);
  }
  if (kind == ops::Linear::kind) {
    return scaled_sum(node, product(operand(0), matrix_transposed(operand(1)), shape), third);
  }
  if (kind == ops::Addmm::kind || kind == ops::Baddbmm::kind) {
    return scaled_sum(node, product(operand(1), operand(2), shape), operands[0]);
  }
  if (kind == ops::Einsum::kind) return einsum(node, operand(0), operand(1));
  if (kind == ops::Conv::kind || kind == ops::ConvTranspose::kind) {
    return convolution(node, operand(0), operand(1), third);
  }
  REQUIRE(kind == ops::Dequantize::kind);
  return dequantized(operand(0), *node.operand_type(0)->uniform());
}

/// The graph's outputs, in order. `inputs`: by name.
inline std::vector<Tensor> outputs(const Graph& graph, const Tensors& inputs) {
  const auto order = topological_order(graph);
  REQUIRE(order.has_value());
  std::map<Value, Tensor> made;
  for (const NodeId id : *order) {
    const NodeRef node = graph.ref(id);
    if (node.kind() == ops::Output::kind) continue;
    if (node.kind() == ops::Input::kind) {
      made[{id}] = inputs.at(std::string(graph.value_name({id})));
      continue;
    }
    if (const Constant* constant = graph.constant(id)) {
      made[{id}] = tensor_of(*constant);
      continue;
    }
    std::vector<const Tensor*> operands;
    for (const Value value : node.operands()) {
      operands.push_back(value.is_absent() ? nullptr : &made.at(value));
    }
    if (node.kind() == ops::Split::kind) {
      std::int64_t begin = 0;
      for (std::uint32_t i = 0; i < graph.result_count(id); ++i) {
        made[node.result(i)] =
            part(*operands[0], *ops::Split{node}.axis(), begin, node.type(i).shape);
      }
      continue;
    }
    made[{id}] = result_of(node, operands);
  }
  std::vector<Tensor> results;
  for (const NodeId output : graph.outputs()) {
    results.push_back(made.at(graph.operands(output)[0]));
  }
  return results;
}

/// For each input of the graph values from 0.2 to 2.2, so that sums do not cancel.
inline Tensors some_inputs(const Graph& graph) {
  Tensors inputs;
  for (const NodeId input : graph.inputs()) {
    Tensor tensor = zeros(graph.type({input}).shape);
    auto next = static_cast<double>(inputs.size());
    for (double& value : tensor.values) value = 1.2 + std::sin(next += 0.7);
    inputs.emplace(graph.value_name({input}), std::move(tensor));
  }
  return inputs;
}

/// Of the output that is furthest off: its largest difference, over its largest magnitude.
inline double relative_error(const std::vector<Tensor>& found,
                             const std::vector<Tensor>& expected) {
  REQUIRE(found.size() == expected.size());
  double worst = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    REQUIRE(found[i].shape == expected[i].shape);
    double difference = 0;
    double magnitude = 0;
    for (std::size_t j = 0; j < found[i].values.size(); ++j) {
      REQUIRE(std::isfinite(found[i].values[j]));
      difference = std::max(difference, std::fabs(found[i].values[j] - expected[i].values[j]));
      magnitude = std::max(magnitude, std::fabs(expected[i].values[j]));
    }
    REQUIRE(magnitude > 0);
    worst = std::max(worst, difference / magnitude);
  }
  return worst;
}

}  // namespace evaluate
