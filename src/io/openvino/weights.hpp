// The .bin file that is to be written.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "quadrant/ir/constant.hpp"

namespace quadrant::inline v0::openvino_ir {

class Weights {
 public:
  struct Place {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
  };

  /// Where `constant` will be, stored as `stored`, its own type or float16 for a float32 one. Short
  /// ones with the same bytes share a place.
  [[nodiscard]] Place add(const Constant& constant, ElementType stored);

  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

  /// Gives the whole file, piece by piece, in order.
  void write(const std::function<void(std::span<const std::byte>)>& sink) const;

 private:
  struct Entry {
    Constant constant;
    ElementType stored = ElementType::undefined;
    Place place;
  };
  std::vector<Entry> entries_;
  std::unordered_map<std::string, Place> known_;  ///< by the bytes that are stored
  std::uint64_t size_ = 0;
};

/// Whether a float32 constant loses nothing as float16. Reads it whole.
[[nodiscard]] bool fits_float16(const Constant& constant);

}  // namespace quadrant::inline v0::openvino_ir
