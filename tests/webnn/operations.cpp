#include "operations.hpp"

#include <fmt/format.h>

#include <array>
#include <numeric>

namespace quadrant::webnn {

const OperationEntry* find_operation(std::string_view op) noexcept {
  const std::array tables{elementwise_operations(), convolution_operations(),
                          move_operations(),        indexing_operations(),
                          reduction_operations(),   normalization_operations(),
                          quantization_operations()};
  for (const auto& table : tables) {
    for (const OperationEntry& entry : table) {
      if (entry.op == op) return &entry;
    }
  }
  return nullptr;
}

Integers first_numbers(std::int64_t count) {
  Integers numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), std::int64_t{0});
  return numbers;
}

Integers axes_option(Operation& operation, const char* key, std::int64_t rank, Integers fallback) {
  Integers axes = operation.options.counts(key, std::move(fallback));
  std::vector<bool> seen(static_cast<std::size_t>(rank), false);
  for (const std::int64_t axis : axes) {
    if (axis >= rank || seen[static_cast<std::size_t>(axis)]) {
      operation.options.refuse(key, fmt::format("axis {} of {}", axis, rank));
      return {};
    }
    seen[static_cast<std::size_t>(axis)] = true;
  }
  return axes;
}

tl::unexpected<Error> refuse(std::string message) {
  return fail(ErrorCode::invalid_model, std::move(message));
}

Expected<std::vector<Value>> only(Expected<Value> value) {
  QUADRANT_TRY(const Value made, std::move(value));
  return std::vector<Value>{made};
}

Expected<Value> Images::to_nchw(GraphBuilder& graph, Value value) const {
  if (graph.rank(value) != 4) {
    return refuse(fmt::format("an image of {} axes, where 4 are wanted", graph.rank(value)));
  }
  return channels_last ? graph.transpose(value, {0, 3, 1, 2}) : Expected<Value>(value);
}

Expected<Value> Images::from_nchw(GraphBuilder& graph, Value value) const {
  return channels_last ? graph.transpose(value, {0, 2, 3, 1}) : Expected<Value>(value);
}

Images layout_option(Operation& operation, const char* key) {
  const std::string layout = operation.options.text(key, "nchw");
  if (layout != "nchw" && layout != "nhwc") {
    operation.options.refuse(key, fmt::format("no layout: '{}'", layout));
  }
  return {.channels_last = layout == "nhwc"};
}

}  // namespace quadrant::webnn
