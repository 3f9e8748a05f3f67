// Graphs that run in the interpreter, on tensors made of the fuzzer's bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/type.hpp"
#include "quadrant/support/error.hpp"
#include "random_values.hpp"

namespace fuzz {

/// So little that no product of what fits in takes seconds.
inline constexpr std::uint64_t small_memory = std::uint64_t{1} << 20U;

/// The names of all operations that the interpreter knows.
const std::vector<std::string_view>& computed_kinds();

/// A tensor for each input. Empty where one is of a type that has none, or of too many elements.
std::optional<quadrant::Tensors> random_inputs(RandomValues& random, const quadrant::Graph& graph);

/// The graph's outputs.
quadrant::Expected<quadrant::Tensors> run(const quadrant::Graph& graph,
                                          const quadrant::Tensors& inputs);

/// The same elements of the same type, under the same shape.
bool same(const quadrant::Tensor& a, const quadrant::Tensor& b);

/// What both are, where the tensor is none of that type; else empty.
std::string contradiction(const quadrant::TensorType& type, const quadrant::Tensor& tensor);

/// That outputs are as many as, and of the types that, the graph says.
void require_stated_types(const quadrant::Graph& graph, const quadrant::Tensors& outputs);

}  // namespace fuzz
