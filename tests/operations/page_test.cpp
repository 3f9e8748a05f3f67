#include "page.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <iterator>

using namespace quadrant;
using namespace quadrant::test;

namespace {

// Two operations: the first fused for TFLite, the second in no column.
std::vector<Row> two_rows() {
  std::vector<Row> rows(2);
  rows[0].operation = find_operation("add");
  rows[1].operation = find_operation("onnx.Relu");
  for (Row& row : rows) {
    for (Cell& cell : row.cells) cell.state = State::yes;
  }
  rows[1][Column::fused_tflite].state = State::empty;
  return rows;
}

std::vector<std::string> problems_of(const std::vector<Reason>& reasons) {
  return explain(two_rows(), reasons).problems;
}

}  // namespace

TEST_CASE("an empty cell needs a reason, which names its operation or its family") {
  const std::vector<std::string> unexplained{
      "onnx.Relu, fused: TFLite: empty, and no reason says why"};
  CHECK(problems_of({}) == unexplained);
  CHECK(problems_of({{"Another column.",
                      {{{Column::mlir}, {}, [](const Row&) { return true; }}}}}) == unexplained);
  CHECK(problems_of({{"So.", {{{Column::fused_tflite}, "onnx.Relu"}}}}).empty());
  CHECK(problems_of({{"So.", {{{Column::fused_tflite}, "onnx.R*"}}}}).empty());
  CHECK(problems_of({{"So.", {{{Column::fused_tflite}, {}, [](const Row&) { return true; }}}}})
            .empty());
}

TEST_CASE("a reason needs empty cells") {
  const std::vector<std::string> stale{
      "add, fused: TFLite: there it is, but a reason says why not: So."};
  CHECK(problems_of({{"So.", {{{Column::fused_tflite}, "add onnx.Relu"}}}}) == stale);
  CHECK(problems_of({{"So.", {{{Column::fused_tflite}, "family:elementwise"}}}}) == stale);
  CHECK(problems_of({{"So.", {{{Column::fused_tflite}, "onnx.Relu onnx.Rel"}}}}) ==
        std::vector<std::string>{"onnx.Rel: a reason is about it, and there is no such operation"});
  CHECK(problems_of({{"So.", {{{Column::fused_tflite}, "onnx.Relu"}}},
                     {"Or so.", {{{Column::fused_tflite}, "onnx.Relu"}}}}) ==
        std::vector<std::string>{"onnx.Relu, fused: TFLite: two reasons, one of them: Or so."});
}

TEST_CASE("docs/operations.md is what the library says") {
  const Status status = status_of_operations();
  const Explanation explanation = explain(status.rows, reasons());
  CHECK(fmt::format("{}", fmt::join(status.problems, "\n")) == "");
  CHECK(fmt::format("{}", fmt::join(explanation.problems, "\n")) == "");
  std::ifstream file(QUADRANT_SOURCE_DIR "/docs/operations.md");
  const std::string committed(std::istreambuf_iterator<char>(file), {});
  // Too long to be printed.
  const bool is_current = committed == page_of(status, explanation);
  CHECK_MESSAGE(
      is_current,
      "docs/operations.md is old: build/release/bin/operations_page > docs/operations.md");
}
