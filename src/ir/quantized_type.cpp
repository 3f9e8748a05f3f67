#include "ir/quantized_type.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "ir/codes_text.hpp"
#include "ir/scales.hpp"
#include "ir/text_numbers.hpp"
#include "ir/text_scanner.hpp"
#include "quadrant/ir/graph.hpp"

namespace quadrant::inline v0 {
namespace {

using detail::Number;
using detail::Scanner;

constexpr std::size_t largest_rank = 64;

tl::unexpected<Error> breaks(std::string message) {
  return fail(ErrorCode::invalid_model, std::move(message));
}

// --- reading ------------------------------------------------------------------------------------

class QuantizedTypeReader {
 public:
  explicit QuantizedTypeReader(std::string_view text) : scan_(text) {}

  Expected<QuantizedType> run() {
    QUADRANT_TRY(QuantizedType type, any_kind());
    if (!scan_.at_end()) return scan_.error(scan_.position(), "expected the end of the type");
    if (auto valid = verify_quantized_type(type); !valid) {
      return scan_.error(start_, valid.error().message);
    }
    return type;
  }

 private:
  Expected<QuantizedType> any_kind() {
    start_ = scan_.position();
    if (scan_.accept("!quant.uniform<")) return uniform();
    if (scan_.accept("!quant.any<")) return any();
    if (scan_.accept("!quant.calibrated<")) return calibrated();
    return scan_.error(start_, "expected !quant.uniform<, !quant.any< or !quant.calibrated<");
  }

  Expected<ElementType> expressed() {
    const std::size_t at = scan_.position();
    const auto element = parse_element_type(scan_.word());
    if (element && is_float(*element)) return *element;
    return scan_.error(at, "expected the expressed type: f16, bf16, f32 or f64");
  }

  // MLIR's literals of real numbers have a point.
  Expected<double> real() {
    QUADRANT_TRY(const Number number, scan_.number());
    if (number.text.find('.') == std::string_view::npos) {
      return scan_.error(number.at, "expected a real number with a point, for example 1.0");
    }
    return detail::to_double(scan_, number);
  }

  Expected<QuantizedType> any() {
    QUADRANT_TRY(const detail::CodesText codes, detail::parse_codes(scan_));
    AnyQuantizedType type{codes.storage, codes.storage_bits, codes.storage_min, codes.storage_max,
                          std::nullopt};
    if (scan_.accept(":")) {
      QUADRANT_TRY(type.expressed, expressed());
    }
    QUADRANT_CHECK(scan_.expect(">"));
    return type;
  }

  Expected<QuantizedType> calibrated() {
    CalibratedType type;
    QUADRANT_TRY(type.expressed, expressed());
    QUADRANT_CHECK(scan_.expect("<"));
    QUADRANT_TRY(type.min, real());
    QUADRANT_CHECK(scan_.expect(":"));
    QUADRANT_TRY(type.max, real());
    QUADRANT_CHECK(scan_.expect(">"));
    QUADRANT_CHECK(scan_.expect(">"));
    return type;
  }

  Expected<QuantizedType> uniform() {
    QUADRANT_TRY(const detail::CodesText codes, detail::parse_codes(scan_));
    UniformType type;
    type.storage = codes.storage;
    type.storage_bits = codes.storage_bits;
    type.storage_min = codes.storage_min;
    type.storage_max = codes.storage_max;
    QUADRANT_CHECK(scan_.expect(":"));
    QUADRANT_TRY(type.expressed, expressed());
    if (scan_.accept(":")) {
      if (scan_.next_is('{')) {
        QUADRANT_CHECK(blocks(type));
      } else {
        QUADRANT_TRY(const Number axis, scan_.number());
        QUADRANT_TRY(const std::int64_t index, detail::to_integer(scan_, axis));
        type.granularity = Granularity::per_axis(index);
      }
    }
    QUADRANT_CHECK(scan_.expect(","));
    QUADRANT_CHECK(parameters(type));
    QUADRANT_CHECK(scan_.expect(">"));
    return type;
  }

  // `{0:1, 1:32}`: the extents of a block along each axis that is named.
  Expected<void> blocks(UniformType& type) {
    const std::size_t at = scan_.position();
    QUADRANT_CHECK(scan_.expect("{"));
    std::vector<bool> named;
    std::size_t blocked = 0;
    do {
      QUADRANT_TRY(const Number first, scan_.number());
      QUADRANT_TRY(const std::int64_t axis, detail::to_integer(scan_, first));
      QUADRANT_CHECK(scan_.expect(":"));
      QUADRANT_TRY(const Number second, scan_.number());
      QUADRANT_TRY(const std::int64_t size, detail::to_integer(scan_, second));
      if (axis < 0 || axis >= static_cast<std::int64_t>(largest_rank) || size < 1) {
        return scan_.error(first.at, "expected an axis and the extent of a block, above zero");
      }
      named.resize(std::max(named.size(), static_cast<std::size_t>(axis) + 1));
      if (named[static_cast<std::size_t>(axis)]) {
        return scan_.error(first.at, "this axis is there twice");
      }
      named[static_cast<std::size_t>(axis)] = true;
      if (size > 1) ++blocked;
      if (size > 1 || blocked == 0) type.granularity = Granularity::per_block(axis, size);
    } while (scan_.accept(","));
    QUADRANT_CHECK(scan_.expect("}"));
    named_axes_ = named.size();
    if (blocked <= 1 && std::ranges::find(named, false) == named.end()) return {};
    return fail(ErrorCode::impossible,
                scan_
                    .error(at,
                           "blocks have an extent along one axis here, and 1 along every "
                           "other, each of which is named: {0:1, 1:32}")
                    .value()
                    .message);
  }

  // One, a list in braces for an axis, or one brace more for each axis of blocks.
  Expected<void> parameters(UniformType& type) {
    const std::size_t at = scan_.position();
    std::size_t wanted = 0;
    if (type.granularity.kind == Granularity::Kind::axis) wanted = 1;
    if (type.granularity.kind == Granularity::Kind::block) wanted = named_axes_;
    std::vector<double> scales;
    std::vector<std::byte> zero_points;
    std::vector<std::int64_t> extents(wanted, 0);
    std::vector<std::int64_t> counts(wanted, 0);  // in each brace that is open
    std::size_t depth = 0;
    do {
      while (depth < wanted) {
        QUADRANT_CHECK(scan_.expect("{"));
        counts[depth++] = 0;
      }
      QUADRANT_CHECK(parameter(type.storage, scales, zero_points));
      if (wanted > 0) ++counts[wanted - 1];
      while (depth > 0 && !scan_.next_is(',')) {
        QUADRANT_CHECK(scan_.expect("}"));
        std::int64_t& extent = extents[--depth];
        if (extent == 0) extent = counts[depth];
        if (extent != counts[depth]) {
          return scan_.error(at, "the braces hold different numbers of scales");
        }
        if (depth > 0) ++counts[depth - 1];
      }
    } while (depth > 0 && scan_.accept(","));
    const Shape shape(std::move(extents));
    type.zero_points = Constant::from_bytes(type.storage, shape, std::move(zero_points));
    type.scales = make_exact_scales(ElementType::float64, shape, scales);
    return {};
  }

  Expected<void> parameter(ElementType storage, std::vector<double>& scales,
                           std::vector<std::byte>& zero_points) {
    if (scan_.next_is('{')) {
      return scan_.error(scan_.position(), "more braces than the type has axes of scales");
    }
    QUADRANT_TRY(const double scale, real());
    scales.push_back(scale);
    Number zero_point{.text = "0", .at = scan_.offset()};
    if (scan_.accept(":")) {
      QUADRANT_TRY(zero_point, scan_.number());
    }
    return detail::append_element(scan_, storage, zero_point, zero_points);
  }

  Scanner scan_;
  std::size_t start_ = 0;
  std::size_t named_axes_ = 0;
};

// --- rules --------------------------------------------------------------------------------------

Expected<void> check_codes(ElementType storage, int storage_bits, std::int64_t min,
                           std::int64_t max) {
  const auto stored = integer_range(storage);
  if (!stored) return breaks("codes are integers of 1 to 32 bits");
  const bool is_signed = stored->min < 0;
  const int bits = storage_bits != 0 ? storage_bits : bit_width(storage);
  if (storage_bits < 0 || storage_bits > 32 || storage_element(bits, is_signed) != storage) {
    return breaks(fmt::format("codes of {} bits, stored as {}", storage_bits, to_string(storage)));
  }
  const IntegerRange range = code_range(bits, is_signed);
  if (min >= max || min < range.min || max > range.max) {
    return breaks(fmt::format("codes from {} to {}: a range of two and more inside {} to {}", min,
                              max, range.min, range.max));
  }
  return {};
}

// The smallest number above zero, and the largest.
std::pair<double, double> range_of(ElementType expressed) {
  switch (expressed) {
    case ElementType::float16:
      return {0x1p-24, 65504.0};
    case ElementType::bfloat16:
      return {0x1p-133, 0x1.FEp127};
    case ElementType::float32:
      return {static_cast<double>(std::numeric_limits<float>::denorm_min()),
              static_cast<double>(std::numeric_limits<float>::max())};
    default:
      return {std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::max()};
  }
}

Expected<void> check_scale_range(const UniformType& type) {
  QUADRANT_TRY(const std::vector<double> scales, read_exact_scales(type.scales));
  const auto [smallest, largest] = range_of(type.expressed);
  for (const double scale : scales) {
    if (scale >= smallest && scale <= largest) continue;
    return breaks(fmt::format("a scale of {}: scales of {} are from {} to {}", scale,
                              to_string(type.expressed), smallest, largest));
  }
  return {};
}

// A shape that the parameters fit: what a type alone says of it.
Shape shape_of_parameters(const UniformType& type) {
  if (type.granularity.kind == Granularity::Kind::tensor) return Shape();
  std::vector<Extent> extents(type.scales.shape().extents().begin(),
                              type.scales.shape().extents().end());
  if (type.granularity.kind == Granularity::Kind::axis) return Shape();
  const auto axis = static_cast<std::size_t>(type.granularity.axis);
  if (axis < extents.size()) extents[axis] = Extent::open();
  return Shape(std::move(extents));
}

Expected<void> check_uniform(const UniformType& type, const Shape& shape) {
  QUADRANT_CHECK(check_codes(type.storage, type.storage_bits, type.storage_min, type.storage_max));
  if (!is_float(type.expressed)) return breaks("a type whose expressed type is not float");
  if (type.granularity.kind == Granularity::Kind::axis && type.granularity.axis < 0) {
    return breaks(fmt::format("an axis of {}: axes are counted from 0", type.granularity.axis));
  }
  QUADRANT_CHECK(verify(type, shape));
  return check_scale_range(type);
}

Expected<void> check_any(const AnyQuantizedType& type) {
  return check_codes(type.storage, type.storage_bits, type.storage_min, type.storage_max);
}

Expected<void> check_calibrated(const CalibratedType& type) {
  if (!is_float(type.expressed)) return breaks("a type whose expressed type is not float");
  if (std::isfinite(type.min) && std::isfinite(type.max) && type.min < type.max) return {};
  return breaks(
      fmt::format("a range from {} to {}: the first is below the second", type.min, type.max));
}

Expected<void> check(const QuantizedType& type, const Shape* shape) {
  if (const auto* any = std::get_if<AnyQuantizedType>(&type)) return check_any(*any);
  if (const auto* range = std::get_if<CalibratedType>(&type)) return check_calibrated(*range);
  const auto& uniform = *std::get_if<UniformType>(&type);
  return check_uniform(uniform, shape != nullptr ? *shape : shape_of_parameters(uniform));
}

// --- writing ------------------------------------------------------------------------------------

// As many digits as give it back, with a point.
std::string real_literal(double value) {
  std::string text = fmt::format("{}", value);
  const std::size_t end = std::min(text.find('e'), text.size());
  if (text.find('.') == std::string::npos) text.insert(end, ".0");
  return text;
}

struct Printed {
  std::vector<double> scales;
  std::vector<std::int64_t> zero_points;
};

std::string parameter_text(const Printed& printed, std::size_t index) {
  std::string text = real_literal(printed.scales[index]);
  const std::int64_t zero =
      printed.zero_points.empty() ? std::int64_t{0} : printed.zero_points[index];
  if (zero != 0) text += fmt::format(":{}", zero);
  return text;
}

// In nested braces, one for each extent; in the order of the scales.
std::string list_text(const Printed& printed, std::span<const std::int64_t> extents) {
  std::string text;
  for (std::size_t i = 0; i < printed.scales.size(); ++i) {
    // Every axis of which an index begins with this element opens a brace, and so on for ends.
    std::size_t opened = 0;
    std::size_t closed = 0;
    std::size_t inner = 1;
    for (std::size_t axis = extents.size(); axis > 0; --axis) {
      inner *= static_cast<std::size_t>(extents[axis - 1]);
      opened += i % inner == 0 ? 1 : 0;
      closed += (i + 1) % inner == 0 ? 1 : 0;
    }
    if (i != 0) text += ", ";
    text.append(opened, '{');
    text += parameter_text(printed, i);
    text.append(closed, '}');
  }
  return text;
}

Expected<std::string> print_uniform(const UniformType& type) {
  std::string text =
      "!quant.uniform<" +
      detail::print_codes({type.storage, type.storage_bits, type.storage_min, type.storage_max}) +
      fmt::format(":{}", to_string(type.expressed));
  if (type.granularity.kind == Granularity::Kind::axis) {
    text += fmt::format(":{}", type.granularity.axis);
  } else if (type.granularity.kind == Granularity::Kind::block) {
    text += ":{";
    for (std::int64_t axis = 0; axis < type.scales.shape().rank(); ++axis) {
      const std::int64_t size = axis == type.granularity.axis ? type.granularity.block_size : 1;
      text += fmt::format("{}{}:{}", axis == 0 ? "" : ", ", axis, size);
    }
    text += '}';
  }
  Printed printed;
  QUADRANT_TRY(printed.scales, read_exact_scales(type.scales));
  if (type.zero_points) {
    QUADRANT_TRY(printed.zero_points,
                 read_integers(type.zero_points, type.zero_points.element_count()));
  }
  return fmt::format("{}, {}>", text, list_text(printed, type.scales.shape().known_extents()));
}

std::string print_any(const AnyQuantizedType& type) {
  const std::string codes =
      detail::print_codes({type.storage, type.storage_bits, type.storage_min, type.storage_max});
  if (!type.expressed) return fmt::format("!quant.any<{}>", codes);
  return fmt::format("!quant.any<{}:{}>", codes, to_string(*type.expressed));
}

}  // namespace

Expected<QuantizedType> parse_quantized_type(std::string_view text) {
  return QuantizedTypeReader(text).run();
}

Expected<void> verify_quantized_type(const QuantizedType& type) { return check(type, nullptr); }

Expected<void> verify_quantized_type(const QuantizedType& type, const Shape& shape) {
  QUADRANT_CHECK(check(type, &shape));
  const auto* uniform = std::get_if<UniformType>(&type);
  if (uniform == nullptr || uniform->granularity.kind != Granularity::Kind::block) return {};
  if (!shape.is_ranked()) return {};
  const std::int64_t extent = shape[uniform->granularity.axis].value_or(0);
  if (extent % uniform->granularity.block_size == 0) return {};
  return breaks(fmt::format("blocks of {} do not divide axis {} of extent {}",
                            uniform->granularity.block_size, uniform->granularity.axis, extent));
}

Expected<std::string> print_quantized_type(const QuantizedType& type) {
  if (auto valid = verify_quantized_type(type); !valid) {
    return fail(ErrorCode::impossible, std::move(valid).error().message);
  }
  if (const auto* any = std::get_if<AnyQuantizedType>(&type)) return print_any(*any);
  if (const auto* range = std::get_if<CalibratedType>(&type)) {
    return fmt::format("!quant.calibrated<{}<{}:{}>>", to_string(range->expressed),
                       real_literal(range->min), real_literal(range->max));
  }
  return print_uniform(*std::get_if<UniformType>(&type));
}

}  // namespace quadrant::inline v0
