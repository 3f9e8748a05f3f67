#include "status.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "quadrant/methods/fake_quantize.hpp"
#include "quadrant/methods/qdq_fusion.hpp"
#include "quadrant/methods/static_affine.hpp"
#include "quadrant/methods/weight_only.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "round_trip.hpp"

namespace quadrant::test {
namespace {

class Asking {
 public:
  Asking() {
    for (const Operation& operation : operations()) {
      if (operation.family == Family::border) continue;
      Row& row = status_.rows.emplace_back();
      row.operation = &operation;
      if (operation.infer != nullptr) row[Column::shapes].state = State::yes;
    }
    std::ranges::sort(status_.rows, {}, [](const Row& row) {
      return std::pair(row.operation->family, row.operation->kind);
    });
  }

  Status ask() && {
    for (const KernelEntry& entry : Interpreter::kernels()) mark(Column::interpreter, entry.kind);
    ask(Column::weight_only, weight_only_registry());
    ask(Column::static_affine, static_affine_registry({}));
    ask(Column::fused_tflite, describe_rules(KernelsTarget::tflite));
    ask(Column::fused_webnn, describe_rules(KernelsTarget::webnn));
    ask(Column::fused_onnx, describe_rules(KernelsTarget::onnx_qoperator));
    for (const KernelsTarget target : low_precision_targets) {
      ask(Column::fused_openvino, describe_low_precision(target));
    }
    const auto cases = all_cases();
    for (Row& row : status_.rows) {
      const auto found = cases.find(row.operation->kind);
      if (found == cases.end()) {
        status_.problems.push_back(
            fmt::format("{}: no case for its formats, in tests/runtime/ops or in "
                        "tests/operations/uncomputed.txt",
                        row.operation->kind));
        continue;
      }
      ask(Column::onnx, Format::onnx, row, found->second);
      ask(Column::tflite, Format::tflite, row, found->second);
      ask(Column::openvino, Format::openvino, row, found->second);
      ask(Column::mlir, Format::mlir, row, found->second);
    }
    return std::move(status_);
  }

 private:
  void mark(Column column, std::string_view kind) {
    const Operation* const operation = find_operation(kind);
    const auto row = std::ranges::find(status_.rows, operation, &Row::operation);
    if (row != status_.rows.end()) {
      (*row)[column].state = State::yes;
    } else if (operation == nullptr) {
      status_.problems.push_back(
          fmt::format("{}: {} is not in the table of operations", heading(column), kind));
    }
  }

  void ask(Column column, const Expected<Registry>& registry) {
    for (const QuantizationMethod* method : registry.value().methods()) mark(column, method->op());
  }

  template <class Rule>
  void ask(Column column, const std::vector<Rule>& rules) {
    for (const Rule& rule : rules) mark(column, rule.kind);
  }

  void ask(Column column, Format format, Row& row, const std::vector<Case>& cases) {
    Trip trip = send(format, row.operation->kind, cases);
    for (const std::string& why : trip.unreadable) {
      status_.problems.push_back(fmt::format("{}: {} is written, and not read back: {}",
                                             row.operation->kind, heading(column), why));
    }
    if (!trip.is_written) return;
    const bool is_read = format != Format::mlir;
    row[column] = {trip.is_kept || !is_read ? State::yes : State::other, std::move(trip.refused)};
  }

  static std::string_view heading(Column column) {
    return columns[static_cast<std::size_t>(column)].heading;
  }

  Status status_;
};

}  // namespace

Status status_of_operations() { return Asking().ask(); }

}  // namespace quadrant::test
