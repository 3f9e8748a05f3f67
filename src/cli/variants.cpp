#include "cli/variants.hpp"

#include <fmt/format.h>

#include <vector>

#include "quadrant/methods/weight_only.hpp"

namespace quadrant::cli {

Expected<Registry> weight_variants() {
  using Kind = Granularity::Kind;
  std::vector<Registry> variants;
  const auto add = [&](std::string name, const WeightOnlyOptions& options) -> Expected<void> {
    QUADRANT_TRY(const Registry made, weight_only_registry(options));
    variants.push_back(made.renamed(std::move(name)));
    return {};
  };
  const ElementType half = ElementType::float16;
  QUADRANT_CHECK(add("int8", {.bits = 8, .clip = Clip::mse}));
  QUADRANT_CHECK(add("int4", {.bits = 4, .symmetry = Symmetry::signed_scale, .clip = Clip::mse}));
  for (const std::int64_t size : {16, 32, 64, 128}) {
    QUADRANT_CHECK(add(fmt::format("int4-block{}", size), {.bits = 4,
                                                           .symmetry = Symmetry::signed_scale,
                                                           .granularity = Kind::block,
                                                           .block_size = size,
                                                           .scale_type = half,
                                                           .clip = Clip::mse}));
    QUADRANT_CHECK(add(fmt::format("uint4-block{}", size), {.bits = 4,
                                                            .symmetry = Symmetry::asymmetric,
                                                            .granularity = Kind::block,
                                                            .block_size = size,
                                                            .scale_type = half,
                                                            .clip = Clip::mse}));
  }
  return Registry::join(variants);
}

Expected<void> use_variants_of(const Plan& plan, Subject& subject) {
  QUADRANT_TRY(Registry variants, weight_variants());
  bool is_same = plan.schemes.size() == variants.scheme_count();
  for (std::uint32_t i = 0; is_same && i < variants.scheme_count(); ++i) {
    is_same = plan.schemes[i].name == variants.name(i);
  }
  if (is_same) subject.registry = std::move(variants);
  return {};
}

}  // namespace quadrant::cli
