// Codes that are part of their storage type, for formats whose codes are always all that it has.
#pragma once

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// Whether there are numbers of the storage type that are no codes.
[[nodiscard]] bool is_part_of_storage(const UniformType& type) noexcept;

/// `real`, which is float32 and about to be quantized to `type`, limited to what the first and the
/// last code stand for: by Max and Min in front. Then no other codes are made of it, whoever
/// quantizes.
///
///   {-9, 0.4, 9}, i4<-7:7>:f32, 1.0  ->  {-7, 0.4, 7}
///
/// `impossible` for scales of blocks; else it fails where parameters cannot be read.
[[nodiscard]] Expected<Value> limited_to_codes(Graph& graph, Value real, const UniformType& type);

}  // namespace quadrant::inline v0
