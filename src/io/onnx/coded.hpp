// Tensor contents that the file does not hold as one run of little-endian elements: varints,
// elements with a tag each, several elements in a byte. Decoded when read.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "io/onnx/file.hpp"

namespace quadrant::inline v0::onnx {

/// Encoded elements that lie side by side.
struct Run {
  Range range;
  bool tagged = false;  ///< each element follows a tag (the field was not packed)
};

enum class Coding : std::uint8_t { varint, fixed32, fixed64 };

/// The elements of `runs`, `width` bytes each. Reads them all once, through a small buffer, to see
/// that there are exactly `count`; throws a Failure otherwise. What is remembered is a position
/// every few thousand elements, so that reading piece by piece does not start from the beginning
/// each time.
[[nodiscard]] std::shared_ptr<const ConstantSource> coded_elements(std::shared_ptr<const File> file,
                                                                   std::vector<Run> runs,
                                                                   Coding coding, int width,
                                                                   std::uint64_t count);

/// A byte each of elements of `bits` bits, 2 or 4, of which a byte has the first in its lowest
/// bits; their sign is repeated where they have one.
[[nodiscard]] std::shared_ptr<const ConstantSource> unpacked(
    std::shared_ptr<const ConstantSource> packed, int bits, bool is_signed);

}  // namespace quadrant::inline v0::onnx
