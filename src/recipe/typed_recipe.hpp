// A recipe of one scheme as people type it.
#pragma once

#include <string>
#include <string_view>

#include "quadrant/recipe/recipe.hpp"

namespace quadrant::inline v0 {

/// `--scheme static-affine --weights tensor --optimize cle,bc --exclude '^fc1$'`: options of the
/// command, for a shell. Of the recipe's first scheme; without rules, budgets and gains.
[[nodiscard]] std::string typed_options(const Recipe& recipe);

/// What a call of the command reads and writes.
struct TypedFiles {
  std::string model{};
  std::string output{};
  std::string calibration{};
};
/// `quadrant quantize model.onnx -o better.onnx ...`; `convert` where the output is no ONNX.
[[nodiscard]] std::string typed_call(const TypedFiles& files, const Recipe& recipe);

/// As one word of a shell: in quotes where it has to be.
[[nodiscard]] std::string shell_word(std::string_view text);

}  // namespace quadrant::inline v0
