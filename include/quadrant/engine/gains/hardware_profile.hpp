// What a machine with a runtime on it does in a nanosecond: what LatencyGain predicts with.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

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
  /// meet in 16 (`numerics/pair_sums.hpp`).
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

/// What numbers other than 0 lie between: wide enough for any machine, and such that no time
/// overflows.
inline constexpr double least_hardware_number = 1e-6;
inline constexpr double most_hardware_number = 1e9;

/// That every number is one, in these bounds, and the texts are of bounded size; that a cache has
/// a size and a bandwidth. Errors are `usage` and begin with the key.
[[nodiscard]] Expected<void> check(const HardwareProfile& profile);

/// Those that come with the library, the default first.
[[nodiscard]] std::span<const HardwareProfile> hardware_profiles();

/// Null for another name.
[[nodiscard]] const HardwareProfile* find_hardware_profile(std::string_view name);

}  // namespace quadrant::inline v0
