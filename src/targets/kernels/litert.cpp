#include "targets/kernels/litert.hpp"

#include <vector>

#include "ir/float16.hpp"
#include "ir/scales.hpp"

namespace quadrant::inline v0::target_kernels {
namespace {

constexpr LitertKernel reals_alone;

bool has_shift(std::span<const std::int64_t> zeros) {
  return std::ranges::any_of(zeros, [](std::int64_t zero) { return zero != 0; });
}

// Empty where they cannot be read, which whoever needs them says.
std::vector<std::int64_t> zeros_of(const Quantization& type) {
  return read_zero_points(type).value_or(std::vector<std::int64_t>{});
}

}  // namespace

bool LitertKernel::takes_codes(ElementType storage, std::span<const std::int64_t> zeros) const {
  const bool is_shifted = storage == ElementType::int16 && has_shift(zeros);
  return (codes & (is_shifted ? litert::shifted : set_of(storage))) != 0;
}

bool LitertKernel::takes_codes(const Quantization& type) const {
  const bool is_of_channels = granularity_of(type).kind != Granularity::Kind::tensor;
  if (is_of_channels && (channel_codes & set_of(type.storage())) == 0) return false;
  return !type.other() && takes_codes(type.storage(), zeros_of(type));
}

const char* LitertKernel::refuse_weights(ElementType beside, const Quantization& type) const {
  if (type.other() || !takes_weights(beside, type.storage())) {
    return "the kernel does not multiply codes of these types";
  }
  const bool is_per_tensor = granularity_of(type).kind == Granularity::Kind::tensor;
  if (type.storage() == ElementType::uint8 && !is_per_tensor) {
    return "codes without a sign have one scale";
  }
  const bool may_shift = is_per_tensor && (weights.shifted & set_of(type.storage())) != 0;
  if (may_shift || !has_shift(zeros_of(type))) return nullptr;
  return is_per_tensor ? "its weight has a zero point" : "its channels have zero points";
}

bool LitertKernel::takes_blocks(const Quantization& type, const Shape& shape) const {
  const Granularity groups = granularity_of(type);
  if (type.other() || (blocks.codes & set_of(type.storage())) == 0 ||
      groups.kind != Granularity::Kind::block || groups.block_size % blocks.step != 0 ||
      shape.rank() != 2 || !shape.is_static()) {
    return false;
  }
  const std::int64_t depth = shape[groups.axis].value();
  const bool is_whole = depth > 0 && depth % groups.block_size == 0;
  if (!is_whole || shape[1 - groups.axis].value() < blocks.least_channels) return false;
  const auto scales = read_scales(type);
  if (!scales || has_shift(zeros_of(type))) return false;
  return std::ranges::all_of(*scales, [](float scale) {
    return scale > 0 && widen_float16(round_to_float16(scale)) == scale;
  });
}

const LitertKernel& litert_kernel(std::string_view name) noexcept {
  const auto* const found = std::ranges::find(litert::kernels, name, &LitertKernel::name);
  return found == litert::kernels.end() ? reals_alone : *found;
}

}  // namespace quadrant::inline v0::target_kernels
