// What a scheme asks of a value ("int8 along axis 1"), interned so that the engine compares
// numbers.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

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

/// A constraint in a ConstraintTable. Equal constraints have equal ids.
enum class ConstraintId : std::uint32_t {};

/// The constraints met in one run, each once.
class ConstraintTable {
 public:
  explicit ConstraintTable(const ConstraintType& type);

  /// `constraint` points to an object of the table's constraint type; it is copied when new.
  ConstraintId intern(const void* constraint);
  /// Empty when the text is not a constraint of this type.
  std::optional<ConstraintId> parse(std::string_view text);

  [[nodiscard]] const void* get(ConstraintId id) const noexcept;
  template <QuantizationConstraint C>
  [[nodiscard]] const C& as(ConstraintId id) const noexcept {
    return *static_cast<const C*>(get(id));
  }
  [[nodiscard]] std::string print(ConstraintId id) const;
  /// The constraint type's own order, which does not depend on who came first.
  [[nodiscard]] bool less(ConstraintId a, ConstraintId b) const;
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

 private:
  const ConstraintType* type_;
  std::deque<std::shared_ptr<const void>> entries_;
  std::unordered_multimap<std::size_t, ConstraintId> by_hash_;
};

}  // namespace quadrant::inline v0
