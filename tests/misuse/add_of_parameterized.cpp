// error: use add_parameterized<Method, Op>(parameters)
#include "misuse/scheme.hpp"

namespace misuse {

QUADRANT_METHODS(Good) {
  add_parameterized<SharedMethod, Op>({1});
#ifdef MISUSE
  add<SharedMethod>();
#endif
}

}  // namespace misuse
