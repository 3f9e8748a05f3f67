// What a model gives before and after it was rewritten or converted.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/type.hpp"

namespace fuzz {

/// The outputs of a graph for some inputs, and how far others may lie from them that are the same
/// but for rounding.
struct Reference {
  quadrant::Tensors inputs;
  quadrant::Tensors outputs;
  /// For each output; infinite where nothing can be said: numbers that are not finite, that depend
  /// on comparisons or on rounding to integers, or that change much when the model's numbers change
  /// a little.
  std::vector<double> slack;
};

/// Empty where the graph does not run, and for numbers that are very large or small.
std::optional<Reference> reference(const quadrant::Graph& graph, quadrant::Tensors inputs);

/// That `graph`, if it runs, gives what the reference says. `original` is shown where it does not.
void require_near(const Reference& reference, const quadrant::Graph& graph,
                  const quadrant::Graph& original, std::string_view what);

/// That both have as many inputs and outputs, in the same order, of types of which none
/// contradicts the other's.
void require_same_signature(const quadrant::Graph& original, const quadrant::Graph& graph,
                            std::string_view what);
/// That they have the same names, too.
void require_same_names(const quadrant::Graph& original, const quadrant::Graph& graph,
                        std::string_view what);

}  // namespace fuzz
