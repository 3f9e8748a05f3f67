// The C API: a recipe, a byte 0, and a name to ask about. Codes, results and errors go together,
// and what was made is explained and written.
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

#include "quadrant/quadrant.h"
#include "require.hpp"
#include "temporary_folder.hpp"

namespace {

// The recipes of make_corpus.py have these names.
constexpr std::string_view model_text = R"(graph {}
%x: tensor<2x4xf32> = input()
%w: tensor<4x4xf32> = constant() [1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8]
%a: tensor<2x4xf32> = matmul(%x, %w) {name = "first"}
%wide: tensor<4x2xf32> = constant() [1, -2, 3, -4, 5, -6, 7, -8]
%c: tensor<2x2xf32> = matmul(%a, %wide) {name = "head"}
output(%c)
)";

struct Subject {
  Subject() {
    const std::string path = folder / "model.qd";
    std::ofstream(path) << model_text;
    options.size = sizeof(options);
    options.threads = 1;
    (void)quadrant_read(path.c_str(), &options, &model, nullptr);
  }
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;
  ~Subject() { quadrant_model_free(model); }

  quadrant::test::TemporaryFolder folder;
  quadrant_options options{};
  quadrant_model* model = nullptr;
};

// A call that failed says why; one that did not, nothing.
void settle(quadrant_code code, quadrant_error* error, bool has_result) {
  const auto details = [&] { return std::string(quadrant_error_text(error)); };
  fuzz::require((code == QUADRANT_OK) == has_result, "a code without its result", details);
  fuzz::require((code == QUADRANT_OK) == (error == nullptr), "a code without its error", details);
  fuzz::require(quadrant_error_code(error) == code, "an error of another code", details);
  fuzz::require(code != QUADRANT_DEFECT, "an exception", details);
  fuzz::require(error == nullptr || *quadrant_error_message(error) != '\0', "an empty message",
                details);
  quadrant_error_free(error);
}

void check(const std::string& recipe, const std::string& name) {
  static const Subject subject;
  quadrant_result* result = nullptr;
  quadrant_error* error = nullptr;
  const quadrant_code code =
      quadrant_run(subject.model, recipe.c_str(), &subject.options, &result, &error);
  settle(code, error, result != nullptr);
  if (result == nullptr) return;
  for (const char* const asked : {name.c_str(), static_cast<const char*>(nullptr)}) {
    char* text = nullptr;
    const quadrant_code explained = quadrant_explain(result, asked, QUADRANT_JSON, &text, &error);
    settle(explained, error, text != nullptr);
    quadrant_text_free(text);
  }
  const std::string out = subject.folder / "out.qd";
  const quadrant_code written = quadrant_write(result, out.c_str(), &error);
  settle(written, error, written == QUADRANT_OK);
  fuzz::require(written == QUADRANT_OK, "what was made cannot be written", [&] { return recipe; });
  quadrant_result_free(result);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = input.find('\0');
  const bool has_name = end != std::string_view::npos;
  check(std::string(input.substr(0, end)), std::string(has_name ? input.substr(end + 1) : "w"));
  return 0;
}
