#include "io/openvino/odd_codes.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "model_text.hpp"
#include "quadrant/ir/graph.hpp"

namespace quadrant::test {
namespace {

// What holds the weight of a product of `lines`, afterwards.
ElementType storage(const std::string& shape, const std::string& type, const std::string& product,
                    const std::string& contents) {
  Graph graph = parsed("graph {}\n%x: tensor<?x?xf32> = input()\n%w: tensor<" + shape + "x" + type +
                       "> = constant() " + contents + "\n%r: tensor<" + shape +
                       "xf32> = dequantize(%w)\n%y: tensor<*xf32> = " + product + "\noutput(%y)\n");
  openvino_ir::widen_odd_codes(graph);
  REQUIRE(verify(graph));
  const Value w = graph.find_value("w");
  const auto values = value_of(read_integers(*graph.constant(w.node)));
  CHECK(values.front() == -2);
  CHECK(values.back() == 5);
  return graph.type(w).element;
}

constexpr const char* whole = "!quant.uniform<i4:f32, 0.5>";
constexpr const char* of_three = "[-2, 1, 5]";
constexpr const char* of_six = "[-2, 1, 0, 3, 4, 5]";

}  // namespace

TEST_CASE("codes of 4 bits are bytes where a matrix product sums an odd number of them") {
  CHECK(storage("3x1", whole, "matmul(%x, %r)", of_three) == ElementType::int8);
  CHECK(storage("3x2", whole, "matmul(%x, %r)", of_six) == ElementType::int8);
  CHECK(storage("2x3", whole, "matmul(%x, %r)", of_six) == ElementType::int4);
  CHECK(storage("2x3", whole, "gemm(%x, %r, _) {transB = 1}", of_six) == ElementType::int8);
  CHECK(storage("3x2", whole, "gemm(%x, %r, _) {transB = 1}", of_six) == ElementType::int4);
  // Of either axis.
  CHECK(storage("2x3", whole, "transpose(%r)", of_six) == ElementType::int8);
  CHECK(storage("3x2", whole, "matmul(%r, %x)", of_six) == ElementType::int8);
}

TEST_CASE("other codes stay as they are") {
  CHECK(storage("3x1", "!quant.uniform<i16:f32, 0.5>", "matmul(%x, %r)", of_three) ==
        ElementType::int16);
  CHECK(storage("3x2", whole, "gather(%r, %x)", of_six) == ElementType::int4);
}

TEST_CASE("blocks of an odd number are read wrongly, whatever the sum") {
  const char* const threes = "!quant.uniform<i4:f32:{0:3}, {0.5, 0.25}>";
  const char* const twos = "!quant.uniform<i4:f32:{0:2}, {0.5, 0.25, 1.0}>";
  CHECK(storage("6x1", threes, "matmul(%x, %r)", of_six) == ElementType::int8);
  CHECK(storage("6x1", twos, "matmul(%x, %r)", of_six) == ElementType::int4);
}

TEST_CASE("codes that the file has elements for") {
  const auto has_codes = [](const NumberCode& code, std::vector<std::int64_t> sums) {
    return openvino_ir::has_codes(code, sums);
  };
  CHECK(has_codes(FixedTable::nf4, {32}));
  CHECK(has_codes(FixedTable::nf4, {4, 32}));
  CHECK_FALSE(has_codes(FixedTable::nf4, {4, 31}));
  CHECK_FALSE(has_codes(FixedTable::iq4nl, {32}));
  CHECK(has_codes(FloatCode{ElementType::float8e4m3}, {31}));
  CHECK_FALSE(has_codes(FloatCode{ElementType::float6e2m3}, {32}));
  CHECK(has_codes(IntegerCode::of(4, true), {32}));
  CHECK_FALSE(has_codes(IntegerCode::of(12, true), {32}));
}

}  // namespace quadrant::test
