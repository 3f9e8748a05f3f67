#include "io/tflite/model.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <memory>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "io/tflite/element.hpp"
#include "io/tflite/failure.hpp"
#include "io/tflite/versions.hpp"
#include "ir/scales.hpp"
#include "ir/two_bits.hpp"

namespace quadrant::inline v0::tflite {
namespace {

/// Offsets in a FlatBuffer are signed and of 32 bits.
constexpr std::uint64_t largest_file = (std::uint64_t{1} << 31U) - 1;
/// What everything but the contents of buffers takes, roughly and generously.
constexpr std::uint64_t bytes_of_entry = 512;

std::int32_t narrow(std::int64_t extent) {
  if (extent < 0 || extent > std::numeric_limits<std::int32_t>::max()) {
    impossible(fmt::format("TFLite has no dimension of extent {}", extent));
  }
  return static_cast<std::int32_t>(extent);
}

schema::TensorType stored_type(ElementType element) {
  const auto type = tensor_type_of(element);
  if (!type) impossible(fmt::format("TFLite has no tensors of {}", to_string(element)));
  return *type;
}

schema::SubGraphT* add_main(schema::ModelT& model) {
  model.subgraphs.push_back(std::make_unique<schema::SubGraphT>());
  model.subgraphs.front()->name = "main";
  return model.subgraphs.front().get();
}

}  // namespace

Model::Model() : graph_(add_main(model_)) {
  model_.version = 3;
  model_.buffers.push_back(std::make_unique<schema::BufferT>());  // number 0: no contents
}

std::uint32_t Model::add_buffer(std::vector<std::uint8_t> data) {
  bytes_ += data.size() + bytes_of_entry;
  if (bytes_ > largest_file) impossible("the model has more than the 2 GiB that a TFLite file may");
  auto buffer = std::make_unique<schema::BufferT>();
  buffer->data = std::move(data);
  model_.buffers.push_back(std::move(buffer));
  return static_cast<std::uint32_t>(model_.buffers.size() - 1);
}

bool Model::is_labelled(const Quantization& type) {
  return !type.other() && granularity_of(type).kind != Granularity::Kind::block &&
         std::ranges::all_of(value_of(read_scales(type)), [](float scale) { return scale > 0; });
}

bool Model::has_kernel(BuiltinOperator code, const Quantization& type) {
  return is_labelled(type) && litert_kernel(code).takes_codes(type);
}

std::unique_ptr<schema::QuantizationParametersT> Model::parameters(const Quantization& type,
                                                                   const Axes& axes) {
  if (!type || !is_labelled(type)) return nullptr;
  auto made = std::make_unique<schema::QuantizationParametersT>();
  made->scale = value_of(read_scales(type));
  made->zero_point = value_of(read_zero_points(type));
  const Granularity groups = granularity_of(type);
  if (groups.kind == Granularity::Kind::axis) {
    made->quantized_dimension = position(axes, groups.axis);
  }
  return made;
}

TensorId Model::add_tensor(std::string name, const TensorType& type, const Axes& axes) {
  auto tensor = std::make_unique<schema::TensorT>();
  tensor->name = std::move(name);
  tensor->type = stored_type(type.element);
  const Shape shape = arranged(type.shape, axes);
  for (const Extent extent : shape.extents()) {
    tensor->shape.push_back(narrow(extent.value_or(1)));
  }
  if (!shape.is_static()) {
    for (const Extent extent : shape.extents()) {
      tensor->shape_signature.push_back(extent.is_known() ? narrow(extent.value()) : -1);
    }
  }
  tensor->has_rank = true;
  const Granularity groups = granularity_of(uniform_of(type.quantization));
  tensor->quantization = parameters(type.quantization, axes);
  // The file would say 1 of an extent that LiteRT holds the scales against.
  if (tensor->quantization && groups.kind == Granularity::Kind::axis &&
      !type.shape[groups.axis].is_known()) {
    impossible("scales along an axis whose extent is known only at run time");
  }
  bytes_ += bytes_of_entry;
  graph_->tensors.push_back(std::move(tensor));
  return static_cast<TensorId>(graph_->tensors.size() - 1);
}

TensorId Model::add_constant(std::string name, const Constant& constant,
                             const Quantization& quantization, const Axes& axes) {
  const TensorId id =
      add_tensor(std::move(name), {constant.element(), constant.shape(), quantization}, axes);
  const bool is_narrow = quantization && is_labelled(quantization) &&
                         two_bit_element(*uniform_of(quantization)) == ElementType::int2;
  if (is_narrow) two_bits_.push_back(id);
  const ConstantBytes bytes = value_of(arranged(constant, axes).read());
  tensor(id).buffer = add_buffer(packed(constant.element(), bytes.bytes()));
  return id;
}

TensorId Model::add_blocks(const std::string& name, const Constant& codes, const UniformType& type,
                           const Axes& axes) {
  const Constant scales =
      make_scales(ElementType::float16, type.scales.shape(), value_of(read_scales(type.scales)));
  schema::BlockwiseQuantizationT blocks;
  blocks.scales = add_constant(name + "_scales", scales, nullptr, axes);
  blocks.zero_points = no_tensor;
  blocks.block_size = narrow(type.granularity.block_size);
  const TensorId id = add_constant(name, codes, nullptr, axes);
  tensor(id).quantization = std::make_unique<schema::QuantizationParametersT>();
  tensor(id).quantization->details.Set(std::move(blocks));
  return id;
}

TensorId Model::integers(const std::vector<std::int32_t>& values) {
  const auto [entry, is_new] = integer_lists_.try_emplace(values, no_tensor);
  if (is_new) {
    const Shape shape{static_cast<std::int64_t>(values.size())};
    entry->second = add_constant(
        fmt::format("integers_{}", integer_lists_.size()),
        Constant::from_values(ElementType::int32, shape, std::span<const std::int32_t>(values)),
        nullptr, plain_axes(1));
  }
  return entry->second;
}

TensorId Model::integer(std::int32_t value) {
  const auto [entry, is_new] = scalars_.try_emplace(
      {schema::TensorType::INT32, static_cast<std::uint32_t>(value)}, no_tensor);
  if (is_new) {
    entry->second = add_constant(fmt::format("integer_{}", value),
                                 Constant::from_values(ElementType::int32, Shape::scalar(),
                                                       std::span<const std::int32_t>(&value, 1)),
                                 nullptr, {});
  }
  return entry->second;
}

TensorId Model::real(float value) {
  const auto [entry, is_new] = scalars_.try_emplace(
      {schema::TensorType::FLOAT32, std::bit_cast<std::uint32_t>(value)}, no_tensor);
  if (is_new) {
    entry->second = add_constant(fmt::format("real_{}", value),
                                 Constant::from_values(ElementType::float32, Shape::scalar(),
                                                       std::span<const float>(&value, 1)),
                                 nullptr, {});
  }
  return entry->second;
}

void Model::check_data(BuiltinOperator code, TensorId id) const {
  if (id == no_tensor) return;
  const ElementType element = element_of(tensor(id).type);
  const bool is_real = !is_integer(element) && element != ElementType::boolean;  // taken by all
  const auto& quantization = tensor(id).quantization;
  const bool is_code = quantization && !quantization->scale.empty();
  const auto& kernel = litert_kernel(code);
  const bool is_taken =
      is_code ? kernel.takes_codes(element, quantization->zero_point) : kernel.takes_plain(element);
  if (is_real || is_taken) return;
  impossible(fmt::format("{} has no kernel for {} of {}: compute on other integers, or in float",
                         schema::EnumNameBuiltinOperator(code),
                         is_code ? "these codes" : "plain integers", to_string(element)));
}

schema::OperatorT& Model::emit(OperatorKind kind, Tensors inputs, Tensors outputs) {
  const bool is_new = kind.version == 0;  // others are as they came from a file
  const auto& data = litert_kernel(kind.code).data;
  const std::size_t end = std::min(inputs.size(), data.first + data.count);
  for (std::size_t i = data.first; is_new && i < end; ++i) check_data(kind.code, inputs[i]);
  if (is_new && kind.code == BuiltinOperator::CAST) check_data(kind.code, outputs.front());
  auto made = std::make_unique<schema::OperatorT>();
  for (const TensorId output : outputs) producers_[output] = kinds_.size();
  made->inputs = std::move(inputs);
  made->outputs = std::move(outputs);
  kinds_.push_back(std::move(kind));
  bytes_ += bytes_of_entry;
  graph_->operators.push_back(std::move(made));
  return *graph_->operators.back();
}

schema::OperatorT* Model::producer(TensorId id) {
  const auto found = producers_.find(id);
  return found == producers_.end() ? nullptr : graph_->operators[found->second].get();
}

BuiltinOperator Model::code_of(const schema::OperatorT& op) const {
  return kinds_[producers_.at(op.outputs.front())].code;
}

bool Model::reads_blocks(const schema::OperatorT& op) const {
  return std::ranges::any_of(op.inputs, [&](TensorId id) {
    return id != no_tensor && tensor(id).quantization &&
           tensor(id).quantization->details.AsBlockwiseQuantization() != nullptr;
  });
}

bool Model::takes_two_bits(std::size_t number, std::size_t operand) const {
  const OperatorKind& kind = kinds_[number];
  if (kind.version > 0) return true;  // as it came from a file, and its constants
  const auto& kernel = litert_kernel(kind.code);
  const Tensors& inputs = graph_->operators[number]->inputs;
  if (operand >= kernel.data.first && operand < kernel.data.first + kernel.data.count) {
    return kernel.takes_codes(ElementType::int2, tensor(inputs[operand]).quantization->zero_point);
  }
  constexpr std::size_t weights = 1;
  return operand == weights && inputs[kernel.data.first] != no_tensor &&
         kernel.takes_weights(element_of(tensor(inputs[kernel.data.first]).type),
                              ElementType::int2);
}

void Model::store_in_two_bits() {
  std::unordered_set<TensorId> stored(two_bits_.begin(), two_bits_.end());
  for (std::size_t number = 0; number < kinds_.size() && !stored.empty(); ++number) {
    const Tensors& inputs = graph_->operators[number]->inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (stored.contains(inputs[i]) && !takes_two_bits(number, i)) stored.erase(inputs[i]);
    }
  }
  for (const TensorId id : two_bits_) {
    if (!stored.contains(id)) continue;
    schema::TensorT& held = tensor(id);
    std::uint64_t count = 1;
    for (const std::int32_t extent : held.shape) count *= static_cast<std::uint64_t>(extent);
    std::vector<std::uint8_t>& data = model_.buffers[held.buffer]->data;
    const auto codes = unpacked(ElementType::int4, count, std::as_bytes(std::span(data)));
    const IntegerRange all = code_range(2, true);
    const auto fits = [&](std::byte code) {
      const auto value = std::to_integer<std::int8_t>(code);
      return value >= all.min && value <= all.max;
    };
    if (!std::ranges::all_of(codes, fits)) continue;  // other codes than its type says
    data = packed(ElementType::int2, codes);
    held.type = schema::TensorType::INT2;
  }
}

void Model::share_buffers() {
  std::vector<std::uint32_t> numbers;
  std::vector<std::unique_ptr<schema::BufferT>> kept;
  std::unordered_map<std::string_view, std::uint32_t> known;
  for (std::unique_ptr<schema::BufferT>& buffer : model_.buffers) {
    const auto next = static_cast<std::uint32_t>(kept.size());
    const std::string_view contents(reinterpret_cast<const char*>(buffer->data.data()),
                                    buffer->data.size());
    const bool is_first = contents.empty() || known.emplace(contents, next).second;
    numbers.push_back(is_first ? next : known.at(contents));
    if (is_first) kept.push_back(std::move(buffer));
  }
  for (auto& held : graph_->tensors) held->buffer = numbers[held->buffer];
  model_.buffers = std::move(kept);
}

void Model::number_operators() {
  std::map<std::tuple<BuiltinOperator, std::string, std::int32_t>, std::uint32_t> numbers;
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    schema::OperatorT& op = *graph_->operators[i];
    const OperatorKind& kind = kinds_[i];
    const std::int32_t version =
        kind.version > 0 ? kind.version : needed_version(kind.code, op, graph_->tensors);
    const auto [entry, is_new] = numbers.try_emplace({kind.code, kind.custom, version},
                                                     static_cast<std::uint32_t>(numbers.size()));
    if (is_new) {
      auto code = std::make_unique<schema::OperatorCodeT>();
      // Old readers know only this field, which ends at 127.
      code->deprecated_builtin_code =
          static_cast<std::int8_t>(std::min(static_cast<std::int32_t>(kind.code), 127));
      code->builtin_code = kind.code;
      code->custom_code = kind.custom;
      code->version = version;
      model_.operator_codes.push_back(std::move(code));
    }
    op.opcode_index = entry->second;
  }
}

std::vector<std::byte> Model::finish(const Tensors& inputs, const Tensors& outputs,
                                     std::string description) {
  if (bytes_ > largest_file) impossible("the model has more than the 2 GiB that a TFLite file may");
  store_in_two_bits();
  share_buffers();
  number_operators();
  model_.description = std::move(description);
  graph_->inputs = inputs;
  graph_->outputs = outputs;

  auto signature = std::make_unique<schema::SignatureDefT>();
  signature->signature_key = "serving_default";
  const auto list = [&](const Tensors& tensors, auto& maps) {
    for (const TensorId id : tensors) {
      auto map = std::make_unique<schema::TensorMapT>();
      map->name = tensor(id).name;
      map->tensor_index = static_cast<std::uint32_t>(id);
      maps.push_back(std::move(map));
    }
  };
  list(inputs, signature->inputs);
  list(outputs, signature->outputs);
  model_.signature_defs.push_back(std::move(signature));

  flatbuffers::FlatBufferBuilder builder(1U << 20U);
  schema::FinishModelBuffer(builder, schema::Model::Pack(builder, &model_));
  const auto bytes = std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
  return {bytes.begin(), bytes.end()};
}

}  // namespace quadrant::inline v0::tflite
