// Graphs that are written in a format, and read again.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "quadrant/ir/graph.hpp"

namespace fuzz {

enum class Format : std::uint8_t { onnx, tflite, openvino, text, mlir };
inline constexpr std::array formats{Format::onnx, Format::tflite, Format::openvino, Format::text,
                                    Format::mlir};

std::string_view to_string(Format format) noexcept;

/// What `graph`, a valid one, reads back as, which must be valid, too. Empty where the writer
/// refuses it, and for what has no reader. `choices`: of options, where there are some.
std::optional<quadrant::Graph> write_and_read(const quadrant::Graph& graph, Format format,
                                              std::uint64_t choices);

}  // namespace fuzz
