#include <array>
#include <string_view>

#include "quadrant/ir/constant.hpp"

namespace quadrant::inline v0 {

std::string Storages::print() const {
  constexpr std::array types{ElementType::int8, ElementType::uint8, ElementType::int16,
                             ElementType::int4, ElementType::uint4, ElementType::int32};
  std::string text;
  for (const ElementType type : types) {
    if (!contains(type)) continue;
    if (!text.empty()) text += ", ";
    text += to_string(type);
  }
  return text;
}

}  // namespace quadrant::inline v0
