#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ir/codes_text.hpp"
#include "ir/scales.hpp"
#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"
#include "support/content_hash.hpp"

namespace quadrant::inline v0 {
namespace {

// `i8`, `i8<-127:127>`, `i8->f16`
std::string print_types(const UniformType& type) {
  std::string text =
      detail::print_codes({type.storage, type.storage_bits, type.storage_min, type.storage_max});
  if (type.expressed != ElementType::float32) {
    text += fmt::format("->{}", to_string(type.expressed));
  }
  return text;
}

bool add_contents(const Constant& constant, ContentHash& hash) {
  if (!constant) return true;
  const auto bytes = constant.read();
  if (!bytes) return false;
  hash.add(bytes->bytes());
  return true;
}

// A list of zero points that are all zero says what no list says.
bool is_all_zero(const UniformType& type) {
  const auto zero_points = read_integers(type.zero_points, type.zero_points.element_count());
  return zero_points &&
         std::ranges::all_of(*zero_points, [](std::int64_t zero) { return zero == 0; });
}

}  // namespace

std::optional<GivenForm> GivenForm::of(std::shared_ptr<const UniformType> type) {
  if (type == nullptr || !type->scales) return std::nullopt;
  if (type->zero_points && is_all_zero(*type)) {
    auto plain = std::make_shared<UniformType>(*type);
    plain->zero_points = Constant();
    type = std::move(plain);
  }
  GivenForm form;
  if (type->granularity.kind == Granularity::Kind::tensor) {
    const auto scales = read_exact_scales(type->scales);
    const auto singles = read_scales(type->scales);
    if (!scales || !singles || scales->size() != 1) return std::nullopt;
    form.scale = singles->front();
    const std::string scale = type->scales.element() == ElementType::float64
                                  ? fmt::format("f64 {}", scales->front())
                                  : fmt::format("{}", form.scale);
    if (type->zero_points) {
      const auto zero_points = read_integers(type->zero_points);
      if (!zero_points || zero_points->size() != 1) return std::nullopt;
      form.zero_point = zero_points->front();
    }
    form.text = fmt::format("{} {}:{}", print_types(*type), scale, form.zero_point);
  } else {
    ContentHash hash;
    if (!add_contents(type->scales, hash) || !add_contents(type->zero_points, hash)) {
      return std::nullopt;
    }
    form.text =
        fmt::format("{} {} #{:016x}", print_types(*type), type->granularity.print(), hash.value());
  }
  form.type = std::move(type);
  return form;
}

GivenForm GivenForm::per_tensor(ElementType storage, float scale, std::int64_t zero_point) {
  const IntegerRange range = integer_range(storage).value_or(IntegerRange{});
  auto type = std::make_shared<UniformType>();
  type->storage = storage;
  type->storage_min = range.min;
  type->storage_max = range.max;
  const Shape scalar(std::vector<std::int64_t>{});
  type->scales = make_scales(ElementType::float32, scalar, {scale});
  if (zero_point != 0) {
    type->zero_points = make_zero_points(storage, scalar, std::span(&zero_point, 1));
  }
  return of(std::move(type)).value_or(GivenForm{});
}

std::optional<GivenForm> GivenForm::parse(std::string_view text) {
  const std::size_t end = text.find_first_of("< -");
  if (end == std::string_view::npos || text.find(' ') == std::string_view::npos) {
    return std::nullopt;
  }
  detail::Scanner storage(text.substr(0, end));
  if (!detail::parse_codes(storage)) return std::nullopt;
  GivenForm form;
  form.text = text;
  return form;
}

std::optional<GivenForm> moved_form(NodeRef node, const GivenForm& form) {
  if (form.is_per_tensor()) return form;
  const Granularity& before = form.type->granularity;
  const bool keeps_all = has_trait(node, Trait::keeps_elements);
  const Move* const move = find_move(node);
  const Shape& shape = node.type().shape;
  if (!keeps_all || move == nullptr || before.kind != Granularity::Kind::axis ||
      !shape.is_ranked()) {
    return std::nullopt;
  }
  const std::int64_t channels = form.type->scales.element_count();
  for (std::int64_t axis = 0; axis < shape.rank(); ++axis) {
    if (!surely_equal(shape[axis], channels)) continue;
    if (move->source(node, Granularity::per_axis(axis)) != before) continue;
    auto type = std::make_shared<UniformType>(*form.type);
    type->granularity = Granularity::per_axis(axis);
    return GivenForm::of(std::move(type));
  }
  return std::nullopt;
}

}  // namespace quadrant::inline v0
