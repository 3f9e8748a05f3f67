// error: needs `using <method>Base::<method>Base;`
#include "misuse/scheme.hpp"

namespace misuse {

QUADRANT_PARAMETERIZED(Mine, Good, Step, requires_parents(AnyQuantizable)) {
#ifndef MISUSE
  using MineBase::MineBase;
#endif
};

QUADRANT_METHODS(Good) { add_parameterized<Mine, Op>({1}); }

}  // namespace misuse
