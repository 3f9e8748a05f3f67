// Graphs to IRs: what operations and types become.
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "ir_text.hpp"
#include "quadrant/ir/ops.hpp"
#include "temporary_folder.hpp"

using namespace openvino_test;
using Kinds = std::vector<std::string>;

namespace {

bool has(const OpenVinoFiles& files, std::string_view part) {
  return files.xml.find(part) != std::string::npos;
}

/// The types of the layers, in the order of the file.
Kinds types_of(const OpenVinoFiles& files) {
  Kinds types;
  std::string_view rest = files.xml;
  constexpr std::string_view mark = "type=\"";
  for (std::size_t at = rest.find("<layer "); at != std::string_view::npos;
       at = rest.find("<layer ")) {
    rest.remove_prefix(at + 1);
    rest.remove_prefix(rest.find(mark) + mark.size());
    types.emplace_back(rest.substr(0, rest.find('"')));
  }
  return types;
}

}  // namespace

TEST_CASE("a bias is added behind the convolution, along the channels") {
  const OpenVinoFiles files = files_of(graph_of(R"(graph {}
%x: tensor<1x2x4x4xf32> = input()
%w: tensor<3x2x1x1xf32> = constant() [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
%b: tensor<3xf32> = constant() [1.0, 2.0, 3.0]
%y: tensor<1x3x4x4xf32> = conv(%x, %w, %b)
output(%y)
)"));
  CHECK(types_of(files) == Kinds{"Parameter", "Const", "Convolution", "Const", "Add", "Result"});
  CHECK(has(files, R"(shape="1,3,1,1")"));
}

TEST_CASE("codes between quantize and dequantize are one FakeQuantize") {
  const OpenVinoFiles files = files_of(graph_of(R"(graph {}
%x: tensor<1x2xf32> = input()
%q: tensor<1x2x!quant.uniform<u8:f32, 0.5:10>> = quantize(%x)
%y: tensor<1x2xf32> = dequantize(%q)
output(%y)
)"));
  CHECK(types_of(files) == Kinds{"Parameter", "Const", "Const", "FakeQuantize", "Result"});
  CHECK(has(files, R"(levels="256")"));
  const Graph again = graph_of(files);
  // (0 - 10) * 0.5 to (255 - 10) * 0.5
  std::vector<float> bounds;
  for (std::uint32_t i = 0; i < again.index_bound(); ++i) {
    if (const Constant* constant = again.constant(again.node_at(i))) {
      bounds.push_back(constant->read().value().as<float>()[0]);
    }
  }
  CHECK(bounds == std::vector<float>{-5, 122.5F});
}

TEST_CASE("bounds that begin at an axis get the axes that follow it") {
  const OpenVinoFiles files = files_of(graph_of(R"(graph {}
%x: tensor<1x2x3xf32> = input()
%low: tensor<f32> = constant() [0]
%high: tensor<2xf32> = constant() [2, 6]
%y: tensor<1x2x3xf32> = fake_quantize(%x, %low, %high, %low, %high) {auto_broadcast = "pdpd", axis = 1, levels = 2}
output(%y)
)"));
  CHECK(has(files, R"(auto_broadcast="numpy")"));
  CHECK(parse_openvino(files.xml, files.bin));
}

TEST_CASE("fewer codes than a byte has are limited in front, and of all levels") {
  const OpenVinoFiles files = files_of(graph_of(R"(graph {}
%x: tensor<1x2xf32> = input()
%q: tensor<1x2x!quant.uniform<i8<-64:63>:f32, 0.5>> = quantize(%x)
%y: tensor<1x2xf32> = dequantize(%q)
output(%y)
)"));
  CHECK(types_of(files) == Kinds{"Parameter", "Const", "Const", "Clamp", "FakeQuantize", "Result"});
  CHECK(has(files, R"(levels="256")"));
  CHECK(has(files, R"(max="31.5")"));
  CHECK(has(files, R"(min="-32)"));
}

TEST_CASE("of float16, codes of more levels than it has numbers are rounded in float32") {
  const auto types_with = [](std::string_view codes) {
    return types_of(
        files_of(graph_of("graph {}\n"
                          "%x: tensor<1x2xf16> = input()\n"
                          "%q: tensor<1x2x!quant.uniform<" +
                          std::string(codes) +
                          ":f16, 0.5>> = quantize(%x)\n"
                          "%y: tensor<1x2xf16> = dequantize(%q)\n"
                          "output(%y)\n")));
  };
  CHECK(types_with("i8") ==
        Kinds{"Parameter", "Const", "Convert", "Const", "Convert", "FakeQuantize", "Result"});
  CHECK(types_with("i16") ==
        Kinds{"Parameter", "Convert", "Const", "Const", "FakeQuantize", "Convert", "Result"});
}

TEST_CASE("axes that become one are counted where more than one extent is open") {
  const auto files_with = [](std::string_view shape, std::string_view node) {
    return files_of(
        graph_of("graph {\"onnx.opset_domains\" = [\"\"], \"onnx.opset_versions\" = [11]}\n"
                 "%x: tensor<" +
                 std::string(shape) + "xf32> = input()\n%y: tensor<*xf32> = " + std::string(node) +
                 "\noutput(%y)\n"));
  };
  const auto counted = [&](std::string_view shape, std::string_view node) {
    return std::ranges::count(types_of(files_with(shape, node)), "ReduceProd");
  };
  // A -1 cannot be found for an array without elements; a number can be given.
  CHECK(counted("?x6x?x?", "flatten(%x) {axis = 1}") == 2);
  CHECK(counted("?x6x4x5", "flatten(%x) {axis = 1}") == 0);
  CHECK(counted("?x6x?x?", "onnx.Softmax(%x) {axis = 1}") == 1);
  CHECK(counted("?x8x5", "onnx.Softmax(%x) {axis = 1}") == 0);
  const Graph again = graph_of(files_with("?x8x5", "onnx.Softmax(%x) {axis = 1}"));
  bool is_given = false;
  for (std::uint32_t i = 0; i < again.index_bound(); ++i) {
    const Constant* const constant = again.constant(again.node_at(i));
    if (constant == nullptr || constant->element() != ElementType::int64) continue;
    is_given = is_given || read_integers(*constant).value() == std::vector<std::int64_t>{0, 40};
  }
  CHECK(is_given);
}

TEST_CASE("SAME beside dilations comes back as pads where they are the same for all extents") {
  const auto again = [](std::string_view strides) {
    return graph_of(
        files_of(graph_of("graph {}\n"
                          "%x: tensor<1x1x?x?xf32> = input()\n"
                          "%w: tensor<1x1x3x3xf32> = constant() [1, 2, 3, 4, 5, 6, 7, 8, 9]\n"
                          "%y: tensor<*xf32> = conv(%x, %w) {auto_pad = \"SAME_UPPER\", "
                          "dilations = [2, 2], strides = " +
                          std::string(strides) + "}\noutput(%y)\n")));
  };
  const auto attribute = [](const Graph& graph, std::string_view name) {
    for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
      const NodeId node = graph.node_at(i);
      if (node.is_valid() && graph.kind(node) == ops::Conv::kind)
        return graph.attribute(node, name);
    }
    return static_cast<const Attribute*>(nullptr);
  };
  const Graph one = again("[1, 1]");
  CHECK(attribute(one, "auto_pad") == nullptr);
  REQUIRE(attribute(one, "pads") != nullptr);
  CHECK(*attribute(one, "pads") == Attribute(std::vector<std::int64_t>{2, 2, 2, 2}));
  CHECK(attribute(again("[2, 2]"), "auto_pad") != nullptr);
}

TEST_CASE("what moves codes that are dequantized behind it moves real numbers") {
  const OpenVinoFiles files = files_of(graph_of(R"(graph {}
%x: tensor<2x3xf32> = input()
%w: tensor<4x3x!quant.uniform<i8:f32:0, {0.5, 0.25, 1.0, 2.0}>> = constant() [1,2,3,4,5,6,7,8,9,10,11,12]
%s: tensor<2xi64> = constant() [1, 6]
%t: tensor<2xi64> = constant() [2, 3]
%q: tensor<2x3x!quant.uniform<i8:f32, 0.5>> = quantize(%x)
%flat: tensor<1x6x!quant.uniform<i8:f32, 0.5>> = reshape(%q, %s)
%again: tensor<2x3x!quant.uniform<i8:f32, 0.5>> = reshape(%flat, %t)
%r: tensor<2x3xf32> = dequantize(%again)
%wt: tensor<3x4x!quant.uniform<i8:f32:1, {0.5, 0.25, 1.0, 2.0}>> = transpose(%w) {perm = [1, 0]}
%wr: tensor<3x4xf32> = dequantize(%wt)
%y: tensor<2x4xf32> = matmul(%r, %wr)
output(%y)
)"));
  const Kinds types = types_of(files);
  CHECK(std::ranges::count(types, "FakeQuantize") == 1);
  CHECK(std::ranges::count(types, "Convert") == 1);  // of the weight
  CHECK(std::ranges::count(types, "Transpose") == 0);
  CHECK(has(files, R"(transpose_b="true")"));
}

TEST_CASE("a constant of codes is Const, Convert, Subtract, Multiply") {
  const OpenVinoFiles files = files_of(graph_of(R"(graph {}
%x: tensor<1x2xf32> = input()
%w: tensor<2x3x!quant.uniform<u8:f32:1, {0.5:3, 0.25:128, 2.0:0}>> = constant() [1, 2, 3, 4, 5, 6]
%y: tensor<1x3xf32> = matmul(%x, %w)
output(%y)
)"));
  CHECK(types_of(files) == Kinds{"Parameter", "Const", "Convert", "Const", "Convert", "Subtract",
                                 "Const", "Multiply", "MatMul", "Result"});
  CHECK(has(files, R"(element_type="u8" shape="2,3")"));
  CHECK(has(files, R"(element_type="u8" shape="1,3")"));
}

TEST_CASE("blocks of a constant are an axis of their own until they have their scales") {
  const OpenVinoFiles files = files_of(graph_of(R"(graph {}
%x: tensor<1x4xf32> = input()
%w: tensor<4x2x!quant.uniform<i4:f32:{0:2}, {0.5, 1.0, 2.0, 4.0}>> = constant() [1, 2, 3, 4, 5, 6, 7, -8]
%y: tensor<1x2xf32> = matmul(%x, %w)
output(%y)
)"));
  CHECK(types_of(files) == Kinds{"Parameter", "Const", "Convert", "Const", "Multiply", "Const",
                                 "Reshape", "MatMul", "Result"});
  CHECK(has(files, R"(element_type="i4" shape="2,2,2")"));
  CHECK(has(files, R"(shape="2,1,2")"));
}

TEST_CASE("blocks are in the .bin file once, and scales as wide as they are") {
  const OpenVinoFiles files = files_of(graph_of(R"(graph {}
%x: tensor<1x4xf32> = input()
%w: tensor<4x2x!quant.uniform<i4:f32:{0:2}, f16 {0.5, 1.0, 2.0, 4.0}>> = constant() [1, 2, 3, 4, 5, 6, 7, -8]
%y: tensor<1x2xf32> = matmul(%x, %w)
output(%y)
)"));
  CHECK(has(files, R"(element_type="f16" shape="2,1,2")"));
  // 4 bytes of codes, 8 of scales, 16 of a shape, each at a multiple of 64.
  CHECK(files.bin.size() == 144);
}

TEST_CASE("one block of a number format is a scale for each column") {
  const OpenVinoFiles files = files_of(graph_of(R"(graph {}
%x: tensor<1x4xf32> = input()
%w: tensor<4x2x!quadrant.numbers<"nf4 * f32[axis=0 block=64] : f32", [0.5, 2.0]>> = constant() [1, 2, 3, 4, 5, 6, 7, 8]
%r: tensor<4x2xf32> = dequantize(%w)
%y: tensor<1x2xf32> = matmul(%x, %r)
output(%y)
)"));
  CHECK(types_of(files) ==
        Kinds{"Parameter", "Const", "Const", "Convert", "Multiply", "MatMul", "Result"});
  CHECK(has(files, R"(element_type="nf4" shape="4,2")"));
  CHECK(has(files, R"(element_type="f32" shape="1,2")"));
}

TEST_CASE("a weight whose scales OpenVINO would take wrongly is kept apart from what reads it") {
  const auto text = [](std::string_view axis, std::string_view reader) {
    return fmt::format(R"(graph {{}}
%x: tensor<1x2xf32> = input()
%i: tensor<1xi64> = input()
%w: tensor<2x2x!quant.uniform<i8:f32:{}, {{0.5, 0.25}}>> = constant() [1, 2, 3, 4]
%r: tensor<2x2xf32> = dequantize(%w)
%y: tensor<1x2xf32> = {}
output(%y)
)",
                       axis, reader);
  };
  constexpr std::string_view rows = "gather(%r, %i) {axis = 0}";
  constexpr std::string_view product = "matmul(%x, %r)";
  const auto is_apart = [&](std::string_view axis, std::string_view reader) {
    return std::ranges::count(types_of(files_of(graph_of(text(axis, reader)))), "Maximum") == 1;
  };
  CHECK_FALSE(is_apart("0", rows));
  CHECK(is_apart("1", rows));
  CHECK(is_apart("0", product));
  CHECK_FALSE(is_apart("1", product));
}

TEST_CASE("sums of products stay real, and a bias of codes becomes what it stands for") {
  OpenVinoWriteReport report;
  const OpenVinoFiles files = files_of(graph_of(R"(graph {}
%x: tensor<1x1x1x1x!quant.uniform<u8:f32, 0.5>> = input()
%w: tensor<2x1x1x1x!quant.uniform<i8:f32:0, {0.25, 2.0}>> = constant() [1, 2]
%b: tensor<2x!quant.uniform<i32:f32:0, {0.125, 1.0}>> = constant() [8, -3]
%y: tensor<1x2x1x1xf32> = conv(%x, %w, %b)
output(%y)
)"),
                                       &report);
  const Graph again = graph_of(files);
  const Constant* bias = nullptr;
  for (std::uint32_t i = 0; i < again.index_bound(); ++i) {
    const Constant* constant = again.constant(again.node_at(i));
    if (constant != nullptr && constant->shape() == Shape{2} &&
        constant->element() == ElementType::float32) {
      bias = constant;
    }
  }
  REQUIRE(bias != nullptr);
  const auto bytes = bias->read();
  REQUIRE(bytes.has_value());
  CHECK(bytes->as<float>()[0] == 1.0F);
  CHECK(bytes->as<float>()[1] == -3.0F);
}

TEST_CASE("a product with the sigmoid of the other factor is Swish") {
  const OpenVinoFiles files = files_of(graph_of(R"(graph {}
%x: tensor<4xf32> = input()
%s: tensor<4xf32> = onnx.Sigmoid(%x)
%y: tensor<4xf32> = multiply(%x, %s)
output(%y)
)"));
  CHECK(types_of(files) == Kinds{"Parameter", "Swish", "Result"});
}

TEST_CASE("norms of windows are means of powers times the windows' size, and a root of that") {
  const auto text = [](std::string_view extent, std::string_view attributes) {
    return fmt::format(
        "graph {{}}\n%x: tensor<1x2x{}xf32> = input()\n"
        "%y: tensor<*xf32> = onnx.LpPool(%x) {{{}}}\noutput(%y)\n",
        extent, attributes);
  };
  const OpenVinoFiles plain = files_of(graph_of(text("4", "kernel_shape = [2]")));
  CHECK(types_of(plain) ==
        Kinds{"Parameter", "Multiply", "AvgPool", "Const", "Multiply", "Sqrt", "Result"});
  CHECK(has(plain, R"(exclude-pad="false")"));
  CHECK(types_of(files_of(graph_of(text("4", "kernel_shape = [2], p = 1")))) ==
        Kinds{"Parameter", "Abs", "AvgPool", "Const", "Multiply", "Result"});
  CHECK(types_of(files_of(graph_of(text("4", "kernel_shape = [2], p = 3")))) ==
        Kinds{"Parameter", "Abs", "Const", "Power", "AvgPool", "Const", "Multiply", "Const",
              "Power", "Result"});
  // Rounding up makes a window that is 3 elements long of 2 and a pad, and none behind the operand.
  for (const auto& [extent, attributes] :
       {std::pair("4", "kernel_shape = [3], strides = [2]"),
        std::pair("?", "kernel_shape = [3], strides = [2]"),
        std::pair("8", "kernel_shape = [3], strides = [2], pads = [0, 2]")}) {
    const OpenVinoFiles files =
        files_of(graph_of(text(extent, fmt::format("{}, ceil_mode = 1", attributes))));
    CHECK(has(files, R"(pads_end="1")"));
    CHECK(has(files, R"(rounding_type="floor")"));
  }
  for (const auto& [attributes, why] :
       {std::pair("kernel_shape = [3], strides = [2], pads = [0, 2], ceil_mode = 1",
                  "may begin behind open extents"),
        std::pair("kernel_shape = [3], p = 0", "a norm of p = 0")}) {
    const auto files = openvino_files(graph_of(text("?", attributes)));
    REQUIRE_FALSE(files.has_value());
    CHECK(files.error().code == ErrorCode::impossible);
    CHECK(files.error().message.find("onnx.LpPool: ") != std::string::npos);
    CHECK(files.error().message.find(why) != std::string::npos);
  }
}

TEST_CASE("a reduction of three axes in front of a list is one of four, whatever the axes are") {
  const auto types_with = [](std::string_view axes, std::string_view attributes) {
    return types_of(files_of(graph_of(
        fmt::format("graph {{}}\n%x: tensor<4x2x5xf32> = input()\n%a: tensor<{}xi64> = input()\n"
                    "%k: tensor<2x1xf32> = constant() [1, 2]\n"
                    "%r: tensor<*xf32> = onnx.ReduceMean(%x, %a) {{{}}}\n"
                    "%y: tensor<*xf32> = multiply(%r, %k)\noutput(%y)\n",
                    axes, attributes))));
  };
  const auto counted = [](const Kinds& types, std::string_view type) {
    return std::ranges::count(types, type);
  };
  for (const std::string_view axes : {"1", "?"}) {
    const Kinds types = types_with(axes, "");
    CHECK(counted(types, "FloorMod") == 1);  // those from the end are not the fourth
    CHECK(counted(types, "Unsqueeze") == 1);
    CHECK(counted(types, "Squeeze") == 1);
    // All of them, where there may be none.
    CHECK(counted(types, "Range") == (axes == "?" ? 1 : 0));
  }
  CHECK(counted(types_with("?", "noop_with_empty_axes = 1"), "Range") == 0);
}

TEST_CASE("what ONNX Runtime calls by a name of its own is written as what ONNX calls it") {
  const OpenVinoFiles files = files_of(graph_of(R"(graph {}
%x: tensor<2x3xf32> = input()
%y: tensor<*xf32> = onnx.com.microsoft::FastGelu(%x)
output(%y)
)"));
  CHECK(types_of(files) == Kinds{"Parameter", "Gelu", "Result"});
}

TEST_CASE("operations without a counterpart are named, all of them") {
  const auto files = openvino_files(graph_of(R"(graph {}
%x: tensor<4xf32> = input()
%a: tensor<4xf32> = mine.Strange(%x)
%b: tensor<4xf32> = other.Odd(%a)
%c: tensor<4xf32> = other.Odd(%x)
output(%b)
output(%c)
)"));
  REQUIRE_FALSE(files.has_value());
  CHECK(files.error().code == ErrorCode::impossible);
  CHECK(files.error().message.find("mine.Strange ('a')") != std::string::npos);
  CHECK(files.error().message.find("other.Odd ('c')") != std::string::npos);
}

TEST_CASE("GatherElements: as many indices as elements along the other axes, or none is written") {
  const auto written = [](const std::string& data, const std::string& indices) {
    return openvino_files(graph_of("graph {}\n%x: tensor<" + data + "xf32> = input()\n%i: tensor<" +
                                   indices + "xi64> = input()\n%y: tensor<" + indices +
                                   "xf32> = onnx.GatherElements(%x, %i) {axis = 1}\noutput(%y)\n"));
  };
  CHECK(written("4x3x5", "4x2x5").has_value());
  for (const auto& [data, indices] : {std::pair("4x3x5", "4x2x2"), std::pair("4x3x5", "1x2x5"),
                                      std::pair("?x3x5", "?x2x5"), std::pair("4x3x?", "4x3x5")}) {
    CAPTURE(indices);
    const auto files = written(data, indices);
    REQUIRE_FALSE(files.has_value());
    CHECK(files.error().code == ErrorCode::impossible);
    CHECK(files.error().message.find("onnx.GatherElements") != std::string::npos);
    CHECK(files.error().message.find("('y')") != std::string::npos);
  }
}

TEST_CASE("both files appear, or none") {
  const quadrant::test::TemporaryFolder scratch;
  const std::string path = scratch / "m.xml";
  const Graph good = graph_of(R"(graph {}
%x: tensor<2xf32> = input()
%k: tensor<2xf32> = constant() [1.0, 2.0]
%y: tensor<2xf32> = add(%x, %k)
output(%y)
)");
  const auto report = write_openvino(good, path);
  REQUIRE(report.has_value());
  CHECK(report->bin_bytes == std::filesystem::file_size(scratch / "m.bin"));
  CHECK(report->xml_bytes == std::filesystem::file_size(path));
  const auto again = read_openvino(path);
  REQUIRE(again.has_value());
  CHECK(kinds_of(*again) == Kinds{"add"});

  const std::string other = scratch / "n.xml";
  const auto refused = write_openvino(graph_of(R"(graph {}
%x: tensor<2xf32> = input()
%y: tensor<2xf32> = mine.Strange(%x)
output(%y)
)"),
                                      other);
  CHECK_FALSE(refused.has_value());
  CHECK_FALSE(std::filesystem::exists(other));
  CHECK_FALSE(std::filesystem::exists(scratch / "n.bin"));
}

TEST_CASE("scales of several dimensions without blocks are refused") {
  const auto files = openvino_files(graph_of(R"(graph {}
%x: tensor<2x2x4x1xi8> = input()
%s: tensor<1x2x4x2xf32> = input()
%y: tensor<2x2x4x1xf32> = onnx.DequantizeLinear(%x, %s)
output(%y)
)"));
  REQUIRE_FALSE(files.has_value());
  CHECK(files.error().message.find("scales of more than one dimension") != std::string::npos);
}

TEST_CASE("codes that get another meaning on the way are a constant all the same") {
  const OpenVinoFiles files = files_of(graph_of(R"(graph {}
%x: tensor<1x4xf32> = input()
%h: tensor<4x2x!quant.uniform<i4:f16:{0:2}, {0.25, 0.5, 1.0, 2.0}>> = constant() [1, 2, 3, 4, 5, 6, 7, -8]
%p: tensor<4x2xi4> = storage_cast(%h)
%w: tensor<4x2x!quant.uniform<i4:f32:{0:2}, {0.25, 0.5, 1.0, 2.0}>> = storage_cast(%p)
%r: tensor<4x2xf32> = dequantize(%w)
%y: tensor<1x2xf32> = matmul(%x, %r)
output(%y)
)"));
  CHECK(types_of(files) == Kinds{"Parameter", "Const", "Convert", "Const", "Multiply", "Const",
                                 "Reshape", "MatMul", "Result"});
  CHECK(has(files, R"(element_type="i4" shape="2,2,2")"));
}

TEST_CASE("a last block that is cut off has scales that a Gather repeats") {
  const OpenVinoFiles files = files_of(graph_of(R"(graph {}
%x: tensor<1x3xf32> = input()
%w: tensor<3x2x!quant.uniform<u4:f32:{0:2}, {0.25:1, 0.5:2, 1.0:3, 2.0:4}>> = constant() [1, 2, 3, 4, 5, 6]
%r: tensor<3x2xf32> = dequantize(%w)
%y: tensor<1x2xf32> = matmul(%x, %r)
output(%y)
)"));
  const Kinds kinds = types_of(files);
  CHECK(std::ranges::count(kinds, "Gather") == 2);  // and of zero points
  CHECK(std::ranges::count(kinds, "Maximum") == 1);
  CHECK(has(files, R"(element_type="u4" shape="3,2")"));
  CHECK(has(files, R"(element_type="u4" shape="2,2")"));
}
