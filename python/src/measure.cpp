#include "measure.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <utility>

#include "arrays.hpp"
#include "quadrant/calibration/calibrate.hpp"
#include "quadrant/calibration/compare.hpp"
#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/pipeline/diagnose.hpp"
#include "quadrant/pipeline/gather.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/pipeline/optimize.hpp"
#include "quadrant/recipe/documents.hpp"
#include "quadrant/recipe/recipe.hpp"
#include "quadrant/report/tables.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "recipe/node_names.hpp"
#include "runtime.hpp"

namespace quadrant::python {
namespace {

nb::dict dict_of(const ValueAgreement& value) {
  const Agreement& agreement = value.agreement;
  nb::dict made;
  made["name"] = value.name;
  made["kind"] = value.kind;
  made["sqnr_db"] = agreement.sqnr_db();
  made["cosine"] = agreement.cosine();
  made["largest_error"] = agreement.largest_error;
  made["elements"] = agreement.elements;
  made["equal"] = agreement.equal;
  made["non_finite"] = agreement.non_finite;
  return made;
}

nb::list list_of(const std::vector<ValueAgreement>& values) {
  nb::list made;
  for (const ValueAgreement& value : values) made.append(dict_of(value));
  return made;
}

nb::dict dict_of(const ClassificationScore& score) {
  nb::dict made;
  made["rows"] = score.rows;
  made["top1"] = score.top1_share();
  made["top5"] = score.top5_share();
  return made;
}

nb::object dict_of(const std::optional<ClassificationScore>& score) {
  return score ? nb::object(dict_of(*score)) : nb::none();
}

nb::object dict_of(const std::optional<TriedRemedy>& tried) {
  if (!tried) return nb::none();
  nb::dict made;
  made["sqnr_db"] = tried->worst.sqnr_db();
  made["recipe"] = print_recipe(tried->recipe);
  return made;
}

// A recipe of one scheme as keywords of `quantize`.
std::string keywords_of(const Recipe& recipe) {
  nb::dict all;
  const auto add = [&](const OptionValues& values) {
    for (const auto& [key, value] : values) {
      all[key.c_str()] = std::visit([](const auto& held) { return nb::cast(held); }, value);
    }
  };
  if (!recipe.schemes.empty()) {
    all["scheme"] = recipe.schemes.front().scheme;
    add(recipe.schemes.front().options);
  }
  add(recipe.model);
  if (!recipe.exclude.empty()) all["exclude"] = recipe.exclude;
  std::string text;
  for (const auto& [key, value] : all) {
    text += text.empty() ? "" : ", ";
    text += nb::cast<std::string>(key) + '=' + nb::repr(value).c_str();
  }
  return text;
}

}  // namespace

Arrays run(Session& session, const Model& model, const nb::typed<nb::list, Array>& inputs,
           const std::vector<std::string>& wanted) {
  Tensors tensors;
  for (const nb::handle array : inputs) tensors.push_back(to_tensor(array));
  const NamedValues found = value_of(find_values(*model.graph, wanted));
  const Tensors results = session.run([&](const RunContext& context) -> Expected<Tensors> {
    const Interpreter interpreter({}, context.run_memory);
    QUADRANT_TRY(const auto executor,
                 in_file(interpreter.load(*model.graph, found.values), model.path));
    QUADRANT_CHECK(context.check_stop());
    return in_file(run_model(*executor, tensors, found.values.size()), model.path);
  });
  nb::list made;
  for (std::size_t i = 0; i < results.size(); ++i) {
    made.append(nb::make_tuple(found.names[i], to_python(results[i])));
  }
  return made;
}

Expected<void> check_same_model(std::uint64_t hash, std::uint64_t other) {
  if (hash == other || hash == 0 || other == 0) return {};
  return fail(ErrorCode::usage, "the other was gathered on another model, of other contents");
}

Statistics Statistics::parse(const std::string& text) { return {value_of(parse_statistics(text))}; }

std::string Statistics::print() const { return print_statistics(table); }

std::vector<std::string> Statistics::names() const {
  std::vector<std::string> made;
  made.reserve(table.values.size());
  for (const auto& [name, statistics] : table.values) made.push_back(name);
  return made;
}

Dict Statistics::of(const std::string& name) const {
  const TensorStatistics* const found = table.find(name);
  if (found == nullptr) throw nb::key_error(name.c_str());
  const Histogram& histogram = found->histogram;
  nb::dict made;
  made["samples"] = found->samples;
  made["min"] = histogram.min();
  made["max"] = histogram.max();
  made["mean"] = found->mean();
  made["elements"] = histogram.finite_count() + histogram.non_finite_count();
  made["non_finite"] = histogram.non_finite_count();
  return made;
}

Statistics calibrate(Session& session, const Model& model, const Samples& samples,
                     const std::vector<std::string>& values, nb::handle runtime) {
  return session.run([&](const RunContext& context) -> Expected<Statistics> {
    const Graph& graph = *model.graph;
    CalibrateOptions options{.executor = context.executor, .sink = context.sink};
    if (!values.empty()) {
      QUADRANT_TRY(const NamedValues found, find_values(graph, values));
      for (const Value value : found.values) options.values.push_back({value});
    }
    QUADRANT_TRY(const auto data, open_samples(samples.inputs(), graph, context));
    const auto by = runtime_of(session, runtime, model.path, context);
    QUADRANT_TRY(StatisticsTable table,
                 in_file(quadrant::calibrate(graph, *by, *data, options), model.path));
    QUADRANT_CHECK(name_model(table, model, context.executor));
    return Statistics{std::move(table)};
  });
}

Dict compare(Session& session, const Model& first, const Model& second, const Samples& samples,
             bool layers, const std::optional<std::vector<std::int64_t>>& labels,
             nb::handle runtime) {
  const Comparison comparison = session.run([&](const RunContext& context) -> Expected<Comparison> {
    CompareOptions options{
        .layers = layers, .executor = context.executor, .sink = context.sink, .labels = labels};
    if (!first.path.empty()) options.names.first = first.path;
    if (!second.path.empty()) options.names.second = second.path;
    QUADRANT_TRY(const auto data, open_samples(samples.inputs(), *first.graph, context));
    // Inner values are called as in a file: where one became codes, its floats keep the name.
    Graph made = *second.graph;
    if (layers) make_quantization_explicit(made);
    const std::string no_file;  // errors do not say which of the two models they are of
    const auto by = runtime_of(session, runtime, no_file, context);
    return quadrant::compare(*first.graph, made, *by, *data, options);
  });
  nb::dict made;
  made["samples"] = comparison.samples;
  made["outputs"] = list_of(comparison.outputs);
  made["layers"] = list_of(comparison.layers);
  made["same_class"] =
      comparison.label_output.empty() ? nb::object(nb::none()) : dict_of(comparison.same_class);
  made["first"] = dict_of(comparison.first);
  made["second"] = dict_of(comparison.second);
  made["text"] = to_string(comparison);
  return made;
}

Dict diagnose(Session& session, const Model& first, const Model& second, const Samples& samples,
              const Samples& calibration, std::size_t most, bool remedies) {
  const Diagnosis found = session.run([&](const RunContext& context) -> Expected<Diagnosis> {
    DiagnoseOptions options{
        .most = most, .try_remedies = remedies, .calibration = calibration.inputs()};
    if (!first.path.empty()) options.real_name = first.path;
    if (!second.path.empty()) options.quantized_name = second.path;
    return quadrant::diagnose(*first.graph, *second.graph, samples.inputs(), options, context);
  });
  nb::list causes;
  for (const Cause& cause : found.causes) {
    nb::dict row;
    row["name"] = cause.name;
    row["kind"] = std::string(to_string(cause.kind));
    row["is_weight"] = cause.is_weight;
    row["found"] = cause.found;
    row["share"] = cause.share ? nb::object(nb::float_(*cause.share)) : nb::none();
    row["remedy"] = dict_of(cause.remedy);
    causes.append(row);
  }
  nb::dict made;
  made["samples"] = found.samples;
  made["output"] = found.output;
  made["sqnr_db"] = found.worst.sqnr_db();
  made["causes"] = causes;
  made["together"] = dict_of(found.together);
  made["text"] = to_string(found, [](const Recipe& recipe) { return keywords_of(recipe); });
  return made;
}

Dicts sensitivity(Session& session, const Model& model, const Job& job, const Samples& samples,
                  const std::string& cache) {
  const auto study =
      session.run([&](const RunContext& context) -> Expected<std::vector<LayerSensitivity>> {
        QUADRANT_TRY(CheckedRun checked, check_run(job.request(model.path), context));
        QUADRANT_TRY(PreparedRun prepared, prepare(std::move(checked), *model.graph, context));
        QUADRANT_TRY(const auto data, open_samples(samples.inputs(), prepared.graph, context));
        const Interpreter interpreter({}, context.run_memory);
        return study_sensitivity(prepared, interpreter, *data,
                                 {.cache = cache, .settings = "interpreter"});
      });
  nb::list made;
  for (const LayerSensitivity& layer : study) {
    const ValueAgreement* const worst = layer.worst();
    nb::dict row;
    row["layer"] = layer.layer;
    row["sqnr_db"] =
        worst == nullptr ? nb::none() : nb::object(nb::float_(worst->agreement.sqnr_db()));
    row["outputs"] = list_of(layer.outputs);
    made.append(row);
  }
  return made;
}

OptimizeOutcome optimize(Session& session, const Model& model, const Job& job, const Samples& data,
                         const std::optional<std::vector<std::int64_t>>& labels,
                         double accept_points, double accept_sqnr_db, double most_float) {
  Optimized done = session.run([&](const RunContext& context) -> Expected<Optimized> {
    const RunRequest request = job.request(model.path);
    QUADRANT_CHECK(check_optimize(request, context));
    return quadrant::optimize(request, *model.graph,
                              {.data = data.inputs(),
                               .labels = labels,
                               .labels_name = "labels",
                               .accept_points = accept_points,
                               .accept_sqnr_db = accept_sqnr_db,
                               .most_float = most_float},
                              context);
  });
  OptimizeOutcome made{.best = done.best, .is_good_enough = done.is_good_enough};
  for (const OptimizeAttempt& attempt : done.attempts) {
    Attempt row{.settings = attempt.settings.name(),
                .optimizations = attempt.settings.optimizations,
                .sqnr_db = attempt.judged.worst().sqnr_db(),
                .fitted_sqnr_db = attempt.fitted.worst().sqnr_db(),
                .points_lost = attempt.judged.loss(),
                .weights = attempt.weights,
                .quantized_weights = attempt.quantized,
                .seconds = attempt.seconds};
    for (const FloatPart& part : attempt.settings.excluded) {
      row.excluded.emplace_back(part.name, part.reason);
    }
    if (attempt.held_back) row.held_back_sqnr_db = attempt.held_back->worst().sqnr_db();
    made.attempts.push_back(std::move(row));
  }
  made.model = {std::make_shared<const Graph>(std::move(done.graph)), "", done.recipe};
  made.recipe = print_recipe(done.recipe);
  return made;
}

}  // namespace quadrant::python
