#include <algorithm>

#include "quadrant/engine/gains/gain.hpp"

namespace quadrant::inline v0 {

void ErrorTable::set(std::string_view value, std::string_view scheme, double error) {
  errors_[{std::string(value), std::string(scheme)}] = finite(error);
}

std::optional<double> ErrorTable::find(std::string_view value, std::string_view scheme) const {
  const auto found = errors_.find(std::pair(value, scheme));
  return found != errors_.end() ? std::optional(found->second) : std::nullopt;
}

double ErrorTable::largest_sum() const {
  double sum = 0;
  for (auto entry = errors_.begin(); entry != errors_.end();) {
    const std::string& value = entry->first.first;
    double largest = 0;
    for (; entry != errors_.end() && entry->first.first == value; ++entry) {
      largest = std::max(largest, entry->second);
    }
    sum += largest;
  }
  return sum;
}

}  // namespace quadrant::inline v0
