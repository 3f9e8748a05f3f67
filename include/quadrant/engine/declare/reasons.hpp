// The texts by which methods say why not, which may be made while they run.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

namespace quadrant::inline v0 {

/// Keeps texts, each once: a million nodes have few reasons. The pointers stay good while it lives.
class Reasons {
 public:
  /// Null for an empty text, which says nothing.
  const std::string* keep(std::string_view text) {
    if (text.empty()) return nullptr;
    const auto found = texts_.find(text);
    return found != texts_.end() ? &*found : &*texts_.emplace(text).first;
  }

 private:
  std::set<std::string, std::less<>> texts_;
};

}  // namespace quadrant::inline v0
