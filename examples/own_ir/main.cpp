// A compiler's own IR runs the engine without conversion.
//
//   ir.hpp, ir.cpp, interpreter.cpp   the compiler, which knows nothing of Quadrant
//   adaptor.hpp, adaptor.cpp          how Quadrant sees its IR and edits it
//   methods.hpp, methods.cpp          methods for its own operations
//   runtime.hpp, runtime.cpp          its interpreter as a runtime, for all that runs models
//
//   build/release/bin/example_own_ir
#include <algorithm>
#include <cmath>
#include <iostream>

#include "adaptor.hpp"
#include "autoencoder.hpp"
#include "ir.hpp"
#include "methods.hpp"
#include "quadrant/calibration/compare.hpp"
#include "quadrant/calibration/data_set.hpp"
#include "quadrant/engine/explain/explain.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/ops.hpp"
#include "runtime.hpp"

namespace {

using namespace quadrant;

void print(const Plan& plan) {
  std::cout << "\nPlan, " << plan.objective.amount() << " bytes less:\n";
  for (const PlannedValue& value : plan.values) {
    std::cout << "  " << value.value << ": " << value.constraint << '\n';
  }
}

// The largest difference, as a part of the largest magnitude.
float difference(const std::vector<float>& a, const std::vector<float>& b) {
  float largest = 0;
  float difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(a[i]));
    difference = std::max(difference, std::abs(a[i] - b[i]));
  }
  return difference / largest;
}

// What the decoder makes of what the encoder makes.
std::vector<float> there_and_back(const kiln::Module& module, const std::vector<float>& image) {
  return kiln::run(module, 1, kiln::run(module, 0, image));
}

// What the library's comparison says of the two programs, which their own interpreter runs.
Expected<void> print_agreement(kiln::Module& quantized) {
  kiln::Module real;
  kiln::build_autoencoder(real);
  Graph before = kiln::Adaptor(real).graph();
  Graph after = kiln::Adaptor(quantized).graph();
  kiln::Runtime runtime;
  runtime.add(before, real);
  runtime.add(after, quantized);
  const auto samples = random_data_set(before, 8, /*seed=*/1);
  QUADRANT_TRY(const Comparison found, compare(before, after, runtime, *samples));
  for (const ValueAgreement& output : found.outputs) {
    std::cout << '\n' << output.name << ": " << output.agreement.sqnr_db() << " dB";
  }
  std::cout << '\n';
  return {};
}

Expected<void> run() {
  kiln::Module module;
  kiln::build_autoencoder(module);
  const std::vector<float> image = kiln::noise(8UL * 8 * 3, 4);
  const std::vector<float> before = there_and_back(module, image);
  std::cout << "Before:\n" << to_string(module);

  kiln::Adaptor adaptor(module);
  const GraphView& graph = adaptor.view();
  QUADRANT_CHECK(verify(graph));  // of an adaptor that is new, the first thing to ask
  QUADRANT_TRY(const Registry registry, kiln::weight_only());

  // Phases 1 to 3 read. Their answers name values, and refer to operations by id.
  QUADRANT_TRY(const Analysis analysis, analyze(graph, registry));
  print(analysis.plan);
  kiln::Op* shared = module.first();
  while (shared->result.name != "shared") shared = shared->next.get();
  std::cout << '\n' << to_string(explain(graph, registry, analysis, adaptor.id(shared)));

  // What the IR cannot hold is refused, and the IR stays as it was.
  const auto refused = adaptor.emit({.kind = std::string(ops::StorageCast::kind)});
  if (refused) return fail(ErrorCode::invalid_model, "an operation that Kiln does not have");
  std::cout << "\nRefused: " << to_string(refused.error()) << '\n';

  // All four phases, in place, as planned.
  QUADRANT_CHECK(quantize(adaptor, registry, {.plan = &analysis.plan}));
  QUADRANT_CHECK(verify(graph));
  if (!kiln::fault_of(module).empty()) {
    return fail(ErrorCode::invalid_model, kiln::fault_of(module));
  }
  std::cout << "\nAfter:\n" << to_string(module);

  QUADRANT_CHECK(print_agreement(module));
  const float change = difference(before, there_and_back(module, image));
  std::cout << "\nThe output changes by " << 100 * change << " %\n";
  if (change > 0.02F) return fail(ErrorCode::invalid_model, "that is too much");
  return {};
}

}  // namespace

int main() {
  const auto done = run();
  if (!done) std::cerr << to_string(done.error()) << '\n';
  return done ? 0 : 1;
}
