// A scheme and two methods, correct, for the mistakes to be made with.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "quadrant/engine/macros.hpp"

namespace misuse {

using namespace quadrant;

struct Form {
  [[nodiscard]] static std::size_t hash() { return 0; }
  [[nodiscard]] static std::string print() { return "form"; }
  [[nodiscard]] static std::optional<Form> parse(std::string_view) { return Form{}; }
  friend auto operator<=>(const Form&, const Form&) = default;
};

struct Good final : Scheme {
  QUADRANT_SCHEME(Good, Form, "good")
  [[nodiscard]] std::string describe() const override { return ""; }
};

struct Op {
  static constexpr std::string_view kind = "op";
};
struct OtherOp {
  static constexpr std::string_view kind = "other_op";
};

// Without a callback: legal, nobody can quantize it.
QUADRANT_QUANTIZER(PlainMethod, Good, Op, requires_parents(AnyQuantizable)){};

struct Step {
  int number = 0;
};
QUADRANT_PARAMETERIZED(SharedMethod, Good, Step, requires_parents(AnyQuantizable)) {
  using SharedMethodBase::SharedMethodBase;
};

}  // namespace misuse
