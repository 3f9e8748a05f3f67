// Bytes saved, error avoided and nanoseconds saved, weighed against one another.
#pragma once

#include <cstdint>
#include <string_view>

#include "quadrant/engine/gains/error_table.hpp"
#include "quadrant/engine/gains/gain.hpp"

namespace quadrant::inline v0 {

/// What things are worth beside one another, in any unit; not below zero.
struct TradeWeights {
  double byte = 1;        ///< a byte saved
  double error = 0;       ///< an error of 1 (`ErrorTable`) avoided
  double nanosecond = 0;  ///< what one unit of the model `time` is worth
};

/// What all decisions stay below, so that amounts can be integers that add up without overflow.
struct TradeTotals {
  std::uint64_t bytes = 0;       ///< of all values that may be quantized, in float
  std::uint64_t seconds = 3600;  ///< of one run of the model
};

/// The weighted sum, as integers: the unit is such that everything there is in a model comes to
/// about 2^46, so 64-bit sums hold 2^16 times as much, and an item is worth telling apart down to a
/// 2^46th of it. A value that the table does not have costs no error. Refers to `errors` and
/// `time`.
class TradeGain final : public GainModel {
 public:
  /// `time`: a model in nanoseconds, null: none.
  TradeGain(const TradeWeights& weights, const TradeTotals& totals, const ErrorTable& errors,
            const GainModel* time = nullptr);

  [[nodiscard]] std::string_view name() const noexcept override { return "trade"; }
  [[nodiscard]] std::string_view unit() const noexcept override { return "parts of the whole"; }
  [[nodiscard]] Gain of_operand(const OperandReading& reading) const override;
  [[nodiscard]] Gain of_storage(const Storing& storing) const override;
  [[nodiscard]] Gain of_conversion(const FormChange& change) const override;

 private:
  [[nodiscard]] Gain scaled(double worth) const noexcept;

  TradeWeights weights_;
  const ErrorTable& errors_;
  const GainModel* time_;
  double scale_ = 1;
};

}  // namespace quadrant::inline v0
