// error: only_the_last_operand_pattern_may_be_variadic
#include "misuse/scheme.hpp"

namespace misuse {

#ifdef MISUSE
QUADRANT_QUANTIZER(Mine, Good, Op, requires_parents(variadic(AnyQuantizable), AnyState)){};
#else
QUADRANT_QUANTIZER(Mine, Good, Op, requires_parents(AnyState, variadic(AnyQuantizable))){};
#endif

}  // namespace misuse
