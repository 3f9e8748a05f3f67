// Made-up streams: rotated or left, the outputs are the same.
#include <array>
#include <optional>

#include "ir/shape_inference.hpp"
#include "quadrant/transforms/prepare.hpp"
#include "transforms/models.hpp"

using namespace quadrant;
using namespace quadrant::test;

namespace {

constexpr std::int64_t stream_rows = 6;
constexpr std::int64_t stream_width = 16;

std::vector<Tensor> row_numbers() {
  return {Tensor::from_values<std::int64_t>(ElementType::int64, {1, stream_rows},
                                            std::vector<std::int64_t>{3, 1, 4, 1, 5, 9})};
}

/// Norms and what they read and make, in a stream of rows `[1, stream_rows, stream_width]`.
class StreamBuilder {
 public:
  explicit StreamBuilder(unsigned seed) : model_(seed) {
    model_.set_opset(23);
    const Value ids =
        model_.graph.add_input("ids", {ElementType::int64, {1, stream_rows}, nullptr});
    start_ = model_.add("gather", {model_.random_constant({10, stream_width}), ids});
  }

  [[nodiscard]] Value start() const { return start_; }
  ModelBuilder& model() { return model_; }

  Value norm(Value x, std::string kind, const Shape& scale, const std::optional<Shape>& shift) {
    std::vector<Value> operands{x, near_one(scale)};
    if (shift) operands.push_back(model_.random_constant(*shift));
    return model_.add(std::move(kind), std::move(operands), {}, {{"axis", std::int64_t{-1}}});
  }

  // Of the mean of squares, with the scale as an operation of its own.
  Value norm_apart(Value x, const Shape& scale, const std::optional<Shape>& shift) {
    const Value square = model_.add("multiply", {x, x});
    const Value root =
        model_.add("onnx.Sqrt", {model_.add("add", {mean(square), model_.constant({1}, {1e-3})})});
    const Value scaled =
        model_.add("multiply", {model_.add("onnx.Div", {x, root}), near_one(scale)});
    return shift ? model_.add("add", {model_.random_constant(*shift), scaled}) : scaled;
  }

  Value product(Value x, std::int64_t outputs) {
    return model_.add("matmul", {x, model_.random_constant({stream_width, outputs}, 0.3)});
  }

  Value gemm(Value x, std::int64_t outputs) {
    const Value rows = reshaped(x, {stream_rows, stream_width});
    const bool is_turned = coin();
    std::vector<Value> operands{
        rows, model_.random_constant(
                  is_turned ? Shape{outputs, stream_width} : Shape{stream_width, outputs}, 0.3)};
    if (coin()) operands.push_back(model_.random_constant(coin() ? Shape{outputs} : Shape{1}));
    Attributes attributes{{"transB", std::int64_t{is_turned ? 1 : 0}}};
    if (coin()) attributes.set("alpha", 0.5);
    const Value made = model_.add("gemm", std::move(operands), {}, std::move(attributes));
    return reshaped(made, {1, stream_rows, outputs});
  }

  Value reshaped(Value x, std::vector<std::int64_t> shape) {
    return model_.add("reshape", {x, integers(std::move(shape))});
  }

  Value integers(std::vector<std::int64_t> values) {
    return model_.graph.add_constant("integers", build::integers(values));
  }

  Value mean(Value x) {
    return model_.add("onnx.ReduceMean", {x, integers({-1})}, {}, {{"keepdims", std::int64_t{1}}});
  }

  // All rows still, some of them from elsewhere.
  Value moved(Value x) {
    const Value head = model_.add("slice", {x, integers({0}), integers({2}), integers({1})});
    const Value tail =
        model_.add("slice", {x, integers({2}), integers({stream_rows}), integers({1})});
    const Value more = coin() ? head : model_.random_constant({1, 2, stream_width});
    return model_.add("concat", {more, tail}, {}, {{"axis", std::int64_t{1}}});
  }

  // A step that streams are made of, mostly.
  Value step(Value x) {
    switch (model_.random_index(13)) {
      case 0:
        return model_.add("add", {x, model_.random_constant(any_shape(12))});
      case 1:
        return model_.add("onnx.Sub", {x, mean(x)});
      case 2:
        return model_.add("multiply", {x, model_.random_constant(any_shape(60), 0.3, 1)});
      case 3:
        return moved(x);
      case 4:
        return model_.add("onnx.Div", {x, near_one({1, stream_rows, 1})});
      case 5:
        if (model_.random_index(20) == 0) return model_.add("onnx.Relu", {x});
        return model_.add("multiply", {near_one({1, 1}), x});
      case 6:
        return product(x, stream_width);
      default:
        return model_.add("add", {x, block(normed(x))});
    }
  }

  Value normed(Value x) {
    const std::optional<Shape> shift = coin() ? std::optional(any_shape(30)) : std::nullopt;
    const Shape scale = any_shape(30);
    if (coin()) return norm_apart(x, scale, shift);
    return shift ? norm(x, "onnx.LayerNormalization", scale, shift)
                 : norm(x, "onnx.RMSNormalization", scale, shift);
  }

  Value block(Value x) {
    if (coin()) return coin() ? product(x, stream_width) : gemm(x, stream_width);
    const Value up = model_.add("onnx.Tanh", {coin() ? biased(product(x, 16)) : gemm(x, 16)});
    return coin() ? biased(product(up, stream_width)) : gemm(up, stream_width);
  }

  Value biased(Value x) {
    return model_.add("add", {x, model_.random_constant(coin() ? Shape{16} : Shape{1, 1, 16})});
  }

  Graph finished(Value x) {
    model_.graph.add_output("out", product(normed(x), 3));
    return std::move(model_.graph);
  }

 private:
  bool coin() { return model_.random_index(2) == 0; }
  Value near_one(const Shape& shape) { return model_.random_constant(shape, 0.3, 1); }

  // One number a channel as a rule; once in `rarely`, another that broadcasts.
  Shape any_shape(std::int64_t rarely) {
    static const std::array usual{Shape{stream_width}, Shape{1, stream_width},
                                  Shape{1, 1, stream_width}};
    static const std::array rare{Shape{stream_rows, stream_width}, Shape{stream_rows, 1}, Shape{1},
                                 Shape{1, stream_rows, 1}, Shape::scalar()};
    const auto any = [&](const auto& of) {
      return of[static_cast<std::size_t>(
          model_.random_index(static_cast<std::int64_t>(of.size())))];
    };
    return model_.random_index(rarely) == 0 ? any(rare) : any(usual);
  }

  ModelBuilder model_;
  Value start_;
};

/// Whether something was rotated. Outputs keep their shapes and numbers.
bool rotates_well(Graph graph) {
  REQUIRE(infer_shapes(graph));
  Graph wide = in_double(graph);
  const Reals exact = outputs_of(wide, row_numbers());
  const Reals before = outputs_of(graph, row_numbers());
  const Shape shape = graph.type(output_values(graph).front()).shape;
  const RotationReport report = rotate_streams(graph).value();
  CHECK(report.rotated.size() + report.left.size() > 0);
  CHECK(relative_error(before, outputs_of(graph, row_numbers())) < 2e-5);
  REQUIRE(rotate_streams(wide));
  CHECK(relative_error(exact, outputs_of(wide, row_numbers())) < 1e-11);
  REQUIRE(infer_shapes(graph));
  CHECK(graph.type(output_values(graph).front()).shape == shape);
  return report.left.empty();
}

}  // namespace

TEST_CASE("scales and shifts of all shapes that broadcast, in norms whole and apart") {
  struct Form {
    Shape shape;
    bool is_channels;
  };
  const std::vector<Form> forms{{Shape::scalar(), true},
                                {{1}, true},
                                {{stream_width}, true},
                                {{1, stream_width}, true},
                                {{1, 1, stream_width}, true},
                                {{1, 1, 1}, true},
                                {{stream_rows, stream_width}, false},
                                {{1, stream_rows, stream_width}, false},
                                {{stream_rows, 1}, false}};
  const auto rotates = [](const std::string& kind, const Shape& scale,
                          const std::optional<Shape>& shift) {
    CAPTURE(kind);
    CAPTURE(to_string(scale));
    CAPTURE(shift ? to_string(*shift) : std::string("none"));
    StreamBuilder builder(5);
    const Value x = kind.empty() ? builder.norm_apart(builder.start(), scale, shift)
                                 : builder.norm(builder.start(), kind, scale, shift);
    builder.model().graph.add_output("out", builder.product(x, 3));
    return rotates_well(std::move(builder.model().graph));
  };
  for (const Form& scale : forms) {
    CHECK(rotates("onnx.RMSNormalization", scale.shape, std::nullopt) == scale.is_channels);
    // Taken apart, a factor of rows is none of the norm.
    const bool is_factor_of_rows = scale.shape == Shape{stream_rows, 1};
    CHECK(rotates("", scale.shape, std::nullopt) == (scale.is_channels || is_factor_of_rows));
    for (const Form& shift : forms) {
      CHECK(rotates("onnx.LayerNormalization", scale.shape, shift.shape) ==
            (scale.is_channels && shift.is_channels));
      if (scale.shape != Shape{stream_width}) {
        rotates("", scale.shape, shift.shape);
        continue;
      }
      CHECK(rotates("", scale.shape, shift.shape) == shift.is_channels);
    }
  }
  // Of more axes than the data, which the result has then, too.
  CHECK(!rotates("", {1, 1, 1, stream_width}, std::nullopt));
  CHECK(!rotates("", {stream_width}, Shape{1, 1, 1, stream_width}));
}

TEST_CASE("random streams compute the same, rotated or left") {
  int rotated = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    StreamBuilder builder(seed);
    Value x = builder.start();
    for (unsigned i = 0; i < 2 + seed % 7; ++i) x = builder.step(x);
    rotated += rotates_well(builder.finished(x)) ? 1 : 0;
  }
  CHECK(rotated > 60);
  CHECK(rotated < 290);
}

TEST_CASE("scales that are tiny or zero beside the shift lose nothing") {
  for (const double tiny : {1e-7, 1e-20, 0.0}) {
    for (const bool is_apart : {false, true}) {
      StreamBuilder builder(4);
      const Value x = is_apart
                          ? builder.norm_apart(builder.start(), {stream_width}, {{stream_width}})
                          : builder.norm(builder.start(), "onnx.LayerNormalization", {stream_width},
                                         {{stream_width}});
      Graph& graph = builder.model().graph;
      const NodeId maker = is_apart ? graph.operands(x.node)[1].node : x.node;
      const NodeId scale = graph.operands(maker)[1].node;
      std::vector<float> factors = contents(graph, {scale});
      factors[5] = static_cast<float>(tiny);
      graph.set_constant(scale, build::floats({stream_width}, factors));
      graph.add_output("out", builder.product(x, 3));
      CHECK(rotates_well(graph));
    }
  }
}
