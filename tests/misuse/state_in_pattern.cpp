// error: requires_parents takes operand patterns
#include "misuse/scheme.hpp"

namespace misuse {

#ifdef MISUSE
QUADRANT_QUANTIZER(Mine, Good, Op, requires_parents(State::Quantizable)){};
#else
QUADRANT_QUANTIZER(Mine, Good, Op, requires_parents(AnyQuantizable)){};
#endif

}  // namespace misuse
