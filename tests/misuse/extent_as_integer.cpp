// error: deleted
// error: Extent' and 'int'
#include "misuse/scheme.hpp"

namespace misuse {

// Of an extent that may be open, neither the sum nor the comparison has a meaning.
std::int64_t padded(const Shape& shape) {
#ifdef MISUSE
  if (shape[0] == shape[1]) return 0;
  return shape[0] + 1;
#else
  if (surely_equal(shape[0], shape[1])) return 0;
  return shape[0].value_or(0) + 1;
#endif
}

}  // namespace misuse
