// Runtimes by name: the values of the option `--runtime`.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/cli11.hpp"
#include "cli/console.hpp"
#include "quadrant/runtime/interpreter.hpp"

namespace quadrant::cli {

/// Adds --run-memory to a subcommand: what the interpreter may take for a sample.
void declare_run_memory(CLI::App& command, std::string& text);
/// Understands what was said, for `context`; `usage` for anything but a size.
[[nodiscard]] Expected<void> use_run_memory(Console& console);

/// The first is the default. The last two are the interpreter, too, with the sums of those
/// runtimes' integer kernels on x86 without VNNI.
inline constexpr std::array<std::string_view, 4> runtime_names{"interpreter", "openvino",
                                                               "onnxruntime-avx2", "openvino-avx2"};

/// `usage`, with the names that there are, for another one; `impossible`, with the way to get it,
/// for one that is not there.
[[nodiscard]] Expected<std::unique_ptr<Runtime>> make_runtime(std::string_view name,
                                                              Console& console);

/// Adds --runtime to a subcommand.
void declare_runtime(CLI::App& command, std::string& name);

}  // namespace quadrant::cli
