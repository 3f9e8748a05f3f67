#include "cli/run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/closed_streams.hpp"
#include "cli/command.hpp"
#include "cli/data_options.hpp"
#include "cli/exit_code.hpp"
#include "cli/help.hpp"
#include "cli/named_files.hpp"
#include "cli/plugin_options.hpp"
#include "cli/remedies.hpp"
#include "cli/runtimes.hpp"
#include "cli/signals.hpp"
#include "cli/typed_keys.hpp"
#include "quadrant/command.hpp"
#include "quadrant/support/ranks.hpp"
#include "quadrant/version.hpp"
#include "support/near_names.hpp"

namespace quadrant::cli {
namespace {

std::string suggestion(std::string_view wanted, const std::vector<std::string>& names) {
  return did_you_mean(wanted, std::vector<std::string_view>(names.begin(), names.end()));
}

// What to say where a command is missing.
std::string command_message(const CLI::App& app, std::string_view first_argument) {
  if (first_argument.empty() || first_argument.starts_with('-')) return "a command is missing";
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    if (!command->get_group().empty()) names.push_back(command->get_name());
  }
  return fmt::format("there is no command '{}'{}", first_argument,
                     suggestion(first_argument, names));
}

// What to say where an argument is left over. CLI11 says it backwards: `not expected: x --exlude`.
std::string leftover_message(const CLI::App& app, const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::vector<std::string> leftover = app.remaining(true);
  if (leftover.empty()) return "unexpected argument";
  const auto is_option = [](const std::string& argument) { return argument.starts_with('-'); };
  const auto option = std::ranges::find_if(leftover, is_option);
  if (option == leftover.end()) return fmt::format("unexpected argument '{}'", leftover[0]);
  std::string meant = advice_on_transform(command, *option);
  if (meant.empty()) meant = suggestion(*option, names);
  return fmt::format("there is no option '{}'{}", *option, meant);
}

std::string usage_message(const CLI::App& app, const CLI::ParseError& error,
                          std::string_view first_argument) {
  const std::vector<CLI::App*> called = app.get_subcommands();
  const CLI::App& command = called.empty() ? app : *called.back();
  std::string message = error.what();
  if (called.empty()) {
    message = command_message(app, first_argument);
  } else if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError)) {
    message = leftover_message(app, command);
  }
  const std::string name = called.empty() ? "" : ' ' + command.get_name();
  return fmt::format("{} (see '{}{} --help')", message, app.get_name(), name);
}

ExitCode finish(Expected<void> status, const CLI::App& command, Console& console) {
  if (status) return ExitCode::done;
  Error& error = status.error();
  error.message = typed_keys(error.message, [&](const std::string& option) {
    return command.get_option_no_throw(option) != nullptr;
  });
  error.message += advice(command, error.remedy);
  console.print_error(error);
  return exit_code(error.code);
}

// What all ranks must be called with, and their version.
std::string version_and(std::span<const char* const> arguments) {
  return fmt::format("{}\n{}", QUADRANT_VERSION_STRING, fmt::join(arguments.subspan(1), "\n"));
}

// An error of one rank is one of all.
Expected<void> agreed(Expected<void> own, Ranks* ranks) {
  return ranks != nullptr ? ranks->agree(std::move(own)) : own;
}

// What to print in place of a command's work: help and version are no errors to us, though CLI11
// throws them.
Expected<std::string> parse(CLI::App& app, std::span<const char* const> arguments) {
  try {
    app.parse(static_cast<int>(arguments.size()), arguments.data());
    return std::string();
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) {
      return fail(ErrorCode::usage,
                  usage_message(app, error, arguments.size() > 1 ? arguments[1] : ""));
    }
    std::ostringstream text;
    app.exit(error, text, text);
    return text.str();
  }
}

// In the order in which help shows them.
constexpr std::array makers{make_inspect,   make_list,      make_plan,      make_explain,
                            make_quantize,  make_optimize,  make_diff,      make_run,
                            make_calibrate, make_compare,   make_diagnose,  make_sensitivity,
                            make_placement, make_encodings, make_transform, make_recipe,
                            make_pareto,    make_convert,   make_options};

ExitCode run_one(const CLI::App& declared, Command& command, Console& console) {
  if (command.wants_json()) console.use_json();
  Ranks* const ranks = console.context().ranks;
  const bool is_shared = ranks != nullptr && command.outline().shares_work;
  if (!is_shared) {
    console.context().ranks = nullptr;
    if (!is_first(ranks)) return ExitCode::done;
    if (ranks != nullptr) {
      console.report({Severity::note, "the first rank alone runs this command", {}});
    }
  }
  bool have_agreed = false;
  const auto work = [&]() -> Expected<void> {
    QUADRANT_CHECK(check_sample_options(declared));
    if (command.outline().runs_models) QUADRANT_CHECK(use_run_memory(console));
    QUADRANT_CHECK(announce_files(declared, command.outline().replaceable, console.files()));
    if (is_shared) QUADRANT_CHECK(check_same_files(declared, *ranks));
    QUADRANT_CHECK(command.run(console));
    QUADRANT_CHECK(console.flush());
    if (is_shared) {
      QUADRANT_CHECK(console.share_notes(*ranks));
      have_agreed = true;
    }
    QUADRANT_CHECK(console.files().commit());
    console.print_notes();
    return {};
  };
  Expected<void> outcome = work();
  if (!outcome && is_shared && !have_agreed) outcome = ranks->agree(std::move(outcome));
  const ExitCode code = finish(std::move(outcome), declared, console);
  return code == ExitCode::done ? command.outcome() : code;
}

// The other arguments, when the plug-ins are loaded. Before any rank can fail they compare what
// they are called with, lest one waits for others that do something else.
Expected<std::vector<const char*>> without_plugins(std::span<const char* const> arguments,
                                                   SchemeTable& table, Console& console) {
  if (Ranks* const ranks = console.context().ranks; ranks != nullptr) {
    QUADRANT_CHECK(ranks->check_same("the command", version_and(arguments)));
  }
  QUADRANT_TRY(Arguments taken, take_plugins(arguments));
  QUADRANT_CHECK(load_plugins(taken.plugins, table, console.files()));
  return std::move(taken.rest);
}

using DeclaredCommands = std::vector<std::pair<CLI::App*, std::unique_ptr<Command>>>;

// `usage` where an option of a scheme is called as one of the command, which CLI11 throws.
Expected<DeclaredCommands> declare_commands(CLI::App& app, Console& console) {
  DeclaredCommands commands;
  try {
    for (const auto& make : makers) {
      std::unique_ptr<Command> command = make(console.context().all_schemes());
      const Command::Outline& outline = command->outline();
      CLI::App* const declared = app.add_subcommand(outline.name, outline.about);
      command->declare(*declared);
      if (outline.reads_models) {
        declared->add_flag("--follow-links", console.context().follow_links,
                           "Read a model's data through symbolic links to anywhere, not only into "
                           "its folder or, where the model is a link itself, that of its file");
      }
      if (outline.runs_models) declare_run_memory(*declared, console.run_memory);
      declare_sample_options(*declared, console);
      declare_plugins(*declared);
      commands.emplace_back(declared, std::move(command));
    }
  } catch (const CLI::OptionAlreadyAdded& error) {
    return fail(ErrorCode::usage,
                fmt::format("an option of a scheme is called as another one: {}", error.what()));
  }
  return commands;
}

ExitCode run_on(Console& console, std::span<const char* const> arguments) {
  CLI::App app("Quantizes neural networks, and says why.", "quadrant");
  app.set_version_flag("--version", "quadrant " QUADRANT_VERSION_STRING);
  app.require_subcommand(1);
  declare_plugins(app);
  app.formatter(std::make_shared<HelpFormatter>());  // subcommands inherit it
  app.footer(std::string("Example:\n"
                         "  quadrant quantize model.onnx -o small.onnx --scheme weight-only\n\n"
                         "'quadrant COMMAND --help' shows the options of one.\n\n") +
             exit_codes_help);

  const Expected<DeclaredCommands> commands = declare_commands(app, console);
  if (!commands) return finish(fail(commands.error()), app, console);
  double patience = 3600;
  if (console.context().ranks != nullptr) {
    app.add_option("--rank-timeout", patience,
                   "Seconds that a rank waits for another, before it ends the job")
        ->check(CLI::PositiveNumber.description(""))
        ->type_name("SECONDS")
        ->capture_default_str();
  }
  const Expected<std::string> shown = parse(app, arguments);
  Ranks* const ranks = console.context().ranks;
  if (ranks != nullptr) ranks->set_patience(patience);
  Expected<void> parsed = agreed(shown.map([](const std::string&) {}), ranks);
  if (parsed && !shown->empty()) {
    console.print(*shown);
    parsed = console.flush();
  }
  if (!parsed || !shown->empty()) return finish(std::move(parsed), app, console);
  for (const auto& [declared, command] : *commands) {
    if (declared->parsed()) return run_one(*declared, *command, console);
  }
  return ExitCode::done;
}

// The exit code of `work`, or of what it throws, which is said on `err`.
template <class Work>
int without_throwing(std::FILE* err, Work work) noexcept {
  const auto failed = [err](ExitCode code, const char* what) {
    // No allocation: there may be no memory.
    std::fputs("quadrant: ", err);
    std::fputs(what, err);
    std::fputs("\n", err);
    return static_cast<int>(code);
  };
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return failed(ExitCode::input_output, "not enough memory");
  } catch (const std::exception& exception) {
    return failed(ExitCode::defect, exception.what());
  } catch (...) {
    return failed(ExitCode::defect, "unknown exception");
  }
}

}  // namespace

int run(int argc, const char* const* argv, std::FILE* out, std::FILE* err,
        const SchemeTable* schemes, Ranks* ranks) noexcept {
  return without_throwing(err, [&] {
    SchemeTable table = schemes == nullptr ? SchemeTable() : *schemes;
    Console console(out, err);
    console.context().schemes = &table;
    console.context().ranks = ranks;
    const auto arguments = without_plugins({argv, static_cast<std::size_t>(argc)}, table, console);
    if (!arguments) {
      const Error error = agreed(fail(arguments.error()), ranks).error();
      console.print_error(error);
      return static_cast<int>(exit_code(error.code));
    }
    return static_cast<int>(run_on(console, *arguments));
  });
}

}  // namespace quadrant::cli

namespace quadrant::inline v0 {

int run_command(int argc, const char* const* argv, const SchemeTable* schemes) noexcept {
  cli::hold_closed_streams();
  cli::handle_signals();
  return cli::run(argc, argv, stdout, stderr, schemes);
}

int run_command(int argc, const char* const* argv,
                std::initializer_list<SchemeEntry> schemes) noexcept {
  return cli::without_throwing(stderr, [&] {
    SchemeTable table;
    for (const SchemeEntry& scheme : schemes) {
      const auto added = table.add(scheme);
      if (added) continue;
      std::fputs(("quadrant: " + to_string(added.error()) + "\n").c_str(), stderr);
      return static_cast<int>(cli::exit_code(added.error().code));
    }
    return run_command(argc, argv, &table);
  });
}

}  // namespace quadrant::inline v0
