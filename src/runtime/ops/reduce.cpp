// ReduceSum and its kin: one result for all elements that differ in the indices of some axes alone.
#include <cmath>
#include <limits>
#include <memory>

#include "ir/ops/reductions.hpp"
#include "runtime/kernel_tables.hpp"
#include "runtime/ops/map.hpp"
#include "runtime/ops/numbers.hpp"
#include "runtime/parameters.hpp"

namespace quadrant::inline v0::interpreted {

namespace {

struct ReducedAxes {
  Shape result;
  std::vector<std::int64_t> strides;  ///< of the result, along the operand's axes
  std::int64_t count = 1;             ///< elements that become one
};

// The axes are an attribute, or, from opset 18 (ReduceSum: 13) on, an operand. Without any, all of
// them; or none, where an attribute says so, and then each element is reduced by itself.
Expected<ReducedAxes> reduced_axes(const KernelCall& call) {
  QUADRANT_CHECK(require_operands(call, 1));
  const Shape& shape = call.operand(0).shape();
  QUADRANT_TRY(const auto given, integers_parameter(call, 1, "axes"));
  QUADRANT_TRY(const std::vector<std::int64_t> axes,
               axes_below(given.value_or(std::vector<std::int64_t>{}), shape.rank()));
  const bool all = axes.empty() && call.attribute_or<std::int64_t>("noop_with_empty_axes", 0) == 0;
  std::vector<bool> reduced(static_cast<std::size_t>(shape.rank()), all);
  for (const std::int64_t axis : axes) reduced[static_cast<std::size_t>(axis)] = true;

  const bool keep = call.attribute_or<std::int64_t>("keepdims", 1) != 0;
  ReducedAxes reduction;
  std::vector<std::int64_t> ones(shape.known_extents().begin(), shape.known_extents().end());
  std::vector<std::int64_t> kept;
  for (std::size_t axis = 0; axis < ones.size(); ++axis) {
    if (reduced[axis]) {
      // Only a tensor without elements has extents of any size.
      if (__builtin_mul_overflow(reduction.count, ones[axis], &reduction.count)) {
        reduction.count = 0;
      }
      ones[axis] = 1;
    }
    if (keep || !reduced[axis]) kept.push_back(ones[axis]);
  }
  reduction.strides = broadcast_strides(Shape(ones), shape);
  reduction.result = Shape(kept);
  return reduction;
}

// What a reduction does with elements, totals and results of its types.
struct ReductionLoops {
  std::size_t total_size;
  FunctionRef<void(std::byte* totals, std::int64_t count)> begin;
  // Adds the elements of a block, which lie one behind the other, to totals, which lie as it says.
  FunctionRef<void(const std::byte* elements, std::byte* totals, const Block<1>& block)> step;
  FunctionRef<void(const std::byte* totals, std::byte* results, std::int64_t count)> finish;
};

Expected<Tensors> run_reduction(const Tensor& x, const ReducedAxes& reduction,
                                const ReductionLoops& loops) {
  QUADRANT_TRY(Tensor y, Tensor::make(x.element(), reduction.result));
  // Only as a tensor of bytes are there limits to what a hostile shape can ask for.
  const std::int64_t count = y.element_count();
  const auto size = static_cast<std::int64_t>(loops.total_size);
  QUADRANT_TRY(Tensor memory, Tensor::make(ElementType::uint8, {count * size}));
  std::byte* const totals = memory.fill_bytes().data();
  loops.begin(totals, count);
  const std::byte* const elements = x.bytes().data();
  const std::int64_t width = byte_width(x.element());
  for_each_block(
      x.shape(), std::array{reduction.strides},
      [&](std::int64_t position, const std::array<std::int64_t, 1>& offset, const Block<1>& block) {
        loops.step(elements + position * width, totals + offset[0] * size, block);
      });
  loops.finish(totals, y.fill_bytes().data(), count);
  return Tensors{std::move(y)};
}

// For each element of the result, `finish(total)` where `total`, `initial` at first, became
// `step(total, element)` for each element of `x`.
template <class T, class Total, class Step, class Finish>
Expected<Tensors> reduce_as(const Tensor& x, const ReducedAxes& reduction, Total initial, Step step,
                            Finish finish) {
  QUADRANT_ASSERT(sizeof(T) == static_cast<std::size_t>(byte_width(x.element())));
  return run_reduction(
      x, reduction,
      {.total_size = sizeof(Total),
       .begin =
           [&](std::byte* totals, std::int64_t count) {
             std::uninitialized_fill_n(reinterpret_cast<Total*>(totals), count, initial);
           },
       .step =
           [&](const std::byte* elements, std::byte* totals, const Block<1>& block) {
             const auto* from = reinterpret_cast<const T*>(elements);
             auto* to = reinterpret_cast<Total*>(totals);
             for (std::int64_t row = 0; row < block.rows; ++row) {
               if (block.steps[0] == 0) {
                 Total total = *to;
                 for (std::int64_t i = 0; i < block.length; ++i) total = step(total, from[i]);
                 *to = total;
               } else {  // neighbours become neighbours
                 for (std::int64_t i = 0; i < block.length; ++i) to[i] = step(to[i], from[i]);
               }
               from += block.length;
               to += block.row_steps[0];
             }
           },
       .finish =
           [&](const std::byte* totals, std::byte* results, std::int64_t count) {
             const auto* const from = reinterpret_cast<const Total*>(totals);
             std::transform(from, from + count, reinterpret_cast<T*>(results),
                            [&](const Total& total) { return converted<T>(finish(total)); });
           }});
}

// As with_number, for what ONNX sums up: reals, and integers of 32 and 64 bits.
template <class Body>
Expected<Tensors> with_summand(ElementType element, Body body) {
  QUADRANT_CHECK(check_number(element));
  return with_one_of<float, double, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t>(
      element, body);
}

// reduce_as for operand 0, whose elements are widened first. `finish` is also told how many they
// are.
template <class Step, class Finish>
Expected<Tensors> reduce(const KernelCall& call, int initial, Step step, Finish finish) {
  QUADRANT_TRY(const ReducedAxes reduction, reduced_axes(call));
  const Tensor& x = call.operand(0);
  return with_summand(x.element(), [&]<class T>() {
    using Total = Wide<T>;
    return reduce_as<T>(
        x, reduction, static_cast<Total>(initial),
        [&](Total total, T value) { return step(total, static_cast<Total>(value)); },
        [&](Total total) { return finish(total, reduction.count); });
  });
}

constexpr auto as_it_is = [](auto total, std::int64_t) { return total; };
constexpr auto plus = [](auto total, auto value) { return wrapping_add(total, value); };
constexpr auto plus_square = [](auto total, auto value) {
  return wrapping_add(total, wrapping_multiply(value, value));
};

// The largest or smallest element, by `choose`; `least(T)` where there is none.
template <class Least, class Choose>
Expected<Tensors> reduce_to_extreme(const KernelCall& call, Least least, Choose choose) {
  QUADRANT_TRY(const ReducedAxes reduction, reduced_axes(call));
  const Tensor& x = call.operand(0);
  const auto reduce_to = [&]<class T>() {
    return reduce_as<T>(
        x, reduction, least(T{}), [&](T total, T value) -> T { return choose(total, value); },
        [](T total) { return total; });
  };
  return x.element() == ElementType::boolean ? reduce_to.template operator()<bool>()
                                             : with_number(x.element(), reduce_to);
}

// log(sum of e^values), as the largest value and what is left when e^largest is taken out: without
// overflow.
struct LogSumExp {
  double largest = -std::numeric_limits<double>::infinity();
  double sum = 0;

  [[nodiscard]] LogSumExp plus(double value) const {
    if (value == largest) return {largest, sum + 1};  // infinities too
    if (value < largest) return {largest, sum + std::exp(value - largest)};
    return {value, sum * std::exp(largest - value) + 1};
  }
  [[nodiscard]] double log() const { return largest + std::log(sum); }
};

Expected<Tensors> reduce_sum(const KernelCall& call) { return reduce(call, 0, plus, as_it_is); }

Expected<Tensors> reduce_mean(const KernelCall& call) {
  return reduce(call, 0, plus, []<class Total>(Total total, std::int64_t count) {
    if constexpr (std::is_integral_v<Total>) {
      return count == 0 ? Total{0} : total / static_cast<Total>(count);
    } else {
      return total / static_cast<Total>(count);
    }
  });
}

Expected<Tensors> reduce_prod(const KernelCall& call) {
  return reduce(
      call, 1, [](auto total, auto value) { return wrapping_multiply(total, value); }, as_it_is);
}

Expected<Tensors> reduce_l1(const KernelCall& call) {
  return reduce(
      call, 0, [](auto total, auto value) { return wrapping_add(total, magnitude(value)); },
      as_it_is);
}

Expected<Tensors> reduce_l2(const KernelCall& call) {
  return reduce(call, 0, plus_square,
                [](auto total, std::int64_t) { return std::sqrt(static_cast<double>(total)); });
}

Expected<Tensors> reduce_sum_square(const KernelCall& call) {
  return reduce(call, 0, plus_square, as_it_is);
}

Expected<Tensors> reduce_log_sum(const KernelCall& call) {
  return reduce(call, 0, plus,
                [](auto total, std::int64_t) { return std::log(static_cast<double>(total)); });
}

Expected<Tensors> reduce_log_sum_exp(const KernelCall& call) {
  QUADRANT_TRY(const ReducedAxes reduction, reduced_axes(call));
  const Tensor& x = call.operand(0);
  return with_summand(x.element(), [&]<class T>() {
    return reduce_as<T>(
        x, reduction, LogSumExp{},
        [](const LogSumExp& total, T value) { return total.plus(static_cast<double>(value)); },
        [](const LogSumExp& total) { return total.log(); });
  });
}

Expected<Tensors> reduce_max(const KernelCall& call) {
  return reduce_to_extreme(
      call,
      []<class T>(T) {
        using Limits = std::numeric_limits<T>;
        return Limits::has_infinity ? static_cast<T>(-Limits::infinity()) : Limits::lowest();
      },
      [](auto a, auto b) { return larger(a, b); });
}

Expected<Tensors> reduce_min(const KernelCall& call) {
  return reduce_to_extreme(
      call,
      []<class T>(T) {
        using Limits = std::numeric_limits<T>;
        return Limits::has_infinity ? Limits::infinity() : Limits::max();
      },
      [](auto a, auto b) { return smaller(a, b); });
}

}  // namespace

std::span<const KernelEntry> kernels::in_reduce() noexcept {
  static constexpr auto table = std::to_array<KernelEntry>(
      {{ops::ReduceSum::kind, reduce_sum, HalfFloats::widened},
       {ops::ReduceMean::kind, reduce_mean, HalfFloats::widened},
       {ops::ReduceProd::kind, reduce_prod, HalfFloats::widened},
       {ops::ReduceL1::kind, reduce_l1, HalfFloats::widened},
       {ops::ReduceL2::kind, reduce_l2, HalfFloats::widened},
       {ops::ReduceSumSquare::kind, reduce_sum_square, HalfFloats::widened},
       {ops::ReduceLogSum::kind, reduce_log_sum, HalfFloats::widened},
       {ops::ReduceLogSumExp::kind, reduce_log_sum_exp, HalfFloats::widened},
       {ops::ReduceMax::kind, reduce_max, HalfFloats::widened},
       {ops::ReduceMin::kind, reduce_min, HalfFloats::widened}});
  return table;
}

}  // namespace quadrant::inline v0::interpreted
