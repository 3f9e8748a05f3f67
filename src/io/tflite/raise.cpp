#include "io/tflite/raise.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "io/tflite/element.hpp"
#include "io/tflite/failure.hpp"
#include "io/tflite/raw_operator.hpp"
#include "ir/ops/elementwise.hpp"
#include "ir/opset.hpp"
#include "ir/scales.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::tflite {
namespace {

/// Softmax, for example, means what it does from 13 on.
constexpr std::int64_t raised_opset = 17;

template <class Vector>
std::size_t length(const Vector* vector) {
  return vector ? vector->size() : 0;
}

/// The contents of a buffer, read when they are needed; the file's bytes stay in memory.
class BufferSource final : public ConstantSource {
 public:
  BufferSource(std::shared_ptr<const std::vector<std::byte>> owner,
               std::span<const std::byte> bytes)
      : owner_(std::move(owner)), bytes_(bytes) {}
  [[nodiscard]] Expected<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    std::ranges::copy(bytes_.subspan(offset, out.size()), out.begin());
    return {};
  }

  [[nodiscard]] std::optional<ConstantBytes> view(std::uint64_t offset,
                                                  std::size_t size) const override {
    return ConstantBytes(owner_, bytes_.subspan(offset, size));
  }

 private:
  std::shared_ptr<const std::vector<std::byte>> owner_;
  std::span<const std::byte> bytes_;
};

void check_scales(std::span<const float> scales, const Place& place) {
  for (const float scale : scales) {
    if (!std::isfinite(scale) || scale <= 0) invalid(fmt::format("a scale of {}", scale), place);
  }
}

std::vector<float> checked_scales(const schema::QuantizationParameters& parameters,
                                  const Place& place) {
  std::vector<float> scales(parameters.scale()->begin(), parameters.scale()->end());
  check_scales(scales, place);
  return scales;
}

std::vector<std::int64_t> checked_zeros(const schema::QuantizationParameters& parameters,
                                        const IntegerRange& range, const Place& place) {
  const std::size_t count = length(parameters.scale());
  std::vector<std::int64_t> zeros(count, 0);
  const std::size_t given = length(parameters.zero_point());
  if (given != 0 && given != count) invalid("other zero points than scales", place);
  // Byte by byte: the verifier does not ask for the alignment of 64-bit elements.
  if (given != 0) {
    std::memcpy(zeros.data(), parameters.zero_point()->Data(), given * sizeof(std::int64_t));
  }
  for (const std::int64_t zero : zeros) {
    if (zero < range.min || zero > range.max) {
      invalid(fmt::format("a zero point of {}", zero), place);
    }
  }
  return zeros;
}

Granularity granularity_of(const schema::QuantizationParameters& parameters, const Shape& shape,
                           const Place& place) {
  const auto count = static_cast<std::int64_t>(length(parameters.scale()));
  const std::int64_t axis = parameters.quantized_dimension();
  if (count == 1 && (shape.rank() == 0 || axis <= 0)) return Granularity::per_tensor();
  if (axis >= 0 && axis < shape.rank() && surely_equal(shape[axis], count))
    return Granularity::per_axis(axis);
  if (count > 1) invalid(fmt::format("{} scales along axis {}", count, axis), place);
  return Granularity::per_tensor();
}

/// The contents of tensor `index`, which holds the scales of a tensor with parameters of shape
/// `extents`: in these, or as a list.
Constant scales_in(const File& file, std::int32_t index, const Shape& extents, const Place& place) {
  const schema::Tensor& tensor =
      *file.graph().tensors()->Get(static_cast<flatbuffers::uoffset_t>(index));
  const ElementType element = element_of(tensor.type());
  if (!is_scale_type(element)) {
    invalid(fmt::format("scales of {}, where floats are read", to_string(element)), place);
  }
  const auto contents = file.buffer(tensor.buffer());
  std::vector<Extent> stated;
  stated.reserve(length(tensor.shape()));
  for (std::size_t i = 0; i < length(tensor.shape()); ++i) {
    stated.emplace_back(tensor.shape()->Get(static_cast<flatbuffers::uoffset_t>(i)));
  }
  const Shape shape(std::move(stated));
  const auto count = extents.element_count();
  const bool is_list = shape.rank() == 1 && shape.element_count() == count;
  if (shape != extents && !is_list) {
    invalid(fmt::format("scales of shape [{}], where blocks have [{}]", to_string(shape),
                        to_string(extents)),
            place);
  }
  const auto width = static_cast<std::uint64_t>(byte_width(element));
  if (contents.size() != static_cast<std::uint64_t>(count.value_or(0)) * width) {
    invalid("scales that are no constant", place);
  }
  return Constant::deferred(element, extents,
                            std::make_shared<const BufferSource>(file.bytes(), contents));
}

/// Of codes in blocks along the last axis, as LiteRT's kernels read them.
std::shared_ptr<const UniformType> quantization_by_blocks(const File& file,
                                                          const schema::Tensor& tensor,
                                                          const Shape& shape, const Place& place) {
  const schema::BlockwiseQuantization& blocks =
      *tensor.quantization()->details_as_BlockwiseQuantization();
  const std::int64_t last = shape.rank() - 1;
  const std::int64_t along = tensor.quantization()->quantized_dimension();
  if (tensor.type() != schema::TensorType::INT4 || file.buffer(tensor.buffer()).empty()) {
    impossible("blocks of other codes than constants of i4", place);
  }
  // 0 is what the format has for what is left out.
  if (blocks.zero_points() != 0 && blocks.zero_points() != no_tensor) {
    impossible("blocks with zero points", place);
  }
  if (length(blocks.block_shape()) != 0) impossible("blocks along several axes", place);
  if (last < 0 || (along != 0 && along != last)) {
    impossible(fmt::format("blocks along axis {}, where the last one has them", along), place);
  }
  const std::int64_t extent = shape[last].value_or(0);
  if (blocks.block_size() < 1 || extent % blocks.block_size() != 0) {
    invalid(fmt::format("blocks of {} in an extent of {}", blocks.block_size(), extent), place);
  }
  const IntegerRange range = code_range(4, true);
  UniformType type;
  type.storage = ElementType::int4;
  type.storage_min = range.min;
  type.storage_max = range.max;
  type.granularity = Granularity::per_block(last, blocks.block_size());
  type.scales = scales_in(file, blocks.scales(), parameter_shape(shape, type.granularity), place);
  check_scales(value_of(read_scales(type.scales)), place);
  return std::make_shared<const UniformType>(std::move(type));
}

bool has_blocks(const schema::Tensor& tensor) {
  return tensor.quantization() != nullptr &&
         tensor.quantization()->details_as_BlockwiseQuantization() != nullptr;
}

std::shared_ptr<const UniformType> quantization_of(const schema::Tensor& tensor,
                                                   ElementType element, const Shape& shape,
                                                   const Place& place) {
  const schema::QuantizationParameters* parameters = tensor.quantization();
  // Real tensors may say in which range they are.
  if (!parameters || length(parameters->scale()) == 0 || !is_integer(element)) return nullptr;
  if (bit_width(element) > 32) impossible("computed codes of 64 bits", place);
  const bool has_two_bits = tensor.type() == schema::TensorType::INT2;
  if (parameters->details_type() != schema::QuantizationDetails::NONE) {
    impossible("a quantization that is no scale and zero point", place);
  }
  const IntegerRange range =
      has_two_bits ? code_range(2, true) : integer_range(element).value_or(IntegerRange{});
  UniformType type;
  type.storage = element;
  type.storage_bits = has_two_bits ? 2 : 0;
  type.storage_min = range.min;
  type.storage_max = range.max;
  type.granularity = granularity_of(*parameters, shape, place);
  const Shape extents = parameter_shape(shape, type.granularity);
  type.scales = make_scales(ElementType::float32, extents, checked_scales(*parameters, place));
  const std::vector<std::int64_t> zeros = checked_zeros(*parameters, range, place);
  if (std::ranges::any_of(zeros, [](std::int64_t zero) { return zero != 0; })) {
    type.zero_points = make_zero_points(element, extents, zeros);
  }
  return std::make_shared<const UniformType>(std::move(type));
}

bool has_scales(const schema::Tensor& tensor) {
  return tensor.quantization() != nullptr && length(tensor.quantization()->scale()) != 0;
}

/// Biases of 16-bit products: codes of 64 bits, which are 32 in the graph.
bool is_wide_bias(const schema::Tensor& tensor, std::span<const std::byte> contents) {
  return tensor.type() == schema::TensorType::INT64 && !contents.empty() && has_scales(tensor);
}

Constant narrowed_bias(const Constant& wide, const Place& place) {
  std::vector<std::int32_t> codes;
  for (const std::int64_t code : value_of(read_integers(wide, wide.element_count()))) {
    if (code != static_cast<std::int32_t>(code)) impossible("codes of more than 32 bits", place);
    codes.push_back(static_cast<std::int32_t>(code));
  }
  return Constant::from_values(ElementType::int32, wide.shape(),
                               std::span<const std::int32_t>(codes));
}

/// The elements of its value: codes of 2 bits are held as ones of 4, plain integers of 2 bits are
/// not read.
ElementType held_element(const schema::Tensor& tensor, std::span<const std::byte> contents) {
  if (is_wide_bias(tensor, contents)) return ElementType::int32;
  const bool is_narrow = tensor.type() == schema::TensorType::INT2 && has_scales(tensor);
  return is_narrow ? ElementType::int4 : element_of(tensor.type());
}

TensorType type_in_file(const File& file, std::uint32_t index) {
  const schema::Tensor& tensor = *file.graph().tensors()->Get(index);
  const auto contents = file.buffer(tensor.buffer());
  const Place place{.tensor = tensor_label(file.graph(), index)};
  TensorType type;
  type.element = held_element(tensor, contents);
  // Contents tell all extents.
  const bool is_signed = contents.empty() && length(tensor.shape_signature()) != 0;
  const auto* extents = is_signed ? tensor.shape_signature() : tensor.shape();
  std::vector<Extent> shape;
  shape.reserve(length(extents));
  for (std::size_t i = 0; i < length(extents); ++i) {
    const std::int32_t extent = extents->Get(static_cast<flatbuffers::uoffset_t>(i));
    shape.push_back(extent < 0 ? Extent::open() : Extent(extent));
  }
  type.shape = Shape(std::move(shape));
  type.quantization = has_blocks(tensor) ? quantization_by_blocks(file, tensor, type.shape, place)
                                         : quantization_of(tensor, type.element, type.shape, place);
  return type;
}

Axes inverse(const Axes& axes) {
  return between(axes, plain_axes(static_cast<std::int64_t>(axes.size())));
}

}  // namespace

Raising::Raising(const File& file) : file_(file) {
  const auto* tensors = file.graph().tensors();
  forms_.resize(length(tensors));
  for (std::uint32_t i = 0; i < length(tensors); ++i) types_.push_back(type_in_file(file, i));
}

// --- tensors of the file
// --------------------------------------------------------------------------

bool Raising::is_constant(TensorId id) const { return !file_.buffer(tensor(id).buffer()).empty(); }

std::optional<std::vector<std::int64_t>> Raising::integers(TensorId id) const {
  if (id == no_tensor || !is_constant(id) || !is_integer(type(id).element)) return std::nullopt;
  if (is_wide_bias(tensor(id), file_.buffer(tensor(id).buffer()))) return std::nullopt;
  const auto bytes = file_.buffer(tensor(id).buffer());
  constexpr std::size_t longest = 4096;
  if (bytes.size() > longest || bit_width(type(id).element) < 8) return std::nullopt;
  const Constant constant =
      Constant::from_bytes(type(id).element, type(id).shape, {bytes.begin(), bytes.end()});
  auto values = read_integers(constant, static_cast<std::int64_t>(longest));
  if (!values) return std::nullopt;
  return *std::move(values);
}

std::string Raising::name(TensorId id) const {
  const auto* given = tensor(id).name();
  return given && given->size() > 0 ? given->str() : fmt::format("tensor_{}", id);
}

TensorType Raising::type_of(TensorId id, const Axes& axes) const {
  if (rank(id) != static_cast<std::int64_t>(axes.size())) {
    invalid(fmt::format("{} dimensions, where the operator has {}", rank(id), axes.size()),
            {.tensor = tensor_label(file_.graph(), id)});
  }
  TensorType result = type(id);
  result.shape = arranged(result.shape, inverse(axes));
  if (granularity_of(result.quantization).kind != Granularity::Kind::tensor) {
    auto moved_type = *uniform_of(result.quantization);
    const bool has_blocks = moved_type.granularity.kind == Granularity::Kind::block;
    moved_type.granularity.axis = axes[static_cast<std::size_t>(moved_type.granularity.axis)];
    if (has_blocks) moved_type.scales = arranged(moved_type.scales, inverse(axes));
    result.quantization = std::make_shared<const UniformType>(std::move(moved_type));
  }
  return result;
}

// --- values of the graph
// ----------------------------------------------------------------------------

Axes Raising::axes(TensorId id) const {
  const std::vector<Form>& forms = forms_[static_cast<std::size_t>(id)];
  return forms.empty() ? plain_axes(rank(id)) : forms.front().axes;
}

void Raising::count_copy(std::uint64_t bytes) {
  constexpr std::uint64_t share = 16;
  constexpr std::uint64_t always = std::uint64_t{1} << 20U;
  copied_ += bytes;
  if (copied_ > share * file_.bytes()->size() + always) {
    invalid("operators that refer to the same contents over and over");
  }
}

Value Raising::constant_value(TensorId id, const Axes& axes) {
  const auto bytes = file_.buffer(tensor(id).buffer());
  const TensorType& held = type(id);
  if (is_carried(held.element) || !held.shape.is_static()) {
    impossible("a constant of a type that is not read", {.tensor = name(id)});
  }
  Constant constant;
  const ElementType stored = element_of(tensor(id).type());
  if (is_packed(stored)) {
    const auto count = static_cast<std::uint64_t>(held.shape.element_count().value_or(0));
    constant = Constant::from_bytes(held.element, held.shape, unpacked(stored, count, bytes));
  } else if (is_wide_bias(tensor(id), bytes)) {
    constant = narrowed_bias(
        Constant::from_bytes(ElementType::int64, held.shape, {bytes.begin(), bytes.end()}),
        {.tensor = tensor_label(file_.graph(), id)});
  } else {
    constant = Constant::deferred(held.element, held.shape,
                                  std::make_shared<const BufferSource>(file_.bytes(), bytes));
  }
  if (!is_plain(axes) || is_packed(stored)) count_copy(constant.byte_size());
  if (!is_plain(axes) && has_blocks(tensor(id)))
    count_copy(uniform_of(held.quantization)->scales.byte_size());
  const TensorType wanted = type_of(id, axes);
  const Value made = graph_.add_constant(name(id), arranged(constant, inverse(axes)));
  graph_.set_type(made, wanted);
  return made;
}

Value Raising::real_value(Value codes) {
  Value& known = reals_[codes];
  if (known.is_absent()) {
    known = {graph_.add({.kind = std::string(ops::Dequantize::kind),
                         .operands = {codes},
                         .results = {{std::string(graph_.value_name(codes)) + "_real",
                                      graph_.type(codes).expressed()}}})};
  }
  return known;
}

Value Raising::value(TensorId id, const Axes& axes) {
  if (id == no_tensor) return {};
  std::vector<Form>& forms = forms_[static_cast<std::size_t>(id)];
  const auto found = std::ranges::find(forms, axes, &Form::axes);
  if (found != forms.end()) return found->value;
  // Contents of no elements take no bytes.
  const bool is_empty = forms.empty() && type(id).shape.element_count() == 0;
  if (is_constant(id) || is_empty) {
    const Value made = constant_value(id, axes);
    forms.push_back({axes, made});
    return made;
  }
  if (const TensorId source = stored(id); source != no_tensor) {
    const bool is_code = type(source).is_quantized();
    const Value made{add_conversion(is_code ? ops::Dequantize::kind : ops::Cast::kind,
                                    value(source, axes), name(id), type_of(id, axes))};
    forms_[static_cast<std::size_t>(id)].push_back({axes, made});
    return made;
  }
  if (forms.empty()) {
    invalid("is read before it is computed", {.tensor = tensor_label(file_.graph(), id)});
  }
  const Form& from = forms.front();
  const Axes perm = between(inverse(from.axes), inverse(axes));
  const NodeId transpose = graph_.add(
      {.kind = std::string(ops::Transpose::kind),
       .operands = {from.value},
       .results = {{fmt::format("{}_{}", name(id), fmt::join(axes, "")), type_of(id, axes)}},
       .attributes = {{"perm", std::vector<std::int64_t>(perm.begin(), perm.end())}}});
  forms.push_back({axes, {transpose}});
  return {transpose};
}

bool Raising::is_free(TensorId id) const { return is_constant(id) || stored(id) != no_tensor; }

TensorId Raising::stored(TensorId id) const {
  const auto found = stored_.find(id);
  return found == stored_.end() ? no_tensor : found->second;
}

void Raising::dequantize_constant(TensorId output, TensorId source) {
  if (!forms_[static_cast<std::size_t>(output)].empty() || is_constant(output) ||
      !stored_.emplace(output, source).second) {
    invalid("is computed twice", {.tensor = tensor_label(file_.graph(), output)});
  }
  if (type(output).shape != type(source).shape) {
    invalid("has another shape than follows", {.tensor = tensor_label(file_.graph(), output)});
  }
}

Value Raising::integer_constant(std::string_view name, const std::vector<std::int64_t>& values) {
  return graph_.add_constant(
      std::string(name),
      Constant::from_values(ElementType::int64, Shape{static_cast<std::int64_t>(values.size())},
                            std::span<const std::int64_t>(values)));
}

void Raising::alias(TensorId output, Value value, const Axes& axes) {
  std::vector<Form>& forms = forms_[static_cast<std::size_t>(output)];
  if (!forms.empty() || is_free(output)) {
    invalid("is computed twice", {.tensor = tensor_label(file_.graph(), output)});
  }
  if (rank(output) != static_cast<std::int64_t>(axes.size())) {
    invalid("has another rank than follows", {.tensor = tensor_label(file_.graph(), output)});
  }
  forms.push_back({axes, value});
}

void Raising::add(std::string_view kind, std::vector<Value> operands, TensorId output,
                  const Axes& axes, Attributes attributes) {
  const NodeId made = graph_.add({.kind = std::string(kind),
                                  .operands = std::move(operands),
                                  .results = {{name(output), type_of(output, axes)}},
                                  .attributes = std::move(attributes)});
  alias(output, {made}, axes);
}

NodeId Raising::add_conversion(std::string_view kind, Value from, std::string name,
                               const TensorType& to) {
  const NodeId made = graph_.add(
      {.kind = std::string(kind), .operands = {from}, .results = {{std::move(name), to}}});
  if (kind == ops::Cast::kind) {
    graph_.set_attribute(made, "to", element_type_number(to.element));
  }
  return made;
}

Value Raising::relabelled(Value codes, std::shared_ptr<const UniformType> type,
                          const std::string& name) {
  const auto cast = [&](Value from, std::string_view ending, TensorType to) {
    return Value{graph_.add({.kind = std::string(ops::StorageCast::kind),
                             .operands = {from},
                             .results = {{name + std::string(ending), std::move(to)}}})};
  };
  TensorType plain = graph_.type(codes);
  const bool has_meaning = plain.is_quantized();
  plain.quantization = nullptr;
  if (has_meaning) codes = cast(codes, "_codes", plain);
  if (type == nullptr) return codes;
  plain.quantization = std::move(type);
  return cast(codes, "_recast", plain);
}

bool Raising::add_wide(std::string_view kind, std::vector<Value> operands, TensorId output,
                       Attributes attributes) {
  const TensorType& narrow = type(output);
  const Axes plain = plain_axes(rank(output));
  if (narrow.element == ElementType::int64) {
    add(kind, std::move(operands), output, plain, std::move(attributes));
    return true;
  }
  if (narrow.element != ElementType::int32 || narrow.is_quantized()) return false;
  const NodeId made =
      graph_.add({.kind = std::string(kind),
                  .operands = std::move(operands),
                  .results = {{name(output) + "_i64", {ElementType::int64, narrow.shape, nullptr}}},
                  .attributes = std::move(attributes)});
  alias(output, {add_conversion(ops::Cast::kind, {made}, name(output), narrow)}, plain);
  return true;
}

Value Raising::wide_integers(TensorId id, TensorId output) {
  const Value narrow = plain(id);
  if (type(id).element == ElementType::int64) return narrow;
  const auto wide_name = name(output) + "_indices";
  if (const auto known = integers(id)) {
    return graph_.add_constant(wide_name,
                               make_zero_points(ElementType::int64, type(id).shape, *known));
  }
  return {add_conversion(ops::Cast::kind, narrow, wide_name,
                         {ElementType::int64, type(id).shape, nullptr})};
}

void Raising::add_activated(std::string_view kind, std::vector<Value> operands, TensorId output,
                            const Axes& axes, schema::ActivationFunctionType activation,
                            Attributes attributes) {
  using schema::ActivationFunctionType;
  if (activation == ActivationFunctionType::NONE) {
    add(kind, std::move(operands), output, axes, std::move(attributes));
    return;
  }
  const TensorType result = type_of(output, axes);
  const NodeId made = graph_.add({.kind = std::string(kind),
                                  .operands = std::move(operands),
                                  .results = {{name(output) + "_inactive", result}},
                                  .attributes = std::move(attributes)});
  switch (activation) {
    case ActivationFunctionType::RELU:
      add(ops::Relu::kind, {{made}}, output, axes);
      return;
    case ActivationFunctionType::TANH:
      add(ops::Tanh::kind, {{made}}, output, axes);
      return;
    case ActivationFunctionType::RELU6:
    case ActivationFunctionType::RELU_N1_TO_1:
      break;
    default:
      impossible("an activation that is not known");
  }
  const bool is_6 = activation == ActivationFunctionType::RELU6;
  const auto bound = [&](std::string_view which, float value) {
    return graph_.add_constant(fmt::format("{}_{}", name(output), which),
                               Constant::from_values(ElementType::float32, Shape::scalar(),
                                                     std::span<const float>(&value, 1)));
  };
  const Value lowest = bound("lowest", is_6 ? 0.0F : -1.0F);
  add(ops::Clip::kind, {{made}, lowest, bound("highest", is_6 ? 6.0F : 1.0F)}, output, axes);
}

// --- operators ----------------------------------------------------------------------------------

void Raising::raise_raw(const RaisedOp& op) {
  constexpr std::array refused{BuiltinOperator::IF, BuiltinOperator::WHILE, BuiltinOperator::CALL,
                               BuiltinOperator::CALL_ONCE, BuiltinOperator::VAR_HANDLE};
  if (std::ranges::find(refused, op.code) != refused.end() || op.op->builtin_options_2() ||
      op.op->large_custom_options_offset() != 0 || length(op.op->intermediates()) != 0 ||
      op.op->builtin_options_type() > schema::BuiltinOptions::MAX) {
    impossible("an operator with subgraphs, state or options that are not read");
  }
  std::string kind = fmt::format("{}{}", raw_prefix, schema::EnumNameBuiltinOperator(op.code));
  if (op.code == BuiltinOperator::CUSTOM) {
    const auto* custom = op.kind->custom_code();
    kind = fmt::format("{}{}", custom_prefix, custom ? custom->string_view() : "");
  } else if (kind.size() == raw_prefix.size()) {
    impossible(fmt::format("operator {}, which is not known", static_cast<int>(op.code)));
  }
  std::vector<Value> operands;
  operands.reserve(op.input_count());
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    if (op.input(i) != no_tensor && has_blocks(tensor(op.input(i)))) {
      impossible(fmt::format("{} of codes in blocks", kind));
    }
    operands.push_back(op.input(i) == no_tensor ? Value{} : plain(op.input(i)));
  }
  std::vector<ResultSpec> results;
  results.reserve(op.output_count());
  for (std::size_t i = 0; i < op.output_count(); ++i) {
    results.push_back({name(op.output(i)), type(op.output(i))});
  }
  Opaque options = raw_options(*op.op);
  count_copy(options.bytes.byte_size());
  const NodeId made = graph_.add(
      {.kind = std::move(kind),
       .operands = std::move(operands),
       .results = std::move(results),
       .attributes = {{std::string(raw_options_key), std::move(options)},
                      {std::string(raw_version_key), std::int64_t{op.kind->version()}}}});
  for (std::uint32_t i = 0; i < op.output_count(); ++i) {
    alias(op.output(i), {made, i}, plain_axes(rank(op.output(i))));
  }
}

void Raising::raise(const RaisedOp& op) {
  if (op.output_count() == 0) invalid("an operator without results");
  for (const auto& rules : {raise_image_rules(), raise_block_rules(), raise_move_rules(),
                            raise_lookup_rules(), raise_number_rules(), raise_formula_rules()}) {
    const auto rule = std::ranges::find(rules, op.code, &RaiseRule::code);
    if (rule != rules.end() && rule->raise(*this, op)) return;
  }
  if (!raise_elementwise(*this, op)) raise_raw(op);
}

Graph Raising::run() {
  const schema::SubGraph& subgraph = file_.graph();
  graph_.attributes().set(std::string(opset_domains_key), std::vector<std::string>{""});
  graph_.attributes().set(std::string(opset_versions_key), std::vector<std::int64_t>{raised_opset});
  for (std::size_t i = 0; i < length(subgraph.inputs()); ++i) {
    const TensorId id = subgraph.inputs()->Get(static_cast<flatbuffers::uoffset_t>(i));
    alias(id, graph_.add_input(name(id), type(id)), plain_axes(rank(id)));
  }
  for (std::uint32_t i = 0; i < length(subgraph.operators()); ++i) {
    const schema::Operator* op = subgraph.operators()->Get(i);
    const auto* kind = file_.model().operator_codes()->Get(op->opcode_index());
    try {
      raise({op, builtin_of(*kind), kind});
    } catch (Failure& failure) {
      if (failure.error.place == Place{}) {
        failure.error.place.node = operator_label(file_.model(), subgraph, i);
      }
      throw;
    }
  }
  for (std::size_t i = 0; i < length(subgraph.outputs()); ++i) {
    const TensorId id = subgraph.outputs()->Get(static_cast<flatbuffers::uoffset_t>(i));
    graph_.add_output(name(id), plain(id));
  }
  value_of(verify(graph_));
  return std::move(graph_);
}

}  // namespace quadrant::inline v0::tflite
