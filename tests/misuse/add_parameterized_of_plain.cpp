// error: is for methods opened with QUADRANT_PARAMETERIZED
#include "misuse/scheme.hpp"

namespace misuse {

QUADRANT_METHODS(Good) {
  add<PlainMethod>();
#ifdef MISUSE
  add_parameterized<PlainMethod, Op>({1});
#endif
}

}  // namespace misuse
