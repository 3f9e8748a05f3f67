// How well two models agree, value by value.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "quadrant/calibration/compare.hpp"
#include "quadrant/calibration/data_set.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/numerics/statistics.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

/// `compare` with inner values; without them where those of one name have other layouts.
[[nodiscard]] Expected<Comparison> compare_inner_values(const Graph& first, const Graph& second,
                                                        const Runtime& runtime, const DataSet& data,
                                                        CompareOptions options);

/// Of the outputs and the inner values that were compared, by the names of the first model.
class ValueErrors {
 public:
  using ByName = std::map<std::string, Agreement, std::less<>>;

  ValueErrors() = default;
  explicit ValueErrors(const Comparison& comparison);

  [[nodiscard]] const ByName& all() const noexcept { return values_; }
  /// -infinity where some are not finite that should be; empty: not compared.
  [[nodiscard]] std::optional<double> sqnr_db(std::string_view name) const;
  /// That of the worst of the values that the operation of `value` reads, or of what is in front of
  /// those that were not compared, a few steps far.
  [[nodiscard]] std::optional<double> sqnr_db_before(const GraphView& first, Value value) const;

 private:
  ByName values_;
};

}  // namespace quadrant::inline v0
