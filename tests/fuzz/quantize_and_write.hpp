// What targets do with a graph: it is quantized, and goes through an ONNX file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "quadrant/engine/quantize.hpp"
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

/// That each value of `graph`, which was analyzed, has a reason for what becomes of it.
void require_reasons(const quadrant::Graph& graph, const quadrant::Analysis& analysis);

/// Plans, explains and quantizes the weights of `graph`, as the bits of `choices` say, checks that
/// the result is valid, writes it, and returns it where there is one.
std::optional<quadrant::Graph> quantize_and_write(const quadrant::Graph& graph,
                                                  std::uint64_t choices);

}  // namespace fuzz
