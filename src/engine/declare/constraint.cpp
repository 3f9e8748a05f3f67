#include "quadrant/engine/declare/constraint.hpp"

#include <functional>
#include <set>
#include <unordered_map>

namespace quadrant::inline v0 {

struct Reasons::Texts {
  std::set<std::string, std::less<>> all;
};

Reasons::Reasons() : texts_(std::make_shared<Texts>()) {}

const std::string* Reasons::keep(std::string_view text) {
  if (text.empty()) return nullptr;
  if (!texts_) texts_ = std::make_shared<Texts>();  // it was moved from
  const auto found = texts_->all.find(text);
  return found != texts_->all.end() ? &*found : &*texts_->all.emplace(text).first;
}

struct ConstraintTable::Index {
  std::unordered_multimap<std::size_t, ConstraintId> by_hash;
};

ConstraintTable::ConstraintTable(std::vector<const ConstraintType*> types)
    : types_(std::move(types)), index_(std::make_shared<Index>()) {}

ConstraintId ConstraintTable::intern(std::uint32_t scheme, const void* constraint) {
  const ConstraintType& type = *types_[scheme];
  const std::size_t hash = type.hash(constraint);
  const auto [first, last] = index_->by_hash.equal_range(hash);
  for (auto known = first; known != last; ++known) {
    const Entry& other = entry(known->second);
    if (other.scheme == scheme && type.equal(other.value.get(), constraint)) return known->second;
  }
  const auto id = static_cast<ConstraintId>(entries_.size());
  entries_.push_back({type.copy(constraint), scheme});
  index_->by_hash.emplace(hash, id);
  return id;
}

std::optional<ConstraintId> ConstraintTable::parse(std::uint32_t scheme, std::string_view text) {
  const std::shared_ptr<const void> parsed = types_[scheme]->parse(text);
  if (!parsed) return std::nullopt;
  return intern(scheme, parsed.get());
}

std::string ConstraintTable::print(ConstraintId id) const {
  if (id == float_form) return "float";
  return types_[scheme(id)]->print(get(id));
}

bool ConstraintTable::less(ConstraintId a, ConstraintId b) const {
  if (scheme(a) != scheme(b)) return scheme(a) < scheme(b);
  return types_[scheme(a)]->less(get(a), get(b));
}

}  // namespace quadrant::inline v0
