// Cases of operations through file formats.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/ir/graph.hpp"

namespace quadrant::test {

/// A model of one operation, and what it takes to compute its operands.
struct Case {
  Graph with_input;      ///< its first operand is an input of the model, where it was a constant
  Graph with_constants;  ///< all operands are as the case has them
  bool is_wide = false;  ///< of other real numbers than float32, which are a format's own choice
};

/// By the operation's kind: those of tests/runtime/ops and of uncomputed.txt.
[[nodiscard]] std::map<std::string, std::vector<Case>, std::less<>> all_cases();

struct Trip {
  bool is_written = false;  ///< of some case
  bool is_kept = false;     ///< an operation of this kind was read back
  std::set<std::string> refused;
  std::set<std::string> unreadable;  ///< what reading said of that which was written
};

enum class Format : std::uint8_t { onnx, tflite, openvino, mlir };

[[nodiscard]] Trip send(Format format, std::string_view kind, const std::vector<Case>& cases);

}  // namespace quadrant::test
