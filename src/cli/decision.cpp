#include "cli/decision.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <utility>

#include "cli/model.hpp"

namespace quadrant::cli {
namespace {

// An option that may be given several times, with one value each: `--include A --include B MODEL`.
void add_patterns(CLI::App& command, const std::string& name, std::vector<std::string>& patterns,
                  const std::string& description) {
  command.add_option(name, patterns, description)->type_name("RE")->allow_extra_args(false);
}

}  // namespace

void declare_json(CLI::App& command, bool& json) {
  command.add_flag("--json", json, "Print one JSON document, for programs");
}

void declare(CLI::App& command, DecisionOptions& options) {
  command.add_option("MODEL", options.model, "Model to read (ONNX)")->required()->type_name("");
  command
      .add_option("-s,--scheme", options.scheme, "How to quantize; 'quadrant list' shows schemes")
      ->required()
      ->type_name("NAME");
  command.add_option("--bits", options.scheme_options.bits, "Bits of the stored integers")
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--granularity", options.scheme_options.granularity, "What shares one scale")
      ->check(CLI::IsMember({"channel"}).description(""))
      ->type_name("NAME")
      ->capture_default_str();
  command
      .add_option("--gain", options.gain,
                  "What is worth having: 'bytes' saved, or 'unit', consumed operands")
      ->check(CLI::IsMember({"unit", "bytes"}).description(""))
      ->type_name("NAME")
      ->capture_default_str();
  add_patterns(command, "--include", options.scope.include,
               "Quantize only what matches: nodes, weights and values whose name contains a match "
               "of the regular expression. Repeatable");
  add_patterns(command, "--exclude", options.scope.exclude,
               "Leave what matches in float. Repeatable; stronger than --include");
  declare_json(command, options.json);
}

QuantizeOptions Subject::engine_options() const {
  QuantizeOptions options;
  options.gains = gains.get();
  options.vetoes = vetoes;
  return options;
}

Expected<Subject> prepare(const DecisionOptions& options, Sink& sink) {
  QUADRANT_TRY(const SchemeEntry* scheme, find_scheme(options.scheme));
  QUADRANT_CHECK(check_patterns(options.scope));
  QUADRANT_TRY(Registry registry, scheme->make(options.scheme_options));
  auto gains = make_gain_model(options.gain);
  if (!gains) return fail(ErrorCode::usage, fmt::format("no gain model '{}'", options.gain));
  QUADRANT_TRY(Graph graph, read_model(options.model, sink));
  QUADRANT_TRY(Vetoes vetoes, find_vetoes(graph, registry, options.scope));
  return Subject{std::move(graph), std::move(registry), std::move(gains), std::move(vetoes)};
}

}  // namespace quadrant::cli
