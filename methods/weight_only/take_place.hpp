// Values instead of others: what is made in place of one is called as it was, and codes get another
// meaning.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "quadrant/engine/rewriting.hpp"

namespace quadrant::inline v0::weight_only {

/// `made` takes the place of `value`, a result of the node at hand, for all who read it; and its
/// name, which whoever refers to it by name finds. `value` has `suffix` behind its own from now on.
[[nodiscard]] Expected<void> take_place(Value value, Value made, std::string_view suffix,
                                        RewriteContext& context);

/// The same codes under another type, through two storage casts.
[[nodiscard]] Expected<Value> relabel(Value codes, std::shared_ptr<const UniformType> type,
                                      const std::string& name, RewriteContext& context);

}  // namespace quadrant::inline v0::weight_only
