// Encodings that are prescribed. Expected numbers are computed by hand.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/scales.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/text.hpp"
#include "quadrant/methods/static_affine.hpp"

namespace quadrant {
namespace {

// y = conv(relu(conv(x)))
constexpr std::string_view two_layers =
    "%x: tensor<1x2x2x2xf32> = input()\n"
    "%w: tensor<2x2x1x1xf32> = constant() [1, -2, 3, 4]\n"
    "%b: tensor<2xf32> = constant() [0.5, -1]\n"
    "%c: tensor<1x2x2x2xf32> = conv(%x, %w, %b)\n"
    "%r: tensor<1x2x2x2xf32> = onnx.Relu(%c)\n"
    "%v: tensor<1x2x1x1xf32> = constant() [1, 1]\n"
    "%y: tensor<1x1x2x2xf32> = conv(%r, %v)\n"
    "output(%y)\n";

Encoding encoding(double scale, std::int64_t zero_point, int bits = 8) {
  const std::int64_t steps = (std::int64_t{1} << bits) - 1;
  return {.bits = bits,
          .steps = steps,
          .scale = scale,
          .zero_point = zero_point,
          .min = -scale * static_cast<double>(zero_point),
          .max = scale * static_cast<double>(steps - zero_point),
          .symmetric = false};
}

PrescribedEncoding one(double scale, std::int64_t zero_point, int bits = 8) {
  return {.encodings = {encoding(scale, zero_point, bits)}, .axis = {}};
}

PrescribedEncoding channels(const std::vector<double>& scales,
                            std::optional<std::int64_t> axis = std::nullopt) {
  PrescribedEncoding made{.encodings = {}, .axis = axis};
  for (const double scale : scales) made.encodings.push_back(encoding(scale, 128));
  return made;
}

PrescribedEncodings enough() {
  return {{"x", one(0.5, 10)}, {"r", one(0.25, 0)}, {"y", one(2, 100)}};
}

StaticAffineOptions with(PrescribedEncodings prescribed) {
  StaticAffineOptions options;
  options.prescribed = std::make_shared<const PrescribedEncodings>(std::move(prescribed));
  return options;
}

Expected<QuantizeResult> run(const StaticAffineOptions& options,
                             std::string_view model = two_layers) {
  const Expected<Graph> graph = parse_graph(std::string(model));
  REQUIRE_MESSAGE(graph.has_value(), graph.error().message);
  return quantize_static(*graph, options);
}

std::string error_of(const StaticAffineOptions& options, std::string_view model = two_layers) {
  const auto result = run(options, model);
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().code == ErrorCode::impossible);
  return result.error().place.tensor + ": " + result.error().message;
}

bool has(const std::string& text, std::string_view part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

struct Parameters {
  ElementType storage = ElementType::undefined;
  std::vector<float> scales;
  std::vector<std::int64_t> zero_points;
  friend bool operator==(const Parameters&, const Parameters&) = default;
};

// Those of the value of that name, of what quantizes it, or of the codes that it was made of; none
// where it is in float.
Parameters parameters(const Graph& graph, std::string_view name) {
  const Value value = graph.find_value(name);
  REQUIRE_FALSE(value.is_absent());
  std::shared_ptr<const UniformType> type = graph.type(value).uniform();
  for (const Use& use : graph.uses(value.node)) {
    if (graph.kind(use.user) == ops::Quantize::kind) type = graph.type({use.user}).uniform();
  }
  if (graph.kind(value.node) == ops::Dequantize::kind) {
    type = graph.type(graph.operands(value.node)[0]).uniform();
  }
  if (type == nullptr) return {};
  Parameters found{type->storage, read_scales(type->scales).value(), {}};
  found.zero_points.resize(found.scales.size());
  if (type->zero_points) found.zero_points = read_integers(type->zero_points).value();
  return found;
}

std::vector<int> codes(const Graph& graph, std::string_view name) {
  const Constant* const constant = graph.constant(graph.find_value(name).node);
  REQUIRE(constant != nullptr);
  const auto contents = constant->read();
  REQUIRE(contents.has_value());
  std::vector<int> found;
  for (const std::byte byte : contents->bytes()) found.push_back(static_cast<std::int8_t>(byte));
  return found;
}

TEST_CASE("what is prescribed needs no statistics") {
  PrescribedEncodings prescribed = enough();
  prescribed.emplace("w", channels({0.5, 0.125}));
  const auto result = run(with(prescribed));
  REQUIRE_MESSAGE(result.has_value(), result.error().message);
  const Graph& graph = result->graph;
  CHECK(parameters(graph, "x") == Parameters{ElementType::int8, {0.5F}, {-118}});
  CHECK(parameters(graph, "r") == Parameters{ElementType::int8, {0.25F}, {-128}});
  CHECK(parameters(graph, "y") == Parameters{ElementType::int8, {2}, {-28}});
  CHECK(parameters(graph, "w") == Parameters{ElementType::int8, {0.5F, 0.125F}, {0, 0}});
  CHECK(codes(graph, "w") == std::vector{2, -4, 24, 32});
  CHECK(parameters(graph, "b").scales == std::vector{0.25F, 0.0625F});
}

TEST_CASE("nothing is quantized whose range nobody tells") {
  const auto none = run(StaticAffineOptions{});
  REQUIRE(none.has_value());
  CHECK(parameters(none->graph, "w") == Parameters{});
  PrescribedEncodings without = enough();
  without.erase("x");
  const auto some = run(with(without));
  REQUIRE(some.has_value());
  CHECK(parameters(some->graph, "w") == Parameters{});
  CHECK(parameters(some->graph, "x") == Parameters{});
}

TEST_CASE("codes are stored as the run stores them, with the same meaning") {
  StaticAffineOptions options = with(enough());
  options.unsigned_activations = true;
  const auto result = run(options);
  REQUIRE_MESSAGE(result.has_value(), result.error().message);
  CHECK(parameters(result->graph, "x") == Parameters{ElementType::uint8, {0.5F}, {10}});
  CHECK(parameters(result->graph, "y") == Parameters{ElementType::uint8, {2}, {100}});
}

TEST_CASE("it counts for all that share their parameters, whichever is named") {
  PrescribedEncodings prescribed = enough();
  prescribed.erase("r");
  prescribed.emplace("c", one(0.25, 0));
  const auto result = run(with(prescribed));
  REQUIRE_MESSAGE(result.has_value(), result.error().message);
  CHECK(parameters(result->graph, "y") == Parameters{ElementType::int8, {2}, {-28}});
  CHECK(parameters(result->graph, "r") == Parameters{ElementType::int8, {0.25F}, {-128}});
  // Given twice, it is the same within the digits of a file.
  prescribed.emplace("r", one(0.2500000001, 0));
  CHECK(run(with(prescribed)).has_value());
  prescribed["r"] = one(0.26, 0);
  const std::string error = error_of(with(prescribed));
  CHECK(has(error, "c: it shares its scale with 'r'"));
  CHECK(has(error, "0.26"));
}

TEST_CASE("it counts behind and in front of what moves elements") {
  const std::string ones = "constant() [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n";
  const std::string model =
      "%x: tensor<1x4x4x4xf32> = input()\n"
      "%v: tensor<4x4x1x1xf32> = " +
      ones +
      "%y: tensor<1x4x4x4xf32> = conv(%x, %v)\n"
      "%m: tensor<1x4x2x2xf32> = onnx.MaxPool(%y) {kernel_shape = [2, 2], strides = [2, 2]}\n"
      "%u: tensor<4x4x1x1xf32> = " +
      ones +
      "%z: tensor<1x4x2x2xf32> = conv(%m, %u)\n"
      "output(%z)\n";
  const PrescribedEncodings ends{{"x", one(0.5, 10)}, {"z", one(1, 0)}};
  for (const std::string name : {"y", "m"}) {
    CAPTURE(name);
    PrescribedEncodings prescribed = ends;
    prescribed.emplace(name, one(2, 100));
    const auto result = run(with(prescribed), model);
    REQUIRE_MESSAGE(result.has_value(), result.error().message);
    for (const std::string_view tied : {"y", "m"}) {
      CAPTURE(tied);
      CHECK(parameters(result->graph, tied) == Parameters{ElementType::int8, {2}, {-28}});
    }
  }
  PrescribedEncodings both = ends;
  both.emplace("y", one(2, 100));
  both.emplace("m", one(2, 99));
  CHECK(has(error_of(with(both), model), "m: it shares its scale with 'y'"));
}

TEST_CASE("one scale may be that of each channel, but not the other way round") {
  PrescribedEncodings prescribed = enough();
  prescribed["w"] = one(0.5, 128);
  const auto each = run(with(prescribed));
  REQUIRE_MESSAGE(each.has_value(), each.error().message);
  CHECK(parameters(each->graph, "w") == Parameters{ElementType::int8, {0.5F, 0.5F}, {0, 0}});
  CHECK(codes(each->graph, "w") == std::vector{2, -4, 6, 8});
  prescribed["w"] = channels({0.5, 0.5, 0.5});
  CHECK(has(error_of(with(prescribed)), "w: 3 scales are prescribed for it, which has 2 channels"));
  prescribed["w"] = channels({0.5, 0.5}, 1);
  CHECK(has(error_of(with(prescribed)), "w: scales along axis 1"));
  prescribed["w"] = channels({0.5, 0.5}, -4);  // the first of four
  CHECK(run(with(prescribed)).has_value());
  prescribed["w"] = channels({0.5, 0.5});
  prescribed["w"].encodings[1].zero_point = 120;
  CHECK(has(error_of(with(prescribed)), "w: channels with zero points"));
  prescribed["w"] = channels({0.5, 0.5});
  StaticAffineOptions whole = with(prescribed);
  whole.weight_granularity = Granularity::Kind::tensor;
  CHECK(has(error_of(whole), "w: 2 scales are prescribed for it"));
  prescribed["w"] = one(0.5, 120);
  CHECK(has(error_of(with(prescribed)), "w: channels with zero points"));
  whole = with(prescribed);
  whole.weight_granularity = Granularity::Kind::tensor;
  const auto shifted = run(whole);
  REQUIRE_MESSAGE(shifted.has_value(), shifted.error().message);
  CHECK(codes(shifted->graph, "w") == std::vector{-6, -12, -2, 0});
  prescribed["x"].encodings.clear();
  CHECK(has(error_of(with(prescribed)), "x: an encoding without a scale"));
  prescribed["x"] = channels({0.5, 0.5});
  CHECK(has(error_of(with(prescribed)), "x: 2 scales are prescribed for it"));
}

TEST_CASE("other bits than the run's are refused") {
  PrescribedEncodings prescribed = enough();
  prescribed["y"] = one(0.01, 100, 16);
  CHECK(has(error_of(with(prescribed)),
            "y: codes of 16 bits are prescribed for it, but in this run it is 'activation i8'"));
  prescribed = enough();
  prescribed["v"] = one(0.5, 8, 4);
  CHECK(has(error_of(with(prescribed)), "v: codes of 4 bits are prescribed"));
  prescribed = enough();
  prescribed["y"] = one(std::numeric_limits<double>::quiet_NaN(), 100);
  CHECK(has(error_of(with(prescribed)), "y: what is prescribed for it"));
}

TEST_CASE("a bias has the scale of its products, unless it has one of its own") {
  PrescribedEncodings prescribed = enough();
  prescribed["w"] = one(0.5, 128);
  prescribed["b"] = one(0.03125, 128);
  const auto wide = run(with(prescribed));
  REQUIRE_MESSAGE(wide.has_value(), wide.error().message);
  CHECK(parameters(wide->graph, "b").scales == std::vector{0.25F, 0.25F});
  StaticAffineOptions options = with(prescribed);
  options.bias_bits = 8;
  const auto narrow = run(options);
  REQUIRE_MESSAGE(narrow.has_value(), narrow.error().message);
  CHECK(parameters(narrow->graph, "b") == Parameters{ElementType::int8, {0.03125F}, {0}});
  CHECK(codes(narrow->graph, "b") == std::vector{16, -32});
}

TEST_CASE("a scale that leaves a bias no room is refused, not changed") {
  PrescribedEncodings prescribed = enough();
  prescribed["w"] = channels({0.5, 1e-12});
  const std::string error = error_of(with(prescribed));
  CHECK(has(error, "w: the scale 1e-12 is prescribed for it"));
  CHECK(has(error, "does not fit into 32 bits"));
}

TEST_CASE("it counts more than statistics and contents") {
  StaticAffineOptions options = with({{"r", one(0.25, 0)}});
  StatisticsTable table;
  for (const char* const name : {"x", "c", "r", "y"}) {
    const std::vector<float> ends{0, 255};
    table.values[name].histogram.add(ends);
  }
  options.statistics = std::make_shared<const StatisticsTable>(std::move(table));
  const auto result = run(options);
  REQUIRE_MESSAGE(result.has_value(), result.error().message);
  CHECK(parameters(result->graph, "x").scales == std::vector{1.0F});
  CHECK(parameters(result->graph, "r") == Parameters{ElementType::int8, {0.25F}, {-128}});
}

}  // namespace
}  // namespace quadrant
