// error: a method's scheme must derive from quadrant::Scheme
#include "misuse/scheme.hpp"

namespace misuse {

#ifdef MISUSE
using Mine = Form;
#else
using Mine = Good;
#endif
QUADRANT_QUANTIZER(MineMethod, Mine, Op, requires_parents(AnyQuantizable)){};

}  // namespace misuse
