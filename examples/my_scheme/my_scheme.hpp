// A scheme of one's own, to copy and change: one scale for a whole weight, a power of two, so that
// a float is its code times 2^k and dequantizing is a shift. docs/custom_schemes.md walks through
// these files.
//
//   auto graph = quadrant::read_onnx("model.onnx");
//   auto result = my::quantize_power_of_two(*graph);
//   auto report = quadrant::write_onnx(result->graph, "model.int8.onnx");
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "quadrant/engine/macros.hpp"
#include "quadrant/engine/quantize.hpp"

namespace my {

/// The constraint, what can be asked of a value: codes of so many bits, 2 to 16, under one scale.
/// Which scale that is depends on the contents, so it is no part of the constraint.
struct TensorWise {
  int bits = 8;

  [[nodiscard]] std::size_t hash() const { return static_cast<std::size_t>(bits); }
  [[nodiscard]] std::string print() const { return "bits=" + std::to_string(bits); }
  [[nodiscard]] static std::optional<TensorWise> parse(std::string_view text);
  friend auto operator<=>(const TensorWise&, const TensorWise&) = default;

  /// Codes go from minus this to this.
  [[nodiscard]] std::int64_t largest_code() const { return (std::int64_t{1} << (bits - 1)) - 1; }
};

/// The scheme: its options, and what the engine asks of it.
class PowerOfTwo final : public quadrant::Scheme {
 public:
  QUADRANT_SCHEME(PowerOfTwo, TensorWise, "power_of_two")

  explicit PowerOfTwo(TensorWise form) : form_(form) {}
  /// The options, for plans and reports.
  [[nodiscard]] std::string describe() const override { return form_.print(); }
  /// What matrix products ask for.
  [[nodiscard]] TensorWise form() const { return form_; }

 private:
  TensorWise form_;
};

/// The public function: all four phases with this scheme.
[[nodiscard]] quadrant::Expected<quadrant::QuantizeResult> quantize_power_of_two(
    const quadrant::Graph& graph, int bits = 8, const quadrant::QuantizeOptions& run = {});

}  // namespace my
