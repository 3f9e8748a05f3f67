#include "numerics/encoder.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "ir/float16.hpp"
#include "numerics/k_means.hpp"
#include "numerics/scale_steps.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr std::size_t elements_at_once = std::size_t{1} << 14U;
constexpr double enough_gain = 1e-5;  // of the error, by new levels or tables

float rounded_to(ElementType type, double value) noexcept {
  const auto single = static_cast<float>(value);
  if (type == ElementType::float16) {
    const float inside = std::clamp(single, -largest_float16, largest_float16);
    return widen_float16(round_to_float16(inside));
  }
  if (type == ElementType::bfloat16) return widen_bfloat16(round_to_bfloat16(single));
  return single;
}

template <class Body>
void for_each_member(const Members& members, Body body) {
  for (std::int64_t run = 0; run < members.count; ++run) {
    for (std::int64_t i = 0; i < members.length; ++i) {
      body(static_cast<std::size_t>(members.first + run * members.stride + i));
    }
  }
}

// The elements of a block, where they lie or gathered.
std::span<const float> gathered(std::span<const float> all, const Members& members,
                                std::vector<float>& room) {
  if (members.count == 1) {
    return all.subspan(static_cast<std::size_t>(members.first),
                       static_cast<std::size_t>(members.length));
  }
  room.clear();
  for_each_member(members, [&](std::size_t i) { room.push_back(all[i]); });
  return room;
}

/// What a group's blocks are together. With a and b for what their scales and minima are
/// multiplied by:
///   cost(a, b) = ww - 2 a wv + a^2 vv + 2 b wm - 2 a b vm + b^2 mm
struct GroupSums {
  double vv = 0;
  double wv = 0;
  double vm = 0;
  double wm = 0;
  double mm = 0;
  double ww = 0;
  std::size_t any_block = 0;

  void add(const BlockFit& fit, std::size_t block) noexcept {
    vv += fit.vv;
    wv += fit.wv;
    vm += fit.minimum * fit.v;
    wm += fit.minimum * fit.w;
    mm += fit.minimum * fit.minimum * fit.h;
    ww += fit.ww;
    any_block = block;
  }
  /// Less `ww`.
  [[nodiscard]] double cost(double a, double b) const noexcept {
    return a * (a * vv - 2 * wv) + b * (b * mm + 2 * wm - 2 * a * vm);
  }
};

struct Factors {
  double of_scales = 1;
  double of_minima = 1;
};

/// Those of least cost, of what may move.
Factors least_squares(const GroupSums& sum, bool scales, bool minima) noexcept {
  const double det = sum.vv * sum.mm - sum.vm * sum.vm;
  if (scales && minima && det > 0) {
    return {(sum.wv * sum.mm - sum.vm * sum.wm) / det, (sum.vm * sum.wv - sum.vv * sum.wm) / det};
  }
  return {scales && sum.vv > 0 ? (sum.wv + sum.vm) / sum.vv : 1,
          minima && sum.mm > 0 ? (sum.vm - sum.wm) / sum.mm : 1};
}

struct Candidate {
  float number = 0;
  double factor = 1;
};

/// What there is of a group's number, and, where it `moves`, what the level holds on both sides of
/// `factor` times that. `block`: any of the group's.
std::vector<Candidate> candidates(const LevelTree& tree, std::size_t level, std::size_t group,
                                  std::size_t block, bool moves, double factor) {
  if (!moves) return {{}};  // there may be no such group
  const float now = tree.numbers[level][group];
  std::vector<Candidate> found{{now, 1}};
  if (!(factor > 0)) return found;
  const float above = tree.product(block, level);
  const ScaleSteps steps(tree.level(level), above);
  const auto real = static_cast<double>(above * now);
  const std::int64_t below = steps.at_most(real * factor);
  for (const std::int64_t step : {below, below + 1}) {
    if (step < steps.first_above_zero() || step > steps.last()) continue;
    found.push_back({steps.number(step), static_cast<double>(steps.value(step)) / real});
  }
  return found;
}

}  // namespace

Expected<Encoded> Encoder::run(std::span<const float> values, const Shape& shape,
                               const NumberFormat& format, const EncodeOptions& options) {
  QUADRANT_TRY(const Groups blocks, Groups::of(shape, code_groups(format)));
  Encoder encoder(values, shape, format, options, blocks);
  QUADRANT_CHECK(encoder.prepare());
  encoder.start_tables();
  encoder.start_from_rule();
  if (!options.search || format.scales.empty()) return encoder.finished();
  const Encoder usual = encoder;
  encoder.search();
  Encoded best = encoder.finished();
  // Costs are of scales in double; products in float32 may differ by so much.
  constexpr double surely = 1 - 1e-5;
  if (best.error <= surely * usual.cost()) return best;
  Encoded other = usual.finished();
  if (best.error <= other.error) return best;
  other.bound = std::min(best.bound, other.error);
  return other;
}

Expected<void> Encoder::prepare() {
  block_count_ = static_cast<std::size_t>(blocks_.group_count());
  QUADRANT_TRY(scales_, LevelTree::of(format_.scales, shape_, blocks_));
  QUADRANT_TRY(minima_, LevelTree::of(format_.offsets, shape_, blocks_));
  fits_.resize(block_count_);
  std::size_t table_count = 1;
  if (const StoredTable* table = stored_table()) {
    QUADRANT_TRY(const Groups groups, Groups::of(shape_, table->groups));
    table_count = static_cast<std::size_t>(groups.group_count());
    QUADRANT_TRY(table_owners_, owners_of(table->groups, shape_, blocks_));
  }
  tables_.resize(table_count);
  codes_.resize(table_count);
  mirrored_.resize(table_count);
  if (stored_table() == nullptr) {
    codes_[0] = CodeValues(format_.code);
    mirrored_[0] = codes_[0].mirrored();
  }
  return {};
}

void Encoder::for_blocks(BlockBody body, Executor* executor) const {
  const std::size_t block_size =
      std::max<std::size_t>(values_.size() / std::max<std::size_t>(block_count_, 1), 1);
  const std::size_t at_once = std::max<std::size_t>(elements_at_once / block_size, 1);
  const auto chunk = [&](std::size_t index) {
    BlockFitter fitter(format_);
    std::vector<float> values;
    std::vector<float> weights;
    const std::size_t end = std::min((index + 1) * at_once, block_count_);
    for (std::size_t block = index * at_once; block < end; ++block) {
      const Members members = blocks_.members(static_cast<std::int64_t>(block));
      const auto of_block = gathered(values_, members, values);
      if (options_.weights.empty()) weights.resize(of_block.size(), 1.0F);
      const auto weighted = options_.weights.empty()
                                ? std::span<const float>(weights).first(of_block.size())
                                : gathered(options_.weights, members, weights);
      const std::size_t table = table_of(block);
      fitter.load(of_block, weighted, codes_[table], mirrored_[table]);
      body(block, fitter);
    }
  };
  const std::size_t chunks = (block_count_ + at_once - 1) / at_once;
  SerialExecutor serial;
  (executor != nullptr ? *executor : serial).parallel_for(chunks, chunk);
}

AboveBlock Encoder::above(std::size_t block) const noexcept {
  return {scales_.size() == 0 ? 1.0F : scales_.outer(block),
          minima_.size() == 0 ? 1.0F : minima_.outer(block)};
}

double Encoder::cost() const noexcept {
  double sum = 0;
  for (const BlockFit& fit : fits_) sum += fit.cost();
  return sum;
}

// --- tables -------------------------------------------------------------------------------------

void Encoder::set_table(std::size_t table, std::vector<float> values) {
  std::ranges::sort(values);
  codes_[table] = CodeValues(values);
  mirrored_[table] = codes_[table].mirrored();
  tables_[table] = std::move(values);
}

// The best one for scales that map the largest magnitude of a block to 1, each of its sign where
// scales may have one: exact without scales, where they are 1. Of many values, some.
void Encoder::start_tables() {
  const StoredTable* stored = stored_table();
  if (stored == nullptr || tables_.empty()) return;
  if (!options_.table.empty()) {
    std::vector<float> given(options_.table.size());
    std::ranges::transform(options_.table, given.begin(), [&](float value) {
      return rounded_to(stored->values, static_cast<double>(value));
    });
    for (std::size_t table = 0; table < tables_.size(); ++table) set_table(table, given);
    return;
  }
  const bool has_scales = !format_.scales.empty();
  const bool is_signed = has_scales && has_sign(format_.scales.back());
  constexpr std::size_t enough = std::size_t{1} << 16U;
  const std::size_t each =
      has_scales ? std::max<std::size_t>(values_.size() / (enough * tables_.size()), 1) : 1;
  std::vector<std::vector<float>> values(tables_.size());
  std::vector<std::vector<float>> weights(tables_.size());
  for (std::size_t table = 0; table < tables_.size(); ++table) set_table(table, {-1, 1});
  for_blocks(
      [&](std::size_t block, BlockFitter& fitter) {
        if (block % each != 0 || fitter.values().empty()) return;
        const std::size_t table = table_of(block);
        const auto [low, high] = std::ranges::minmax(fitter.values());
        double scale = has_scales ? static_cast<double>(std::max(high, -low)) : 1;
        if (is_signed && -low > high) scale = -scale;
        if (scale == 0) return;
        for (std::size_t i = 0; i < fitter.values().size(); ++i) {
          values[table].push_back(
              static_cast<float>(static_cast<double>(fitter.values()[i]) / scale));
          weights[table].push_back(
              static_cast<float>(static_cast<double>(fitter.weights()[i]) * scale * scale));
        }
      },
      nullptr);
  for (std::size_t table = 0; table < tables_.size(); ++table) {
    const MeansOnALine means =
        means_on_a_line(values[table], weights[table], static_cast<std::size_t>(stored->levels));
    std::vector<float> levels(means.means.size());
    std::ranges::transform(means.means, levels.begin(),
                           [&](double mean) { return rounded_to(stored->values, mean); });
    set_table(table, std::move(levels));
    if (!has_scales) bound_ += means.bound;
  }
}

// Each value to the mean of what has its code; rounded, where that gains.
void Encoder::refine_tables() {
  const StoredTable* stored = stored_table();
  if (stored == nullptr || !options_.table.empty()) return;
  struct Sums {
    double vw = 0;  // with v for the scale
    double vv = 0;
  };
  const auto levels = static_cast<std::size_t>(stored->levels);
  std::vector<Sums> sums(tables_.size() * levels);
  for_blocks(
      [&](std::size_t block, BlockFitter& fitter) {
        const BlockFit& fit = fits_[block];
        if (fit.scaled == 0) return;
        const std::size_t table = table_of(block);
        const auto places = fitter.nearest(codes_[table], fit.scaled, fit.minimum);
        for (std::size_t i = 0; i < places.size(); ++i) {
          const double w = static_cast<double>(fitter.values()[i]) + fit.minimum;
          const double h = static_cast<double>(fitter.weights()[i]) * fit.scaled;
          Sums& sum = sums[table * levels + codes_[table].code_at(places[i])];
          sum.vw += h * w;
          sum.vv += h * fit.scaled;
        }
      },
      nullptr);
  for (std::size_t table = 0; table < tables_.size(); ++table) {
    std::vector<float> values = tables_[table];
    for (std::size_t i = 0; i < levels; ++i) {
      const auto [vw, vv] = sums[table * levels + i];
      if (!(vv > 0)) continue;
      const auto error = [&](float value) {
        return std::fabs(static_cast<double>(value) - vw / vv);
      };
      const float mean = rounded_to(stored->values, vw / vv);
      if (error(mean) < error(values[i])) values[i] = mean;
    }
    set_table(table, std::move(values));
  }
  for_each_block([&](std::size_t block, BlockFitter& fitter) {
    fits_[block] = fitter.measured(fits_[block].scale, fits_[block].offset, above(block));
    settled_[block] = 0;
  });
}

// --- levels -------------------------------------------------------------------------------------

void Encoder::start_from_rule() {
  Wanted wanted(block_count_);
  std::vector<double> scales(block_count_);
  std::vector<double> minima(block_count_);
  for_each_block([&](std::size_t block, BlockFitter& fitter) {
    wanted[block] = fitter.usual();
    scales[block] = std::fabs(wanted[block].scale);
    minima[block] = std::fabs(wanted[block].minimum);
  });
  reach(scales_, scales);
  reach(minima_, minima);
  store(wanted);
}

void Encoder::reach(LevelTree& tree, std::span<const double> wanted) const {
  for (std::size_t level = 0; level + 1 < tree.size(); ++level) {
    double last = 1;  // of the levels below, together
    for (std::size_t i = level + 1; i < tree.size(); ++i) {
      const ScaleSteps steps(tree.level(i), 1);
      last *= static_cast<double>(steps.number(steps.last()));
    }
    std::vector<double> most(tree.groups(level));
    for (std::size_t block = 0; block < block_count_; ++block) {
      double& largest = most[tree.group(level, block)];
      largest =
          std::max(largest, wanted[block] / static_cast<double>(tree.product(block, level)) / last);
    }
    const ScaleSteps steps(tree.level(level), 1);
    for (std::size_t group = 0; group < most.size(); ++group) {
      const std::int64_t step = std::max(steps.nearest(most[group]), steps.first_above_zero());
      tree.numbers[level][group] = most[group] == 0 ? 1 : steps.number(step);
    }
  }
}

void Encoder::store(const Wanted& wanted) {
  for_each_block([&](std::size_t block, BlockFitter& fitter) {
    fits_[block] = fitter.stored(wanted[block], above(block));
    if (!options_.search) return;
    fits_[block] = fitter.measured(fits_[block].scale, fits_[block].offset, above(block));
  });
}

void Encoder::start_from_free_blocks() {
  Wanted wanted(block_count_);
  std::vector<double> scales(block_count_);
  std::vector<double> minima(block_count_);
  std::vector<BlockFit> fits(block_count_);
  std::vector<double> bounds(block_count_);
  for_each_block([&](std::size_t block, BlockFitter& fitter) {
    wanted[block] = fitter.free();
    fits[block] = fitter.measured_free(wanted[block]);
    const bool has_bound = format_.offset == Offset::none || options_.prove;
    if (has_bound) bounds[block] = fitter.bound(wanted[block]);
    scales[block] = std::fabs(wanted[block].scale);
    minima[block] = std::fabs(wanted[block].minimum);
  });
  bound_ = 0;
  for (const double bound : bounds) bound_ += bound;
  reach(scales_, scales);
  reach(minima_, minima);
  // With the codes of free blocks. Scales on both sides of what they want; first with minima that
  // are free, then with those that can be stored.
  const auto least_of_sides = [&](std::size_t block, const ScaleSteps& steps, auto cost) {
    const std::int64_t below =
        std::clamp(steps.at_most(scales[block]), steps.first(), steps.last());
    double least = std::numeric_limits<double>::infinity();
    for (const std::int64_t step : {below, std::min(below + 1, steps.last())}) {
      const double a =
          scales[block] == 0 ? 1 : static_cast<double>(steps.value(step)) / scales[block];
      least = std::min(least, cost(a));
    }
    return least;
  };
  const bool has_minima = minima_.size() > 0;
  choose_level(scales_, [&](std::size_t block, const ScaleSteps& steps) {
    const BlockFit& fit = fits[block];
    return least_of_sides(
        block, steps, [&](double a) { return fit.cost(a, has_minima ? fit.best_minimum(a) : 0); });
  });
  choose_level(minima_, [&](std::size_t block, const ScaleSteps& steps) {
    const BlockFit& fit = fits[block];
    const ScaleSteps own(scales_.level(scales_.size() - 1), scales_.outer(block));
    return least_of_sides(block, own, [&](double a) {
      const double best = fit.best_minimum(a);
      const double sign = fit.minimum < 0 ? -1 : 1;
      const std::int64_t step = steps.nearest(std::max(sign * best, 0.0));
      return fit.cost(a, sign * static_cast<double>(steps.value(step)));
    });
  });
  store(wanted);
}

void Encoder::choose_level(LevelTree& tree, Loss loss) const {
  if (tree.size() < 2) return;
  constexpr std::size_t candidates = 64;
  constexpr double least = 0.7;
  constexpr double most = 2;
  const std::size_t level = tree.size() - 2;
  const ScaleSteps steps(tree.level(level), 1);
  std::vector<std::array<double, candidates>> sums(tree.groups(level));
  std::vector<std::array<float, candidates>> numbers(tree.groups(level));
  for (std::size_t group = 0; group < numbers.size(); ++group) {
    for (std::size_t i = 0; i < candidates; ++i) {
      const double part = static_cast<double>(i) / (candidates - 1);
      const double wanted =
          static_cast<double>(tree.numbers[level][group]) * least * std::pow(most / least, part);
      numbers[group][i] = steps.number(std::max(steps.nearest(wanted), steps.first_above_zero()));
    }
  }
  // Of groups of many blocks some will do.
  constexpr std::size_t enough = 1024;
  const std::size_t each = std::max<std::size_t>(block_count_ / (enough * sums.size() + 1), 1);
  for (std::size_t block = 0; block < block_count_; block += each) {
    const std::size_t group = tree.group(level, block);
    const float above = tree.product(block, level);
    for (std::size_t i = 0; i < candidates; ++i) {
      sums[group][i] += loss(block, ScaleSteps(tree.level(level + 1), above * numbers[group][i]));
    }
  }
  for (std::size_t group = 0; group < sums.size(); ++group) {
    const auto best = std::ranges::min_element(sums[group]) - sums[group].begin();
    tree.numbers[level][group] = numbers[group][static_cast<std::size_t>(best)];
  }
}

void Encoder::search() {
  const bool has_levels = scales_.size() > 1 || minima_.size() > 1;
  const bool in_turn = has_levels || stored_table() != nullptr;
  const bool has_free_blocks = stored_table() == nullptr && format_.offset != Offset::zero_point;
  if (has_free_blocks && (has_levels || minima_.size() > 0)) start_from_free_blocks();
  settled_.assign(block_count_, 0);
  double last = std::numeric_limits<double>::infinity();
  for (int round = 0; round < options_.most_rounds; ++round) {
    for_each_block([&](std::size_t block, BlockFitter& fitter) {
      if (settled_[block] != 0) return;
      fits_[block] = fitter.search(fits_[block], above(block));
      settled_[block] = 1;
    });
    if (!in_turn) break;
    refine_tables();
    refine_levels();
    const double now = cost();
    if (last - now <= enough_gain * now) break;
    last = now;
  }
}

void Encoder::refine_levels() {
  const std::size_t above_scales = scales_.size() == 0 ? 0 : scales_.size() - 1;
  const std::size_t above_minima = minima_.size() == 0 ? 0 : minima_.size() - 1;
  for (std::size_t level = std::max(above_scales, above_minima); level-- > 0;) {
    const bool scales = level < above_scales;
    const bool minima = level < above_minima;
    const bool together =
        scales && minima && scales_.level(level).groups == minima_.level(level).groups;
    if (together) {
      refine_level(level, true, true);
      continue;
    }
    if (scales) refine_level(level, true, false);
    if (minima) refine_level(level, false, true);
  }
}

void Encoder::refine_level(std::size_t level, bool scales, bool minima) {
  LevelTree& tree = scales ? scales_ : minima_;
  std::vector<GroupSums> sums(tree.groups(level));
  for (std::size_t block = 0; block < block_count_; ++block) {
    sums[tree.group(level, block)].add(fits_[block], block);
  }
  std::vector<Factors> factors(sums.size());
  for (std::size_t group = 0; group < sums.size(); ++group) {
    const GroupSums& sum = sums[group];
    const auto [a, b] = least_squares(sum, scales, minima);
    // A change that gains next to nothing is not worth a search of all blocks.
    double least = sum.cost(1, 1);
    least -= enough_gain * (least + sum.ww);
    const auto of_minima = candidates(minima_, level, group, sum.any_block, minima, b);
    for (const Candidate& scale : candidates(scales_, level, group, sum.any_block, scales, a)) {
      for (const Candidate& minimum : of_minima) {
        const double now = sum.cost(scale.factor, minimum.factor);
        if (!(now < least)) continue;
        least = now;
        factors[group] = {scale.factor, minimum.factor};
        if (scales) scales_.numbers[level][group] = scale.number;
        if (minima) minima_.numbers[level][group] = minimum.number;
      }
    }
  }
  for (std::size_t block = 0; block < block_count_; ++block) {
    const auto [a, b] = factors[tree.group(level, block)];
    if (a == 1 && b == 1) continue;
    settled_[block] = 0;
    fits_[block].stretch(a, b);
  }
}

// --- what was found -----------------------------------------------------------------------------

Encoded Encoder::finished() const {
  Encoded result;
  result.scales = scales_.numbers;
  result.offsets = minima_.numbers;
  const bool has_zeros = format_.offset == Offset::zero_point;
  if (has_zeros) result.offsets.assign(1, std::vector<float>(block_count_));
  for (const auto& table : tables_) {
    result.table.insert(result.table.end(), table.begin(), table.end());
  }
  const std::size_t width = bit_width(format_.code) > 8 ? 2 : 1;
  result.codes.resize(values_.size() * width);
  std::vector<double> errors(block_count_);
  for_each_block([&](std::size_t block, BlockFitter& fitter) {
    const BlockFit& fit = fits_[block];
    const AboveBlock outer = above(block);
    const float scale = outer.scale * fit.scale;
    const float minimum = minima_.size() > 0 ? outer.minimum * fit.offset : 0.0F;
    if (!result.scales.empty()) result.scales.back()[block] = fit.scale;
    if (!result.offsets.empty()) result.offsets.back()[block] = fit.offset;
    const CodeValues around =
        has_zeros ? CodeValues(format_.code, static_cast<std::int64_t>(fit.offset)) : CodeValues();
    const CodeValues& codes = has_zeros ? around : codes_[table_of(block)];
    const auto places =
        fitter.nearest(codes, static_cast<double>(scale), static_cast<double>(minimum));
    double sum = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const float real = static_cast<float>(codes.value_at(places[i])) * scale - minimum;
      const double error = static_cast<double>(fitter.values()[i]) - static_cast<double>(real);
      sum += static_cast<double>(fitter.weights()[i]) * error * error;
    }
    errors[block] = sum;
    std::byte* const stored = result.codes.data();
    auto place = places.begin();
    for_each_member(blocks_.members(static_cast<std::int64_t>(block)), [&](std::size_t i) {
      const std::uint32_t code = codes.code_at(*place++);
      stored[i * width] = static_cast<std::byte>(code & 0xFFU);
      if (width == 2) stored[i * 2 + 1] = static_cast<std::byte>(code >> 8U & 0xFFU);
    });
  });
  for (const double error : errors) result.error += error;
  const bool is_exact = scales_.size() == 1 && format_.offset != Offset::minimum &&
                        stored_table() == nullptr && options_.search;
  result.bound = is_exact || (format_.scales.empty() && stored_table() == nullptr)
                     ? result.error
                     : std::min(bound_, result.error);
  return result;
}

}  // namespace quadrant::inline v0
