#include "io/mlir/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <cmath>

#include "io/mlir/failure.hpp"
#include "ir/float16.hpp"
#include "ir/quantized_type.hpp"
#include "ir/scales.hpp"

namespace quadrant::inline v0::mlir_ir {
namespace {

/// Of numbers without digits: infinities and none.
std::string bits_text(ElementType element, double value) {
  if (element == ElementType::float64) {
    return fmt::format("0x{:016X}", std::bit_cast<std::uint64_t>(value));
  }
  const auto wide = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  if (element == ElementType::float32) return fmt::format("0x{:08X}", wide);
  if (element == ElementType::bfloat16) return fmt::format("0x{:04X}", wide >> 16U);
  if (std::isnan(value)) return "0x7E00";
  return value < 0 ? "0xFC00" : "0x7C00";
}

}  // namespace

std::string_view name_of(ElementType element) {
  switch (element) {
    case ElementType::boolean:
      return "i1";
    case ElementType::int4:
    case ElementType::uint4:
      return "i4";
    case ElementType::int8:
    case ElementType::uint8:
      return "i8";
    case ElementType::int16:
    case ElementType::uint16:
      return "i16";
    case ElementType::int32:
    case ElementType::uint32:
      return "i32";
    case ElementType::int64:
    case ElementType::uint64:
      return "i64";
    case ElementType::float16:
    case ElementType::bfloat16:
    case ElementType::float32:
    case ElementType::float64:
      return to_string(element);
    default:
      break;
  }
  impossible(fmt::format("a value of type {}: MLIR's tensors hold none", to_string(element)));
}

std::string text_of(const UniformType& type) {
  if (type.granularity.kind == Granularity::Kind::block) {
    impossible(
        "a scale for each block: versions of MLIR before 20 have none; quantize with a scale for "
        "each channel",
        {}, Remedy::scales_of_channels);
  }
  UniformType held = type;
  held.storage_bits = 0;  // of 3 bits, say: the least and the largest code tell as much
  return value_of(print_quantized_type(held));
}

std::string text_of(const TensorType& type) {
  std::string text = "tensor<";
  for (const std::int64_t extent : type.shape.known_extents()) text += fmt::format("{}x", extent);
  const auto codes = value_of(uniform_for("MLIR", type.quantization));
  text += codes ? text_of(*codes) : std::string(name_of(type.element));
  return text + ">";
}

std::string number_text(ElementType element, double value) {
  if (!is_float(element)) {
    constexpr double most = 9007199254740992;  // 2^53: up to here a double holds each integer
    if (!(std::abs(value) <= most)) impossible("an integer beyond 2^53");
    return fmt::format("{}", static_cast<std::int64_t>(value));
  }
  if (!std::isfinite(value)) return bits_text(element, value);
  std::string text = fmt::format("{}", value);
  if (text.find('.') == std::string::npos) {
    const std::size_t exponent = text.find('e');
    text.insert(exponent == std::string::npos ? text.size() : exponent, ".0");
  }
  return text;
}

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\' || byte < 0x20 || byte >= 0x7F) {
      result += fmt::format("\\{:02X}", byte);
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string array_text(std::span<const std::int64_t> values) {
  return values.empty() ? "array<i64>" : fmt::format("array<i64: {}>", fmt::join(values, ", "));
}

std::string joined(std::span<const std::string> parts) {
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string map_text(std::size_t loops, std::span<const std::string> indices) {
  std::string text = "affine_map<(";
  for (std::size_t i = 0; i < loops; ++i) text += fmt::format("{}d{}", i == 0 ? "" : ", ", i);
  return text + fmt::format(") -> ({})>", fmt::join(indices, ", "));
}

std::string map_of_loops(std::size_t loops, std::span<const std::int64_t> loops_of) {
  std::vector<std::string> indices;
  indices.reserve(loops_of.size());
  for (const std::int64_t loop : loops_of) {
    indices.push_back(loop < 0 ? "0" : fmt::format("d{}", loop));
  }
  return map_text(loops, indices);
}

std::string identity_map(std::size_t loops) {
  std::vector<std::int64_t> loops_of(loops);
  for (std::size_t i = 0; i < loops; ++i) loops_of[i] = static_cast<std::int64_t>(i);
  return map_of_loops(loops, loops_of);
}

}  // namespace quadrant::inline v0::mlir_ir
