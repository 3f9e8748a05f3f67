// Parameters that came with a model, as a label that compares by what they say.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/type.hpp"

namespace quadrant::inline v0 {

/// A quantization that came with the model, known by what it says: two of the same contents are
/// one.
struct GivenForm {
  /// `i8 0.05:3`: storage, scale and zero point. Of several scales: `i8 axis=0 #` and a hash of
  /// them.
  std::string text;
  /// Null for a form that was parsed.
  std::shared_ptr<const UniformType> type;
  float scale = 1;              ///< of one that is per tensor
  std::int64_t zero_point = 0;  ///< of one that is per tensor

  /// Empty where the scales cannot be read. Reads them whole.
  [[nodiscard]] static std::optional<GivenForm> of(std::shared_ptr<const UniformType> type);
  /// One scale and zero point, codes of the whole range of `storage`, an integer type of at most 16
  /// bits; real values are float32.
  [[nodiscard]] static GivenForm per_tensor(ElementType storage, float scale,
                                            std::int64_t zero_point);

  [[nodiscard]] bool is_per_tensor() const noexcept {
    return type->granularity.kind == Granularity::Kind::tensor;
  }
  [[nodiscard]] ElementType storage() const noexcept { return type->storage; }

  [[nodiscard]] std::size_t hash() const noexcept { return std::hash<std::string>{}(text); }
  [[nodiscard]] std::string print() const { return text; }
  [[nodiscard]] static std::optional<GivenForm> parse(std::string_view text);
  friend bool operator==(const GivenForm& a, const GivenForm& b) noexcept {
    return a.text == b.text;
  }
  friend auto operator<=>(const GivenForm& a, const GivenForm& b) noexcept {
    return a.text <=> b.text;
  }
};

/// The form of the result of a node that only re-orders elements (transpose, reshape, squeeze,
/// unsqueeze, flatten, identity), of operand 0 in `form`: scales of an axis go where the axis goes.
/// Empty where they do not stay together, and, unless there is one scale, for other nodes.
[[nodiscard]] std::optional<GivenForm> moved_form(NodeRef node, const GivenForm& form);

}  // namespace quadrant::inline v0
