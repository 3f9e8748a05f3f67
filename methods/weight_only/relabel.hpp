// Codes that get another meaning.
#pragma once

#include <memory>
#include <string>

#include "quadrant/engine/phases/rewriting.hpp"

namespace quadrant::inline v0::weight_only {

/// The same codes under another type, through two storage casts.
[[nodiscard]] Expected<Value> relabel(Value codes, std::shared_ptr<const UniformType> type,
                                      const std::string& name, RewriteContext& context);

}  // namespace quadrant::inline v0::weight_only
