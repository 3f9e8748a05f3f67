// OpenVINO against hand calculation on small graphs, and against the Interpreter on the example
// models. tests/peers/openvino_test.py has larger ones, and ONNX Runtime.
#include "quadrant/adapters/openvino.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "quadrant/io/onnx.hpp"
#include "quadrant/ir/text.hpp"
#include "quadrant/methods/weight_only.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "temporary_folder.hpp"

using namespace quadrant;
namespace fs = std::filesystem;

namespace {

/// Null where the library was built without OpenVINO, which is a failure in CI.
const Runtime* openvino() {
  static const auto runtime = OpenVinoRuntime::make();
  if (runtime) return runtime->get();
  const char* ci = std::getenv("CI");
  const bool may_be_missing = ci == nullptr || *ci == '\0';
  CHECK_MESSAGE(may_be_missing, to_string(runtime.error()));
  MESSAGE("skipped: " << to_string(runtime.error()));
  return nullptr;
}

Graph parse(std::string_view text) {
  auto graph = parse_graph(text);
  REQUIRE_MESSAGE(graph, to_string(graph.error()));
  return *std::move(graph);
}

template <class T>
Tensor tensor(ElementType element, Shape shape, const std::vector<T>& values) {
  return Tensor::from_values(element, std::move(shape), std::span<const T>(values));
}
Tensor floats(Shape shape, const std::vector<float>& values) {
  return tensor(ElementType::float32, std::move(shape), values);
}

template <class T>
std::vector<T> values_of(const Tensor& tensor) {
  const auto values = tensor.as<T>();
  return {values.begin(), values.end()};
}

std::vector<Value> named(const Graph& graph, const std::vector<std::string>& names) {
  std::vector<Value> values;
  for (const std::string& name : names) {
    values.push_back(graph.find_value(name));
    REQUIRE_FALSE(values.back().is_absent());
  }
  return values;
}

Expected<std::vector<Tensor>> run(const Runtime& runtime, const Graph& graph,
                                  const std::vector<Value>& watched,
                                  const std::vector<Tensor>& inputs) {
  QUADRANT_TRY(const auto model, runtime.load(graph, watched));
  return run_model(*model, inputs, watched.size());
}

std::vector<Tensor> results(const Runtime& runtime, const Graph& graph,
                            const std::vector<std::string>& watched,
                            const std::vector<Tensor>& inputs) {
  auto found = run(runtime, graph, named(graph, watched), inputs);
  REQUIRE_MESSAGE(found, to_string(found.error()));
  return *std::move(found);
}

/// All reals that the model computes.
std::vector<Value> computed_reals(const Graph& graph) {
  std::vector<Value> values;
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    if (!node.is_valid() || graph.operands(node).empty()) continue;
    for (std::uint32_t i = 0; i < graph.result_count(node); ++i) {
      if (graph.type({node, i}).element == ElementType::float32) values.push_back({node, i});
    }
  }
  return values;
}

/// Normal reals and integers from 1 to 3; extents that are open are `batch`.
std::vector<Tensor> random_inputs(const Graph& graph, std::int64_t batch) {
  std::mt19937 generator(7);
  std::normal_distribution<float> normal;
  std::vector<Tensor> inputs;
  for (const NodeId input : graph.inputs()) {
    const TensorType& type = graph.type({input});
    std::vector<std::int64_t> extents;
    for (const Extent extent : type.shape.extents()) extents.push_back(extent.value_or(batch));
    Shape shape(std::move(extents));
    const auto count = static_cast<std::size_t>(*shape.element_count());
    if (type.element == ElementType::float32) {
      std::vector<float> values(count);
      std::ranges::generate(values, [&] { return normal(generator); });
      inputs.push_back(tensor(type.element, std::move(shape), values));
    } else {
      REQUIRE(type.element == ElementType::int64);
      std::vector<std::int64_t> values(count);
      std::ranges::generate(values, [&] { return 1 + static_cast<int>(generator() % 3); });
      inputs.push_back(tensor(type.element, std::move(shape), values));
    }
  }
  return inputs;
}

/// The largest difference, relative to the largest of `wanted`.
double distance(const Tensor& found, const Tensor& wanted) {
  double largest = 0;
  double difference = 0;
  for (std::size_t i = 0; i < wanted.as<float>().size(); ++i) {
    const auto value = static_cast<double>(wanted.as<float>()[i]);
    largest = std::max(largest, std::abs(value));
    difference = std::max(difference, std::abs(value - static_cast<double>(found.as<float>()[i])));
  }
  return difference == 0 ? 0 : difference / largest;
}

void check_agreement(const Runtime& runtime, const Graph& graph) {
  const std::vector<Value> watched = computed_reals(graph);
  REQUIRE(watched.size() > 5);
  const std::vector<Tensor> inputs = random_inputs(graph, 3);
  const auto found = run(runtime, graph, watched, inputs);
  const auto wanted = run(Interpreter(), graph, watched, inputs);
  REQUIRE_MESSAGE(found, to_string(found.error()));
  REQUIRE_MESSAGE(wanted, to_string(wanted.error()));
  for (std::size_t i = 0; i < watched.size(); ++i) {
    CAPTURE(graph.value_name(watched[i]));
    REQUIRE(to_string((*found)[i].shape()) == to_string((*wanted)[i].shape()));
    REQUIRE((*found)[i].element() == (*wanted)[i].element());
    CHECK(distance((*found)[i], (*wanted)[i]) < 1e-4);
  }
}

/// Sets TMPDIR to a folder of its own, which must be empty again at the end.
class OwnTemporaryFolder {
 public:
  OwnTemporaryFolder() { ::setenv("TMPDIR", folder_.path().c_str(), 1); }
  OwnTemporaryFolder(const OwnTemporaryFolder&) = delete;
  OwnTemporaryFolder& operator=(const OwnTemporaryFolder&) = delete;
  ~OwnTemporaryFolder() {
    CHECK(folder_.names().empty());
    ::unsetenv("TMPDIR");
  }

 private:
  quadrant::test::TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("outputs, inner values, inputs and constants, each as often as asked for") {
  const Runtime* runtime = openvino();
  if (runtime == nullptr) return;
  const OwnTemporaryFolder folder;
  const Graph graph = parse(R"(
graph {opset = 17}
%unused: tensor<1xi64> = input()
%x: tensor<?x2xf32> = input()
%w: tensor<2x2xf32> = constant() [1, 2, 3, 4]
%a: tensor<?x2xf32> = matmul(%x, %w)
%b: tensor<?x2xf32> = onnx.Relu(%a)
%c: tensor<?x2xf32> = add(%b, %b)
%d: tensor<2x2xf32> = onnx.Neg(%w)
output(%c)
)");
  const std::vector<Tensor> inputs{tensor<std::int64_t>(ElementType::int64, {1}, {7}),
                                   floats({1, 2}, {1, -1})};
  const auto found = results(*runtime, graph, {"c", "x", "a", "w", "c", "b"}, inputs);
  CHECK(values_of<float>(found[0]) == std::vector<float>{0, 0});
  CHECK(values_of<float>(found[1]) == std::vector<float>{1, -1});
  CHECK(values_of<float>(found[2]) == std::vector<float>{-2, -2});
  CHECK(values_of<float>(found[3]) == std::vector<float>{1, 2, 3, 4});
  CHECK(values_of<float>(found[4]) == std::vector<float>{0, 0});
  CHECK(values_of<float>(found[5]) == std::vector<float>{0, 0});
  CHECK(found[2].shape() == Shape{1, 2});

  SUBCASE("another batch size, with the same model") {
    const auto model = runtime->load(graph, named(graph, {"a"}));
    REQUIRE(model);
    for (const std::int64_t batch : {1, 3, 0, 2}) {
      std::vector<float> rows;
      std::vector<float> wanted;
      for (std::int64_t i = 0; i < batch; ++i) {
        rows.insert(rows.end(), {static_cast<float>(i), 1});
        wanted.insert(wanted.end(), {static_cast<float>(i + 3), static_cast<float>(2 * i + 4)});
      }
      const auto given = run_model(**model, std::vector{inputs[0], floats({batch, 2}, rows)}, 1);
      REQUIRE_MESSAGE(given, to_string(given.error()));
      CHECK(given->front().shape() == Shape{batch, 2});
      CHECK(values_of<float>(given->front()) == wanted);
    }
  }
  SUBCASE("nothing to compute") {
    const auto given = results(*runtime, graph, {"w", "x"}, inputs);
    CHECK(values_of<float>(given[0]) == std::vector<float>{1, 2, 3, 4});
    CHECK(values_of<float>(given[1]) == std::vector<float>{1, -1});
  }
  SUBCASE("what depends on constants alone") {
    const auto given = results(*runtime, graph, {"d"}, inputs);
    CHECK(values_of<float>(given[0]) == std::vector<float>{-1, -2, -3, -4});
  }
  SUBCASE("inputs that do not fit") {
    const auto refused = run(*runtime, graph, named(graph, {"c"}), {inputs[0]});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::usage);
  }
}

TEST_CASE("several threads, each with its own runs") {
  const Runtime* runtime = openvino();
  if (runtime == nullptr) return;
  const Graph graph = parse(R"(
graph {opset = 17}
%x: tensor<4xf32> = input()
%y: tensor<4xf32> = add(%x, %x)
output(%y)
)");
  const auto model = runtime->load(graph, output_values(graph));
  REQUIRE(model);
  std::vector<int> good(4, 0);
  {
    std::vector<std::jthread> threads;
    for (int id = 0; id < 4; ++id) {
      threads.emplace_back([&, id] {
        for (int i = 0; i < 50; ++i) {
          const auto value = static_cast<float>(1000 * id + i);
          const auto found = run_model(**model, std::vector{floats({4}, {value, 0, 1, -value})}, 1);
          const std::vector<float> wanted{2 * value, 0, 2, -2 * value};
          good[static_cast<std::size_t>(id)] +=
              found && values_of<float>(found->front()) == wanted ? 1 : 0;
        }
      });
    }
  }
  CHECK(good == std::vector<int>(4, 50));
}

TEST_CASE("element types come and go as they are") {
  const Runtime* runtime = openvino();
  if (runtime == nullptr) return;
  const Graph graph = parse(R"(
graph {opset = 21}
%b: tensor<3xi1> = input()
%s8: tensor<3xi8> = input()
%u8: tensor<3xu8> = input()
%s16: tensor<3xi16> = input()
%u16: tensor<3xu16> = input()
%s32: tensor<3xi32> = input()
%s64: tensor<3xi64> = input()
%f16: tensor<3xf16> = input()
%bf16: tensor<3xbf16> = input()
%f64: tensor<f64> = input()
%i4: tensor<5xi4> = input()
%u4: tensor<5xu4> = input()
%rb: tensor<3xi1> = onnx.Not(%b)
%rs8: tensor<3xi8> = identity(%s8)
%ru8: tensor<3xu8> = identity(%u8)
%rs16: tensor<3xi16> = identity(%s16)
%ru16: tensor<3xu16> = identity(%u16)
%rs32: tensor<3xi32> = add(%s32, %s32)
%rs64: tensor<3xi64> = add(%s64, %s64)
%rf16: tensor<3xf16> = add(%f16, %f16)
%rbf16: tensor<3xbf16> = add(%bf16, %bf16)
%rf64: tensor<f64> = add(%f64, %f64)
%ri4: tensor<5xi4> = identity(%i4)
%ru4: tensor<5xu4> = identity(%u4)
%wide: tensor<5xf32> = cast(%i4) {to = 1}
output(%rb)
)");
  const std::vector<Tensor> inputs{
      tensor<std::uint8_t>(ElementType::boolean, {3}, {1, 0, 1}),
      tensor<std::int8_t>(ElementType::int8, {3}, {-128, 0, 127}),
      tensor<std::uint8_t>(ElementType::uint8, {3}, {0, 128, 255}),
      tensor<std::int16_t>(ElementType::int16, {3}, {-32768, 0, 32767}),
      tensor<std::uint16_t>(ElementType::uint16, {3}, {0, 32768, 65535}),
      tensor<std::int32_t>(ElementType::int32, {3}, {-5, 0, 1000000}),
      tensor<std::int64_t>(ElementType::int64, {3}, {-5, 0, 1000000}),
      tensor<std::uint16_t>(ElementType::float16, {3}, {0x3c00, 0xc000, 0}),   // 1, -2, 0
      tensor<std::uint16_t>(ElementType::bfloat16, {3}, {0x3f80, 0xc000, 0}),  // 1, -2, 0
      tensor<double>(ElementType::float64, Shape::scalar(), {1.5}),
      tensor<std::int8_t>(ElementType::int4, {5}, {-8, -1, 0, 3, 7}),
      tensor<std::uint8_t>(ElementType::uint4, {5}, {0, 15, 1, 8, 9}),
  };
  const auto found = results(*runtime, graph,
                             {"rb", "rs8", "ru8", "rs16", "ru16", "rs32", "rs64", "rf16", "rbf16",
                              "rf64", "ri4", "ru4", "wide"},
                             inputs);
  CHECK(values_of<std::uint8_t>(found[0]) == std::vector<std::uint8_t>{0, 1, 0});
  for (const std::size_t same : {1U, 2U, 3U, 4U}) {
    CAPTURE(same);
    CHECK(found[same].element() == inputs[same].element());
    CHECK(std::ranges::equal(found[same].bytes(), inputs[same].bytes()));
  }
  CHECK(values_of<std::int32_t>(found[5]) == std::vector<std::int32_t>{-10, 0, 2000000});
  CHECK(values_of<std::int64_t>(found[6]) == std::vector<std::int64_t>{-10, 0, 2000000});
  CHECK(values_of<std::uint16_t>(found[7]) == std::vector<std::uint16_t>{0x4000, 0xc400, 0});
  CHECK(values_of<std::uint16_t>(found[8]) == std::vector<std::uint16_t>{0x4000, 0xc080, 0});
  CHECK(found[9].shape() == Shape::scalar());
  CHECK(values_of<double>(found[9]) == std::vector<double>{3});
  CHECK(found[10].element() == ElementType::int4);
  CHECK(values_of<std::int8_t>(found[10]) == std::vector<std::int8_t>{-8, -1, 0, 3, 7});
  CHECK(found[11].element() == ElementType::uint4);
  CHECK(values_of<std::uint8_t>(found[11]) == std::vector<std::uint8_t>{0, 15, 1, 8, 9});
  CHECK(values_of<float>(found[12]) == std::vector<float>{-8, -1, 0, 3, 7});
}

// round(x / scale), half to even, then + zero point, then the range; back: (code - zero point) *
// scale.
TEST_CASE("quantize means what it says") {
  const Runtime* runtime = openvino();
  if (runtime == nullptr) return;

  SUBCASE("ties, with a zero point that is odd; the results alone, too") {
    const Graph graph = parse(R"(
graph {opset = 13}
%x: tensor<8xf32> = input()
%q: tensor<8x!quant.uniform<i8:f32, 2.0:3>> = quantize(%x)
%y: tensor<8xf32> = dequantize(%q)
%z: tensor<8xf32> = onnx.Neg(%y)
output(%z)
)");
    const std::vector<Tensor> inputs{floats({8}, {-6, -5, -3, -1, 1, 3, 5, 1000})};
    const std::vector<float> wanted{6, 4, 4, 0, 0, -4, -4, -248};
    const auto all = results(*runtime, graph, {"q", "y", "z"}, inputs);
    CHECK(all[0].element() == ElementType::int8);
    CHECK(values_of<std::int8_t>(all[0]) == std::vector<std::int8_t>{0, 1, 1, 3, 3, 5, 5, 127});
    CHECK(values_of<float>(all[1]) == std::vector<float>{-6, -4, -4, 0, 0, 4, 4, 248});
    CHECK(values_of<float>(all[2]) == wanted);
    CHECK(values_of<float>(results(*runtime, graph, {"z"}, inputs)[0]) == wanted);
  }
  SUBCASE("16 bits") {
    const Graph graph = parse(R"(
graph {opset = 21}
%x: tensor<4xf32> = input()
%q: tensor<4x!quant.uniform<u16:f32, 0.25:32769>> = quantize(%x)
%y: tensor<4xf32> = dequantize(%q)
%z: tensor<4xf32> = onnx.Neg(%y)
output(%z)
)");
    const std::vector<Tensor> inputs{floats({4}, {0.3F, -0.3F, 1e9F, -1e9F})};
    const auto found = results(*runtime, graph, {"z"}, inputs);
    CHECK(values_of<float>(found[0]) == std::vector<float>{-0.25F, 0.25F, -8191.5F, 8192.25F});
  }
  SUBCASE("4 bits, fewer codes than there are, an axis, float16") {
    const Graph graph = parse(R"(
graph {opset = 21}
%x: tensor<2x3xf16> = input()
%q: tensor<2x3x!quant.uniform<i4<-7:7>:f16:0, {1.0, 0.5}>> = quantize(%x)
%y: tensor<2x3xf16> = dequantize(%q)
output(%y)
)");
    const std::vector<Tensor> inputs{
        // 1, 2, -9 and 1, 2, -9
        tensor<std::uint16_t>(ElementType::float16, {2, 3},
                              {0x3c00, 0x4000, 0xc880, 0x3c00, 0x4000, 0xc880})};
    const auto found = results(*runtime, graph, {"q", "y"}, inputs);
    CHECK(values_of<std::int8_t>(found[0]) == std::vector<std::int8_t>{1, 2, -7, 2, 4, -7});
    CHECK(values_of<std::uint16_t>(found[1]) ==  // 1, 2, -7 and 1, 2, -3.5
          std::vector<std::uint16_t>{0x3c00, 0x4000, 0xc700, 0x3c00, 0x4000, 0xc300});
  }
  SUBCASE("4 bits on the way, an odd number of them") {
    const Graph graph = parse(R"(
graph {opset = 21}
%x: tensor<3x1xf32> = input()
%q: tensor<3x1x!quant.uniform<u4:f32, 2.0:1>> = quantize(%x)
%t: tensor<1x3x!quant.uniform<u4:f32, 2.0:1>> = transpose(%q) {perm = [1, 0]}
%y: tensor<1x3xf32> = dequantize(%t)
output(%y)
)");
    const std::vector<Tensor> inputs{floats({3, 1}, {-4, 7.1F, 100})};
    const auto found = results(*runtime, graph, {"t", "q", "y"}, inputs);
    CHECK(found[0].element() == ElementType::uint4);
    CHECK(values_of<std::uint8_t>(found[0]) == std::vector<std::uint8_t>{0, 5, 15});
    CHECK(values_of<std::uint8_t>(found[1]) == std::vector<std::uint8_t>{0, 5, 15});
    CHECK(values_of<float>(found[2]) == std::vector<float>{-2, 8, 28});
    CHECK(values_of<float>(results(*runtime, graph, {"y"}, inputs)[0]) ==
          std::vector<float>{-2, 8, 28});
  }
  SUBCASE("opset 10, which has no Round") {
    const Graph graph = parse(R"(
graph {opset = 10}
%x: tensor<3xf32> = input()
%q: tensor<3x!quant.uniform<u8:f32, 0.5:10>> = quantize(%x)
%y: tensor<3xf32> = dequantize(%q)
output(%y)
)");
    const auto found = results(*runtime, graph, {"q", "y"}, {floats({3}, {1.1F, -100, 100})});
    CHECK(values_of<std::uint8_t>(found[0]) == std::vector<std::uint8_t>{12, 0, 210});
    CHECK(values_of<float>(found[1]) == std::vector<float>{1, -5, 100});
  }
}

TEST_CASE("errors are OpenVINO's own, and nothing stays behind") {
  const Runtime* runtime = openvino();
  if (runtime == nullptr) return;

  SUBCASE("operations that it does not know, all of them; what is not needed may be anything") {
    const OwnTemporaryFolder folder;
    const Graph graph = parse(R"(
graph {opset = 17}
%x: tensor<2xf32> = input()
%a: tensor<2xf32> = onnx.Neg(%x)
%b: tensor<2xf32> = onnx.mine::First(%a)
%c: tensor<2xf32> = onnx.mine::Second(%b)
output(%c)
)");
    const auto model = runtime->load(graph, output_values(graph));
    REQUIRE_FALSE(model);
    CHECK(model.error().code == ErrorCode::impossible);
    INFO(model.error().message);
    CHECK(model.error().message.find("mine.First") != std::string::npos);
    CHECK(model.error().message.find("mine.Second") != std::string::npos);
    CHECK(model.error().message.find('\n') == std::string::npos);
    CHECK(values_of<float>(results(*runtime, graph, {"a"}, {floats({2}, {1, 2})})[0]) ==
          std::vector<float>{-1, -2});
  }
  SUBCASE("lengths of sequences, which it ignores where shapes are open") {
    const std::string_view text = R"(
graph {opset = 14}
%x: tensor<3x?x1xf32> = input()
%lengths: tensor<?xi32> = input()
%w: tensor<1x1x1xf32> = constant() [1]
%r: tensor<1x1x1xf32> = constant() [1]
%y: tensor<3x1x?x1xf32>, %h: tensor<1x?x1xf32> = rnn(%x, %w, %r, _, %lengths) {name = "the layer", hidden_size = 1, activations = ["Relu"]}
output(%h)
)";
    const Graph open = parse(text);
    const auto model = runtime->load(open, output_values(open));
    REQUIRE_FALSE(model);
    CHECK(model.error().code == ErrorCode::impossible);
    CHECK(model.error().message.find("'the layer'") != std::string::npos);

    std::string fixed(text);
    std::ranges::replace(fixed, '?', '2');
    const std::vector inputs{floats({3, 2, 1}, {1, 1, 10, 10, 100, 100}),
                             tensor<std::int32_t>(ElementType::int32, {2}, {3, 1})};
    CHECK(values_of<float>(results(*runtime, parse(fixed), {"h"}, inputs)[0]) ==
          std::vector<float>{111, 1});
  }
  SUBCASE("a run that cannot be, and then one that can") {
    const Graph graph = parse(R"(
graph {opset = 17}
%x: tensor<?xf32> = input()
%shape: tensor<2xi64> = constant() [2, 2]
%y: tensor<2x2xf32> = reshape(%x, %shape) {name = "the reshape"}
output(%y)
)");
    const auto model = runtime->load(graph, output_values(graph));
    REQUIRE(model);
    const auto refused = run_model(**model, std::vector{floats({3}, {1, 2, 3})}, 1);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::impossible);
    INFO(refused.error().message);
    CHECK(refused.error().message.find("the reshape") != std::string::npos);
    const auto good = run_model(**model, std::vector{floats({4}, {1, 2, 3, 4})}, 1);
    REQUIRE(good);
    CHECK(values_of<float>(good->front()) == std::vector<float>{1, 2, 3, 4});
  }
  SUBCASE("no place for the temporary file") {
    const Graph graph = parse(R"(
graph {opset = 17}
%x: tensor<2xf32> = input()
%y: tensor<2xf32> = onnx.Neg(%x)
output(%y)
)");
    ::setenv("TMPDIR", "/proc", 1);
    const auto model = runtime->load(graph, output_values(graph));
    ::unsetenv("TMPDIR");
    REQUIRE_FALSE(model);
    CHECK(model.error().code == ErrorCode::io);
    CHECK(model.error().place.file == "/proc");
  }
  SUBCASE("an observer's error ends the run") {
    const Graph graph = parse(R"(
graph {opset = 17}
%x: tensor<2xf32> = input()
%y: tensor<2xf32> = onnx.Neg(%x)
output(%y)
)");
    const auto model = runtime->load(graph, output_values(graph));
    REQUIRE(model);
    const auto stop = [](std::size_t, const Tensor&) -> Expected<void> {
      return fail(ErrorCode::usage, "enough");
    };
    const std::vector inputs{floats({2}, {1, 2})};
    const auto ended = (*model)->run(inputs, stop);
    REQUIRE_FALSE(ended);
    CHECK(ended.error().message == "enough");
    CHECK(run_model(**model, inputs, 1));
  }
}

TEST_CASE("the interpreter's numbers, for each value of the example models") {
  const Runtime* runtime = openvino();
  if (runtime == nullptr) return;
  for (const char* name : {"digits_cnn", "digits_lstm", "tiny_transformer"}) {
    CAPTURE(name);
    const auto graph =
        read_onnx(std::string(QUADRANT_SOURCE_DIR "/examples/models/") + name + ".onnx");
    REQUIRE_MESSAGE(graph, to_string(graph.error()));
    check_agreement(*runtime, *graph);
    for (const WeightOnlyOptions& options :
         {WeightOnlyOptions{}, WeightOnlyOptions{.bits = 4,
                                                 .symmetry = Symmetry::asymmetric,
                                                 .granularity = Granularity::Kind::block,
                                                 .block_size = 16}}) {
      CAPTURE(options.bits);
      const auto quantized = quantize_weight_only(*graph, options);
      REQUIRE_MESSAGE(quantized, to_string(quantized.error()));
      check_agreement(*runtime, quantized->graph);
    }
  }
}
