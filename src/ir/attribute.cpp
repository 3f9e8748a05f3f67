#include <algorithm>
#include <unordered_set>

#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0 {

Attributes::Attributes() noexcept = default;
Attributes::Attributes(const Attributes& other) = default;
Attributes::Attributes(Attributes&& other) noexcept = default;
Attributes& Attributes::operator=(const Attributes& other) = default;
Attributes& Attributes::operator=(Attributes&& other) noexcept = default;
Attributes::~Attributes() = default;

Attributes::Attributes(std::initializer_list<Entry> entries) : entries_(entries) {}

Attributes::Attributes(std::vector<Entry> entries) : entries_(std::move(entries)) {
  std::unordered_set<std::string> names;
  std::erase_if(entries_, [&](const Entry& entry) { return !names.insert(entry.first).second; });
}

bool operator==(const Attributes& a, const Attributes& b) { return a.entries_ == b.entries_; }

bool Attributes::empty() const noexcept { return entries_.empty(); }
std::size_t Attributes::size() const noexcept { return entries_.size(); }

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
