// A form of a run as gain models see it.
#pragma once

#include "quadrant/engine/declare/constraint.hpp"
#include "quadrant/engine/declare/registry.hpp"
#include "quadrant/engine/gains/gain.hpp"

namespace quadrant::inline v0 {

/// `id` may be `float_form`. The result refers to the registry and the table.
[[nodiscard]] inline ValueForm form_of(const Registry& registry, const ConstraintTable& constraints,
                                       ConstraintId id) {
  if (id == float_form) return {};
  const std::uint32_t scheme = constraints.scheme(id);
  const void* const constraint = constraints.get(id);
  return {registry.name(scheme), constraint,
          registry.scheme(scheme).erased_storage_type(constraint)};
}

}  // namespace quadrant::inline v0
