// error: QUADRANT_SCHEME begins with the name of the class in which it stands
#include "misuse/scheme.hpp"

namespace misuse {

struct Mine final : Scheme {
#ifdef MISUSE
  QUADRANT_SCHEME(Good, Form, "mine")
#else
  QUADRANT_SCHEME(Mine, Form, "mine")
#endif
  [[nodiscard]] std::string describe() const override { return ""; }
};

}  // namespace misuse
