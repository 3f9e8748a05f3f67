// A tiny graph through the scheme, checked by numbers that were computed by hand. Any test library
// will do; this is a plain program.
#include "my_scheme.hpp"

#include <cstdint>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/ir/text.hpp"

namespace {

struct Checks {
  int passed = 0;
  int failed = 0;

  void operator()(bool holds, std::string_view what) {
    ++(holds ? passed : failed);
    if (!holds) std::cerr << "FAILED: " << what << '\n';
  }
};

quadrant::Graph transpose_and_matmul() {
  return *quadrant::parse_graph(R"(graph {}
%x: tensor<?x2xf32> = input()
%w: tensor<2x2xf32> = constant() [1.5, -3, 0.25, 2]
%t: tensor<2x2xf32> = transpose(%w) {perm = [1, 0]}
%y: tensor<?x2xf32> = matmul(%x, %t)
output(%y)
)");
}

// The contents of the constant that is called `name` by now.
template <class T>
std::vector<T> contents(const quadrant::Graph& graph, std::string_view name) {
  const auto bytes = graph.constant(graph.find_value(name).node)->read();
  const auto elements = bytes->as<T>();
  return {elements.begin(), elements.end()};
}

float scale(const quadrant::Graph& graph, std::string_view name) {
  return graph.type(graph.find_value(name)).uniform()->scales.read()->as<float>()[0];
}

// The largest magnitude is 3. Eight bits: 3 / 127 = 0.0236 lies between 2^-6 and 2^-5, so the scale
// is 2^-5 and codes are 32 times the weights: every weight here comes out exactly.
void test_eight_bits(Checks& check) {
  const auto result = my::quantize_power_of_two(transpose_and_matmul());
  if (!result) {
    check(false, quadrant::to_string(result.error()));
    return;
  }

  // The plan: the product asked for `t`, which asked for `w`. Four floats take 16 bytes, four codes
  // and a scale 8.
  const quadrant::Plan& plan = result->analysis.plan;
  check(plan.schemes.size() == 1 && plan.schemes[0].name == "power_of_two", "the scheme's name");
  check(plan.schemes[0].options == "bits=8", "its options");
  check(plan.objective == quadrant::Gain{8}, "bytes saved");
  check(plan.values.size() == 2, "two values are quantized");
  for (const quadrant::PlannedValue& value : plan.values) {
    check(value.value == "t" || value.value == "w", "which are t and w");
    check(value.constraint == "bits=8", "each with eight bits");
  }

  // The graph: integers up to the transpose, floats behind it.
  const quadrant::Graph& graph = result->graph;
  check(contents<std::int8_t>(graph, "w") == std::vector<std::int8_t>{48, -96, 8, 64}, "codes");
  check(scale(graph, "w") == 0.03125F, "scale 2^-5");
  check(scale(graph, "t_quantized") == 0.03125F, "the transpose passes the scale on");
  const quadrant::NodeRef dequantize = graph.ref(graph.find_value("t").node);
  check(dequantize.kind() == "dequantize", "the product reads floats");
  check(dequantize.operand(0) == graph.find_value("t_quantized"), "made of the transposed codes");
}

// Sixteen bits: 3 / 32767 lies between 2^-14 and 2^-13.
void test_sixteen_bits(Checks& check) {
  const auto result = my::quantize_power_of_two(transpose_and_matmul(), 16);
  if (!result) {
    check(false, quadrant::to_string(result.error()));
    return;
  }
  check(contents<std::int16_t>(result->graph, "w") ==
            std::vector<std::int16_t>{12288, -24576, 2048, 16384},
        "codes of 16 bits");
  check(result->analysis.plan.objective == quadrant::Gain{4}, "bytes saved with 16 bits");
}

void test_constraint_reads_back(Checks& check) {
  check(my::TensorWise::parse(my::TensorWise{12}.print()) == my::TensorWise{12}, "bits=12");
  check(!my::TensorWise::parse("bits=17") && !my::TensorWise::parse("axis=1"), "others do not");
}

void test_options_are_checked(Checks& check) {
  const auto result = my::quantize_power_of_two(transpose_and_matmul(), 1);
  check(!result && result.error().code == quadrant::ErrorCode::usage, "one bit is not enough");
}

}  // namespace

int main() {
  Checks check;
  test_eight_bits(check);
  test_sixteen_bits(check);
  test_constraint_reads_back(check);
  test_options_are_checked(check);
  std::cout << check.passed << " passed, " << check.failed << " failed\n";
  return check.failed == 0 ? 0 : 1;
}
