#include <algorithm>
#include <cmath>

#include "quadrant/engine/gains/gain.hpp"

namespace quadrant::inline v0 {

TradeGain::TradeGain(const TradeWeights& weights, const TradeTotals& totals,
                     const ErrorTable& errors, const GainModel* time)
    : weights_(weights), errors_(errors), time_(time) {
  constexpr double everything = 0x1p46;
  constexpr double nanoseconds = 1e9;
  double most =
      weights.byte * static_cast<double>(totals.bytes) + weights.error * errors.largest_sum();
  if (time != nullptr) {
    most += weights.nanosecond * nanoseconds * static_cast<double>(totals.seconds);
  }
  if (most > 0 && std::isfinite(most)) scale_ = everything / most;
}

Gain TradeGain::scaled(double worth) const noexcept {
  // What one node alone comes to where the totals were said too small.
  constexpr double most = 0x1p52;
  return Gain{static_cast<std::int64_t>(std::llround(std::clamp(worth * scale_, -most, most)))};
}

Gain TradeGain::of_operand(const OperandReading& reading) const {
  if (time_ == nullptr) return {};
  return scaled(weights_.nanosecond * static_cast<double>(time_->of_operand(reading).amount()));
}

Gain TradeGain::of_storage(const Storing& storing) const {
  double worth = weights_.byte * (static_cast<double>(storing.change.before) -
                                  static_cast<double>(storing.change.after));
  const std::string_view value = storing.node.graph->value_name(storing.node.result());
  if (const auto error = errors_.find(value, storing.form.scheme)) worth -= weights_.error * *error;
  if (time_ != nullptr) {
    worth += weights_.nanosecond * static_cast<double>(time_->of_storage(storing).amount());
  }
  return scaled(worth);
}

Gain TradeGain::of_conversion(const FormChange& change) const {
  if (time_ == nullptr) return {};
  return scaled(weights_.nanosecond * static_cast<double>(time_->of_conversion(change).amount()));
}

}  // namespace quadrant::inline v0
