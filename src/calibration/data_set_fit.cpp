#include "calibration/data_set_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <utility>

#include "calibration/data_set_convert.hpp"
#include "ir/float16.hpp"

namespace quadrant::inline v0::data_set {
namespace {

tl::unexpected<Error> misfit(std::string message, Remedy remedy = Remedy::none) {
  return fail(ErrorCode::invalid_model, std::move(message), {}, remedy);
}

Expected<Tensor> with_element(Tensor tensor, const Input& input, bool convert) {
  if (is_carried(input.element)) {
    return misfit("the model takes elements of a type here that is not read");
  }
  if (input.element == ElementType::undefined || input.element == tensor.element()) return tensor;
  if (convert) return converted(tensor, input.element);
  return misfit(fmt::format("its elements are {}, the model takes {}: store them so",
                            to_string(tensor.element()), to_string(input.element)),
                Remedy::convert_elements);
}

bool fit(std::span<const std::int64_t> extents, std::span<const Extent> wanted) {
  return std::ranges::equal(
      extents, wanted, [](std::int64_t extent, Extent takes) { return may_equal(extent, takes); });
}

Expected<void> check_shape(const Shape& shape, const Shape& wanted) {
  const auto extents = shape.known_extents();
  if (!wanted.is_ranked() || fit(extents, wanted.extents())) return {};
  const auto takes = wanted.extents();
  const std::string both =
      fmt::format("its shape is [{}], the model takes [{}]", to_string(shape), to_string(wanted));
  if (!takes.empty() && may_equal(takes[0], 1) && fit(extents, takes.subspan(1))) {
    return misfit(both + ": it lacks the first axis, of extent 1, for the batch");
  }
  if (!takes.empty() && surely_equal(takes[0], 1) && extents.size() == takes.size() &&
      extents[0] > 1 && fit(extents.subspan(1), takes.subspan(1))) {
    return misfit(
        fmt::format("{}: these are {} samples in one array, where the model takes one at "
                    "a time; write one sample a file, or give the model a dynamic batch",
                    both, extents[0]));
  }
  if (extents.size() != takes.size()) {
    return misfit(fmt::format("{}: {} axes instead of {}", both, extents.size(), takes.size()));
  }
  return misfit(both);
}

template <class T, class Widen>
Expected<void> check_finite(const Tensor& tensor, Widen widen) {
  const auto values = tensor.as<T>();
  const auto bad =
      std::ranges::find_if(values, [&](T value) { return !std::isfinite(widen(value)); });
  if (bad == values.end()) return {};
  return misfit(
      fmt::format("{} at {}: mend the data", std::isnan(widen(*bad)) ? "NaN" : "an infinity",
                  index_text(tensor.shape(), bad - values.begin())),
      Remedy::allow_non_finite);
}

Expected<void> check_finite(const Tensor& tensor) {
  switch (tensor.element()) {
    case ElementType::float16:
      return check_finite<std::uint16_t>(tensor, widen_float16);
    case ElementType::bfloat16:
      return check_finite<std::uint16_t>(tensor, widen_bfloat16);
    case ElementType::float32:
      return check_finite<float>(tensor, [](float value) { return value; });
    case ElementType::float64:
      return check_finite<double>(tensor, [](double value) { return value; });
    default:
      return {};
  }
}

}  // namespace

Expected<Tensor> fitted(Tensor tensor, const Input& input, const DataSetOptions& options) {
  QUADRANT_CHECK(check_shape(tensor.shape(), input.shape));
  QUADRANT_TRY(Tensor right, with_element(std::move(tensor), input, options.convert));
  if (!options.allow_non_finite) QUADRANT_CHECK(check_finite(right));
  return right;
}

}  // namespace quadrant::inline v0::data_set
