#include "c_api/c_api.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "quadrant/engine/explain/explain.hpp"
#include "quadrant/pipeline/kernels_target.hpp"
#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/pipeline/plugin.hpp"
#include "quadrant/recipe/documents.hpp"
#include "quadrant/recipe/recipe.hpp"
#include "quadrant/report/tables.hpp"
#include "recipe/node_names.hpp"

namespace quadrant::inline v0 {
namespace {

quadrant_code code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::usage:
      return QUADRANT_USAGE;
    case ErrorCode::invalid_model:
      return QUADRANT_BAD_INPUT;
    case ErrorCode::impossible:
      return QUADRANT_IMPOSSIBLE;
    case ErrorCode::io:
      return QUADRANT_IO;
    case ErrorCode::cancelled:
      return QUADRANT_CANCELLED;
  }
  return QUADRANT_DEFECT;
}

// Gives the caller an error, if he wants one and there is memory for it.
quadrant_code give(quadrant_error** error, quadrant_code code, Error what) noexcept {
  if (error == nullptr) return code;
  try {
    auto made = std::make_unique<quadrant_error>();
    made->code = code;
    made->text = to_string(what);
    made->error = std::move(what);
    *error = made.release();
  } catch (...) {
    *error = nullptr;
  }
  return code;
}

quadrant_code give_text(quadrant_error** error, quadrant_code code, const char* text) noexcept {
  try {
    return give(error, code, {ErrorCode::io, text, {}});
  } catch (...) {
    return code;
  }
}

// No exception crosses: `body` is a call's work.
template <class Body>
quadrant_code guarded(quadrant_error** error, Body body) noexcept {
  if (error != nullptr) *error = nullptr;
  try {
    Expected<void> done = body();
    if (done) return QUADRANT_OK;
    const quadrant_code code = code_of(done.error().code);
    return give(error, code, std::move(done).error());
  } catch (const std::bad_alloc&) {
    return give_text(error, QUADRANT_IO, "not enough memory");
  } catch (const std::exception& exception) {
    return give_text(error, QUADRANT_DEFECT, exception.what());
  } catch (...) {
    return give_text(error, QUADRANT_DEFECT, "unknown exception");
  }
}

template <class T>
Expected<void> need(const T* argument, std::string_view name) {
  if (argument != nullptr) return {};
  return fail(ErrorCode::usage, fmt::format("the argument '{}' is NULL", name));
}

using Text = char[];  // NOLINT(*-avoid-c-arrays): C's

// What the caller frees with `quadrant_text_free`.
char* copied(std::string_view text) {
  auto made = std::make_unique<Text>(text.size() + 1);  // ends with 0
  std::ranges::copy(text, made.get());
  return made.release();
}

// What the caller had; frees it.
template <class T>
void take_back(T* object) noexcept {
  const std::unique_ptr<T> taken(object);
}

std::string or_empty(const char* text) { return text == nullptr ? std::string() : text; }

// As much as the caller's version of the struct has. No size of a struct cuts a field in two.
Expected<quadrant_options> read(const quadrant_options* given) {
  quadrant_options options{};
  if (given == nullptr) return options;
  if (given->size < sizeof(given->size) || given->size > sizeof(options) ||
      given->size % alignof(quadrant_options) != 0) {
    return fail(ErrorCode::usage,
                fmt::format("options.size is {}, and should be sizeof(quadrant_options), which is "
                            "{} in version {}",
                            given->size, sizeof(options), QUADRANT_VERSION_STRING));
  }
  std::memcpy(&options, given, given->size);
  return options;
}

const char* text_of(const quadrant_error* error, std::string Place::* part) {
  return error == nullptr ? "" : (error->error.place.*part).c_str();
}

}  // namespace

CallContext::CallContext(const quadrant_options& options)
    : options_(options),
      schemes_(options.schemes == nullptr ? SchemeTable() : options.schemes->table),
      executor_(options.threads) {
  context_.executor = &executor_;
  context_.sink = this;
  context_.schemes = &schemes_;
}

void CallContext::report(const Diagnostic& diagnostic) {
  if (options_.report == nullptr) return;
  const std::string place = to_string(diagnostic.place);
  const std::string text =
      place.empty() ? diagnostic.message : fmt::format("{}: {}", place, diagnostic.message);
  const bool is_warning = diagnostic.severity == Severity::warning;
  options_.report(options_.user, is_warning ? QUADRANT_WARNING : QUADRANT_NOTE, text.c_str());
}

}  // namespace quadrant::inline v0

using namespace quadrant;  // the functions of the header are in no namespace

const char* quadrant_version() { return QUADRANT_VERSION_STRING; }

quadrant_code quadrant_error_code(const quadrant_error* error) {
  return error == nullptr ? QUADRANT_OK : error->code;
}

const char* quadrant_error_text(const quadrant_error* error) {
  return error == nullptr ? "" : error->text.c_str();
}

const char* quadrant_error_message(const quadrant_error* error) {
  return error == nullptr ? "" : error->error.message.c_str();
}

const char* quadrant_error_file(const quadrant_error* error) {
  return text_of(error, &Place::file);
}

const char* quadrant_error_node(const quadrant_error* error) {
  return text_of(error, &Place::node);
}

const char* quadrant_error_tensor(const quadrant_error* error) {
  return text_of(error, &Place::tensor);
}

int64_t quadrant_error_offset(const quadrant_error* error) {
  if (error == nullptr || !error->error.place.offset) return -1;
  return static_cast<int64_t>(*error->error.place.offset);
}

void quadrant_error_free(quadrant_error* error) { take_back(error); }

void quadrant_text_free(char* text) { const std::unique_ptr<Text> taken(text); }

quadrant_code quadrant_schemes_new(quadrant_schemes** schemes, quadrant_error** error) {
  return guarded(error, [&]() -> Expected<void> {
    QUADRANT_CHECK(need(schemes, "schemes"));
    *schemes = nullptr;
    *schemes = std::make_unique<quadrant_schemes>().release();
    return {};
  });
}

quadrant_code quadrant_schemes_load(quadrant_schemes* schemes, const char* path,
                                    quadrant_error** error) {
  return guarded(error, [&]() -> Expected<void> {
    QUADRANT_CHECK(need(schemes, "schemes"));
    QUADRANT_CHECK(need(path, "path"));
    return load_plugin(path, schemes->table);
  });
}

void quadrant_schemes_free(quadrant_schemes* schemes) { take_back(schemes); }

quadrant_code quadrant_read(const char* path, const quadrant_options* options,
                            quadrant_model** model, quadrant_error** error) {
  return guarded(error, [&]() -> Expected<void> {
    QUADRANT_CHECK(need(model, "model"));
    *model = nullptr;
    QUADRANT_CHECK(need(path, "path"));
    QUADRANT_TRY(const quadrant_options given, read(options));
    const CallContext call(given);
    QUADRANT_TRY(Graph graph, read_model(path, call.context()));
    *model = std::make_unique<quadrant_model>(quadrant_model{std::move(graph), path}).release();
    return {};
  });
}

void quadrant_model_free(quadrant_model* model) { take_back(model); }

quadrant_code quadrant_preset(const char* name, char** recipe, quadrant_error** error) {
  return guarded(error, [&]() -> Expected<void> {
    QUADRANT_CHECK(need(recipe, "recipe"));
    *recipe = nullptr;
    QUADRANT_CHECK(need(name, "name"));
    QUADRANT_TRY(const Preset* const preset, find_preset(name));
    *recipe = copied(preset->text);
    return {};
  });
}

quadrant_code quadrant_run(const quadrant_model* model, const char* recipe,
                           const quadrant_options* options, quadrant_result** result,
                           quadrant_error** error) {
  return guarded(error, [&]() -> Expected<void> {
    QUADRANT_CHECK(need(result, "result"));
    *result = nullptr;
    QUADRANT_CHECK(need(model, "model"));
    QUADRANT_CHECK(need(recipe, "recipe"));
    QUADRANT_TRY(const quadrant_options given, read(options));
    auto call = std::make_unique<CallContext>(given);
    const RunContext& context = call->context();
    RunRequest request{.recipe = {.label = "recipe"},
                       .inputs = {.calibration = or_empty(given.calibration),
                                  .encodings = or_empty(given.encodings)},
                       .model = model->path};
    QUADRANT_TRY(request.recipe.recipe,
                 in_file(parse_recipe(recipe, context.all_schemes()), request.recipe.label));
    if (given.destination != nullptr) {
      QUADRANT_TRY(request.destination, destination_of(given.destination));
    }
    QUADRANT_TRY(RunResult done, run(std::move(request), model->graph, context));
    done.prepared.steps = {};  // which refer to samples
    *result = std::make_unique<quadrant_result>(
                  quadrant_result{std::move(call), std::move(done), model->path})
                  .release();
    return {};
  });
}

void quadrant_result_free(quadrant_result* result) { take_back(result); }

size_t quadrant_result_count(const quadrant_result* result) {
  return result == nullptr ? 0 : result->run.quantized.analysis.plan.values.size();
}

quadrant_code quadrant_plan(const quadrant_result* result, char** plan, quadrant_error** error) {
  return guarded(error, [&]() -> Expected<void> {
    QUADRANT_CHECK(need(plan, "plan"));
    *plan = nullptr;
    QUADRANT_CHECK(need(result, "result"));
    *plan = copied(print_plan(result->run.quantized.analysis.plan));
    return {};
  });
}

quadrant_code quadrant_explain(const quadrant_result* result, const char* name,
                               quadrant_format format, char** text, quadrant_error** error) {
  return guarded(error, [&]() -> Expected<void> {
    QUADRANT_CHECK(need(text, "text"));
    *text = nullptr;
    QUADRANT_CHECK(need(result, "result"));
    if (format != QUADRANT_TEXT && format != QUADRANT_JSON) {
      return fail(ErrorCode::usage, fmt::format("there is no format {}: QUADRANT_TEXT is 0, "
                                                "QUADRANT_JSON is 1",
                                                static_cast<int>(format)));
    }
    const PreparedRun& run = result->run.prepared;
    const Analysis& analysis = result->run.quantized.analysis;
    std::vector<Explanation> found;
    if (name == nullptr) {
      found = explain_values(run.graph, run.registry, analysis);
    } else {
      QUADRANT_TRY(const std::vector<Value> values, values_called(run.graph, name));
      for (const Value value : values) {
        found.push_back(explain(run.graph, run.registry, analysis, value));
      }
    }
    std::string made;
    if (format == QUADRANT_JSON) {
      made = print_json(found);
    } else {
      for (const Explanation& each : found) made += to_string(each);
    }
    *text = copied(made);
    return {};
  });
}

quadrant_code quadrant_write(const quadrant_result* result, const char* path,
                             quadrant_error** error) {
  return guarded(error, [&]() -> Expected<void> {
    QUADRANT_CHECK(need(result, "result"));
    QUADRANT_CHECK(need(path, "path"));
    const RunContext& context = result->call->context();
    QUADRANT_TRY(const Destination destination, destination_of(path));
    QUADRANT_TRY(
        const LoweredModel lowered,
        lower_model(result->run.quantized.graph, destination,
                    {.made_by = result->run.prepared.recipe.recipe, .model = result->model},
                    context));
    QUADRANT_TRY(const WrittenModel written, write_model(lowered.graph, path, {}, context));
    for (const std::string& remark : lowered.remarks) context.note(remark, {.file = path});
    for (const std::string& remark : written.remarks) context.note(remark, {.file = path});
    return {};
  });
}
