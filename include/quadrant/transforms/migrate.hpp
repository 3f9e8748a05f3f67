// Migration: factors of channels are moved from what products read into their weights.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/expected.hpp"
#include "quadrant/support/left_alone.hpp"

namespace quadrant::inline v0 {

/// A value that products read, and that can be divided by one factor a channel: in the gains of a
/// normalization, a constant factor, or the output channels of a layer in front of it.
struct MigrationSite {
  std::string value;
  std::int64_t channels = 0;
  std::vector<std::string> weights;  ///< constants of all that read it: conv, gemm, matmul, ...
  std::string folded_into;           ///< the value that is divided where it is made

  friend bool operator==(const MigrationSite&, const MigrationSite&) = default;
};

struct MigrationSites {
  std::vector<MigrationSite> sites;  ///< in the order of the graph's nodes
  std::vector<LeftAlone> left;       ///< values that products read, but that cannot be divided
};

/// The factor s of each channel of a site's value.
struct Migration {
  std::string value;
  std::vector<double> factors;
};

/// Finds the values that `migrate` can divide. All readers of the value are products with constant
/// weights of f32 or f64 that nothing else reads; Q, K and V share their factors. Between the value
/// and what 1 / s is folded into there may be: sums with constants (which are divided, too),
/// factors and divisors, Relu, LeakyRelu, PRelu, Identity, poolings, transposes and reshapes
/// through which channels stay whole (heads, too), and products of computed matrices. Of two
/// computed factors one is followed. What is on the way has one reader. Constants of one number
/// stay, since runtimes know operations by them.
[[nodiscard]] MigrationSites find_migrations(const Graph& graph);

/// x / s, and W s: products compute what they did, up to rounding; to the bit where factors are
/// powers of two and nothing leaves the range of normal numbers. Values on the way are divided by
/// s, too. All is computed in double, and rounded once for each migration that a constant is part
/// of.
///
/// The graph needs exclusive access. Errors: `usage` for a value that is no site, for factors that
/// are not as many as its channels, not positive, or beyond 2^40; `impossible` where a constant
/// would not be finite; what reading constants says. Then the graph is as it was.
[[nodiscard]] Expected<void> migrate(Graph& graph, std::span<const Migration> migrations);

/// The half of it: weights are multiplied, nothing is divided. For a look at what weights become.
[[nodiscard]] Expected<void> multiply_weights(Graph& graph, std::span<const Migration> migrations);

}  // namespace quadrant::inline v0
