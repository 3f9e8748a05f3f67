// A message on its way to a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "io/onnx/rope.hpp"
#include "quadrant/support/executor.hpp"
#include "quadrant/support/ranks.hpp"

namespace quadrant::inline v0::onnx {

/// Takes the bytes that belong at `offset`. Called from several threads, in any order.
using PieceSink = FunctionRef<void(std::uint64_t offset, std::span<const std::byte> bytes)>;

/// Is told now and then how many bytes are done since, in the calling thread: at the end alone if
/// that takes no part.
using BytesDone = FunctionRef<void(std::uint64_t bytes)>;

/// Streams `rope` in pieces of a megabyte, which `executor` runs side by side: payloads are read,
/// or computed, into a buffer, from where pieces go to `out`. Of constants that gather, up to 32
/// pieces are read at once. Large contents begin with a piece. The memory for it is that of as many
/// buffers as there are threads. Returns a hash, which depends on the contents and where they lie
/// in the rope, and on nothing else.
///
/// On ranks, which all call it with the same rope, each streams a share of the bytes, from one
/// place to another, and all get the hash; where not `all_write`, the first streams all of them.
std::uint64_t stream(const Rope& rope, Executor& executor, PieceSink out, BytesDone done,
                     Ranks* ranks = nullptr, bool all_write = true);

}  // namespace quadrant::inline v0::onnx
