// What quantizing is worth: integers, so that sums do not depend on their order, and the models
// that produce them.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>

#include "quadrant/ir/element_type.hpp"
#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0 {

/// An amount in the unit of a GainModel; costs are negative. Additions saturate at both ends.
class Gain {
 public:
  constexpr Gain() = default;
  constexpr explicit Gain(std::int64_t amount) noexcept : amount_(amount) {}

  [[nodiscard]] constexpr std::int64_t amount() const noexcept { return amount_; }

  constexpr Gain& operator+=(Gain other) noexcept {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(amount_, other.amount_, &sum)) {
      sum = other.amount_ > 0 ? std::numeric_limits<std::int64_t>::max()
                              : std::numeric_limits<std::int64_t>::min();
    }
    amount_ = sum;
    return *this;
  }
  friend constexpr Gain operator+(Gain a, Gain b) noexcept { return a += b; }
  friend constexpr Gain operator-(Gain a, Gain b) noexcept {
    std::int64_t difference = 0;
    if (__builtin_sub_overflow(a.amount_, b.amount_, &difference)) {
      difference = b.amount_ < 0 ? std::numeric_limits<std::int64_t>::max()
                                 : std::numeric_limits<std::int64_t>::min();
    }
    return Gain{difference};
  }
  friend constexpr auto operator<=>(Gain, Gain) = default;

 private:
  std::int64_t amount_ = 0;
};

/// Bytes that a value takes in a file, in float and under a constraint, parameters included.
struct StorageChange {
  std::uint64_t before = 0;
  std::uint64_t after = 0;
};

/// How the form of a value changes.
enum class ConversionKind : std::uint8_t {
  enter,    ///< floats become codes: a quantize
  leave,    ///< codes become floats: a dequantize
  convert,  ///< codes become other codes: a requantize
};
[[nodiscard]] std::string_view to_string(ConversionKind kind) noexcept;

/// A form that values are made and read in, as a gain model sees it. Floats by default. Refers to
/// the run that asks.
struct ValueForm {
  std::string_view scheme{};         ///< its name in the run (`Registry::name`)
  const void* constraint = nullptr;  ///< of the scheme's constraint type; null: floats
  /// The element type of the codes, where the scheme tells it (`storage_type`).
  std::optional<ElementType> storage{};

  [[nodiscard]] bool is_float() const noexcept { return constraint == nullptr; }
};

/// An operand that would be held in `form`, never floats.
struct OperandReading {
  NodeRef consumer;
  std::uint32_t operand = 0;
  ValueForm form{};
  /// The consumer computes on the codes. Otherwise it reads the floats that they are turned into.
  bool takes_codes = false;
  /// Its own results are codes, too.
  bool makes_codes = false;
};

/// What one node stores: its results, in `form`, never floats, instead of floats.
struct Storing {
  NodeRef node;
  ValueForm form{};
  StorageChange change{};
};

/// A change of form that someone would like.
struct FormChange {
  const GraphView* graph = nullptr;
  Value value{};
  ValueForm before{};
  ValueForm after{};

  [[nodiscard]] ConversionKind kind() const noexcept {
    if (before.is_float()) return ConversionKind::enter;
    return after.is_float() ? ConversionKind::leave : ConversionKind::convert;
  }
};

/// Says what a decision is worth. Implementations are immutable and thread safe.
class GainModel {
 public:
  GainModel() = default;
  GainModel(const GainModel&) = delete;
  GainModel& operator=(const GainModel&) = delete;
  virtual ~GainModel() = default;

  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// What one is one of: `consumed operands`, `bytes`.
  [[nodiscard]] virtual std::string_view unit() const noexcept = 0;
  /// Worth of a consumer having an operand quantized, or computing on its codes.
  [[nodiscard]] virtual Gain of_operand(const OperandReading& reading) const = 0;
  /// Worth of storing a value quantized: counted once, however many consumers it has.
  [[nodiscard]] virtual Gain of_storage(const Storing& storing) const = 0;
  /// Worth of changing the form of a value, once for all who read the new form: a cost, so not
  /// above zero. The default is free.
  [[nodiscard]] virtual Gain of_conversion(const FormChange& /*change*/) const { return Gain{}; }
  /// What the graph takes in floats, which gains are taken off; empty where the model does not
  /// know.
  [[nodiscard]] virtual std::optional<Gain> in_float(const GraphView& /*graph*/) const {
    return std::nullopt;
  }
};

/// One for each operand that a consumer has quantized.
class UnitGain final : public GainModel {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "unit"; }
  [[nodiscard]] std::string_view unit() const noexcept override { return "consumed operands"; }
  [[nodiscard]] Gain of_operand(const OperandReading&) const override { return Gain{1}; }
  [[nodiscard]] Gain of_storage(const Storing&) const override { return Gain{}; }
};

/// Bytes saved in the file.
class BytesGain final : public GainModel {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "bytes"; }
  [[nodiscard]] std::string_view unit() const noexcept override { return "bytes"; }
  [[nodiscard]] Gain of_operand(const OperandReading&) const override { return Gain{}; }
  [[nodiscard]] Gain of_storage(const Storing& storing) const override;
};

/// Operations saved, as an estimate that needs no knowledge of a machine: a multiply-accumulate or
/// an element that is computed on codes instead of floats saves one, a byte less to read saves one,
/// and each element that changes its form costs two (a multiplication and a rounding). For schemes
/// whose activations are codes: what takes long to compute is worth a conversion.
class OperationsGain final : public GainModel {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "operations"; }
  [[nodiscard]] std::string_view unit() const noexcept override { return "operations"; }
  /// Half of the products for either factor; else the elements of the operand, twice for a
  /// conversion that is there already and becomes needless.
  [[nodiscard]] Gain of_operand(const OperandReading& reading) const override;
  [[nodiscard]] Gain of_storage(const Storing& storing) const override;
  [[nodiscard]] Gain of_conversion(const FormChange& change) const override;
};

/// `unit`, `bytes`, `operations`, or `latency` with the first of `hardware_profiles`; null for
/// another name.
[[nodiscard]] std::unique_ptr<GainModel> make_gain_model(std::string_view name);

}  // namespace quadrant::inline v0
