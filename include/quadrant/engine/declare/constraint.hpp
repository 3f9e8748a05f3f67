// What a scheme asks of a value ("int8 along axis 1"), interned so that the engine compares
// numbers.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace quadrant::inline v0 {

/// What a scheme's constraint type must have: equality, `hash`, an order for
/// canonical ties, and text that reads back.
template <class C>
concept QuantizationConstraint =
    std::copyable<C> && std::equality_comparable<C> && requires(const C& c, std::string_view text) {
      { c.hash() } -> std::convertible_to<std::size_t>;
      { c < c } -> std::convertible_to<bool>;
      { c.print() } -> std::convertible_to<std::string>;
      { C::parse(text) } -> std::same_as<std::optional<C>>;
    };

/// The operations of a constraint type, without its type.
struct ConstraintType {
  bool (*equal)(const void*, const void*);
  std::size_t (*hash)(const void*);
  bool (*less)(const void*, const void*);
  std::string (*print)(const void*);
  std::shared_ptr<const void> (*parse)(std::string_view);  ///< null: not understood
  std::shared_ptr<const void> (*copy)(const void*);
};

// A constraint without members may have static functions.
// NOLINTBEGIN(readability-static-accessed-through-instance)
template <QuantizationConstraint C>
inline constexpr ConstraintType constraint_type{
    [](const void* a, const void* b) {
      return *static_cast<const C*>(a) == *static_cast<const C*>(b);
    },
    [](const void* c) -> std::size_t { return static_cast<const C*>(c)->hash(); },
    [](const void* a, const void* b) {
      return *static_cast<const C*>(a) < *static_cast<const C*>(b);
    },
    [](const void* c) -> std::string { return static_cast<const C*>(c)->print(); },
    [](std::string_view text) -> std::shared_ptr<const void> {
      std::optional<C> parsed = C::parse(text);
      return parsed ? std::make_shared<const C>(*std::move(parsed)) : nullptr;
    },
    [](const void* c) -> std::shared_ptr<const void> {
      return std::make_shared<const C>(*static_cast<const C*>(c));
    },
};
// NOLINTEND(readability-static-accessed-through-instance)

/// A constraint in a ConstraintTable. Equal constraints of one scheme have equal ids.
enum class ConstraintId : std::uint32_t {};

/// In place of a constraint: the value as floats.
inline constexpr ConstraintId float_form{std::numeric_limits<std::uint32_t>::max()};

/// The constraints met in one run, of all its schemes, each once.
class ConstraintTable {
 public:
  /// One type for each scheme; `scheme` below is an index into them.
  explicit ConstraintTable(std::vector<const ConstraintType*> types) : types_(std::move(types)) {}

  /// `constraint` points to an object of the scheme's constraint type; it is copied when new.
  ConstraintId intern(std::uint32_t scheme, const void* constraint);
  /// Empty when the text is not a constraint of this scheme.
  std::optional<ConstraintId> parse(std::uint32_t scheme, std::string_view text);
  [[nodiscard]] bool understands(std::uint32_t scheme, std::string_view text) const {
    return types_[scheme]->parse(text) != nullptr;
  }

  [[nodiscard]] const void* get(ConstraintId id) const noexcept { return entry(id).value.get(); }
  [[nodiscard]] std::uint32_t scheme(ConstraintId id) const noexcept { return entry(id).scheme; }
  template <QuantizationConstraint C>
  [[nodiscard]] const C& as(ConstraintId id) const noexcept {
    return *static_cast<const C*>(get(id));
  }
  [[nodiscard]] bool equals(ConstraintId id, std::uint32_t scheme, const void* other) const {
    return entry(id).scheme == scheme && types_[scheme]->equal(get(id), other);
  }
  /// `float` for `float_form`.
  [[nodiscard]] std::string print(ConstraintId id) const;
  [[nodiscard]] std::string print(std::uint32_t scheme, const void* constraint) const {
    return types_[scheme]->print(constraint);
  }
  /// By scheme, then in the constraint type's own order, which does not depend on who came first.
  [[nodiscard]] bool less(ConstraintId a, ConstraintId b) const;
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

 private:
  struct Entry {
    std::shared_ptr<const void> value;
    std::uint32_t scheme;
  };
  [[nodiscard]] const Entry& entry(ConstraintId id) const noexcept {
    return entries_[static_cast<std::size_t>(id)];
  }

  std::vector<const ConstraintType*> types_;
  std::deque<Entry> entries_;
  std::unordered_multimap<std::size_t, ConstraintId> by_hash_;
};

}  // namespace quadrant::inline v0
