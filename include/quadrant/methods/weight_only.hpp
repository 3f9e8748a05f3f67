// Weight-only quantization: parameters become integers with shared scales; activations stay float.
// A shared dequantize stands in front of the operations that compute with a weight, or the scale is
// multiplied behind the sum.
//
//   auto graph = quadrant::read_onnx("model.onnx");
//   auto result = quadrant::quantize_weight_only(
//       *graph, {.bits = 4, .granularity = quadrant::Granularity::Kind::block, .block_size = 32});
//   auto report = quadrant::write_onnx(result->graph, "model.int4.onnx");
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "quadrant/engine/declare/scheme.hpp"
#include "quadrant/engine/macros.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/number_format.hpp"
#include "quadrant/numerics/encode.hpp"
#include "quadrant/numerics/round_weights.hpp"
#include "quadrant/numerics/second_moments.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

struct WeightOnlyOptions {
  /// Where the scale is applied.
  enum class Form : std::uint8_t {
    front,   ///< a dequantize in front of the operation
    behind,  ///< the operation computes on codes, its result is multiplied by the scale
    fewest,  ///< whichever of the two takes fewer multiplications, where the shapes tell
  };

  /// A number format by name, or as text with axes left open, as parse_number_format reads it:
  /// `nf4`, `i4 * f16[block=32] : f32`. Codes and scales are those of least squared error (`encode`
  /// of numerics/encode.hpp), and in memory, a byte for each weight, until they are written. Of
  /// what follows, granularity `block` gives the format blocks of `block_size`, and a `scale_type`
  /// outermost scales of that type; `bits`, `symmetry`, `clip` and the kinds of codes, and other
  /// granularities, mean nothing then. Empty: integers, as what follows says.
  std::string type{};
  int bits = 8;  ///< of the codes: 8 or 4
  Symmetry symmetry = Symmetry::symmetric;
  Granularity::Kind granularity = Granularity::Kind::axis;
  std::int64_t block_size = 32;  ///< for granularity `block`
  /// How scales are stored: float32 or float16; of a `type`, any that it may have. Empty: float32,
  /// or as the type has it.
  std::optional<ElementType> scale_type{};
  /// Empty: `minmax` where asymmetric, `mse` for symmetric codes of 4 bits, else `absmax`. With
  /// `moments`, the scales that rounding starts from.
  std::optional<Clip> clip{};
  /// Symmetric codes reach as far below zero as above: -127, not -128. Empty: at 8 bits.
  std::optional<bool> narrow_range{};
  /// Codes without a sign. Empty: where asymmetric.
  std::optional<bool> unsigned_codes{};
  Form form = Form::front;

  /// How weights that `moments` knows are rounded; others are rounded to nearest.
  Rounding rounding = Rounding::descent;
  /// Of the model's layers (`collect_second_moments`); null: there is no data.
  std::shared_ptr<const SecondMomentsTable> moments{};
  /// Hears what rounding by moments came to (`EncodedConstant::rounded`), of each weight by its
  /// name, from several threads at the same time; may be empty.
  std::function<void(std::string_view weight, const RoundedWeights& rounded)> on_rounded{};
};

/// A weight that is to be stored in the scheme's type.
struct WeightToEncode {
  std::string_view name;
  const Constant& real;
  const NumberFormat& format;              ///< for its shape, with axes
  const SecondMoments* moments = nullptr;  ///< of what it is multiplied by; null: not known
};

/// The scheme. By default symmetric signed integers, -127..127, one scale for each output channel =
/// largest magnitude / 127; ScaleRule says what the other options compute.
///
/// A scheme of one's own that is derived from it has its operations (`add_all_of<WeightOnly>()`),
/// and finds codes in its own way: examples/own_format.cpp.
class WeightOnly : public Scheme {
 public:
  /// Options that `make` accepts; others are errors of `RegistryBuilder::freeze`.
  explicit WeightOnly(WeightOnlyOptions options = {});

  QUADRANT_SCHEME(WeightOnly, Granularity, "weight_only")

  /// The scheme with these options, or why it cannot be.
  [[nodiscard]] static Expected<WeightOnly> make(WeightOnlyOptions options);

  [[nodiscard]] const WeightOnlyOptions& options() const noexcept { return options_; }
  [[nodiscard]] std::string describe() const override;
  /// The errors of `make`.
  [[nodiscard]] Expected<void> check() const override;
  /// Type, range and scale of the codes, where the options name no type.
  [[nodiscard]] ScaleRule rule() const noexcept;
  /// Whether the options name a type.
  [[nodiscard]] bool has_type() const noexcept { return !options_.type.empty(); }
  /// The format of that type, of a weight of that rank in those groups, as `groups` gave them.
  /// `channel`: the axis that its sum keeps; -1: the one beside the blocks. Errors are those of
  /// parse_number_format, for axes that do not go together.
  [[nodiscard]] Expected<NumberFormat> format(const Granularity& groups, std::int64_t rank,
                                              std::int64_t channel = -1) const;
  /// Codes, scales and tables of a weight, of a scheme that has a type; by default those of least
  /// squared error, rounded by moments as the options say. Called for each weight in
  /// each form, whenever the phases read contents, from several threads at the same time.
  /// `impossible` is as NaN in the weight: by `QuantizeOptions::non_finite` it stays float, for
  /// this reason, or ends the run, as other errors do.
  [[nodiscard]] virtual Expected<EncodedConstant> encode(const WeightToEncode& weight) const;
  /// Whether codes may be moved, and scales go behind sums: those of a uniform type may.
  [[nodiscard]] bool is_uniform() const noexcept { return is_uniform_; }

  /// That of the codes: the same for all groups.
  [[nodiscard]] ElementType storage_type(const Granularity& groups) const;

  /// That of a weight of type `real` in these groups, without numbers.
  [[nodiscard]] std::optional<TensorType> type_of(const Granularity& groups,
                                                  const TensorType& real) const;

  /// The groups that the options mean for a weight of shape `shape`, whose sum runs over axis
  /// `contracted` and keeps axis `channel`: what an operation asks for. A weight with no whole
  /// block along `contracted` gets a scale for each channel, but for options that name a type,
  /// where it has one block. `channel`: -1 where there is none; `shape`: ranked. Empty: the options
  /// ask for channels, and there are none.
  [[nodiscard]] std::optional<Granularity> groups(const Shape& shape, std::int64_t channel,
                                                  std::int64_t contracted) const;

 private:
  [[nodiscard]] static Expected<WeightOnly> make_of_type(WeightOnlyOptions options);
  [[nodiscard]] std::optional<Granularity> groups_of_type(std::int64_t channel,
                                                          std::int64_t contracted) const;
  [[nodiscard]] Expected<NumberFormat> format_along(const FormatAxes& axes) const;

  WeightOnlyOptions options_;
  bool is_uniform_ = true;
};

/// The registry of the scheme's methods.
[[nodiscard]] Expected<Registry> weight_only_registry(WeightOnlyOptions options = {});

/// All four phases with this scheme.
[[nodiscard]] Expected<QuantizeResult> quantize_weight_only(const Graph& graph,
                                                            WeightOnlyOptions options = {},
                                                            const QuantizeOptions& run = {});

}  // namespace quadrant::inline v0
