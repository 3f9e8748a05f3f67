// The base of the subcommands of `quadrant`.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "cli/cli11.hpp"
#include "cli/console.hpp"
#include "cli/exit_code.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::cli {

/// A subcommand: declares its options once, is run when it is the one that was called.
class Command {
 public:
  struct Outline {
    std::string name;
    std::string about;         ///< a sentence, for help
    bool reads_models = true;  ///< those that do have --follow-links
    bool runs_models = false;  ///< those that may have --run-memory
    /// Whether all ranks run it, where there are some, and share its work: the others are run by
    /// the first alone.
    bool shares_work = false;
    /// The argument whose files --output may name, which are then replaced; empty: none. Where that
    /// is `MODEL`, the command writes ONNX.
    std::string_view replaceable{};
  };

  explicit Command(Outline outline) : outline_(std::move(outline)) {}
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  virtual ~Command() = default;

  [[nodiscard]] const Outline& outline() const noexcept { return outline_; }
  /// Adds its options to `command`, its own subcommand; they refer to this object from then on.
  virtual void declare(CLI::App& command) = 0;
  /// Whether --json was given.
  [[nodiscard]] bool wants_json() const noexcept { return json_; }
  virtual Expected<void> run(Console& console) = 0;
  /// The exit code of a run without error.
  [[nodiscard]] virtual ExitCode outcome() const noexcept { return ExitCode::done; }

 protected:
  bool json_ = false;  ///< --json, where the command declares it

 private:
  Outline outline_;
};

/// `schemes` outlive the command.
[[nodiscard]] std::unique_ptr<Command> make_inspect(const SchemeTable& schemes);
[[nodiscard]] std::unique_ptr<Command> make_list(const SchemeTable& schemes);
[[nodiscard]] std::unique_ptr<Command> make_plan(const SchemeTable& schemes);
[[nodiscard]] std::unique_ptr<Command> make_explain(const SchemeTable& schemes);
[[nodiscard]] std::unique_ptr<Command> make_quantize(const SchemeTable& schemes);
[[nodiscard]] std::unique_ptr<Command> make_optimize(const SchemeTable& schemes);
[[nodiscard]] std::unique_ptr<Command> make_diff(const SchemeTable& schemes);
[[nodiscard]] std::unique_ptr<Command> make_run(const SchemeTable& schemes);
[[nodiscard]] std::unique_ptr<Command> make_calibrate(const SchemeTable& schemes);
[[nodiscard]] std::unique_ptr<Command> make_sensitivity(const SchemeTable& schemes);
[[nodiscard]] std::unique_ptr<Command> make_compare(const SchemeTable& schemes);
[[nodiscard]] std::unique_ptr<Command> make_diagnose(const SchemeTable& schemes);
[[nodiscard]] std::unique_ptr<Command> make_placement(const SchemeTable& schemes);
[[nodiscard]] std::unique_ptr<Command> make_encodings(const SchemeTable& schemes);
[[nodiscard]] std::unique_ptr<Command> make_transform(const SchemeTable& schemes);
[[nodiscard]] std::unique_ptr<Command> make_recipe(const SchemeTable& schemes);
[[nodiscard]] std::unique_ptr<Command> make_pareto(const SchemeTable& schemes);
[[nodiscard]] std::unique_ptr<Command> make_convert(const SchemeTable& schemes);
[[nodiscard]] std::unique_ptr<Command> make_options(const SchemeTable& schemes);

}  // namespace quadrant::cli
