#include "recipe/typed_recipe.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

using namespace quadrant;

TEST_CASE("words of a shell") {
  CHECK(shell_word("models/a-1.onnx") == "models/a-1.onnx");
  CHECK(shell_word("two words") == "'two words'");
  CHECK(shell_word("it's") == R"('it'\''s')");
  CHECK(shell_word("$(rm)") == "'$(rm)'");
  CHECK(shell_word("") == "''");
}

TEST_CASE("a recipe as its options") {
  Recipe recipe;
  recipe.schemes.push_back({"mine", "weight_only", {}});
  CHECK(typed_options(recipe) == "--scheme weight-only");
  recipe.schemes[0].options = {{"bits", std::int64_t{4}},
                               {"block_size", std::int64_t{32}},
                               {"symmetry", std::string("asymmetric")}};
  recipe.model["optimize"] = std::vector<std::string>{"cle", "bc"};
  recipe.exclude = {"^fc1$", "b"};
  const std::string typed = typed_options(recipe);
  for (const char* part :
       {"--scheme weight-only ", " --bits 4", " --asymmetric", " --block-size 32",
        " --optimize cle,bc", " --exclude '^fc1$'", " --exclude b"}) {
    CHECK_MESSAGE(typed.find(part) != std::string::npos, typed);
  }
}

TEST_CASE("a call says what is written by its ending") {
  Recipe recipe;
  recipe.schemes.push_back({"static_affine", "static_affine", {}});
  CHECK(typed_call({"m.onnx", "b.onnx", "my samples"}, recipe) ==
        "quadrant quantize m.onnx -o b.onnx --scheme static-affine --calibration 'my samples'");
  CHECK(typed_call({"m.onnx", "b.tflite", "s"}, recipe) ==
        "quadrant convert m.onnx b.tflite --scheme static-affine --calibration s");
}
