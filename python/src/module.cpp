// The extension module quadrant._quadrant: library calls, bound one by one. The package around it,
// in Python, is what users call.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <exception>

#include "frontier.hpp"
#include "job.hpp"
#include "measure.hpp"
#include "model.hpp"
#include "moments.hpp"
#include "quadrant/ir/number_format.hpp"
#include "quadrant/recipe/documents.hpp"
#include "quadrant/recipe/recipe.hpp"
#include "quadrant/recipe/scheme_table.hpp"
#include "quadrant/version.hpp"
#include "samples.hpp"
#include "scheme_module.hpp"
#include "session.hpp"

namespace quadrant::python {
namespace {

using namespace nb::literals;

// What would mend it, in the words of this interface. Empty: nothing here.
std::string_view advice(Remedy remedy) {
  switch (remedy) {
    case Remedy::convert_elements:
      return "convert_samples=True converts them";
    case Remedy::allow_non_finite:
      return "allow_non_finite_samples=True lets it pass";
    case Remedy::leave_non_finite:
      return "non_finite='leave' does that";
    case Remedy::scales_of_channels:
      return "granularity='channel' makes them";
    case Remedy::more_memory:
      return "run_memory=BYTES allows more";
    case Remedy::follow_links:
      return "follow_links=True follows them";
    case Remedy::give_samples:
      return "calibration=SAMPLES gives them";
    case Remedy::none:
    case Remedy::fix_shapes:
    case Remedy::another_runtime:
      break;
  }
  return {};
}

// As Python code compares it.
const char* code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::usage:
      return "usage";
    case ErrorCode::invalid_model:
      return "invalid_model";
    case ErrorCode::impossible:
      return "impossible";
    case ErrorCode::io:
      return "io";
    case ErrorCode::cancelled:
      break;
  }
  return "cancelled";
}

// Names of files and models need not be UTF-8.
nb::object text_of(std::string_view text) {
  return nb::steal(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

nb::object text_or_none(std::string_view text) { return text.empty() ? nb::none() : text_of(text); }

void raise(const Error& error) {
  std::string message = error.message;
  if (const std::string_view words = advice(error.remedy); !words.empty()) {
    message += "; ";
    message += words;
  }
  const nb::object type = nb::module_::import_("quadrant._errors").attr("Error");
  const nb::object made =
      type(text_of(message), "code"_a = code_of(error.code),
           "file"_a = text_or_none(error.place.file), "node"_a = text_or_none(error.place.node),
           "tensor"_a = text_or_none(error.place.tensor), "offset"_a = error.place.offset);
  PyErr_SetObject(type.ptr(), made.ptr());
}

nb::dict dict_of(const OptionSpec& option) {
  nb::list words;
  for (const OptionWord& word : option.words) words.append(std::string(word.word));
  nb::dict made;
  made["name"] = std::string(option.key);
  made["summary"] = describe(option);
  made["takes"] = expectation(option);
  made["words"] = words;
  made["default"] = text_or_none(option.fallback);
  return made;
}

Dicts schemes() {
  nb::list all;
  for (const SchemeEntry& scheme : known_schemes()) {
    nb::list options;
    for (const OptionSpec& option : scheme.options) options.append(dict_of(option));
    for (const OptionSpec& option : model_options_of(scheme)) options.append(dict_of(option));
    nb::dict made;
    made["name"] = std::string(scheme.name);
    made["summary"] = std::string(scheme.summary);
    made["needs_data"] = scheme.needs_data;
    made["options"] = options;
    all.append(made);
  }
  return all;
}

Dicts preset_list() {
  nb::list all;
  for (const Preset& preset : presets()) {
    nb::dict made;
    made["name"] = std::string(preset.name);
    made["summary"] = value_of(parse_recipe(preset.text)).description;
    made["recipe"] = std::string(preset.text);
    all.append(made);
  }
  return all;
}

Dicts types() {
  constexpr std::int64_t columns = 4096;
  nb::list all;
  for (const NamedFormat& named : named_formats()) {
    nb::dict made;
    made["name"] = std::string(named.name);
    made["bits_per_weight"] =
        bits_per_weight(value_of(parse_number_format(named.name)), Shape{columns, columns});
    made["format"] = std::string(named.text);
    made["source"] = std::string(named.source);
    all.append(made);
  }
  return all;
}

void bind_session(nb::module_& m) {
  nb::class_<Session>(m, "Session")
      .def(
          "__init__",
          [](Session* self, std::size_t threads, nb::object progress, std::uint64_t run_memory,
             bool follow_links, bool convert_samples, bool allow_non_finite_samples) {
            new (self) Session(
                {threads, run_memory, follow_links, convert_samples, allow_non_finite_samples},
                std::move(progress));
          },
          nb::kw_only(), "threads"_a, "progress"_a.none(), "run_memory"_a, "follow_links"_a,
          "convert_samples"_a, "allow_non_finite_samples"_a)
      .def("close", &Session::close)
      .def(
          "take_diagnostics",
          [](Session& session) {
            nb::list all;
            for (const Diagnostic& each : session.take_diagnostics()) {
              all.append(nb::make_tuple(each.severity == Severity::warning,
                                        text_of(to_string(Error{{}, each.message, each.place}))));
            }
            return all;
          },
          nb::sig("def take_diagnostics(self) -> list[tuple[bool, str]]"));

  nb::class_<Samples>(m, "Samples")
      .def_static("of_path", [](std::string path) { return Samples{std::move(path), nullptr}; })
      .def_static(
          "fetched", [](std::shared_ptr<Session> session, std::size_t size,
                        nb::typed<nb::callable, nb::typed<nb::list, Array>(std::size_t)> fetch) {
            return Samples{
                "", std::make_shared<FetchedSamples>(std::move(session), size, std::move(fetch))};
          });
}

void bind_models(nb::module_& m) {
  nb::class_<Model>(m, "Model")
      .def_ro("path", &Model::path)
      .def("inputs", &Model::inputs)
      .def("outputs", &Model::outputs)
      .def("weights", &Model::weights)
      .def("weight", &Model::weight);
  m.def("read", &read, "session"_a, "path"_a, nb::kw_only(), "has_name"_a);

  nb::class_<Written>(m, "Written")
      .def_ro("bytes", &Written::bytes)
      .def_ro("remarks", &Written::remarks);
  m.def(
      "write",
      [](Session& session, const Model& model, const std::string& path, bool is_lowered,
         std::string target, bool external_data, bool matmul_nbits, bool coded_borders,
         bool repair_ranges) {
        return write(session, model, path,
                     {is_lowered, std::move(target), external_data, matmul_nbits, coded_borders,
                      repair_ranges});
      },
      "session"_a, "model"_a, "path"_a, nb::kw_only(), "is_lowered"_a, "target"_a,
      "external_data"_a, "matmul_nbits"_a, "coded_borders"_a, "repair_ranges"_a);
}

void bind_jobs(nb::module_& m) {
  nb::class_<Job>(m, "Job")
      .def_static("of_scheme", &Job::of_scheme)
      .def_static("of_preset", &Job::of_preset)
      .def_static("of_file", &Job::of_file)
      .def_static("of_json", &Job::of_json)
      .def("set", &Job::set, "key"_a, "text"_a.none())
      .def("set_gain", &Job::set_gain)
      .def("set_hardware", &Job::set_hardware)
      .def("set_policy", &Job::set_policy)
      .def("leave_non_finite", &Job::leave_non_finite)
      .def("set_target_bits", &Job::set_target_bits)
      .def("take_variants", &Job::take_variants)
      .def("add_scope", &Job::add_scope, "include"_a, "exclude"_a)
      .def("set_destination", &Job::set_destination, "path"_a, "target"_a, "coded_borders"_a)
      .def("set_samples", &Job::set_samples)
      .def("set_encodings", &Job::set_encodings)
      .def("set_moments", &Job::set_moments);

  nb::class_<Plan>(m, "Plan").def_static(
      "parse", [](const std::string& text) { return value_of(parse_plan(text)); });
  nb::class_<Result>(m, "Result")
      .def("plan", &Result::plan)
      .def("recipe", &Result::recipe)
      .def("summary", &Result::summary)
      .def("summary_text", &Result::summary_text)
      .def("explain", &Result::explain)
      .def("report", &Result::report)
      .def("model", &Result::model)
      .def("float_model", &Result::float_model);
  m.def("quantize", &Result::make, "session"_a, "model"_a, "job"_a, "plan"_a.none());
}

void bind_measuring(nb::module_& m) {
  m.def("run", &run, "session"_a, "model"_a, "inputs"_a, "wanted"_a);

  nb::class_<Statistics>(m, "Statistics")
      .def_static("parse", &Statistics::parse)
      .def("print", &Statistics::print)
      .def("names", &Statistics::names)
      .def("of", &Statistics::of)
      .def("merge",
           [](Statistics& self, const Statistics& other) {
             value_of(check_same_model(self.table.model_hash, other.table.model_hash));
             self.table.merge(other.table);
           })
      .def_prop_ro("samples", [](const Statistics& self) { return self.table.samples; });
  m.def("calibrate", &calibrate, "session"_a, "model"_a, "samples"_a, "values"_a,
        "runtime"_a.none());
  nb::class_<WeightMoments>(m, "WeightMoments")
      .def("mean", &WeightMoments::mean)
      .def("places", &WeightMoments::places)
      .def("counts", &WeightMoments::counts)
      .def_ro("shape", &WeightMoments::shape);
  nb::class_<Moments>(m, "Moments")
      .def_static("parse", &Moments::parse)
      .def("print", &Moments::print)
      .def("names", &Moments::names)
      .def("of", &Moments::of)
      .def("left", &Moments::left)
      .def("merge", &Moments::merge)
      .def_prop_ro("samples", [](const Moments& self) { return self.table.samples; });
  m.def("second_moments", &second_moments, "session"_a, "model"_a, "samples"_a, "only"_a,
        "runtime"_a.none(), "grid"_a.none(), "block"_a.none(), "memory"_a.none());
  m.def("compare", &compare, "session"_a, "first"_a, "second"_a, "samples"_a, "layers"_a,
        "labels"_a.none(), "runtime"_a.none());
  m.def("diagnose", &diagnose, "session"_a, "first"_a, "second"_a, "samples"_a, "calibration"_a,
        "most"_a, "remedies"_a);
  m.def("sensitivity", &sensitivity, "session"_a, "model"_a, "job"_a, "samples"_a, "cache"_a);

  nb::class_<Frontier>(m, "Frontier")
      .def_static("make", &Frontier::make, "session"_a, "model"_a, "job"_a, "samples"_a,
                  "measures_all"_a)
      .def("points", &Frontier::points)
      .def("plan", &Frontier::plan, "point"_a)
      .def("recipe", &Frontier::recipe)
      .def("svg", &Frontier::svg);

  nb::class_<Attempt>(m, "Attempt")
      .def_ro("settings", &Attempt::settings)
      .def_ro("optimizations", &Attempt::optimizations)
      .def_ro("excluded", &Attempt::excluded)
      .def_ro("sqnr_db", &Attempt::sqnr_db)
      .def_ro("fitted_sqnr_db", &Attempt::fitted_sqnr_db)
      .def_ro("held_back_sqnr_db", &Attempt::held_back_sqnr_db)
      .def_ro("points_lost", &Attempt::points_lost)
      .def_ro("weights", &Attempt::weights)
      .def_ro("quantized_weights", &Attempt::quantized_weights)
      .def_ro("seconds", &Attempt::seconds);
  nb::class_<OptimizeOutcome>(m, "OptimizeOutcome")
      .def_ro("attempts", &OptimizeOutcome::attempts)
      .def_ro("best", &OptimizeOutcome::best)
      .def_ro("is_good_enough", &OptimizeOutcome::is_good_enough)
      .def_ro("model", &OptimizeOutcome::model)
      .def_ro("recipe", &OptimizeOutcome::recipe);
  m.def("optimize", &optimize, "session"_a, "model"_a, "job"_a, "data"_a, "labels"_a.none(),
        "accept_points"_a, "accept_sqnr_db"_a, "most_float"_a);
}

}  // namespace
}  // namespace quadrant::python

NB_MODULE(_quadrant, m) {
  namespace nb = nanobind;
  using namespace quadrant::python;
  m.doc() = "Library calls; the package quadrant is what to use.";
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Failure& failure) {
      raise(failure.error);
    }
  });
  m.attr("version") = QUADRANT_VERSION_STRING;
  m.def("schemes", &schemes);
  m.def("presets", &preset_list);
  m.def("types", &types);
  bind_session(m);
  bind_models(m);
  bind_jobs(m);
  bind_measuring(m);
  bind_schemes(m);
}
