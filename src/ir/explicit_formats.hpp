// Numbers in formats that a file cannot say, as arithmetic that every runtime has.
#pragma once

#include <cstdint>
#include <span>

#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/number_format.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/support/executor.hpp"

namespace quadrant::inline v0 {

/// Whether whoever comes next has elements for such codes, of which a sum may run over so many:
/// those of a block or, without blocks, of any axis.
using HasCodes = FunctionRef<bool(const NumberCode& code, std::span<const std::int64_t> sums)>;

/// Replaces each `dequantize` of codes whose type is not uniform by what it computes; its value and
/// its name stay.
///
///   %r = dequantize(%w)         %w: tensor<4x64x nf4 * f32[axis=1 block=64]>
///
///   %t = gather(values, cast(codes))   a table of what codes stand for
///   %s = multiply(%t, scales)          on shapes that have an axis for several blocks
///   %r = reshape(%s)
///
/// Numbers are those of `decode` (numerics/encode.hpp), bit by bit, where the runtime multiplies
/// float32. Codes of at most 4 bits are packed into bytes (below opset 10 only where the last is
/// full), and the table has as many values for each byte; tables for several groups are looked up
/// unpacked. Scales keep their widths, as far as elements of that type exist: e4m3 and e8m0 are
/// looked up as well, integers are cast. Codes that nothing else reads are dropped. Packed codes
/// are computed when they are read.
///
/// Codes, and small floats as scales, that `has_codes` are not looked up: a `dequantize` of a
/// format without scales reads them, or a cast, if they are integers. `sink`, which may be null, is
/// told how many others there are, and which constants of such types nothing reads: they are left
/// out.
///
/// `impossible` where a `quantize` makes codes of a format that is not uniform.
[[nodiscard]] Expected<void> make_formats_explicit(
    Graph& graph, Sink* sink,
    HasCodes has_codes = [](const NumberCode& /*code*/, std::span<const std::int64_t> /*sums*/) {
      return false;
    });

}  // namespace quadrant::inline v0
