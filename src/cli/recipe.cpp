// quadrant recipe NAME|FILE: a preset, or a file of one's own, as JSON; or the schema of recipes.
#include "quadrant/recipe/recipe.hpp"

#include <filesystem>
#include <system_error>

#include "cli/arguments.hpp"
#include "cli/command.hpp"
#include "quadrant/pipeline/model_file.hpp"

namespace quadrant::cli {
namespace {

class ShowRecipe final : public Command {
 public:
  ShowRecipe()
      : Command({.name = "recipe",
                 .about = "Print a preset, to start from, or check a recipe",
                 .reads_models = false}) {}

  void declare(CLI::App& command) override {
    add_value(command, "RECIPE", recipe_, "",
              "Name of a preset, or a file: it is read, and printed as this program "
              "understands it");
    command.add_flag("--schema", schema_, "Print the JSON Schema of recipes");
    declare_json(command, json_);
    command.footer(
        "Examples:\n"
        "  quadrant recipe int4-block32 > recipe.json\n"
        "  quadrant recipe recipe.json\n"
        "  quadrant recipe --schema > recipe.schema.json");
  }

  Expected<void> run(Console& console) override {
    if (recipe_.empty() == !schema_) {
      return fail(ErrorCode::usage, "recipe: either the name of a preset, a file, or --schema");
    }
    std::string text = print_recipe_schema(console.context().all_schemes());
    if (!schema_) {
      std::error_code ignored;  // reading says more
      const bool is_file = std::filesystem::exists(recipe_, ignored);
      QUADRANT_TRY(const NamedRecipe read, is_file || recipe_.ends_with(".json")
                                               ? read_recipe(recipe_, console.context())
                                               : recipe_of_preset(recipe_));
      text = print_recipe(read.recipe);
    }
    if (json_) {
      console.print_json(Json{{schema_ ? "schema" : "recipe", Json::parse(text)}});
    } else {
      console.print(text);
    }
    return {};
  }

 private:
  std::string recipe_;
  bool schema_ = false;
};

}  // namespace

std::unique_ptr<Command> make_recipe(const SchemeTable& /*schemes*/) {
  return std::make_unique<ShowRecipe>();
}

}  // namespace quadrant::cli
