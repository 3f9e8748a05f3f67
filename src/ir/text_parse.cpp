#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ir/base64.hpp"
#include "ir/codes_text.hpp"
#include "ir/scales.hpp"
#include "ir/text_numbers.hpp"
#include "ir/text_scanner.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/number_format.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/text.hpp"

namespace quadrant::inline v0 {
namespace {

using detail::Number;
using detail::Scanner;

// What `<...>` is read back as, of any size, without taking memory.
class Zeros final : public ConstantSource {
 public:
  [[nodiscard]] Expected<void> read(std::uint64_t /*offset*/,
                                    std::span<std::byte> out) const override {
    std::ranges::fill(out, std::byte{0});
    return {};
  }
};

// The text may claim any size; beyond this it is taken for damage.
constexpr std::uint64_t largest_constant = std::uint64_t{1} << 40U;
// Attributes are searched one by one.
constexpr std::size_t largest_dict = 4096;

// Of 4-bit integers, which take a byte each, not every byte is one.
bool are_elements(ElementType element, std::span<const std::byte> bytes) {
  if (bit_width(element) != 4) return true;
  const auto range = integer_range(element).value_or(IntegerRange{});
  return std::ranges::all_of(bytes, [&](std::byte one) {
    const auto bits = std::to_integer<std::uint8_t>(one);
    const int value = range.min < 0 ? int{static_cast<std::int8_t>(bits)} : int{bits};
    return value >= range.min && value <= range.max;
  });
}

class Parser {
 public:
  /// `is_model`: nothing is left out, and each node keeps the verifier's rules.
  Parser(std::string_view text, bool is_model) : scan_(text), text_(text), is_model_(is_model) {}

  Expected<Graph> run() {
    if (scan_.accept_word("graph", '{')) {
      QUADRANT_TRY(graph_.attributes(), dict(nullptr));
      QUADRANT_CHECK(scan_.end_of_line());
    }
    if (scan_.accept_word("reserved", '[')) {
      QUADRANT_CHECK(reserved());
      QUADRANT_CHECK(scan_.end_of_line());
    }
    while (!scan_.at_end()) {
      QUADRANT_CHECK(node());
      QUADRANT_CHECK(scan_.end_of_line());
    }
    return std::move(graph_);
  }

 private:
  // --- nodes ------------------------------------------------------------------------------------

  // Of subgraphs, which are carried.
  Expected<void> reserved() {
    const std::size_t at = scan_.position();
    QUADRANT_TRY(const Attribute names, list());
    const auto* strings = std::get_if<std::vector<std::string>>(&names);
    if (strings == nullptr) return scan_.error(at, "expected names as strings");
    for (const std::string& name : *strings) graph_.reserve_name(name);
    return {};
  }

  Expected<void> node() {
    const std::size_t at = scan_.position();
    NodeSpec spec;
    if (scan_.next_is('%')) {
      do {
        QUADRANT_TRY(ResultSpec result, this->result());
        spec.results.push_back(std::move(result));
      } while (scan_.accept(","));
      QUADRANT_CHECK(scan_.expect("="));
    }
    QUADRANT_TRY(spec.kind, scan_.word_or_string(detail::is_kind_char, "an operation"));
    QUADRANT_CHECK(scan_.expect("("));
    if (!scan_.accept(")")) {
      do {
        QUADRANT_TRY(const Value operand, this->operand());
        spec.operands.push_back(operand);
      } while (scan_.accept(","));
      QUADRANT_CHECK(scan_.expect(")"));
    }
    if (spec.kind == ops::Constant::kind) {
      QUADRANT_TRY(spec.constant, constant_of(spec));
    }
    if (scan_.next_is('{')) {
      QUADRANT_TRY(spec.attributes, dict(&spec.name));
    }
    if (!is_model_) {
      graph_.add(std::move(spec));
      return {};
    }
    if (spec.kind == ops::Output::kind) {
      QUADRANT_CHECK(name_port(spec, output_names_, at));
    }
    if (spec.kind == ops::Input::kind) {
      QUADRANT_CHECK(name_port(spec, input_names_, at));
    }
    return valid(graph_.add(std::move(spec)), at);
  }

  // Callers know inputs and outputs by name: one without is called as its value.
  Expected<void> name_port(NodeSpec& spec, std::unordered_set<std::string>& names,
                           std::size_t at) const {
    if (spec.name.empty() && !spec.results.empty()) spec.name = spec.results[0].name;
    if (spec.name.empty() && !spec.operands.empty() && !spec.operands[0].is_absent()) {
      spec.name = graph_.value_name(spec.operands[0]);
    }
    if (names.insert(spec.name).second) return {};
    return scan_.error(at, fmt::format("two {}s are called '{}': give one another name, {{name = "
                                       "\"...\"}}",
                                       spec.kind, spec.name));
  }

  // Of a node that starts `at`.
  [[nodiscard]] Expected<void> valid(NodeId id, std::size_t at) const {
    auto checked = verify(graph_.ref(id));
    if (checked) return {};
    Error error = std::move(checked).error();
    error.message = scan_.error(at, error.message).value().message;
    return fail(std::move(error));
  }

  Expected<ResultSpec> result() {
    ResultSpec result;
    const std::size_t at = scan_.position();
    QUADRANT_TRY(result.name, scan_.value_name());
    if (!names_.insert(result.name).second) return scan_.error(at, "this value is there already");
    QUADRANT_CHECK(scan_.expect(":"));
    QUADRANT_TRY(result.type, type());
    return result;
  }

  Expected<Value> operand() {
    if (scan_.accept("_")) return Value{};
    const std::size_t at = scan_.position();
    QUADRANT_TRY(const std::string name, scan_.value_name());
    const Value value = graph_.find_value(name);
    if (value.is_absent()) return scan_.error(at, "no value of this name is made before");
    return value;
  }

  // --- types ------------------------------------------------------------------------------------

  Expected<ElementType> element_type() {
    const std::size_t at = scan_.position();
    const auto element = parse_element_type(scan_.word());
    if (!element) return scan_.error(at, "expected an element type, for example f32");
    return *element;
  }

  Expected<TensorType> type() {
    TensorType type;
    QUADRANT_CHECK(scan_.expect("tensor"));
    QUADRANT_CHECK(scan_.expect("<"));
    if (scan_.accept("*x")) {
      type.shape = Shape();
    } else {
      std::vector<Extent> extents;
      while (scan_.next_is_digit() || scan_.next_is('?')) {
        Extent extent = Extent::open();
        if (!scan_.accept("?")) {
          QUADRANT_TRY(extent, scan_.digits());
        }
        extents.push_back(extent);
        QUADRANT_CHECK(scan_.expect("x"));
      }
      type.shape = Shape(std::move(extents));
    }
    if (scan_.next_is('!')) {
      if (scan_.accept("!quadrant.numbers<")) {
        QUADRANT_TRY(type.quantization, numbers(type.shape));
      } else {
        QUADRANT_TRY(type.quantization, uniform_type(type.shape));
      }
      type.element = type.quantization.storage();
    } else {
      QUADRANT_TRY(type.element, element_type());
    }
    QUADRANT_CHECK(scan_.expect(">"));
    return type;
  }

  Expected<std::shared_ptr<const UniformType>> uniform_type(const Shape& shape) {
    const std::size_t start = scan_.position();
    UniformType type;
    QUADRANT_CHECK(scan_.expect("!quant.uniform<"));
    QUADRANT_TRY(const detail::CodesText codes, detail::parse_codes(scan_));
    type.storage = codes.storage;
    type.storage_bits = codes.storage_bits;
    type.storage_min = codes.storage_min;
    type.storage_max = codes.storage_max;
    QUADRANT_CHECK(scan_.expect(":"));
    QUADRANT_TRY(type.expressed, element_type());
    QUADRANT_TRY(type.granularity, granularity());
    QUADRANT_CHECK(scan_.expect(","));
    QUADRANT_CHECK(parameters(type, shape));
    QUADRANT_CHECK(scan_.expect(">"));

    // Equal texts are one type, as they were before they were printed.
    std::string key(text_.substr(start, scan_.offset() - start));
    key += to_string(type.scales.shape());
    auto& known = types_[std::move(key)];
    if (!known) known = std::make_shared<const UniformType>(std::move(type));
    return known;
  }

  // Equal texts are one type, as above.
  Expected<Quantization> numbers(const Shape& shape) {
    const std::size_t start = scan_.position();
    QUADRANT_TRY(const std::string text, scan_.string());
    auto format = parse_number_format(text);
    if (!format) return scan_.error(start, format.error().message);
    const auto fits = verify(*format, shape);
    if (!fits) return scan_.error(start, fits.error().message);
    std::vector<Constant> contents;
    for (const FormatPart& part : parts_of(*format)) {
      QUADRANT_CHECK(scan_.expect(","));
      QUADRANT_TRY(contents.emplace_back(), this->part(part, shape));
    }
    QUADRANT_CHECK(scan_.expect(">"));
    const std::string key(text_.substr(start, scan_.offset() - start));
    auto& known = numbers_[key + to_string(shape)];
    if (!known) known = Quantization(with_contents(*std::move(format), contents));
    return known;
  }

  Expected<Constant> part(const FormatPart& part, const Shape& shape) {
    const std::size_t at = scan_.position();
    QUADRANT_CHECK(scan_.expect("["));
    if (scan_.accept("...")) return left_out(at, "the scales");
    Shape expected = shape_of(part, shape);
    if (!expected.is_static()) {
      return scan_.error(at, "how many numbers of the format there are depends on an open extent");
    }
    std::vector<std::byte> bytes;
    std::int64_t count = 0;
    if (!scan_.accept("]")) {
      do {
        QUADRANT_TRY(const Number number, scan_.number());
        QUADRANT_CHECK(detail::append_element(scan_, part.element, number, bytes));
        ++count;
      } while (scan_.accept(","));
      QUADRANT_CHECK(scan_.expect("]"));
    }
    if (expected.element_count() != count) {
      return scan_.error(
          at, fmt::format("{} numbers where [{}] are needed", count, to_string(expected)));
    }
    return Constant::from_bytes(part.element, std::move(expected), std::move(bytes));
  }

  Expected<Granularity> granularity() {
    if (!scan_.accept(":")) return Granularity::per_tensor();
    if (!scan_.accept("{")) {
      QUADRANT_TRY(const std::int64_t axis, integer());
      return Granularity::per_axis(axis);
    }
    QUADRANT_TRY(const std::int64_t axis, integer());
    QUADRANT_CHECK(scan_.expect(":"));
    QUADRANT_TRY(const std::int64_t size, integer());
    QUADRANT_CHECK(scan_.expect("}"));
    return Granularity::per_block(axis, size);
  }

  Expected<void> parameters(UniformType& type, const Shape& shape) {
    const std::size_t at = scan_.position();
    ElementType element = ElementType::float32;
    if (scan_.accept("f16")) element = ElementType::float16;
    if (scan_.accept("f64")) element = ElementType::float64;
    const bool many = scan_.accept("{");
    if (many && scan_.accept("...")) return left_out(at, "the scales");
    if (many != (type.granularity.kind != Granularity::Kind::tensor)) {
      return scan_.error(at, many ? "one scale was expected" : "scales in braces were expected");
    }
    std::vector<double> scales;
    std::vector<std::byte> zero_points;
    bool has_zero_points = false;
    if (!many || !scan_.accept("}")) {
      do {
        QUADRANT_TRY(const Number scale, scan_.number());
        if (element == ElementType::float64) {
          QUADRANT_TRY(const double value, detail::to_double(scan_, scale));
          scales.push_back(value);
        } else {
          QUADRANT_TRY(const float value, detail::to_float(scan_, scale));
          scales.push_back(static_cast<double>(value));
        }
        const bool stated = scan_.accept(":");
        has_zero_points = has_zero_points || stated;
        Number zero_point{.text = "0", .at = scale.at};
        if (stated) {
          QUADRANT_TRY(zero_point, scan_.number());
        }
        QUADRANT_CHECK(detail::append_element(scan_, type.storage, zero_point, zero_points));
      } while (many && scan_.accept(","));
      if (many) QUADRANT_CHECK(scan_.expect("}"));
    }
    QUADRANT_TRY(Shape parameters, scales_shape(type.granularity, shape,
                                                static_cast<std::int64_t>(scales.size()), at));
    if (has_zero_points) {
      type.zero_points = Constant::from_bytes(type.storage, parameters, std::move(zero_points));
    }
    type.scales = make_exact_scales(element, std::move(parameters), scales);
    return {};
  }

  Expected<Shape> scales_shape(const Granularity& granularity, const Shape& shape,
                               std::int64_t count, std::size_t at) {
    if (granularity.kind == Granularity::Kind::tensor) return Shape(std::vector<std::int64_t>{});
    const bool blocks = granularity.kind == Granularity::Kind::block;
    if (!shape.is_ranked() && !blocks) return Shape{count};
    if (granularity.axis < 0 || granularity.axis >= shape.rank() ||
        (blocks && granularity.block_size < 1)) {
      return scan_.error(at, "the quantized axis or block does not fit the shape");
    }
    Shape expected = parameter_shape(shape, granularity);
    if (!blocks && !expected[0].is_known()) return Shape{count};
    if (expected.element_count() != count) {
      return scan_.error(
          at, fmt::format("{} scales where [{}] are needed", count, to_string(expected)));
    }
    return expected;
  }

  Expected<std::int64_t> integer() {
    QUADRANT_TRY(const Number number, scan_.number());
    return detail::to_integer(scan_, number);
  }

  // --- constants --------------------------------------------------------------------------------

  Expected<Constant> constant_of(const NodeSpec& spec) {
    const std::string what = spec.results.empty()
                                 ? "the contents"
                                 : fmt::format("the contents of '{}'", spec.results[0].name);
    if (scan_.accept_word("tensor", '<')) return constant(what);
    if (!scan_.next_is('[') && !scan_.next_is('<') && !next_is_base64()) return Constant();
    if (spec.results.size() != 1) {
      return scan_.error(scan_.position(), "a constant must have one result");
    }
    return contents(spec.results[0].type.element, spec.results[0].type.shape, what);
  }

  bool next_is_base64() {
    if (!scan_.accept_word("base64", '(')) return false;
    scan_.step_back("base64");
    return true;
  }

  [[nodiscard]] tl::unexpected<Error> left_out(std::size_t at, std::string_view what) const {
    return scan_.error(at, fmt::format("{} were left out when this was printed for people: "
                                       "'quadrant convert MODEL OUT.qd' writes all",
                                       what));
  }

  // After the word `tensor`. `what` it is, for messages.
  Expected<Constant> constant(std::string_view what) {
    if (scan_.accept("<>")) return Constant();
    scan_.step_back("tensor");
    const std::size_t at = scan_.position();
    QUADRANT_TRY(TensorType type, this->type());
    if (type.is_quantized()) return scan_.error(at, "contents have a plain type");
    return contents(type.element, std::move(type.shape), what);
  }

  Expected<Constant> contents(ElementType element, Shape shape, std::string_view what) {
    const std::size_t at = scan_.position();
    const auto count = shape.element_count();
    const auto width = static_cast<std::uint64_t>(byte_width(element));
    if (!count ||
        static_cast<std::uint64_t>(*count) > largest_constant / std::max<std::uint64_t>(width, 1)) {
      return scan_.error(at, "the shape of contents must be known and below a tebibyte");
    }
    if (scan_.accept("<...>")) {
      if (is_model_) return left_out(at, what);
      return Constant::deferred(element, std::move(shape), std::make_shared<Zeros>());
    }
    if (width == 0) {
      return scan_.error(at, fmt::format("there are no contents of type {}", to_string(element)));
    }
    if (scan_.accept_word("base64", '(')) {
      QUADRANT_CHECK(scan_.expect("("));
      QUADRANT_TRY(const std::string digits, scan_.string());
      QUADRANT_CHECK(scan_.expect(")"));
      auto bytes = detail::from_base64(digits);
      if (!bytes || !are_elements(element, *bytes)) {
        return scan_.error(at, fmt::format("this is not base64 of {}", to_string(element)));
      }
      if (bytes->size() != static_cast<std::uint64_t>(*count) * width) {
        return scan_.error(at, fmt::format("{} bytes where {} numbers of {} were expected",
                                           bytes->size(), *count, to_string(element)));
      }
      return Constant::from_bytes(element, std::move(shape), *std::move(bytes));
    }
    QUADRANT_CHECK(scan_.expect("["));
    std::vector<std::byte> bytes;
    std::int64_t found = 0;
    if (!scan_.accept("]")) {
      do {
        QUADRANT_TRY(const Number number, scan_.number());
        if (++found > *count) break;
        QUADRANT_CHECK(detail::append_element(scan_, element, number, bytes));
      } while (scan_.accept(","));
      if (found <= *count) QUADRANT_CHECK(scan_.expect("]"));
    }
    if (found != *count) {
      return scan_.error(at, fmt::format("{} numbers were expected, these are {}", *count,
                                         found > *count ? "more" : "fewer"));
    }
    return Constant::from_bytes(element, std::move(shape), std::move(bytes));
  }

  // --- attributes -------------------------------------------------------------------------------

  // Where there is a `node_name`, the bare word `name` is it.
  Expected<Attributes> dict(std::string* node_name) {
    Attributes attributes;
    QUADRANT_CHECK(scan_.expect("{"));
    if (scan_.accept("}")) return attributes;
    do {
      const std::size_t at = scan_.position();
      if (attributes.size() == largest_dict) return scan_.error(at, "too many attributes");
      const bool quoted = scan_.next_is('"');
      QUADRANT_TRY(std::string key, scan_.word_or_string(detail::is_key_char, "an attribute"));
      QUADRANT_CHECK(scan_.expect("="));
      if (node_name && !quoted && key == "name") {
        QUADRANT_TRY(*node_name, scan_.string());
        continue;
      }
      if (attributes.find(key)) return scan_.error(at, "this attribute is there already");
      QUADRANT_TRY(Attribute value, attribute(key));
      attributes.set(std::move(key), std::move(value));
    } while (scan_.accept(","));
    QUADRANT_CHECK(scan_.expect("}"));
    return attributes;
  }

  Expected<Attribute> attribute(std::string_view key) {
    const std::string what = fmt::format("the contents of the attribute '{}'", key);
    if (scan_.next_is('"')) return scan_.string();
    if (scan_.next_is('[')) return list();
    if (scan_.accept_word("real", '[')) return empty_list<double>();
    if (scan_.accept_word("string", '[')) return empty_list<std::string>();
    if (scan_.accept_word("tensor", '<')) return constant(what);
    if (scan_.accept_word("opaque", '(')) return opaque(what);
    QUADRANT_TRY(const Number number, scan_.number());
    if (number.is_integer()) return detail::to_integer(scan_, number);
    return detail::to_double(scan_, number);
  }

  template <class T>
  Expected<Attribute> empty_list() {
    QUADRANT_CHECK(scan_.expect("["));
    QUADRANT_CHECK(scan_.expect("]"));
    return std::vector<T>{};
  }

  Expected<Attribute> list() {
    QUADRANT_CHECK(scan_.expect("["));
    std::vector<std::string> strings;
    std::vector<std::int64_t> integers;
    std::vector<double> reals;
    if (scan_.accept("]")) return integers;
    do {
      const std::size_t at = scan_.position();
      if (scan_.next_is('"')) {
        QUADRANT_TRY(std::string value, scan_.string());
        strings.push_back(std::move(value));
      } else {
        QUADRANT_TRY(const Number number, scan_.number());
        if (number.is_integer()) {
          QUADRANT_TRY(const std::int64_t value, detail::to_integer(scan_, number));
          integers.push_back(value);
        } else {
          QUADRANT_TRY(const double value, detail::to_double(scan_, number));
          reals.push_back(value);
        }
      }
      if (int{strings.empty()} + int{integers.empty()} + int{reals.empty()} != 2) {
        return scan_.error(at, "a list holds integers, reals (with a point) or strings, not a mix");
      }
    } while (scan_.accept(","));
    QUADRANT_CHECK(scan_.expect("]"));
    if (!strings.empty()) return strings;
    if (!integers.empty()) return integers;
    return reals;
  }

  // After the word `opaque`.
  Expected<Attribute> opaque(std::string_view what) {
    Opaque opaque;
    QUADRANT_CHECK(scan_.expect("("));
    QUADRANT_TRY(opaque.format, scan_.string());
    QUADRANT_CHECK(scan_.expect(","));
    if (scan_.accept("0x")) {
      QUADRANT_TRY(std::vector<std::byte> bytes, scan_.hex_bytes());
      const auto size = static_cast<std::int64_t>(bytes.size());
      opaque.bytes = Constant::from_bytes(ElementType::uint8, {size}, std::move(bytes));
    } else if (scan_.accept_word("tensor", '<')) {
      QUADRANT_TRY(opaque.bytes, constant(what));
    } else {
      return scan_.error(scan_.position(), "expected bytes, for example 0x00ff");
    }
    QUADRANT_CHECK(scan_.expect(")"));
    return opaque;
  }

  Scanner scan_;
  std::string_view text_;
  bool is_model_;
  Graph graph_;
  std::unordered_set<std::string> names_;
  std::unordered_set<std::string> input_names_;
  std::unordered_set<std::string> output_names_;
  std::unordered_map<std::string, std::shared_ptr<const UniformType>> types_;
  std::unordered_map<std::string, Quantization> numbers_;
};

}  // namespace

Expected<Graph> parse_graph(std::string_view text) { return Parser(text, false).run(); }

Expected<Graph> parse_model(std::string_view text) { return Parser(text, true).run(); }

}  // namespace quadrant::inline v0
