#include "quadrant/pipeline/optimize.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <memory>
#include <random>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "calibration/memory_data.hpp"
#include "model_text.hpp"
#include "pipeline/optimize_text.hpp"
#include "quadrant/quadrant.hpp"
#include "temporary_folder.hpp"
#include "transforms/models.hpp"

using namespace quadrant;
using test::ModelBuilder;
using test::Reals;
using test::value_of;

namespace {

// A model with its samples.
struct Case {
  Graph graph;
  std::unique_ptr<DataSet> samples;

  [[nodiscard]] RunRequest request(OptionValues options = {}) const {
    return {
        .recipe = {.recipe = {.schemes = {{"static_affine", "static_affine", std::move(options)}}},
                   .label = "static_affine"},
        .inputs = {.samples = samples.get()}};
  }
};

// Samples of one input, whose elements `draw` makes.
template <class Draw>
std::unique_ptr<DataSet> drawn(std::size_t count, const Shape& shape, Draw draw) {
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<float> values(static_cast<std::size_t>(*shape.element_count()));
    for (float& value : values) value = static_cast<float>(draw());
    samples.push_back(
        {{Tensor::from_values<float>(ElementType::float32, shape, std::span(values))}});
  }
  return std::make_unique<MemoryData>(std::move(samples));
}

// With shapes, by which is decided what is worth it.
Graph finished(ModelBuilder& model, Value output) {
  model.graph.add_output("out", output);
  REQUIRE(infer_shapes(model.graph));
  return std::move(model.graph);
}

Value input(ModelBuilder& model, const Shape& shape) {
  return model.graph.add_input("x", {ElementType::float32, shape});
}

// A convolution behind which Tanh levels what a few pixels are far out: a range that covers these
// leaves few codes for the others.
Case with_outliers(std::size_t count = 16) {
  const Shape shape{1, 2, 24, 24};
  ModelBuilder model(1, 0);
  const Value x = input(model, shape);
  const Value y = model.add("conv", {x, model.random_constant({4, 2, 3, 3}, 0.3)}, "y");
  const Value t = model.add("onnx.Tanh", {y}, "t");
  Graph graph = finished(model, model.add("conv", {t, model.random_constant({3, 4, 1, 1})}, "z"));
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<int> chance(0, 2000);
  return {std::move(graph),
          drawn(count, shape, [&] { return normal(random) * (chance(random) == 0 ? 60 : 1); })};
}

// The logarithm of a product whose results go over four decades: in eight bits, the small ones are
// zero.
Case with_logarithm() {
  const Shape shape{4, 32};
  ModelBuilder model(2, 0);
  const Value x = input(model, shape);
  Reals weights = model.random_reals(1024);
  for (double& weight : weights) weight = 0.2 + std::abs(weight);
  const Value p = model.add("matmul", {x, model.constant({32, 32}, weights, "w1")}, "p");
  const Value log = model.add("onnx.Log", {p}, "logarithm");
  Value y = log;
  for (int i = 0; i < 4; ++i) {
    const std::string name = std::to_string(i + 2);
    y = model.add("matmul", {y, model.constant({32, 32}, model.random_reals(1024), "w" + name)},
                  "y" + name);
  }
  Graph graph = finished(model, y);
  std::mt19937 random(6);
  std::uniform_real_distribution<double> exponent(-4, 0);
  double scale = 1;
  int at = 0;
  return {std::move(graph), drawn(32, shape, [&] {
            if (at++ % 32 == 0) scale = std::pow(10.0, exponent(random));
            return scale * std::uniform_real_distribution<double>(0.5, 1)(random);
          })};
}

// Layers of random sizes, with channels that differ.
Case layers(unsigned seed, std::size_t count = 16) {
  const Shape shape{1, 3, 10, 10};
  ModelBuilder model(seed, 1 + seed % 3);
  Value y = input(model, shape);
  std::int64_t channels = 3;
  for (unsigned i = 0; i < 2 + seed % 3; ++i) {
    const std::int64_t next = 4 + static_cast<std::int64_t>((seed + i) % 5);
    y = model.conv(y, {.inputs = channels, .outputs = next, .kernel = 3, .pad = 1});
    y = model.add(i % 2 == 0 ? "onnx.Relu" : "onnx.Tanh", {y});
    channels = next;
  }
  Graph graph = finished(model, model.conv(y, {.inputs = channels, .outputs = 4}, "last"));
  std::mt19937 random(seed + 100);
  std::normal_distribution<double> normal(0.3, 1);
  return {std::move(graph), drawn(count, shape, [&] { return normal(random); })};
}

Optimized optimized(const Case& of, const OptimizeOptions& options, OptionValues said = {}) {
  return value_of(optimize(of.request(std::move(said)), of.graph, options));
}

// The ONNX file of a model.
std::string file_of(const Graph& graph) {
  const test::TemporaryFolder folder;
  value_of(write_onnx(graph, folder / "m.onnx"));
  return folder.read("m.onnx");
}

// Counts how often one of others' samples is read.
class CountedData final : public DataSet {
 public:
  explicit CountedData(const DataSet& samples) : samples_(samples) {}
  [[nodiscard]] std::size_t size() const override { return samples_.size(); }
  [[nodiscard]] Expected<Sample> sample(std::size_t i) const override {
    ++read_;
    return samples_.sample(i);
  }
  [[nodiscard]] std::string name(std::size_t i) const override { return samples_.name(i); }
  [[nodiscard]] std::size_t read() const { return read_; }

 private:
  const DataSet& samples_;
  mutable std::size_t read_ = 0;
};

struct Notes final : Sink {
  void report(const Diagnostic& diagnostic) override { told += diagnostic.message; }
  std::string told;
};

void check_same(const OptimizeFigure& a, const OptimizeFigure& b) {
  CHECK(a.outputs == b.outputs);
  CHECK(a.before == b.before);
  CHECK(a.after == b.after);
}

// But for the seconds that it took.
void check_same(const Optimized& a, const Optimized& b) {
  CHECK(file_of(a.graph) == file_of(b.graph));
  CHECK(a.recipe == b.recipe);
  CHECK(a.best == b.best);
  CHECK(a.fitted == b.fitted);
  CHECK(a.is_share_too_small == b.is_share_too_small);
  REQUIRE(a.attempts.size() == b.attempts.size());
  for (std::size_t i = 0; i < a.attempts.size(); ++i) {
    const OptimizeAttempt& one = a.attempts[i];
    const OptimizeAttempt& other = b.attempts[i];
    CHECK(one.settings == other.settings);
    check_same(one.judged, other.judged);
    check_same(one.fitted, other.fitted);
    check_same(one.held_back.value_or(OptimizeFigure()),
               other.held_back.value_or(OptimizeFigure()));
    CHECK(one.weights == other.weights);
    CHECK(one.quantized == other.quantized);
    CHECK(one.is_float == other.is_float);
    CHECK(one.refusal == other.refusal);
  }
}

std::vector<Sample> chosen(const DataSet& samples, std::size_t turn) {
  std::vector<Sample> some;
  constexpr std::array turns{0U, 1U, 0U, 2U, 1U, 0U, 1U, 2U};  // as docs/optimize.md has them
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (turns[i % turns.size()] == turn) some.push_back(value_of(samples.sample(i)));
  }
  return some;
}

// In decibels over both halves, each by what a run made of the other, without the search.
double crossed(const Case& of, const Recipe& recipe) {
  double signal = 0;
  double noise = 0;
  for (const std::size_t half : {0U, 1U}) {
    const MemoryData fitted(chosen(*of.samples, half));
    const MemoryData judged(chosen(*of.samples, 1 - half));
    const RunResult made =
        value_of(run({.recipe = {.recipe = recipe}, .inputs = {.samples = &fitted}}, of.graph));
    const Comparison compared =
        value_of(compare(of.graph, made.quantized.graph, Interpreter(), judged));
    signal += compared.outputs[0].agreement.signal;
    noise += compared.outputs[0].agreement.noise;
  }
  return 10 * std::log10(signal / noise);
}

}  // namespace

TEST_CASE("optimize: what is good enough is what a run makes, after one attempt") {
  const Case of = layers(3);
  const Optimized done = optimized(of, {.accept_sqnr_db = -50});
  CHECK(done.is_good_enough);
  CHECK(done.attempts.size() == 1);
  CHECK(done.best == 0);
  CHECK(done.recipe == of.request().recipe.recipe);
  CHECK(file_of(done.graph) == file_of(value_of(run(of.request(), of.graph)).quantized.graph));
}

TEST_CASE("optimize: ranges without outliers, where these do not matter") {
  const Case of = with_outliers();
  const Optimized done = optimized(of, {.accept_sqnr_db = 200, .most_float = 0});
  const OptimizeSettings& found = done.attempts[done.best].settings;
  CHECK(found.options.contains("activation_encoding"));
  CHECK(crossed(of, done.recipe) > crossed(of, of.request().recipe.recipe) + 3);
  // Who says how ranges are found gets them so.
  const Optimized said = optimized(of, {.accept_sqnr_db = 200, .most_float = 0},
                                   {{"encoding", std::string("minmax")}});
  for (const OptimizeAttempt& attempt : said.attempts) CHECK(attempt.settings.options.empty());
}

TEST_CASE("optimize: floats in front of a logarithm, and nowhere else") {
  const Case of = with_logarithm();
  const Optimized done = optimized(of, {.accept_sqnr_db = 25});
  CHECK(done.is_good_enough);
  const auto& excluded = done.attempts[done.best].settings.excluded;
  REQUIRE(excluded.size() == 1);
  CHECK(excluded[0].name == "p");
  CHECK(excluded[0].reason == "in front of onnx.Log");
  CHECK(done.recipe.exclude == std::vector<std::string>{"^p$"});
  CHECK(crossed(of, of.request().recipe.recipe) < 15);
  CHECK(crossed(of, done.recipe) > 25);
  // Without permission it stays poor.
  const Optimized all = optimized(of, {.accept_sqnr_db = 25, .most_float = 0});
  CHECK(!all.is_good_enough);
  CHECK(all.attempts[all.best].settings.excluded.empty());
}

TEST_CASE("optimize: the fewest products in float that are enough") {
  // Of six products the difference of two is what counts, and much smaller than either.
  const Shape shape{16, 32};
  const Shape square{32, 32};
  ModelBuilder model(4, 0);
  const auto product = [&](Value from, const Reals& weights, const std::string& name) {
    return model.add("matmul", {from, model.constant(square, weights, "w" + name)}, name);
  };
  const auto weights = [&] { return model.random_reals(1024, 0.2); };
  const Value first = product(product(input(model, shape), weights(), "a"), weights(), "b");
  const Reals large = model.random_reals(1024, 10);
  Reals larger = weights();
  for (std::size_t i = 0; i < larger.size(); ++i) larger[i] += large[i];
  const Value difference =
      model.add("onnx.Sub", {product(first, larger, "c"), product(first, large, "d")}, "s");
  Graph graph = finished(model, product(product(difference, weights(), "e"), weights(), "f"));
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  const Case of{std::move(graph), drawn(16, shape, [&] { return normal(random); })};
  const Optimized done = optimized(of, {.accept_sqnr_db = 22, .most_float = 0.5});
  REQUIRE(done.is_good_enough);
  std::vector<std::string> names;
  for (const FloatPart& part : done.attempts[done.best].settings.excluded) {
    names.push_back(part.name);
  }
  std::ranges::sort(names);
  CHECK(names == std::vector<std::string>{"c", "d"});
  CHECK(crossed(of, of.request().recipe.recipe) < 15);
  CHECK(crossed(of, done.recipe) >= 22);
  // With fewer of them allowed, what is asked for cannot be reached.
  CHECK(!optimized(of, {.accept_sqnr_db = 22, .most_float = 0.2}).is_good_enough);
}

TEST_CASE("optimize: never below what was asked for, and the recipe makes the same file") {
  for (const unsigned seed : {0U, 1U, 2U, 3U, 4U, 5U}) {
    CAPTURE(seed);
    const Case of = layers(seed);
    const Optimized done = optimized(of, {.accept_sqnr_db = 200, .most_float = 0.5});
    CHECK(!done.is_good_enough);
    CHECK(crossed(of, done.recipe) >= crossed(of, of.request().recipe.recipe) - 1e-9);
    const OptimizeAttempt& best = done.attempts[done.best];
    CHECK(std::abs(crossed(of, done.recipe) - best.judged.worst().sqnr_db()) < 1e-6);
    REQUIRE(best.held_back);
    CHECK(done.samples.held_back == 4);
    if (done.fitted != of.samples->size()) continue;
    const RunRequest again{.recipe = {.recipe = done.recipe},
                           .inputs = {.samples = of.samples.get()}};
    CHECK(file_of(done.graph) == file_of(value_of(run(again, of.graph)).quantized.graph));
  }
}

TEST_CASE("optimize: samples to judge on that are given") {
  const Case of = layers(2);
  const Case other = layers(2, 3);
  const Optimized done = optimized(of, {.data = {.samples = other.samples.get()}});
  CHECK(done.samples.use == OptimizeSamples::Use::given);
  CHECK(done.fitted == 16);
  const Comparison compared =
      value_of(compare(of.graph, done.graph, Interpreter(), *other.samples));
  CHECK(done.attempts[done.best].judged.worst().noise ==
        doctest::Approx(compared.outputs[0].agreement.noise));
}

TEST_CASE("optimize: few samples") {
  const Optimized one = optimized(layers(1, 1), {.accept_sqnr_db = 200});
  CHECK(one.samples.use == OptimizeSamples::Use::same);
  CHECK(one.samples.held_back == 0);
  const Optimized two = optimized(layers(1, 2), {.accept_sqnr_db = 200});
  CHECK(two.samples.use == OptimizeSamples::Use::crossed);
  CHECK(two.samples.judged == 2);
  CHECK(!two.attempts[two.best].held_back);
  CHECK(two.fitted == 2);
}

TEST_CASE("optimize: 16 bits only for kernels that take them") {
  const auto widths = [](const Optimized& done) {
    return std::ranges::count_if(done.attempts, [](const OptimizeAttempt& attempt) {
      return attempt.settings.options.contains("activation_bits");
    });
  };
  const Case of = layers(0, 4);
  const OptionValues tflite{{"kernels", std::string("tflite")}};
  CHECK(widths(optimized(of, {.accept_sqnr_db = 200, .most_float = 0}, tflite)) == 1);
  CHECK(widths(optimized(of, {.accept_sqnr_db = 200, .most_float = 0})) == 0);
}

TEST_CASE("optimize: stopped, the best until then") {
  const Case of = layers(1);
  std::stop_source stop;
  int told = 0;
  const OptimizeOptions options{.accept_sqnr_db = 200, .tried = [&](const OptimizeAttempt&) {
                                  if (++told == 2) stop.request_stop();
                                }};
  const Optimized done =
      value_of(optimize(of.request(), of.graph, options, {.stop = stop.get_token()}));
  CHECK(done.is_stopped);
  REQUIRE(done.attempts.size() == 2);
  CHECK(done.attempts[done.best].judged.worst().sqnr_db() ==
        std::max(done.attempts[0].judged.worst().sqnr_db(),
                 done.attempts[1].judged.worst().sqnr_db()));
  CHECK(compare(of.graph, done.graph, Interpreter(), *of.samples));

  const auto none = optimize(of.request(), of.graph, options, {.stop = stop.get_token()});
  REQUIRE(!none);
  CHECK(none.error().code == ErrorCode::cancelled);
}

TEST_CASE("optimize: goes on from a checkpoint, wherever it was stopped") {
  const test::TemporaryFolder folder;
  for (const Case& of : {layers(1), with_logarithm()}) {
    const Optimized whole = optimized(of, {.accept_sqnr_db = 200, .most_float = 1});
    const std::size_t count = whole.attempts.size();
    for (std::size_t stopped_at = 1; stopped_at <= count; ++stopped_at) {
      CAPTURE(stopped_at);
      const CountedData samples(*of.samples);
      RunRequest request = of.request();
      request.inputs.samples = &samples;
      std::stop_source stop;
      std::size_t told = 0;
      OptimizeOptions options{.accept_sqnr_db = 200,
                              .most_float = 1,
                              .tried =
                                  [&](const OptimizeAttempt&) {
                                    if (++told == stopped_at) stop.request_stop();
                                  },
                              .checkpoint = {.path = folder / "search"}};
      REQUIRE(
          value_of(optimize(request, of.graph, options, {.stop = stop.get_token()})).is_stopped);
      const std::size_t read_until_then = samples.read();
      options.tried = nullptr;
      Notes notes;
      FileTransaction files;
      const Optimized again =
          value_of(optimize(request, of.graph, options, {.sink = &notes, .files = &files}));
      CHECK(notes.told.find(fmt::format("goes on with what {} attempt{} came to", stopped_at,
                                        stopped_at == 1 ? "" : "s")) != std::string::npos);
      check_same(again, whole);
      // All was measured; what is left is the file itself, fitted on more samples.
      if (stopped_at == count) CHECK(samples.read() - read_until_then < read_until_then / 2);
      CHECK(std::filesystem::exists(folder / "search"));
      CHECK(files.commit());
      CHECK(folder.names().empty());
    }
  }
}

TEST_CASE("optimize: a stop before there is a model again leaves the checkpoint") {
  const test::TemporaryFolder folder;
  const Case of = layers(1);
  std::stop_source stop;
  const OptimizeOptions options{.accept_sqnr_db = 200,
                                .tried = [&](const OptimizeAttempt&) { stop.request_stop(); },
                                .checkpoint = {.path = folder / "search"}};
  REQUIRE(
      value_of(optimize(of.request(), of.graph, options, {.stop = stop.get_token()})).is_stopped);
  const std::string kept = folder.read("search");
  FileTransaction files;
  const auto none =
      optimize(of.request(), of.graph, options, {.files = &files, .stop = stop.get_token()});
  REQUIRE(!none);
  CHECK(none.error().code == ErrorCode::cancelled);
  CHECK(files.commit());
  CHECK(folder.read("search") == kept);
}

TEST_CASE("optimize: a share is a share") {
  const Case of = layers(1, 1);
  for (const double share : {-0.1, 1.5, std::nan("")}) {
    const auto refused = optimize(of.request(), of.graph, {.most_float = share});
    REQUIRE(!refused);
    CHECK(refused.error().code == ErrorCode::usage);
  }
}

TEST_CASE("optimize: what leaves nothing quantized is no result, and the search goes on below it") {
  const Case of = with_logarithm();
  const Optimized done = optimized(of, {.accept_sqnr_db = 200, .most_float = 1});
  CHECK(!done.is_good_enough);
  CHECK(done.attempts[done.best].quantized > 0);
  bool has_nothing = false;
  for (const OptimizeAttempt& attempt : done.attempts) {
    has_nothing = has_nothing || attempt.quantized == 0;
    if (attempt.quantized == 0) CHECK(attempt.refusal == "nothing is quantized");
  }
  CHECK(has_nothing);
  // One product less in float is among what was tried behind it.
  CHECK(std::ranges::any_of(done.attempts,
                            [](const OptimizeAttempt& attempt) { return attempt.quantized == 1; }));
}

TEST_CASE("optimize: nothing is tried twice, and what is not taken says why") {
  for (const unsigned seed : {0U, 1U, 2U}) {
    const Optimized done = optimized(layers(seed), {.accept_sqnr_db = 200, .most_float = 1});
    std::vector<std::string> tried;
    for (const OptimizeAttempt& attempt : done.attempts) {
      const OptimizeSettings& settings = attempt.settings;
      std::vector<std::string> names;
      for (const FloatPart& part : settings.excluded) names.push_back(part.name);
      std::ranges::sort(names);
      std::string key = settings.name();
      for (const std::string& name : names) key += " " + name;
      CHECK(std::ranges::find(tried, key) == tried.end());
      tried.push_back(key);
      if (&attempt == &done.attempts.front()) CHECK(attempt.refusal.empty());
      if (&attempt == &done.attempts[done.best]) CHECK(attempt.refusal.empty());
    }
  }
}

TEST_CASE("optimize: the result is never below the default on what was held back") {
  for (unsigned seed = 0; seed < 24; ++seed) {
    CAPTURE(seed);
    const Optimized done =
        optimized(layers(seed, 4 + seed % 5), {.accept_sqnr_db = 200, .most_float = 0});
    const OptimizeAttempt& best = done.attempts[done.best];
    const OptimizeAttempt& plain = done.attempts.front();
    REQUIRE(best.held_back);
    CHECK(best.held_back->worst().sqnr_db() >= plain.held_back->worst().sqnr_db());
    for (const OptimizeAttempt& attempt : done.attempts) {
      if (!attempt.held_back || &attempt == &best || &attempt == &plain) continue;
      CHECK(attempt.refusal == "worse than the default on the samples held back");
    }
  }
}

TEST_CASE("optimize: a share that allows no product says so") {
  CHECK(optimized(layers(0), {.accept_sqnr_db = 200, .most_float = 0.1}).is_share_too_small);
  CHECK(!optimized(layers(0), {.accept_sqnr_db = 200, .most_float = 1}).is_share_too_small);
}

TEST_CASE(
    "optimize: on the samples that it was fitted on it is not good enough, and a warning says so") {
  Notes warnings;
  const Case one = layers(1, 1);
  const Optimized done =
      value_of(optimize(one.request(), one.graph, {.accept_sqnr_db = -50}, {.sink = &warnings}));
  CHECK(done.is_reached);
  CHECK(!done.is_good_enough);
  CHECK(warnings.told.find("four samples or more") != std::string::npos);
}

TEST_CASE(
    "optimize: where a recipe makes another file, and where the default is written, is said") {
  Optimized done{.fitted = 12,
                 .attempts = {OptimizeAttempt{}, OptimizeAttempt{}},
                 .samples = {.use = OptimizeSamples::Use::crossed, .fitted = 12, .held_back = 4}};
  CHECK(about_result(done).find("fitted on 12 of 16 samples, since fitted on all it is worse") !=
        std::string::npos);
  CHECK(about_result(done).find("makes another") != std::string::npos);
  done.fitted = 16;
  CHECK(about_result(done).find("makes another") == std::string::npos);
  CHECK(about_result(done).find("the default is written") == std::string::npos);
  done.attempts[0].held_back.emplace();
  done.attempts[1].held_back.emplace();
  CHECK(about_result(done).find("the default is written") != std::string::npos);
  CHECK(print_attempts(done).find("written") != std::string::npos);
}

TEST_CASE("optimize: labels that say nothing, and their numbers") {
  const Case of = layers(2, 8);
  const auto error_with = [&](std::vector<std::int64_t> labels) {
    const auto refused = optimize(of.request(), of.graph, {.labels = std::move(labels)});
    REQUIRE(!refused);
    CHECK(refused.error().code == ErrorCode::usage);
    return refused.error().message;
  };
  using Labels = std::vector<std::int64_t>;
  CHECK(error_with(Labels(8, -1)).starts_with("no sample to judge on has a label"));
  Labels held_back_alone(8, -1);
  held_back_alone[3] = 0;
  CHECK(error_with(held_back_alone).starts_with("no sample to judge on has a label"));
  const Shape shape = of.graph.type(of.graph.operands(of.graph.outputs()[0])[0]).shape;
  const auto rows = *shape.element_count() / *shape[shape.rank() - 1].known() * 8;
  CHECK(error_with(Labels(16, 0)) == fmt::format("16 labels for {} rows of scores", rows));
}

TEST_CASE("optimize: with labels, floats begin with one product") {
  const Case of = layers(2, 16);
  const Shape shape = of.graph.type(of.graph.operands(of.graph.outputs()[0])[0]).shape;
  const auto rows = *shape.element_count() / *shape[shape.rank() - 1].known() * 16;
  // Labels of random classes: whatever is lost is more than is accepted.
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < rows; ++i) labels.push_back(i % 4);
  const Optimized done = optimized(
      of, {.labels = labels, .accept_points = -100, .accept_sqnr_db = 200, .most_float = 0.9});
  const auto first = std::ranges::find_if(done.attempts, [](const OptimizeAttempt& attempt) {
    return !attempt.settings.excluded.empty();
  });
  REQUIRE(first != done.attempts.end());
  CHECK(first->settings.excluded.size() == 1);
}
