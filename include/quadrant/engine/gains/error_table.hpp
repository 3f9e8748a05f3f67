// What it costs to hold values in the schemes of a run: predicted errors, by value and scheme.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace quadrant::inline v0 {

/// Errors by the name of a stored value and that of a scheme in the run (`Registry::name`):
/// relative noise power, noise / signal, of the value itself or at the outputs of the model. A
/// value in float has none.
class ErrorTable {
 public:
  /// `error`: not below zero; what is not finite, or too large to add up, counts as `most`.
  void set(std::string_view value, std::string_view scheme, double error);
  /// Empty: nobody said.
  [[nodiscard]] std::optional<double> find(std::string_view value, std::string_view scheme) const;
  [[nodiscard]] std::size_t size() const noexcept { return errors_.size(); }
  /// Of each value the largest error, added up: no decision has more.
  [[nodiscard]] double largest_sum() const;

  static constexpr double most = 1e12;
  /// `error`, or `most` for what is not finite, or too large to add up.
  [[nodiscard]] static double finite(double error) noexcept {
    return error >= 0 && error < most ? error : most;  // NaN is no less than anything
  }

 private:
  struct Less {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return std::pair<std::string_view, std::string_view>(a) <
             std::pair<std::string_view, std::string_view>(b);
    }
  };
  std::map<std::pair<std::string, std::string>, double, Less> errors_;
};

}  // namespace quadrant::inline v0
