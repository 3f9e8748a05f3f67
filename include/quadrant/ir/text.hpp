// A graph as text, for people, tests and bug reports, and back.
//
//   graph {opset = 13}
//   %x: tensor<?x3xf32> = input()
//   %w: tensor<3x2x!quant.uniform<i8<-127:127>:f32:1, {0.1, 0.2}>> = constant() [1, 2, 3, 4, 5, 6]
//   %r: tensor<3x2xf32> = dequantize(%w)
//   %y: tensor<?x2xf32> = gemm(%x, %r, _) {name = "dense", alpha = 2.0}
//   output(%y)
//
// `_` is an absent operand, `?` an unknown extent, `*x` an unknown rank, `#` starts a comment.
// `base64("...")` are contents as bytes, `<...>` contents that were left out for people.
// Names that hold more than letters, digits and a few signs are written as strings: `%"a b"`. The
// key `name` is the node's name. src/ir/text_syntax.hpp has the grammar.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

struct PrintOptions {
  /// Constants with at most this many elements are printed in full; larger ones and deferred ones
  /// as `<...>`, which `parse_graph` reads back as zeros. Scales that are left out, `{...}`, cannot
  /// be read back.
  std::int64_t largest_constant = 64;
};

/// One line a node: inputs, then the others with producers before users, then outputs. Never reads
/// deferred contents. A graph with a cycle, or with quantized types that break the verifier's
/// rules, is printed too, but what comes out may not be read back.
[[nodiscard]] std::string print_graph(const Graph& graph, const PrintOptions& options = {});

/// The same with nothing left out, so that `parse_model` gives a graph of the same contents: those
/// of more than 64 elements, and bytes that are carried, in base64. Reads what is deferred, and
/// fails as that does.
[[nodiscard]] Expected<std::string> print_model(const Graph& graph);

/// Reads what `print_graph` writes; printing the result gives the same text. Errors give line and
/// column. Takes memory in proportion to the text, whatever sizes that claims; contents left out
/// are deferred constants. Checks the form, not the rules of the IR: see `verify`.
[[nodiscard]] Expected<Graph> parse_graph(std::string_view text);

/// The same of a text that is to be worked with: `invalid_model`, with line and node, also where
/// contents were left out, and where a node breaks the rules of `verify`.
[[nodiscard]] Expected<Graph> parse_model(std::string_view text);

}  // namespace quadrant::inline v0
