#include "calibration/low_rank_correction.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "calibration/low_rank.hpp"
#include "numerics/reals.hpp"
#include "quadrant/ir/operations.hpp"
#include "support/saturating.hpp"

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

// Where types are not known, that of the weight.
ElementType element_of(const WantedFactors& wanted) {
  const ElementType of_data = wanted.real.type(wanted.layer.data).element;
  return is_float(of_data) ? of_data : wanted.real.constant(wanted.layer.constant)->element();
}

// Of doubles; moments have their own.
std::uint64_t bytes_besides(const WeightMatrices& layout) {
  const std::uint64_t columns = layout.columns.size();
  const std::uint64_t rows = layout.rows.size();
  const std::uint64_t lesser = std::min(columns, rows);
  const std::uint64_t numbers =
      saturating_add(saturating_multiply(saturating_multiply(columns, rows), 3),
                     saturating_multiply(saturating_multiply(lesser, lesser), 4));
  return saturating_multiply(numbers, sizeof(double));
}

// What the weight should be.
const Constant& aim_of(const WantedFactors& wanted, std::string_view name) {
  const Constant& own = *wanted.real.constant(wanted.layer.constant);
  if (wanted.moments == nullptr) return own;
  const auto aim = wanted.moments->aims.find(name);
  const bool fits = aim != wanted.moments->aims.end() && aim->second.shape() == own.shape();
  return fits ? aim->second : own;
}

// What codes miss of it, [columns, rows] of the layout.
Expected<std::vector<double>> missing_of(const Constant& aim, const Constant& coded,
                                         const WeightMatrices& layout) {
  QUADRANT_TRY(std::vector<double> missing, read_reals(aim));
  {
    QUADRANT_TRY(const std::vector<double> there, read_reals(coded));
    std::ranges::transform(missing, there, missing.begin(), std::minus());
  }
  std::vector<double> ordered(missing.size());
  for_each_place(layout, [&](std::size_t i, std::size_t place) { ordered[i] = missing[place]; });
  return ordered;
}

Expected<LowRankFactors> read_factors(const LowRankCorrection& correction) {
  LowRankFactors factors;
  factors.rank = static_cast<std::size_t>(correction.right.shape().known_extents()[0]);
  QUADRANT_TRY(factors.left, read_reals(correction.left));
  QUADRANT_TRY(factors.right, read_reals(correction.right));
  return factors;
}

}  // namespace

std::string_view why_no_factors(const Graph& graph, const LayerWeight& layer) {
  const NodeRef node = graph.ref(layer.layer);
  const Product* const product = find_product(node);
  if (product == nullptr || layer.is_convolution) return "its layer is no product of matrices";
  if (layer.weight != product->weight) return "its layer multiplies it from the left";
  if (layer.data_axis != 1) return "its layer transposes what it multiplies by it";
  if (!layer.batch.empty() || layer.layout.matrices.size() != 1) {
    return "it is a matrix for each of a batch";
  }
  if (node.attribute_or("alpha", 1.0) != 1) return "its layer multiplies by an `alpha`, too";
  return {};
}

std::uint64_t bytes_of(const WantedFactors& wanted) {
  const WeightMatrices& layout = wanted.layer.layout;
  const std::uint64_t numbers =
      saturating_multiply(wanted.rank, layout.columns.size() + layout.rows.size());
  return saturating_multiply(numbers, static_cast<std::uint64_t>(byte_width(element_of(wanted))));
}

bool pays(const WantedFactors& wanted) {
  return bytes_of(wanted) < wanted.real.constant(wanted.layer.constant)->byte_size();
}

Expected<std::optional<LowRankCorrection>> low_rank_correction(
    const WantedFactors& wanted, FunctionRef<Expected<Constant>()> coded) {
  const WeightMatrices& layout = wanted.layer.layout;
  const std::size_t outputs = layout.rows.size();
  const std::string_view name = wanted.real.value_name({wanted.layer.constant});
  std::shared_ptr<const SecondMoments> held;  // with its share of the room
  if (wanted.moments != nullptr) {
    QUADRANT_TRY(held, wanted.moments->load(name, bytes_besides(layout)));
  }
  // Of a table that is read transposed, too, they are not there.
  const bool is_known = held != nullptr && held->layout() == layout;
  // One of the two at a time.
  const auto means = [&] { return is_known ? held->block_means(0) : std::vector<double>(); };
  const auto root = [&] {
    return is_known ? held->block_factor(0, damping_of_root) : std::vector<double>();
  };
  QUADRANT_TRY(const Constant codes, coded());
  QUADRANT_TRY(std::vector<double> missing, missing_of(aim_of(wanted, name), codes, layout));
  const double before = weighted_squares(missing, outputs, means());
  QUADRANT_TRY(const LowRankFactors factors,
               low_rank_factors(missing, outputs, root(), wanted.rank));
  const auto extent = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  const ElementType element = element_of(wanted);
  LowRankCorrection made{
      .left = rounded_constant(element, {extent(layout.columns.size()), extent(factors.rank)},
                               factors.left),
      .right = rounded_constant(element, {extent(factors.rank), extent(outputs)}, factors.right),
      .before = before};
  QUADRANT_TRY(const LowRankFactors rounded, read_factors(made));
  subtract_product(missing, rounded);
  made.after = weighted_squares(missing, outputs, means());
  if (!(made.after < made.before)) return std::nullopt;
  return made;
}

Expected<Constant> with_correction(const Constant& coded, const WeightMatrices& layout,
                                   const LowRankCorrection& correction) {
  QUADRANT_TRY(std::vector<double> values, read_reals(coded));
  QUADRANT_TRY(const LowRankFactors factors, read_factors(correction));
  const std::vector<double> added = product_of(factors);
  for_each_place(layout, [&](std::size_t i, std::size_t place) { values[place] += added[i]; });
  return rounded_constant(coded.element(), coded.shape(), values);
}

}  // namespace quadrant::inline v0
