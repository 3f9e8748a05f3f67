#include "quadrant/engine/constraint.hpp"

namespace quadrant::inline v0 {

ConstraintTable::ConstraintTable(const ConstraintType& type) : type_(&type) {}

ConstraintId ConstraintTable::intern(const void* constraint) {
  const std::size_t hash = type_->hash(constraint);
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto entry = first; entry != last; ++entry) {
    if (type_->equal(get(entry->second), constraint)) return entry->second;
  }
  const auto id = static_cast<ConstraintId>(entries_.size());
  entries_.push_back(type_->copy(constraint));
  by_hash_.emplace(hash, id);
  return id;
}

std::optional<ConstraintId> ConstraintTable::parse(std::string_view text) {
  const std::shared_ptr<const void> parsed = type_->parse(text);
  if (!parsed) return std::nullopt;
  return intern(parsed.get());
}

const void* ConstraintTable::get(ConstraintId id) const noexcept {
  return entries_[static_cast<std::size_t>(id)].get();
}

std::string ConstraintTable::print(ConstraintId id) const { return type_->print(get(id)); }

bool ConstraintTable::less(ConstraintId a, ConstraintId b) const {
  return type_->less(get(a), get(b));
}

}  // namespace quadrant::inline v0
