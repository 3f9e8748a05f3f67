// IRs to graphs, and files that are none.
#include <functional>
#include <pugixml.hpp>

#include "ir_text.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/ops.hpp"

using namespace openvino_test;
using Kinds = std::vector<std::string>;

namespace {

/// x -> Convolution -> ReLU -> y
IrText small() {
  IrText ir;
  const int x = ir.input("x", "f32", "FP32", {1, 2, 4, 4});
  const int w = ir.constant<float>("w", "f32", "FP32", {3, 2, 1, 1}, {1, 2, 3, 4, 5, 6});
  const int c = ir.add(
      "Convolution", "c", {{x}, {w}},
      R"(strides="1,1" dilations="1.0, 1.0" pads_begin="0,0" pads_end="0,0" auto_pad="explicit")",
      {{"FP32", {1, 3, 4, 4}, ""}});
  const int r = ir.add("ReLU", "r", {{c}}, "", {{"FP32", {1, 3, 4, 4}, "y,also\\,y"}});
  ir.output("y/result", {r});
  return ir;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

/// The error of the small model once `from` is `to` in its text.
Error error_after(std::string_view from, std::string_view to) {
  const IrText ir = small();
  return error_of(replaced(ir.xml(), from, to), ir.bin());
}

bool says(const Error& error, std::string_view part) {
  return to_string(error).find(part) != std::string::npos;
}

class Notes final : public Sink {
 public:
  void report(const Diagnostic& diagnostic) override { all.push_back(diagnostic.message); }
  std::vector<std::string> all;
};

}  // namespace

TEST_CASE("layers become ONNX's operations, and keep their names") {
  const Graph graph = graph_of(small());
  CHECK(kinds_of(graph) == Kinds{"conv", "onnx.Relu"});
  const Value y = graph.find_value("y");
  REQUIRE_FALSE(y.is_absent());
  CHECK(graph.name(y.node) == "r");
  const NodeRef conv = graph.ref(graph.find_value("c").node);
  CHECK(conv.attribute_or<std::vector<std::int64_t>>("pads", {}) ==
        std::vector<std::int64_t>{0, 0, 0, 0});
  CHECK(conv.attribute_or<std::vector<std::int64_t>>("dilations", {}) ==
        std::vector<std::int64_t>{1, 1});
  CHECK(verify(graph).has_value());

  // Both names of the tensor are in what is written again.
  const OpenVinoFiles files = files_of(graph);
  CHECK(files.xml.find(R"(names="y,also\,y")") != std::string::npos);
}

TEST_CASE("constants are read from the .bin file where they lie") {
  IrText ir;
  const int x = ir.input("x", "i64", "I64", {3});
  const int a = ir.constant<std::int64_t>("a", "i64", "I64", {3}, {7, 8, 9});
  const int s = ir.add("Add", "s", {{x}, {a}}, R"(auto_broadcast="numpy")", {{"I64", {3}, ""}});
  ir.output("out", {s});
  const Graph graph = graph_of(ir);
  const Constant* constant = graph.constant(graph.find_value("a").node);
  REQUIRE(constant != nullptr);
  CHECK(read_integers(*constant).value() == std::vector<std::int64_t>{7, 8, 9});
}

TEST_CASE("two elements of 4 bits share a byte, the first in its lower half") {
  IrText ir;
  const int packed = ir.constant<std::uint8_t>("p", "i4", "I4", {3}, {0x8F, 0x07});
  const int c =
      ir.add("Convert", "c", {{packed}}, R"(destination_type="f32")", {{"FP32", {3}, ""}});
  ir.output("out", {c});
  const Graph graph = graph_of(ir);
  const Constant* constant = graph.constant(graph.find_value("p").node);
  REQUIRE(constant != nullptr);
  CHECK(constant->element() == ElementType::int4);
  CHECK(read_integers(*constant).value() == std::vector<std::int64_t>{-1, -8, 7});
  CHECK(files_of(graph).bin == ir.bin());
}

TEST_CASE("a compressed constant is what it stands for, and is stored as it was") {
  IrText ir;
  const int half = ir.constant<std::uint16_t>("h", "f16", "FP16", {2}, {0x3C00, 0xC100});
  const int wide =
      ir.add("Convert", "w", {{half}}, R"(destination_type="f32")", {{"FP32", {2}, ""}}, "opset1",
             R"(<rt_info><attribute name="decompression" version="0"/></rt_info>)");
  const int n = ir.add("Negative", "n", {{wide}}, "", {{"FP32", {2}, ""}});
  ir.output("out", {n});
  const Graph graph = graph_of(ir);
  CHECK(kinds_of(graph) == Kinds{"onnx.Neg"});
  const Constant* constant = graph.constant(graph.find_value("w").node);
  REQUIRE(constant != nullptr);
  const auto bytes = constant->read();
  REQUIRE(bytes.has_value());
  CHECK(bytes->as<float>()[0] == 1.0F);
  CHECK(bytes->as<float>()[1] == -2.5F);
  const OpenVinoFiles files = files_of(graph);
  CHECK(files.bin == ir.bin());
  CHECK(files.xml.find("decompression") != std::string::npos);
}

TEST_CASE("groups, slopes and transposed factors are laid out as ONNX has them") {
  IrText ir;
  const int x = ir.input("x", "f32", "FP32", {1, 2, 4, 4});
  const int w = ir.constant<float>("w", "f32", "FP32", {2, 1, 1, 1, 1}, {1, 2});
  const int c = ir.add("GroupConvolution", "c", {{x}, {w}},
                       R"(strides="1,1" dilations="1,1" pads_begin="0,0" pads_end="0,0")",
                       {{"FP32", {1, 2, 4, 4}, ""}});
  const int slope = ir.constant<float>("slope", "f32", "FP32", {2}, {0.5F, 0.25F});
  const int p = ir.add("PReLU", "p", {{c}, {slope}}, "", {{"FP32", {1, 2, 4, 4}, ""}});
  const int f = ir.constant<float>("f", "f32", "FP32", {3, 4}, std::vector<float>(12, 1));
  const int m = ir.add("MatMul", "m", {{p}, {f}}, R"(transpose_a="false" transpose_b="true")",
                       {{"FP32", {1, 2, 4, 3}, ""}});
  ir.output("out", {m});
  const Graph graph = graph_of(ir);
  CHECK(kinds_of(graph) == Kinds{"conv", "onnx.PRelu", "transpose", "matmul"});
  const NodeRef conv = graph.ref(graph.find_value("c").node);
  CHECK(graph.type(conv.operand(1)).shape == Shape{2, 1, 1, 1});
  CHECK(conv.attribute_or<std::int64_t>("group", 1) == 2);
  const NodeRef prelu = graph.ref(graph.find_value("p").node);
  CHECK(graph.type(prelu.operand(1)).shape == Shape{2, 1, 1});

  // And back: no transpose, the shapes that were there.
  const Graph again = graph_of(files_of(graph));
  CHECK(kinds_of(again) == kinds_of(graph));
  const std::string xml = files_of(graph).xml;
  CHECK(xml.find("\"Transpose\"") == std::string::npos);
  CHECK(xml.find(R"(transpose_b="true")") != std::string::npos);
  CHECK(xml.find(R"(shape="2,1,1,1,1")") != std::string::npos);
}

TEST_CASE("the slope of a scalar has no dimension, either") {
  const OpenVinoFiles files = files_of(graph_of(R"(graph {}
%x: tensor<f32> = input()
%y: tensor<f32> = onnx.LeakyRelu(%x)
output(%y)
)"));
  const Graph again = graph_of(files);
  const NodeRef prelu = again.ref(again.find_value("y").node);
  CHECK(prelu.kind() == "onnx.PRelu");
  CHECK(again.type(prelu.operand(1)).shape.rank() == 0);
}

TEST_CASE("an operation that is not known is carried, attributes and all") {
  IrText ir;
  const int x = ir.input("x", "f32", "FP32", {1, 4});
  const int u = ir.add("Unheard", "u", {{x}}, R"(depth="3" mode="a &lt; b")",
                       {{"FP32", {1, 2}, ""}, {"I32", {1}, ""}}, "custom");
  ir.output("out", {u, 1});
  Notes notes;
  const Graph graph = graph_of(ir, 11, "", &notes);
  CHECK(kinds_of(graph) == Kinds{"openvino.custom.Unheard"});
  REQUIRE(notes.all.size() == 1);
  CHECK(notes.all[0].find("Unheard is carried as it is") != std::string::npos);
  const Graph again = graph_of(files_of(graph));
  const NodeRef carried = again.ref(again.find_value("u.0").node);
  CHECK(carried.attribute_or<std::string>("depth", "") == "3");
  CHECK(carried.attribute_or<std::string>("mode", "") == "a < b");
  CHECK(again.type({carried.id, 1}).element == ElementType::int32);
}

TEST_CASE("the body of a loop is carried with the constants it has") {
  IrText ir;
  const int x = ir.input("x", "f32", "FP32", {2});
  const int first = ir.constant<float>("first", "f32", "FP32", {2}, {1, 2});
  const int sum = ir.add("Add", "sum", {{x}, {first}}, "", {{"FP32", {2}, ""}});
  // Behind `first` in the file, where the body's constant is.
  ir.constant<float>("inner", "f32", "FP32", {2}, {5, 6});
  const int loop =
      ir.add("TensorIterator", "loop", {{sum}}, "", {{"FP32", {2}, ""}}, "opset1",
             R"(<port_map><input axis="0" external_port_id="0" internal_layer_id="0"/></port_map>)"
             R"(<body><layers><layer id="1" name="k" type="Const" version="opset1">)"
             R"(<data element_type="f32" shape="2" offset="8" size="8"/></layer></layers></body>)");
  ir.output("out", {loop});
  const OpenVinoFiles files = files_of(graph_of(ir));
  pugi::xml_document document;
  REQUIRE(document.load_string(files.xml.c_str()));
  const auto found = document.find_node([](const pugi::xml_node& node) {
    return std::string_view(node.name()) == "layer" &&
           std::string_view(node.attribute("name").as_string()) == "k";
  });
  REQUIRE(found);
  const std::size_t offset = found.child("data").attribute("offset").as_ullong();
  REQUIRE(offset + 8 <= files.bin.size());
  const auto* inner = reinterpret_cast<const float*>(files.bin.data() + offset);
  CHECK(inner[0] == 5);
  CHECK(inner[1] == 6);
}

TEST_CASE("what a layer that is no Const calls offset and size is no place in the .bin file") {
  IrText ir;
  const int x = ir.input("x", "f32", "FP32", {1, 4});
  ir.constant<float>("first", "f32", "FP32", {2}, {1, 2});
  const int u = ir.add("Unheard", "u", {{x}}, "", {{"FP32", {1, 2}, ""}}, "custom",
                       R"(<table offset="0" size="8"/>)");
  ir.output("out", {u});
  const OpenVinoFiles files = files_of(graph_of(ir));
  CHECK(files.xml.find(R"(<table offset="0" size="8")") != std::string::npos);
  const OpenVinoFiles again = files_of(graph_of(files));
  CHECK(again.xml.find(R"(<table offset="0" size="8")") != std::string::npos);
}

TEST_CASE("FakeQuantize is fake_quantize") {
  IrText ir;
  const int x = ir.input("x", "f32", "FP32", {1, 2});
  const int low = ir.constant<float>("low", "f32", "FP32", {}, {-1});
  const int high = ir.constant<float>("high", "f32", "FP32", {}, {1});
  const int q = ir.add("FakeQuantize", "q", {{x}, {low}, {high}, {low}, {high}},
                       R"(levels="255" auto_broadcast="numpy")", {{"FP32", {1, 2}, ""}});
  ir.output("out", {q});
  const Graph graph = graph_of(ir);
  const NodeRef node = graph.ref(graph.find_value("q").node);
  CHECK(node.kind() == ops::FakeQuantize::kind);
  CHECK(ops::FakeQuantize{node}.levels() == 255);
  CHECK(kinds_of(graph_of(files_of(graph))) == Kinds{"fake_quantize"});
}

TEST_CASE("version 10 hands tensors over in the types that its users knew") {
  IrText ir;
  const int x = ir.input("x", "f16", "FP16", {2});
  const int r = ir.add("ReLU", "r", {{x}}, "", {{"FP16", {2}, ""}});
  const int k = ir.add("ShapeOf", "k", {{x}}, R"(output_type="i64")", {{"I64", {1}, ""}}, "opset3");
  ir.output("a", {r});
  ir.output("b", {k});
  const Graph old = graph_of(ir, 10);
  CHECK(old.type({old.inputs()[0]}).element == ElementType::float32);
  CHECK(old.type(old.operands(old.outputs()[0])[0]).element == ElementType::float32);
  CHECK(old.type(old.operands(old.outputs()[1])[0]).element == ElementType::int32);
  // Float16 is how such a model is stored, not how it is computed.
  CHECK(kinds_of(old) == Kinds{"onnx.Relu", "onnx.Shape", "cast"});
  const Graph today = graph_of(ir, 11);
  CHECK(today.type({today.inputs()[0]}).element == ElementType::float16);
}

TEST_CASE("what a file says beside its layers is kept, and what is not understood is reported") {
  IrText ir;
  const int x = ir.input("x", "f32", "FP32", {2});
  const int r = ir.add("ReLU", "r", {{x}}, R"(flavour="sweet")", {{"FP32", {2}, ""}}, "opset1",
                       R"(<rt_info><attribute name="layout" version="0" layout="[C]"/></rt_info>)");
  ir.output("out", {r});
  Notes notes;
  const Graph graph = graph_of(
      ir, 11, "<rt_info><model_info><labels value=\"cat dog\"/></model_info></rt_info>", &notes);
  REQUIRE(notes.all.size() == 1);
  CHECK(notes.all.front() == "attribute 'flavour' of a ReLU is not known, and dropped");
  const std::string xml = files_of(graph).xml;
  CHECK(xml.find("cat dog") != std::string::npos);
  CHECK(xml.find(R"(layout="[C]")") != std::string::npos);
}

TEST_CASE(
    "what a user of the model sees stays: inputs that nobody reads, bounds of extents, names") {
  IrText ir;
  const int x = ir.add("Parameter", "x", {}, R"(shape="1..8,?,4" element_type="f32")",
                       {{"FP32", {-1, -1, 4}, "x"}});
  ir.input("unread", "f32", "FP32", {3});
  const int r = ir.add("ReLU", "r", {{x}}, "", {{"FP32", {-1, -1, 4}, "first,second"}});
  ir.output("out", {r});
  const Graph graph = graph_of(ir);
  CHECK(graph.inputs().size() == 2);
  const std::string xml = files_of(graph).xml;
  CHECK(xml.find(R"(shape="1..8,?,4")") != std::string::npos);
  CHECK(xml.find(R"(name="unread" type="Parameter")") != std::string::npos);
  CHECK(xml.find(R"(output_names="first,second")") != std::string::npos);
}

TEST_CASE("a Result that another layer reads is what it was given") {
  IrText ir;
  const int x = ir.input("x", "f32", "FP32", {2});
  const int y = ir.add("Result", "y", {{x}}, "", {{"FP32", {2}, ""}});
  const int r = ir.add("ReLU", "r", {{y}}, "", {{"FP32", {2}, ""}});
  ir.output("z", {y});
  ir.output("out", {r});
  const Graph graph = graph_of(ir);
  CHECK(graph.outputs().size() == 3);
  CHECK(kinds_of(graph) == Kinds{"onnx.Relu"});
}

TEST_CASE("files that are no IR are refused, and the message says where") {
  CHECK(says(error_of(""), "not well-formed XML"));
  CHECK(says(error_of("<net"), "not well-formed XML"));
  CHECK(says(error_of("<a/>"), "there is no element <net>"));
  CHECK(says(error_after("version=\"11\"", "version=\"7\""), "version '7'"));
  CHECK(says(error_after("<layer id=\"2\"", "<layer id=\"two\""), "node 'c'"));
  CHECK(says(error_after("<layer id=\"2\"", "<layer id=\"1\""), "two layers 1"));
  CHECK(says(error_after("from-layer=\"0\"", "from-layer=\"40\""), "a layer 40: there is none"));
  CHECK(says(error_after("from-port=\"0\"", "from-port=\"9\""), "output port 9: there is none"));
  CHECK(says(error_after("to-port=\"1\"", "to-port=\"0\""), "two edges to input port 0"));
  CHECK(says(error_after("<dim>4</dim>", "<dim>four</dim>"), "a dimension 'four'"));
  CHECK(says(error_after("<dim>4</dim>", "<dim>-4</dim>"), "a dimension '-4'"));
  CHECK(says(error_after("strides=\"1,1\"", "strides=\"1,x\""), "strides=\"1,x\""));
  CHECK(says(error_after("strides=\"1,1\"", "strides=\"1\""), "1 strides, of 2 axes"));
  CHECK(says(error_after("auto_pad=\"explicit\"", "auto_pad=\"some\""), "auto_pad=\"some\""));
}

TEST_CASE("constants that are not in the .bin file are refused") {
  for (const std::string_view bad :
       {"offset=\"1\"", "offset=\"25\"", "offset=\"18446744073709551615\"", "offset=\"-8\"",
        "offset=\"9223372036854775807\""}) {
    CAPTURE(bad);
    CHECK(says(error_after("offset=\"0\"", bad), "node 'w'"));
  }
  CHECK(says(error_after("size=\"24\"", "size=\"23\""), "a constant of 23 bytes"));
  CHECK(says(error_after("shape=\"3,2,1,1\"", "shape=\"3,2,1,281474976710656\""), "node 'w'"));
  CHECK(says(error_after("shape=\"3,2,1,1\"", "shape=\"?,2,1,1\""), "a constant of shape"));
  CHECK(says(error_of(small().xml()), "the weights have 0 bytes"));
}

TEST_CASE("layers that ask for what there is not are refused, or carried") {
  const PortText real{"FP32", {1, 3, 4}, ""};
  const auto error = [&](const std::function<void(IrText&, int)>& add) {
    IrText ir;
    add(ir, ir.input("x", "f32", "FP32", {1, 3, 4}));
    return error_of(ir.xml(), ir.bin());
  };
  CHECK(says(error([&](IrText& ir, int x) {
               const int i = ir.add("ReLU", "i", {{x}}, "", {real});
               ir.output("y", {i});
               const int two = ir.add("Identity", "two", {{x}}, "", {real, real}, "opset16");
               ir.output("z", {two, 1});
             }),
             "it reads output 1 of 'two', which a Identity does not have"));
  CHECK(says(error([&](IrText& ir, int x) {
               const int axes = ir.constant<std::int64_t>("a", "i64", "I64", {1}, {-400000000});
               const int y =
                   ir.add("MVN", "y", {{x}, {axes}},
                          R"(normalize_variance="true" eps="1e-5" eps_mode="INSIDE_SQRT")", {real},
                          "opset6");
               ir.output("z", {y});
             }),
             "axis -400000000 of 3 dimensions"));
  CHECK(says(error([&](IrText& ir, int x) {
               const int k = ir.constant<std::int64_t>("k", "i64", "I64", {1}, {1});
               const int y =
                   ir.add("Slice", "y", {{x}, {k}, {k}, {k}, {k}, {k}}, "", {real}, "opset8");
               ir.output("z", {y});
             }),
             "a Slice of more than five inputs"));
  CHECK(says(error([&](IrText& ir, int x) {
               const int h = ir.constant<float>("h", "f32", "FP32", {1, 1, 1}, {0});
               const int n = ir.constant<std::int64_t>("n", "i64", "I64", {1}, {3});
               const int w = ir.constant<float>("w", "f32", "FP32", {0, 4, 4}, {});
               const int r = ir.constant<float>("r", "f32", "FP32", {1, 4, 1}, {0, 0, 0, 0});
               const int b = ir.constant<float>("b", "f32", "FP32", {1, 4}, {0, 0, 0, 0});
               const int y = ir.add(
                   "LSTMSequence", "y", {{x}, {h}, {h}, {n}, {w}, {r}, {b}},
                   R"(direction="forward" hidden_size="1" activations="sigmoid,tanh,tanh")",
                   {{"FP32", {1, 1, 3, 1}, ""}, {"FP32", {1, 1, 1}, ""}, {"FP32", {1, 1, 1}, ""}},
                   "opset5");
               ir.output("z", {y});
             }),
             "weights of shapes [0x4x4], [1x4x1] and [1x4]"));

  CHECK(says(error([&](IrText& ir, int x) {
               const int axis = ir.constant<std::int64_t>("a", "i64", "I64", {}, {1});
               const int n =
                   ir.constant<std::int64_t>("n", "i64", "I64", {3}, {INT64_MAX, INT64_MAX, -1});
               const PortText part{"FP32", {1, -1, 4}, ""};
               const int y =
                   ir.add("VariadicSplit", "y", {{x}, {axis}, {n}}, "", {part, part, part});
               ir.output("z", {y});
             }),
             "parts that are more than there is"));

  IrText ir;  // nothing comes out of a layer with effects alone
  const int x = ir.input("x", "f32", "FP32", {1, 3, 4});
  ir.add("Identity", "effect", {{x}}, "", {}, "opset16");
  const int many = ir.constant<std::int64_t>("m", "i64", "I64", {1}, {0});
  const int shape = ir.input("s", "i64", "I64", {400000000});
  const int y = ir.add("Broadcast", "y", {{x}, {shape}, {many}}, R"(mode="explicit")",
                       {{"FP32", {1, 3, 4}, ""}}, "opset3");
  ir.output("z", {y});
  CHECK(kinds_of(graph_of(ir)) == Kinds{"openvino.opset16.Identity", "openvino.opset3.Broadcast"});
}

TEST_CASE("lengths of sequences are left out where they are the steps of X, and no other extent") {
  const auto has_no_lengths = [](bool is_of_x, std::int64_t extent) {
    IrText ir;
    const int x = ir.input("x", "f32", "FP32", {1, -1, 2});
    const int other = ir.input("other", "f32", "FP32", {1, -1, 2});
    const int of = ir.add("ShapeOf", "of", {{is_of_x ? x : other}}, R"(output_type="i64")",
                          {{"I64", {3}, ""}}, "opset3");
    const int which = ir.constant<std::int64_t>("which", "i64", "I64", {1}, {extent});
    const int axis = ir.constant<std::int64_t>("axis", "i64", "I64", {}, {0});
    const int steps = ir.add("Gather", "steps", {{of}, {which}, {axis}}, R"(batch_dims="0")",
                             {{"I64", {1}, ""}}, "opset8");
    const int h = ir.constant<float>("h", "f32", "FP32", {1, 1, 1}, {0});
    const int w = ir.constant<float>("w", "f32", "FP32", {1, 1, 2}, {1, 1});
    const int r = ir.constant<float>("r", "f32", "FP32", {1, 1, 1}, {1});
    const int b = ir.constant<float>("b", "f32", "FP32", {1, 1}, {0});
    const int y = ir.add("RNNSequence", "y", {{x}, {h}, {steps}, {w}, {r}, {b}},
                         R"(direction="forward" hidden_size="1" activations="tanh")",
                         {{"FP32", {1, 1, -1, 1}, ""}, {"FP32", {1, 1, 1}, ""}}, "opset5");
    ir.output("out", {y});
    ir.output("also", {other});
    const Graph graph = graph_of(ir);
    for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
      const NodeId node = graph.node_at(i);
      if (node.is_valid() && graph.kind(node) == ops::Rnn::kind) {
        return graph.ref(node).operand(4).is_absent();
      }
    }
    FAIL("no recurrent layer");
    return false;
  };
  CHECK(has_no_lengths(true, 1));
  CHECK_FALSE(has_no_lengths(true, 0));
  CHECK_FALSE(has_no_lengths(false, 1));
}

TEST_CASE("auto_pad beside dilations becomes the pads that it means") {
  const auto pads_of = [](std::string_view auto_pad) {
    IrText ir;
    const int x = ir.input("x", "f32", "FP32", {1, 1, 7, 8});
    const int w = ir.constant<float>("w", "f32", "FP32", {1, 1, 2, 3}, {1, 2, 3, 4, 5, 6});
    const int c = ir.add("Convolution", "c", {{x}, {w}},
                         fmt::format(R"(strides="1,2" dilations="3,2" auto_pad="{}")", auto_pad),
                         {{"FP32", {1, 1, 7, 4}, ""}});
    ir.output("y", {c});
    const Graph graph = graph_of(ir);
    return graph.ref(graph.find_value("c").node)
        .attribute_or<std::vector<std::int64_t>>("pads", {});
  };
  // A window reaches over 4 and 5 pixels; 7 and 4 of them start at steps of 1 and 2.
  CHECK(pads_of("same_upper") == std::vector<std::int64_t>{1, 1, 2, 2});
  CHECK(pads_of("same_lower") == std::vector<std::int64_t>{2, 2, 1, 1});
}

TEST_CASE("cycles are refused") {
  IrText ir = small();
  const int a = ir.add("ReLU", "a", {{0}}, "", {{"FP32", {2}, ""}});
  const int b = ir.add("ReLU", "b", {{a}}, "", {{"FP32", {2}, ""}});
  const std::string wanted = fmt::format(R"(<edge from-layer="0" from-port="0" to-layer="{}")", a);
  const std::string cycle =
      fmt::format(R"(<edge from-layer="{}" from-port="1" to-layer="{}")", b, a);
  CHECK(says(error_of(replaced(ir.xml(), wanted, cycle), ir.bin()), "the edges form a cycle"));
}

TEST_CASE("entities of one's own are not followed") {
  // What other readers expand to gigabytes stays as it is written.
  const std::string bomb =
      R"(<?xml version="1.0"?><!DOCTYPE net [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>)"
      R"(<net name="&b;" version="11"><layers/><edges/></net>)";
  const auto graph = parse_openvino(bomb, {});
  REQUIRE(graph.has_value());
  CHECK(graph->node_count() == 0);
}
