// Quantizes a graph and checks what must hold of any result.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <utility>

#include "engine/evaluator.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/ir/graph.hpp"

namespace check_rewriting {

using namespace quadrant;

/// The quantized graph keeps the rules of the IR, everybody reads the form that is meant for him,
/// and the outputs are those of `graph`.
inline void check_equal(const Graph& graph, const Graph& quantized,
                        const evaluator::ReadsCodes& reads_codes) {
  const auto valid = verify(quantized);
  CHECK_MESSAGE(valid.has_value(), to_string(valid ? Error{} : valid.error()));
  const evaluator::Evaluation after = evaluator::evaluate(quantized, reads_codes);
  const std::string mistake = after.mistakes.empty() ? "" : after.mistakes.front();
  CHECK_MESSAGE(after.mistakes.empty(), mistake);
  CHECK(after.outputs == evaluator::evaluate(graph, reads_codes).outputs);
}

/// `quantize`, which must succeed, and `check_equal`.
inline QuantizeResult quantize_checked(
    const Graph& graph, const Registry& registry, const QuantizeOptions& options,
    const evaluator::ReadsCodes& reads_codes = evaluator::codes_for_codes) {
  auto result = quantize(graph, registry, options);
  REQUIRE_MESSAGE(result.has_value(), to_string(result ? Error{} : result.error()));
  check_equal(graph, result->graph, reads_codes);
  return *std::move(result);
}

inline int count(const Graph& graph, std::string_view kind) {
  int found = 0;
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    const NodeId node = graph.node_at(i);
    if (node.is_valid() && graph.kind(node) == kind) ++found;
  }
  return found;
}

}  // namespace check_rewriting
