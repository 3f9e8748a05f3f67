#include "numerics/quantize_weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "ir/scales.hpp"
#include "numerics/finite.hpp"
#include "numerics/found_parameters.hpp"
#include "numerics/group_reach.hpp"
#include "numerics/groups.hpp"
#include "numerics/kernels/extremes.hpp"
#include "numerics/kernels/pack.hpp"
#include "numerics/kernels/quantize.hpp"
#include "numerics/pieces.hpp"
#include "quadrant/numerics/encode.hpp"

namespace quadrant::inline v0 {
namespace {

// Elements of a step, if groups are not larger: their values, once looked at, are still in the
// first-level cache when they become codes.
constexpr std::int64_t step_elements = 4096;
// A group of more is not in any cache the second time: its parts may as well be read by different
// threads.
constexpr std::int64_t most_together = std::int64_t{1} << 19;
// Elements that a thread takes at a time: enough to make up for asking.
constexpr std::int64_t task_elements = std::int64_t{1} << 18;
// Columns of a panel: what is known of them stays in the second-level cache, and memory delivers 16
// kilobytes of a row as well as all of it.
constexpr std::size_t panel_columns = 4096;
// Columns of a panel that become codes at a time, and elements: several rows, so that what columns
// are quantized by is prepared once.
constexpr std::size_t tile_columns = 1024;
constexpr std::size_t tile_elements = 64 * tile_columns;
// Where rows lie that are needed soon: soon enough that they come in time, and not so far that they
// are gone by then.
constexpr std::size_t rows_ahead = 2;
// Rows that a task has at least, so that what tasks find takes little beside the weights.
constexpr std::size_t least_rows_of_task = 64;

// A constant over memory that outlives it.
class BorrowedSource final : public ConstantSource {
 public:
  explicit BorrowedSource(std::span<const std::byte> bytes) : bytes_(bytes) {}

  [[nodiscard]] Expected<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    std::memcpy(out.data(), bytes_.data() + offset, out.size());
    return {};
  }

  [[nodiscard]] std::optional<ConstantBytes> view(std::uint64_t offset,
                                                  std::size_t size) const override {
    return ConstantBytes(nullptr, bytes_.subspan(offset, size));
  }

 private:
  std::span<const std::byte> bytes_;
};

// Calls body(begin, end) for each `size` elements from `first` to `last`.
template <class Body>
void for_each_piece(std::int64_t first, std::int64_t last, std::size_t size, Body body) {
  const auto step = static_cast<std::int64_t>(size);
  for (std::int64_t begin = first; begin < last; begin += step) {
    body(begin, std::min(begin + step, last));
  }
}

using kernels::Float16;

/// Elements of a float type in memory.
class Weights {
 public:
  Weights(ElementType element, std::span<const std::byte> bytes)
      : element_(element), bytes_(bytes), width_(static_cast<std::size_t>(byte_width(element))) {}

  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size() / width_; }
  [[nodiscard]] bool empty() const noexcept { return bytes_.empty(); }
  [[nodiscard]] bool are_float16() const noexcept { return element_ == ElementType::float16; }

  /// All of them, where they lie as such numbers; else null.
  template <class Number>
  [[nodiscard]] const Number* all() const noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(bytes_.data());
    const auto element =
        std::is_same_v<Number, float> ? ElementType::float32 : ElementType::float16;
    if (element_ != element || address % alignof(Number) != 0) return nullptr;
    return reinterpret_cast<const Number*>(bytes_.data());
  }

  /// The elements from `first` to `last`; `wide` is room for them where they must be widened.
  template <class Number>
  [[nodiscard]] std::span<const Number> part(std::int64_t first, std::int64_t last,
                                             std::vector<Number>& wide) const {
    const auto begin = static_cast<std::size_t>(first);
    const auto count = static_cast<std::size_t>(last - first);
    if (const auto* const numbers = all<Number>()) return {numbers + begin, count};
    wide.resize(count);
    if constexpr (std::is_same_v<Number, float>) {
      widen_to_float(element_, bytes_.subspan(begin * width_, count * width_), wide);
    }
    return wide;
  }

  [[nodiscard]] Constant constant(const Shape& shape) const {
    return Constant::deferred(element_, shape, std::make_shared<BorrowedSource>(bytes_));
  }

 private:
  ElementType element_;
  std::span<const std::byte> bytes_;
  std::size_t width_;
};

/// One call of quantize_weights, for weights that are read as `Number`, which is Float16 if they
/// are, else float, and codes that are computed as `Code`.
template <class Number, class Code>
class WeightQuantizer {
 public:
  WeightQuantizer(const Weights& weights, const Groups& groups, const ScaleRule& rule, Code* codes,
                  Executor& executor)
      : weights_(weights),
        groups_(groups),
        rule_(rule),
        codes_(codes),
        executor_(executor),
        found_(rule, static_cast<std::size_t>(groups.group_count())) {}

  /// Codes go there instead, in pairs.
  void pack_into(std::byte* packed) noexcept { packed_ = packed; }

  /// False where a value is not finite.
  [[nodiscard]] bool run() {
    const std::int64_t together = groups_.elements_together();
    if (together != 0 && together <= most_together) {
      quantize_steps(groups_.groups_in(step_elements));
    } else if (groups_.interleaved() && together == 0 &&
               weights_.template all<Number>() != nullptr) {
      quantize_panels();
    } else {
      quantize_in_two_passes();
    }
    return is_finite_;
  }

  /// By parameters that were found already.
  [[nodiscard]] Expected<void> use(const ParameterScan& scan) {
    QUADRANT_TRY(found_.scales, read_scales(scan.scales));
    if (!found_.zero_points.empty()) {
      QUADRANT_TRY(const auto zero_points,
                   read_integers(scan.zero_points, scan.zero_points.element_count()));
      std::ranges::transform(zero_points, found_.zero_points.begin(),
                             [](std::int64_t value) { return static_cast<std::int32_t>(value); });
    }
    quantize_all();
    return {};
  }

  /// What `run` found, once.
  [[nodiscard]] ParameterScan take_constants(const Shape& shape) {
    return std::move(found_).constants(rule_, shape);
  }

 private:
  // Of each task, kept from one step to the next.
  struct Scratch {
    std::vector<float> above;
    std::vector<float> below;
    std::vector<Number> wide;
    std::vector<Code> codes;
  };

  // Groups that lie together, `count` at a time.
  void quantize_steps(std::int64_t count) {
    const std::int64_t steps = (groups_.group_count() + count - 1) / count;
    const std::int64_t step_size = std::max<std::int64_t>(groups_.element_count() / steps, 1);
    const std::int64_t each = std::max<std::int64_t>(task_elements / step_size, 1);
    for_each_task(steps, each, [&](std::int64_t first, std::int64_t last) {
      Scratch scratch;
      for (std::int64_t step = first; step < last; ++step) {
        const std::int64_t begin = step * count;
        quantize_groups(begin, std::min(begin + count, groups_.group_count()), scratch);
      }
    });
  }

  void quantize_groups(std::int64_t first, std::int64_t last, Scratch& scratch) {
    const std::int64_t begin = groups_.members(first).first;
    const std::int64_t end = groups_.members(last - 1).end();
    const auto values = weights_.part(begin, end, scratch.wide);
    const auto group_count = static_cast<std::size_t>(last - first);
    scratch.above.assign(group_count, 0);
    scratch.below.assign(group_count, 0);
    const bool magnitudes = needs_magnitudes_alone(rule_);
    groups_.for_each_batch(begin, values.size(), [&](const RunBatch& batch) {
      const Number* const from = values.data() + batch.position;
      const std::size_t group = batch.group - static_cast<std::size_t>(first);
      const kernels::NumberRows rows{batch.runs, batch.length, batch.length};
      const kernels::Reach reach{scratch.above.data() + group, scratch.below.data() + group};
      if (groups_.interleaved()) {
        kernels::reach_of_columns(from, rows, reach);
      } else if (magnitudes) {
        kernels::magnitudes_of_rows(from, rows, reach.above);
      } else {
        kernels::reach_of_rows(from, rows, reach);
      }
    });
    if (!are_finite(scratch.above) || !are_finite(scratch.below)) {
      is_finite_ = false;
      return;
    }
    found_.set_unsearched(rule_, static_cast<std::size_t>(first), scratch.above, scratch.below);
    quantize_part(begin, values, static_cast<std::size_t>(end - begin), scratch);
  }

  // A part of a panel of columns.
  struct Block {
    std::size_t column;
    std::size_t columns;
    std::size_t row;
    std::size_t rows;
  };

  // Groups that are columns, in panels of neighbours. Those of many rows are looked at in blocks
  // of rows, so that several threads find something to do, and quantized afterwards.
  void quantize_panels() {
    const auto columns = static_cast<std::size_t>(groups_.group_count());
    const std::size_t rows = weights_.size() / columns;
    const std::size_t width = std::min(columns, panel_columns);
    const std::size_t height =
        std::max(least_rows_of_task, static_cast<std::size_t>(task_elements) / width);
    const std::size_t panels = (columns + width - 1) / width;
    const std::size_t blocks = (rows + height - 1) / height;
    const auto block_at = [&](std::size_t panel, std::size_t block) {
      const std::size_t column = panel * width;
      const std::size_t row = block * height;
      return Block{column, std::min(width, columns - column), row, std::min(height, rows - row)};
    };
    if (blocks == 1) {
      for_each_task(panels, [&](std::size_t panel) {
        const Block block = block_at(panel, 0);
        set_columns(block.column, reach_of(block));
        if (is_finite_) quantize_block(block);
      });
      return;
    }
    std::vector<GroupReach> reaches(panels * blocks);
    for_each_task(reaches.size(), [&](std::size_t task) {
      reaches[task] = reach_of(block_at(task / blocks, task % blocks));
    });
    for_each_task(panels, [&](std::size_t panel) {
      const auto of_blocks = std::span(reaches).subspan(panel * blocks, blocks);
      for (const GroupReach& other : of_blocks.subspan(1)) of_blocks.front().merge(other);
      set_columns(panel * width, of_blocks.front());
    });
    for_each_task(reaches.size(), [&](std::size_t task) {
      quantize_block(block_at(task / blocks, task % blocks));
    });
  }

  [[nodiscard]] GroupReach reach_of(const Block& block) {
    GroupReach reach(block.columns);
    const auto stride = static_cast<std::size_t>(groups_.group_count());
    const Number* const from = weights_.template all<Number>() + block.row * stride + block.column;
    if (!reach.add_columns(from, block.rows, stride)) is_finite_ = false;
    return reach;
  }

  void set_columns(std::size_t first, const GroupReach& reach) {
    if (is_finite_) found_.set_unsearched(rule_, first, reach.above(), reach.below());
  }

  void quantize_block(const Block& block) {
    const std::size_t width = std::min(block.columns, tile_columns);
    const std::size_t height = tile_elements / width;
    std::vector<Code> codes(packed_ != nullptr ? std::min(height, block.rows) * width : 0);
    for (std::size_t row = 0; row < block.rows; row += height) {
      for (std::size_t column = 0; column < block.columns; column += width) {
        quantize_tile({block.column + column, std::min(width, block.columns - column),
                       block.row + row, std::min(height, block.rows - row)},
                      codes);
      }
    }
  }

  // By way of `codes`, which has room for them, where they are packed.
  void quantize_tile(const Block& tile, std::vector<Code>& codes) {
    const auto stride = static_cast<std::size_t>(groups_.group_count());
    const std::size_t begin = tile.row * stride + tile.column;
    const Number* const from = weights_.template all<Number>() + begin;
    const kernels::Affine by = found_.from(rule_, tile.column);
    kernels::Rows rows{tile.rows, tile.columns, stride, stride, rows_ahead * stride};
    if (packed_ == nullptr) {
      kernels::quantize_columns(from, codes_ + begin, rows, by);
      return;
    }
    rows.code_stride = tile.columns;
    kernels::quantize_columns(from, codes.data(), rows, by);
    for (std::size_t row = 0; row < tile.rows; ++row) {
      pack(codes.data() + row * tile.columns, tile.columns, begin + row * stride);
    }
  }

  void quantize_in_two_passes() {
    const std::int64_t count = groups_.element_count();
    // What tasks find takes less than the weights.
    const std::int64_t size = std::max(task_elements, 16 * groups_.group_count());
    const std::int64_t tasks = (count + size - 1) / size;
    std::vector<std::unique_ptr<GroupReach>> reaches(static_cast<std::size_t>(tasks));
    for_each_task(count, size, [&](std::int64_t first, std::int64_t last) {
      auto reach = std::make_unique<GroupReach>(found_.scales.size());
      std::vector<Number> wide;
      for_each_piece(first, last, piece_elements, [&](std::int64_t begin, std::int64_t end) {
        if (!reach->add(groups_, begin, weights_.part(begin, end, wide))) is_finite_ = false;
      });
      reaches[static_cast<std::size_t>(first / size)] = std::move(reach);
    });
    if (!is_finite_) return;
    GroupReach all(found_.scales.size());
    for (const auto& reach : reaches) all.merge(*reach);
    found_.set_unsearched(rule_, 0, all.above(), all.below());
    quantize_all();
  }

  void quantize_all() {
    // Columns are prepared anew for each piece, so it had better have several rows.
    const std::size_t size =
        groups_.interleaved() ? piece_elements : static_cast<std::size_t>(step_elements);
    for_each_task(groups_.element_count(), task_elements,
                  [&](std::int64_t first, std::int64_t last) {
                    Scratch scratch;
                    for_each_piece(first, last, size, [&](std::int64_t begin, std::int64_t end) {
                      const auto values = weights_.part(begin, end, scratch.wide);
                      quantize_part(begin, values, values.size(), scratch);
                    });
                  });
  }

  // The elements from `begin` on; others, `ahead` from here, are needed soon.
  void quantize_part(std::int64_t begin, std::span<const Number> values, std::size_t ahead,
                     Scratch& scratch) {
    Code* to = codes_ + begin;
    if (packed_ != nullptr) {
      scratch.codes.resize(values.size());
      to = scratch.codes.data();
    }
    groups_.for_each_batch(begin, values.size(), [&](const RunBatch& batch) {
      const auto rows = kernels::Rows::packed(batch.runs, batch.length, ahead);
      const Number* const from = values.data() + batch.position;
      const kernels::Affine by = found_.from(rule_, batch.group);
      if (groups_.interleaved()) {
        kernels::quantize_columns(from, to + batch.position, rows, by);
      } else {
        kernels::quantize_rows(from, to + batch.position, rows, by);
      }
    });
    if (packed_ != nullptr) {
      pack(to, values.size(), static_cast<std::size_t>(begin));
    }
  }

  // The codes of the elements from `begin` on, an even number.
  void pack(const Code* codes, std::size_t count, std::size_t begin) {
    kernels::pack_halves(reinterpret_cast<const std::byte*>(codes), count, packed_ + begin / 2);
  }

  // Calls body(task) for each of `count`; several threads may.
  template <class Body>
  void for_each_task(std::size_t count, Body body) {
    executor_.parallel_for(count, [&](std::size_t task) {
      if (is_finite_) body(task);
    });
  }

  // Calls body(first, last) for each `size` of `count` things; several threads may.
  template <class Body>
  void for_each_task(std::int64_t count, std::int64_t size, Body body) {
    for_each_task(static_cast<std::size_t>((count + size - 1) / size), [&](std::size_t task) {
      const std::int64_t first = static_cast<std::int64_t>(task) * size;
      body(first, std::min(first + size, count));
    });
  }

  Weights weights_;
  Groups groups_;
  ScaleRule rule_;
  Code* codes_;
  std::byte* packed_ = nullptr;
  Executor& executor_;
  FoundParameters found_;
  std::atomic<bool> is_finite_ = true;
};

struct Request {
  Weights weights;
  const Shape& shape;
  const Granularity& granularity;
  const ScaleRule& rule;
  std::span<std::byte> codes;
  bool packed = false;
  Executor& executor;
};

std::optional<NonFinite> non_finite_of(const Weights& weights) {
  std::optional<NonFinite> found;
  std::vector<float> wide;
  for_each_piece(0, static_cast<std::int64_t>(weights.size()), piece_elements,
                 [&](std::int64_t begin, std::int64_t end) {
                   if (!found) found = first_non_finite(weights.part(begin, end, wide), begin);
                 });
  return found;
}

template <class Number, class Code>
Expected<ParameterScan> quantize_numbers(const Request& request, const Groups& groups) {
  // Halves of one byte must not be written by different steps.
  const bool whole = request.packed && !groups.begin_even();
  std::vector<Code> bytes(whole ? request.weights.size() : 0);
  Code* const codes = whole ? bytes.data() : reinterpret_cast<Code*>(request.codes.data());
  WeightQuantizer<Number, Code> quantizer(request.weights, groups, request.rule, codes,
                                          request.executor);
  if (request.packed && !whole) quantizer.pack_into(request.codes.data());

  ParameterScan scan;
  if (request.rule.clip == Clip::mse || request.weights.empty()) {
    QUADRANT_TRY(scan, scan_parameters(request.weights.constant(request.shape), request.granularity,
                                       request.rule));
    if (scan.non_finite) return scan;
    QUADRANT_CHECK(quantizer.use(scan));
  } else if (!quantizer.run()) {
    scan.non_finite = non_finite_of(request.weights);
    return scan;
  } else {
    scan = quantizer.take_constants(parameter_shape(request.shape, request.granularity));
  }
  if (whole) {
    kernels::pack_halves(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(),
                         request.codes.data());
  }
  return scan;
}

template <class Code>
Expected<ParameterScan> quantize_as(const Request& request, const Groups& groups) {
  return request.weights.are_float16() ? quantize_numbers<Float16, Code>(request, groups)
                                       : quantize_numbers<float, Code>(request, groups);
}

Expected<void> check_sizes(const Request& request, std::int64_t count) {
  if (request.weights.size() != static_cast<std::size_t>(count)) {
    return fail(ErrorCode::impossible,
                fmt::format("{} numbers for a tensor of shape [{}], which has {}",
                            request.weights.size(), to_string(request.shape), count));
  }
  const int bits = bit_width(request.rule.storage);
  if (request.packed && bits != 4) {
    return fail(ErrorCode::impossible,
                fmt::format("codes of type {} cannot be packed in pairs: they have {} bits, not 4",
                            to_string(request.rule.storage), bits));
  }
  const auto elements = static_cast<std::size_t>(count);
  const std::size_t needed =
      request.packed ? elements / 2 + elements % 2
                     : elements * static_cast<std::size_t>(byte_width(request.rule.storage));
  if (request.codes.size() != needed) {
    return fail(ErrorCode::impossible,
                fmt::format("{} bytes for codes that take {}", request.codes.size(), needed));
  }
  return {};
}

}  // namespace

Expected<ParameterScan> quantize_weights(ElementType element, std::span<const std::byte> weights,
                                         const Shape& shape, const Granularity& granularity,
                                         const ScaleRule& rule, std::span<std::byte> codes,
                                         const QuantizeWeightsOptions& options) {
  if (!is_float(element)) {
    return fail(
        ErrorCode::impossible,
        fmt::format("weights of type {} cannot be quantized: only floats can", to_string(element)));
  }
  const auto width = static_cast<std::size_t>(byte_width(element));
  if (weights.size() % width != 0) {
    return fail(ErrorCode::impossible,
                fmt::format("{} bytes of weights of type {}, each of which has {}", weights.size(),
                            to_string(element), width));
  }
  SerialExecutor serial;
  QUADRANT_CHECK(check(rule));
  const ScaleRule spaced = rule_for(element, rule);
  const Request request{{element, weights},
                        shape,
                        granularity,
                        spaced,
                        codes,
                        options.packed,
                        options.executor != nullptr ? *options.executor : serial};
  QUADRANT_TRY(const Groups groups, Groups::of(shape, granularity));
  QUADRANT_CHECK(check_sizes(request, groups.element_count()));
  switch (rule.storage) {
    case ElementType::int4:
    case ElementType::int8:
      return quantize_as<std::int8_t>(request, groups);
    case ElementType::uint4:
    case ElementType::uint8:
      return quantize_as<std::uint8_t>(request, groups);
    case ElementType::int16:
      return quantize_as<std::int16_t>(request, groups);
    default:
      return quantize_as<std::uint16_t>(request, groups);
  }
}

Expected<ParameterScan> quantize_weights(std::span<const float> weights, const Shape& shape,
                                         const Granularity& granularity, const ScaleRule& rule,
                                         std::span<std::byte> codes,
                                         const QuantizeWeightsOptions& options) {
  return quantize_weights(ElementType::float32, std::as_bytes(weights), shape, granularity, rule,
                          codes, options);
}

}  // namespace quadrant::inline v0
