#include "cli/run.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/data_options.hpp"
#include "cli/exit_code.hpp"
#include "cli/help.hpp"
#include "cli/named_files.hpp"
#include "cli/remedies.hpp"
#include "cli/runtimes.hpp"
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
    names.push_back(command->get_name());
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
  if (leftover.empty()) return "there is an argument too many";
  const auto is_option = [](const std::string& argument) { return argument.starts_with('-'); };
  const auto option = std::ranges::find_if(leftover, is_option);
  if (option == leftover.end()) return fmt::format("'{}' is an argument too many", leftover[0]);
  return fmt::format("there is no option '{}'{}", *option, suggestion(*option, names));
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
  error.message += advice(command, error.remedy);
  console.print_error(error);
  return exit_code(error.code);
}

// Help and version are no errors to us, though CLI11 throws them.
ExitCode finish_parsing(CLI::App& app, const CLI::ParseError& error,
                        std::string_view first_argument, Console& console) {
  if (error.get_exit_code() == 0) {
    std::ostringstream text;
    app.exit(error, text, text);
    console.print(text.str());
    return finish(console.flush(), app, console);
  }
  console.print_error({ErrorCode::usage, usage_message(app, error, first_argument), {}});
  return ExitCode::usage;
}

ExitCode run_command(int argc, const char* const* argv, Console& console) {
  CLI::App app("Quantizes neural networks, and says why.", "quadrant");
  app.set_version_flag("--version", "quadrant " QUADRANT_VERSION_STRING);
  app.require_subcommand(1);
  app.formatter(std::make_shared<HelpFormatter>());  // subcommands inherit it
  app.footer(std::string("Example:\n"
                         "  quadrant quantize model.onnx -o small.onnx --scheme weight-only\n\n"
                         "'quadrant COMMAND --help' shows the options of one.\n\n") +
             exit_codes_help);

  std::vector<std::pair<CLI::App*, std::unique_ptr<Command>>> commands;
  for (auto make :
       {make_inspect, make_list, make_plan, make_explain, make_quantize, make_optimize, make_diff,
        make_run, make_calibrate, make_compare, make_diagnose, make_sensitivity, make_placement,
        make_encodings, make_transform, make_recipe, make_pareto, make_convert}) {
    std::unique_ptr<Command> command = make();
    CLI::App* declared = command->declare(app);
    if (command->reads_models()) {
      declared->add_flag("--follow-links", console.context().follow_links,
                         "Read a model's data through symbolic links to anywhere, not only into "
                         "its folder or, where the model is a link itself, that of its file");
    }
    if (command->runs_models()) declare_run_memory(*declared, console.run_memory);
    declare_sample_options(*declared, console);
    commands.emplace_back(declared, std::move(command));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return finish_parsing(app, error, argc > 1 ? argv[1] : "", console);
  }
  for (const auto& [declared, command] : commands) {
    if (!declared->parsed()) continue;
    if (command->wants_json()) console.use_json();
    const auto work = [&]() -> Expected<void> {
      QUADRANT_CHECK(check_sample_options(*declared));
      if (command->runs_models()) QUADRANT_CHECK(use_run_memory(console));
      QUADRANT_CHECK(announce_files(*declared, command->replaceable(), console.files()));
      QUADRANT_CHECK(command->run(console));
      QUADRANT_CHECK(console.flush());
      QUADRANT_CHECK(console.files().commit());
      console.print_notes();
      return {};
    };
    const ExitCode code = finish(work(), *declared, console);
    return code == ExitCode::done ? command->outcome() : code;
  }
  return ExitCode::done;
}

}  // namespace

int run(int argc, const char* const* argv, std::FILE* out, std::FILE* err) noexcept {
  const auto failed = [err](ExitCode code, const char* what) {
    // No allocation: there may be no memory.
    std::fputs("quadrant: ", err);
    std::fputs(what, err);
    std::fputs("\n", err);
    return static_cast<int>(code);
  };
  try {
    Console console(out, err);
    return static_cast<int>(run_command(argc, argv, console));
  } catch (const std::bad_alloc&) {
    return failed(ExitCode::input_output, "not enough memory");
  } catch (const std::exception& exception) {
    return failed(ExitCode::defect, exception.what());
  } catch (...) {
    return failed(ExitCode::defect, "unknown exception");
  }
}

}  // namespace quadrant::cli
