#include "io/mlir/region.hpp"

#include <fmt/format.h>

#include <array>

#include "io/mlir/failure.hpp"
#include "io/mlir/text.hpp"

namespace quadrant::inline v0::mlir_ir {

bool is_unsigned(ElementType element) {
  return to_string(element).starts_with('u') && is_integer(element);
}

namespace {

bool is_number(ElementType element) { return is_integer(element) || is_float(element); }

}  // namespace

std::string Names::next() { return fmt::format("%{}", made_++); }

std::string_view operation_of(const Arithmetic& arithmetic, ElementType element) {
  if (is_float(element)) return arithmetic.real;
  if (!is_integer(element)) impossible(fmt::format("numbers of type {}", to_string(element)));
  return is_unsigned(element) ? arithmetic.unsigned_integer : arithmetic.integer;
}

Region::Region(Names& names, std::span<const ElementType> arguments)
    : names_(names), text_("({\n    ^bb0(") {
  arguments_.reserve(arguments.size());
  for (const ElementType element : arguments) {
    arguments_.push_back({names_.next(), element});
    if (arguments_.size() > 1) text_ += ", ";
    text_ += fmt::format("{}: {}", arguments_.back().name, name_of(element));
  }
  text_ += "):\n";
}

std::string Region::line(std::string_view op, std::span<const std::string> operands,
                         std::string_view properties, std::span<const std::string> types,
                         std::string_view result) {
  std::string name = names_.next();
  text_ += fmt::format("      {} = \"{}\"({}){}{}{} : ({}) -> {}\n", name, op, joined(operands),
                       properties.empty() ? "" : " <{", properties, properties.empty() ? "" : "}>",
                       joined(types), result);
  return name;
}

Scalar Region::apply(std::string_view op, std::initializer_list<Scalar> operands) {
  std::vector<std::string> names;
  names.reserve(operands.size());
  for (const Scalar& operand : operands) names.push_back(operand.name);
  const ElementType element = operands.begin()->element;
  const std::string type(name_of(element));
  return {line(op, names, {}, std::vector(names.size(), type), type), element};
}

Scalar Region::convert(std::string_view op, const Scalar& operand, ElementType element) {
  return {line(op, std::array{operand.name}, {}, std::array{std::string(name_of(operand.element))},
               name_of(element)),
          element};
}

Scalar Region::number(ElementType element, double value) {
  const std::string_view type = name_of(element);
  return {line("arith.constant", {},
               fmt::format("value = {} : {}", number_text(element, value), type), {}, type),
          element};
}

Scalar Region::add(const Scalar& a, const Scalar& b) {
  return apply(operation_of(addition, a.element), {a, b});
}
Scalar Region::subtract(const Scalar& a, const Scalar& b) {
  return apply(operation_of(subtraction, a.element), {a, b});
}
Scalar Region::multiply(const Scalar& a, const Scalar& b) {
  return apply(operation_of(multiplication, a.element), {a, b});
}
Scalar Region::divide(const Scalar& a, const Scalar& b) {
  return apply(operation_of(division, a.element), {a, b});
}
Scalar Region::larger(const Scalar& a, const Scalar& b) {
  return apply(operation_of(maximum, a.element), {a, b});
}
Scalar Region::smaller(const Scalar& a, const Scalar& b) {
  return apply(operation_of(minimum, a.element), {a, b});
}

Scalar Region::test(Test test, const Scalar& a, const Scalar& b) {
  struct Predicates {
    int real;  // ordered, but for `unequal`
    int integer;
    int unsigned_integer;
  };
  // The numbers of arith's CmpFPredicate and CmpIPredicate: equal, unequal, less, less or equal.
  constexpr std::array<Predicates, 4> predicates{{{1, 0, 0}, {13, 1, 1}, {4, 2, 6}, {5, 3, 7}}};
  const Predicates& row = predicates[static_cast<std::size_t>(test)];
  const int integer = is_unsigned(a.element) || a.element == ElementType::boolean
                          ? row.unsigned_integer
                          : row.integer;
  const std::string type(name_of(a.element));
  return {line(is_float(a.element) ? "arith.cmpf" : "arith.cmpi", std::array{a.name, b.name},
               fmt::format("predicate = {} : i64", is_float(a.element) ? row.real : integer),
               std::array{type, type}, "i1"),
          ElementType::boolean};
}

Scalar Region::select(const Scalar& condition, const Scalar& yes, const Scalar& no) {
  const std::string type(name_of(yes.element));
  return {line("arith.select", std::array{condition.name, yes.name, no.name}, {},
               std::array{std::string("i1"), type, type}, type),
          yes.element};
}

Scalar Region::cast(const Scalar& value, ElementType to) {
  const ElementType from = value.element;
  if (from == to) return value;
  if (to == ElementType::boolean) return test(Test::unequal, value, number(value, 0));
  if (!is_number(to)) impossible(fmt::format("a cast to {}", to_string(to)));
  const bool from_unsigned = from == ElementType::boolean || is_unsigned(from);
  const int from_bits = bit_width(from);
  const int to_bits = bit_width(to);
  if (is_float(from) && is_float(to)) {
    if (from_bits < to_bits) return convert("arith.extf", value, to);
    if (from_bits > to_bits) return convert("arith.truncf", value, to);
    return cast(cast(value, ElementType::float32), to);  // float16 and bfloat16
  }
  if (is_float(from)) {
    return convert(is_unsigned(to) ? "arith.fptoui" : "arith.fptosi", value, to);
  }
  if (is_float(to)) {
    return convert(from_unsigned ? "arith.uitofp" : "arith.sitofp", value, to);
  }
  if (from_bits < to_bits) {
    return convert(from_unsigned ? "arith.extui" : "arith.extsi", value, to);
  }
  if (from_bits > to_bits) return convert("arith.trunci", value, to);
  return {value.name, to};
}

std::string Region::index(std::size_t loop) {
  return line("linalg.index", {}, fmt::format("dim = {} : i64", loop), {}, "index");
}

std::string Region::index_number(std::int64_t value) {
  return line("arith.constant", {}, fmt::format("value = {} : index", value), {}, "index");
}

std::string Region::index_of(const Scalar& value, std::int64_t extent) {
  const Scalar wide = cast(value, ElementType::int64);
  const Scalar from_end = add(wide, number(wide, static_cast<double>(extent)));
  const Scalar found = select(test(Test::less, wide, number(wide, 0)), from_end, wide);
  return line("arith.index_cast", std::array{found.name}, {}, std::array{std::string("i64")},
              "index");
}

std::string Region::moved_index(const std::string& index, std::int64_t start, std::int64_t step) {
  const std::array<std::string, 2> types{"index", "index"};
  std::string scaled =
      step == 1 ? index
                : line("arith.muli", std::array{index, index_number(step)}, {}, types, "index");
  if (start == 0) return scaled;
  return line("arith.addi", std::array{scaled, index_number(start)}, {}, types, "index");
}

Scalar Region::extract(const std::string& tensor, const std::string& type, ElementType element,
                       std::span<const std::string> indices) {
  std::vector<std::string> operands{tensor};
  operands.insert(operands.end(), indices.begin(), indices.end());
  std::vector<std::string> types(operands.size(), "index");
  types[0] = type;
  return {line("tensor.extract", operands, {}, types, name_of(element)), element};
}

void Region::yield(const Scalar& value) {
  text_ +=
      fmt::format("      \"linalg.yield\"({}) : ({}) -> ()\n", value.name, name_of(value.element));
}

std::string Region::text() const { return text_ + "    })"; }

}  // namespace quadrant::inline v0::mlir_ir
