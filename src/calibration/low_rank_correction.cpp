#include "calibration/low_rank_correction.hpp"

#include <cstdint>
#include <utility>

#include "calibration/low_rank.hpp"
#include "numerics/reals.hpp"
#include "quadrant/ir/operations.hpp"

namespace quadrant::inline v0 {
namespace {

// L of E[x x^T] with so much of its mean on the diagonal: what the samples do not tell apart is
// told apart by the weight itself.
constexpr double damping_of_root = 1e-8;

// Of a matrix that is as the weight, [columns, rows] of the layout.
template <class Visit>
void for_each_place(const WeightMatrices& layout, Visit visit) {
  std::size_t i = 0;
  for (std::size_t column = 0; column < layout.columns.size(); ++column) {
    for (std::size_t row = 0; row < layout.rows.size(); ++row) {
      visit(i++, layout.element(0, row, column));
    }
  }
}

std::vector<double> difference(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> made(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) made[i] = a[i] - b[i];
  return made;
}

Expected<LowRankFactors> read_factors(const LowRankCorrection& correction) {
  LowRankFactors factors;
  factors.rank = static_cast<std::size_t>(correction.right.shape().known_extents()[0]);
  QUADRANT_TRY(factors.left, read_reals(correction.left));
  QUADRANT_TRY(factors.right, read_reals(correction.right));
  return factors;
}

}  // namespace

bool is_plain_product(const Graph& graph, const LayerWeight& layer) {
  const NodeRef node = graph.ref(layer.layer);
  const Product* const product = find_product(node);
  return product != nullptr && !layer.is_convolution && layer.weight == product->weight &&
         layer.data_axis == 1 && layer.batch.empty() && layer.layout.matrices.size() == 1 &&
         node.attribute_or("alpha", 1.0) == 1;
}

bool pays(const WeightMatrices& layout, std::size_t rank) noexcept {
  const std::size_t columns = layout.columns.size();
  const std::size_t rows = layout.rows.size();
  return rank < columns && rank * (columns + rows) < columns * rows;
}

Expected<LowRankCorrection> low_rank_correction(const CodedWeight& weight, std::size_t rank,
                                                ElementType element) {
  const WeightMatrices& layout = weight.layout;
  const std::size_t inputs = layout.columns.size();
  const std::size_t outputs = layout.rows.size();
  QUADRANT_TRY(const std::vector<double> wanted, read_reals(weight.wanted));
  QUADRANT_TRY(const std::vector<double> coded, read_reals(weight.coded));
  std::vector<double> missing(inputs * outputs);
  for_each_place(
      layout, [&](std::size_t i, std::size_t place) { missing[i] = wanted[place] - coded[place]; });
  const SecondMoments* const known = weight.moments;
  const std::vector<double> moments = known ? known->mean(0) : std::vector<double>();
  const std::vector<double> root =
      known ? known->factor(0, damping_of_root) : std::vector<double>();
  QUADRANT_TRY(const LowRankFactors factors, low_rank_factors(missing, outputs, root, rank));
  const auto extent = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  LowRankCorrection made{
      .left = rounded_constant(element, {extent(inputs), extent(factors.rank)}, factors.left),
      .right = rounded_constant(element, {extent(factors.rank), extent(outputs)}, factors.right),
      .before = weighted_squares(missing, outputs, moments)};
  QUADRANT_TRY(const LowRankFactors rounded, read_factors(made));
  made.after = weighted_squares(difference(missing, product_of(rounded)), outputs, moments);
  return made;
}

Expected<Constant> with_correction(const CodedWeight& weight, const LowRankCorrection& correction) {
  QUADRANT_TRY(std::vector<double> values, read_reals(weight.coded));
  QUADRANT_TRY(const LowRankFactors factors, read_factors(correction));
  const std::vector<double> added = product_of(factors);
  for_each_place(weight.layout,
                 [&](std::size_t i, std::size_t place) { values[place] += added[i]; });
  return rounded_constant(weight.coded.element(), weight.coded.shape(), values);
}

}  // namespace quadrant::inline v0
