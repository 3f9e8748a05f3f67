// Constraints on values, the states that values go through, and reasons for refusals.
#pragma once

#include <array>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quadrant::inline v0 {

// Reasons that methods give for refusals; the texts may be made at run time.

/// Keeps texts, each once: a million nodes have few reasons. A handle: copies share them. The
/// pointers stay good while one of them lives.
class Reasons {
 public:
  Reasons();
  /// Null for an empty text, which says nothing.
  const std::string* keep(std::string_view text);

 private:
  struct Texts;  // not here: all who declare methods would compile what it is made of
  std::shared_ptr<Texts> texts_;
};

// The states of a value on its way through the four phases.

enum class State : std::uint8_t {
  Unquantized,  ///< float throughout
  Quantizable,  ///< some quantization of the parents would allow it (phases 1 and 2)
  ToQuantize,   ///< selected (between phases 3 and 4)
  Quantized,    ///< rewritten (phase 4), or quantized in the model as given
  Consumer,     ///< made by a node that benefits from quantized operands; itself float
};

[[nodiscard]] constexpr std::string_view to_string(State state) noexcept {
  switch (state) {
    case State::Unquantized:
      return "Unquantized";
    case State::Quantizable:
      return "Quantizable";
    case State::ToQuantize:
      return "ToQuantize";
    case State::Quantized:
      return "Quantized";
    case State::Consumer:
      return "Consumer";
  }
  return "?";
}

// What a scheme asks of a value ("int8 along axis 1"), interned so that the engine compares
// numbers.

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
  explicit ConstraintTable(std::vector<const ConstraintType*> types);
  ConstraintTable(const ConstraintTable&) = delete;
  ConstraintTable& operator=(const ConstraintTable&) = delete;
  ~ConstraintTable() = default;

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
  std::vector<Entry> entries_;
  struct Index;  // as Reasons::Texts
  std::shared_ptr<Index> index_;
};

// Which states a node's parents must be in for the node to take part: the declarative half of
// phase 1.
//
//   requires_parents(AnyQuantizable | AnyConsumer, AnyUnquantized, or_absent(AnyUnquantized))
//   requires_parents(variadic(AnyQuantizable))     // a concat: one operand or more
//
// Patterns are values: constexpr, comparable, printable.

/// The states one operand may be in.
struct OperandPattern {
  std::uint8_t accepted = 0;  ///< a bit for each State
  bool is_optional = false;   ///< an absent operand matches too
  bool is_variadic = false;   ///< the last matcher: all operands that are left, one or more

  [[nodiscard]] constexpr bool accepts(State state) const noexcept {
    return ((accepted >> static_cast<unsigned>(state)) & 1U) != 0;
  }
  /// Either of two.
  friend constexpr OperandPattern operator|(OperandPattern a, OperandPattern b) noexcept {
    return {static_cast<std::uint8_t>(a.accepted | b.accepted), a.is_optional || b.is_optional,
            a.is_variadic || b.is_variadic};
  }
  friend constexpr bool operator==(OperandPattern, OperandPattern) = default;
};

namespace detail {
constexpr std::uint8_t bit(State state) noexcept {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(state));
}
}  // namespace detail

// One for each state. AnyQuantized matches what came quantized with the model; the output of a
// Consumer is float and so satisfies AnyUnquantized.
inline constexpr OperandPattern AnyQuantizable{detail::bit(State::Quantizable)};
inline constexpr OperandPattern AnyQuantized{
    static_cast<std::uint8_t>(detail::bit(State::Quantized) | detail::bit(State::ToQuantize))};
inline constexpr OperandPattern AnyUnquantized{
    static_cast<std::uint8_t>(detail::bit(State::Unquantized) | detail::bit(State::Consumer))};
inline constexpr OperandPattern AnyConsumer{detail::bit(State::Consumer)};
/// Whatever state: the operand plays no part in the decision.
inline constexpr OperandPattern AnyState =
    AnyQuantizable | AnyQuantized | AnyUnquantized | AnyConsumer;

/// Matches an absent operand as well.
[[nodiscard]] constexpr OperandPattern or_absent(OperandPattern pattern) noexcept {
  return {pattern.accepted, true, pattern.is_variadic};
}

[[deprecated(
    "or_absent: `optional` is ambiguous beside std's")]] [[nodiscard]] constexpr OperandPattern
optional(OperandPattern pattern) noexcept {
  return or_absent(pattern);
}

/// Matches one operand or more, as the last matcher: each of them must match `pattern`. With
/// `or_absent` inside, absent ones do, and there may be none.
[[nodiscard]] constexpr OperandPattern variadic(OperandPattern pattern) noexcept {
  return {pattern.accepted, pattern.is_optional, true};
}

/// One matcher per operand, in order. Operands beyond the last matcher do not match, unless it is
/// `variadic(...)`; absent ones match `or_absent(...)` alone.
struct ParentsPattern {
  static constexpr std::size_t capacity = 8;
  std::array<OperandPattern, capacity> operands{};
  std::size_t size = 0;

  /// `states[i]` is the state of operand i; `present[i]` is 0 where it is absent.
  [[nodiscard]] bool matches(std::span<const State> states,
                             std::span<const std::uint8_t> present) const noexcept;
  /// The operands that do not match.
  [[nodiscard]] std::vector<std::size_t> mismatches(std::span<const State> states,
                                                    std::span<const std::uint8_t> present) const;
  friend constexpr bool operator==(const ParentsPattern&, const ParentsPattern&) = default;
};

namespace detail {
// Not constexpr: a pattern that gets here does not compile, and the message holds this name.
void only_the_last_operand_pattern_may_be_variadic();
}  // namespace detail

template <class... Patterns>
[[nodiscard]] constexpr ParentsPattern requires_parents(Patterns... patterns) noexcept {
  static_assert(
      (std::same_as<Patterns, OperandPattern> && ...),
      "requires_parents takes operand patterns: AnyQuantizable, or_absent(AnyState), ...");
  static_assert(sizeof...(patterns) <= ParentsPattern::capacity,
                "requires_parents takes at most eight operand patterns");
  const ParentsPattern parents{{patterns...}, sizeof...(patterns)};
  for (std::size_t i = 0; i + 1 < parents.size; ++i) {
    if (parents.operands[i].is_variadic) detail::only_the_last_operand_pattern_may_be_variadic();
  }
  return parents;
}

[[nodiscard]] std::string to_string(OperandPattern pattern);
[[nodiscard]] std::string to_string(const ParentsPattern& pattern);

}  // namespace quadrant::inline v0
