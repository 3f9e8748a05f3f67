// error: requires_parents takes at most eight operand patterns
#include "misuse/scheme.hpp"

namespace misuse {

constexpr OperandPattern Any = AnyState;

#ifdef MISUSE
QUADRANT_QUANTIZER(Mine, Good, Op, requires_parents(Any, Any, Any, Any, Any, Any, Any, Any, Any)){};
#else
QUADRANT_QUANTIZER(Mine, Good, Op, requires_parents(Any, Any, Any, Any, Any, Any, Any, Any)){};
#endif

}  // namespace misuse
