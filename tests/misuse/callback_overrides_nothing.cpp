// error: marked 'override'
#include "misuse/scheme.hpp"

namespace misuse {

QUADRANT_QUANTIZER(Mine, Good, Op, requires_parents(AnyQuantizable)) {
#ifdef MISUSE
  void callback(const Form&, Asks& asks) const override { asks.accept(); }
#else
  void callback(const Form&, NodeRef, Asks& asks) const override { asks.accept(); }
#endif
};

QUADRANT_METHODS(Good) { add<Mine>(); }

}  // namespace misuse
