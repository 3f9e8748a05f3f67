// What an IR can hold and make: asked before anything is decided, so that nothing is planned which
// phase 4 would have to refuse half-way.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/number_format.hpp"
#include "quadrant/ir/type.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// Implement this beside GraphView, and return it from `GraphView::capabilities`. What is refused,
/// with `impossible` and a reason, is not offered, and `explain` says why.
///
/// Quantized types that are asked about have everything but their numbers, which no one knows yet:
/// scales are 1, zero points 0, and there are zero points wherever there may be. The same question
/// must get the same answer for any numbers. Asked from one thread at a time.
class Capabilities {
 public:
  Capabilities() = default;
  virtual ~Capabilities() = default;

  /// Whether a value may have this type.
  [[nodiscard]] virtual Expected<void> can_hold(const TensorType& /*type*/) const { return {}; }
  /// Whether an operation of `kind`, one of `emitted_ops`, may read values of these types and make
  /// one of type `result`: `quantize` and `dequantize` are asked about, and, where weight_only
  /// would put scales behind sums, `storage_cast`, `multiply` and `add`.
  [[nodiscard]] virtual Expected<void> can_emit(std::string_view /*kind*/,
                                                std::span<const TensorType> /*operands*/,
                                                const TensorType& /*result*/) const {
    return {};
  }
  /// Values of the graph that have one type, now and later, group by group: what a loop starts
  /// with, its state, the next state and its result. Groups that share a value are one. Phase 3
  /// quantizes all of a group in one form, or none of it: none where two are weights; where one
  /// came quantized, the group is a coupling like any other. Phase 4 refuses where scales come to
  /// differ all the same. `verify` checks groups. None, unless this is overridden.
  [[nodiscard]] virtual std::vector<std::vector<Value>> of_one_type() const { return {}; }
  /// Whether the view says what the IR says, of one that keeps rows of its own beside it:
  /// `invalid_model`, with the first difference. `verify` asks this. It does, unless this is
  /// overridden.
  [[nodiscard]] virtual Expected<void> check_view() const { return {}; }

 protected:
  Capabilities(const Capabilities&) = default;
  Capabilities& operator=(const Capabilities&) = default;
};

/// Values of a static shape in a format whose numbers are not known yet, which takes no memory for
/// them: scales are 1, zero points, other offsets and tables 0. The format has the shape's axes.
[[nodiscard]] TensorType type_without_numbers(NumberFormat format, Shape shape);

}  // namespace quadrant::inline v0
