// Positions and masks: what is computed from integers alone stays float, and so does what Softmax
// reads behind a mask.
#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "build.hpp"
#include "quantized_types.hpp"

using namespace quadrant;
using quadrant::test::Model;
using quadrant::test::one_by_one;
using quadrant::test::planned;

namespace {

constexpr std::string_view is_position =
    "activation i8 was asked for: it is computed from integers alone: a position or a mask, which "
    "has to be exact";
constexpr std::int64_t to_float = 1;  // as ONNX numbers types
constexpr std::int64_t rows = 4;

using MakeValue = std::function<Value(Model&)>;

Value integers_of(Model& model, std::string kind, std::vector<Value> operands, const Shape& shape,
                  std::string name, ElementType element = ElementType::int64,
                  Attributes attributes = {}) {
  return build::add(model.graph, std::move(kind), std::move(operands),
                    build::tensor(element, shape), std::move(attributes), std::move(name));
}

Value number(Model& model, std::int64_t value) {
  const std::vector<std::int64_t> values{value};
  return model.graph.add_constant(
      "number", Constant::from_values<std::int64_t>(ElementType::int64, Shape::scalar(), values));
}

Value positions(Model& model) {
  return integers_of(model, "onnx.Range", {number(model, 0), number(model, rows), number(model, 1)},
                     {rows}, "indices");
}

Value cast(Model& model, Value integers) {
  return model.add("cast", {integers}, "real", {{"to", to_float}});
}

// y = (x + p) w: the sum asks for codes of p.
Model sum_with(const MakeValue& make) {
  Model model;
  const Value x = model.input("x", {rows, rows});
  const Value product = model.add("matmul", {x, model.weight("v", {rows, rows})}, "product");
  const Value sum = model.add("add", {product, make(model)}, "sum");
  model.output(model.add("matmul", {sum, model.weight("w", {rows, 2})}, "y"));
  return model;
}

std::shared_ptr<StatisticsTable> statistics_of_first_results(const Model& model) {
  auto table = std::make_shared<StatisticsTable>();
  for (std::uint32_t i = 0; i < model.graph.index_bound(); ++i) {
    const NodeId node = model.graph.node_at(i);
    if (!node.is_valid() || model.graph.result_count(node) == 0) continue;
    table->values[std::string(model.graph.value_name({node}))].histogram.add(
        std::vector<float>{-1, 3});
  }
  return table;
}

QuantizeResult quantized_as_seen(const Model& model) {
  return test::quantized(model.graph, {.statistics = statistics_of_first_results(model)},
                         test::by_operands());
}

}  // namespace

TEST_CASE("static_affine: what is computed from integers alone stays float") {
  struct Case {
    std::string_view what;
    MakeValue make;
  };
  const std::vector<Case> cases{
      {"positions, cast", [](Model& model) { return cast(model, positions(model)); }},
      {"a size",
       [](Model& model) {
         const Value size = integers_of(model, "onnx.Shape", {model.graph.find_value("x")}, {1},
                                        "size", ElementType::int64, {{"start", std::int64_t{1}}});
         return cast(model, size);
       }},
      {"positions, scaled",
       [](Model& model) {
         const Value scale = model.constant("scale", {1}, {0.25F});
         return model.add("multiply", {cast(model, positions(model)), scale}, "scaled");
       }},
      {"the sine of positions",
       [](Model& model) { return model.add("onnx.Sin", {cast(model, positions(model))}, "sine"); }},
      {"a mask, chosen",
       [](Model& model) {
         const Value bits = integers_of(model, "onnx.Less", {positions(model), number(model, 2)},
                                        {rows}, "bits", ElementType::boolean);
         return model.add("onnx.Where",
                          {bits, model.constant("zero", Shape::scalar(), {0}),
                           model.constant("low", Shape::scalar(), {-10000})},
                          "mask");
       }},
      {"a mask that is given",
       [](Model& model) {
         const Value bits =
             model.graph.add_input("bits", build::tensor(ElementType::boolean, {rows}));
         return model.add("onnx.Where",
                          {bits, model.constant("zero", Shape::scalar(), {0}),
                           model.constant("low", Shape::scalar(), {-10000})},
                          "mask");
       }},
      {"a mask, inverted and multiplied",
       [](Model& model) {
         const Value given =
             model.graph.add_input("given", build::tensor(ElementType::int64, {rows}));
         const Value one = model.constant("one", Shape::scalar(), {1});
         const Value inverse = model.add("onnx.Sub", {one, cast(model, given)}, "inverse");
         return model.add("multiply", {inverse, model.constant("low", {1}, {-10000})}, "mask");
       }},
  };
  for (const Case& each : cases) {
    CAPTURE(each.what);
    std::string made;
    const Model model = sum_with([&](Model& grown) {
      const Value value = each.make(grown);
      made = std::string(grown.graph.value_name(value));
      return value;
    });
    const QuantizeResult result = quantized_as_seen(model);
    CHECK(planned(result, made) == "float");
    const std::string why = test::reason(model.graph, result, made);
    const Value value = model.graph.find_value(made);
    const auto explained =
        explain(model.graph, result.analysis.registry, result.analysis, value.node);
    CAPTURE(why);
    // Where the scheme knows the operation it says why; a value of another has no method.
    const bool has_method = result.analysis.registry.find(model.graph.kind(value.node)) != nullptr;
    if (has_method) {
      CHECK(why == is_position);
    } else {
      CHECK(why.find("has no method for") != std::string::npos);
    }
    // The sum, which would read codes of it, is no sum of codes then.
    CHECK(planned(result, "sum") == "float");
    CHECK(planned(result, "v") == "weight i8 axis=1");
  }
}

TEST_CASE("static_affine: what depends on a real input besides integers is quantized") {
  const std::vector<MakeValue> cases{
      [](Model& model) { return model.add("onnx.Sin", {model.graph.find_value("x")}, "p"); },
      [](Model& model) {
        const Value position = cast(model, positions(model));
        return model.add("multiply", {model.graph.find_value("x"), position}, "p");
      },
      // A vector of a table is no longer the number that it was looked up by.
      [](Model& model) {
        return model.add("gather", {model.weight("table", {9, rows}), positions(model)}, "p",
                         {{"axis", std::int64_t{0}}});
      },
      [](Model& model) {
        const Value given =
            model.graph.add_input("given", build::tensor(ElementType::int64, {rows}));
        return model.add("gather", {model.weight("table", {9, rows}), given}, "p",
                         {{"axis", std::int64_t{0}}});
      },
      // Constants are no integers.
      [](Model& model) { return model.weight("p", {rows}); },
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    CAPTURE(i);
    const Model model = sum_with(cases[i]);
    const QuantizeResult result = quantized_as_seen(model);
    CHECK(planned(result, "sum") == "activation i8");
    CHECK(test::type_of_codes(result.graph, "p") != nullptr);
  }
}

TEST_CASE("static_affine: a position is known as one behind a few operations, not behind many") {
  const auto behind = [](int operations) {
    return sum_with([operations](Model& model) {
      Value value = cast(model, positions(model));
      for (int i = 0; i < operations; ++i) {
        value = model.add("onnx.Sin", {value}, "p");
      }
      return model.add("identity", {value}, "last");
    });
  };
  CHECK(planned(quantized_as_seen(behind(4)), "sum") == "float");
  CHECK(planned(quantized_as_seen(behind(20)), "sum") == "float");
  // So that a chain of them is not walked by each of its values.
  CHECK(planned(quantized_as_seen(behind(40)), "sum") == "activation i8");
}

TEST_CASE("static_affine: scores with a mask of -10000 stay float in front of Softmax") {
  struct Case {
    float low;
    bool is_quantized;
  };
  // A step of 8 bits is bearable up to half: to a range of 128.
  for (const auto& [low, is_quantized] :
       {Case{-1e9F, false}, Case{-10000, false}, Case{-129, false}, Case{-100, true}}) {
    CAPTURE(low);
    Model model;
    const Value x = model.input("x", {rows, rows});
    const Value scores = model.add("matmul", {x, model.weight("w", {rows, rows})}, "scores");
    const Value mask = model.constant("mask", {rows}, {0, 0, low, 0});
    const Value masked = model.add("add", {scores, mask}, "masked");
    const Value shares = model.add("onnx.Softmax", {masked}, "shares");
    model.output(model.add("matmul", {shares, model.weight("v", {rows, 2})}, "y"));
    const QuantizeResult result =
        test::quantized(model.graph,
                        {.statistics = test::statistics_of({{"x", -1, 1},
                                                            {"scores", -3, 3},
                                                            {"masked", low, 0},
                                                            {"shares", 0, 1},
                                                            {"y", -1, 1}})},
                        test::by_operands());
    CHECK((planned(result, "masked") == "activation i8") == is_quantized);
    CHECK((planned(result, "mask") == "activation i8") == is_quantized);
    if (is_quantized) continue;
    CHECK(test::reason(model.graph, result, "masked") ==
          "activation i8 was asked for: Softmax reads it, and its range is so wide that a step "
          "would change exponentials a lot");
    // Both products are sums of codes all the same.
    CHECK(planned(result, "w") == "weight i8 axis=1");
    CHECK(planned(result, "v") == "weight i8 axis=1");
  }
}

TEST_CASE("static_affine: steps of 16 bits are fine enough for a mask of -10000, not of -1e9") {
  for (const float low : {-10000.0F, -1e9F}) {
    CAPTURE(low);
    Model model;
    const Value x = model.input("x", {rows, rows});
    const Value mask = model.constant("mask", {rows}, {0, 0, low, 0});
    const Value masked = model.add("add", {x, mask}, "masked");
    model.output(model.add("onnx.Softmax", {masked}, "shares"));
    StaticAffineOptions options;
    options.activations.bits = 16;
    options.quantized_outputs = true;
    options.statistics = test::statistics_of({{"x", -1, 1}, {"masked", low, 0}, {"shares", 0, 1}});
    const QuantizeResult result = test::quantized(model.graph, options, test::by_operands());
    CHECK((test::type_of_codes(result.graph, "masked") != nullptr) == (low > -1e5F));
  }
}

TEST_CASE("static_affine: integers of 8 bits are no positions, and what a layer makes is none") {
  const auto plan_of = [](ElementType element) {
    Model model;
    const Value picture = model.graph.add_input("picture", build::tensor(element, {1, 3, 4, 4}));
    const Value real = model.add("cast", {picture}, "real", {{"to", std::int64_t{1}}});
    const Value scaled =
        model.add("multiply", {real, model.constant("s", Shape::scalar(), {1 / 255.0F})}, "x");
    model.output(
        one_by_one(model, model.add("onnx.Relu", {one_by_one(model, scaled, "a")}, "relu"), "b"));
    StatisticsTable table;
    for (const char* const name : {"real", "x", "a", "relu", "b"}) {
      table.values[name].histogram.add(std::vector<float>{-1, 1});
    }
    return test::quantized_by_operands(
        model, {.statistics = std::make_shared<StatisticsTable>(std::move(table))});
  };
  CHECK(test::planned(plan_of(ElementType::uint8), "a.w") == "weight i8 axis=0");
  const QuantizeResult wide = plan_of(ElementType::int32);
  CHECK(test::planned(wide, "b.w") == "weight i8 axis=0");
}
