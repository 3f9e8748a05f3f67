#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "quadrant/ir/graph_rewriter.hpp"
#include "quadrant/ir/number_format.hpp"

namespace quadrant::inline v0 {
namespace {

// One number, over and over.
class PlaceholderNumbers final : public ConstantSource {
 public:
  explicit PlaceholderNumbers(std::vector<std::byte> number) : number_(std::move(number)) {}
  [[nodiscard]] Expected<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = number_[(offset + i) % number_.size()];
    return {};
  }

 private:
  std::vector<std::byte> number_;
};

std::vector<std::byte> one_of(ElementType type) {
  if (type == ElementType::float16) return {std::byte{0x00}, std::byte{0x3c}};
  const auto one = std::bit_cast<std::array<std::byte, sizeof(float)>>(1.0F);
  return {one.begin(), one.end()};
}

// Empty where the shape does not say how many there are.
Constant placeholders(ElementType element, const Granularity& groups, const FormatPart& part,
                      const Shape& shape, bool are_ones) {
  const bool is_one = groups.kind == Granularity::Kind::tensor;
  if (!is_one && (!shape.is_ranked() || groups.axis >= shape.rank())) return {};
  Shape of_part = shape_of(part, is_one ? Shape::scalar() : shape);
  if (!of_part.is_static()) return {};
  std::vector<std::byte> number = are_ones ? one_of(element) : std::vector<std::byte>{std::byte{0}};
  return Constant::deferred(element, std::move(of_part),
                            std::make_shared<PlaceholderNumbers>(std::move(number)));
}

}  // namespace

TensorType type_without_numbers(NumberFormat format, Shape shape) {
  std::vector<Constant> contents;
  const std::vector<FormatPart> parts = parts_of(format);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    ElementType element = parts[i].element;
    const bool is_scale = i < format.scales.size();
    // A uniform type has them as they are stored.
    if (is_scale && is_uniform(format)) element = std::get<FloatScale>(format.scales[i].type).type;
    contents.push_back(placeholders(element, parts[i].groups, parts[i], shape, is_scale));
  }
  const ScaledFormat made = with_contents(std::move(format), contents);
  const Quantization quantization(made);
  return {quantization.storage(), std::move(shape), quantization};
}

}  // namespace quadrant::inline v0
