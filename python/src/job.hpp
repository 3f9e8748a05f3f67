// What is to be done to a model, put together piece by piece.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "quadrant/pipeline/run.hpp"
#include "quadrant/recipe/scheme_table.hpp"
#include "samples.hpp"

namespace quadrant::python {

/// A recipe and what a run needs beside it. Everything throws a Failure where the library refuses.
class Job {
 public:
  [[nodiscard]] static Job of_scheme(const std::string& name);
  [[nodiscard]] static Job of_preset(const std::string& name);
  [[nodiscard]] static Job of_file(const std::string& path);
  [[nodiscard]] static Job of_json(const std::string& text);

  /// An option of the one scheme, or of what is done to the model before; `text` as for
  /// `parse_option`; none: its default.
  void set(const std::string& key, const std::optional<std::string>& text);
  void set_gain(const std::string& gain);
  void set_hardware(const std::string& hardware) {
    recipe_.recipe.hardware = hardware;
    owns_hardware_ = true;
  }
  void set_policy(const std::string& policy) { recipe_.recipe.policy = policy; }
  void leave_non_finite() { recipe_.recipe.non_finite = NonFinitePolicy::leave_float; }
  void set_target_bits(double bits);
  /// Instead of one scheme alone, all ways to store a weight that a budget chooses from.
  void take_variants();
  /// Patterns beside those of the recipe.
  void add_scope(std::vector<std::string> include, std::vector<std::string> exclude);
  /// What the result is for: as `destination_of` has it.
  void set_destination(const std::string& path, const std::string& target, bool coded_borders);
  void set_samples(Samples samples) { samples_ = std::move(samples); }
  void set_encodings(std::string path) { encodings_ = std::move(path); }
  void set_moments(std::string path) { moments_ = std::move(path); }

  [[nodiscard]] const Samples& samples() const noexcept { return samples_; }
  [[nodiscard]] const Recipe& recipe() const noexcept { return recipe_.recipe; }
  [[nodiscard]] RunRequest request(const std::string& model) const;

 private:
  NamedRecipe recipe_;
  const SchemeEntry* scheme_ = nullptr;  // whose options can be set; null: a recipe has its own
  std::size_t own_includes_ = 0;
  std::size_t own_excludes_ = 0;
  Samples samples_;
  std::string encodings_;
  std::string moments_;
  bool owns_hardware_ = false;
  Destination destination_;
};

}  // namespace quadrant::python
