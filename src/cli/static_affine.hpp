// The scheme static_affine on the command line.
#pragma once

#include <memory>
#include <string>

#include "cli/schemes.hpp"

namespace quadrant::cli {

class StaticAffineScheme : public SchemeCommand {
 public:
  using SchemeCommand::SchemeCommand;
  /// Whether --calibration is a file of statistics.
  [[nodiscard]] virtual bool has_statistics_alone() const = 0;
  /// Where --calibration says that samples, or statistics, are.
  [[nodiscard]] virtual const std::string& calibration() const noexcept = 0;
};

[[nodiscard]] std::unique_ptr<StaticAffineScheme> make_static_affine(const SchemeEntry& entry);

}  // namespace quadrant::cli
