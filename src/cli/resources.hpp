// What of the machine a command may take.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/cli11.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::cli {

/// Adds --threads to a subcommand: what TbbExecutor takes, 0 unless it is given.
void declare_threads(CLI::App& command, unsigned& threads);

/// Bytes in `text`, the argument of `option`: `20MB` (10^6), `512KiB` (2^10), `1000`. `usage` for
/// anything else.
[[nodiscard]] Expected<std::uint64_t> parse_bytes(std::string_view option, const std::string& text);

/// Adds --memory to a subcommand: bytes with a unit, which `kept_in_memory` understands.
CLI::Option* declare_memory(CLI::App& command, std::string& memory);

/// Of so much memory, the bytes that parameters may take which wait to be written: the rest is for
/// pieces under way, and for what is made of the parameters. `usage` for anything but a size.
[[nodiscard]] Expected<std::uint64_t> kept_in_memory(const std::string& memory);

}  // namespace quadrant::cli
