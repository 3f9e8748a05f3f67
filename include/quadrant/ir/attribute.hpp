// Named, typed facts about a node or a graph.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "quadrant/ir/constant.hpp"

namespace quadrant::inline v0 {

/// Something a format holds and the library does not read (a subgraph, a type, unknown fields):
/// carried through and written as it came.
struct Opaque {
  std::string format;  ///< who can read it, for example `onnx.graph`
  Constant bytes;      ///< `uint8`, one-dimensional
  friend bool operator==(const Opaque&, const Opaque&) = default;
};

using Attribute = std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>,
                               std::vector<double>, std::vector<std::string>, Constant, Opaque>;

/// A handful of attributes in the order in which they were set.
class Attributes {
 public:
  using Entry = std::pair<std::string, Attribute>;

  Attributes() = default;
  Attributes(std::initializer_list<Entry> entries) : entries_(entries) {}
  /// Many at once, which `set` would take quadratic time for. Of those of one name, the first.
  explicit Attributes(std::vector<Entry> entries);

  /// Null when there is none of that name.
  [[nodiscard]] const Attribute* find(std::string_view name) const noexcept;
  /// Adds or replaces.
  void set(std::string name, Attribute value);
  /// True if there was one.
  bool erase(std::string_view name);

  /// The value if it is there and of that type, else `fallback`.
  template <class T>
  [[nodiscard]] T get_or(std::string_view name, const T& fallback) const {
    const Attribute* found = find(name);
    const T* typed = found ? std::get_if<T>(found) : nullptr;
    return typed ? *typed : fallback;
  }

  [[nodiscard]] auto begin() const noexcept { return entries_.begin(); }
  [[nodiscard]] auto end() const noexcept { return entries_.end(); }
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

  friend bool operator==(const Attributes&, const Attributes&) = default;

 private:
  std::vector<Entry> entries_;
};

}  // namespace quadrant::inline v0
