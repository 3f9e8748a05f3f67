// Programming mistakes (not users' mistakes) end here. Define QUADRANT_ASSERT before including to
// replace it.
#pragma once

#ifndef QUADRANT_ASSERT
#include <cassert>
#define QUADRANT_ASSERT(condition) assert(condition)
#endif
