// The exit codes of the command: part of its interface, like its options.
#pragma once

#include <cstdint>

#include "quadrant/support/error.hpp"

namespace quadrant::cli {

enum class ExitCode : std::uint8_t {
  done = 0,
  defect = 1,  ///< of this program
  usage = 2,
  bad_input = 3,
  impossible = 4,
  input_output = 5,
  different = 6,      ///< no error: what `diff` was asked to compare differs
  interrupted = 130,  ///< as shells say it of who pressed Ctrl-C
};

[[nodiscard]] constexpr ExitCode exit_code(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::usage:
      return ExitCode::usage;
    case ErrorCode::invalid_model:
      return ExitCode::bad_input;
    case ErrorCode::impossible:
      return ExitCode::impossible;
    case ErrorCode::io:
      return ExitCode::input_output;
    case ErrorCode::cancelled:
      return ExitCode::interrupted;
  }
  return ExitCode::defect;
}

/// For the foot of --help.
inline constexpr const char* exit_codes_help =
    "Exit codes:\n"
    "  0  done\n"
    "  2  usage: an option is wrong, or names something that is not there\n"
    "  3  bad input: a model, plan, sample or other file is damaged or not what it says it is\n"
    "  4  impossible: the input is fine, what is asked of it cannot be done\n"
    "  5  input/output: the system refused to read, to write, or to give memory\n"
    "  6  different: no error; the plans that 'diff' compared decide differently\n"
    "  130  interrupted by Ctrl-C, before there was a result\n"
    "  1  anything else is a defect of this program: please report it\n"
    "Errors are one line on stderr. A command that fails writes no file.";

}  // namespace quadrant::cli
