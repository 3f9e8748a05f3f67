#include "cli/decision.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <utility>
#include <vector>

#include "cli/model.hpp"

namespace quadrant::cli {
namespace {

// An option that may be given several times, with one value each: `--include A --include B MODEL`.
void add_patterns(CLI::App& command, const std::string& name, std::vector<std::string>& patterns,
                  const std::string& description) {
  command.add_option(name, patterns, description)->type_name("RE")->allow_extra_args(false);
}

// Of --symmetric, --signed-scale and --asymmetric, at most one.
void add_symmetry(CLI::App& command, std::string& symmetry) {
  const auto add = [&](const std::string& name, const std::string& description) {
    return command.add_flag_callback(
        "--" + name, [&symmetry, name] { symmetry = name; }, description);
  };
  CLI::Option* plain =
      add("symmetric", "Codes on both sides of zero, which is code 0 (the default)");
  CLI::Option* either = add("signed-scale",
                            "The same with scales of either sign, so that the largest weight of a "
                            "group gets the longer side");
  CLI::Option* shifted =
      add("asymmetric", "A zero point for each scale: the codes span the weights");
  plain->excludes(either)->excludes(shifted);
  either->excludes(shifted);
}

// An option that is one of several words.
CLI::Option* add_choice(CLI::App& command, const std::string& name, std::string& choice,
                        const std::vector<std::string>& words, const std::string& description) {
  return command.add_option(name, choice, description)
      ->check(CLI::IsMember(words).description(""))
      ->type_name(fmt::format("{}", fmt::join(words, "|")));
}

void declare(CLI::App& command, SchemeOptions& options) {
  command.add_option("--bits", options.bits, "Bits of the stored integers: 8 or 4")
      ->type_name("N")
      ->capture_default_str();
  add_symmetry(command, options.symmetry);
  add_choice(command, "--granularity", options.granularity, {"tensor", "channel", "block"},
             "What shares one scale (default: channel)");
  command
      .add_option("--block-size", options.block_size,
                  "Weights in a block, along the axis that is summed; implies --granularity block "
                  "(default: 32)")
      ->check(CLI::Range(std::int64_t{2}, std::int64_t{1} << 40U).description(""))
      ->type_name("N");
  add_choice(command, "--clip", options.clip, {"absmax", "minmax", "mse"},
             "How scales are chosen: from the largest magnitude (the default), from smallest and "
             "largest (the default where asymmetric), or for the smallest squared error");
  add_choice(command, "--scales", options.scales, {"float32", "float16"},
             "How scales are stored; codes are chosen for the rounded ones")
      ->capture_default_str();
  add_choice(command, "--form", options.form, {"front", "behind", "fewest"},
             "A dequantize in front of the operation, or a multiplication by the scale behind it "
             "where that is exact; or whichever multiplies less")
      ->capture_default_str();
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
  declare(command, options.scheme_options);
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
