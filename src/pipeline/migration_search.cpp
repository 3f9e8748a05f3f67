#include "pipeline/migration_search.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>

#include "ir/ops/elementwise.hpp"
#include "numerics/float_products.hpp"
#include "numerics/reals.hpp"

namespace quadrant::inline v0 {
namespace {

const Constant& constant_of(const Graph& graph, std::string_view name) {
  return *graph.constant(graph.find_value(name).node);
}

/// Of a matrix of a weight, and what its inputs are multiplied by.
struct MatrixErrors {
  const WeightMatrices& layout;
  std::size_t matrix;
  std::span<const double> differences;  ///< of the weight's elements
  std::span<const double> factors;      ///< of its columns
};

// Sums of e E[x x^T] e^T over its rows, e being the difference over the factor.
double error_of(const MatrixErrors& errors, std::span<const double> moments, Executor& executor) {
  const std::size_t n = errors.layout.columns.size();
  const std::size_t rows = errors.layout.rows.size();
  double trace = 0;
  for (std::size_t i = 0; i < n; ++i) trace += moments[i * n + i];
  if (!(trace > 0)) return 0;
  const double unit = trace / static_cast<double>(n);
  double largest = 0;
  const auto element = [&](std::size_t row, std::size_t column) {
    return errors.differences[errors.layout.element(errors.matrix, row, column)] /
           errors.factors[column];
  };
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t c = 0; c < n; ++c) largest = std::max(largest, std::fabs(element(row, c)));
  }
  if (!(largest > 0)) return 0;
  std::vector<float> scaled(n * n);
  std::ranges::transform(moments, scaled.begin(),
                         [&](double moment) { return static_cast<float>(moment / unit); });
  const std::size_t parts = (rows + most_of_product - 1) / most_of_product;
  std::vector<double> sums(parts);
  executor.parallel_for(parts, [&](std::size_t part) {
    const std::size_t first = part * most_of_product;
    const std::size_t count = std::min(most_of_product, rows - first);
    std::vector<float> rows_of_part(n * count);
    for (std::size_t c = 0; c < n; ++c) {
      for (std::size_t row = 0; row < count; ++row) {
        rows_of_part[c * count + row] = static_cast<float>(element(first + row, c) / largest);
      }
    }
    for (const double each : quadratic_forms(scaled, n, rows_of_part, count)) sums[part] += each;
  });
  double sum = 0;
  for (const double each : sums) sum += each;
  return sum * unit * largest * largest;
}

class FactorSearch {
 public:
  explicit FactorSearch(const MigrationQuestion& question) : question_(question) {
    MigrationSites found = find_migrations(question.graph);
    std::erase_if(found.sites, [&](const MigrationSite& site) {
      return std::ranges::any_of(site.weights, [&](const std::string& weight) {
        return question.moments.find(weight) == nullptr;
      });
    });
    sites_ = std::move(found.sites);
  }

  [[nodiscard]] std::vector<Migration> units() const {
    std::vector<Migration> made;
    made.reserve(sites_.size());
    for (const MigrationSite& site : sites_) {
      made.push_back(
          {site.value, std::vector<double>(static_cast<std::size_t>(site.channels), 1.0)});
    }
    return made;
  }

  [[nodiscard]] Expected<MigrationCosts> costs(const std::vector<Migration>& migrations) const {
    Graph multiplied = question_.graph;
    QUADRANT_CHECK(multiply_weights(multiplied, migrations));
    QUADRANT_TRY(const WeightsOfCodes made, question_.made(multiplied));
    MigrationCosts found;
    for (const Migration& migration : migrations) {
      const auto site = std::ranges::find(sites_, migration.value, &MigrationSite::value);
      if (site == sites_.end()) continue;
      double& cost = found[migration.value];
      for (const std::string& weight : site->weights) {
        QUADRANT_TRY(const double more, cost_of(*site, weight, multiplied, made, migration));
        cost += more;
      }
    }
    return found;
  }

  [[nodiscard]] Expected<std::vector<Migration>> run() const {
    std::vector<Migration> best = units();
    if (best.empty()) return best;
    QUADRANT_TRY(const MigrationCosts before, costs(best));
    MigrationCosts least = before;
    std::vector<Sizes> sizes;
    for (const MigrationSite& site : sites_) {
      QUADRANT_TRY(Sizes each, sizes_of(site));
      sizes.push_back(std::move(each));
    }
    constexpr int steps = 10;
    for (int i = 0; i < 2 * steps; ++i) {
      const double power = static_cast<double>(i % steps + 1) / steps;
      std::vector<Migration> tried = best;
      for (std::size_t s = 0; s < sites_.size(); ++s) {
        tried[s].factors = factors(sizes[s], power, i < steps ? 0 : 1 - power);
      }
      QUADRANT_TRY(const MigrationCosts found, costs(tried));
      for (std::size_t s = 0; s < sites_.size(); ++s) {
        const double cost = found.at(sites_[s].value);
        if (!(cost < least.at(sites_[s].value))) continue;
        least[sites_[s].value] = cost;
        best[s].factors = std::move(tried[s].factors);
      }
    }
    constexpr double least_part = 0.01;  // that a factor is worth the change
    std::erase_if(best, [&](const Migration& each) {
      return !(least.at(each.value) < before.at(each.value) * (1 - least_part));
    });
    return best;
  }

 private:
  /// How large inputs and weights of each channel are.
  struct Sizes {
    std::vector<double> inputs;
    std::vector<double> weights;
  };

  // The largest input where activations become codes, the mean square where they do not.
  [[nodiscard]] Expected<Sizes> sizes_of(const MigrationSite& site) const {
    const auto channels = static_cast<std::size_t>(site.channels);
    Sizes sizes{std::vector<double>(channels), std::vector<double>(channels)};
    for (const std::string& name : site.weights) {
      QUADRANT_TRY(const auto moments, question_.moments.load(name));
      const WeightMatrices& layout = moments->layout();
      const std::size_t n = layout.columns.size();
      const std::size_t taps = n * layout.matrices.size() / channels;
      QUADRANT_TRY(const std::vector<double> weight,
                   read_reals(constant_of(question_.graph, name)));
      for (std::size_t matrix = 0; matrix < layout.matrices.size(); ++matrix) {
        const std::vector<double> means = moments->block_means(matrix);
        const std::size_t block = moments->block();
        for (std::size_t c = 0; c < n; ++c) {
          const std::size_t channel = (matrix * n + c) / taps;
          const double reach = moments->steps(matrix)[c] * SecondMoments::most_steps;
          double& input = sizes.inputs[channel];
          const double square = means[c * block + c % block];
          input = std::max(input, question_.activation_steps > 0 ? reach : std::sqrt(square));
          double& largest = sizes.weights[channel];
          for (std::size_t row = 0; row < layout.rows.size(); ++row) {
            largest = std::max(largest, std::fabs(weight[layout.element(matrix, row, c)]));
          }
        }
      }
    }
    return sizes;
  }

  // input^power / weight^of_weights of each channel, over the geometric mean of all.
  static std::vector<double> factors(const Sizes& sizes, double power, double of_weights) {
    constexpr double most = 10;  // exponent of two
    std::vector<double> made(sizes.inputs.size());
    const auto is_there = [&](std::size_t i) {
      return sizes.inputs[i] > 0 && sizes.weights[i] > 0;
    };
    double sum = 0;
    double count = 0;
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (!is_there(i)) continue;
      made[i] = power * std::log2(sizes.inputs[i]) - of_weights * std::log2(sizes.weights[i]);
      sum += made[i];
      ++count;
    }
    for (std::size_t i = 0; i < made.size(); ++i) {
      made[i] = is_there(i) ? std::exp2(std::clamp(made[i] - sum / count, -most, most)) : 1;
    }
    return made;
  }

  [[nodiscard]] Expected<double> cost_of(const MigrationSite& site, const std::string& name,
                                         const Graph& multiplied, const WeightsOfCodes& made,
                                         const Migration& migration) const {
    SerialExecutor serial;
    Executor& executor = question_.executor != nullptr ? *question_.executor : serial;
    QUADRANT_TRY(const auto moments, question_.moments.load(name));
    const WeightMatrices& layout = moments->layout();
    const std::size_t n = layout.columns.size();
    const std::size_t taps = n * layout.matrices.size() / migration.factors.size();
    QUADRANT_TRY(const std::vector<double> weight, read_reals(constant_of(multiplied, name)));
    std::vector<double> differences(weight.size());
    if (const auto found = made.find(name); found != made.end()) {
      QUADRANT_TRY(const std::vector<double> reals, read_reals(found->second));
      for (std::size_t i = 0; i < weight.size(); ++i) differences[i] = reals[i] - weight[i];
    }
    double cost = 0;
    double squares = 0;
    double reach = 0;
    for (std::size_t matrix = 0; matrix < layout.matrices.size(); ++matrix) {
      std::vector<double> factors(n);
      for (std::size_t c = 0; c < n; ++c) {
        factors[c] = migration.factors[(matrix * n + c) / taps];
        reach = std::max(reach, moments->steps(matrix)[c] * SecondMoments::most_steps / factors[c]);
        for (std::size_t row = 0; row < layout.rows.size(); ++row) {
          const double each = weight[layout.element(matrix, row, c)];
          squares += each * each;
        }
      }
      cost += error_of({layout, matrix, differences, factors}, moments->mean(matrix), executor);
    }
    if (!(question_.activation_steps > 0)) return cost;
    const Value value = question_.graph.find_value(site.value);
    const bool is_above_zero = question_.graph.kind(value.node) == ops::Relu::kind;
    const double step = (is_above_zero ? 1 : 2) * reach / question_.activation_steps;
    return cost + step * step / 12 * squares;  // as of an even distribution within a step
  }

  const MigrationQuestion& question_;
  std::vector<MigrationSite> sites_;
};

}  // namespace

Expected<MigrationCosts> migration_costs(const MigrationQuestion& question,
                                         const std::vector<Migration>& migrations) {
  return FactorSearch(question).costs(migrations);
}

Expected<std::vector<Migration>> search_migrations(const MigrationQuestion& question) {
  return FactorSearch(question).run();
}

void divide_inputs(SecondMomentsTable& moments, const Graph& graph,
                   const std::vector<Migration>& migrations) {
  for (const MigrationSite& site : find_migrations(graph).sites) {
    const auto made = std::ranges::find(migrations, site.value, &Migration::value);
    if (made == migrations.end()) continue;
    for (const std::string& weight : site.weights) {
      const auto found = moments.weights.find(weight);
      if (found != moments.weights.end()) found->second.divide_inputs(made->factors);
    }
  }
}

}  // namespace quadrant::inline v0
