// The base of the subcommands of `quadrant`.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "cli/console.hpp"
#include "cli/exit_code.hpp"
#include "quadrant/support/error.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's
class App;
}

namespace quadrant::cli {

/// A subcommand: declares its options once, is run when it is the one that was called.
class Command {
 public:
  Command() = default;
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  virtual ~Command() = default;

  /// Adds itself to `app`; the options refer to this object from then on.
  virtual CLI::App* declare(CLI::App& app) = 0;
  /// Whether --json was given.
  [[nodiscard]] virtual bool wants_json() const noexcept = 0;
  /// Whether it reads models: those that do have --follow-links.
  [[nodiscard]] virtual bool reads_models() const noexcept { return true; }
  /// Whether it may run them: those that do have --run-memory.
  [[nodiscard]] virtual bool runs_models() const noexcept { return false; }
  /// Whether all ranks run it, where there are some, and share its work: the others are run by the
  /// first alone.
  [[nodiscard]] virtual bool shares_work() const noexcept { return false; }
  /// The argument whose files --output may name, which are then replaced; empty: none. Where that
  /// is `MODEL`, the command writes ONNX.
  [[nodiscard]] virtual std::string_view replaceable() const noexcept { return {}; }
  virtual Expected<void> run(Console& console) = 0;
  /// The exit code of a run without error.
  [[nodiscard]] virtual ExitCode outcome() const noexcept { return ExitCode::done; }
};

/// `schemes` outlive the command.
[[nodiscard]] std::unique_ptr<Command> make_inspect();
[[nodiscard]] std::unique_ptr<Command> make_list();
[[nodiscard]] std::unique_ptr<Command> make_plan(const SchemeTable& schemes);
[[nodiscard]] std::unique_ptr<Command> make_explain(const SchemeTable& schemes);
[[nodiscard]] std::unique_ptr<Command> make_quantize(const SchemeTable& schemes);
[[nodiscard]] std::unique_ptr<Command> make_optimize();
[[nodiscard]] std::unique_ptr<Command> make_diff();
[[nodiscard]] std::unique_ptr<Command> make_run();
[[nodiscard]] std::unique_ptr<Command> make_calibrate();
[[nodiscard]] std::unique_ptr<Command> make_sensitivity(const SchemeTable& schemes);
[[nodiscard]] std::unique_ptr<Command> make_compare();
[[nodiscard]] std::unique_ptr<Command> make_diagnose();
[[nodiscard]] std::unique_ptr<Command> make_placement();
[[nodiscard]] std::unique_ptr<Command> make_encodings();
[[nodiscard]] std::unique_ptr<Command> make_transform();
[[nodiscard]] std::unique_ptr<Command> make_recipe();
[[nodiscard]] std::unique_ptr<Command> make_pareto(const SchemeTable& schemes);
[[nodiscard]] std::unique_ptr<Command> make_convert(const SchemeTable& schemes);
[[nodiscard]] std::unique_ptr<Command> make_options();

}  // namespace quadrant::cli
