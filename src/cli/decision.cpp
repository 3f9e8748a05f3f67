#include "cli/decision.hpp"

#include <CLI/CLI.hpp>
#include <utility>
#include <vector>

#include "cli/choices.hpp"
#include "cli/model.hpp"
#include "cli/thread_executor.hpp"

namespace quadrant::cli {
namespace {

// An option that may be given several times, with one value each: `--include A --include B MODEL`.
void add_patterns(CLI::App& command, const std::string& name, std::vector<std::string>& patterns,
                  const std::string& description) {
  command.add_option(name, patterns, description)->type_name("RE")->allow_extra_args(false);
}

}  // namespace

void declare_non_finite(CLI::App& command, std::string& choice) {
  add_choice(command, "--non-finite", choice, {"refuse", "leave"},
             "Weights with NaN or infinity: 'refuse' the model, or 'leave' them in float")
      ->capture_default_str();
}

NonFinitePolicy non_finite_policy(std::string_view choice) {
  return choice == "leave" ? NonFinitePolicy::leave_float : NonFinitePolicy::refuse;
}

void declare_json(CLI::App& command, bool& json) {
  command.add_flag("--json", json, "Print one JSON document, for programs");
}

void declare(CLI::App& command, DecisionOptions& options) {
  command.add_option("MODEL", options.model, "Model to read (ONNX)")->required()->type_name("");
  command
      .add_option("-s,--scheme", options.scheme, "How to quantize; 'quadrant list' shows schemes")
      ->required()
      ->type_name("NAME");
  add_choice(command, "--gain", options.gain, {"bytes", "operations", "unit"},
             "What is worth having: 'bytes' saved, 'operations' on integers instead of floats, or "
             "'unit', consumed operands (default: what suits the scheme)");
  add_patterns(command, "--include", options.scope.include,
               "Quantize only what matches: nodes, weights and values whose name contains a match "
               "of the regular expression. Repeatable");
  add_patterns(command, "--exclude", options.scope.exclude,
               "Leave what matches in float. Repeatable; stronger than --include");
  declare_json(command, options.json);
  options.schemes.declare(command);
}

Expected<Analysis> Subject::decide() {
  const QuantizeOptions options = engine_options();
  QUADRANT_CHECK(run_before(steps, graph, registry, options));
  return analyze(graph, registry, options);
}

QuantizeOptions Subject::engine_options() const {
  QuantizeOptions options;
  options.gains = gains.get();
  options.vetoes = vetoes;
  return options;
}

Expected<Subject> prepare(const DecisionOptions& options, Console& console) {
  QUADRANT_TRY(const SchemeCommand* const scheme, options.schemes.choose(options.scheme));
  QUADRANT_CHECK(check_patterns(options.scope));
  auto gains = make_gain_model(options.gain.empty() ? scheme->gain() : options.gain);
  QUADRANT_TRY(Graph graph, read_model(options.model, console));
  ThreadExecutor executor(0);
  SchemeSubject subject{options.model, std::move(graph), &executor, &console};
  QUADRANT_TRY(Registry registry, scheme->make(subject));
  QUADRANT_TRY(Vetoes vetoes, find_vetoes(subject.graph, registry, options.scope));
  Subject made{std::move(subject.graph), std::move(registry), std::move(gains), std::move(vetoes),
               std::move(subject.steps)};
  return made;
}

}  // namespace quadrant::cli
