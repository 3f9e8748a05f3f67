// The finite constraints of phase 1, as methods see them: those of the nodes before, and what is
// added for the node at hand.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "quadrant/engine/declare/method.hpp"
#include "quadrant/engine/phases/eligibility.hpp"

namespace quadrant::inline v0 {

class Possible final : public PossibilityContext {
 public:
  Possible(const Eligibility& eligibility, std::uint32_t scheme) noexcept
      : eligibility_(&eligibility), scheme_(scheme) {}

  [[nodiscard]] std::optional<std::size_t> count(Value value) const noexcept override {
    const auto* known = eligibility_->possible(value.node, scheme_);
    return known != nullptr ? std::optional(known->size()) : std::nullopt;
  }
  [[nodiscard]] const void* get(Value value, std::size_t index) const noexcept override {
    return eligibility_->constraints()->get((*eligibility_->possible(value.node, scheme_))[index]);
  }
  void add(const void* constraint) override {
    const ConstraintId id = eligibility_->constraints()->intern(scheme_, constraint);
    if (std::ranges::find(added_, id) == added_.end()) added_.push_back(id);
  }
  [[nodiscard]] std::vector<ConstraintId>& added() noexcept { return added_; }

 private:
  const Eligibility* eligibility_;
  std::uint32_t scheme_;
  std::vector<ConstraintId> added_;
};

}  // namespace quadrant::inline v0
