// Transformers in other coordinates: the same results, without channels that stand out.
#include <array>
#include <functional>
#include <limits>

#include "ir/shape_inference.hpp"
#include "quadrant/ir/text.hpp"
#include "quadrant/methods/weight_only.hpp"
#include "quadrant/transforms/prepare.hpp"
#include "transforms/hadamard.hpp"
#include "transforms/models.hpp"

using namespace quadrant;
using namespace quadrant::test;

namespace {

enum class NormForm { layer, rms, taken_apart, layer_taken_apart };

struct Made {
  std::int64_t width = 64;
  NormForm form = NormForm::rms;
  double outlier = 1;    ///< factor of the last weights that one channel is multiplied by
  bool is_tied = false;  ///< results are by the embedding
};

constexpr std::int64_t tokens = 5;
constexpr std::int64_t words = 11;

/// A transformer of two blocks, with attention of one head.
class TransformerBuilder {
 public:
  explicit TransformerBuilder(const Made& made) : made_(made) {}

  Graph build() {
    const Value ids = model_.graph.add_input("ids", {ElementType::int64, {1, tokens}, nullptr});
    const Value table = model_.random_constant({words, made_.width});
    Value x = model_.add("gather", {table, ids});
    x = add(x, model_.random_constant({tokens, made_.width}));
    for (int block = 0; block < 2; ++block) {
      x = add(x, attention(norm(x)));
      x = add(product(norm(x, 2 * made_.width), 0), x);
    }
    const Value last = norm(x);
    const Value head = made_.is_tied ? model_.add("transpose", {table}, {},
                                                  {{"perm", std::vector<std::int64_t>{1, 0}}})
                                     : model_.constant({made_.width, words}, last_weights());
    model_.graph.add_output("out", model_.add("matmul", {last, head}, "logits"));
    REQUIRE(infer_shapes(model_.graph));
    return model_.graph;
  }

 private:
  Value add(Value a, Value b) { return model_.add("add", {a, b}); }
  Value multiply(Value a, Value b) { return model_.add("multiply", {a, b}); }
  Value number(double value) { return model_.constant(Shape::scalar(), {value}); }

  // Through as many inner channels and back.
  Value norm(Value x, std::int64_t inner) {
    const Value up = product(norm(x), made_.width, inner);
    return model_.add("onnx.Relu", {add(up, model_.random_constant({inner}))});
  }

  Value product(Value x, std::int64_t inputs, std::int64_t outputs = 0) {
    if (inputs == 0) inputs = 2 * made_.width;
    if (outputs == 0) outputs = made_.width;
    const double size = 1 / std::sqrt(static_cast<double>(inputs));
    return model_.add("matmul", {x, model_.random_constant({inputs, outputs}, size)});
  }

  Reals last_weights() {
    Reals weights = model_.random_reals(static_cast<std::size_t>(made_.width * words));
    for (std::size_t i = 0; i < words; ++i) weights[3 * words + i] *= made_.outlier;
    return weights;
  }

  Value attention(Value x) {
    const Value q = product(x, made_.width, 8);
    const Value k = product(x, made_.width, 8);
    const Value v = product(x, made_.width, 8);
    const Value turned =
        model_.add("transpose", {k}, {}, {{"perm", std::vector<std::int64_t>{0, 2, 1}}});
    const Value shares = model_.add("onnx.Softmax", {model_.add("matmul", {q, turned})}, {},
                                    {{"axis", std::int64_t{-1}}});
    return add(product(model_.add("matmul", {shares, v}), 8),
               model_.random_constant({made_.width}));
  }

  Value mean(Value x) {
    const Value axes = model_.graph.add_constant("axes", build::integers({-1}));
    return model_.add("onnx.ReduceMean", {x, axes}, {}, {{"keepdims", std::int64_t{1}}});
  }

  Value norm(Value x) {
    const Reals factors = model_.random_reals(static_cast<std::size_t>(made_.width), 0.2, 1);
    const Value scale = model_.constant({made_.width}, factors);
    const Value shift = model_.random_constant({made_.width});
    const Attributes last{{"axis", std::int64_t{-1}}};
    if (made_.form == NormForm::layer) {
      return model_.add("onnx.LayerNormalization", {x, scale, shift}, {}, last);
    }
    if (made_.form == NormForm::rms) {
      return model_.add("onnx.RMSNormalization", {x, scale}, {}, last);
    }
    const bool is_centered = made_.form == NormForm::layer_taken_apart;
    if (is_centered) x = model_.add("onnx.Sub", {x, mean(x)});
    const Value square = is_centered ? model_.add("onnx.Pow", {x, number(2)}) : multiply(x, x);
    const Value root = model_.add("onnx.Sqrt", {add(mean(square), number(1e-5))});
    const Value scaled = multiply(model_.add("onnx.Div", {x, root}), scale);
    return is_centered ? add(scaled, shift) : scaled;
  }

  Made made_;
  ModelBuilder model_{7};
};

Graph transformer(const Made& made) {
  Graph graph = TransformerBuilder(made).build();
  graph.attributes().set(std::string(opset_domains_key), std::vector<std::string>{""});
  graph.attributes().set(std::string(opset_versions_key), std::vector<std::int64_t>{23});
  return graph;
}

std::vector<Tensor> some_ids() {
  return {Tensor::from_values<std::int64_t>(ElementType::int64, {1, tokens},
                                            std::vector<std::int64_t>{3, 1, 4, 1, 10})};
}

Reals hadamard(std::int64_t width) {
  Reals matrix(static_cast<std::size_t>(width * width));
  for (std::int64_t i = 0; i < width; ++i) matrix[static_cast<std::size_t>(i * width + i)] = 1;
  const auto n = static_cast<std::size_t>(width);
  rotate_along(matrix, {.outer = n, .extent = n}, rotation_block(width));
  return matrix;
}

std::string reason_of(const RotationReport& report) {
  return report.left.empty() ? std::string() : report.left.front().reason;
}

}  // namespace

TEST_CASE("H is orthogonal, symmetric, flat, and keeps what is the same for all channels") {
  for (const std::int64_t width : {16, 64, 256}) {
    CHECK(rotation_block(width) == width);
    const Reals matrix = hadamard(width);
    const auto n = static_cast<std::size_t>(width);
    double off = 0;
    for (std::size_t i = 0; i < n; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < n; ++j) {
        sum += matrix[i * n + j];
        off = std::max(off, std::fabs(matrix[i * n + j] - matrix[j * n + i]));
        CHECK(std::fabs(matrix[i * n + j]) == 1 / std::sqrt(static_cast<double>(width)));
        double product = 0;
        for (std::size_t k = 0; k < n; ++k) product += matrix[i * n + k] * matrix[j * n + k];
        off = std::max(off, std::fabs(product - (i == j ? 1 : 0)));
      }
      CHECK(sum == 1);
    }
    CHECK(off == 0);
  }
  CHECK(rotation_block(96) == 16);
  CHECK(rotation_block(100) == 4);
  CHECK(rotation_block(7) == 1);
}

TEST_CASE("an axis in the middle is multiplied as the definition says") {
  const Reals matrix = hadamard(16);
  Reals values = ModelBuilder(1).random_reals(3 * 16 * 2);
  const Reals before = values;
  rotate_along(values, {.outer = 3, .extent = 16, .inner = 2}, 16);
  for (std::size_t o = 0; o < 3; ++o) {
    for (std::size_t i = 0; i < 16; ++i) {
      for (std::size_t k = 0; k < 2; ++k) {
        double sum = 0;
        for (std::size_t j = 0; j < 16; ++j) {
          sum += matrix[i * 16 + j] * before[(o * 16 + j) * 2 + k];
        }
        CHECK(values[(o * 16 + i) * 2 + k] == doctest::Approx(sum));
      }
    }
  }
}

TEST_CASE("results stay, with all forms of norms, whole streams and blocks, tied tables") {
  for (const NormForm form :
       {NormForm::layer, NormForm::rms, NormForm::taken_apart, NormForm::layer_taken_apart}) {
    for (const std::int64_t width : {64, 48}) {
      for (const bool is_tied : {false, true}) {
        const Graph model = transformer({.width = width, .form = form, .is_tied = is_tied});
        CAPTURE(static_cast<int>(form));
        const Reals before = outputs_of(model, some_ids());
        Graph rotated = model;
        const RotationReport report = rotate_streams(rotated).value();
        INFO(reason_of(report));
        CHECK(report.left.empty());
        REQUIRE(report.rotated.size() == 1);
        CHECK(report.rotated[0].channels == width);
        CHECK(report.rotated[0].block == rotation_block(width));
        CHECK(report.rotated[0].readers == 9);  // of two blocks q, k, v, up; and the results
        CHECK(report.rotated[0].makers == 8);   // table, places; twice two weights and a bias
        CHECK(relative_error(before, outputs_of(rotated, some_ids())) < 2e-5);
        Graph wide = in_double(model);
        const Reals exact = outputs_of(wide, some_ids());
        REQUIRE(rotate_streams(wide));
        CHECK(relative_error(exact, outputs_of(wide, some_ids())) < 1e-12);
      }
    }
  }
}

TEST_CASE("weights of 4 bits lose less where a channel stands out") {
  for (const NormForm form : {NormForm::layer, NormForm::taken_apart}) {
    const Graph model = transformer({.form = form, .outlier = 40});
    const Reals exact = outputs_of(model, some_ids());
    const auto error_of = [&](const Graph& graph) {
      const auto done = quantize_weight_only(graph, {.bits = 4});
      REQUIRE(done);
      const Reals found = outputs_of(done->graph, some_ids());
      double sum = 0;
      for (std::size_t i = 0; i < exact.size(); ++i) sum += std::pow(found[i] - exact[i], 2);
      return sum;
    };
    Graph rotated = model;
    REQUIRE(rotate_streams(rotated));
    const double before = error_of(model);
    const double after = error_of(rotated);
    CHECK(after < 0.5 * before);
  }
}

TEST_CASE("what hinders is named, and nothing changes") {
  const auto left_by = [](const std::function<void(ModelBuilder&, Value)>& more,
                          std::int64_t width = 64) {
    ModelBuilder model;
    const Value ids = model.graph.add_input("ids", {ElementType::int64, {1, tokens}, nullptr});
    const Value x = model.add("gather", {model.random_constant({words, width}), ids}, "x");
    const Value n = model.add("onnx.RMSNormalization", {x, model.random_constant({width})}, "n",
                              {{"axis", std::int64_t{-1}}});
    model.graph.add_output("y",
                           model.add("matmul", {n, model.random_constant({width, 3})}, "product"));
    more(model, x);
    REQUIRE(infer_shapes(model.graph));
    Graph graph = model.graph;
    const RotationReport report = rotate_streams(graph).value();
    CHECK(report.rotated.empty());
    REQUIRE(report.left.size() == 1);
    CHECK(report.left[0].name == "x");
    CHECK(operand_contents(graph, "product", 1) == operand_contents(model.graph, "product", 1));
    return report.left[0].reason;
  };
  CHECK(contains(left_by([](ModelBuilder& model, Value x) { model.graph.add_output("o", x); }),
                 "reads 'x'"));
  CHECK(contains(left_by([](ModelBuilder& model, Value x) {
                   model.graph.add_output("o", model.add("onnx.Relu", {x}, "r"));
                 }),
                 "'r' (onnx.Relu) reads 'x', and is no product with constant weights"));
  CHECK(contains(left_by([](ModelBuilder& model, Value) {
                   const Value n = model.graph.find_value("n");
                   model.graph.add_output("o", model.add("onnx.Sigmoid", {n}, "s"));
                 }),
                 "'s' (onnx.Sigmoid) reads 'n'"));
  CHECK(contains(left_by([](ModelBuilder& model, Value x) {
                   const Value n = model.graph.find_value("n");
                   model.graph.add_output("o", model.add("add", {n, x}, "sum"));
                 }),
                 "'n' has a scale"));
  CHECK(contains(left_by([](ModelBuilder& model, Value x) {
                   const Value other = model.graph.add_input(
                       "other", {ElementType::float32, {1, tokens, 64}, nullptr});
                   model.graph.add_output("o",
                                          model.add("matmul", {model.add("add", {x, other}, "sum"),
                                                               model.random_constant({64, 2})}));
                 }),
                 "'other' (input) makes it"));
  CHECK(
      contains(left_by([](ModelBuilder&, Value) {}, 40), "its 40 channels are no multiple of 16"));
}

TEST_CASE("shifts go into the biases of what reads them") {
  Graph graph = transformer({.form = NormForm::layer});
  REQUIRE(rotate_streams(graph).value().left.empty());
  std::size_t norms = 0;
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    const NodeId node = graph.node_at(i);
    if (!node.is_valid() || graph.kind(node) != "onnx.LayerNormalization") continue;
    ++norms;
    CHECK(contents(graph, graph.operands(node)[1]) == std::vector<float>(64, 1));
    CHECK(contents(graph, graph.operands(node)[2]) == std::vector<float>(64, 0));
  }
  CHECK(norms == 5);
  CHECK(kind_of(graph, "logits") == "add");  // the product has had no bias
  CHECK(kind_of(graph, "logits_product") == "matmul");
}

TEST_CASE("what is not finite leaves the stream as it was") {
  for (const float bad :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    for (const std::uint32_t operand : {1U, 2U}) {
      Graph graph = transformer({.form = NormForm::layer});
      NodeId constant;
      for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
        const NodeId node = graph.node_at(i);
        if (!node.is_valid() || graph.kind(node) != "onnx.LayerNormalization") continue;
        constant = graph.operands(node)[operand].node;
      }
      std::vector<float> values = contents(graph, {constant});
      values[5] = bad;
      graph.set_constant(constant, build::floats({64}, values));
      const std::string before = print_graph(graph);
      const RotationReport report = rotate_streams(graph).value();
      CHECK(report.rotated.empty());
      CHECK(contains(reason_of(report), "is not finite"));
      CHECK(print_graph(graph) == before);
    }
  }
}

TEST_CASE("a stream that many norms read is left in one line") {
  ModelBuilder model;
  const Value ids = model.graph.add_input("ids", {ElementType::int64, {1, tokens}, nullptr});
  Value x = model.add("gather", {model.random_constant({words, 16}), ids}, "x");
  const Value weight = model.random_constant({16, 16});
  const Value scale = model.random_constant({16});
  for (int i = 0; i < 300; ++i) {
    const Value n =
        model.add("onnx.RMSNormalization", {x, scale}, {}, {{"axis", std::int64_t{-1}}});
    x = model.add("add", {x, model.add("matmul", {n, weight})});
    if (i % 10 == 0) model.graph.add_output("o", model.add("onnx.Relu", {x}));
  }
  REQUIRE(infer_shapes(model.graph));
  const RotationReport report = rotate_streams(model.graph).value();
  CHECK(report.rotated.empty());
  CHECK(report.left.size() == 1);
  CHECK(contains(reason_of(report), "onnx.Relu"));
}

TEST_CASE("integers are left") {
  ModelBuilder model;
  const Value ids = model.graph.add_input("ids", {ElementType::int32, {tokens, 16}, nullptr});
  const auto ones = [](const Shape& shape) {
    return Constant::from_values<std::int32_t>(
        ElementType::int32, shape,
        std::vector<std::int32_t>(static_cast<std::size_t>(*shape.element_count()), 1));
  };
  const Value x = model.add("matmul", {ids, model.graph.add_constant("w", ones({16, 16}))}, "x");
  const Value axes = model.graph.add_constant("axes", build::integers({-1}));
  const Value sum = model.add("onnx.ReduceSum", {model.add("multiply", {x, x}), axes}, {},
                              {{"keepdims", std::int64_t{1}}});
  const Value scaled = model.add("multiply", {x, sum});
  model.graph.add_output(
      "o", model.add("matmul", {scaled, model.graph.add_constant("v", ones({16, 16}))}));
  REQUIRE(infer_shapes(model.graph));
  const RotationReport report = rotate_streams(model.graph).value();
  CHECK(report.rotated.empty());
  CHECK(contains(reason_of(report), "cannot be rounded anew"));
}
