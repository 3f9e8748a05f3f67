#include "quadrant/engine/gain.hpp"

namespace quadrant::inline v0 {

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

Gain BytesGain::of_storage(const StorageChange& change) const {
  // Sizes of tensors fit 63 bits (Shape::element_count), so the difference does too.
  return Gain{static_cast<std::int64_t>(change.before) - static_cast<std::int64_t>(change.after)};
}

std::unique_ptr<GainModel> make_gain_model(std::string_view name) {
  if (name == "unit") return std::make_unique<UnitGain>();
  if (name == "bytes") return std::make_unique<BytesGain>();
  return nullptr;
}

}  // namespace quadrant::inline v0
