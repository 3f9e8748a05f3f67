#include "cli/remedies.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <string_view>

namespace quadrant::cli {
namespace {

struct Advice {
  Remedy remedy;
  const char* option;
  std::string_view words;  // of the option, and what it does
  bool can_be_calibrated;  // 'quadrant calibrate' has the option, and saves what others then need
};

constexpr std::array all_advice{
    Advice{Remedy::another_runtime, "--runtime", "--runtime openvino may", true},
    Advice{Remedy::convert_elements, "--convert", "--convert converts them", true},
    Advice{Remedy::allow_non_finite, "--allow-non-finite", "--allow-non-finite lets it pass", true},
    Advice{Remedy::leave_non_finite, "--non-finite", "--non-finite leave does that", false},
    Advice{Remedy::scales_of_channels, "--granularity", "--granularity channel makes them", false},
};

bool has(const CLI::App& command, const char* option) {
  return command.get_option_no_throw(option) != nullptr;
}

bool is_given(const CLI::App& command, const char* option) {
  const CLI::Option* const found = command.get_option_no_throw(option);
  return found != nullptr && found->count() != 0;
}

}  // namespace

std::string advice(const CLI::App& command, Remedy remedy) {
  const auto* const found = std::ranges::find(all_advice, remedy, &Advice::remedy);
  if (found == all_advice.end()) return {};
  if (has(command, found->option)) return fmt::format("; {}", found->words);
  // Optimizations run the model themselves, and 'optimize' does.
  const bool takes_statistics = is_given(command, "--calibration") &&
                                command.get_name() != "optimize" &&
                                !is_given(command, "--optimize");
  if (!found->can_be_calibrated || !takes_statistics) return {};
  return fmt::format(
      "; 'quadrant calibrate' with {}, and --calibration takes the statistics that it saves",
      found->words);
}

}  // namespace quadrant::cli
