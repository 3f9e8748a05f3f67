// Plans as JSON: what is read is printed and reads back the same, and a run can be told to follow
// it.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "quadrant/engine/explain/explain.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/text.hpp"
#include "quadrant/methods/weight_only.hpp"
#include "quadrant/recipe/documents.hpp"
#include "require.hpp"

namespace {

using namespace quadrant;

// Has every kind of operation that the scheme rewrites; make_corpus.py has plans for its values.
constexpr std::string_view graph_text = R"(
%x: tensor<2x3xf32> = input()
%i: tensor<1x2x4x4xf32> = input()
%w: tensor<3x4xf32> = constant() [1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12]
%v: tensor<4x3xf32> = constant() [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
%k: tensor<2x2x1x1xf32> = constant() [0.5, 1, 2, 4]
%t: tensor<4x3xf32> = transpose(%w) {perm = [1, 0]}
%d: tensor<4x3xf32> = identity(%v)
%a: tensor<2x4xf32> = matmul(%x, %w) {name = "a"}
%b: tensor<2x3xf32> = matmul(%a, %t) {name = "b"}
%c: tensor<2x4xf32> = gemm(%b, %d, _) {name = "c", transB = 1}
%e: tensor<1x2x4x4xf32> = conv(%i, %k, _) {name = "e"}
output(%c)
output(%e)
)";

struct Fixture {
  Graph graph = parse_graph(graph_text).value();
  Registry registry = weight_only_registry().value();
  Plan plan = analyze(graph, registry).value().plan;
};

void follow(const Fixture& fixture, const Plan& plan) {
  const auto result = quantize(fixture.graph, fixture.registry, {.plan = &plan});
  if (!result) return;
  fuzz::require_value(verify(result->graph), "the quantized graph is invalid",
                      [&] { return print_plan(plan); });
  fuzz::require(result->analysis.plan.schemes == fixture.plan.schemes, "another scheme ran",
                [&] { return to_string(diff(plan, result->analysis.plan)); });
}

void check(std::string_view text) {
  static const Fixture fixture;
  const auto plan = parse_plan(text);
  if (!plan) return;
  const std::string printed = print_plan(*plan);
  const auto text_of_it = [&] { return printed; };
  const auto again = parse_plan(printed);
  fuzz::require_value(again, "what was printed cannot be read", text_of_it);
  fuzz::require(*again == *plan, "a plan changed on its way through JSON", text_of_it);
  fuzz::require(print_plan(*again) == printed, "printed twice, it differs", text_of_it);
  fuzz::require(diff(*plan, *again).empty(), "a plan differs from itself", text_of_it);

  follow(fixture, *plan);
  // A plan of another scheme or options is refused at once; what comes after that is of interest
  // too.
  Plan fitting = *plan;
  fitting.schemes = fixture.plan.schemes;
  fitting.gain_model = fixture.plan.gain_model;
  follow(fixture, fitting);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check({reinterpret_cast<const char*>(data), size});
  return 0;
}
