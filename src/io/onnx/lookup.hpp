// Lookups in quantized tables: the rows that are read are dequantized, not the table.
#pragma once

#include "quadrant/ir/graph.hpp"

namespace quadrant::inline v0::onnx {

/// Lets each Gather from a dequantized constant read codes, and what follows dequantize its result:
///
///  - 8 and 16 bits, one scale for all or along another axis than the Gather's: a `dequantize`
///    behind, of the type whose axis has moved;
///  - 8 and 16 bits, a scale for each index that is looked up, or one block for each: scales (and
///    zero points) are looked up too; Cast, (Sub), Mul;
///  - 8 and 16 bits, several blocks along another axis: the same, with DequantizeLinear from opset
///    21 on; before, with a Reshape into blocks, where the axis is behind the Gather's and has no
///    short last block;
///  - 4 bits, at least two dimensions, blocks of a power of two from 16 on or one scale for all or
///    along an axis: com.microsoft.GatherBlockQuantized.
///
/// All are exact: dequantizing is elementwise. Other Gathers stay, and other readers of a table
/// keep their `dequantize`. Linear in the size of the graph.
void read_rows_of_tables(Graph& graph);

}  // namespace quadrant::inline v0::onnx
