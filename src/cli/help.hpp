// How --help looks.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace quadrant::cli {

/// CLI11's formatter prints an option's checks, exclusions and default into its name and does not
/// wrap lines. This one prints `--bits N`, and on lines of at most 80 columns what it is, its
/// default, or that it is required.
class HelpFormatter final : public CLI::Formatter {
 public:
  HelpFormatter();

  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
};

}  // namespace quadrant::cli
