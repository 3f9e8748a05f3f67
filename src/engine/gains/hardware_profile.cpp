#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "quadrant/engine/gains/gain.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr std::size_t most_name_bytes = 100;
constexpr std::size_t most_description_bytes = 1000;

bool is_name_character(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

}  // namespace

std::span<const HardwareNumber> hardware_numbers() {
  using P = HardwareProfile;
  static constexpr std::array numbers{
      HardwareNumber{"bandwidth", "bytes/ns", "bytes read or written, from memory", &P::bandwidth},
      HardwareNumber{"cache_bytes", "bytes", "that an operation moves within the cache",
                     &P::cache_bytes, true},
      HardwareNumber{"cache_bandwidth", "bytes/ns", "read or written there", &P::cache_bandwidth,
                     true},
      HardwareNumber{"overhead", "ns", "that any operation takes", &P::overhead},
      HardwareNumber{"float_products", "products/ns", "of floats by floats", &P::float_products},
      HardwareNumber{"int8_products", "products/ns", "of signed codes by codes, 8 bits",
                     &P::int8_products},
      HardwareNumber{"uint8_products", "products/ns", "of unsigned codes by codes, 8 bits",
                     &P::uint8_products},
      HardwareNumber{"weights8_products", "products/ns", "of floats by weights in codes, 8 bits",
                     &P::weights8_products, true},
      HardwareNumber{"weights4_products", "products/ns", "of floats by weights in codes, 4 bits",
                     &P::weights4_products, true},
      HardwareNumber{"float_elements", "elements/ns", "of other operations, on floats",
                     &P::float_elements},
      HardwareNumber{"int8_elements", "elements/ns", "of other operations, on codes",
                     &P::int8_elements},
      HardwareNumber{"quantize", "elements/ns", "that become codes", &P::quantize},
      HardwareNumber{"dequantize", "elements/ns", "that become floats", &P::dequantize},
      HardwareNumber{"requantize", "elements/ns", "that become other codes", &P::requantize}};
  return numbers;
}

Expected<void> check(const HardwareProfile& profile) {
  if (profile.name.empty() || profile.name.size() > most_name_bytes ||
      !std::ranges::all_of(profile.name, is_name_character)) {
    return fail(
        ErrorCode::usage,
        fmt::format("name: expected 1 to {} letters, digits and -, _ or .", most_name_bytes));
  }
  if (profile.description.size() > most_description_bytes) {
    return fail(ErrorCode::usage,
                fmt::format("description: longer than {} bytes", most_description_bytes));
  }
  for (const HardwareNumber& number : hardware_numbers()) {
    const double value = profile.*number.member;
    if (number.may_be_zero && value == 0) continue;
    const bool is_possible = value >= least_hardware_number && value <= most_hardware_number;
    if (is_possible) continue;  // NaN is not
    return fail(ErrorCode::usage,
                fmt::format("{}: {} is not a number from {} to {}, in {}", number.key, value,
                            least_hardware_number, most_hardware_number, number.unit));
  }
  if ((profile.cache_bytes == 0) != (profile.cache_bandwidth == 0)) {
    return fail(ErrorCode::usage, "cache_bytes: it goes with cache_bandwidth, both or neither");
  }
  return {};
}

std::span<const HardwareProfile> hardware_profiles() {
  // As scripts/measure_hardware.py found them with --times 6 and otherwise its defaults, on a
  // shared machine.
  static const std::array profiles{
      HardwareProfile{.name = "x86-64-avx512-vnni",
                      .description = "AMD EPYC with AVX-512 VNNI, ONNX Runtime 1.23.2, one thread",
                      .bandwidth = 24,
                      .cache_bytes = 1.7e7,
                      .cache_bandwidth = 94,
                      .overhead = 190,
                      .float_products = 57,
                      .int8_products = 17,
                      .uint8_products = 210,
                      .weights8_products = 0,
                      .weights4_products = 46,
                      .float_elements = 6.2,
                      .int8_elements = 6.8,
                      .quantize = 8.1,
                      .dequantize = 7.5,
                      .requantize = 4.2,
                      .folds_constants = false,
                      .sums_in_32_bits = true}};
  return profiles;
}

const HardwareProfile* find_hardware_profile(std::string_view name) {
  const auto profiles = hardware_profiles();
  const auto found = std::ranges::find(profiles, name, &HardwareProfile::name);
  return found == profiles.end() ? nullptr : &*found;
}

}  // namespace quadrant::inline v0
