// Recipes as JSON: what is read is printed and reads back the same, its rules apply to a graph or
// are refused, and what they say holds in the plan.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "quadrant/engine/quantize.hpp"
#include "quadrant/ir/text.hpp"
#include "quadrant/recipe/recipe.hpp"
#include "require.hpp"

namespace {

using namespace quadrant;

// make_corpus.py has recipes for these names.
constexpr std::string_view graph_text = R"(
%x: tensor<2x8xf32> = input()
%i: tensor<2xi64> = input()
%w: tensor<8x8xf32> = constant() <...>
%table: tensor<16x8xf16> = constant() <...>
%a: tensor<2x8xf32> = matmul(%x, %w) {name = "first"}
%wide: tensor<16x8xf32> = cast(%table) {name = "wider", to = 1}
%e: tensor<2x8xf32> = gather(%wide, %i) {axis = 0, name = "lookup"}
%t: tensor<8x16xf32> = transpose(%wide) {name = "turned", perm = [1, 0]}
%c: tensor<2x16xf32> = matmul(%a, %t) {name = "head"}
output(%c)
output(%e)
)";

// A scheme that a veto names makes nothing of the value.
void check_plan(const Graph& graph, const RuleDecisions& rules, const std::string& printed) {
  const auto registry = make_registry(rules.schemes);
  if (!registry) return;  // two of a name, say
  QuantizeOptions options;
  options.scheme_vetoes = rules.vetoes;
  const auto analysis = analyze(graph, *registry, options);
  fuzz::require_value(analysis, "the rules are not for this run", [&] { return printed; });
  for (const PlannedValue& planned : analysis->plan.values) {
    const auto vetoes = rules.vetoes.find(planned.scheme);
    if (vetoes == rules.vetoes.end()) continue;
    fuzz::require(!vetoes->second.contains(graph.find_value(planned.value).node),
                  "a rule does not hold", [&] { return printed; });
  }
}

void check(std::string_view text) {
  static const Graph graph = parse_graph(graph_text).value();
  const auto recipe = parse_recipe(text);
  if (!recipe) return;
  const std::string printed = print_recipe(*recipe);
  const auto text_of_it = [&] { return printed; };
  const auto again = parse_recipe(printed);
  fuzz::require_value(again, "what was printed cannot be read", text_of_it);
  fuzz::require(print_recipe(*again) == printed, "printed twice, it differs", text_of_it);
  const auto rules = apply_rules(graph, *recipe, "recipe");
  if (rules) check_plan(graph, *rules, printed);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check({reinterpret_cast<const char*>(data), size});
  return 0;
}
