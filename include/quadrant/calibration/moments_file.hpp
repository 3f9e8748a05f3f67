// Second moments, and the grids that they are counted on, as files: gathered by several runs, added
// up by another, used by a third.
//
// Little-endian; a text or a list is its length, in 8 bytes, and its elements.
//
//   "QMOMENTS"  8 bytes
//   version     u32: 1
//   kind        u32: 0 grids, 1 moments
//   model hash  u64: `model_hash`; 0: not known
//   samples     u64
//   model       text: a note for people
//   left        u64 how many, then of each: name, reason (texts), in the order of names
//   weights     u64 how many, then of each, in the order of names:
//                 name (text); matrices, rows, columns (lists of i64, WeightMatrices);
//                 steps (list of f64); of moments also counts (list of i64, of each matrix) and
//                 sums (list of i64, SecondMoments::triangle of each matrix)
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "quadrant/calibration/second_moments.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0 {

/// The bytes of a file: equal contents have equal ones, whatever the order of what is left.
[[nodiscard]] std::string print_moments(const MomentsGrid& grid);
[[nodiscard]] std::string print_moments(const SecondMomentsTable& moments);

using SavedMoments = std::variant<MomentsGrid, SecondMomentsTable>;

/// Reads what `print_moments` writes; all numbers come back exactly. What is damaged, of a later
/// version, or what no samples give is `invalid_model`, with the place in the file or the name of
/// the weight. Memory: that of the result. Whether it is of a model, `check_moments` says.
[[nodiscard]] Expected<SavedMoments> parse_moments(std::string_view bytes);

/// That the layers of `graph` read the weights as the moments say: `usage` where they are of
/// another model.
[[nodiscard]] Expected<void> check_moments(const Graph& graph, const SecondMomentsTable& moments);

}  // namespace quadrant::inline v0
