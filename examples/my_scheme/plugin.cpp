// The same for a `quadrant` that is there: `quadrant --plugin libmy_scheme_plugin.so list`.
#include "quadrant/pipeline/plugin.hpp"

#include "command.hpp"

QUADRANT_PLUGIN([](quadrant::SchemeTable& schemes) { return schemes.add(my::power_of_two()); })
