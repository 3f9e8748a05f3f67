#include "quadrant/recipe/scheme_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "recipe/scheme_options.hpp"
#include "support/near_names.hpp"

namespace quadrant::inline v0 {
namespace {

Expected<Registry> make_static_affine_registry(const OptionValues& values, const SchemeData& data) {
  QUADRANT_TRY(StaticAffineOptions options, static_affine_options(values));
  options.statistics = data.statistics;
  options.prescribed = data.prescribed;
  return static_affine_registry(std::move(options));
}

Expected<Registry> make_weight_only_registry(const OptionValues& values, const SchemeData& data) {
  QUADRANT_TRY(WeightOnlyOptions options, weight_only_options(values));
  options.moments = data.moments;
  options.on_rounded = data.on_rounded;
  return weight_only_registry(std::move(options));
}

}  // namespace

std::span<const SchemeEntry> known_schemes() {
  static const std::array schemes{
      SchemeEntry{"static_affine",
                  "weights and activations become integers, by the ranges seen on sample data",
                  "operations", true, static_affine_option_table(), make_static_affine_registry},
      SchemeEntry{"weight_only",
                  "weights become integers with shared scales; activations stay float", "bytes",
                  false, weight_only_option_table(), make_weight_only_registry}};
  return schemes;
}

Expected<const SchemeEntry*> find_scheme(std::string_view name) {
  const std::string wanted = key_of(name);
  const auto found = std::ranges::find(known_schemes(), wanted, &SchemeEntry::name);
  if (found != known_schemes().end()) return &*found;
  std::vector<std::string_view> names;
  for (const SchemeEntry& scheme : known_schemes()) names.push_back(scheme.name);
  return fail(ErrorCode::usage,
              fmt::format("there is no scheme '{}'{}", name, did_you_mean_or_all(wanted, names)));
}

}  // namespace quadrant::inline v0
