// error: an operation is a type with a static member `kind`
#include "misuse/scheme.hpp"

namespace misuse {

QUADRANT_METHODS(Good) {
  add_parameterized<SharedMethod, Op>({1});
#ifdef MISUSE
  add_parameterized<SharedMethod, Form>({1});
#endif
}

}  // namespace misuse
