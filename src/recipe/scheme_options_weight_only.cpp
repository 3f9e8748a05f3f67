#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/scales.hpp"
#include "numerics/clip_words.hpp"
#include "quadrant/recipe/scheme_table.hpp"
#include "recipe/scheme_options.hpp"

namespace quadrant::inline v0 {

namespace {

constexpr std::array roundings{Rounding::nearest, Rounding::weighted, Rounding::feedback,
                               Rounding::descent};

std::vector<OptionWord> rounding_words() {
  std::vector<OptionWord> words;
  words.reserve(roundings.size());
  for (const Rounding each : roundings) words.push_back({to_string(each)});
  return words;
}

std::vector<OptionWord> words_of_clip() {
  std::vector<OptionWord> words;
  words.reserve(clip_words.size());
  for (const std::string_view word : std::views::keys(clip_words)) words.push_back({word});
  return words;
}

}  // namespace

std::span<const OptionSpec> weight_only_option_table() {
  using enum OptionSpec::Kind;
  static const std::vector<OptionSpec> table{
      {.key = "type",
       .kind = text,
       .summary = "A number format: a name that 'quadrant list types' shows, or the text of one; "
                  "codes and scales have the least squared error",
       .placeholder = "TYPE"},
      {.key = "bits",
       .kind = integer,
       .summary = "Bits of the stored integers",
       .numbers = {8, 4},
       .fallback = "8"},
      {.key = "symmetry",
       .kind = word,
       .summary = "Where zero lies",
       .words = {{"symmetric", "Codes on both sides of zero, with zero point 0 (the default)"},
                 {"signed-scale",
                  "The same with scales of either sign, so that the largest weight of a group gets "
                  "the longer side"},
                 {"asymmetric", "A zero point for each scale: the codes span the weights"}},
       .fallback = "symmetric",
       .words_are_flags = true},
      {.key = "granularity",
       .kind = word,
       .summary = "What shares one scale (default: channel)",
       .words = {{"tensor"}, {"channel"}, {"block"}}},
      {.key = "block_size",
       .kind = integer,
       .summary = "Block size: weights along the summed axis that share a scale; implies "
                  "`granularity` block (default: 32, or the type's)",
       .least = 2,
       .most = static_cast<double>(std::int64_t{1} << 40U),
       .placeholder = "N"},
      {.key = "clip",
       .kind = word,
       .summary =
           "How scales are chosen: from the largest magnitude (the default), from smallest and "
           "largest (the default where asymmetric), or for the smallest squared error (the "
           "default for symmetric codes of 4 bits)",
       .words = words_of_clip()},
      {.key = "scales",
       .kind = word,
       .summary =
           "How scales are stored (default: float32, or as the type has it); codes are chosen "
           "for the rounded ones. The last three are "
           "for a `type`",
       .words = {{"float32"}, {"float16"}, {"bfloat16"}, {"f8e4m3"}, {"f8e8m0"}}},
      {.key = "form",
       .kind = word,
       .summary = "A dequantize in front of the operation, or a multiplication by the scale behind "
                  "it where that is exact; or whichever multiplies less",
       .words = {{"front"}, {"behind"}, {"fewest"}},
       .fallback = "front"},
      {.key = "rounding",
       .kind = word,
       .summary = "How weights are rounded where there are samples: each to the nearest; "
                  "with scales chosen by the layers' inputs; weight after weight, the next making "
                  "up for the errors so far; or, the default there, also one code after the other "
                  "until none lowers the error of the layer",
       .words = rounding_words()}};
  return table;
}

namespace {

constexpr std::array<std::pair<std::string_view, ElementType>, 5> scale_types{
    {{"float32", ElementType::float32},
     {"float16", ElementType::float16},
     {"bfloat16", ElementType::bfloat16},
     {"f8e4m3", ElementType::float8e4m3},
     {"f8e8m0", ElementType::float8e8m0}}};

// The type, which says what some others would.
Expected<void> take_type(const OptionValues& values, WeightOnlyOptions& made) {
  const auto* const type = given<std::string>(values, "type");
  if (type == nullptr) return {};
  if (type->empty()) return fail(ErrorCode::usage, "`type` '' names no number format");
  for (const std::string_view other : {"bits", "symmetry", "granularity", "clip"}) {
    if (!values.contains(other)) continue;
    return fail(ErrorCode::usage,
                fmt::format("a `type` says what `{}` would: leave one of them out", other));
  }
  made.type = *type;
  return {};
}

Expected<void> take_scales(const OptionValues& values, WeightOnlyOptions& made) {
  const auto* const word = given<std::string>(values, "scales");
  if (word == nullptr) return {};
  const auto* const found =
      std::ranges::find(scale_types, *word, &decltype(scale_types)::value_type::first);
  if (found == scale_types.end()) return {};
  made.scale_type = found->second;
  if (!made.type.empty() || is_scale_type(found->second)) return {};
  return fail(ErrorCode::usage,
              fmt::format("`scales` {} is for a `type`: without one, there are float32 and float16",
                          *word));
}

}  // namespace

Expected<WeightOnlyOptions> weight_only_options(const OptionValues& values) {
  using Form = WeightOnlyOptions::Form;
  QUADRANT_CHECK(check_options(weight_only_option_table(), values, "weight_only"));
  const auto is = [&](std::string_view key, std::string_view word) {
    const auto* const found = given<std::string>(values, key);
    return found != nullptr && *found == word;
  };
  const auto* const granularity = given<std::string>(values, "granularity");
  const auto* const block_size = given<std::int64_t>(values, "block_size");
  if (block_size != nullptr && granularity != nullptr && *granularity != "block") {
    return fail(ErrorCode::usage,
                fmt::format("`block_size` is for `granularity` block, not {}", *granularity));
  }
  WeightOnlyOptions made;
  QUADRANT_CHECK(take_type(values, made));
  if (const auto* const bits = given<std::int64_t>(values, "bits")) {
    made.bits = static_cast<int>(*bits);
  }
  if (is("symmetry", "signed-scale")) made.symmetry = Symmetry::signed_scale;
  if (is("symmetry", "asymmetric")) made.symmetry = Symmetry::asymmetric;
  if (is("granularity", "tensor")) made.granularity = Granularity::Kind::tensor;
  if (is("granularity", "block") || block_size != nullptr) {
    made.granularity = Granularity::Kind::block;
  }
  if (block_size != nullptr) made.block_size = *block_size;
  if (const auto* const clip = given<std::string>(values, "clip")) made.clip = parse_clip(*clip);
  QUADRANT_CHECK(take_scales(values, made));
  if (is("form", "behind")) made.form = Form::behind;
  if (is("form", "fewest")) made.form = Form::fewest;
  for (const Rounding each : roundings) {
    if (is("rounding", to_string(each))) made.rounding = each;
  }
  QUADRANT_CHECK(WeightOnly::make(made));
  return made;
}

}  // namespace quadrant::inline v0
