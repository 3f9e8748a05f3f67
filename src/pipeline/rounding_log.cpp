#include "pipeline/rounding_log.hpp"

#include <cstdint>
#include <mutex>
#include <string>

#include "numerics/moved_weight.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/support/ranks.hpp"
#include "support/shared_items.hpp"

namespace quadrant::inline v0 {

double rounding_cost(const Graph& graph, Value weight, const SecondMomentsTable* moments) {
  const auto elements = static_cast<double>(graph.type(weight).shape.element_count().value_or(0));
  if (moments == nullptr) return elements;
  // Perhaps a constant that was moved.
  const Value source = moved_from(graph.ref(weight.node)).result();
  const KeptMoments* const known = moments->find(graph.value_name(source));
  if (known == nullptr) return elements;
  const auto columns = static_cast<double>(known->layout().columns.size());
  const auto rows = static_cast<double>(known->layout().rows.size());
  const auto matrices = static_cast<double>(known->layout().matrices.size());
  return elements + matrices * columns * columns * (columns / 3 + rows);
}

Expected<void> share(RoundingLog& log, Ranks& ranks) {
  ByteWriter out;
  for (const auto& [name, weight] : log.weights) {
    out.text(name);
    out.number(weight.nearest);
    out.number(weight.error);
    for (const std::int64_t rows :
         {weight.rows, weight.weighted, weight.feedback, weight.descent}) {
      out.number(rows);
    }
  }
  QUADRANT_TRY(const std::vector<std::string> of_ranks, ranks.gather(out.take()));
  const std::lock_guard lock(log.mutex);
  const auto read = [&](ByteReader& in) -> Expected<void> {
    RoundedWeights& weight = log.weights[in.text()];
    weight.nearest = in.number<double>();
    weight.error = in.number<double>();
    for (std::int64_t* const rows :
         {&weight.rows, &weight.weighted, &weight.feedback, &weight.descent}) {
      *rows = in.number<std::int64_t>();
    }
    return {};
  };
  // By names: where contents forbade something, a weight was rounded once more, by another rank.
  for (const std::string& own : of_ranks) QUADRANT_CHECK(read_items(own, read));
  return {};
}

}  // namespace quadrant::inline v0
