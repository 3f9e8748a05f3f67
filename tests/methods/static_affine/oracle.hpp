// What a quantized graph has to compute, by definition: sums of products of codes in 64-bit
// integers; every other operation on the real values that codes stand for; and then the code that
// is nearest.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "build.hpp"
#include "ir/scales.hpp"
#include "quadrant/ir/graph_view.hpp"

namespace quadrant::test {

inline std::vector<std::int64_t> widened(const Tensor& tensor) {
  const auto copy = [&]<class T>(T /*type*/) {
    const auto values = tensor.as<T>();
    return std::vector<std::int64_t>(values.begin(), values.end());
  };
  switch (tensor.element()) {
    case ElementType::int8:
    case ElementType::int4:
      return copy(std::int8_t{});
    case ElementType::uint8:
    case ElementType::uint4:
      return copy(std::uint8_t{});
    case ElementType::int16:
      return copy(std::int16_t{});
    case ElementType::uint16:
      return copy(std::uint16_t{});
    case ElementType::int32:
      return copy(std::int32_t{});
    default:
      FAIL("no codes");
      return {};
  }
}

/// Scales and zero points of a type: one, or one for each index along `axis`.
struct Parameters {
  std::vector<double> scales;
  std::vector<std::int64_t> zeros;
  std::int64_t axis = -1;
  double low = 0;
  double high = 0;

  explicit Parameters(const UniformType& type) {
    for (const float scale : value_of(read_scales(type.scales))) {
      scales.push_back(static_cast<double>(scale));
    }
    zeros.assign(scales.size(), 0);
    if (type.zero_points) zeros = widened(value_of(Tensor::from_constant(type.zero_points)));
    if (type.granularity.kind == Granularity::Kind::axis) axis = type.granularity.axis;
    low = static_cast<double>(type.storage_min);
    high = static_cast<double>(type.storage_max);
  }
};

/// A value of a run: codes, or reals.
struct Observed {
  Shape shape;
  std::vector<std::int64_t> codes;
  std::vector<double> reals;
  std::optional<Parameters> parameters;

  Observed(const Tensor& tensor, const TensorType& type) : shape(tensor.shape()) {
    if (!type.is_quantized()) {
      for (const float value : tensor.as<float>()) reals.push_back(static_cast<double>(value));
      return;
    }
    codes = widened(tensor);
    parameters.emplace(*type.uniform());
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const std::size_t group = group_of(i);
      reals.push_back(parameters->scales[group] *
                      static_cast<double>(codes[i] - parameters->zeros[group]));
    }
  }

  [[nodiscard]] std::size_t group_of(std::size_t element) const {
    if (parameters->axis < 0) return 0;
    std::size_t inner = 1;
    for (std::int64_t axis = parameters->axis + 1; axis < shape.rank(); ++axis) {
      inner *= static_cast<std::size_t>(shape[axis].value());
    }
    return element / inner % static_cast<std::size_t>(shape[parameters->axis].value());
  }
  [[nodiscard]] std::int64_t distance(std::size_t element) const {
    return codes[element] - parameters->zeros[group_of(element)];
  }
};

/// Checks one run of a quantized graph, node by node, each from the operands that it was given.
class Oracle {
 public:
  Oracle(const Graph& graph, const std::vector<Tensor>& inputs) : graph_(graph) {
    std::vector<Value> watched;
    for (const NodeId node : value_of(topological_order(graph))) {
      for (std::uint32_t i = 0; i < graph.result_count(node); ++i) {
        const TensorType& type = graph.type({node, i});
        if (type.is_quantized() || type.element == ElementType::float32) {
          watched.push_back({node, i});
        }
      }
      nodes_.push_back(node);
    }
    const auto model = value_of(Interpreter().load(graph, watched));
    const auto tensors = value_of(run_model(*model, inputs, watched.size()));
    for (std::size_t i = 0; i < watched.size(); ++i) {
      values_.emplace(watched[i], Observed(tensors[i], graph.type(watched[i])));
    }
  }

  /// The number of sums of products on codes.
  std::size_t check() {
    for (const NodeId node : nodes_) {
      CAPTURE(label(graph_, node));
      CAPTURE(graph_.kind(node));
      check(graph_.ref(node));
    }
    return integer_products_;
  }

  [[nodiscard]] const Observed& at(Value value) const { return values_.at(value); }

 private:
  void check(NodeRef node) {
    const std::string_view kind = node.kind();
    if (kind == "input" || kind == "constant" || kind == "output") return;
    if (kind == "quantize" || kind == "dequantize") {
      check_result(node.result(), at(node.operand(0)).reals);
    } else if (kind == "conv") {
      check_result(node.result(), conv(node));
    } else if (kind == "gemm" || kind == "matmul") {
      check_result(node.result(), gemm(node));
    } else {
      check_results_of_reals(node);
    }
  }

  void check_result(Value value, const std::vector<double>& expected) const {
    const Observed& found = at(value);
    REQUIRE(found.reals.size() == expected.size());
    if (!found.parameters) {
      double largest = 0;
      for (const double each : expected) largest = std::max(largest, std::abs(each));
      for (std::size_t i = 0; i < expected.size(); ++i) {
        CHECK(std::abs(found.reals[i] - expected[i]) <= 1e-5 * largest + 1e-30);
      }
      return;
    }
    const Parameters& to = *found.parameters;
    const double slack = to.high > 255 ? 0.25 : 0.01;  // of float sums, next to a tie
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const std::size_t group = found.group_of(i);
      const double exact = std::clamp(
          expected[i] / to.scales[group] + static_cast<double>(to.zeros[group]), to.low, to.high);
      CHECK(std::abs(static_cast<double>(found.codes[i]) - exact) <= 0.5 + slack);
    }
  }

  // A product of two factors, in integers where both are codes.
  class Sum {
   public:
    Sum(const Observed& a, const Observed& b) : a_(a), b_(b) {}
    [[nodiscard]] bool is_of_codes() const { return a_.parameters && b_.parameters; }
    void add(std::size_t i, std::size_t j) {
      if (is_of_codes()) {
        codes_ += a_.distance(i) * b_.distance(j);
        scale_ = a_.parameters->scales[a_.group_of(i)] * b_.parameters->scales[b_.group_of(j)];
      } else {
        reals_ += a_.reals[i] * b_.reals[j];
      }
    }
    [[nodiscard]] double real() const {
      return is_of_codes() ? scale_ * static_cast<double>(codes_) : reals_;
    }

   private:
    const Observed& a_;
    const Observed& b_;
    std::int64_t codes_ = 0;
    double scale_ = 0;
    double reals_ = 0;
  };

  std::vector<double> conv(NodeRef node) {
    const Observed& x = at(node.operand(0));
    const Observed& w = at(node.operand(1));
    const Observed* const bias = node.operand(2).is_absent() ? nullptr : &at(node.operand(2));
    using List = std::vector<std::int64_t>;
    const auto groups = node.attribute_or<std::int64_t>("group", 1);
    const auto strides = node.attribute_or<List>("strides", {1, 1});
    const auto dilations = node.attribute_or<List>("dilations", {1, 1});
    const auto pads = node.attribute_or<List>("pads", {0, 0, 0, 0});
    const Shape& to = at(node.result()).shape;
    const std::int64_t group_inputs = w.shape[1].value();
    const std::int64_t group_outputs = w.shape[0].value() / groups;
    std::vector<double> expected;
    for (std::int64_t n = 0; n < to[0].value(); ++n) {
      for (std::int64_t o = 0; o < to[1].value(); ++o) {
        for (std::int64_t y = 0; y < to[2].value(); ++y) {
          for (std::int64_t z = 0; z < to[3].value(); ++z) {
            Sum sum(x, w);
            if (expected.empty() && sum.is_of_codes()) ++integer_products_;
            for (std::int64_t c = 0; c < group_inputs; ++c) {
              const std::int64_t from = o / group_outputs * group_inputs + c;
              for (std::int64_t i = 0; i < w.shape[2].value(); ++i) {
                for (std::int64_t j = 0; j < w.shape[3].value(); ++j) {
                  const std::int64_t h = y * strides[0] + i * dilations[0] - pads[0];
                  const std::int64_t v = z * strides[1] + j * dilations[1] - pads[1];
                  if (h < 0 || v < 0 || h >= x.shape[2].value() || v >= x.shape[3].value())
                    continue;
                  sum.add(index(x.shape, {n, from, h, v}), index(w.shape, {o, c, i, j}));
                }
              }
            }
            expected.push_back(sum.real() + (bias ? bias->reals[static_cast<std::size_t>(o)] : 0));
          }
        }
      }
    }
    return expected;
  }

  // Of matrices; a product without C, too.
  std::vector<double> gemm(NodeRef node) {
    const Observed& a = at(node.operand(0));
    const Observed& b = at(node.operand(1));
    const Observed* const c = node.operand(2).is_absent() ? nullptr : &at(node.operand(2));
    REQUIRE(a.shape.rank() == 2);
    REQUIRE(b.shape.rank() == 2);
    const ops::Gemm gemm{node};
    const std::int64_t terms = a.shape[gemm.trans_a() ? 0 : 1].value();
    const Shape& to = at(node.result()).shape;
    std::vector<double> expected;
    for (std::int64_t m = 0; m < to[0].value(); ++m) {
      for (std::int64_t n = 0; n < to[1].value(); ++n) {
        Sum sum(a, b);
        if (expected.empty() && sum.is_of_codes()) ++integer_products_;
        for (std::int64_t k = 0; k < terms; ++k) {
          sum.add(gemm.trans_a() ? index(a.shape, {k, m}) : index(a.shape, {m, k}),
                  gemm.trans_b() ? index(b.shape, {n, k}) : index(b.shape, {k, n}));
        }
        const double alpha = node.attribute_or("alpha", 1.0);
        const double beta = node.attribute_or("beta", 1.0);
        const double added = c ? beta * c->reals[static_cast<std::size_t>(n)] : 0;
        expected.push_back(alpha * sum.real() + added);
      }
    }
    return expected;
  }

  static std::size_t index(const Shape& shape, std::initializer_list<std::int64_t> at) {
    std::int64_t position = 0;
    std::int64_t axis = 0;
    for (const std::int64_t each : at) position = position * shape[axis++].value() + each;
    return static_cast<std::size_t>(position);
  }

  // The node alone, on real values.
  void check_results_of_reals(NodeRef node) {
    Graph alone;
    alone.attributes() = graph_.attributes();
    std::vector<Value> operands;
    std::vector<Tensor> inputs;
    for (const Value operand : node.operands()) {
      if (operand.is_absent()) {
        operands.emplace_back();
      } else if (values_.contains(operand)) {
        const Observed& given = at(operand);
        inputs.push_back(
            Tensor::from_values<float>(ElementType::float32, given.shape,
                                       std::vector<float>(given.reals.begin(), given.reals.end())));
        operands.push_back(alone.add_input("x", build::f32(given.shape)));
      } else {
        REQUIRE(graph_.constant(operand.node) != nullptr);
        operands.push_back(alone.add_constant("c", *graph_.constant(operand.node)));
      }
    }
    const std::uint32_t count = graph_.result_count(node.id);
    const NodeId copy = alone.add({.kind = std::string(node.kind()),
                                   .operands = std::move(operands),
                                   .results = std::vector<ResultSpec>(count, {"y", {}}),
                                   .attributes = graph_.attributes(node.id)});
    std::vector<Value> results;
    for (std::uint32_t i = 0; i < count; ++i) results.push_back({copy, i});
    const auto model = value_of(Interpreter().load(alone, results));
    const auto tensors = value_of(run_model(*model, inputs, count));
    for (std::uint32_t i = 0; i < count; ++i) {
      if (!values_.contains({node.id, i})) continue;
      const auto values = tensors[i].as<float>();
      check_result({node.id, i}, {values.begin(), values.end()});
    }
  }

  const Graph& graph_;
  std::vector<NodeId> nodes_;
  std::map<Value, Observed> values_;
  std::size_t integer_products_ = 0;
};

}  // namespace quadrant::test
