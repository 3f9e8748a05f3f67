// Gains, what quantizing is worth: integers, so that sums do not depend on their order, and the
// models that produce them.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "quadrant/ir/constant.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

// What it costs to hold values in the schemes of a run: predicted errors, by value and scheme.

/// Errors by the name of a stored value and that of a scheme in the run (`Registry::name`):
/// relative noise power, noise / signal, of the value itself or at the outputs of the model. A
/// value in float has none.
class ErrorTable {
 public:
  // Not inline, as of Attributes: all who declare methods would compile what a table is made of.
  ErrorTable() noexcept;
  ErrorTable(const ErrorTable& other);
  ErrorTable(ErrorTable&& other) noexcept;
  ErrorTable& operator=(const ErrorTable& other);
  ErrorTable& operator=(ErrorTable&& other) noexcept;
  ~ErrorTable();

  /// `error`: not below zero; what is not finite, or too large to add up, counts as `most`.
  void set(std::string_view value, std::string_view scheme, double error);
  /// Empty: not known.
  [[nodiscard]] std::optional<double> find(std::string_view value, std::string_view scheme) const;
  [[nodiscard]] std::size_t size() const noexcept;
  /// Of each value the largest error, added up: no decision has more.
  [[nodiscard]] double largest_sum() const;

  static constexpr double most = 1e12;
  /// `error`, or `most` for what is not finite, or too large to add up.
  [[nodiscard]] static double finite(double error) noexcept {
    return error >= 0 && error < most ? error : most;  // NaN is no less than anything
  }

 private:
  struct Errors;
  std::unique_ptr<Errors> errors_;  // null: none
};

// Hardware profiles: the rates of a machine with a runtime, by which LatencyGain predicts times.

/// Numbers of one machine, one runtime and one thread. `scripts/measure_hardware.py` finds them.
struct HardwareProfile {
  std::string name;         ///< letters, digits and `-`, `_`, `.`
  std::string description;  ///< the machine and the runtime, for people

  double bandwidth = 0;          ///< bytes per ns that are read or written, from memory
  double cache_bytes = 0;        ///< that one operation moves within the cache; 0: no cache
  double cache_bandwidth = 0;    ///< bytes per ns there; 0 where there is none
  double overhead = 0;           ///< ns that any operation takes, however small
  double float_products = 0;     ///< products that are added up, per ns: both factors floats
  double int8_products = 0;      ///< both factors codes of 8 bits, the activations signed
  double uint8_products = 0;     ///< the same, the activations unsigned
  double weights8_products = 0;  ///< floats by weights in codes of 8 bits; 0: no such kernel
  double weights4_products = 0;  ///< floats by weights in codes of 4 bits; 0: no such kernel
  double float_elements = 0;     ///< elements per ns of other operations, on floats
  double int8_elements = 0;      ///< the same, on codes of 8 bits
  double quantize = 0;           ///< elements per ns that become codes
  double dequantize = 0;         ///< elements per ns that become floats
  double requantize = 0;         ///< elements per ns that become other codes
  /// Whether a dequantize of a constant is computed once, when the model is loaded.
  bool folds_constants = false;
  /// Whether kernels add products of codes in 32 bits: not on x86 without VNNI, where two of them
  /// meet in 16 (`numerics/second_moments.hpp`).
  bool sums_in_32_bits = false;

  friend bool operator==(const HardwareProfile&, const HardwareProfile&) = default;
};

/// A number of a profile.
struct HardwareNumber {
  std::string_view key;
  std::string_view unit;
  std::string_view summary;
  double HardwareProfile::* member = nullptr;
  bool may_be_zero = false;  ///< it may be left out of a file, too
};

/// All of them, in the order of the struct.
[[nodiscard]] std::span<const HardwareNumber> hardware_numbers();

/// Bounds for numbers other than 0: wide enough for any machine, and such that no time overflows.
inline constexpr double least_hardware_number = 1e-6;
inline constexpr double most_hardware_number = 1e9;

/// That every number is one, in these bounds, and the texts are of bounded size; that a cache has
/// a size and a bandwidth. Errors are `usage` and begin with the key.
[[nodiscard]] Expected<void> check(const HardwareProfile& profile);

/// Those that come with the library, the default first.
[[nodiscard]] std::span<const HardwareProfile> hardware_profiles();

/// Null for another name.
[[nodiscard]] const HardwareProfile* find_hardware_profile(std::string_view name);

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

/// A change of form that a gain model is asked about.
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
  /// The unit: `consumed operands`, `bytes`.
  [[nodiscard]] virtual std::string_view unit() const noexcept = 0;
  /// Worth of a consumer having an operand quantized, or computing on its codes.
  [[nodiscard]] virtual Gain of_operand(const OperandReading& reading) const = 0;
  /// Worth of storing a value quantized: counted once, however many consumers it has.
  [[nodiscard]] virtual Gain of_storage(const Storing& storing) const = 0;
  /// Worth of changing the form of a value, once for all readers of the new form: a cost, so not
  /// above zero. The default is free.
  [[nodiscard]] virtual Gain of_conversion(const FormChange& /*change*/) const { return Gain{}; }
  /// The cost of the graph in float, from which gains are subtracted; empty where the model does
  /// not know.
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

// Bytes saved, error avoided and nanoseconds saved, weighed against one another.

/// What bytes, errors and nanoseconds are worth, in any common unit; not below zero.
struct TradeWeights {
  double byte = 1;        ///< a byte saved
  double error = 0;       ///< an error of 1 (`ErrorTable`) avoided
  double nanosecond = 0;  ///< what one unit of the model `time` is worth
};

/// Upper bounds for all decisions, so that amounts can be integers that add up without overflow.
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

// Nanoseconds saved, as a model of a machine predicts them.

/// Time saved in one run of the model, on one thread. The model is the roofline (Williams,
/// Waterman and Patterson, "Roofline: an insightful visual performance model for multicore
/// architectures", Communications of the ACM 52(4), 2009), with an overhead:
///
///     time of an operation = overhead + max(time of moving its bytes, work / rate)
///
/// time of moving: up to `cache_bytes` by `cache_bandwidth`, what is beyond by `bandwidth`; bytes:
/// of all operands and results, each in the form that it is held in; work: the products that are
/// added up (`multiply_accumulates`), and where there are none, the elements of the largest operand
/// or result; of a table that is looked up only what comes out; a reshape moves nothing; rate: of
/// the `HardwareProfile`, by what is computed on. Times of operations add up: no threads, no fusion
/// of neighbours; what fits the cache is there. Extents that are not known count as `ir/work.hpp`
/// has them.
///
/// Which operation saves what, so that nothing counts twice:
///
/// - An operation that computes on codes and makes codes saves its time on floats less that on
///   codes. Products need both factors: each has a half, but where the second is a constant, the
///   first has it all, since kernels go by its type. Other operations: each operand has its share
///   of the elements. The parts add up to the whole where codes are of one type.
/// - A product that reads weights in codes beside floats (matmul, gemm, linear) runs at the rate of
///   such kernels, if the profile has one for codes of so many bits. So does one with a dequantize
///   of a constant in front: runtimes fuse the two, or the file says MatMulNBits. The weight alone
///   saves it all. A runtime may want blocks or 4 bits for this, which gains know nothing of.
/// - Everything else that reads floats saves nothing.
/// - A conversion takes overhead + max(time of moving its bytes, elements / rate).
/// - But a dequantize of a constant is free where the profile says that it is computed when the
///   model is loaded, or where all its readers are such products.
/// - Storing saves no time: readers of the codes read fewer bytes, and gain that.
///
/// Codes of a type that the scheme does not tell count as 8 bits; wider ones are computed on at the
/// rate of floats. The unit is 1 ns: what is smaller is far below the overhead of any operation.
class LatencyGain final : public GainModel {
 public:
  /// A profile that passes `check`.
  explicit LatencyGain(HardwareProfile profile);

  [[nodiscard]] std::string_view name() const noexcept override { return "latency"; }
  [[nodiscard]] std::string_view unit() const noexcept override { return "nanoseconds"; }
  [[nodiscard]] Gain of_operand(const OperandReading& reading) const override;
  [[nodiscard]] Gain of_storage(const Storing&) const override { return Gain{}; }
  [[nodiscard]] Gain of_conversion(const FormChange& change) const override;

  [[nodiscard]] const HardwareProfile& profile() const noexcept { return profile_; }
  /// The sum of what its operations take. Nothing for those that no run computes: inputs,
  /// constants, outputs, and what is made of constants alone by one operation.
  [[nodiscard]] std::optional<Gain> in_float(const GraphView& graph) const override;

 private:
  [[nodiscard]] double weights_rate(ElementType codes) const noexcept;
  [[nodiscard]] double roofline(double bytes, double work, double rate) const noexcept;
  [[nodiscard]] Gain of_node(NodeRef node) const;
  [[nodiscard]] double float_time(NodeRef node) const;
  [[nodiscard]] double code_time(NodeRef node, ElementType codes, bool makes_codes) const;
  [[nodiscard]] bool is_fused(NodeRef consumer, std::uint32_t operand, ElementType codes) const;
  [[nodiscard]] bool is_free(const FormChange& change, ElementType codes) const;
  [[nodiscard]] Gain of_weights(const OperandReading& reading, ElementType codes) const;
  [[nodiscard]] Gain of_factor(const OperandReading& reading, ElementType codes) const;
  [[nodiscard]] Gain of_share(const OperandReading& reading, ElementType codes) const;

  HardwareProfile profile_;
};

}  // namespace quadrant::inline v0
