#include "cli/schemes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "quadrant/methods/weight_only.hpp"
#include "support/near_names.hpp"

namespace quadrant::cli {
namespace {

Expected<Registry> make_weight_only(const SchemeOptions& options) {
  using Form = WeightOnlyOptions::Form;
  WeightOnlyOptions made;
  made.bits = options.bits;
  if (options.symmetry == "signed-scale") made.symmetry = Symmetry::signed_scale;
  if (options.symmetry == "asymmetric") made.symmetry = Symmetry::asymmetric;
  if (options.block_size && !options.granularity.empty() && options.granularity != "block") {
    return fail(ErrorCode::usage, fmt::format("--block-size is for --granularity block, not {}",
                                              options.granularity));
  }
  if (options.granularity == "tensor") made.granularity = Granularity::Kind::tensor;
  if (options.granularity == "block" || options.block_size) {
    made.granularity = Granularity::Kind::block;
  }
  made.block_size = options.block_size.value_or(made.block_size);
  if (options.clip == "absmax") made.clip = Clip::absmax;
  if (options.clip == "minmax") made.clip = Clip::minmax;
  if (options.clip == "mse") made.clip = Clip::mse;
  if (options.scales == "float16") made.scale_type = ElementType::float16;
  if (options.form == "behind") made.form = Form::behind;
  if (options.form == "fewest") made.form = Form::fewest;
  return weight_only_registry(made);
}

constexpr std::array entries{
    SchemeEntry{
        "weight_only", "weights become integers with shared scales; activations stay float",
        "--bits 8|4                     width of the codes\n"
        "--symmetric                    zero is code 0 (the default)\n"
        "--signed-scale                 so is it; scales may be negative, to use the longer side\n"
        "--asymmetric                   a zero point for each scale\n"
        "--granularity channel          what shares a scale: tensor, channel or block\n"
        "--block-size N                 weights in a block, along the axis that is summed (32)\n"
        "--clip absmax|minmax|mse       how scales are chosen; mse has the smallest error\n"
        "--scales float32|float16       how scales are stored\n"
        "--form front|behind|fewest     a dequantize in front of the operation, or one multiply\n"
        "                               behind it; or whichever multiplies less",
        make_weight_only},
};

}  // namespace

std::span<const SchemeEntry> schemes() noexcept { return entries; }

Expected<const SchemeEntry*> find_scheme(std::string_view name) {
  std::string wanted(name);
  std::ranges::replace(wanted, '-', '_');
  const auto found = std::ranges::find(entries, wanted, &SchemeEntry::name);
  if (found != entries.end()) return &*found;
  std::vector<std::string_view> names;
  names.reserve(entries.size());
  for (const SchemeEntry& entry : entries) names.push_back(entry.name);
  const std::string near = did_you_mean(wanted, names);
  return fail(
      ErrorCode::usage,
      fmt::format("there is no scheme '{}'{}", name,
                  near.empty() ? fmt::format("; there are: {}", fmt::join(names, ", ")) : near));
}

}  // namespace quadrant::cli
