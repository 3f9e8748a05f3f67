#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "quadrant/numerics/second_moments.hpp"
#include "quadrant/support/files.hpp"
#include "support/merge_left.hpp"
#include "support/saturating.hpp"
#include "support/shared_room.hpp"

namespace quadrant::inline v0 {
namespace {

Expected<SecondMoments> in_memory(std::string_view name, const SecondMoments& moments) {
  auto found = moments.brought_back();
  if (!found) found.error().place.tensor = name;
  return found;
}

Expected<void> add(SecondMoments& own, std::string_view name, const SecondMoments& other) {
  if (own.is_away()) {
    QUADRANT_TRY(own, in_memory(name, own));
  }
  if (!other.is_away()) return own.merge(other);
  QUADRANT_TRY(const SecondMoments more, in_memory(name, other));
  return own.merge(more);
}

}  // namespace

Expected<void> SecondMomentsTable::merge(const SecondMomentsTable& other) {
  for (const auto& [name, moments] : other.weights) {
    const SecondMoments* const own = find(name);
    if (own == nullptr) continue;
    auto checked = own->check_merge(moments);
    if (checked) continue;
    checked.error().place.tensor = name;
    return checked;
  }
  if (model.empty()) model = other.model;
  if (model_hash == 0) model_hash = other.model_hash;
  samples = saturating_add(samples, other.samples);
  merge_left(left, other.left);
  for (const auto& [name, moments] : other.weights) {
    const auto [place, is_new] = weights.try_emplace(name, moments);
    if (is_new) continue;
    QUADRANT_CHECK(add(place->second, name, moments));
  }
  for (const LeftAlone& each : left) weights.erase(each.name);
  return {};
}

Expected<std::shared_ptr<const SecondMoments>> SecondMomentsTable::load(
    std::string_view weight) const {
  /// What the pointer keeps.
  struct Loaded {
    std::shared_ptr<SharedRoom> room;
    std::optional<SharedRoom::Share> share;
    std::optional<SecondMoments> moments;
  };
  // Rounding by sums takes up to 24 bytes for each pair of columns, of which these have 4.
  constexpr std::uint64_t of_sums = 7;
  const SecondMoments* const found = find(weight);
  if (found == nullptr) return std::shared_ptr<const SecondMoments>();
  auto loaded = std::make_shared<Loaded>();
  if (room != nullptr) {
    loaded->room = room;
    const std::uint64_t sums = SecondMoments::bytes_of(found->layout(), found->block());
    loaded->share.emplace(*room, saturating_multiply(sums, of_sums));
  }
  if (found->is_away()) {
    QUADRANT_TRY(loaded->moments, in_memory(weight, *found));
  }
  const SecondMoments* const there = loaded->moments ? &*loaded->moments : found;
  return std::shared_ptr<const SecondMoments>(std::move(loaded), there);
}

}  // namespace quadrant::inline v0
