// Attributes with names that operations know.
#pragma once

#include "quadrant/ir/graph_view.hpp"
#include "random_values.hpp"

namespace fuzz {

/// Of graphs that are computed, mostly of the type that one of that name has.
quadrant::Attributes::Entry random_attribute(RandomValues& random);

}  // namespace fuzz
