// error: a method is a class opened with one of the QUADRANT_ macros
#include "misuse/scheme.hpp"

namespace misuse {

QUADRANT_METHODS(Good) {
  add<PlainMethod>();
#ifdef MISUSE
  add<Form>();
#endif
}

}  // namespace misuse
