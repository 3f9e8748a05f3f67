// Weight-only quantization: parameters become integers with one scale per channel; activations stay
// float, and a shared dequantize stands in front of whoever computes with the weight.
//
//   auto graph = quadrant::read_onnx("model.onnx");
//   auto result = quadrant::quantize_weight_only(*graph);
//   auto report = quadrant::write_onnx(result->graph, "model.int8.onnx");
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "quadrant/engine/macros.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/engine/scheme.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// What weight-only asks of a value: one scale for each index along `axis`.
struct ChannelWise {
  std::int64_t axis = 0;

  [[nodiscard]] std::size_t hash() const noexcept { return static_cast<std::size_t>(axis); }
  /// `axis=1`
  [[nodiscard]] std::string print() const;
  [[nodiscard]] static std::optional<ChannelWise> parse(std::string_view text);
  friend auto operator<=>(const ChannelWise&, const ChannelWise&) = default;
};

struct WeightOnlyOptions {
  int bits = 8;  ///< of the storage type; 8 is what there is today
};

/// The scheme: symmetric signed integers, -127..127 at 8 bits, scale = largest magnitude / 127.
class WeightOnly final : public Scheme {
 public:
  explicit WeightOnly(WeightOnlyOptions options = {}) noexcept : options_(options) {}

  QUADRANT_SCHEME(WeightOnly, ChannelWise, "weight_only")

  /// The scheme with these options, or why it cannot be.
  [[nodiscard]] static Expected<WeightOnly> make(WeightOnlyOptions options);

  [[nodiscard]] const WeightOnlyOptions& options() const noexcept { return options_; }
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] ElementType storage_type() const noexcept {
    return options_.bits == 8 ? ElementType::int8 : ElementType::undefined;
  }
  /// Largest code; the smallest is its negative.
  [[nodiscard]] std::int64_t storage_max() const noexcept {
    return (std::int64_t{1} << (options_.bits - 1)) - 1;
  }

 private:
  WeightOnlyOptions options_;
};

/// The registry of the scheme's methods.
[[nodiscard]] Expected<Registry> weight_only_registry(WeightOnlyOptions options = {});

/// All four phases with this scheme.
[[nodiscard]] Expected<QuantizeResult> quantize_weight_only(const Graph& graph,
                                                            WeightOnlyOptions options = {},
                                                            const QuantizeOptions& run = {});

}  // namespace quadrant::inline v0
