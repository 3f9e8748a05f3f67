#include "quadrant/calibration/compare.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "calibration/helpers.hpp"
#include "calibration/memory_data.hpp"
#include "quadrant/report/tables.hpp"
#include "quadrant/runtime/interpreter.hpp"

using namespace quadrant;
using test::graph_of_text;

namespace {

// Adds a constant, in two steps.
Graph adder(const std::string& first, const std::string& second) {
  return graph_of_text(
      "%x: tensor<?x3xf32> = input()\n%a: tensor<3xf32> = constant() [" + first +
      "]\n%b: tensor<3xf32> = constant() [" + second +
      "]\n%inner: tensor<?x3xf32> = add(%x, %a)\n%y: tensor<?x3xf32> = add(%inner, %b)\n"
      "output(%y) {name = \"scores\"}\n");
}

const Graph& reference() {
  static const Graph graph = adder("1.0, 0.0, 0.0", "0.0, 0.0, 0.0");
  return graph;
}

MemoryData two_samples() {
  return MemoryData({sample_of({1, 3}, {1, 2, 3}), sample_of({2, 3}, {4, 5, 6, 0, 0, 9})});
}

std::string error_of(const Graph& first, const Graph& second, const CompareOptions& options = {}) {
  const auto comparison = compare(first, second, Interpreter(), two_samples(), options);
  REQUIRE(!comparison);
  return to_string(comparison.error());
}

// What is heard of, a line each.
class Listener final : public Sink {
 public:
  void report(const Diagnostic& diagnostic) override {
    heard += to_string(diagnostic.place) + ": " + diagnostic.message + "\n";
  }

  std::string heard;
};

}  // namespace

TEST_CASE("a model agrees with itself") {
  const auto comparison =
      compare(reference(), reference(), Interpreter(), two_samples(), {.layers = true});
  REQUIRE(comparison);
  CHECK(comparison->samples == 2);
  REQUIRE(comparison->outputs.size() == 1);
  CHECK(comparison->outputs[0].name == "scores");
  CHECK(comparison->outputs[0].agreement.elements == 9);
  CHECK(comparison->outputs[0].agreement.equal == 9);
  REQUIRE(comparison->layers.size() == 2);
  CHECK(comparison->layers[0].name == "inner");
  CHECK(comparison->layers[0].kind == "add");
  CHECK(comparison->same_class == ClassificationScore{.rows = 3, .top1 = 3, .top5 = 3});
  CHECK(!comparison->first);
}

TEST_CASE("an error of a constant is the noise that it makes") {
  const Graph other = adder("1.5, 0.0, 0.0", "0.0, 0.0, 0.0");
  const auto comparison =
      compare(reference(), other, Interpreter(), two_samples(), {.layers = true});
  REQUIRE(comparison);
  // y = {2 2 3, 5 5 6, 1 0 9}; three errors of 0.5.
  const double signal = 4 + 4 + 9 + 25 + 25 + 36 + 1 + 81;
  CHECK(comparison->outputs[0].agreement.sqnr_db() ==
        doctest::Approx(10 * std::log10(signal / 0.75)));
  CHECK(comparison->outputs[0].agreement.largest_error == 0.5);
  CHECK(comparison->layers[1].agreement == comparison->outputs[0].agreement);
}

TEST_CASE("labels tell how often each is right") {
  // Classes on top: 2, 2, 2 of the first; 0, 0, 2 of the second.
  const Graph other = adder("9.0, 0.0, 0.0", "-2.0, 0.0, 0.0");
  const auto comparison =
      compare(reference(), other, Interpreter(), two_samples(), {.labels = {{0, 2, 2}}});
  REQUIRE(comparison);
  CHECK(comparison->label_output == "scores");
  CHECK(comparison->first->top1 == 2);
  CHECK(comparison->second->top1 == 2);
  CHECK(comparison->same_class.top1 == 1);
  CHECK(to_string(*comparison).find("second model is right") != std::string::npos);

  const auto error_with = [&](std::vector<std::int64_t> labels) {
    return error_of(reference(), other, {.labels = std::move(labels)});
  };
  CHECK(error_with({0, 2}) == "labels: 2 labels for 3 rows of scores");
  CHECK(error_with({}) == "labels: 0 labels for 3 rows of scores");
  CHECK(error_with({0, 2, 2, 1}) == "labels: 4 labels for 3 rows of scores");
  CHECK(error_with({0, 3, 2}) ==
        "labels: label 3, where the scores are of classes 0 to 2 (sample 'sample 1')");
  CHECK(error_of(reference(), other, {.label_output = "nothing"}) ==
        "there is no output 'nothing' to compare; there are: scores");
}

TEST_CASE("models with other inputs, or without outputs in common, are refused") {
  const Graph two = graph_of_text(
      "%x: tensor<?x3xf32> = input()\n%z: tensor<?x3xf32> = input()\n"
      "%y: tensor<?x3xf32> = add(%x, %z)\noutput(%y) {name = \"scores\"}\n");
  CHECK(error_of(reference(), two).find("the models have 1 and 2 inputs") == 0);
  const Graph integers = graph_of_text(
      "%x: tensor<?x3xi32> = input()\n%y: tensor<?x3xi32> = add(%x, %x)\noutput(%y) {name = "
      "\"scores\"}\n");
  CHECK(error_of(reference(), integers)
            .find("second model: tensor 'x': the input is i32 [?x3], but f32 [?x3] in") == 0);
  const Graph wide = graph_of_text(
      "%x: tensor<?x4xf32> = input()\n%y: tensor<?x4xf32> = add(%x, %x)\noutput(%y) {name = "
      "\"scores\"}\n");
  CHECK(error_of(reference(), wide).find("the input is f32 [?x4], but f32 [?x3]") !=
        std::string::npos);
  const Graph names = graph_of_text(
      "%x: tensor<?x3xf32> = input()\n%y: tensor<?x3xf32> = add(%x, %x)\noutput(%y) {name = "
      "\"p\"}\n"
      "output(%x) {name = \"q\"}\n");
  CHECK(error_of(reference(), names) == "the models have no outputs in common, and not as many");
}

TEST_CASE("outputs of other names belong together by place") {
  Graph other = adder("1.0, 0.0, 0.0", "0.0, 0.0, 0.0");
  other.set_node_name(other.outputs()[0], "renamed");
  const auto comparison = compare(reference(), other, Interpreter(), two_samples());
  REQUIRE(comparison);
  CHECK(comparison->outputs[0].agreement.equal == 9);
}

TEST_CASE("inputs belong together by name, or by place where no name is in both") {
  // The first input less the second.
  const auto difference = [](const std::string& a, const std::string& b) {
    return graph_of_text("%" + a + ": tensor<1xf32> = input()\n%" + b +
                         ": tensor<1xf32> = input()\n%y: tensor<1xf32> = onnx.Sub(%" + a + ", %" +
                         b + ")\noutput(%y) {name = \"scores\"}\n");
  };
  Sample sample = sample_of({1}, {5});
  sample.inputs.push_back(sample_of({1}, {2}).inputs[0]);
  const MemoryData samples({sample});
  const auto error = [&](const std::string& a, const std::string& b) {
    const auto comparison = compare(difference("x", "u"), difference(a, b), Interpreter(), samples);
    if (!comparison) return to_string(comparison.error());
    return std::to_string(comparison->outputs[0].agreement.largest_error);
  };
  CHECK(error("x", "u") == "0.000000");
  CHECK(error("u", "x") == "6.000000");  // 2 - 5
  CHECK(error("p", "q") == "0.000000");
  CHECK(error("u", "v") ==
        "second model: tensor 'v': 'first model' has no input of this name, but others of this "
        "model: inputs must have the same names, or all have others");
}

TEST_CASE("an output that one model alone has is left out, and said to be") {
  const std::string more = "output(%y) {name = \"scores\"}\noutput(%x) {name = \"";
  const auto with = [&](const std::string& name) {
    return graph_of_text("%x: tensor<?x3xf32> = input()\n%y: tensor<?x3xf32> = add(%x, %x)\n" +
                         more + name + "\"}\n");
  };
  Listener listener;
  const auto comparison = compare(with("p"), with("q"), Interpreter(), two_samples(),
                                  {.sink = &listener, .names = {.first = "a", .second = "b"}});
  REQUIRE(comparison);
  CHECK(comparison->outputs.size() == 1);
  CHECK(listener.heard ==
        "a: tensor 'p': this output has none in the other model to compare with\n"
        "b: tensor 'q': this output has none in the other model to compare with\n");
}

TEST_CASE("errors of a run name the model and the sample") {
  const Graph any = graph_of_text(
      "%x: tensor<?x?xf32> = input()\n%y: tensor<?x?xf32> = add(%x, %x)\n"
      "output(%y) {name = \"scores\"}\n");
  const MemoryData mixed({sample_of({1, 3}, {1, 2, 3}), sample_of({1, 2}, {1, 2})});
  for (const bool first : {true, false}) {
    const auto comparison =
        compare(first ? reference() : any, first ? any : reference(), Interpreter(), mixed);
    REQUIRE(!comparison);
    CHECK(comparison.error().place.file == (first ? "first model" : "second model"));
    CHECK(comparison.error().message.ends_with("(sample 'sample 1')"));
  }
}

TEST_CASE("values of different shapes are refused") {
  const Graph wide = graph_of_text(
      "%x: tensor<?x3xf32> = input()\n%a: tensor<4x1x1xf32> = constant() [0, 0, 0, 0]\n"
      "%y: tensor<4x?x3xf32> = add(%x, %a)\noutput(%y) {name = \"scores\"}\n");
  CHECK(error_of(reference(), wide) ==
        "second model: tensor 'scores': it has shape [1x3] in one model and [4x1x3] in the other "
        "(sample 'sample 0')");
}

TEST_CASE("detections of the first model are the truth where no other is given") {
  const auto model = [](const std::string& x) {
    return graph_of_text(
        "%scores: tensor<1x2x2xf32> = input()\n%b: tensor<1x2x4xf32> = constant() [" + x +
        ".0, 0.0, 20.0, 10.0, 50.0, 0.0, 60.0, 10.0]\n"
        "output(%b) {name = \"boxes\"}\noutput(%scores) {name = \"scores\"}\n");
  };
  const MemoryData scores({sample_of({1, 2, 2}, {0.9F, 0.8F, 0.7F, 0.01F}),
                           sample_of({1, 2, 2}, {0.1F, 0.9F, 0.9F, 0.6F})});
  CompareOptions options{.detections = DetectionOutputs{.boxes = "boxes", .scores = "scores"}};
  const auto same = compare(model("10"), model("10"), Interpreter(), scores, options);
  REQUIRE_MESSAGE(same, (same ? "" : to_string(same.error())));
  CHECK(same->second_precision->mean == 1);
  CHECK(!same->first_precision);
  // The first box's overlap is 10/14: found at 0.5 to 0.7, five of ten thresholds.
  const auto moved = compare(model("10"), model("6"), Interpreter(), scores, options);
  REQUIRE(moved);
  CHECK(moved->second_precision->at_half == 1);
  CHECK(moved->second_precision->mean < 1);
  // Class 0 is nothing; the objects are those of class 1.
  options.detections->background = 0;
  options.objects = std::vector<Detection>{{0, 1, 1, {10, 0, 20, 10}}, {1, 1, 1, {10, 0, 20, 10}}};
  const auto given = compare(model("10"), model("6"), Interpreter(), scores, options);
  REQUIRE(given);
  CHECK(given->first_precision->mean == 1);
  CHECK(given->second_precision->mean == doctest::Approx(0.5));
}

TEST_CASE("an image without boxes counts as one, and objects are in images that are there") {
  const Graph model = graph_of_text(
      "%boxes: tensor<1x?x4xf32> = input()\n%scores: tensor<1x?x2xf32> = input()\n"
      "output(%boxes) {name = \"boxes\"}\noutput(%scores) {name = \"scores\"}\n");
  const auto image = [](std::int64_t count) {
    const auto numbers = static_cast<std::size_t>(count);
    std::vector<float> boxes;
    for (std::size_t i = 0; i < numbers; ++i) {
      const auto x = static_cast<float>(20 * i);
      boxes.insert(boxes.end(), {x, 0, x + 10, 10});
    }
    Sample sample = sample_of({1, count, 4}, boxes);
    std::vector<float> scores;
    for (std::size_t i = 0; i < numbers; ++i) scores.insert(scores.end(), {0.5F, 0});
    sample.inputs.push_back(sample_of({1, count, 2}, scores).inputs[0]);
    return sample;
  };
  const MemoryData images({image(1), image(0), image(2)});
  CompareOptions options{.detections = DetectionOutputs{.boxes = "boxes", .scores = "scores"}};
  const auto precision = [&](std::vector<Detection> objects) {
    options.objects = std::move(objects);
    const auto found = compare(model, model, Interpreter(), images, options);
    return found ? std::to_string(found->first_precision->mean) : to_string(found.error());
  };
  const Box box{0, 0, 10, 10};
  CHECK(precision({{0, 0, 1, box}, {2, 0, 1, box}, {2, 0, 1, {20, 0, 30, 10}}}) == "1.000000");
  CHECK(precision({{1, 0, 1, box}}) == "0.000000");
  CHECK(precision({}) == "0.000000");
  CHECK(precision({{2, 0, 1, box}, {3, 0, 1, box}}) ==
        "objects: object 1 is in sample 3, but the number of images is 3");
  CHECK(precision({{0, 2, 1, box}}) ==
        "objects: object 0 is of class 2, but the number of classes is 2");
  options.detections->background = 0;
  CHECK(precision({{0, 0, 1, box}}) ==
        "objects: object 0 is of class 0, but the number of classes is 2, and 0 is nothing");
}
