#include "io/mlir/lower.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "io/mlir/dense.hpp"
#include "io/mlir/failure.hpp"
#include "io/mlir/rules.hpp"
#include "io/mlir/text.hpp"
#include "ir/opset.hpp"
#include "numerics/reals.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::mlir_ir {
namespace {

std::string in_braces(std::string_view open, const std::string& text, std::string_view close) {
  return text.empty() ? std::string() : fmt::format(" {}{}{}", open, text, close);
}

/// Of an argument or a result.
std::string border_attributes(std::string_view name, const TensorType& type) {
  std::string text = fmt::format("quadrant.name = {}", quoted(name));
  const std::string_view element = to_string(type.element);
  if (!type.is_quantized() && element.starts_with('u')) {
    text += fmt::format(", quadrant.element = {}", quoted(element));
  }
  return "{" + text + "}";
}

std::string segments(std::size_t inputs, std::size_t outputs) {
  return fmt::format("operandSegmentSizes = array<i32: {}, {}>", inputs, outputs);
}

TensorType plain(ElementType element, const Shape& shape) { return {element, shape, nullptr}; }

bool is_fixed(const Shape& shape) { return shape.is_static() && shape.element_count(); }

}  // namespace

std::string broadcast_map(const Shape& operand, const Shape& result) {
  const std::int64_t offset = result.rank() - operand.rank();
  if (offset < 0) invalid("an operand of more axes than the result");
  std::vector<std::int64_t> loops;
  for (std::int64_t axis = 0; axis < operand.rank(); ++axis) {
    const bool is_stretched =
        surely_equal(operand[axis], 1) && !surely_equal(result[axis + offset], 1);
    if (!is_stretched && !surely_equal(operand[axis], result[axis + offset])) {
      invalid(fmt::format("an operand {} that does not broadcast to {}", to_string(operand),
                          to_string(result)));
    }
    loops.push_back(is_stretched ? -1 : axis + offset);
  }
  return map_of_loops(static_cast<std::size_t>(result.rank()), loops);
}

Shape broadcast_shape(const Shape& a, const Shape& b) {
  const Shape& longer = a.rank() < b.rank() ? b : a;
  const Shape& other = a.rank() < b.rank() ? a : b;
  std::vector<Extent> extents(longer.extents().begin(), longer.extents().end());
  const std::int64_t offset = longer.rank() - other.rank();
  for (std::int64_t axis = 0; axis < other.rank(); ++axis) {
    Extent& extent = extents[static_cast<std::size_t>(axis + offset)];
    if (surely_equal(extent, 1)) extent = other[axis];
    if (!surely_equal(other[axis], 1) && !surely_equal(other[axis], extent))
      invalid("operands that do not broadcast");
  }
  return Shape(std::move(extents));
}

// --- LoweredNode ---------------------------------------------------------------------------------

std::int64_t LoweredNode::opset() const noexcept { return lowering_.opset_; }

bool LoweredNode::has(std::size_t index) const noexcept {
  return index < node_.operands().size() && !node_.operands()[index].is_absent();
}

const TensorType& LoweredNode::type(std::size_t index) const {
  if (!has(index)) invalid(fmt::format("operand {} is missing", index));
  return lowering_.graph_.type(node_.operands()[index]);
}

Term LoweredNode::typed_operand(std::size_t index) {
  const TensorType& wanted = type(index);
  return lowering_.typed(lowering_.term_of(node_.operands()[index]), wanted);
}

ElementType LoweredNode::computed(ElementType element) const noexcept {
  const bool is_half = element == ElementType::float16 || element == ElementType::bfloat16;
  return is_half && precision_ == Precision::float32 ? ElementType::float32 : element;
}

Term LoweredNode::operand(std::size_t index) {
  const TensorType wanted = plain(type(index).element, shape(index));
  return cast(lowering_.typed(lowering_.term_of(node_.operands()[index]), wanted),
              computed(wanted.element));
}

const Constant* LoweredNode::constant(std::size_t index) const noexcept {
  if (!has(index)) return nullptr;
  const Constant* found = lowering_.graph_.constant(node_.operands()[index].node);
  return found != nullptr && *found ? found : nullptr;
}

std::optional<std::vector<std::int64_t>> LoweredNode::list(std::size_t index,
                                                           std::string_view attribute) const {
  if (const Attribute* found = node_.graph->attribute(node_.id, attribute)) {
    if (const auto* values = std::get_if<std::vector<std::int64_t>>(found)) return *values;
    if (const auto* value = std::get_if<std::int64_t>(found)) return std::vector{*value};
  }
  if (!has(index)) return std::nullopt;
  const Constant* contents = constant(index);
  if (contents == nullptr) impossible(fmt::format("{} that are computed", attribute));
  return value_of(read_integers(*contents));
}

std::optional<double> LoweredNode::real(std::size_t index, std::string_view attribute) const {
  if (const Attribute* found = node_.graph->attribute(node_.id, attribute)) {
    if (const auto* value = std::get_if<double>(found)) return *value;
  }
  if (!has(index)) return std::nullopt;
  const Constant* contents = constant(index);
  if (contents == nullptr) impossible(fmt::format("a number that is computed: {}", attribute));
  if (contents->element_count() != 1) invalid(fmt::format("not one number: {}", attribute));
  if (is_integer(contents->element())) {
    return static_cast<double>(value_of(read_integers(*contents)).front());
  }
  return value_of(read_reals(*contents)).front();
}

void LoweredNode::finish(const Term& made, std::uint32_t result) {
  const TensorType& wanted = node_.type(result);
  const bool is_wide =
      made.type.element != wanted.element && made.type.element == computed(wanted.element);
  const Term term = is_wide ? cast(made, wanted.element) : made;
  if (term.type.shape != wanted.shape || term.type.element != wanted.element) {
    invalid(
        fmt::format("a result {} where the model has {}", to_string(term.type), to_string(wanted)));
  }
  lowering_.define(node_.result(result), lowering_.typed(term, wanted));
}

Term LoweredNode::make(std::string_view op, std::span<const Term> operands, TensorType type,
                       const OperationText& text) {
  return lowering_.make(op, operands, std::move(type), text);
}

Term LoweredNode::empty(ElementType element, const Shape& shape) {
  return make("tensor.empty", {}, plain(element, shape));
}

Term LoweredNode::filled(ElementType element, const Shape& shape, double value) {
  const std::string_view name = name_of(element);
  const Term number =
      make("arith.constant", {}, plain(element, Shape()),
           {.properties = fmt::format("value = {} : {}", number_text(element, value), name)});
  return make("linalg.fill", std::array{number, empty(element, shape)}, plain(element, shape),
              {.properties = segments(1, 1), .region = first_of(element, element)});
}

Term LoweredNode::constant(const Constant& contents) {
  return lowering_.add_constant(contents, lowering_.location_);
}

Term LoweredNode::loop(std::span<const Read> reads, const Term& into, const std::string& into_map,
                       std::string_view kinds, Body body) {
  std::vector<Term> operands;
  std::vector<ElementType> elements;
  std::string maps;
  for (const Read& read : reads) {
    operands.push_back(read.term);
    elements.push_back(read.term.type.element);
    maps += read.map + ", ";
  }
  operands.push_back(into);
  elements.push_back(into.type.element);
  std::string iterators;
  for (const char kind : kinds) {
    if (!iterators.empty()) iterators += ", ";
    iterators += fmt::format("#linalg.iterator_type<{}>", kind == 'p' ? "parallel" : "reduction");
  }
  Region region(lowering_.names_, elements);
  region.yield(body(region));
  return make("linalg.generic", operands, into.type,
              {.properties = fmt::format("indexing_maps = [{}{}], iterator_types = [{}], {}", maps,
                                         into_map, iterators, segments(reads.size(), 1)),
               .region = region.text()});
}

Term LoweredNode::map(std::span<const Term> operands, ElementType element, const Shape& shape,
                      Body body) {
  std::vector<Read> reads;
  reads.reserve(operands.size());
  for (const Term& term : operands) {
    reads.push_back({term, broadcast_map(term.type.shape, shape)});
  }
  const auto rank = static_cast<std::size_t>(shape.rank());
  return loop(reads, empty(element, shape), identity_map(rank), std::string(rank, 'p'), body);
}

Term LoweredNode::together(const Arithmetic& arithmetic, const Term& a, const Term& b,
                           const Shape& shape) {
  const std::string_view op = operation_of(arithmetic, a.type.element);
  const bool is_whole = a.type.shape == shape && b.type.shape == shape;
  if (is_whole) return make(op, std::array{a, b}, a.type);
  return map(std::array{a, b}, a.type.element, shape, [&](Region& region) {
    return region.apply(op, {region.argument(0), region.argument(1)});
  });
}

Term LoweredNode::each(std::string_view op, const Term& term) {
  return make(op, std::array{term}, term.type);
}

std::string LoweredNode::first_of(ElementType element, ElementType into) {
  Region region(lowering_.names_, std::array{element, into});
  region.yield(region.argument(0));
  return region.text();
}

Term LoweredNode::sum_of_products(std::string_view op, const Term& a, const Term& b,
                                  const Term& into, std::string properties,
                                  std::span<const std::string> maps) {
  Region region(lowering_.names_, std::array{a.type.element, b.type.element, into.type.element});
  const Scalar product = region.multiply(region.argument(0), region.argument(1));
  region.yield(region.add(region.argument(2), product));
  if (!properties.empty()) properties += ", ";
  return make(op, std::array{a, b, into}, into.type,
              {.properties = properties + segments(2, 1),
               .region = region.text(),
               .attributes = fmt::format("linalg.memoized_indexing_maps = [{}]", joined(maps))});
}

Term LoweredNode::cast(const Term& term, ElementType element) {
  if (term.type.element == element) return term;
  return map(std::array{term}, element, term.type.shape,
             [&](Region& region) { return region.cast(region.argument(0), element); });
}

Term LoweredNode::expanded(const Term& term, const Shape& shape) {
  if (term.type.shape == shape) return term;
  return map(std::array{term}, term.type.element, shape,
             [](Region& region) { return region.argument(0); });
}

// --- Lowering ------------------------------------------------------------------------------------

Lowering::Lowering(Graph graph) : graph_(std::move(graph)), opset_(opset_version(graph_)) {}

Term Lowering::term(TensorType type) {
  // An unranked type stands for a number.
  std::string text = type.shape.is_ranked() ? text_of(type) : std::string(name_of(type.element));
  return {names_.next(), std::move(type), std::move(text)};
}

Term Lowering::make(std::string_view op, std::span<const Term> operands, TensorType type,
                    const OperationText& text) {
  std::vector<std::string> names;
  std::vector<std::string> types;
  for (const Term& operand : operands) {
    names.push_back(operand.name);
    types.push_back(operand.type_text);
  }
  Term result = term(std::move(type));
  body_ += fmt::format("    {} = \"{}\"({}){}{}{} : ({}) -> {} loc({})\n", result.name, op,
                       joined(names), in_braces("<{", text.properties, "}>"),
                       in_braces("", text.region, ""), in_braces("{", text.attributes, "}"),
                       joined(types), result.type_text, quoted(location_));
  ++operations_;
  return result;
}

Term Lowering::typed(const Term& term, const TensorType& type) {
  // Constants of the same contents, and types made twice, may differ in nothing but identity.
  if (term.type.is_quantized() == type.is_quantized()) return term;
  return make("quant.scast", std::array{term}, type, {});
}

Term Lowering::add_constant(const Constant& contents, std::string_view location) {
  Term made = term(plain(contents.element(), contents.shape()));
  constants_.push_back({made.name, contents, std::string(location)});
  ++operations_;
  return made;
}

Term Lowering::term_of(Value value) {
  if (const auto found = values_.find(value); found != values_.end()) return found->second;
  const Constant* contents = graph_.constant(value.node);
  if (contents == nullptr || !*contents) {
    impossible(fmt::format("result {} of a {}", value.result, graph_.kind(value.node)));
  }
  Term made = add_constant(*contents, graph_.value_name(value));
  define(value, made);
  return made;
}

void Lowering::check_inputs() const {
  for (const NodeId id : graph_.inputs()) {
    const Shape& shape = graph_.type({id}).shape;
    if (is_fixed(shape)) continue;
    failures::impossible(
        fmt::format("an input of open extents, {}: MLIR is written only with fixed ones",
                    to_string(shape)),
        {.tensor = std::string(graph_.value_name({id}))}, Remedy::fix_shapes);
  }
}

void Lowering::compute(NodeRef node) {
  const std::string_view kind = node.kind();
  for (const LowerFamily& family : all_families()) {
    const auto found = std::ranges::find(family.rules, kind, &LowerRule::kind);
    if (found == family.rules.end()) continue;
    for (std::uint32_t i = 0; i < graph_.result_count(node.id); ++i) {
      if (!is_fixed(node.type(i).shape)) {
        impossible("a result of open extents, which depend on data");
      }
    }
    LoweredNode lowered(*this, node, family.precision);
    found->lower(lowered);
    return;
  }
  impossible(std::string(kind));
}

void Lowering::lower(NodeRef node) {
  const auto give_up = [&] {
    for (std::uint32_t i = 0; i < graph_.result_count(node.id); ++i) {
      missing_.insert(node.result(i));
    }
  };
  for (const Value operand : node.operands()) {
    if (!missing_.contains(operand)) continue;
    give_up();
    return;
  }
  location_ = label(graph_, node.id);
  try {
    in_node(location_, [&] { compute(node); });
  } catch (const Failure& failure) {
    if (failure.error.code != ErrorCode::impossible) throw;
    const std::string& why = failure.error.message;
    refusals_.add(why == node.kind() ? why : fmt::format("{}: {}", node.kind(), why), location_,
                  failure.error.remedy);
    give_up();
  }
}

void Lowering::run() {
  check_inputs();
  std::string arguments;
  std::string argument_types;
  std::string argument_attributes;
  const auto list = [](std::string& to, const std::string& item) {
    if (!to.empty()) to += ", ";
    to += item;
  };
  for (const NodeId id : graph_.inputs()) {
    const std::string_view name = graph_.value_name({id});
    Term made = in_node(name, [&] { return term(graph_.type({id})); });
    list(arguments, fmt::format("{}: {} loc({})", made.name, made.type_text, quoted(name)));
    list(argument_types, made.type_text);
    list(argument_attributes, border_attributes(name, made.type));
    define({id}, std::move(made));
  }
  const std::vector<NodeId> order = value_of(topological_order(graph_));
  for (const NodeId id : order) {
    const std::string_view kind = graph_.kind(id);
    if (kind == ops::Input::kind || kind == ops::Output::kind || kind == ops::Constant::kind) {
      continue;
    }
    lower(graph_.ref(id));
  }
  if (!refusals_.empty()) {
    impossible("MLIR has no counterpart for: " + refusals_.text(), {}, refusals_.remedy());
  }
  std::string results;
  std::string result_types;
  std::string result_attributes;
  location_ = "main";
  for (const NodeId id : graph_.outputs()) {
    const Value value = graph_.operands(id)[0];
    const Term made = typed(term_of(value), graph_.type(value));
    list(results, made.name);
    list(result_types, made.type_text);
    const std::string_view name =
        graph_.name(id).empty() ? graph_.value_name(value) : graph_.name(id);
    list(result_attributes, border_attributes(name, made.type));
  }
  head_ = fmt::format(
      "\"builtin.module\"() ({{\n  \"func.func\"() <{{sym_name = \"main\", function_type = ({}) -> "
      "({}), arg_attrs = [{}], res_attrs = [{}]}}> ({{\n  ^bb0({}):\n",
      argument_types, result_types, argument_attributes, result_attributes, arguments);
  tail_ = fmt::format("    \"func.return\"({}) : ({}) -> ()\n  }}) : () -> ()\n}}) : () -> ()\n",
                      results, result_types);
}

void Lowering::write(FunctionRef<void(std::string_view)> sink) const {
  sink(head_);
  for (const NamedConstant& constant : constants_) {
    write_constant(constant.name, constant.contents, constant.location, sink);
  }
  sink(body_);
  sink(tail_);
}

}  // namespace quadrant::inline v0::mlir_ir
