// Sets of element types: what a kernel takes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "quadrant/ir/element_type.hpp"

namespace quadrant::inline v0 {

/// A set of storage types.
class Storages {
 public:
  constexpr Storages(std::initializer_list<ElementType> types) noexcept {
    for (const ElementType type : types) bits_ |= bit(type);
  }
  [[nodiscard]] constexpr bool contains(ElementType type) const noexcept {
    return (bits_ & bit(type)) != 0;
  }
  /// `i8, u8`
  [[nodiscard]] std::string print() const;

 private:
  static constexpr std::uint32_t bit(ElementType type) noexcept {
    return 1U << static_cast<unsigned>(type);
  }
  std::uint32_t bits_ = 0;
};

}  // namespace quadrant::inline v0
