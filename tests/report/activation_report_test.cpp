#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calibration/memory_data.hpp"
#include "ir/ops/elementwise.hpp"
#include "methods/static_affine/build.hpp"
#include "model_text.hpp"
#include "quadrant/calibration/compare.hpp"
#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/report/html_report.hpp"
#include "quadrant/report/summary.hpp"
#include "report/activations_html.hpp"

using namespace quadrant;
using test::value_of;

namespace {

std::size_t times_in(std::string_view page, std::string_view wanted) {
  std::size_t found = 0;
  for (auto at = page.find(wanted); at != std::string_view::npos; at = page.find(wanted, at + 1))
    ++found;
  return found;
}

StatisticsTable statistics_of(
    const std::vector<std::pair<std::string, std::vector<float>>>& values) {
  StatisticsTable table;
  table.samples = 1;
  for (const auto& [name, reals] : values) {
    table.values[name].add(Tensor::from_values<float>(
        ElementType::float32, Shape{static_cast<std::int64_t>(reals.size())}, reals));
  }
  return table;
}

std::vector<float> normals(std::size_t size, float sigma = 1) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal(0, sigma);
  std::vector<float> values(size);
  for (float& value : values) value = normal(random);
  return values;
}

// y = Relu(x + x), and in codes: x from -2 to 1.75, in steps of a quarter, the sum from 0 to 3.75.
Graph real_model() {
  return test::parsed(
      "%x: tensor<4xf32> = input()\n%h: tensor<4xf32> = add(%x, %x)\n"
      "%y: tensor<4xf32> = onnx.Relu(%h)\noutput(%y) {name = \"y\"}\n");
}
Graph coded_model() {
  return test::parsed(
      "%x: tensor<4xf32> = input()\n"
      "%x_quantized: tensor<4x!quant.uniform<i4:f32, 0.25>> = quantize(%x)\n"
      "%h: tensor<4x!quant.uniform<i4:f32, 0.25:-8>> = add(%x_quantized, %x_quantized)\n"
      "%y: tensor<4x!quant.uniform<i4:f32, 0.25:-8>> = onnx.Relu(%h)\n"
      "%z: tensor<4xf32> = dequantize(%y)\noutput(%z) {name = \"y\"}\n");
}

ActivationReport report_on(const StatisticsTable* statistics, std::size_t most = 2000) {
  return value_of(report_activations(
      {.real = real_model(), .quantized = coded_model(), .statistics = statistics, .most = most}));
}

ReportedActivation row(const ActivationReport& report, std::string_view name) {
  const auto found = std::ranges::find(report.activations, name, &ReportedActivation::name);
  REQUIRE(found != report.activations.end());
  return *found;
}

std::uint64_t sum_of(const ValueHistogram::Bins& bins) {
  return std::accumulate(bins.begin(), bins.end(), std::uint64_t{0});
}

}  // namespace

TEST_CASE("figures of a value are those of its elements, one by one") {
  const std::vector<float> values = normals(10000);
  const StatisticsTable statistics = statistics_of({{"x", values}});
  const ActivationReport report = report_on(&statistics);
  const ReportedActivation x = row(report, "x");
  CHECK(x.maker == "an input");
  CHECK(x.codes == "i4");
  REQUIRE(x.coded);
  CHECK(x.coded->range.low == -2);
  CHECK(x.coded->range.high == 1.75);
  CHECK(x.coded->step == 0.25);
  CHECK(x.coded->zero_point == 0);
  REQUIRE(x.seen);
  const auto [least, most] = std::ranges::minmax(values);
  CHECK(x.seen->low == static_cast<double>(least));
  CHECK(x.seen->high == static_cast<double>(most));
  CHECK(x.count == values.size());

  double clipped = 0;
  double at_low = 0;
  double at_high = 0;
  double signal = 0;
  double noise = 0;
  std::array<double, ValueHistogram::bin_count> before{};
  std::array<double, ValueHistogram::bin_count> after{};
  const double low = std::min(-2.0, static_cast<double>(least));
  const double width =
      (std::max(1.75, static_cast<double>(most)) - low) / ValueHistogram::bin_count;
  const auto bin = [&](double value) {
    return std::min<std::size_t>(static_cast<std::size_t>((value - low) / width),
                                 ValueHistogram::bin_count - 1);
  };
  for (const float each : values) {
    const auto value = static_cast<double>(each);
    const double code = std::clamp(std::nearbyint(value / 0.25), -8.0, 7.0);
    const double error = value - 0.25 * code;
    clipped += std::fabs(error) > 0.125 ? 1 : 0;
    at_low += code <= -8 ? 1 : 0;
    at_high += code >= 7 ? 1 : 0;
    signal += value * value;
    noise += error * error;
    ++before[bin(value)];
    ++after[bin(0.25 * code)];
  }
  // Bins of 1/2048: of these values, about 5 lie in the fullest.
  const auto size = static_cast<double>(values.size());
  REQUIRE(x.shares);
  CHECK(x.shares->clipped * size == doctest::Approx(clipped).epsilon(0.02));
  CHECK(x.shares->at_low * size == doctest::Approx(at_low).epsilon(0.05));
  CHECK(x.shares->at_high * size == doctest::Approx(at_high).epsilon(0.02));
  REQUIRE(x.sqnr_db);
  CHECK(*x.sqnr_db == doctest::Approx(10 * std::log10(signal / noise)).epsilon(0.005));
  REQUIRE(x.histogram);
  REQUIRE(x.histogram->after);
  CHECK(x.histogram->low == low);
  CHECK(sum_of(x.histogram->before) == values.size());
  CHECK(sum_of(*x.histogram->after) == values.size());
  for (std::size_t i = 0; i < ValueHistogram::bin_count; ++i) {
    CHECK(std::fabs(static_cast<double>(x.histogram->before[i]) - before[i]) <= 10);
    CHECK(std::fabs(static_cast<double>((*x.histogram->after)[i]) - after[i]) <= 10);
  }
}

TEST_CASE("what a Relu takes away is not clipped, and counts as its operand's") {
  const StatisticsTable statistics =
      statistics_of({{"x", {-1, 1}}, {"h", {-3, -1, 2, 3}}, {"y", {0, 0, 2, 3}}});
  const ReportedActivation h = row(report_on(&statistics), "h");
  CHECK(h.maker == "add h");
  CHECK(h.seen->low == 0);
  CHECK(h.shares->clipped == 0);
  CHECK(h.shares->at_low == 0.5);
  CHECK(h.shares->at_high == 0);
}

TEST_CASE("the worst come first, those that nobody saw last, and the best are left out") {
  const StatisticsTable statistics = statistics_of({{"x", {-2, 1.5F, 0.1F}}, {"y", {0, 9, 9, 9}}});
  const ActivationReport report = report_on(&statistics);
  REQUIRE(report.activations.size() == 3);
  CHECK(report.activations[0].name == "h");  // by its Relu's values
  CHECK(report.activations[1].name == "y");
  CHECK(report.activations[2].name == "x");
  CHECK(report.samples == 1);
  const ActivationReport two = report_on(&statistics, 2);
  CHECK(two.activations.size() == 2);
  CHECK(two.left_out == 1);
  CHECK(times_in(activations_section(two).content, "Left out: 1 activation of higher SQNR") == 1);

  StatisticsTable some = statistics;
  some.values.erase("y");
  const ActivationReport unseen = report_on(&some);
  CHECK(unseen.activations[0].name == "x");
  CHECK_FALSE(unseen.activations[1].seen);
  CHECK_FALSE(unseen.activations[1].shares);
  CHECK_FALSE(unseen.activations[1].sqnr_db);
}

TEST_CASE("without statistics, and of ranges alone, what is known is said") {
  const ActivationReport none = report_on(nullptr);
  REQUIRE(none.activations.size() == 3);
  CHECK(row(none, "x").coded);
  CHECK(times_in(activations_section(none).content, "No ranges were observed") == 1);

  StatisticsTable ranges;
  ranges.values.emplace("x", value_of(TensorStatistics::from_range(-5, 5)));
  const ActivationReport report = report_on(&ranges);
  const ReportedActivation x = row(report, "x");
  CHECK(x.seen->high == 5);
  CHECK_FALSE(x.shares);
  CHECK_FALSE(x.histogram);
  CHECK_FALSE(x.sqnr_db);
}

TEST_CASE("a model whose real numbers stay has no activations to report") {
  const Graph real = real_model();
  CHECK(value_of(report_activations({.real = real, .quantized = real})).activations.empty());
}

TEST_CASE("errors in and out are those of the comparison") {
  test::Model model(5);
  const Value x = model.input("x", {1, 3, 4, 4});
  const Value a = test::one_by_one(model, x, "a");
  const Value r = model.add(std::string(ops::Relu::kind), {a}, "r");
  model.output(test::one_by_one(model, r, "b"));
  const auto statistics = model.statistics();
  const auto made = test::quantized_by_operands(model, {.statistics = statistics});
  Graph explicit_graph = made.graph;
  make_quantization_explicit(explicit_graph);
  const MemoryData data({{model.sample()}, {model.sample()}});
  const Comparison comparison =
      value_of(compare(model.graph, explicit_graph, Interpreter(), data, {.layers = true}));
  const auto layer = std::ranges::find(comparison.layers, "r", &ValueAgreement::name);
  REQUIRE(layer != comparison.layers.end());

  const ActivationReport report = value_of(report_activations({.real = model.graph,
                                                               .quantized = made.graph,
                                                               .statistics = statistics.get(),
                                                               .comparison = &comparison}));
  for (const ReportedActivation& each : report.activations) {
    CHECK_MESSAGE(!model.graph.find_value(each.name).is_absent(), each.name);
  }
  const ReportedActivation relu = row(report, "r");
  CHECK(relu.maker == "onnx.Relu r");
  CHECK(*relu.sqnr_db_behind == layer->agreement.sqnr_db());
  // What it computes from was not compared, being codes by its name no more, nor are inputs.
  CHECK_FALSE(row(report, "x").sqnr_db_behind);
  CHECK(relu.shares->clipped == 0);
  CHECK(relu.sqnr_db > 30);
  CHECK(relu.sqnr_db < 60);

  const std::string page = print_comparison_html("<a>", comparison, report);
  CHECK(times_in(page, "<title>&lt;a&gt;</title>") == 1);
  CHECK(times_in(page, "<tbody class=\"activation\"") == report.activations.size());
  CHECK(times_in(page, "out, dB") == 1);
  CHECK(times_in(page, "id=\"outputs\"") == 1);
}

TEST_CASE("hostile names of activations are text") {
  const std::string evil = "</script><b>\x01\xE2\x80\xA8\xFF\"'&";
  ActivationReport report;
  report.activations = {{.name = evil, .maker = evil, .codes = evil}};
  const std::string page = print_comparison_html(evil, {}, report);
  CHECK(times_in(page, "</script>") == 1);
  CHECK(times_in(page, "<b>\\") == 0);
  CHECK(page.find('\x01') == page.npos);
}
