// Yes-or-no questions with costs, as a network whose minimum cut answers them.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace quadrant::inline v0 {

/// The answer to a question, or a constant.
struct Literal {
  static constexpr std::uint32_t no_question = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t question = no_question;
  bool constant = false;  ///< where there is no question

  [[nodiscard]] bool is_constant() const noexcept { return question == no_question; }
  friend bool operator==(const Literal&, const Literal&) = default;
};
inline constexpr Literal yes{Literal::no_question, true};
inline constexpr Literal no{Literal::no_question, false};

/// Finds the answers of smallest cost. Of several such, that with the fewest yes.
class CutNetwork {
 public:
  [[nodiscard]] Literal ask() noexcept { return {questions_++, false}; }
  /// `cost`, not below zero, where `a` is true and `b` is not.
  void add_cost(Literal a, Literal b, std::int64_t cost);
  void imply(Literal a, Literal b) { add_arc(a, b, infinite); }
  /// What it gains (or costs, below zero) that `a` is true.
  void add_gain(Literal a, std::int64_t gain);
  /// The same of its being false.
  void add_gain_of_not(Literal a, std::int64_t gain);

  struct Answers {
    std::vector<std::uint8_t> is_true;  ///< by question
    std::int64_t gain = 0;

    [[nodiscard]] bool operator[](Literal literal) const noexcept {
      return literal.is_constant() ? literal.constant : is_true[literal.question] != 0;
    }
  };
  /// Empty where no answers are possible, or the numbers are too large.
  [[nodiscard]] std::optional<Answers> solve() const;

 private:
  static constexpr std::int64_t infinite = -1;
  static constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max() / 4;

  struct Arc {
    Literal from;
    Literal to;
    std::int64_t cost = 0;  // or `infinite`
  };
  void add_arc(Literal a, Literal b, std::int64_t cost);
  void add_base(std::int64_t gain);
  [[nodiscard]] bool is_beyond(std::int64_t amount);

  std::uint32_t questions_ = 0;
  std::vector<Arc> arcs_;
  std::int64_t base_ = 0;
  std::int64_t total_ = 0;  // of all finite costs
  bool is_impossible_ = false;
  bool is_too_large_ = false;
};

}  // namespace quadrant::inline v0
