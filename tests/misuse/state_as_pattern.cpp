// error: what follows a method's operation are its patterns: requires_parents(...)
#include "misuse/scheme.hpp"

namespace misuse {

#ifdef MISUSE
QUADRANT_QUANTIZER(Mine, Good, Op, State::Quantizable){};
#else
QUADRANT_QUANTIZER(Mine, Good, Op, requires_parents(AnyQuantizable)){};
#endif

}  // namespace misuse
