#include "ir/explicit_formats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ir/ops/elementwise.hpp"
#include "ir/opset.hpp"
#include "ir/put_in_place.hpp"
#include "ir/result_type.hpp"
#include "ir/scales.hpp"
#include "ir/small_float.hpp"
#include "quadrant/ir/number_format.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"
#include "support/counted.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr int byte_bits = 8;

// Codes of `bits` bits and at most `last`, each in `room` bits of a byte, the first in the lowest.
class PackedCodes final : public ConstantSource {
 public:
  PackedCodes(Constant codes, int bits, int room, unsigned last)
      : codes_(std::move(codes)),
        mask_((1U << static_cast<unsigned>(bits)) - 1),
        room_(room),
        last_(last) {}

  [[nodiscard]] Expected<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    const auto each = static_cast<std::size_t>(byte_bits / room_);
    constexpr std::size_t most = std::size_t{1} << 15U;
    std::vector<std::byte> codes;
    while (!out.empty()) {
      const std::size_t count = std::min(out.size(), most);
      const std::uint64_t left = static_cast<std::uint64_t>(codes_.element_count()) - offset * each;
      codes.assign(count * each, {});  // zeros behind the last
      QUADRANT_CHECK(
          codes_.read(offset * each, std::span(codes).first(std::min(count * each, left))));
      for (std::size_t i = 0; i < count; ++i) {
        unsigned packed = 0;
        for (std::size_t k = 0; k < each; ++k) {
          const auto code = std::to_integer<unsigned>(codes[i * each + k]);
          packed |= std::min(code & mask_, last_) << (k * static_cast<std::size_t>(room_));
        }
        out[i] = static_cast<std::byte>(packed);
      }
      out = out.subspan(count);
      offset += count;
    }
    return {};
  }

 private:
  Constant codes_;
  unsigned mask_;
  int room_;
  unsigned last_;
};

// For each byte of packed codes, what they stand for one after the other.
std::vector<float> values_of_bytes(const std::vector<float>& values, int bits) {
  const auto each = static_cast<std::size_t>(byte_bits / bits);
  std::vector<float> pairs;
  for (unsigned byte = 0; byte < 1U << byte_bits; ++byte) {
    for (std::size_t k = 0; k < each; ++k) {
      pairs.push_back(values[(byte >> (k * static_cast<std::size_t>(bits))) &
                             ((1U << static_cast<unsigned>(bits)) - 1)]);
    }
  }
  return pairs;
}

// How many bits a code takes in a byte that holds several: 1, 2, 4 or 8.
int packed_bits(int bits) {
  int packed = 1;
  while (packed < bits) packed *= 2;
  return packed;
}

// How elements lie while they are computed: with an axis inside each block, where there are several
// and all are whole.
struct Layout {
  std::vector<std::int64_t> extents;
  std::int64_t block = 0;  ///< elements of one; 0: as the tensor lies
};

Layout layout_of(const Shape& shape, const Granularity& groups) {
  const auto known = shape.known_extents();
  Layout layout{{known.begin(), known.end()}};
  if (groups.kind != Granularity::Kind::block) return layout;
  std::int64_t& extent = layout.extents[static_cast<std::size_t>(groups.axis)];
  const std::int64_t size = groups.block_size;
  if (extent <= size || extent % size != 0) return layout;
  extent /= size;
  layout.extents.insert(layout.extents.begin() + groups.axis + 1, size);
  layout.block = size;
  return layout;
}

// Tables that weights have in common, by what they hold in rows of how many.
using Tables = std::map<std::pair<std::vector<float>, std::int64_t>, Value>;

class Arithmetic {
 public:
  Arithmetic(Graph& graph, NodeId node, HasCodes has_codes, Tables& tables)
      : graph_(graph),
        node_(node),
        codes_(graph.operands(node)[0]),
        shape_(graph.type(codes_).shape),
        format_(*graph.type(codes_).quantization.other()),
        blocks_(innermost_groups(format_.format)),
        layout_(layout_of(shape_, blocks_)),
        name_(graph.value_name({node})),
        has_codes_(has_codes),
        tables_(tables) {}

  Expected<Value> run() {
    if (shape_.element_count() == 0) return nothing();
    QUADRANT_TRY(Value value, values());
    if (format_.format.offset == Offset::zero_point) {
      QUADRANT_TRY(const Value zeros, zero_points());
      QUADRANT_TRY(value, combined(ops::Sub::kind, value, zeros, blocks_, layout_));
    }
    if (!format_.format.scales.empty()) {
      QUADRANT_TRY(const Value scales, product(format_.format.scales, format_.scales));
      QUADRANT_TRY(value, combined(ops::Multiply::kind, value, scales, blocks_, layout_));
    }
    if (!format_.format.offsets.empty()) {
      QUADRANT_TRY(const Value minima, product(format_.format.offsets, format_.offsets));
      QUADRANT_TRY(value, combined(ops::Sub::kind, value, minima, blocks_, layout_));
    }
    if (layout_.block != 0) {
      const auto known = shape_.known_extents();
      QUADRANT_TRY(value, reshape(value, {known.begin(), known.end()}));
    }
    if (graph_.type({node_}).element == ElementType::float32) return value;
    return cast(value, graph_.type({node_}).element);
  }

  /// Whether the codes are elements that whoever comes next has.
  [[nodiscard]] bool has_elements() const noexcept { return has_elements_; }

 private:
  // --- codes ------------------------------------------------------------------------------------

  Value nothing() {
    const ElementType element = graph_.type({node_}).element;
    return graph_.add_constant(name_,
                               Constant::from_bytes(element, shape_, std::vector<std::byte>{}));
  }

  // What codes stand for, in the layout.
  Expected<Value> values() {
    const NumberCode& code = format_.format.code;
    const auto* stored = std::get_if<StoredTable>(&code);
    const bool is_integer = std::holds_alternative<IntegerCode>(code);
    const int bits = bit_width(code);
    const Constant contents = in(layout_);
    // A scale for each element is no form of weights that runtimes compute with.
    if (stored == nullptr && !is_cut_off() && has_codes_(code, sums())) {
      has_elements_ = true;
      return known_codes(contents, code);
    }
    if (bits > byte_bits || (is_integer && packed_bits(bits) == byte_bits)) {
      return cast(graph_.add_constant(name_ + "_codes", contents), ElementType::float32);
    }
    if (stored != nullptr && stored->groups.kind != Granularity::Kind::tensor) {
      return values_of_groups(*stored);
    }
    std::vector<float> table;
    if (stored == nullptr) {
      table = code_values(code);
    } else {
      QUADRANT_TRY(table, read_scales(format_.table));
    }
    return looked_up(contents, std::move(table), bits);
  }

  // Of elements that a sum over them may have.
  [[nodiscard]] std::vector<std::int64_t> sums() const {
    if (layout_.block != 0) return {layout_.block};
    std::vector<std::int64_t> all = layout_.extents;
    if (blocks_.kind == Granularity::Kind::block) {  // of the only block
      return {all[static_cast<std::size_t>(blocks_.axis)]};
    }
    if (is_channel()) all.erase(all.begin() + blocks_.axis);
    return all;
  }

  // Whether scales lie along the axis that sums keep, in each product that reads the weight.
  [[nodiscard]] bool is_channel() const {
    if (blocks_.kind != Granularity::Kind::axis) return false;
    const auto uses = graph_.uses(node_);
    return !uses.empty() && std::ranges::all_of(uses, [&](const Use& use) {
      const NodeRef reader = graph_.ref(use.user);
      const Product* const product = find_product(reader);
      return product != nullptr && product->weight == use.operand &&
             product->channel(reader, shape_) == blocks_.axis;
    });
  }

  // Whether the last block of several is not full.
  [[nodiscard]] bool is_cut_off() const {
    return blocks_.kind == Granularity::Kind::block && layout_.block == 0 && !is_one(blocks_);
  }

  // Whether all along the axis of such blocks is one, full or not: numbers of blocks broadcast.
  [[nodiscard]] bool is_one(const Granularity& blocks) const {
    return shape_[blocks.axis].value() <= blocks.block_size;
  }

  [[nodiscard]] Constant in(const Layout& layout) const {
    return graph_.constant(codes_.node)->reshaped(Shape(layout.extents));
  }

  // Codes that whoever comes next has elements for: no scales, and read as they are.
  Expected<Value> known_codes(const Constant& codes, const NumberCode& code) {
    if (std::holds_alternative<IntegerCode>(code)) {
      return cast(graph_.add_constant(name_ + "_codes", codes), ElementType::float32);
    }
    const Value stored = graph_.add_constant(name_ + "_codes", codes);
    graph_.set_constant(stored.node, codes, ScaledFormat{NumberFormat{.code = code}, {}, {}, {}});
    return add(ops::Dequantize::kind, {stored}, {});
  }

  // Codes of at most 8 bits, of any shape.
  Expected<Value> looked_up(const Constant& codes, std::vector<float> table, int bits) {
    const auto last = static_cast<unsigned>(table.size() - 1);
    const int packed = packed_bits(bits);
    table.resize(std::size_t{1} << static_cast<unsigned>(packed), 0);
    const std::int64_t each = byte_bits / packed;
    const auto count = static_cast<std::int64_t>(codes.element_count());
    const bool is_full = count % each == 0;
    constexpr std::int64_t slice_of_operands = 10;  // the opset of Slice as it is made here
    if (each == 1 || (!is_full && opset_version(graph_) < slice_of_operands)) {
      const Constant bytes =
          Constant::deferred(ElementType::uint8, codes.shape(),
                             std::make_shared<PackedCodes>(codes, bits, byte_bits, last));
      return gather(this->table(std::move(table), 0), bytes);
    }
    const std::int64_t rows = (count + each - 1) / each;
    const Constant bytes = Constant::deferred(
        ElementType::uint8, Shape{rows}, std::make_shared<PackedCodes>(codes, bits, packed, last));
    const Value pairs = this->table(values_of_bytes(table, packed), each);
    QUADRANT_TRY(Value found, gather(pairs, bytes));
    if (!is_full) {  // the last byte
      QUADRANT_TRY(found, reshape(found, {rows * each}));
      QUADRANT_TRY(found, first(found, count));
    }
    const auto extents = codes.shape().known_extents();
    return reshape(found, {extents.begin(), extents.end()});
  }

  // One table behind the other: an index is a code and where its group's begins.
  Expected<Value> values_of_groups(const StoredTable& stored) {
    QUADRANT_TRY(std::vector<float> table, read_scales(format_.table));
    const Layout layout = layout_of(shape_, stored.groups);
    const auto last = static_cast<unsigned>(stored.levels - 1);
    const Shape groups = parameter_shape(shape_, stored.groups);
    std::vector<std::int32_t> begins(table.size() / static_cast<std::size_t>(stored.levels));
    for (std::size_t i = 0; i < begins.size(); ++i) {
      begins[i] = static_cast<std::int32_t>(i) * stored.levels;
    }
    const Value offsets = graph_.add_constant(
        name_ + "_begins", Constant::from_vector(ElementType::int32, groups, std::move(begins)));
    const Constant bytes =
        Constant::deferred(ElementType::uint8, Shape(layout.extents),
                           std::make_shared<PackedCodes>(in(layout), byte_bits, byte_bits, last));
    QUADRANT_TRY(const Value codes,
                 cast(graph_.add_constant(name_ + "_codes", bytes), ElementType::int32));
    QUADRANT_TRY(const Value indices,
                 combined(ops::Add::kind, codes, offsets, stored.groups, layout));
    QUADRANT_TRY(const Value values, table_of_groups(stored.values, table));
    QUADRANT_TRY(const Value found,
                 add(ops::Gather::kind, {values, indices}, {{"axis", std::int64_t{0}}}));
    if (layout.extents == layout_.extents) return found;
    return reshape(found, layout_.extents);
  }

  // --- scales -----------------------------------------------------------------------------------

  // Of the innermost groups, multiplied from the outermost level on.
  Expected<Value> product(const std::vector<ScaleLevel>& levels,
                          const std::vector<Constant>& numbers) {
    QUADRANT_TRY(Value result, level(levels[0], numbers[0]));
    for (std::size_t i = 1; i < levels.size(); ++i) {
      QUADRANT_TRY(const Value next, level(levels[i], numbers[i]));
      QUADRANT_TRY(result, times(result, levels[i - 1].groups, next, levels[i].groups));
    }
    return result;
  }

  // As float32, of `parameter_shape`.
  Expected<Value> level(const ScaleLevel& level, const Constant& numbers) {
    QUADRANT_TRY(std::vector<float> values, read_scales(numbers));
    const Shape& shape = numbers.shape();
    const auto* integer = std::get_if<IntegerCode>(&level.type);
    // Scales that are to be repeated are no weights of their own, which runtimes would see in them.
    if (integer != nullptr && !is_cut_off()) return integers(shape, values, *integer);
    if (integer != nullptr) return halves(shape, std::move(values), *integer);
    const ElementType type = std::get_if<FloatScale>(&level.type)->type;
    if (small_float(type)) return small_floats(shape, values, type);
    if (type == ElementType::float16) {
      const Constant halves = make_scales(type, shape, std::move(values));
      return cast(graph_.add_constant(name_ + "_scales", halves), ElementType::float32);
    }
    return float_scales(shape, std::move(values));
  }

  Value float_scales(const Shape& shape, std::vector<float> values) {
    return graph_.add_constant(name_ + "_scales",
                               make_scales(ElementType::float32, shape, std::move(values)));
  }

  // Integers as floats of as few bits as hold them.
  Expected<Value> halves(const Shape& shape, std::vector<float> values, const IntegerCode& code) {
    constexpr std::int64_t exact = 2048;  // up to which float16 has all
    if (code.max > exact || code.min < -exact) return float_scales(shape, std::move(values));
    const Constant stored = make_scales(ElementType::float16, shape, std::move(values));
    return cast(graph_.add_constant(name_ + "_scales", stored), ElementType::float32);
  }

  Expected<Value> integers(const Shape& shape, const std::vector<float>& values,
                           const IntegerCode& code) {
    const ElementType element =
        storage_element(code.max > 255 || code.min < -128 ? 32 : byte_bits, code.min < 0);
    std::vector<std::int64_t> numbers(values.size());
    std::ranges::transform(values, numbers.begin(),
                           [](float value) { return static_cast<std::int64_t>(value); });
    const Constant stored = make_zero_points(element, shape, numbers);
    return cast(graph_.add_constant(name_ + "_scales", stored), ElementType::float32);
  }

  Expected<Value> small_floats(const Shape& shape, const std::vector<float>& values,
                               ElementType type) {
    const SmallFloat small = small_float(type).value_or(SmallFloat{});
    std::vector<std::uint8_t> codes(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto bits = small_float_bits(small, values[i]);
      if (!bits) {
        return fail(ErrorCode::invalid_model, fmt::format("a scale of {}, which {} does not have",
                                                          values[i], to_string(type)));
      }
      codes[i] = static_cast<std::uint8_t>(*bits);
    }
    const Constant bytes = Constant::from_vector(ElementType::uint8, shape, std::move(codes));
    if (has_codes_(FloatCode{type}, {})) return known_codes(bytes, FloatCode{type});
    return looked_up(bytes, code_values(FloatCode{type}), byte_bits);
  }

  Expected<Value> zero_points() {
    const Constant& points = format_.offsets.front();
    const auto& code = std::get<IntegerCode>(format_.format.code);
    QUADRANT_TRY(const auto values, read_integers(points, points.element_count()));
    const ElementType element = storage_element(std::max(code.bits, byte_bits), code.is_signed);
    const Value stored = graph_.add_constant(name_ + "_zero_points",
                                             make_zero_points(element, points.shape(), values));
    return cast(stored, ElementType::float32);
  }

  // Numbers of the groups `outer` times those of `inner`, which lie in them.
  Expected<Value> times(Value left, const Granularity& outer, Value right,
                        const Granularity& inner) {
    const Shape wanted = parameter_shape(shape_, inner);
    if (outer.kind == Granularity::Kind::axis && outer != inner) {
      QUADRANT_TRY(left, along(left, outer.axis, wanted.rank()));
    }
    const bool are_blocks = outer.kind == Granularity::Kind::block && outer != inner;
    if (!are_blocks) return add(ops::Multiply::kind, {left, right}, {});
    const std::int64_t count = wanted[outer.axis].value();
    const std::int64_t each = outer.block_size / inner.block_size;
    if (count <= each) return add(ops::Multiply::kind, {left, right}, {});  // one, for all
    const Layout layout = layout_of(wanted, Granularity::per_block(outer.axis, each));
    if (layout.block == 0) {  // the last larger block is not full
      QUADRANT_TRY(left, repeated(left, outer.axis, count, each));
      return add(ops::Multiply::kind, {left, right}, {});
    }
    const auto known = wanted.known_extents();
    QUADRANT_TRY(right, reshape(right, layout.extents));
    QUADRANT_TRY(const Value product, combined(ops::Multiply::kind, right, left,
                                               Granularity::per_block(outer.axis, each), layout));
    return reshape(product, {known.begin(), known.end()});
  }

  // A list as numbers along an axis of a tensor of that rank.
  Expected<Value> along(Value list, std::int64_t axis, std::int64_t rank) {
    std::vector<std::int64_t> extents(static_cast<std::size_t>(rank), 1);
    extents[static_cast<std::size_t>(axis)] = graph_.type(list).shape[0].value();
    return reshape(list, extents);
  }

  // Element i of `axis` is element i / times of `value`.
  Expected<Value> repeated(Value value, std::int64_t axis, std::int64_t count, std::int64_t times) {
    if (count > std::numeric_limits<std::int32_t>::max()) {
      return fail(ErrorCode::impossible, fmt::format("blocks along an axis of {}", count));
    }
    std::vector<std::int32_t> from(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < from.size(); ++i) {
      from[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(i) / times);
    }
    const Value indices = graph_.add_constant(
        name_ + "_blocks",
        Constant::from_vector(ElementType::int32, Shape{count}, std::move(from)));
    return add(ops::Gather::kind, {value, indices}, {{"axis", axis}});
  }

  // `kind` of every element of `value`, in that layout of those groups, and the number of its
  // group.
  Expected<Value> combined(std::string_view kind, Value value, Value numbers,
                           const Granularity& groups, const Layout& layout) {
    if (groups.kind == Granularity::Kind::axis) {
      QUADRANT_TRY(numbers, along(numbers, groups.axis, shape_.rank()));
    } else if (layout.block != 0) {
      std::vector<std::int64_t> ones = layout.extents;
      ones[static_cast<std::size_t>(groups.axis) + 1] = 1;
      QUADRANT_TRY(numbers, reshape(numbers, ones));
    } else if (groups.kind == Granularity::Kind::block && !is_one(groups)) {
      const std::int64_t extent = shape_[groups.axis].value();
      QUADRANT_TRY(numbers, repeated(numbers, groups.axis, extent, groups.block_size));
    }
    return add(kind, {value, numbers}, {});
  }

  // --- nodes ------------------------------------------------------------------------------------

  // As many rows as `values` has, of `columns`; 0: a list.
  Value table(std::vector<float> values, std::int64_t columns) {
    const auto [known, is_new] = tables_.emplace(std::pair(values, columns), Value{});
    if (!is_new) return known->second;
    const auto count = static_cast<std::int64_t>(values.size());
    const Shape shape = columns == 0 ? Shape{count} : Shape{count / columns, columns};
    known->second = graph_.add_constant(
        "values_of_codes", Constant::from_vector(ElementType::float32, shape, std::move(values)));
    return known->second;
  }

  // As many values as there are weights, perhaps: as narrow as they are.
  Expected<Value> table_of_groups(ElementType element, const std::vector<float>& values) {
    if (element != ElementType::float16) return table(values, 0);
    const Shape shape{static_cast<std::int64_t>(values.size())};
    return cast(graph_.add_constant(name_ + "_tables", make_scales(element, shape, values)),
                ElementType::float32);
  }

  Expected<Value> gather(Value table, const Constant& bytes) {
    QUADRANT_TRY(const Value indices,
                 cast(graph_.add_constant(name_ + "_codes", bytes), ElementType::int32));
    return add(ops::Gather::kind, {table, indices}, {{"axis", std::int64_t{0}}});
  }

  Expected<Value> cast(Value value, ElementType to) {
    return add(ops::Cast::kind, {value}, {{"to", element_type_number(to)}});
  }

  Expected<Value> reshape(Value value, const std::vector<std::int64_t>& extents) {
    const auto rank = static_cast<std::int64_t>(extents.size());
    const Value shape = graph_.add_constant(
        name_ + "_shape", Constant::from_vector(ElementType::int64, Shape{rank}, extents));
    return add(ops::Reshape::kind, {value, shape}, {});
  }

  Expected<Value> first(Value list, std::int64_t count) {
    const auto bound = [&](std::string_view of, std::int64_t at) {
      return graph_.add_constant(
          name_ + std::string(of),
          Constant::from_vector(ElementType::int64, Shape{1}, std::vector{at}));
    };
    return add(ops::Slice::kind, {list, bound("_begin", 0), bound("_end", count)}, {});
  }

  Expected<Value> add(std::string_view kind, std::vector<Value> operands, Attributes attributes) {
    const NodeId made = graph_.add({.kind = std::string(kind),
                                    .operands = std::move(operands),
                                    .results = {{name_, {}}},
                                    .attributes = std::move(attributes)});
    QUADRANT_CHECK(detail::infer_node(graph_, made));
    return Value{made};
  }

  Graph& graph_;
  NodeId node_;
  Value codes_;
  Shape shape_;
  ScaledFormat format_;
  Granularity blocks_;
  Layout layout_;
  std::string name_;
  HasCodes has_codes_;
  Tables& tables_;
  bool has_elements_ = false;
};

// Of codes without scales: files have blocks as the last of three axes.
std::span<const std::int64_t> sums_of(const Shape& shape) {
  const auto extents = shape.known_extents();
  return shape.rank() > 2 ? extents.last(1) : extents;
}

bool makes_other_codes(NodeRef node) {
  return node.kind() == ops::Quantize::kind && node.type().quantization.other() != nullptr;
}

std::string no_maker(const TensorType& codes) {
  return fmt::format(
      "no operation of the file makes codes of {} from float values; ONNX has those of f8e4m3 and "
      "f8e5m2",
      to_string(codes.quantization.other()->format));
}

// What nobody reads would be in the way of whoever has no such type.
void erase_unread(Graph& graph, Sink* sink) {
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    if (!node.is_valid() || graph.constant(node) == nullptr) continue;
    if (!graph.uses(node).empty() || !graph.type({node}).quantization.other()) continue;
    if (sink != nullptr) {
      sink->report({Severity::note,
                    "no operation reads it, and the file may have no such type: left out",
                    {.tensor = std::string(graph.value_name({node}))}});
    }
    graph.erase(node);
  }
}

}  // namespace

Expected<void> make_formats_explicit(Graph& graph, Sink* sink, HasCodes has_codes) {
  std::int64_t count = 0;
  Tables tables;
  const std::uint32_t end = graph.index_bound();
  for (std::uint32_t index = 0; index < end; ++index) {
    const NodeId node = graph.node_at(index);
    if (!node.is_valid()) continue;
    if (makes_other_codes(graph.ref(node))) {
      return fail(
          detail::at(graph.ref(node), {ErrorCode::impossible, no_maker(graph.type({node}))}));
    }
    if (graph.kind(node) != ops::Dequantize::kind) continue;
    const TensorType& codes = graph.type(graph.operands(node)[0]);
    const ScaledFormat* const format = codes.quantization.other().get();
    if (format == nullptr) continue;
    const bool is_integer = std::holds_alternative<IntegerCode>(format->format.code);
    if (!is_integer && format->format.scales.empty() &&
        has_codes(format->format.code, sums_of(codes.shape))) {
      continue;
    }
    Arithmetic arithmetic(graph, node, has_codes, tables);
    const auto made = arithmetic.run();
    if (!made) return fail(detail::at(graph.ref(node), made.error()));
    put_in_place(graph, node, *made);
    if (!arithmetic.has_elements()) ++count;
  }
  erase_unread(graph, sink);
  if (count > 0 && sink != nullptr) {
    sink->report({Severity::note,
                  fmt::format("{} {} codes that the file has no type for, or rows that are looked "
                              "up: written as arithmetic on integers",
                              counted(count, "weight"), count == 1 ? "has" : "have"),
                  {}});
  }
  return {};
}

}  // namespace quadrant::inline v0
