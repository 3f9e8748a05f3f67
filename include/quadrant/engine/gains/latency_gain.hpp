// Nanoseconds saved, as a model of a machine predicts them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "quadrant/engine/gains/gain.hpp"
#include "quadrant/engine/gains/hardware_profile.hpp"
#include "quadrant/ir/element_type.hpp"
#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0 {

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
/// Who saves what, so that nothing counts twice:
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
///   model is loaded, or where all who read it are such products.
/// - Storing saves no time: whoever reads the codes reads fewer bytes, and gains that.
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
