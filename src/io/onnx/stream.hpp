// A message on its way to a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "io/onnx/rope.hpp"
#include "quadrant/support/executor.hpp"
#include "quadrant/support/function_ref.hpp"

namespace quadrant::inline v0::onnx {

/// Takes the bytes that belong at `offset`. Called from several threads, in any order.
using PieceSink = FunctionRef<void(std::uint64_t offset, std::span<const std::byte> bytes)>;

/// Is told after some pieces how many bytes are done since; in the calling thread.
using BytesDone = FunctionRef<void(std::uint64_t bytes)>;

/// Streams `rope` in pieces of a megabyte, four where a constant gathers, which `executor` runs
/// side by side: payloads are read, or computed, into a buffer of the piece, which goes to `out`.
/// The memory for it is that of as many pieces as run at the same time. Returns a hash of the
/// contents, which depends on nothing else.
std::uint64_t stream(const Rope& rope, Executor& executor, PieceSink out, BytesDone done);

}  // namespace quadrant::inline v0::onnx
