#include "cli/resources.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "cli/arguments.hpp"

namespace quadrant::cli {

void declare_threads(CLI::App& command, unsigned& threads) {
  add_value(command, "--threads", threads, "N",
            "Threads to use; 0: as many as the machine has. The result is the same")
      ->check(whole_number(0, 1024))
      ->capture_default_str();
}

CLI::Option* declare_memory(CLI::App& command, std::string& memory) {
  return add_value(
             command, "--memory", memory, "SIZE",
             "Memory for what is computed from weights, and if it is given for second moments; "
             "more of it goes to a temporary file beside the output. The model's graph and "
             "samples are not counted")
      ->capture_default_str();
}

Expected<std::uint64_t> parse_bytes(std::string_view option, const std::string& text) {
  struct Unit {
    std::string_view name;
    double bytes;
  };
  constexpr std::array units{Unit{"", 1},         Unit{"B", 1},        Unit{"kB", 1e3},
                             Unit{"KB", 1e3},     Unit{"MB", 1e6},     Unit{"GB", 1e9},
                             Unit{"KiB", 0x1p10}, Unit{"MiB", 0x1p20}, Unit{"GiB", 0x1p30}};
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  const std::string_view rest(stop, static_cast<std::size_t>(end - stop));
  for (const Unit& unit : units) {
    const double bytes = number * unit.bytes;
    if (error == std::errc() && rest == unit.name && bytes >= 1 && bytes < 0x1p62) {
      return static_cast<std::uint64_t>(bytes);
    }
  }
  return fail(ErrorCode::usage,
              fmt::format("{}: '{}' is not a size, such as 20MB, 512KiB or 1000", option, text));
}

Expected<std::uint64_t> kept_in_memory(const std::string& memory) {
  // Scales of float32 with zero points of a byte become twelve bytes more where they are used.
  constexpr std::uint64_t share = 4;
  QUADRANT_TRY(const std::uint64_t bytes, parse_bytes("--memory", memory));
  return bytes / share;
}

}  // namespace quadrant::cli
