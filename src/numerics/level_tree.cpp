#include "numerics/level_tree.hpp"

namespace quadrant::inline v0 {

Expected<std::vector<std::uint32_t>> owners_of(const Granularity& granularity, const Shape& shape,
                                               const Groups& blocks) {
  QUADRANT_TRY(const Groups groups, Groups::of(shape, granularity));
  std::vector<std::uint32_t> owners(static_cast<std::size_t>(blocks.group_count()));
  for (std::size_t block = 0; block < owners.size(); ++block) {
    const std::int64_t first = blocks.members(static_cast<std::int64_t>(block)).first;
    groups.for_each_run(first, 1, [&](std::size_t group, std::size_t, std::size_t) {
      owners[block] = static_cast<std::uint32_t>(group);
    });
  }
  return owners;
}

Expected<LevelTree> LevelTree::of(std::span<const ScaleLevel> levels, const Shape& shape,
                                  const Groups& blocks) {
  LevelTree tree;
  tree.levels_.assign(levels.begin(), levels.end());
  for (const ScaleLevel& level : levels) {
    QUADRANT_TRY(const Groups groups, Groups::of(shape, level.groups));
    const std::int64_t count = groups.group_count();
    tree.numbers.emplace_back(static_cast<std::size_t>(count), 1.0F);
    tree.one_.push_back(count == 1);
    auto& owners = tree.owners_.emplace_back();
    if (count == 1 || level.groups == levels.back().groups) continue;
    QUADRANT_TRY(owners, owners_of(level.groups, shape, blocks));
  }
  return tree;
}

}  // namespace quadrant::inline v0
