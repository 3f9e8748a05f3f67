// What is true of an operation by its attributes and constants.
#include <algorithm>
#include <string>

#include "ir/operations/row.hpp"

namespace quadrant::inline v0::detail {
namespace {

bool is_zero(const Constant& number) {
  if (number.byte_size() > sizeof(double)) return false;
  const auto bytes = number.read();
  return bytes &&
         std::ranges::all_of(bytes->bytes(), [](std::byte byte) { return byte == std::byte{0}; });
}

}  // namespace

Traits traits_of_padding(NodeRef node) {
  if (node.attribute_or<std::string>("mode", "constant") != "constant") return taking;
  const Constant* const fill = node.operand_constant(2);
  const bool is_of_zeros = node.operand(2).is_absent() ? node.attribute_or("value", 0.0) == 0
                                                       : fill != nullptr && is_zero(*fill);
  return is_of_zeros ? in_range : Traits{};
}

// Means of neighbours lie between them; what cubic ones make does not. What lies outside of a crop
// is filled with a number of its own.
Traits traits_of_resize(NodeRef node) {
  const auto mode = node.attribute_or<std::string>("mode", "nearest");
  const auto places =
      node.attribute_or<std::string>("coordinate_transformation_mode", "half_pixel");
  if (mode == "cubic" || places == "tf_crop_and_resize") return {};
  return mode == "nearest" ? taking : in_range;
}

}  // namespace quadrant::inline v0::detail
