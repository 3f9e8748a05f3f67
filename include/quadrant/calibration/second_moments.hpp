// Second moments of the inputs of a model's layers: gathered, and as files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "quadrant/calibration/data_set.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/numerics/second_moments.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/support/executor.hpp"

namespace quadrant::inline v0 {

// Second moments of the inputs of a model's layers, by which weights are rounded.
//
//   auto moments = collect_second_moments(graph, Interpreter(), data);
//   WeightOnlyOptions options{.bits = 4};
//   options.moments = std::make_shared<const SecondMomentsTable>(std::move(*moments));
//   auto result = quantize_weight_only(graph, options);

/// The grids that inputs of a model's layers are rounded to (SecondMoments). Runs on parts of the
/// samples that count on the same one can be added up.
struct MomentsGrid {
  struct Weight {
    WeightMatrices layout;
    std::vector<double> steps;                 ///< of each column of each matrix
    std::size_t block = SecondMoments::whole;  ///< of columns that are counted together
    friend bool operator==(const Weight&, const Weight&) = default;
  };
  /// By the name of the weight's constant.
  std::map<std::string, Weight, std::less<>> weights{};
  std::vector<LeftAlone> left{};  ///< weights without: by the names of their constants
  std::size_t samples = 0;
  std::string model{};           ///< a note for people: what it was made with
  std::uint64_t model_hash = 0;  ///< that graph's `model_hash`; 0: not known

  /// As if this had seen what `other`, of the same model, has: exactly, and in any order. A weight
  /// that one of them leaves is left. `samples` that are too many to count stay at the largest
  /// number. `usage` where a weight has another layout, or other blocks, in the other: nothing
  /// changes then.
  [[nodiscard]] Expected<void> merge(const MomentsGrid& other);
};

/// The grid that these were counted on: what others are counted on that are to be added to them.
[[nodiscard]] MomentsGrid grid_of(const SecondMomentsTable& moments);

struct CollectMomentsOptions {
  /// Of all sums together, and of the weights that convolutions are asked with.
  std::uint64_t most_bytes = std::uint64_t{4} << 30U;
  /// Of the sums of one weight.
  std::uint64_t most_bytes_of_weight = std::numeric_limits<std::uint64_t>::max();
  /// Columns that are counted together (SecondMoments). Where there is no room for the sums, fewer
  /// are, a power of two: said as a note. Without meaning where `grid` says it.
  std::size_t block = SecondMoments::whole;
  /// Of a layer, in one sample: of a larger image, so many positions, evenly spread. A prime, lest
  /// they lie in few columns.
  std::int64_t most_inputs_of_sample = 4093;
  const std::set<std::string, std::less<>>* only = nullptr;  ///< of these weights; null: of all
  Executor* executor = nullptr;  ///< null: one thread. The result does not depend on it.
  Sink* sink = nullptr;          ///< progress; may be null
  /// To count on, in place of one that a first run over the samples finds: larger inputs count as
  /// the largest that it has, and a warning says how many. Null: none.
  const MomentsGrid* grid = nullptr;
};

/// The first run: the largest magnitude that each channel of a layer's input has is the end of its
/// grid. Weights, and errors, are as below.
[[nodiscard]] Expected<MomentsGrid> find_moments_grid(const Graph& graph, const Runtime& runtime,
                                                      const DataSet& data,
                                                      const CollectMomentsOptions& options = {});

/// Runs all samples twice, first for the grid, unless there is one, then for the sums.
///
/// Layers are the sums of products with a constant of floats, perhaps behind an identity, a
/// transpose, a cast, or what keeps the order of its elements: conv, conv_transpose, matmul,
/// batch_matmul, gemm, linear, addmm, and of rnn, gru and lstm the weights of inputs and, by the
/// results in place of the states, those of states. What a convolution multiplies its weights by is
/// what it makes of weights that are 1 at one place each. Layers that share a weight add up to one
/// sum.
///
/// Left are weights whose layers read them in different ways, that others read, too (a table that
/// is looked up), whose inputs are all 0 or not finite, and
/// those for which there is no room: sums whose diagonal has no place in `most_bytes` (on a grid,
/// sums in its blocks), layers taken in the order of the graph, and inputs of which a convolution
/// makes more than the interpreter allows.
///
/// Errors: `usage` without samples, and where a grid is of another model; those of the runtime and
/// the data, with the name of the sample.
[[nodiscard]] Expected<SecondMomentsTable> collect_second_moments(
    const Graph& graph, const Runtime& runtime, const DataSet& data,
    const CollectMomentsOptions& options = {});

// Second moments, and the grids that they are counted on, as files: gathered by several runs, added
// up by another, used by a third.
//
// Little-endian; a text or a list is its length, in 8 bytes, and its elements.
//
//   "QMOMENTS"  8 bytes
//   version     u32: 1, or 2 where the sums of a weight are those of blocks
//   kind        u32: 0 grids, 1 moments
//   model hash  u64: `model_hash`; 0: not known
//   samples     u64
//   model       text: a note for people
//   left        u64 how many, then of each: name, reason (texts), in the order of names
//   weights     u64 how many, then of each, in the order of names:
//                 name (text); matrices, rows, columns (lists of i64, WeightMatrices); in version 2
//                 block (u64: 1 to the number of columns); steps (list of f64); of moments also
//                 counts (list of i64, of each matrix) and sums (list of i64,
//                 SecondMoments::triangle of each matrix)

/// The bytes of a file: equal contents have equal ones, whatever the order of what is left.
[[nodiscard]] std::string print_moments(const MomentsGrid& grid);
[[nodiscard]] std::string print_moments(const SecondMomentsTable& moments);  ///< sums in memory
/// The same bytes, handed to `sink` weight by weight; sums may be away. Errors are those of the
/// sink and of `SecondMomentsTable::load`.
[[nodiscard]] Expected<void> write_moments(const SecondMomentsTable& moments,
                                           FunctionRef<Expected<void>(std::string_view)> sink);

using SavedMoments = std::variant<MomentsGrid, SecondMomentsTable>;

/// Reads what `print_moments` writes; all numbers come back exactly. What is damaged, of a later
/// version, or what no samples give is `invalid_model`, with the place in the file or the name of
/// the weight. Memory: that of the result. Whether it is of a model, `check_moments` says.
[[nodiscard]] Expected<SavedMoments> parse_moments(std::string_view bytes);

/// That the layers of `graph` read the weights as the moments say: `usage` where they are of
/// another model.
[[nodiscard]] Expected<void> check_moments(const Graph& graph, const SecondMomentsTable& moments);

}  // namespace quadrant::inline v0
