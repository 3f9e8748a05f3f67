#include "fake_quantize/coded_constants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "quadrant/ir/ops.hpp"
#include "quadrant/numerics/encode.hpp"

namespace quadrant::inline v0::low_precision {
namespace {

using Bounds32 = FakeQuantizeBounds<float>;

// The elements of some bytes, as float32: how OpenVINO computes a fake_quantize, whatever the type.
std::vector<float> widened(ElementType element, std::span<const std::byte> bytes,
                           const Constant& integers) {
  if (is_float(element)) {
    std::vector<float> values(bytes.size() / static_cast<std::size_t>(byte_width(element)));
    widen_to_float(element, bytes, values);
    return values;
  }
  const auto read = read_integers(integers, integers.element_count());
  std::vector<float> values;
  if (!read) return values;
  for (const std::int64_t value : *read) values.push_back(static_cast<float>(value));
  return values;
}

class FakeQuantizedCodes final : public ConstantSource {
 public:
  FakeQuantizedCodes(Constant real, const Ranges& ranges, std::int64_t inner,
                     const UniformType& type)
      : real_(std::move(real)),
        levels_(ranges.levels),
        inner_(inner),
        first_(type.storage_min),
        of_one_number_(code_of_one_number(type.storage_min, ranges.levels)) {
    for (const auto& wide : ranges.groups) {
      groups_.push_back({static_cast<float>(wide.input_low), static_cast<float>(wide.input_high),
                         static_cast<float>(wide.output_low),
                         static_cast<float>(wide.output_high)});
    }
  }

  // Codes of 8 and of 4 bits take a byte each.
  [[nodiscard]] Expected<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    constexpr std::size_t piece = std::size_t{1} << 16U;
    for (std::size_t done = 0; done < out.size(); done += piece) {
      const std::size_t count = std::min(piece, out.size() - done);
      QUADRANT_CHECK(read_piece(offset + done, out.subspan(done, count)));
    }
    return {};
  }

 private:
  [[nodiscard]] Expected<void> read_piece(std::uint64_t first, std::span<std::byte> out) const {
    const auto width = static_cast<std::uint64_t>(byte_width(real_.element()));
    std::vector<std::byte> bytes(out.size() * width);
    QUADRANT_CHECK(real_.read(first * width, bytes));
    const Shape shape{static_cast<std::int64_t>(out.size())};
    const Constant integers = is_float(real_.element())
                                  ? Constant()
                                  : Constant::from_bytes(real_.element(), shape, bytes);
    const std::vector<float> values = widened(real_.element(), bytes, integers);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (std::isnan(values[i])) {
        return fail(ErrorCode::invalid_model,
                    fmt::format("element {} of a quantized constant is NaN", first + i));
      }
      const std::size_t group =
          groups_.size() == 1 ? 0
                              : (first + i) / static_cast<std::uint64_t>(inner_) % groups_.size();
      out[i] = static_cast<std::byte>(code(values[i], groups_[group]));
    }
    return {};
  }

  [[nodiscard]] std::int64_t code(float value, const Bounds32& bounds) const {
    // One number, whatever the value is: see constant_types.
    if (bounds.output_low == bounds.output_high) return bounds.output_low == 0 ? 0 : of_one_number_;
    return static_cast<std::int64_t>(fake_quantize_level(value, bounds, levels_)) + first_;
  }

  Constant real_;
  std::int64_t levels_;
  std::int64_t inner_;  // elements with one index of the axis, in a row
  std::int64_t first_;
  std::int64_t of_one_number_;
  std::vector<Bounds32> groups_;
};

}  // namespace

namespace {

int significand_bits(ElementType real) {
  switch (real) {
    case ElementType::float64:
      return 53;
    case ElementType::float32:
      return 24;
    case ElementType::float16:
      return 11;
    default:
      return 8;  // bfloat16
  }
}

}  // namespace

NodeId constant_behind_cast(const GraphView& graph, Value value) {
  if (value.is_absent()) return {};
  NodeRef maker{&graph, value.node};
  if (maker.kind() == ops::Cast::kind && maker.operand_type(0) != nullptr) {
    const ElementType from = maker.operand_type(0)->element;
    const ElementType to = maker.type().element;
    // Integers as wide as the significand, and floats into wider ones.
    const bool is_exact =
        is_float(to) && (is_float(from) ? from == to || bit_width(from) < bit_width(to)
                                        : bit_width(from) <= significand_bits(to));
    if (is_exact) maker.id = maker.operand(0).node;
  }
  return graph.constant(maker.id) == nullptr ? NodeId{} : maker.id;
}

Expected<Constant> fake_quantized_codes(const Constant& real, const Ranges& ranges,
                                        const UniformType& type) {
  const bool is_known = is_float(real.element()) || is_integer(real.element());
  if (!is_known) return fail(ErrorCode::impossible, "its constant holds no numbers");
  std::int64_t inner = 1;
  if (ranges.granularity.kind == Granularity::Kind::axis) {
    const Shape& shape = real.shape();
    if (ranges.granularity.axis >= shape.rank()) {
      return fail(ErrorCode::impossible, "its bounds are of an axis that it does not have");
    }
    for (std::int64_t i = ranges.granularity.axis + 1; i < shape.rank(); ++i) {
      inner *= shape[i].value();
    }
    const auto groups = static_cast<std::int64_t>(ranges.groups.size());
    if (!surely_equal(shape[ranges.granularity.axis], groups)) {
      return fail(ErrorCode::impossible, "its bounds are not one for each channel");
    }
  }
  return Constant::deferred(
      type.storage, real.shape(),
      std::make_shared<FakeQuantizedCodes>(real, ranges, std::max<std::int64_t>(inner, 1), type));
}

}  // namespace quadrant::inline v0::low_precision
