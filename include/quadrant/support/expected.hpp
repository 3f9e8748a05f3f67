// Deprecated, until 0.4: what was here in 0.1 is in error.hpp.
#pragma once

#include "quadrant/support/error.hpp"
