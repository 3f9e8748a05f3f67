// What the command does, by calls alone: `cli/` adds words and tables.
#include "quadrant/pipeline/run.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "model_text.hpp"
#include "quadrant/quadrant.hpp"
#include "quadrant/recipe/encodings.hpp"
#include "temporary_folder.hpp"

using namespace quadrant;
using test::value_of;

namespace {

const std::string model_path = QUADRANT_SOURCE_DIR "/examples/models/digits_cnn.onnx";

Graph digits() { return value_of(read_model(model_path)); }

std::unique_ptr<DataSet> samples_of(const Graph& graph, std::uint64_t seed = 1) {
  return random_data_set(graph, 8, seed);
}

NamedRecipe recipe_of(const std::string& preset) { return value_of(recipe_of_preset(preset)); }

// Of the worst output, in dB, on other samples than those that were calibrated on.
double nearness(const Graph& model, const Graph& quantized) {
  const auto data = samples_of(model, 7);
  const Comparison compared = value_of(compare(model, quantized, Interpreter(), *data));
  double worst = 1e9;
  for (const ValueAgreement& output : compared.outputs) {
    worst = std::min(worst, output.agreement.sqnr_db());
  }
  return worst;
}

struct Heard final : Sink {
  void report(const Diagnostic& diagnostic) override { all.push_back(diagnostic.message); }
  [[nodiscard]] bool has(std::string_view part) const {
    return std::ranges::any_of(
        all, [&](const std::string& text) { return text.find(part) != std::string::npos; });
  }
  std::vector<std::string> all;
};

}  // namespace

TEST_CASE("quantize: a preset, without data and with samples that the caller lends") {
  const Graph model = digits();
  const auto samples = samples_of(model);
  const RunResult plain = value_of(run({.recipe = recipe_of("int8")}, model));
  CHECK(plain.quantized.analysis.plan.values.size() == 12);
  CHECK(plain.prepared.rounding == nullptr);
  CHECK(nearness(model, plain.quantized.graph) > 25);

  const RunResult rounded = value_of(
      run({.recipe = recipe_of("int4-block32"), .inputs = {.samples = samples.get()}}, model));
  REQUIRE(rounded.prepared.rounding != nullptr);
  CHECK(rounded.prepared.rounding->weights.size() == 12);

  const RunResult whole = value_of(
      run({.recipe = recipe_of("int8-static"), .inputs = {.samples = samples.get()}}, model));
  CHECK(whole.quantized.analysis.plan.values.size() > 12);
  CHECK(nearness(model, whole.quantized.graph) > 15);
}

TEST_CASE("plan, diff, quantize by a plan") {
  const Graph model = digits();
  CheckedRun checked = value_of(check_run({.recipe = recipe_of("int8"), .model = model_path}));
  PreparedRun prepared = value_of(prepare(std::move(checked), model));
  const Analysis analysis = value_of(prepared.decide());
  const test::TemporaryFolder folder;
  const Plan saved = value_of(read_plan(folder.write("plan.json", print_plan(analysis.plan))));
  CHECK(saved.values.size() == analysis.plan.values.size());
  const QuantizeResult followed = value_of(prepared.quantize({.plan = &saved}));
  CHECK(print_plan(followed.analysis.plan) == print_plan(analysis.plan));
}

TEST_CASE("explain: include and exclude") {
  const Graph model = digits();
  NamedRecipe recipe = recipe_of("int8");
  recipe.recipe.exclude = {"^classifier"};
  PreparedRun prepared = value_of(prepare(value_of(check_run({.recipe = recipe})), model));
  const Analysis analysis = value_of(prepared.decide());
  const auto all = explain_all(prepared.graph, prepared.registry, analysis);
  CHECK(std::ranges::any_of(all, [](const Explanation& each) {
    return each.reason.find("excluded by the pattern '^classifier'") != std::string::npos;
  }));

  recipe.recipe.exclude = {"no such name"};
  recipe.label = "recipe.json";
  const auto refused = prepare(value_of(check_run({.recipe = recipe})), model);
  REQUIRE(!refused);
  CHECK(refused.error().code == ErrorCode::usage);
  CHECK(refused.error().place.file == "recipe.json");
  CHECK(refused.error().message.starts_with("$.exclude: "));
  const auto own = prepare(value_of(check_run({.recipe = recipe, .own_excludes = 1})), model);
  REQUIRE(!own);
  CHECK(own.error().message.starts_with("exclude: "));
}

TEST_CASE("calibrate, merge, and static quantization from saved statistics") {
  const Graph model = digits();
  const auto first = samples_of(model, 1);
  const auto second = samples_of(model, 2);
  const Interpreter interpreter;
  StatisticsTable table = value_of(calibrate(model, interpreter, *first, {}));
  table.merge(value_of(calibrate(model, interpreter, *second, {})));
  CHECK(table.samples == 16);
  const test::TemporaryFolder folder;
  const std::string path = folder.write("statistics.json", print_statistics(table));
  const RunResult done =
      value_of(run({.recipe = recipe_of("int8-static"), .inputs = {.calibration = path}}, model));
  CHECK(nearness(model, done.quantized.graph) > 15);

  NamedRecipe corrected = recipe_of("int8-static");
  corrected.recipe.model["optimize"] = std::vector<std::string>{"bc"};
  const auto refused = check_run({.recipe = corrected, .inputs = {.calibration = path}});
  REQUIRE(!refused);
  CHECK(refused.error().place.file == path);
}

TEST_CASE("static quantization without data says what is missing, and what would mend it") {
  const auto refused = run({.recipe = recipe_of("int8-static")}, digits());
  REQUIRE(!refused);
  CHECK(refused.error().code == ErrorCode::usage);
  CHECK(refused.error().remedy == Remedy::give_samples);
}

TEST_CASE("encodings: of a quantized model, prescribed for another") {
  const Graph model = digits();
  const auto samples = samples_of(model);
  const RunResult first = value_of(
      run({.recipe = recipe_of("int8-static"), .inputs = {.samples = samples.get()}}, model));
  const EncodingsFile file = value_of(encodings_of(first.quantized.graph, nullptr));
  const test::TemporaryFolder folder;
  const std::string path = folder.write(
      "model.encodings", value_of(print_encodings(file, EncodingsVersion::v1_0_0, nullptr)));
  const RunResult again =
      value_of(run({.recipe = recipe_of("int8-static"), .inputs = {.encodings = path}}, model));
  CHECK(again.quantized.analysis.plan.values.size() == first.quantized.analysis.plan.values.size());
}

TEST_CASE("transform: the float model computes the same") {
  Graph graph = digits();
  const OptionValues cle{{"optimize", std::vector<std::string>{"cle"}}};
  REQUIRE(transform_model(graph, cle, model_path));
  CHECK(nearness(digits(), graph) > 100);
  const OptionValues both{{"optimize", std::vector<std::string>{"bc", "bc-analytic"}}};
  CHECK(!check_transform(both));
}

TEST_CASE("a budget: of the recipe, and one that is met by outputs") {
  const Graph model = digits();
  NamedRecipe mixed = recipe_of("mixed-4.5bit");
  mixed.recipe.target_bits = 6;
  const RunResult bits = value_of(run({.recipe = mixed}, model));
  CHECK(bits.quantized.analysis.plan.values.size() == 12);

  const auto samples = samples_of(model);
  NamedRecipe recipe{.recipe = {.schemes = value_of(weight_variants())}, .label = "variants"};
  PreparedRun prepared = value_of(prepare(value_of(check_run({.recipe = recipe})), model));
  const Budget budget{.error = 1e-3};
  const BudgetDecision decided =
      value_of(decide_by_budget(budget, {.data = samples.get(), .path = "out.onnx"}, prepared));
  CHECK(decided.outcome.figures.output_error <= 1e-3);
  CHECK(decided.subject->study().frontier().size() > 2);  // what `pareto` shows
  CHECK(is_of_variants(decided.outcome.plan, recipe.recipe.schemes));
  const QuantizeResult result = value_of(prepared.quantize({.plan = &decided.outcome.plan}));
  CHECK(nearness(model, result.graph) > 20);

  const auto refused = check_budget_recipe(recipe_of("int8-static").recipe);
  REQUIRE(!refused);
  CHECK(refused.error().code == ErrorCode::usage);
}

TEST_CASE("optimize: stops where it is good enough, and tries all where it is not") {
  const Graph model = digits();
  const auto samples = samples_of(model);
  const RunRequest request{.recipe = recipe_of("int8-static"),
                           .inputs = {.samples = samples.get()}};
  const Optimized easy = value_of(optimize(request, model, {.accept_sqnr_db = 5}));
  CHECK(easy.attempts.size() == 1);
  CHECK(easy.is_good_enough);
  const Optimized hard = value_of(optimize(request, model, {.accept_sqnr_db = 200}));
  CHECK(hard.attempts.size() > 4);
  CHECK(!hard.is_good_enough);
  const OptimizeFigure& best = hard.attempts[hard.best].judged;
  CHECK(!worse_than(best.worst(), hard.attempts.front().judged.worst()));
}

TEST_CASE("sensitivity: each weight alone, resumed from a cache") {
  const Graph model = digits();
  const auto samples = samples_of(model);
  PreparedRun prepared =
      value_of(prepare(value_of(check_run({.recipe = recipe_of("int8")})), model));
  const test::TemporaryFolder folder;
  const SensitivityStudyOptions options{.cache = folder / "cache.json"};
  const Interpreter interpreter;
  const auto study = value_of(study_sensitivity(prepared, interpreter, *samples, options));
  REQUIRE(study.size() == 12);
  const auto read = value_of(read_sensitivity(options.cache, prepared.graph));
  REQUIRE(read.size() == 12);
  CHECK(read.front().layer == study.front().layer);
  const auto again = value_of(study_sensitivity(prepared, interpreter, *samples, options));
  CHECK(std::ranges::all_of(again, &LayerSensitivity::is_cached));
}

TEST_CASE("convert: for a format, for kernels, with codes at the borders") {
  const Graph model = digits();
  const auto samples = samples_of(model);
  const RunResult done = value_of(
      run({.recipe = recipe_of("int8-static"), .inputs = {.samples = samples.get()}}, model));
  const LoweredModel lowered = value_of(lower_model(
      done.quantized.graph,
      {.format = ModelFormat::tflite, .target = KernelsTarget::tflite, .coded_borders = true}));
  REQUIRE(lowered.report);
  CHECK(lowered.report->on_codes > 0);
  CHECK(lowered.graph.type({lowered.graph.inputs()[0]}).is_quantized());
  const test::TemporaryFolder folder;
  CHECK(value_of(write_model(lowered.graph, folder / "m.tflite")).bytes > 0);

  const auto unknown = destination_of("m.onnx", "tflight");
  REQUIRE(!unknown);
  CHECK(unknown.error().message.find("tflite") != std::string::npos);
  const auto refused = lower_model(done.quantized.graph, {.target = KernelsTarget::openvino_cpu});
  REQUIRE(!refused);
  CHECK(refused.error().code == ErrorCode::usage);
}

TEST_CASE("explain for kernels: what they could compute on codes") {
  const Graph model = digits();
  const auto samples = samples_of(model);
  const RunResult done = value_of(
      run({.recipe = recipe_of("int8-static"), .inputs = {.samples = samples.get()}}, model));
  PreparedRun prepared =
      value_of(prepare_for_target(KernelsTarget::tflite, {.recipe = {}}, done.quantized.graph));
  CHECK(value_of(prepared.decide()).plan.values.size() > 0);
}

TEST_CASE("the report: a page of what was decided") {
  const Graph model = digits();
  const RunResult done = value_of(run({.recipe = recipe_of("int8")}, model));
  const ReportSubject subject{.graph = done.prepared.graph,
                              .registry = done.prepared.registry,
                              .analysis = done.quantized.analysis,
                              .quantized = &done.quantized.graph,
                              .model = "digits_cnn.onnx",
                              .gain_unit = std::string(done.prepared.gains->unit()),
                              .sink = nullptr};
  const std::string page = print_html(value_of(gather_report(subject)));
  CHECK(page.find("digits_cnn.onnx") != std::string::npos);
}

TEST_CASE("a run that is asked to stop ends as cancelled, at any sample") {
  const Graph model = digits();
  const auto samples = samples_of(model);

  struct StopAt final : Sink {
    StopAt(std::stop_source& source, std::uint64_t at) : source(source), at(at) {}
    void progress(std::string_view, std::uint64_t done, std::uint64_t) override {
      if (done >= at) source.request_stop();
    }
    std::stop_source& source;
    std::uint64_t at;
  };
  for (const std::uint64_t at : {0U, 1U, 4U}) {
    CAPTURE(at);
    std::stop_source source;
    StopAt sink(source, at);
    if (at == 0) source.request_stop();
    const auto stopped =
        run({.recipe = recipe_of("int8-static"), .inputs = {.samples = samples.get()}}, model,
            {.sink = &sink, .stop = source.get_token()});
    REQUIRE(!stopped);
    CHECK(stopped.error().code == ErrorCode::cancelled);
  }
}

TEST_CASE("what a run has to say reaches its sink, with the model's name") {
  const Graph model = digits();
  const auto samples = samples_of(model);
  Heard heard;
  REQUIRE(run({.recipe = recipe_of("int4-block32"),
               .inputs = {.samples = samples.get()},
               .model = model_path},
              model, {.sink = &heard}));
  CHECK(heard.has("rounded by the layers' inputs"));
}

TEST_CASE("a run that is followed again is as the first time") {
  const Graph model = digits();
  const auto samples = samples_of(model);
  NamedRecipe recipe = recipe_of("int8-static");
  recipe.recipe.model["optimize"] = std::vector<std::string>{"cle", "bc-analytic"};
  PreparedRun prepared = value_of(prepare(
      value_of(check_run({.recipe = recipe, .inputs = {.samples = samples.get()}})), model));
  const Analysis analysis = value_of(prepared.decide());
  const std::string first =
      print_graph(value_of(prepared.quantize({.plan = &analysis.plan})).graph);
  CHECK(print_graph(value_of(prepared.quantize({.plan = &analysis.plan})).graph) == first);
  const RunResult whole =
      value_of(run({.recipe = recipe, .inputs = {.samples = samples.get()}}, model));
  CHECK(nearness(model, whole.quantized.graph) ==
        nearness(model, value_of(prepared.quantize()).graph));
}

TEST_CASE("each step stops once that is asked for") {
  const Graph model = digits();
  const auto samples = samples_of(model);
  std::stop_source source;
  const RunContext context{.stop = source.get_token()};
  const NamedRecipe recipe{.recipe = {.schemes = value_of(weight_variants())}, .label = "variants"};
  PreparedRun prepared = value_of(prepare(value_of(check_run({.recipe = recipe})), model, context));
  source.request_stop();
  const auto is_cancelled = [](const auto& result) {
    REQUIRE(!result);
    CHECK(result.error().code == ErrorCode::cancelled);
  };
  is_cancelled(read_model(model_path, context));
  is_cancelled(prepared.decide());
  is_cancelled(prepared.quantize());
  is_cancelled(decide_by_budget({.bits = 6}, {.data = samples.get()}, prepared));
  is_cancelled(write_model(model, "never.onnx", {}, context));
  Graph graph = model;
  is_cancelled(transform_model(graph, {}, model_path, context));
  is_cancelled(lower_model(model, {}, {}, context));
}

TEST_CASE("requests that contradict themselves are refused before a model is needed") {
  const auto refuses = [](const RunRequest& request, std::string_view part) {
    CAPTURE(part);
    const auto checked = check_run(request);
    REQUIRE(!checked);
    CHECK(checked.error().code == ErrorCode::usage);
    CHECK(checked.error().message.find(part) != std::string::npos);
  };
  refuses({.recipe = {.recipe = {}, .label = "empty"}}, "no scheme");
  NamedRecipe recipe = recipe_of("int8-static");
  refuses({.recipe = recipe, .as_matmul_nbits = true}, "MatMulNBits");
  recipe.recipe.exclude = {"("};
  refuses({.recipe = recipe}, "exclude: ");
  recipe = recipe_of("int8");
  recipe.recipe.policy = "best";
  refuses({.recipe = recipe}, "policy: there is no 'best'");
  recipe = recipe_of("int8");
  recipe.recipe.gain = "luck";
  refuses({.recipe = recipe}, "gain: there is no 'luck'");
  recipe = recipe_of("int8");
  recipe.recipe.schemes.push_back({"other", "static_afine", {}});
  refuses({.recipe = recipe}, "static_affine");
  recipe = recipe_of("int8");
  recipe.recipe.model["optimise"] = std::vector<std::string>{"cle"};
  refuses({.recipe = recipe}, "optimise");
  refuses({.recipe = recipe_of("int8"), .inputs = {.encodings = "nowhere"}}, "encodings");
  recipe = recipe_of("int8");
  recipe.recipe.hardware = "no such machine";
  refuses({.recipe = recipe}, "no such machine");
  recipe = recipe_of("int8");
  recipe.recipe.model["optimize"] = std::vector<std::string>{"bc"};
  refuses({.recipe = recipe}, "samples");
}
