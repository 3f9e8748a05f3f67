// What a run of quantize did to a model, in numbers.
//
//   Summary summary = summarize(graph, registry, *result);
//   summary.file_bytes_before = ...;  // what only the caller knows
//   fputs(to_string(summary).c_str(), stdout);
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quadrant/engine/quantize.hpp"
#include "quadrant/ir/graph.hpp"

namespace quadrant::inline v0 {

/// Some weights, counted. Weights are constants of a float or a quantized type.
struct WeightTotals {
  std::uint64_t count = 0;
  std::uint64_t elements = 0;
  std::uint64_t bytes = 0;

  /// 0 without any.
  [[nodiscard]] double bits_per_element() const noexcept;
  friend bool operator==(const WeightTotals&, const WeightTotals&) = default;
};

/// A float weight that the run left as it was.
struct WeightLeftInFloat {
  std::string name;
  TensorType type;
  std::uint64_t bytes = 0;
  bool eligible = false;  ///< reaches the weight operand of a matmul, gemm or conv
  std::string reason;
};

struct OperationCount {
  std::string kind;
  std::uint64_t before = 0;
  std::uint64_t after = 0;

  friend bool operator==(const OperationCount&, const OperationCount&) = default;
};

/// A scheme of the run.
struct SchemeUse {
  std::string name;
  std::string options;
  std::uint64_t weights = 0;  ///< that it quantized

  friend bool operator==(const SchemeUse&, const SchemeUse&) = default;
};

struct Summary {
  std::string scheme;   ///< all of them, by name
  std::string options;  ///< and what each was asked for
  std::vector<SchemeUse> schemes;
  std::string gain_model;
  std::string gain_unit;  ///< empty for a gain model that the library does not know
  Gain objective;
  std::optional<Gain> bound;  ///< no decision is worth more; empty: the policy does not know

  WeightTotals weights_before;
  /// Codes, scales and zero points count as bytes; elements are codes.
  WeightTotals weights_after;
  /// Those of them that are quantized.
  WeightTotals quantized_after;
  /// Those that the model came with quantized, which stay as they are.
  WeightTotals given;
  /// Float weights that reach the weight operand of a matmul (both), gemm (A and B) or conv (W),
  /// directly or through values that the scheme could quantize, whatever the user excluded.
  WeightTotals eligible;
  /// Those of them that the run quantized, with the bytes that they had in float.
  WeightTotals eligible_quantized;

  std::vector<OperationCount> operations;        ///< by name; constants are none
  std::vector<WeightLeftInFloat> left_in_float;  ///< largest first, then by name

  // What `summarize` cannot know; left empty, it is not shown.
  std::optional<std::uint64_t> file_bytes_before;  ///< of the model and its data files
  std::optional<std::uint64_t> file_bytes_after;
  std::optional<double> seconds;
};

/// Compares `before`, the graph that was given to `quantize`, with what came out. Reads metadata
/// only. Linear but for sorting.
[[nodiscard]] Summary summarize(const Graph& before, const Registry& registry,
                                const QuantizeResult& result);

/// Tables for a terminal. Of the weights that were left in float, the ten largest.
[[nodiscard]] std::string to_string(const Summary& summary);
/// One JSON object with everything.
[[nodiscard]] std::string print_json(const Summary& summary);

}  // namespace quadrant::inline v0
