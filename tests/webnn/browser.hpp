// What the browser did with a case, as far as its file tells.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "case_file.hpp"

namespace quadrant::webnn {

/// How many of the browser's operations are what an operation `op` of WebNN becomes when it is
/// fused: they compute on codes, or are the activation of one that does. An operation that helps
/// others (the PAD in front of a CONV_2D) counts too, so this may be more than there are.
[[nodiscard]] std::size_t count_fused(std::span<const EmittedOp> emitted, std::string_view op);

}  // namespace quadrant::webnn
