// Codes packed for MatMulNBits, and which products become one. What ONNX Runtime makes of it:
// tests/peers/onnx_nbits_test.py.
#include "io/onnx/matmul_nbits.hpp"

#include <algorithm>
#include <random>

#include "io/onnx/nbits_codes.hpp"
#include "model_helpers.hpp"
#include "model_text.hpp"
#include "shortened.hpp"

using namespace onnx_test;
using onnx::nbits_codes;
using onnx::NBitsLayout;
using test::parsed;

namespace {

/// Codes that are computed when they are read, and what the reads asked for.
class Watched final : public ConstantSource {
 public:
  explicit Watched(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}

  [[nodiscard]] Expected<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    if (offset + out.size() > bytes_.size()) return fail(ErrorCode::io, "outside");
    largest = std::max(largest, out.size());
    ++count;
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
    return {};
  }
  mutable std::size_t largest = 0;
  mutable std::size_t count = 0;

 private:
  std::vector<std::byte> bytes_;
};

struct Case {
  ElementType storage;
  NBitsLayout layout;
  std::vector<std::byte> codes;

  [[nodiscard]] int code(std::int64_t row, std::int64_t column) const {
    const std::int64_t at =
        layout.rows_first ? row * layout.columns + column : column * layout.rows + row;
    const auto byte = codes[static_cast<std::size_t>(at)];
    const bool is_signed = storage == ElementType::int4 || storage == ElementType::int8;
    return is_signed ? std::to_integer<std::int8_t>(byte) : std::to_integer<int>(byte);
  }
  [[nodiscard]] Shape shape() const {
    return layout.rows_first ? Shape{layout.rows, layout.columns}
                             : Shape{layout.columns, layout.rows};
  }
  [[nodiscard]] Constant constant() const { return Constant::from_bytes(storage, shape(), codes); }
};

Case random_case(std::mt19937& random, ElementType storage, NBitsLayout layout) {
  if (layout.bits == 0) layout.bits = bit_width(storage);
  const bool is_signed = storage == ElementType::int4 || storage == ElementType::int8;
  const IntegerRange range = code_range(layout.bits, is_signed);
  std::uniform_int_distribution<std::int64_t> draw(range.min, range.max);
  Case made{storage, layout, {}};
  made.codes.resize(static_cast<std::size_t>(layout.rows * layout.columns));
  // Sanitized, drawing takes a microsecond: of many codes the later ones repeat the first.
  const auto drawn = std::min(made.codes.size(), std::size_t{10'007});
  for (std::size_t i = 0; i < drawn; ++i) made.codes[i] = static_cast<std::byte>(draw(random));
  for (std::size_t i = drawn; i < made.codes.size(); ++i) made.codes[i] = made.codes[i - drawn];
  return made;
}

/// Element by element, from the layout's description.
std::vector<std::byte> packed_plainly(const Case& example) {
  const NBitsLayout& layout = example.layout;
  const int half = 1 << (layout.bits - 1);
  const bool is_signed =
      example.storage == ElementType::int4 || example.storage == ElementType::int8;
  std::vector<std::byte> packed;
  for (std::int64_t row = 0; row < layout.rows; ++row) {
    for (std::int64_t block = 0; block * layout.block_size < layout.columns; ++block) {
      for (std::int64_t i = 0; i < layout.block_size; ++i) {
        const std::int64_t column = block * layout.block_size + i;
        const int value =
            column < layout.columns ? example.code(row, column) + (is_signed ? half : 0) : 0;
        const std::int64_t place = i % (8 / layout.bits);
        if (place == 0) packed.push_back(std::byte{0});
        const std::int64_t shift = layout.first_is_high ? 4 * (1 - place) : place * layout.bits;
        packed.back() |= static_cast<std::byte>(value << shift);
      }
    }
  }
  return packed;
}

std::vector<std::byte> bytes_of_constant(const Constant& constant) {
  const auto bytes = constant.read();
  REQUIRE(bytes);
  return {bytes->bytes().begin(), bytes->bytes().end()};
}

}  // namespace

TEST_CASE("the example of the header") {
  const std::vector<std::int8_t> codes{-8, 7, 1};
  const Constant packed = nbits_codes(
      Constant::from_values(ElementType::int4, Shape{3, 1}, std::span<const std::int8_t>(codes)),
      {.rows = 1, .columns = 3, .block_size = 16, .bits = 4});
  CHECK(packed.shape() == Shape{1, 1, 8});
  CHECK(values_of<std::uint8_t>(packed) == std::vector<std::uint8_t>{0xF0, 0x09, 0, 0, 0, 0, 0, 0});
}

TEST_CASE("packed codes, whole and in any part") {
  std::mt19937 random(1);
  struct Form {
    ElementType storage = ElementType::int4;
    int bits = 0;  // 0: those of the storage
    bool first_is_high = false;
  };
  for (const Form& form :
       {Form{ElementType::int4}, Form{ElementType::uint4}, Form{ElementType::int8},
        Form{ElementType::uint8}, Form{ElementType::int4, 2}, Form{ElementType::uint4, 2},
        Form{ElementType::uint4, 4, true}}) {
    const ElementType storage = form.storage;
    for (const bool rows_first : {false, true}) {
      for (const auto& [rows, columns, block] : {std::array<std::int64_t, 3>{1, 1, 16},
                                                 {3, 16, 16},
                                                 {7, 33, 16},
                                                 {5, 31, 32},
                                                 {2, 257, 64}}) {
        const Case example = random_case(random, storage,
                                         {.rows = rows,
                                          .columns = columns,
                                          .block_size = block,
                                          .bits = form.bits,
                                          .rows_first = rows_first,
                                          .first_is_high = form.first_is_high});
        const Constant packed = nbits_codes(example.constant(), example.layout);
        const std::vector<std::byte> expected = packed_plainly(example);
        REQUIRE(packed.byte_size() == expected.size());
        CHECK(bytes_of_constant(packed) == expected);
        for (int i = 0; i < 40; ++i) {
          const std::size_t first = random() % expected.size();
          const std::size_t size = random() % (expected.size() - first + 1);
          std::vector<std::byte> part(size);
          REQUIRE(packed.read(first, part));
          CHECK(std::equal(part.begin(), part.end(),
                           expected.begin() + static_cast<std::ptrdiff_t>(first)));
        }
      }
    }
  }
}

TEST_CASE("more codes than are held at a time: many rows, and rows that are too long") {
  std::mt19937 random(2);
  for (const bool rows_first : {false, true}) {
    for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{15'000, 300},
                                        {3, test::is_whole() ? 4'300'003 : 2'200'003}}) {
      if (!test::is_whole() && rows_first == (rows == 3)) continue;
      const Case example = random_case(
          random, ElementType::int4,
          {.rows = rows, .columns = columns, .block_size = 32, .rows_first = rows_first});
      const auto source = std::make_shared<Watched>(example.codes);
      const Constant packed =
          nbits_codes(Constant::deferred(example.storage, example.shape(), source), example.layout);
      CHECK(bytes_of_constant(packed) == packed_plainly(example));
      CHECK(source->largest <= std::size_t{1} << 20U);
      std::vector<std::byte> last(3);
      REQUIRE(packed.read(packed.byte_size() - 3, last));
    }
  }
}

TEST_CASE("an error of the codes comes through") {
  const auto source = std::make_shared<Watched>(std::vector<std::byte>(10));
  const Constant packed = nbits_codes(Constant::deferred(ElementType::int8, Shape{4, 4}, source),
                                      {.rows = 4, .columns = 4, .block_size = 16, .bits = 8});
  CHECK_FALSE(packed.read());
}

namespace {

const std::string head = R"(graph {"onnx.opset_domains" = [""], "onnx.opset_versions" = [17]}
%x: tensor<3x32xf32> = input()
%c: tensor<32x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>> = constant() <...>
%w: tensor<32x2xf32> = dequantize(%c)
)";

struct Product {
  OnnxWriteReport report;
  Graph graph;
  std::vector<std::string> notes;
};

Product written(std::string_view text, bool wanted = true) {
  const Folder folder;
  Notes notes;
  const Graph graph = parsed(text);
  auto [report, read] = write_and_read(folder, graph, {.sink = &notes, .matmul_nbits = wanted});
  return {std::move(report), std::move(read), notes.messages};
}

std::string_view kind_of(const Graph& graph, std::string_view value) {
  return graph.kind(graph.find_value(value).node);
}

}  // namespace

TEST_CASE("only where it is asked for") {
  const std::string text =
      head + "%y: tensor<3x2xf32> = matmul(%x, %w) {name = \"m\"}\noutput(%y)\n";
  const Product plain = written(text, false);
  CHECK(plain.report.matmul_nbits == 0);
  CHECK(kind_of(plain.graph, "y") == "matmul");
  const Product packed = written(text);
  CHECK(packed.report.matmul_nbits == 1);
  CHECK(packed.notes.empty());
  const NodeRef node = packed.graph.ref(packed.graph.find_value("y").node);
  CHECK(node.kind() == "onnx.com.microsoft::MatMulNBits");
  CHECK(node.name() == "m");
  CHECK(node.attribute_or<std::int64_t>("K", 0) == 32);
  CHECK(node.attribute_or<std::int64_t>("N", 0) == 2);
  CHECK(node.attribute_or<std::int64_t>("bits", 0) == 8);
  CHECK(node.operands().size() == 3);
  CHECK(packed.graph.find_value("c").is_absent());
  const auto domains =
      packed.graph.attributes().get_or("onnx.opset_domains", std::vector<std::string>{});
  CHECK(domains == std::vector<std::string>{"", "com.microsoft"});
}

TEST_CASE("the block of a row with one scale is the one that takes the fewest bytes") {
  // 4 bits and a float a block: 600 columns in blocks of 256, 128, 64, 32, 16 take
  // 3 (128 + 4) = 396, 5 (64 + 4) = 340, 10 (32 + 4) = 360, 19 (16 + 4) = 380, 38 (8 + 4) = 456.
  const Product packed = written(R"(graph {}
%x: tensor<1x600xf32> = input()
%c: tensor<600x1x!quant.uniform<i4:f32, 0.5>> = constant() <...>
%w: tensor<600x1xf32> = dequantize(%c)
%y: tensor<1x1xf32> = matmul(%x, %w)
output(%y)
)");
  const NodeRef node = packed.graph.ref(packed.graph.find_value("y").node);
  CHECK(node.attribute_or<std::int64_t>("block_size", 0) == 128);
  CHECK(packed.graph.type(node.operand(2)).shape == Shape{5});
}

TEST_CASE("what stays is named, with the reason") {
  const auto note = [](const std::string& product) {
    const Product packed = written(head + product);
    CHECK(packed.report.matmul_nbits == 0);
    return packed.notes.empty() ? "nothing" : packed.notes.front();
  };
  CHECK(note("%y: tensor<32x2xf32> = onnx.Neg(%w) {name = \"n\"}\noutput(%y)\n") ==
        "the weight 'w' is not written for MatMulNBits: 'n' reads it, which is no product of a "
        "matrix: onnx.Neg");
  CHECK(note("output(%w)\n") ==
        "the weight 'w' is not written for MatMulNBits: it is an output of the graph");
  CHECK(note("%y: tensor<3x2xf32> = gemm(%x, %w) {alpha = 0.5, name = \"g\"}\noutput(%y)\n") ==
        "the weight 'w' is not written for MatMulNBits: the Gemm 'g' scales with alpha or beta");
  CHECK(
      note("%a: tensor<2x3xf32> = input()\n%y: tensor<32x3xf32> = matmul(%w, %a)\noutput(%y)\n") ==
      "the weight 'w' is not written for MatMulNBits: it is the left operand of 'y'");
}

TEST_CASE("a weight that others read, too, is stored twice") {
  const Product packed = written(head +
                                 "%y: tensor<3x2xf32> = matmul(%x, %w)\n"
                                 "%n: tensor<32x2xf32> = onnx.Neg(%w)\noutput(%y)\noutput(%n)\n");
  CHECK(packed.report.matmul_nbits == 1);
  REQUIRE(packed.notes.size() == 1);
  CHECK(contains(packed.notes[0], "the weight 'w' is stored twice"));
  CHECK(kind_of(packed.graph, "w") == "onnx.DequantizeLinear");
}

TEST_CASE("a quantized model that was read can be written so") {
  const Folder folder;
  const Graph graph = parsed(head + "%y: tensor<3x2xf32> = matmul(%x, %w)\noutput(%y)\n");
  REQUIRE(write_onnx(graph, folder / "linear.onnx"));
  const auto read = read_onnx(folder / "linear.onnx");
  REQUIRE(read);
  const auto report = write_onnx(*read, folder / "nbits.onnx", {.matmul_nbits = true});
  REQUIRE(report);
  CHECK(report->matmul_nbits == 1);
}

TEST_CASE("shapes that are only claimed") {
  // 2^61 codes of which nobody has one: filled up to blocks of 16, they could not be counted.
  Graph graph = parsed(R"(graph {}
%x: tensor<1x1xf32> = input()
%c: tensor<1x4x!quant.uniform<i4:f32, 0.5>> = constant() <...>
%w: tensor<1x4xf32> = dequantize(%c)
%y: tensor<1x4xf32> = matmul(%x, %w)
output(%y)
)");
  const Value codes = graph.find_value("c");
  const Shape huge{1, std::int64_t{1} << 61U};
  graph.set_constant(codes.node,
                     Constant::deferred(ElementType::int4, huge,
                                        std::make_shared<Watched>(std::vector<std::byte>())),
                     graph.type(codes).uniform());
  Notes notes;
  CHECK(onnx::use_matmul_nbits(graph, &notes) == 0);
  REQUIRE(notes.messages.size() == 1);
  CHECK(contains(notes.messages[0], "it has too many elements"));
}
