// Schemes that are not the library's, in runs: what their entries ask for, they get.
#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "model_text.hpp"
#include "own_schemes.hpp"
#include "quadrant/quadrant.hpp"

using namespace quadrant;
using test::value_of;

namespace {

// Two products, the first of which has a range to calibrate.
Graph two_products() {
  return value_of(parse_graph(R"(graph {}
%x: tensor<2x4xf32> = input()
%w: tensor<4x4xf32> = constant() [1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8]
%v: tensor<4x2xf32> = constant() [1, -2, 3, -4, 5, -6, 7, -8]
%h: tensor<2x4xf32> = matmul(%x, %w)
%r: tensor<2x4xf32> = onnx.Relu(%h)
%y: tensor<2x2xf32> = matmul(%r, %v)
output(%y)
)"));
}

Expected<std::vector<SchemeChoice>> stored_variants() {
  return std::vector<SchemeChoice>{{"stored", "stored", {}}};
}

struct Own {
  Own() { test::add_own_schemes(schemes, stored_variants); }

  [[nodiscard]] Expected<RunResult> run(const std::string& scheme, const DataSet* samples) const {
    return quadrant::run(
        {.recipe = {.recipe = {.schemes = {{scheme, scheme, {}}}}}, .inputs = {.samples = samples}},
        two_products(), context());
  }
  [[nodiscard]] RunContext context() const { return {.schemes = &schemes}; }

  SchemeTable schemes;
};

}  // namespace

TEST_CASE("statistics are gathered for a scheme that needs them, as for static_affine") {
  const Own own;
  const auto samples = random_data_set(two_products(), 8, 1);
  const RunResult done = value_of(own.run("ranged", samples.get()));
  const RunResult known = value_of(run(
      {.recipe = value_of(recipe_of_preset("int8-static")), .inputs = {.samples = samples.get()}},
      two_products()));
  CHECK(done.quantized.analysis.plan.values.size() > 3);
  CHECK(value_of(print_model(done.quantized.graph)) ==
        value_of(print_model(known.quantized.graph)));

  const auto without = own.run("ranged", nullptr);
  REQUIRE_FALSE(without.has_value());
  CHECK(without.error().code == ErrorCode::usage);
  CHECK(without.error().remedy == Remedy::give_samples);
}

TEST_CASE("moments are gathered for a scheme that takes them, where there are samples") {
  const Own own;
  const auto samples = random_data_set(two_products(), 8, 1);
  const RunResult nearest = value_of(own.run("stored", nullptr));
  const RunResult rounded = value_of(own.run("stored", samples.get()));
  CHECK(rounded.prepared.weights.moments != nullptr);
  CHECK(nearest.prepared.weights.moments == nullptr);
  CHECK(nearest.quantized.analysis.plan.values.size() == 2);
}

TEST_CASE("samples that no scheme looks at are refused") {
  const Own own;
  const auto samples = random_data_set(two_products(), 8, 1);
  const auto refused = own.run("plain", samples.get());
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::usage);
  CHECK(value_of(own.run("plain", nullptr)).quantized.analysis.plan.values.size() == 2);
}

TEST_CASE("budgets take schemes that store weights, and no others") {
  const Own own;
  const auto variants = value_of(weight_variants("stored", own.schemes));
  CHECK(variants.size() == 1);
  CHECK_FALSE(weight_variants("plain", own.schemes).has_value());
  const Recipe plain{.schemes = {{"plain", "plain", {}}}};
  CHECK_FALSE(check_budget_recipe(plain, own.schemes).has_value());
  const Recipe recipe{.schemes = variants, .target_bits = 22};
  CHECK(check_budget_recipe(recipe, own.schemes).has_value());
  const RunResult done =
      value_of(run({.recipe = {.recipe = recipe}}, two_products(), own.context()));
  const Plan& plan = done.quantized.analysis.plan;
  REQUIRE(plan.schemes.size() == 1);
  CHECK(plan.schemes[0].name == "stored");
  CHECK_FALSE(plan.values.empty());
}

TEST_CASE("what knows the codes of the library's schemes alone is refused") {
  const Own own;
  const auto samples = random_data_set(two_products(), 8, 1);
  for (const OptionValues& model : {OptionValues{{"optimize", std::vector<std::string>{"migrate"}}},
                                    OptionValues{{"sequential", true}}}) {
    const Recipe recipe{.schemes = {{"stored", "stored", {}}}, .model = model};
    const auto refused = run({.recipe = {.recipe = recipe}, .inputs = {.samples = samples.get()}},
                             two_products(), own.context());
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code == ErrorCode::usage);
    CHECK(refused.error().message.find("other schemes") != std::string::npos);
  }
}

TEST_CASE("an effort rounds layer after layer where all codes are known, and elsewhere without") {
  const Own own;
  const auto samples = random_data_set(two_products(), 8, 1);
  for (const char* const scheme : {"weight_only", "stored"}) {
    const Recipe recipe{
        .schemes = {{"weight_only", "weight_only", {}}, {scheme + std::string("_"), scheme, {}}},
        .model = {{"effort", std::string("best")}}};
    const auto checked = check_run(
        {.recipe = {.recipe = recipe}, .inputs = {.samples = samples.get()}}, own.context());
    REQUIRE(checked.has_value());
    CHECK(checked->recipe.model.contains("sequential") == (scheme == std::string("weight_only")));
  }
}
