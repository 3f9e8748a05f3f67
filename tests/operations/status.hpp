// What the library's tables say of each operation: the cells of docs/operations.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/ir/operations.hpp"

namespace quadrant::test {

enum class Column : std::uint8_t {
  shapes,
  interpreter,
  weight_only,
  static_affine,
  fused_tflite,
  fused_webnn,
  fused_onnx,
  fused_openvino,
  onnx,
  tflite,
  openvino,
  mlir,
};

struct ColumnText {
  Column column;
  std::string_view heading;
  std::string_view meaning;
};

inline constexpr std::array columns{
    ColumnText{Column::shapes, "shapes", "Types of results follow from those of operands."},
    ColumnText{Column::interpreter, "interpreter",
               "The [interpreter](interpreter.md) computes it."},
    ColumnText{Column::weight_only, "weight-only",
               "[weight_only](schemes/weight_only.md) has a method for it: it reads quantized "
               "weights, or hands them on."},
    ColumnText{Column::static_affine, "static-affine",
               "[static_affine](schemes/static_affine.md) has a method for it."},
    ColumnText{Column::fused_tflite, "fused: TFLite",
               "Between DequantizeLinear and QuantizeLinear it becomes an integer kernel of "
               "LiteRT: [qdq_fusion](schemes/qdq_fusion.md), target `tflite`."},
    ColumnText{Column::fused_webnn, "fused: WebNN",
               "The same of what browsers fuse of WebNN's graphs: target `webnn`."},
    ColumnText{Column::fused_onnx, "fused: ONNX",
               "The same with ONNX Runtime's operators on codes: target `onnx-qoperator`."},
    ColumnText{Column::fused_openvino, "fused: OpenVINO",
               "[fake_quantize](schemes/fake_quantize.md) makes it compute on codes: targets "
               "`openvino-cpu`, `openvino-gpu`, `openvino-generic`."},
    ColumnText{Column::onnx, "ONNX", "Files of ONNX hold it: written, and read back."},
    ColumnText{Column::tflite, "TFLite", "The same of [TFLite](formats/tflite.md)."},
    ColumnText{Column::openvino, "OpenVINO", "The same of [OpenVINO](formats/openvino.md)'s IR."},
    ColumnText{Column::mlir, "MLIR",
               "[MLIR](mlir.md#modules-from-other-formats) modules, which are written alone."},
};

enum class State : std::uint8_t {
  empty,
  yes,
  other,  ///< of formats: written as other operations, which are what is read back
};

struct Cell {
  State state = State::empty;
  std::set<std::string> refused;  ///< what a format cannot hold of it, although it holds the rest
};

struct Row {
  const Operation* operation = nullptr;
  std::array<Cell, columns.size()> cells;

  [[nodiscard]] Cell& operator[](Column column) { return cells[static_cast<std::size_t>(column)]; }
  [[nodiscard]] const Cell& operator[](Column column) const {
    return cells[static_cast<std::size_t>(column)];
  }
};

struct Status {
  std::vector<Row> rows;  ///< by family, then by kind
  std::vector<std::string>
      problems;  ///< tables that contradict each other, files that nobody reads
};

/// Asks the tables; writes and reads the cases of tests/runtime/ops and of uncomputed.txt.
[[nodiscard]] Status status_of_operations();

}  // namespace quadrant::test
