#include "quadrant/engine/declare/scheme.hpp"

namespace quadrant::inline v0 {

Expected<void> Scheme::check() const { return {}; }

Expected<SharedFacts> Scheme::erased_prepare(const GraphView& /*graph*/) const {
  return SharedFacts();
}

std::optional<TensorType> Scheme::erased_type_of(const void* /*form*/,
                                                 const TensorType& /*real*/) const {
  return std::nullopt;
}

}  // namespace quadrant::inline v0
