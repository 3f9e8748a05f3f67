// Graphs to textual MLIR (https://mlir.llvm.org/docs/LangRef), in the generic form that mlir-opt of
// versions 19 and 22 both read: `func`, `arith`, `math`, `linalg`, `tensor` and `quant`.
#pragma once

#include <cstdint>
#include <string>

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/support/files.hpp"

namespace quadrant::inline v0 {

struct MlirWriteReport {
  std::uint64_t file_bytes = 0;
  std::int64_t operations = 0;  ///< of the function; those inside regions are not counted
};

/// Writes `graph` as a module with one function, @main: its arguments are the graph's inputs and
/// its results the outputs, in order, with their names in the attribute `quadrant.name`. Each
/// operation has the location of the node that it comes from.
///
/// - Where codes are, by the types of values, their tensors have types `!quant.uniform`, and
///   operations compute in float between `quant.dcast` and `quant.qcast`. A constant of codes is
///   one of plain integers, and `quant.scast` says what they mean.
/// - Integers are signless; arguments and results that are unsigned have the attribute
///   `quadrant.element`, which says so ("u8").
/// - Constants stand in the text as the hexadecimal digits of their bytes. They are read one by one
///   while the file is written; those of which only the shape or a list is needed are not there.
///
/// `impossible` when an extent is open, and when operations have no counterpart, with each reason
/// and some of the nodes that it is about. The file appears complete or not at all. `graph` is only
/// read: several threads may do so. With `files`, it is added to these, which put it in place.
[[nodiscard]] Expected<MlirWriteReport> write_mlir(const Graph& graph, const std::string& path,
                                                   FileTransaction* files = nullptr);

/// What `write_mlir` would write, all of it in memory.
[[nodiscard]] Expected<std::string> mlir_text(const Graph& graph);

}  // namespace quadrant::inline v0
