// Models to graphs, and models that are none.
#include <functional>

#include "graph_helpers.hpp"
#include "quadrant/ir/graph.hpp"
#include "shortened.hpp"

using namespace tflite_test;

namespace {

constexpr std::string_view residual = R"(graph {}
%x: tensor<1x2x4x4x!quant.uniform<i8:f32, 0.5:3>> = input()
%w: tensor<2x2x3x3x!quant.uniform<i8<-127:127>:f32:0, {0.25, 0.5}>> = constant() <...>
%c: tensor<1x2x4x4x!quant.uniform<i8:f32, 1.0>> = conv(%x, %w) {pads = [1, 1, 1, 1]}
%r: tensor<1x2x4x4x!quant.uniform<i8:f32, 1.0>> = onnx.Relu(%c)
%a: tensor<1x2x4x4x!quant.uniform<i8:f32, 1.0>> = add(%r, %x)
%p: tensor<1x2x2x2x!quant.uniform<i8:f32, 1.0>> = onnx.MaxPool(%a) {kernel_shape = [2, 2], strides = [2, 2]}
output(%p)
)";

schema::ModelT small_model() { return model_of(bytes_of(graph_of(residual))); }

/// Why the model is refused once `change` was made.
Error error_after(const std::function<void(schema::ModelT&)>& change) {
  schema::ModelT model = small_model();
  change(model);
  return error_of(bytes_of(model));
}

std::vector<std::string> kinds_of(const Graph& graph) {
  std::vector<std::string> kinds;
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    const NodeId node = graph.node_at(i);
    if (!node.is_valid() || graph.constant(node)) continue;
    if (graph.kind(node) != "input" && graph.kind(node) != "output") {
      kinds.emplace_back(graph.kind(node));
    }
  }
  return kinds;
}

}  // namespace

TEST_CASE("what was written is read as it was") {
  const std::vector<std::byte> bytes = bytes_of(graph_of(residual));
  const Graph graph = graph_of(bytes);
  // The file's TRANSPOSEs are where they were.
  const std::vector<std::string> kinds = kinds_of(graph);
  CAPTURE(print_graph(graph));
  CHECK(kinds == Names{"conv", "onnx.Relu", "add", "onnx.MaxPool"});
  const Value w = graph.find_value("w");
  CHECK(graph.type(w).shape == Shape{2, 2, 3, 3});
  CHECK(graph.type(w).uniform()->granularity == Granularity::per_axis(0));
  CHECK(graph.type(graph.find_value("p")).shape == Shape{1, 2, 2, 2});
  // And is written as it came.
  schema::ModelT first = model_of(bytes);
  schema::ModelT second = model_of(bytes_of(graph));
  CHECK(operators_of(first) == operators_of(second));
}

TEST_CASE("open extents of a file are open, but for those of contents") {
  schema::ModelT model = small_model();
  for (auto& tensor : main_of(model).tensors) {
    // The first axis of all, of weights and lists, too.
    tensor->shape_signature = tensor->shape;
    if (!tensor->shape.empty()) tensor->shape_signature[0] = -1;
  }
  const Graph graph = graph_of(bytes_of(model));
  CHECK(graph.type(graph.find_value("x")).shape == Shape{Extent::open(), 2, 4, 4});
  CHECK(graph.type(graph.find_value("w")).shape == Shape{2, 2, 3, 3});
}

TEST_CASE("an operator that is not known is carried") {
  schema::ModelT model = small_model();
  auto& op = *main_of(model).operators[3];
  auto code = std::make_unique<schema::OperatorCodeT>();
  code->builtin_code = schema::BuiltinOperator::SKIP_GRAM;
  code->deprecated_builtin_code = 30;
  code->version = 2;
  op.opcode_index = static_cast<std::uint32_t>(model.operator_codes.size());
  op.inputs.resize(1);
  model.operator_codes.push_back(std::move(code));
  schema::SkipGramOptionsT options;
  options.ngram_size = 3;
  op.builtin_options.Set(options);

  const Graph graph = graph_of(bytes_of(model));
  const std::vector<std::string> kinds = kinds_of(graph);
  CHECK(std::ranges::find(kinds, "tflite.SKIP_GRAM") != kinds.end());
  schema::ModelT again = model_of(bytes_of(graph));
  for (const auto& written : main_of(again).operators) {
    const auto& kind = *again.operator_codes[written->opcode_index];
    if (kind.builtin_code != schema::BuiltinOperator::SKIP_GRAM) continue;
    CHECK(kind.version == 2);
    REQUIRE(written->builtin_options.AsSkipGramOptions());
    CHECK(written->builtin_options.AsSkipGramOptions()->ngram_size == 3);
    return;
  }
  FAIL("the operator is gone");
}

TEST_CASE("a custom operator keeps its name and options") {
  schema::ModelT model = small_model();
  auto& op = *main_of(model).operators[3];
  auto code = std::make_unique<schema::OperatorCodeT>();
  code->builtin_code = schema::BuiltinOperator::CUSTOM;
  code->deprecated_builtin_code = 32;
  code->custom_code = "Teleport";
  op.opcode_index = static_cast<std::uint32_t>(model.operator_codes.size());
  model.operator_codes.push_back(std::move(code));
  op.builtin_options.Reset();
  op.custom_options = {1, 2, 3};
  const Graph graph = graph_of(bytes_of(model));
  schema::ModelT again = model_of(bytes_of(graph));
  bool found = false;
  for (const auto& written : main_of(again).operators) {
    if (again.operator_codes[written->opcode_index]->custom_code != "Teleport") continue;
    found = true;
    CHECK(written->custom_options == std::vector<std::uint8_t>{1, 2, 3});
  }
  CHECK(found);
}

TEST_CASE("damage is named with its place") {
  struct Case {
    std::string_view message;
    std::function<void(schema::ModelT&)> change;
  };
  const std::vector<Case> cases{
      {"version 4", [](schema::ModelT& model) { model.version = 4; }},
      {"without a graph", [](schema::ModelT& model) { model.subgraphs.clear(); }},
      {"buffer 77", [](schema::ModelT& model) { tensor_of(model, "w").buffer = 77; }},
      {"tensor 99 of", [](schema::ModelT& model) { main_of(model).operators[1]->inputs[0] = 99; }},
      {"tensor -7 of", [](schema::ModelT& model) { main_of(model).operators[1]->outputs[0] = -7; }},
      {"operator code 50",
       [](schema::ModelT& model) { main_of(model).operators[0]->opcode_index = 50; }},
      {"an extent of -3", [](schema::ModelT& model) { tensor_of(model, "w").shape[1] = -3; }},
      {"bytes for", [](schema::ModelT& model) { tensor_of(model, "w").shape[1] = 4; }},
      {"more elements",
       [&](schema::ModelT& model) {
         tensor_of(model, "p").shape = {1 << 30, 1 << 30, 1 << 30, 1 << 30};
       }},
      {"scales along axis",
       [&](schema::ModelT& model) { tensor_of(model, "w").quantization->quantized_dimension = 2; }},
      {"a scale of 0",
       [](schema::ModelT& model) { tensor_of(model, "x").quantization->scale[0] = 0; }},
      {"a zero point of 400",
       [](schema::ModelT& model) { tensor_of(model, "x").quantization->zero_point[0] = 400; }},
      {"is computed twice",
       [](schema::ModelT& model) {
         main_of(model).operators[2]->outputs = main_of(model).operators[1]->outputs;
       }},
      {"is read before it is computed",
       [](schema::ModelT& model) {
         std::swap(main_of(model).operators[1], main_of(model).operators[2]);
       }},
      {"no permutation",
       [](schema::ModelT& model) {
         auto& op = *main_of(model).operators[0];
         auto& perm = *main_of(model).tensors[static_cast<std::size_t>(op.inputs[1])];
         model.buffers[perm.buffer]->data[0] = 2;
       }},
      {"of no extent",
       [](schema::ModelT& model) {
         main_of(model).operators[1]->builtin_options.AsConv2DOptions()->stride_h = 0;
       }},
  };
  for (const Case& test : cases) {
    CAPTURE(test.message);
    const Error error = error_after(test.change);
    CHECK(error.code == ErrorCode::invalid_model);
    CHECK_MESSAGE(to_string(error).find(test.message) != std::string::npos, to_string(error));
  }
}

TEST_CASE("codes of 2 bits are held against what the file says of them") {
  struct Case {
    std::string_view message;
    std::function<void(schema::ModelT&)> change;
  };
  const auto contents = [](schema::ModelT& model) -> std::vector<std::uint8_t>& {
    return model.buffers[tensor_of(model, "w").buffer]->data;
  };
  const std::vector<Case> cases{
      {"8 bytes for 36 elements of i2", [&](schema::ModelT& model) { contents(model).resize(8); }},
      {"10 bytes for 36 elements of i2",
       [&](schema::ModelT& model) { contents(model).resize(10); }},
      {"9 bytes for 72 elements of i2",
       [](schema::ModelT& model) { tensor_of(model, "w").shape[0] = 4; }},
      {"a zero point of 2",
       [](schema::ModelT& model) { tensor_of(model, "w").quantization->zero_point[0] = 2; }},
      {"a type that is not read",
       [](schema::ModelT& model) { tensor_of(model, "w").quantization = nullptr; }},
  };
  const auto make_narrow = [&](schema::ModelT& model) {
    tensor_of(model, "w").type = schema::TensorType::INT2;
    contents(model).resize(9);
  };
  schema::ModelT good = small_model();
  make_narrow(good);
  CHECK(graph_of(bytes_of(good)).type(graph_of(bytes_of(good)).find_value("w")).is_quantized());
  for (const Case& test : cases) {
    CAPTURE(test.message);
    schema::ModelT model = small_model();
    make_narrow(model);
    test.change(model);
    const Error error = error_of(bytes_of(model));
    CHECK_MESSAGE(to_string(error).find(test.message) != std::string::npos, to_string(error));
  }
}

TEST_CASE("what is not read is refused") {
  CHECK(error_after([](schema::ModelT& model) {
          model.subgraphs.push_back(std::make_unique<schema::SubGraphT>());
        }).code == ErrorCode::impossible);
  CHECK(error_after([](schema::ModelT& model) {
          main_of(model).tensors[0]->is_variable = true;
        }).code == ErrorCode::impossible);
}

TEST_CASE("names and lists that tables share do not make a large graph of a small file") {
  schema::ModelT model = small_model();
  flatbuffers::FlatBufferBuilder builder;
  const auto name = builder.CreateString(std::string(100'000, 'n'));
  std::vector<flatbuffers::Offset<schema::Tensor>> tensors;
  for (int i = 0; i < 5000; ++i) {
    schema::TensorBuilder tensor(builder);
    tensor.add_name(name);
    tensors.push_back(tensor.Finish());
  }
  const auto list = builder.CreateVector(tensors);
  schema::SubGraphBuilder graph(builder);
  graph.add_tensors(list);
  const auto graphs = builder.CreateVector(std::vector{graph.Finish()});
  const auto buffers = builder.CreateVector(std::vector{schema::CreateBuffer(builder)});
  schema::ModelBuilder made(builder);
  made.add_version(3);
  made.add_subgraphs(graphs);
  made.add_buffers(buffers);
  schema::FinishModelBuffer(builder, made.Finish());
  const auto bytes = std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
  CHECK(error_of({bytes.begin(), bytes.end()}).message.find("over and over") != std::string::npos);
}

TEST_CASE("every file that is cut off is refused") {
  const std::vector<std::byte> bytes = bytes_of(graph_of(residual));
  for (std::size_t size = 0; size < bytes.size(); size += 7) {
    const auto graph = read_tflite(std::span(bytes).first(size));
    if (graph) CHECK(verify(*graph).has_value());  // the end may be padding
  }
}

namespace {

void check_wrong_bytes(std::string_view text) {
  const std::vector<std::byte> bytes = bytes_of(graph_of(text));
  int accepted = 0;
  test::Turns turns;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const int value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      if (!turns.next()) continue;
      std::vector<std::byte> damaged = bytes;
      damaged[at] = static_cast<std::byte>(value);
      const auto graph = read_tflite(damaged);
      if (!graph) continue;
      ++accepted;
      CHECK(verify(*graph).has_value());
      const auto written = tflite_bytes(*graph);
      if (!written) continue;
      const auto again = read_tflite(*written);
      CAPTURE(print_graph(*graph));
      CHECK_MESSAGE(again.has_value(), (again ? "" : to_string(again.error())));
    }
  }
  CHECK(accepted > 0);
}

}  // namespace

TEST_CASE("no wrong byte does harm") {
  check_wrong_bytes(residual);
  check_wrong_bytes(R"(graph {}
%x: tensor<1x3x!quant.uniform<i8:f32, 0.5>> = input()
%w: tensor<3x3x!quant.uniform<i2:f32:0, {0.25, 0.5, 1.0}>> = constant() [1, -2, 0, -1, 1, 1, -1, -2, 1]
%y: tensor<1x3x!quant.uniform<i8:f32, 1.0>> = gemm(%x, %w) {transB = 1}
output(%y)
)");
}
