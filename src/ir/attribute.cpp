#include "quadrant/ir/attribute.hpp"

#include <algorithm>
#include <unordered_set>

namespace quadrant::inline v0 {

Attributes::Attributes(std::vector<Entry> entries) : entries_(std::move(entries)) {
  std::unordered_set<std::string> names;
  std::erase_if(entries_, [&](const Entry& entry) { return !names.insert(entry.first).second; });
}

const Attribute* Attributes::find(std::string_view name) const noexcept {
  const auto found = std::ranges::find(entries_, name, &Entry::first);
  return found == entries_.end() ? nullptr : &found->second;
}

void Attributes::set(std::string name, Attribute value) {
  const auto found = std::ranges::find(entries_, name, &Entry::first);
  if (found == entries_.end()) {
    entries_.emplace_back(std::move(name), std::move(value));
  } else {
    found->second = std::move(value);
  }
}

bool Attributes::erase(std::string_view name) {
  const auto found = std::ranges::find(entries_, name, &Entry::first);
  if (found == entries_.end()) return false;
  entries_.erase(found);
  return true;
}

}  // namespace quadrant::inline v0
