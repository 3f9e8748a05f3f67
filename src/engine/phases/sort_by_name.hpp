// Sorting by name in time linear in the letters: a million names take as long for each as a
// thousand.
#pragma once

#include <boost/sort/spreadsort/string_sort.hpp>
#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

namespace quadrant::inline v0 {

/// `name(item)` is a string_view, taken anew whenever it is looked at: of the item, or of something
/// that outlives the call.
template <class Item, class Name>
void sort_by_name(std::vector<Item>& items, Name name) {
  const auto name_of = [&](const Item& item) -> std::string_view {
    return std::invoke(name, item);
  };
  boost::sort::spreadsort::string_sort(
      items.begin(), items.end(),
      [&](const Item& item, std::size_t at) {
        return static_cast<unsigned char>(name_of(item)[at]);
      },
      [&](const Item& item) { return name_of(item).size(); },
      [&](const Item& a, const Item& b) { return name_of(a) < name_of(b); });
}

}  // namespace quadrant::inline v0
