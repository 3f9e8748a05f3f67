// error: this method asks a scheme that the list's scheme is not derived from
#include "misuse/scheme.hpp"

namespace misuse {

struct Other final : Scheme {
  QUADRANT_SCHEME(Other, Form, "other")
  [[nodiscard]] std::string describe() const override { return ""; }
};

QUADRANT_QUANTIZER(OtherMethod, Other, Op, requires_parents(AnyQuantizable)){};

QUADRANT_METHODS(Other) {
  add<OtherMethod>();
#ifdef MISUSE
  add<PlainMethod>();
#endif
}

}  // namespace misuse
