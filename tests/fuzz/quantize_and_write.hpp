// What the ONNX targets do with a graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "quadrant/ir/graph.hpp"

namespace fuzz {

/// Writes `bytes` to a file of the process's own, in a folder below TMPDIR, and gives its path. The
/// folder also holds `data.bin`, 64 bytes, for models with external data.
const std::string& model_file(std::span<const std::byte> bytes);

/// A file that was written, and what it reads back as.
struct Written {
  std::string bytes;
  quadrant::Graph graph;
};

/// Writes `graph`, where it can be written, and reads it back: it must be a valid model.
std::optional<Written> write_and_read(const quadrant::Graph& graph, std::uint64_t choices);

/// Plans, explains and quantizes `graph`, as the bits of `choices` say, checks that the result is
/// valid, and writes it.
void quantize_and_write(const quadrant::Graph& graph, std::uint64_t choices);

}  // namespace fuzz
