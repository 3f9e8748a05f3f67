#include "quadrant/calibration/calibrate.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "calibration/helpers.hpp"
#include "calibration/memory_data.hpp"
#include "quadrant/io/onnx.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "tensor_values.hpp"

namespace quadrant {
namespace {

using test::floats;
using test::graph_of_text;
using test::infinity;

// y = relu(x + (1, -1))
const Graph& example() {
  static const Graph graph = graph_of_text(
      "%x: tensor<?x2xf32> = input()\n"
      "%a: tensor<2xf32> = constant() [1.0, -1.0]\n"
      "%sum: tensor<?x2xf32> = add(%x, %a)\n"
      "%y: tensor<?x2xf32> = onnx.Relu(%sum)\n"
      "output(%y) {name = \"result\"}\n");
  return graph;
}

// Samples of one to four rows.
std::vector<Sample> random_samples(std::size_t count) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t rows = 1 + random() % 4;
    std::vector<float> values(rows * 2);
    for (float& value : values) value = normal(random) * std::exp(normal(random) * 3);
    samples.push_back(sample_of({static_cast<std::int64_t>(rows), 2}, values));
  }
  return samples;
}

// As many threads as are asked for, all at once.
class Threads final : public Executor {
 public:
  explicit Threads(std::size_t threads) : threads_(threads) {}
  void parallel_for(std::size_t count, FunctionRef<void(std::size_t)> body) override {
    std::atomic<std::size_t> next = 0;
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < threads_; ++i) {
      threads.emplace_back([&] {
        for (std::size_t k = next++; k < count; k = next++) body(k);
      });
    }
  }

 private:
  std::size_t threads_;
};

struct NotesAndProgress final : Sink {
  std::vector<Diagnostic> diagnostics;
  std::vector<std::uint64_t> done;
  std::uint64_t total = 0;
  void report(const Diagnostic& diagnostic) override { diagnostics.push_back(diagnostic); }
  void progress(std::string_view, std::uint64_t now, std::uint64_t all) override {
    done.push_back(now);
    total = all;
  }
};

StatisticsTable calibrated(const Graph& graph, const std::vector<Sample>& samples,
                           const CalibrateOptions& options = {}) {
  auto table = calibrate(graph, Interpreter(), MemoryData(samples), options);
  REQUIRE_MESSAGE(table, (table ? "" : to_string(table.error())));
  return *std::move(table);
}

Error error_of(const Graph& graph, const DataSet& data, const CalibrateOptions& options = {}) {
  const auto table = calibrate(graph, Interpreter(), data, options);
  REQUIRE(!table);
  return table.error();
}

// Runs a graph without computing anything: hands out the tensors that it was made with, in order of
// the values that are asked for.
class CannedRuntime final : public Runtime {
 public:
  explicit CannedRuntime(std::vector<Tensor> tensors) : tensors_(std::move(tensors)) {}

  [[nodiscard]] Expected<std::unique_ptr<ModelExecutor>> load(
      const Graph& /*graph*/, std::span<const Value> watched) const override {
    REQUIRE(watched.size() == tensors_.size());
    return std::make_unique<Canned>(tensors_);
  }

 private:
  class Canned final : public ModelExecutor {
   public:
    explicit Canned(const std::vector<Tensor>& tensors) : tensors_(tensors) {}
    [[nodiscard]] Expected<void> run(std::span<const Tensor> /*inputs*/,
                                     TensorObserver observe) const override {
      for (std::size_t i = tensors_.size(); i-- > 0;) QUADRANT_CHECK(observe(i, tensors_[i]));
      return {};
    }

   private:
    const std::vector<Tensor>& tensors_;
  };

  std::vector<Tensor> tensors_;
};

TEST_CASE("calibrate: by hand") {
  const StatisticsTable table =
      calibrated(example(), {sample_of({1, 2}, {3, 0}), sample_of({2, 2}, {-2, 6, 0, 1})});
  CHECK(table.samples == 2);
  REQUIRE(table.values.size() == 3);
  const auto check = [&](const char* name, float min, float max, double mean, unsigned zeros) {
    CAPTURE(std::string(name));
    const TensorStatistics* statistics = table.find(name);
    REQUIRE(statistics != nullptr);
    CHECK(statistics->samples == 2);
    CHECK(statistics->histogram.finite_count() == 6);
    CHECK(statistics->histogram.min() == min);
    CHECK(statistics->histogram.max() == max);
    CHECK(statistics->mean() == mean);
    CHECK(statistics->histogram.zero_count() == zeros);
    CHECK_FALSE(statistics->by_channel.has_value());
  };
  check("x", -2, 6, 8.0 / 6, 2);
  check("sum", -1, 5, 8.0 / 6, 1);  // 4 -1 -1 5 1 0
  check("y", 0, 5, 10.0 / 6, 3);
}

TEST_CASE("calibrate: some values, by channel") {
  const Value sum = example().find_value("sum");
  const StatisticsTable table =
      calibrated(example(), {sample_of({1, 2}, {3, 0}), sample_of({2, 2}, {-2, 6, 0, 1})},
                 {.values = {{sum, 1}}});
  REQUIRE(table.values.size() == 1);
  const auto& channels = table.find("sum")->by_channel->channels;
  REQUIRE(channels.size() == 2);
  CHECK(channels[0].mean() == 4.0 / 3);
  CHECK(channels[1].mean() == 4.0 / 3);
  CHECK(channels[1].min == -1);
  CHECK(channels[1].max == 5);
}

TEST_CASE("calibrate: neither order nor threads matter") {
  std::vector<Sample> samples = random_samples(100);
  const CalibrateOptions all{
      .values = {{example().find_value("x"), 1}, {example().find_value("y"), std::nullopt}}};
  const StatisticsTable expected = calibrated(example(), samples, all);
  CHECK(expected.samples == 100);
  std::mt19937 random(2);
  for (std::size_t threads = 1; threads <= 8; ++threads) {
    std::ranges::shuffle(samples, random);
    Threads executor(threads);
    CalibrateOptions options = all;
    options.executor = &executor;
    CHECK(calibrated(example(), samples, options) == expected);
  }
}

TEST_CASE("calibrate: ranges alone are the same, in a few hundred bytes a value") {
  const std::vector<Sample> samples = random_samples(100);
  const StatisticsTable whole = calibrated(example(), samples);
  Threads executor(3);
  const StatisticsTable ranges =
      calibrated(example(), samples, {.histograms = false, .executor = &executor});
  for (const auto& [name, expected] : whole.values) {
    const TensorStatistics& found = *ranges.find(name);
    CHECK(found.histogram.min() == expected.histogram.min());
    CHECK(found.histogram.max() == expected.histogram.max());
    CHECK(found.histogram.finite_count() == expected.histogram.finite_count());
    CHECK(found.histogram.zero_count() == expected.histogram.zero_count());
    CHECK(found.sum == expected.sum);
    CHECK(found.histogram.memory() == 0);
    CHECK(expected.histogram.memory() > 0);
    CHECK(expected.histogram.memory() < 20 * 1024);
  }
}

TEST_CASE("calibrate: large values are counted apart first, and come to the same") {
  const Graph graph = graph_of_text(
      "%x: tensor<?xf32> = input()\n%y: tensor<?xf32> = onnx.Relu(%x)\noutput(%y) {name = "
      "\"y\"}\n");
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> values(100'000);
  for (float& value : values) value = normal(random);
  values[70'000] = infinity;
  NotesAndProgress notes;
  const StatisticsTable whole = calibrated(graph, {sample_of({100'000}, values)}, {.sink = &notes});
  CHECK(notes.diagnostics.size() == 2);
  std::vector<Sample> parts;
  for (std::size_t i = 0; i < values.size(); i += 1000) {
    parts.push_back(sample_of({1000}, {values.begin() + static_cast<std::ptrdiff_t>(i),
                                       values.begin() + static_cast<std::ptrdiff_t>(i + 1000)}));
  }
  Threads executor(4);
  const StatisticsTable table = calibrated(graph, parts, {.executor = &executor});
  for (const char* name : {"x", "y"}) {
    CHECK(table.find(name)->histogram == whole.find(name)->histogram);
    CHECK(table.find(name)->sum == whole.find(name)->sum);
  }
}

TEST_CASE("calibrate: with batches of one, run with others") {
  const std::vector<Sample> samples = random_samples(20);
  std::vector<Sample> single;
  std::vector<float> all;
  for (const Sample& sample : samples) {
    const auto values = sample.inputs[0].as<float>();
    for (std::size_t i = 0; i < values.size(); i += 2) {
      single.push_back(sample_of({1, 2}, {values[i], values[i + 1]}));
    }
    all.insert(all.end(), values.begin(), values.end());
  }
  const auto rows = static_cast<std::int64_t>(all.size() / 2);
  StatisticsTable expected = calibrated(example(), {sample_of({rows, 2}, all)});
  for (const std::vector<Sample>* batches : {&samples, &std::as_const(single)}) {
    const StatisticsTable table = calibrated(example(), *batches);
    for (const auto& [name, statistics] : table.values) {
      CHECK(statistics.histogram == expected.find(name)->histogram);
      CHECK(statistics.sum == expected.find(name)->sum);
    }
  }
}

TEST_CASE("calibrate: an example model on its inputs") {
  auto graph = read_onnx(QUADRANT_SOURCE_DIR "/examples/models/digits_cnn.onnx");
  REQUIRE(graph);
  const auto data = random_data_set(*graph, 6, 1);
  Threads executor(3);
  const auto parallel = calibrate(*graph, Interpreter(), *data, {.executor = &executor});
  const auto serial = calibrate(*graph, Interpreter(), *data);
  REQUIRE_MESSAGE(serial, (serial ? "" : to_string(serial.error())));
  REQUIRE(parallel);
  CHECK(*parallel == *serial);

  // Every value that the model computes is there once for each sample; its own ReLU6 bounds hold.
  const auto values = real_values(*graph);
  REQUIRE(values);
  CHECK(serial->values.size() == values->size());
  std::size_t clips = 0;
  for (const Value value : *values) {
    const TensorStatistics* statistics = serial->find(graph->value_name(value));
    REQUIRE(statistics != nullptr);
    CHECK(statistics->samples == 6);
    if (graph->kind(value.node) != "onnx.Clip") continue;
    ++clips;
    CHECK(statistics->histogram.min() >= 0);
    CHECK(statistics->histogram.max() <= 6);
  }
  CHECK(clips > 0);

  // The inputs are those of the data set.
  std::vector<float> inputs;
  for (std::size_t i = 0; i < data->size(); ++i) {
    const Sample sample = data->sample(i).value();
    const auto part = sample.inputs[0].as<float>();
    inputs.insert(inputs.end(), part.begin(), part.end());
  }
  const TensorStatistics* image = serial->find("image");
  REQUIRE(image != nullptr);
  CHECK(image->histogram.finite_count() == inputs.size());
  CHECK(image->histogram.min() == std::ranges::min(inputs));
  CHECK(image->histogram.max() == std::ranges::max(inputs));
  CHECK(image->mean() == doctest::Approx(std::accumulate(inputs.begin(), inputs.end(), 0.0) /
                                         static_cast<double>(inputs.size())));
}

TEST_CASE("calibrate: with a runtime of one's own") {
  const Graph graph = graph_of_text(
      "%x: tensor<2xf32> = input()\n"
      "%h: tensor<*xf16> = mine.Half(%x)\n"
      "%u: tensor<*xundefined> = mine.What(%h)\n"
      "%v: tensor<*xundefined> = mine.What(%u)\n"
      "output(%v) {name = \"v\"}\n");
  const std::vector<std::uint16_t> halves{0x3c00, 0xc000, 0x7c00};  // 1, -2, infinity
  const CannedRuntime runtime(
      {floats({2}, {1, 2}), Tensor::from_values<std::uint16_t>(ElementType::float16, {3}, halves),
       test::tensor_of<std::int64_t>(ElementType::int64, {2}, {1, 2}),
       test::tensor_of<double>(ElementType::float64, {1}, {-0.5})});
  const auto table =
      calibrate(graph, runtime, MemoryData({sample_of({2}, {1, 2}), sample_of({2}, {1, 2})}));
  REQUIRE(table);
  CHECK(table->values.size() == 3);
  CHECK(table->find("u") == nullptr);  // integers, as it turned out
  CHECK(table->find("h")->histogram.min() == -2);
  CHECK(table->find("h")->histogram.counts().positive_infinity == 2);
  CHECK(table->find("v")->mean() == -0.5);

  // Of unknown rank: whether there is such an axis shows.
  const CannedRuntime one_value({floats({1, 2}, {1, 2})});
  const auto channels = calibrate(graph, one_value, MemoryData({sample_of({2}, {1, 2})}),
                                  {.values = {{graph.find_value("h"), 1}}});
  REQUIRE(channels);
  CHECK(channels->find("h")->by_channel->channels.size() == 2);
}

TEST_CASE("calibrate: NaN and infinity are warned of, and left out") {
  NotesAndProgress notes;
  const float nan = std::nanf("");
  std::vector<Sample> samples{sample_of({1, 2}, {1, 2}), sample_of({2, 2}, {nan, infinity, 3, 4}),
                              sample_of({1, 2}, {nan, 4})};
  for (const std::size_t threads : {1U, 4U}) {
    Threads executor(threads);
    notes.diagnostics.clear();
    const StatisticsTable table =
        calibrated(example(), samples, {.executor = &executor, .sink = &notes});
    CHECK(table.find("x")->histogram.counts().nan == 2);
    CHECK(table.find("x")->mean() == 14.0 / 5);
    REQUIRE(notes.diagnostics.size() == 3);
    CHECK(notes.diagnostics[0].severity == Severity::warning);
    CHECK(notes.diagnostics[0].place.tensor == "x");
    CHECK(notes.diagnostics[0].message ==
          "2 NaN and 1 infinite elements are left out; the first sample with any is 'sample 1'");
    CHECK(notes.diagnostics[1].place.tensor == "sum");
  }
}

TEST_CASE("calibrate: values that are bad all the way down are not all named") {
  std::string text = "%v0: tensor<?xf32> = input()\n";
  for (int i = 1; i < 15; ++i) {
    text +=
        "%v" + std::to_string(i) + ": tensor<?xf32> = identity(%v" + std::to_string(i - 1) + ")\n";
  }
  const Graph graph = graph_of_text(text + "output(%v14) {name = \"v\"}\n");
  NotesAndProgress notes;
  static_cast<void>(calibrated(graph, {sample_of({1}, {infinity})}, {.sink = &notes}));
  REQUIRE(notes.diagnostics.size() == 11);
  CHECK(notes.diagnostics[0].place.tensor == "v0");
  CHECK(notes.diagnostics[9].place.tensor == "v9");
  CHECK(notes.diagnostics[10].message == "there are 5 more values with NaN or infinity");
}

TEST_CASE("calibrate: progress is complete at the end") {
  NotesAndProgress notes;
  static_cast<void>(calibrated(example(), random_samples(40), {.sink = &notes}));
  REQUIRE_FALSE(notes.done.empty());
  CHECK(std::ranges::is_sorted(notes.done));
  CHECK(notes.done.back() == 40);
  CHECK(notes.total == 40);
}

TEST_CASE("calibrate: what is asked for must make sense") {
  const Graph graph = graph_of_text(
      "%x: tensor<2xf32> = input()\n%i: tensor<?xi64> = shape_of(%x)\noutput(%i) {name = \"i\"}\n");
  const MemoryData data({sample_of({2}, {1, 2})});
  const Error wrong_type = error_of(graph, data, {.values = {{graph.find_value("i"), {}}}});
  CHECK(wrong_type.code == ErrorCode::usage);
  CHECK(wrong_type.place.tensor == "i");
  CHECK(wrong_type.message == "the value is tensor<?xi64>: only of floats there are statistics");
  const Value x = graph.find_value("x");
  const Error twice = error_of(graph, data, {.values = {{x, {}}, {x, 0}}});
  CHECK(twice.code == ErrorCode::usage);
  CHECK(twice.place.tensor == "x");
  for (const std::int64_t axis : {1, 9, -2}) {
    const Error no_axis = error_of(graph, data, {.values = {{x, axis}}});
    CHECK(no_axis.code == ErrorCode::usage);
    CHECK(no_axis.place.tensor == "x");
    CHECK(no_axis.message == "the value is tensor<2xf32>: it has no axis " + std::to_string(axis) +
                                 " to keep channels of");
  }
  CHECK(calibrated(graph, {sample_of({2}, {1, 2})}, {.values = {{x, -1}}})
            .find("x")
            ->by_channel->channels.size() == 2);
  CHECK(error_of(graph, MemoryData({})).message == "there are no samples to calibrate with");
}

TEST_CASE("calibrate: bad samples are named, the first in order") {
  std::vector<Sample> samples = random_samples(30);
  samples[21] = sample_of({3}, {1, 2, 3});
  samples[25] = {};
  for (const std::size_t threads : {1U, 8U}) {
    Threads executor(threads);
    const Error error = error_of(example(), MemoryData(samples), {.executor = &executor});
    CHECK(error.code == ErrorCode::usage);
    CHECK(error.place.tensor == "x");
    CHECK(error.message.find("(sample 'sample 21')") != std::string::npos);
  }

  class Broken final : public DataSet {
   public:
    [[nodiscard]] std::size_t size() const override { return 3; }
    [[nodiscard]] Expected<Sample> sample(std::size_t i) const override {
      if (i == 2) return fail(ErrorCode::io, "the disk is gone");
      return sample_of({1, 2}, {1, 2});
    }
    [[nodiscard]] std::string name(std::size_t i) const override {
      return "file" + std::to_string(i);
    }
  };
  const Error error = error_of(example(), Broken());
  CHECK(error.code == ErrorCode::io);
  CHECK(error.place.file == "file2");
}

TEST_CASE("real_values: floats that somebody reads, producers first") {
  const Graph graph = graph_of_text(
      "%unread: tensor<2xf32> = input()\n"
      "%x: tensor<2xf32> = input()\n"
      "%c: tensor<2xf32> = constant() [1.0, 2.0]\n"
      "%y: tensor<2xf32> = add(%x, %c)\n"
      "%i: tensor<?xi64> = shape_of(%y)\n"
      "%d: tensor<2xf32> = onnx.Relu(%y)\n"
      "output(%y) {name = \"y\"}\n"
      "output(%i) {name = \"i\"}\n");
  const auto values = real_values(graph);
  REQUIRE(values);
  REQUIRE(values->size() == 2);
  CHECK(graph.value_name((*values)[0]) == "x");
  CHECK(graph.value_name((*values)[1]) == "y");
}

}  // namespace
}  // namespace quadrant
