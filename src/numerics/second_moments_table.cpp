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

template <class T>
Expected<T> of_weight(Expected<T> done, std::string_view name) {
  if (!done) done.error().place.tensor = name;
  return done;
}

}  // namespace

Expected<void> SecondMomentsTable::merge(const SecondMomentsTable& other) {
  for (const auto& [name, moments] : other.weights) {
    const KeptMoments* const own = find(name);
    if (own == nullptr) continue;
    QUADRANT_CHECK(of_weight(own->check_merge(moments), name));
  }
  if (model.empty()) model = other.model;
  if (model_hash == 0) model_hash = other.model_hash;
  samples = saturating_add(samples, other.samples);
  merge_left(left, other.left);
  for (const auto& [name, moments] : other.weights) {
    const auto [place, is_new] = weights.try_emplace(name, moments);
    if (is_new) continue;
    QUADRANT_CHECK(of_weight(place->second.merge(moments), name));
  }
  for (const LeftAlone& each : left) weights.erase(each.name);
  return {};
}

Expected<std::shared_ptr<const SecondMoments>> SecondMomentsTable::load(
    std::string_view weight, std::uint64_t besides) const {
  /// What the pointer keeps.
  struct Loaded {
    std::shared_ptr<SharedRoom> room;
    std::optional<SharedRoom::Share> share;
    std::optional<SecondMoments> moments;
  };
  // Rounding by sums takes up to 24 bytes for each pair of columns, of which these have 4.
  constexpr std::uint64_t of_sums = 7;
  const KeptMoments* const found = find(weight);
  if (found == nullptr && besides == 0) return std::shared_ptr<const SecondMoments>();
  auto loaded = std::make_shared<Loaded>();
  if (room != nullptr) {
    loaded->room = room;
    const std::uint64_t sums =
        found == nullptr ? 0 : SecondMoments::bytes_of(found->layout(), found->block());
    loaded->share.emplace(*room, saturating_add(saturating_multiply(sums, of_sums), besides));
  }
  const SecondMoments* there = found == nullptr ? nullptr : found->in_memory();
  if (found != nullptr && found->is_away()) {
    QUADRANT_TRY(SecondMoments moments, of_weight(found->brought_back(), weight));
    there = &loaded->moments.emplace(std::move(moments));
  }
  return std::shared_ptr<const SecondMoments>(std::move(loaded), there);
}

}  // namespace quadrant::inline v0
