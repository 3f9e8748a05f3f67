#include "quadrant/engine/gains/gain.hpp"

#include "ir/work.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0 {
namespace {

// Sizes of tensors fit 63 bits (Shape::element_count), so the difference does too.
Gain bytes_saved(const StorageChange& change) noexcept {
  return Gain{static_cast<std::int64_t>(change.before) - static_cast<std::int64_t>(change.after)};
}

}  // namespace

std::string_view to_string(ConversionKind kind) noexcept {
  switch (kind) {
    case ConversionKind::enter:
      return "enter";
    case ConversionKind::leave:
      return "leave";
    case ConversionKind::convert:
      return "convert";
  }
  return "?";
}

Gain BytesGain::of_storage(const Storing& storing) const { return bytes_saved(storing.change); }

Gain OperationsGain::of_operand(const OperandReading& reading) const {
  const std::int64_t products = multiply_accumulates(reading.consumer);
  if (products == 0) {
    const TensorType* type = reading.consumer.operand_type(reading.operand);
    const Gain elements{type == nullptr ? 0 : counted_elements(type->shape)};
    const std::string_view kind = reading.consumer.kind();
    const bool is_conversion = kind == ops::Quantize::kind || kind == ops::Dequantize::kind;
    return is_conversion ? elements + elements : elements;
  }
  const std::uint32_t first = first_factor(reading.consumer);
  const bool is_factor = reading.operand == first || reading.operand == first + 1;
  return Gain{is_factor ? products / 2 : 0};
}

Gain OperationsGain::of_storage(const Storing& storing) const {
  return bytes_saved(storing.change);
}

Gain OperationsGain::of_conversion(const FormChange& change) const {
  const Gain elements{-counted_elements(change.graph->type(change.value).shape)};
  return elements + elements;
}

std::unique_ptr<GainModel> make_gain_model(std::string_view name) {
  if (name == "unit") return std::make_unique<UnitGain>();
  if (name == "bytes") return std::make_unique<BytesGain>();
  if (name == "operations") return std::make_unique<OperationsGain>();
  if (name == "latency") return std::make_unique<LatencyGain>(hardware_profiles().front());
  return nullptr;
}

}  // namespace quadrant::inline v0
