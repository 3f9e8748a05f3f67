// The C API as a C program has it: codes, errors with their places, NULL, and what outlives what.
#include <doctest/doctest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <string_view>

#include "quadrant/quadrant.h"
#include "temporary_folder.hpp"

namespace {

using quadrant::test::TemporaryFolder;

constexpr std::string_view two_products = R"(graph {}
%x: tensor<2x4xf32> = input()
%w: tensor<4x4xf32> = constant() [1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8]
%v: tensor<4x2xf32> = constant() [1, -2, 3, -4, 5, -6, 7, -8]
%h: tensor<2x4xf32> = matmul(%x, %w)
%y: tensor<2x2xf32> = matmul(%h, %v)
output(%y)
)";

struct Files {
  Files() { std::ofstream(model) << two_products; }
  TemporaryFolder folder;
  std::string model = folder / "model.qd";
  std::string out = folder / "out.onnx";
};

struct Heard {
  std::string text;
  static void add(void* user, quadrant_severity severity, const char* text) {
    static_cast<Heard*>(user)->text += (severity == QUADRANT_WARNING ? "warning " : "note ");
    static_cast<Heard*>(user)->text += text;
  }
};

quadrant_options options_of(Heard& heard) {
  quadrant_options options{};
  options.size = sizeof(options);
  options.threads = 1;
  options.report = Heard::add;
  options.user = &heard;
  return options;
}

std::string taken(char* text) {
  std::string copy(text == nullptr ? "" : text);
  quadrant_text_free(text);
  return copy;
}

std::string preset(const char* name) {
  char* text = nullptr;
  CHECK(quadrant_preset(name, &text, nullptr) == QUADRANT_OK);
  return taken(text);
}

// The code and the message of a call that fails.
template <class Call>
std::string refused(quadrant_code code, Call call) {
  quadrant_error* error = nullptr;
  CHECK(call(&error) == code);
  REQUIRE(error != nullptr);
  CHECK(quadrant_error_code(error) == code);
  std::string message = quadrant_error_message(error);
  CHECK_FALSE(message.empty());
  quadrant_error_free(error);
  CHECK(call(nullptr) == code);  // nobody wants the error
  return message;
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

TEST_CASE("a model is read, quantized, explained and written") {
  const Files files;
  Heard heard;
  quadrant_options options = options_of(heard);
  quadrant_error* error = nullptr;
  quadrant_model* model = nullptr;
  REQUIRE(quadrant_read(files.model.c_str(), &options, &model, &error) == QUADRANT_OK);
  CHECK(error == nullptr);
  quadrant_result* result = nullptr;
  REQUIRE(quadrant_run(model, preset("int8").c_str(), &options, &result, &error) == QUADRANT_OK);
  quadrant_model_free(model);  // the result lives without it
  CHECK(quadrant_result_count(result) == 2);

  char* text = nullptr;
  CHECK(quadrant_explain(result, "w", QUADRANT_TEXT, &text, &error) == QUADRANT_OK);
  CHECK(has(taken(text), "ToQuantize"));
  CHECK(quadrant_explain(result, nullptr, QUADRANT_JSON, &text, &error) == QUADRANT_OK);
  const std::string all = taken(text);
  CHECK(all.starts_with('['));
  CHECK(has(all, "\"h\""));
  CHECK(quadrant_plan(result, &text, &error) == QUADRANT_OK);
  CHECK(has(taken(text), "\"quadrant.plan\""));

  CHECK(quadrant_write(result, files.out.c_str(), &error) == QUADRANT_OK);
  CHECK(std::filesystem::file_size(files.out) > 100);
  quadrant_model* again = nullptr;
  CHECK(quadrant_read(files.out.c_str(), nullptr, &again, &error) == QUADRANT_OK);
  quadrant_model_free(again);

  CHECK(has(refused(QUADRANT_USAGE,
                    [&](quadrant_error** e) {
                      return quadrant_explain(result, "ww", QUADRANT_TEXT, &text, e);
                    }),
            "'w'"));
  CHECK(text == nullptr);
  refused(QUADRANT_USAGE,
          [&](quadrant_error** e) { return quadrant_write(result, "out.unknown", e); });
  const std::string nowhere = files.folder / "none/out.onnx";
  refused(QUADRANT_IO,
          [&](quadrant_error** e) { return quadrant_write(result, nowhere.c_str(), e); });
  quadrant_result_free(result);
}

TEST_CASE("what is to be said is said to the caller's function") {
  const Files files;
  Heard heard;
  const quadrant_options options = options_of(heard);
  quadrant_model* model = nullptr;
  REQUIRE(quadrant_read(files.model.c_str(), &options, &model, nullptr) == QUADRANT_OK);
  quadrant_result* result = nullptr;
  const char* const of_nothing = R"({"format": "quadrant.recipe", "version": 1,
    "schemes": {"int8": {"scheme": "weight_only"}}, "exclude": ["^w$", "^v$"]})";
  REQUIRE(quadrant_run(model, of_nothing, &options, &result, nullptr) == QUADRANT_OK);
  CHECK(has(heard.text, "note "));
  CHECK(has(heard.text, "nothing is quantized"));
  quadrant_result_free(result);
  quadrant_model_free(model);
}

TEST_CASE("errors say where") {
  const Files files;
  const std::string broken = files.folder / "broken.qd";
  std::ofstream(broken) << "graph {}\n%x: nonsense\n";
  quadrant_model* model = nullptr;
  quadrant_error* error = nullptr;
  CHECK(quadrant_read(broken.c_str(), nullptr, &model, &error) == QUADRANT_BAD_INPUT);
  CHECK(model == nullptr);
  CHECK(quadrant_error_file(error) == broken);
  CHECK(has(quadrant_error_text(error), broken));
  CHECK(has(quadrant_error_message(error), "line 2"));
  quadrant_error_free(error);
  CHECK(quadrant_read((broken + "x").c_str(), nullptr, &model, &error) == QUADRANT_IO);
  quadrant_error_free(error);

  REQUIRE(quadrant_read(files.model.c_str(), nullptr, &model, &error) == QUADRANT_OK);
  quadrant_result* result = nullptr;
  for (const char* const recipe :
       {"", "{", "[]", "{\"format\": \"quadrant.recipe\", \"version\": 1, \"shemes\": {}}"}) {
    CAPTURE(recipe);
    refused(QUADRANT_BAD_INPUT,
            [&](quadrant_error** e) { return quadrant_run(model, recipe, nullptr, &result, e); });
    CHECK(result == nullptr);
  }
  refused(QUADRANT_USAGE, [&](quadrant_error** e) {  // it has no samples
    return quadrant_run(model, preset("int8-static").c_str(), nullptr, &result, e);
  });
  quadrant_model_free(model);
}

TEST_CASE("NULL is an error, or nothing") {
  const auto is_null = [](auto call, std::string_view name) {
    CAPTURE(name);
    CHECK(has(refused(QUADRANT_USAGE, call), "'" + std::string(name) + "' is NULL"));
  };
  quadrant_model* model = nullptr;
  quadrant_result* result = nullptr;
  char* text = nullptr;
  using E = quadrant_error**;
  is_null([&](E e) { return quadrant_read(nullptr, nullptr, &model, e); }, "path");
  is_null([&](E e) { return quadrant_read("m.onnx", nullptr, nullptr, e); }, "model");
  is_null([&](E e) { return quadrant_preset(nullptr, &text, e); }, "name");
  is_null([&](E e) { return quadrant_preset("int8", nullptr, e); }, "recipe");
  is_null([&](E e) { return quadrant_run(nullptr, "{}", nullptr, &result, e); }, "model");
  is_null([&](E e) { return quadrant_run(model, "{}", nullptr, nullptr, e); }, "result");
  is_null([&](E e) { return quadrant_plan(nullptr, &text, e); }, "result");
  is_null([&](E e) { return quadrant_plan(result, nullptr, e); }, "plan");
  is_null([&](E e) { return quadrant_explain(result, "x", QUADRANT_TEXT, &text, e); }, "result");
  is_null([&](E e) { return quadrant_explain(result, "x", QUADRANT_TEXT, nullptr, e); }, "text");
  is_null([&](E e) { return quadrant_write(nullptr, "m.onnx", e); }, "result");
  is_null([&](E e) { return quadrant_schemes_new(nullptr, e); }, "schemes");
  is_null([&](E e) { return quadrant_schemes_load(nullptr, "p.so", e); }, "schemes");

  CHECK(quadrant_error_code(nullptr) == QUADRANT_OK);
  CHECK(std::string_view(quadrant_error_text(nullptr)).empty());
  CHECK(std::string_view(quadrant_error_file(nullptr)).empty());
  CHECK(quadrant_error_offset(nullptr) == -1);
  CHECK(quadrant_result_count(nullptr) == 0);
  quadrant_error_free(nullptr);
  quadrant_text_free(nullptr);
  quadrant_schemes_free(nullptr);
  quadrant_model_free(nullptr);
  quadrant_result_free(nullptr);
}

TEST_CASE("options of another size are refused or read as far as they go") {
  const Files files;
  quadrant_model* model = nullptr;
  quadrant_options options{};
  const auto call = [&](quadrant_error** e) {
    return quadrant_read(files.model.c_str(), &options, &model, e);
  };
  CHECK(has(refused(QUADRANT_USAGE, call), "sizeof(quadrant_options)"));
  options.size = offsetof(quadrant_options, report) + 4;  // half a function
  CHECK(has(refused(QUADRANT_USAGE, call), "sizeof(quadrant_options)"));
  options.size = sizeof(options) + 8;
  refused(QUADRANT_USAGE, call);
  options.size = offsetof(quadrant_options, schemes);  // of an earlier version
  CHECK(call(nullptr) == QUADRANT_OK);
  quadrant_model_free(model);
}

TEST_CASE("schemes: a table of their own; plug-ins need the shared library") {
  quadrant_schemes* schemes = nullptr;
  REQUIRE(quadrant_schemes_new(&schemes, nullptr) == QUADRANT_OK);
  CHECK(has(
      refused(QUADRANT_USAGE,
              [&](quadrant_error** e) { return quadrant_schemes_load(schemes, "libnone.so", e); }),
      "shared libquadrant"));
  const Files files;
  quadrant_model* model = nullptr;
  REQUIRE(quadrant_read(files.model.c_str(), nullptr, &model, nullptr) == QUADRANT_OK);
  quadrant_options options{};
  options.size = sizeof(options);
  options.schemes = schemes;
  quadrant_result* result = nullptr;
  CHECK(quadrant_run(model, preset("int8").c_str(), &options, &result, nullptr) == QUADRANT_OK);
  quadrant_schemes_free(schemes);  // the result has what it needs
  char* text = nullptr;
  CHECK(quadrant_explain(result, nullptr, QUADRANT_TEXT, &text, nullptr) == QUADRANT_OK);
  CHECK_FALSE(taken(text).empty());
  quadrant_result_free(result);
  quadrant_model_free(model);
}
