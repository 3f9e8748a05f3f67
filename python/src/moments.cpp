#include "moments.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

#include "measure.hpp"
#include "quadrant/calibration/calibrate.hpp"
#include "quadrant/pipeline/run.hpp"
#include "recipe/node_names.hpp"
#include "runtime.hpp"

namespace quadrant::python {
namespace {

template <class T>
Array to_python(ElementType element, const Shape& shape, const std::vector<T>& elements) {
  return python::to_python(Tensor::from_bytes(element, shape, std::as_bytes(std::span(elements))));
}

/// Each of these is a weight that has moments, or is left with a reason.
Expected<void> check_names(const Graph& graph, const SecondMomentsTable& table,
                           const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const bool is_left = std::ranges::find(table.left, name, &LeftAlone::name) != table.left.end();
    if (is_left || table.weights.contains(name)) continue;
    QUADRANT_CHECK(find_values(graph, std::vector{name}));
    return fail(ErrorCode::usage, "no layer multiplies by it", {.tensor = name});
  }
  return {};
}

std::vector<std::int64_t> shape_of(const Graph& graph, const std::string& weight) {
  const auto extents = graph.constant(graph.find_value(weight).node)->shape().known_extents();
  return {extents.begin(), extents.end()};
}

}  // namespace

Array WeightMoments::mean() const {
  const WeightMatrices& layout = moments->layout();
  std::vector<double> all;
  for (std::size_t matrix = 0; matrix < layout.matrices.size(); ++matrix) {
    const std::vector<double> one = moments->mean(matrix);
    all.insert(all.end(), one.begin(), one.end());
  }
  const auto columns = static_cast<std::int64_t>(layout.columns.size());
  return to_python(
      ElementType::float64,
      Shape(std::vector{static_cast<std::int64_t>(layout.matrices.size()), columns, columns}), all);
}

Array WeightMoments::places() const {
  const WeightMatrices& layout = moments->layout();
  std::vector<std::int64_t> all;
  all.reserve(layout.matrices.size() * layout.rows.size() * layout.columns.size());
  for (const std::int64_t matrix : layout.matrices) {
    for (const std::int64_t row : layout.rows) {
      for (const std::int64_t column : layout.columns) all.push_back(matrix + row + column);
    }
  }
  return to_python(ElementType::int64,
                   Shape(std::vector{static_cast<std::int64_t>(layout.matrices.size()),
                                     static_cast<std::int64_t>(layout.rows.size()),
                                     static_cast<std::int64_t>(layout.columns.size())}),
                   all);
}

std::vector<std::int64_t> WeightMoments::counts() const {
  std::vector<std::int64_t> made;
  made.reserve(moments->layout().matrices.size());
  for (std::size_t matrix = 0; matrix < moments->layout().matrices.size(); ++matrix) {
    made.push_back(moments->count(matrix));
  }
  return made;
}

Moments Moments::parse(const nb::bytes& contents) {
  SavedMoments saved = value_of(parse_moments(std::string_view(contents.c_str(), contents.size())));
  if (auto* const table = std::get_if<SecondMomentsTable>(&saved)) return {std::move(*table)};
  throw Failure({ErrorCode::usage, "this is a grid that moments are counted on, and no moments"});
}

nb::bytes Moments::print() const {
  const std::string text = print_moments(table);
  return nb::bytes(text.data(), text.size());
}

std::vector<std::string> Moments::names() const {
  std::vector<std::string> made;
  made.reserve(table.weights.size());
  for (const auto& [name, moments] : table.weights) made.push_back(name);
  return made;
}

WeightMoments Moments::of(const std::string& name) const {
  if (table.find(name) == nullptr) throw nb::key_error(name.c_str());
  const auto loaded = value_of(table.load(name));
  const auto shape = shapes.find(name);
  return {std::make_shared<const SecondMoments>(*loaded),
          shape == shapes.end() ? std::nullopt : std::optional(shape->second)};
}

void Moments::merge(const Moments& other) {
  value_of(check_same_model(table.model_hash, other.table.model_hash));
  value_of(table.merge(other.table));
  shapes.insert(other.shapes.begin(), other.shapes.end());
}

Dict Moments::left() const {
  nb::dict made;
  for (const LeftAlone& each : table.left) made[each.name.c_str()] = each.reason;
  return made;
}

Moments second_moments(Session& session, const Model& model, const Samples& samples,
                       const std::vector<std::string>& only, nb::handle runtime,
                       const Moments* grid, std::optional<std::size_t> block,
                       std::optional<std::uint64_t> memory) {
  return session.run([&](const RunContext& context) -> Expected<Moments> {
    const std::set<std::string, std::less<>> names(only.begin(), only.end());
    CollectMomentsOptions options{.executor = context.executor, .sink = context.sink};
    if (!only.empty()) options.only = &names;
    options.block = block.value_or(options.block);
    options.most_bytes = memory.value_or(options.most_bytes);
    const MomentsGrid own = grid == nullptr ? MomentsGrid() : grid_of(grid->table);
    if (grid != nullptr) options.grid = &own;
    QUADRANT_TRY(const auto data, open_samples(samples.inputs(), *model.graph, context));
    const auto by = runtime_of(session, runtime, model.path, context);
    QUADRANT_TRY(SecondMomentsTable table,
                 in_file(collect_second_moments(*model.graph, *by, *data, options), model.path));
    QUADRANT_CHECK(check_names(*model.graph, table, only));
    QUADRANT_CHECK(name_model(table, model, context.executor));
    Moments made{std::move(table)};
    for (const std::string& name : made.names()) made.shapes[name] = shape_of(*model.graph, name);
    return made;
  });
}

}  // namespace quadrant::python
