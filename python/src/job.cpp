#include "job.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "quadrant/pipeline/model_file.hpp"
#include "quadrant/pipeline/optimize.hpp"
#include "quadrant/recipe/recipe.hpp"
#include "quadrant/recipe/scheme_table.hpp"

namespace quadrant::python {

Job Job::of_scheme(const std::string& name) {
  Job job;
  job.scheme_ = value_of(find_scheme(name));
  const std::string known(job.scheme_->name);
  job.recipe_.recipe.schemes.push_back({known, known, {}});
  job.recipe_.label = known;
  return job;
}

Job Job::of_preset(const std::string& name) {
  Job job;
  job.recipe_ = value_of(recipe_of_preset(name));
  return job;
}

Job Job::of_file(const std::string& path) {
  Job job;
  job.recipe_ = value_of(read_recipe(path));
  return job;
}

Job Job::of_json(const std::string& text) {
  Job job;
  job.recipe_ = {value_of(parse_recipe(text)), "recipe"};
  return job;
}

void Job::set(const std::string& key, const std::optional<std::string>& text) {
  const std::span<const OptionSpec> of_model = recipe_model_options();
  std::vector<OptionSpec> all(of_model.begin(), of_model.end());
  if (scheme_ != nullptr) all.insert(all.end(), scheme_->options.begin(), scheme_->options.end());
  const OptionSpec* const option = value_of(find_option(all, key, recipe_.label));
  if (!text) return;
  const bool is_of_model =
      std::ranges::find(of_model, option->key, &OptionSpec::key) != of_model.end();
  OptionValues& values =
      is_of_model ? recipe_.recipe.model : recipe_.recipe.schemes.front().options;
  values.insert_or_assign(std::string(option->key), value_of(parse_option(*option, *text)));
}

void Job::set_gain(const std::string& gain) {
  recipe_.recipe.gain = gain;
  if (gain != "latency") recipe_.recipe.hardware.clear();  // which went with the recipe's own gain
}

void Job::set_target_bits(double bits) {
  recipe_.recipe.target_bits = bits;
  take_variants();
}

void Job::take_variants() {
  if (scheme_ == nullptr) return;
  Recipe& recipe = recipe_.recipe;
  // A budget chooses bits, blocks and scales itself.
  value_of(check_budget_recipe(recipe));
  if (!recipe.schemes.front().options.empty()) {
    value_of<void>(
        fail(ErrorCode::usage, "a budget chooses bits, blocks and scales for each weight: '" +
                                   recipe.schemes.front().options.begin()->first +
                                   "' does not go with it"));
  }
  recipe.schemes = value_of(weight_variants());
}

void Job::add_scope(std::vector<std::string> include, std::vector<std::string> exclude) {
  own_includes_ += include.size();
  own_excludes_ += exclude.size();
  std::ranges::move(include, std::back_inserter(recipe_.recipe.include));
  std::ranges::move(exclude, std::back_inserter(recipe_.recipe.exclude));
}

void Job::set_destination(const std::string& path, const std::string& target, bool coded_borders) {
  destination_ = value_of(destination_of(path, target));
  destination_.coded_borders = coded_borders;
}

RunRequest Job::request(const std::string& model) const {
  RunRequest request{.recipe = recipe_,
                     .inputs = samples_.inputs(),
                     .model = model,
                     .own_includes = own_includes_,
                     .own_excludes = own_excludes_,
                     .owns_hardware = owns_hardware_,
                     .destination = destination_};
  request.inputs.encodings = encodings_;
  request.inputs.moments = moments_;
  return request;
}

}  // namespace quadrant::python
