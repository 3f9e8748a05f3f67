// Encodes one tensor: blocks, levels above them and tables in turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "numerics/block_fit.hpp"
#include "numerics/code_values.hpp"
#include "numerics/groups.hpp"
#include "numerics/level_tree.hpp"
#include "numerics/scale_steps.hpp"
#include "quadrant/numerics/encode.hpp"
#include "quadrant/support/executor.hpp"

namespace quadrant::inline v0 {

/// See `encode`. Every step leaves the error or lowers it: blocks are searched from what they have
/// on, with levels above and tables as they are; those are least squares with codes as they are,
/// and stay where rounding costs more than it gains.
class Encoder {
 public:
  /// What `encode` has checked.
  [[nodiscard]] static Expected<Encoded> run(std::span<const float> values, const Shape& shape,
                                             const NumberFormat& format,
                                             const EncodeOptions& options);

 private:
  Encoder(std::span<const float> values, const Shape& shape, const NumberFormat& format,
          const EncodeOptions& options, const Groups& blocks)
      : values_(values), shape_(shape), format_(format), options_(options), blocks_(blocks) {}

  using BlockBody = FunctionRef<void(std::size_t, BlockFitter&)>;
  using Wanted = std::vector<BlockFitter::Usual>;

  [[nodiscard]] Expected<void> prepare();
  /// On the executor, several blocks at the same time.
  void for_each_block(BlockBody body) const { for_blocks(body, options_.executor); }
  void for_blocks(BlockBody body, Executor* executor) const;
  [[nodiscard]] AboveBlock above(std::size_t block) const noexcept;
  [[nodiscard]] double cost() const noexcept;

  [[nodiscard]] const StoredTable* stored_table() const noexcept {
    return std::get_if<StoredTable>(&format_.code);
  }
  [[nodiscard]] std::size_t table_of(std::size_t block) const noexcept {
    return tables_.size() <= 1 ? 0 : table_owners_[block];
  }
  void set_table(std::size_t table, std::vector<float> values);
  void start_tables();
  void refine_tables();

  void start_from_rule();
  void start_from_free_blocks();
  /// Numbers of all levels above the innermost by the usual rule.
  void reach(LevelTree& tree, std::span<const double> wanted) const;
  /// Those of the level above the innermost, of some near what they are, so that the blocks' losses
  /// with the steps that they leave are least.
  using Loss = FunctionRef<double(std::size_t, const ScaleSteps&)>;
  void choose_level(LevelTree& tree, Loss loss) const;
  void store(const Wanted& wanted);
  void search();
  void refine_levels();
  void refine_level(std::size_t level, bool scales, bool minima);
  [[nodiscard]] Encoded finished() const;

  std::span<const float> values_;
  const Shape& shape_;
  const NumberFormat& format_;
  const EncodeOptions& options_;
  Groups blocks_;
  std::size_t block_count_ = 0;

  LevelTree scales_;
  LevelTree minima_;
  std::vector<std::uint32_t> table_owners_;
  std::vector<std::vector<float>> tables_;
  std::vector<CodeValues> codes_;  ///< by table
  std::vector<CodeValues> mirrored_;
  std::vector<BlockFit> fits_;
  std::vector<std::uint8_t> settled_;  ///< whether a block was searched with what is above it now
  double bound_ = 0;
};

}  // namespace quadrant::inline v0
