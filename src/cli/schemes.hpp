// The schemes that there are, as options of one command.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/cli11.hpp"
#include "quadrant/pipeline/run.hpp"
#include "quadrant/recipe/scheme_table.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::cli {

class Schemes {
 public:
  /// All of them. `known` outlives this object.
  explicit Schemes(const SchemeTable& known);
  /// One of them alone.
  explicit Schemes(const SchemeEntry& scheme);
  Schemes(const Schemes&) = delete;
  Schemes& operator=(const Schemes&) = delete;
  ~Schemes() = default;

  /// Adds the options of each under a heading of its own, and those that all share. Those of
  /// schemes that are not the library's begin with the scheme's name, so that they are none of the
  /// command's or another scheme's. They refer to this object from then on.
  void declare(CLI::App& command);

  [[nodiscard]] const SchemeTable& known() const noexcept { return *known_; }
  /// What was given of the scheme's table.
  [[nodiscard]] const OptionValues& given(const SchemeEntry& scheme) const;
  /// What was given of `recipe_model_options`.
  [[nodiscard]] const OptionValues& given_for_model() const noexcept { return for_model_; }
  /// What --calibration, --encodings and --moments name.
  [[nodiscard]] const RunInputs& inputs() const noexcept { return inputs_; }

  /// An option of `scheme`'s own that was given, by its name; empty: none was.
  [[nodiscard]] std::string given_option(const SchemeEntry& scheme) const;
  /// That no options of schemes were given but of `used`; and of these, if `chosen_elsewhere` says
  /// where their options are (`--recipe`), only those that are not part of a choice.
  [[nodiscard]] Expected<void> check_given(std::span<const std::string> used,
                                           std::string_view chosen_elsewhere) const;
  /// That none was given at all: nothing is quantized.
  [[nodiscard]] Expected<void> check_none_given() const;

 private:
  struct Declared {
    const SchemeEntry* entry;
    OptionValues given;
    std::vector<const CLI::Option*> options;
  };
  void declare_shared(CLI::App& command);
  // Of those that there are: names, with commas between.
  template <class Fits>
  [[nodiscard]] std::string names_where(Fits fits) const;
  [[nodiscard]] std::string takers(std::string_view option) const;

  const SchemeTable* known_;
  std::vector<Declared> schemes_;
  RunInputs inputs_;
  OptionValues for_model_;
  std::vector<const CLI::Option*> shared_;
};

}  // namespace quadrant::cli
