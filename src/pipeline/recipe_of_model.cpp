#include "pipeline/recipe_of_model.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ir/scales.hpp"

namespace quadrant::inline v0 {
namespace {

// What most of the types have in common, by element, so that a single odd one does not decide.
class Types {
 public:
  Expected<void> add(const UniformType& type, const Shape& shape) {
    QUADRANT_TRY(const std::vector<std::int64_t> zeros, read_zero_points(type));
    QUADRANT_TRY(const std::vector<float> scales, read_scales(type.scales));
    const auto is_plain = [&](std::int64_t zero) { return zero == 0; };
    const auto is_middle = [&](std::int64_t zero) {
      return zero == std::int64_t{1} << static_cast<unsigned>(declared_bits(type) - 1);
    };
    const std::int64_t weight = shape.element_count().value_or(1);
    const auto vote = [&](std::int64_t& count, bool is_so) { count += is_so ? weight : 0; };
    total_ += weight;
    vote(unsigned_, !has_signed_codes(type));
    vote(wide_, declared_bits(type) > 8);
    vote(narrow_, declared_bits(type) < 8);
    vote(by_axis_, type.granularity.kind == Granularity::Kind::axis);
    vote(by_block_, type.granularity.kind == Granularity::Kind::block);
    vote(shifted_, !std::ranges::all_of(zeros, is_plain) && !std::ranges::all_of(zeros, is_middle));
    vote(mirrored_, std::ranges::any_of(scales, [](float scale) { return scale < 0; }));
    if (type.granularity.kind == Granularity::Kind::block)
      block_size_ = type.granularity.block_size;
    return {};
  }

  [[nodiscard]] bool is_any() const { return total_ > 0; }
  [[nodiscard]] bool are_unsigned() const { return are(unsigned_); }
  [[nodiscard]] bool are_wide() const { return are(wide_); }
  [[nodiscard]] bool are_narrow() const { return are(narrow_); }
  [[nodiscard]] bool are_whole() const { return !are(by_axis_) && !are(by_block_); }
  [[nodiscard]] bool are_blocks() const { return are(by_block_); }
  [[nodiscard]] bool are_shifted() const { return are(shifted_); }
  [[nodiscard]] bool are_mirrored() const { return mirrored_ > 0; }
  [[nodiscard]] std::int64_t block_size() const { return block_size_; }

 private:
  [[nodiscard]] bool are(std::int64_t votes) const { return 2 * votes > total_; }

  std::int64_t total_ = 0;
  std::int64_t unsigned_ = 0;
  std::int64_t wide_ = 0;
  std::int64_t narrow_ = 0;
  std::int64_t by_axis_ = 0;
  std::int64_t by_block_ = 0;
  std::int64_t shifted_ = 0;
  std::int64_t mirrored_ = 0;
  std::int64_t block_size_ = 0;
};

OptionValues static_options(const Types& activations, const Types& weights, bool may_saturate) {
  OptionValues options;
  if (activations.are_wide()) options["activation_bits"] = std::int64_t{16};
  if (activations.are_unsigned()) options["unsigned_activations"] = true;
  if (may_saturate) options["saturation"] = std::string("allow");
  if (!weights.is_any()) return options;
  if (weights.are_narrow()) options["weight_bits"] = std::int64_t{4};
  if (weights.are_whole()) options["weights"] = std::string("tensor");
  if (weights.are_whole() && weights.are_shifted()) {
    options["asymmetric_weights"] = true;
  } else if (weights.are_unsigned()) {
    options["unsigned_weights"] = true;
  }
  return options;
}

OptionValues weight_options(const Types& weights) {
  OptionValues options;
  if (weights.are_narrow()) options["bits"] = std::int64_t{4};
  if (weights.are_whole()) options["granularity"] = std::string("tensor");
  if (weights.are_blocks()) options["block_size"] = weights.block_size();
  if (weights.are_shifted()) {
    options["symmetry"] = std::string("asymmetric");
  } else if (weights.are_mirrored()) {
    options["symmetry"] = std::string("signed-scale");
  }
  return options;
}

}  // namespace

Expected<std::optional<Recipe>> recipe_of_model(const Graph& quantized,
                                                std::span<const QuantizedPlace> places,
                                                bool may_saturate) {
  Types activations;
  Types weights;
  for (const QuantizedPlace& place : places) {
    const TensorType& type = quantized.type(place.codes);
    const bool is_matrix = type.shape.is_ranked() && type.shape.rank() > 1;
    if (type.uniform() == nullptr || (place.is_weight() && !is_matrix)) continue;
    Types& own = place.is_weight() ? weights : activations;
    QUADRANT_CHECK(own.add(*type.uniform(), type.shape));
  }
  if (!activations.is_any() && !weights.is_any()) return std::nullopt;
  const std::string scheme = activations.is_any() ? "static_affine" : "weight_only";
  Recipe recipe;
  recipe.schemes.push_back({scheme, scheme,
                            activations.is_any()
                                ? static_options(activations, weights, may_saturate)
                                : weight_options(weights)});
  return recipe;
}

}  // namespace quadrant::inline v0
