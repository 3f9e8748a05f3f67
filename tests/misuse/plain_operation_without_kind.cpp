// error: an operation is a type with a static member `kind`
#include "misuse/scheme.hpp"

namespace misuse {

#ifdef MISUSE
using Target = Form;
#else
using Target = Op;
#endif
QUADRANT_QUANTIZER(Mine, Good, Target, requires_parents(AnyQuantizable)){};

QUADRANT_METHODS(Good) { add<Mine>(); }

}  // namespace misuse
