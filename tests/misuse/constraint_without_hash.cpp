// error: a constraint needs ==, <, hash(), print() and static parse(text)
#include "misuse/scheme.hpp"

namespace misuse {

struct Incomplete {
#ifndef MISUSE
  [[nodiscard]] static std::size_t hash() { return 0; }
#endif
  [[nodiscard]] static std::string print() { return "form"; }
  [[nodiscard]] static std::optional<Incomplete> parse(std::string_view) { return {}; }
  friend auto operator<=>(const Incomplete&, const Incomplete&) = default;
};

struct Mine final : Scheme {
  QUADRANT_SCHEME(Mine, Incomplete, "mine")
  [[nodiscard]] std::string describe() const override { return ""; }
};

}  // namespace misuse
