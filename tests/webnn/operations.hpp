// Which nodes of the library's IR a WebNN operation is (https://www.w3.org/TR/webnn).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph_builder.hpp"
#include "options.hpp"

namespace quadrant::webnn {

/// A WebNN operation that is to be built.
struct Operation {
  GraphBuilder& graph;
  Options& options;
  std::vector<Value> inputs;  ///< those that are left out at the end, or empty, are absent
  std::size_t results = 1;    ///< how many the case has names for

  [[nodiscard]] Value input(std::size_t index) const {
    return index < inputs.size() ? inputs[index] : Value();
  }
  [[nodiscard]] bool has(std::size_t index) const { return !input(index).is_absent(); }
};

/// What an operation gives, as many values as it has results.
using Result = Expected<std::vector<Value>>;

/// `kind` is that of the table's row: many operations differ in it alone.
using Build = Result (*)(Operation& operation, std::string_view kind);

struct OperationEntry {
  std::string_view op;
  Build build = nullptr;
  std::string_view kind;  ///< of the node that does the work
  std::size_t least_inputs = 1;
  std::size_t most_inputs = 1;
};

inline constexpr std::size_t any_number = 1U << 20U;  ///< of inputs

// --- one table a file ---
[[nodiscard]] std::span<const OperationEntry> elementwise_operations() noexcept;
[[nodiscard]] std::span<const OperationEntry> convolution_operations() noexcept;
[[nodiscard]] std::span<const OperationEntry> move_operations() noexcept;
[[nodiscard]] std::span<const OperationEntry> indexing_operations() noexcept;
[[nodiscard]] std::span<const OperationEntry> reduction_operations() noexcept;
[[nodiscard]] std::span<const OperationEntry> normalization_operations() noexcept;
[[nodiscard]] std::span<const OperationEntry> quantization_operations() noexcept;

/// Null where the operation is not known.
[[nodiscard]] const OperationEntry* find_operation(std::string_view op) noexcept;

// --- what several of them need ---

[[nodiscard]] inline std::int64_t flag(bool value) { return value ? 1 : 0; }

/// 0, 1, ..., `count` - 1.
[[nodiscard]] Integers first_numbers(std::int64_t count);
/// An axis that is not below `rank` is a mistake of the option's.
[[nodiscard]] Integers axes_option(Operation& operation, const char* key, std::int64_t rank,
                                   Integers fallback);
/// What WebNN is wrong about, in one place of the file.
[[nodiscard]] tl::unexpected<Error> refuse(std::string message);

/// The scale of each element of `data`, where a scale of WebNN's scales it.
[[nodiscard]] Expected<Value> scale_of_each(GraphBuilder& graph, Value scale, const Shape& data);

/// One result as the list that a Build returns.
[[nodiscard]] Expected<std::vector<Value>> only(Expected<Value> value);

/// An operation along two spatial axes, which WebNN may have in front of the channels (`nhwc`) and
/// the IR has behind them.
struct Images {
  bool channels_last = false;

  [[nodiscard]] Expected<Value> to_nchw(GraphBuilder& graph, Value value) const;
  [[nodiscard]] Expected<Value> from_nchw(GraphBuilder& graph, Value value) const;
};
/// The option `key`; `nchw` where it is missing.
[[nodiscard]] Images layout_option(Operation& operation, const char* key);

}  // namespace quadrant::webnn
