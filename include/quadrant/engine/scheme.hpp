// A way to quantize: what its constraints are, and how a quantized value becomes float again.
#pragma once

#include <string>
#include <string_view>

#include "quadrant/engine/constraint.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

class RewriteContext;

/// Base of every scheme. Derive, and let QUADRANT_SCHEME declare the
/// overrides. Immutable once it is in a Registry.
class Scheme {
 public:
  Scheme() = default;
  virtual ~Scheme() = default;

  /// As in `--scheme`, for example `weight_only`.
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  [[nodiscard]] virtual const ConstraintType& constraint_type() const noexcept = 0;
  /// The options in effect, in one line, for plans and reports.
  [[nodiscard]] virtual std::string describe() const = 0;

  /// Adds what turns `quantized` into float and returns the float value. Called at most once for
  /// each value; all who need float share the result.
  [[nodiscard]] virtual Expected<Value> dequantize(Value quantized,
                                                   RewriteContext& context) const = 0;

 protected:
  Scheme(const Scheme&) = default;
  Scheme& operator=(const Scheme&) = default;
};

}  // namespace quadrant::inline v0
