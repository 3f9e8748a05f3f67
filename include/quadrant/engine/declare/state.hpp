// The states of a value on its way through the four phases.
#pragma once

#include <cstdint>
#include <string_view>

namespace quadrant::inline v0 {

enum class State : std::uint8_t {
  Unquantized,  ///< float throughout
  Quantizable,  ///< some quantization of the parents would allow it (phases 1 and 2)
  ToQuantize,   ///< selected (between phases 3 and 4)
  Quantized,    ///< rewritten (phase 4), or quantized before we came
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

}  // namespace quadrant::inline v0
