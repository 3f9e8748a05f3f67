#include "io/tflite/file.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/tflite/element.hpp"
#include "io/tflite/failure.hpp"

namespace quadrant::inline v0::tflite {
namespace {

// TFLite's tables lie in one another four deep; options may have vectors.
constexpr flatbuffers::uoffset_t deepest = 32;
constexpr flatbuffers::uoffset_t most_tables = 4'000'000;
constexpr std::uint32_t most_dimensions = 16;

template <class Vector>
flatbuffers::uoffset_t size_of(const Vector* vector) {
  return vector ? vector->size() : 0;
}

}  // namespace

BuiltinOperator builtin_of(const schema::OperatorCode& code) noexcept {
  return std::max(static_cast<BuiltinOperator>(code.deprecated_builtin_code()),
                  code.builtin_code());
}

std::string tensor_label(const schema::SubGraph& graph, std::int64_t index) {
  std::string_view name;
  if (index >= 0 && index < static_cast<std::int64_t>(size_of(graph.tensors()))) {
    const auto* tensor = graph.tensors()->Get(static_cast<flatbuffers::uoffset_t>(index));
    if (tensor->name()) name = tensor->name()->string_view();
  }
  return fmt::format("tensor {} '{}'", index, name);
}

std::string operator_label(const schema::Model& model, const schema::SubGraph& graph,
                           std::uint32_t index) {
  const std::uint32_t number = graph.operators()->Get(index)->opcode_index();
  if (number >= size_of(model.operator_codes())) return fmt::format("operator {}", index);
  const BuiltinOperator code = builtin_of(*model.operator_codes()->Get(number));
  return fmt::format("operator {} ({})", index, schema::EnumNameBuiltinOperator(code));
}

File::File(std::vector<std::byte> bytes)
    : bytes_(std::make_shared<const std::vector<std::byte>>(std::move(bytes))) {
  constexpr std::size_t smallest = 16;
  if (bytes_->size() < smallest) invalid("too short for a TFLite model");
  if (bytes_->size() >= FLATBUFFERS_MAX_BUFFER_SIZE) invalid("more than 2 GiB");
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes_->data());
  if (!schema::ModelBufferHasIdentifier(data)) invalid("not a TFLite model: 'TFL3' is missing");
  flatbuffers::Verifier verifier(data, bytes_->size(), deepest, most_tables);
  if (!schema::VerifyModelBuffer(verifier)) invalid("a damaged FlatBuffer");
  model_ = schema::GetModel(data);
  check_model();
  check_tensors();
  check_operators();
}

std::span<const std::byte> File::buffer(std::uint32_t index) const {
  const schema::Buffer& buffer = *model_->buffers()->Get(index);
  if (const auto* data = buffer.data()) return std::as_bytes(std::span(data->data(), data->size()));
  // 0 and 1 are placeholders of writers that fill in the offset at the end.
  if (buffer.offset() <= 1) return {};
  if (buffer.offset() > bytes_->size() || buffer.size() > bytes_->size() - buffer.offset()) {
    invalid(fmt::format("buffer {}: ends behind the file", index));
  }
  return std::span(*bytes_).subspan(buffer.offset(), buffer.size());
}

void File::check_model() {
  if (model_->version() != 3) {
    invalid(fmt::format("version {} of the format, where 3 is known", model_->version()));
  }
  const auto count = size_of(model_->subgraphs());
  if (count == 0) invalid("a model without a graph");
  if (count > 1) impossible(fmt::format("{} subgraphs, where one is read", count));
  if (size_of(model_->buffers()) == 0) invalid("a model without buffers");
  graph_ = model_->subgraphs()->Get(0);
}

void File::count(std::size_t bytes) {
  // Writers may share equal strings and lists, but not to make a large model of a small file.
  constexpr std::size_t share = 16;
  constexpr std::size_t always = std::size_t{1} << 20U;
  listed_ += bytes;
  if (listed_ > share * bytes_->size() + always) {
    invalid("tables that refer to the same names and lists over and over");
  }
}

namespace {

std::uint64_t checked_elements(const schema::Tensor& tensor, const Place& place) {
  constexpr std::uint64_t most_elements = std::uint64_t{1} << 40U;
  std::uint64_t elements = 1;
  for (flatbuffers::uoffset_t axis = 0; axis < size_of(tensor.shape()); ++axis) {
    const std::int32_t extent = tensor.shape()->Get(axis);
    if (extent < 0) invalid(fmt::format("an extent of {}", extent), place);
    if (extent > 0 && elements > most_elements / static_cast<std::uint64_t>(extent)) {
      invalid("more elements than a model may have", place);
    }
    elements *= static_cast<std::uint64_t>(extent);
  }
  return elements;
}

void refuse_what_is_not_read(const schema::Tensor& tensor, const Place& place) {
  if (tensor.sparsity()) impossible("sparse contents", place);
  if (tensor.is_variable()) impossible("a variable", place);
  if (tensor.external_buffer() != 0) impossible("contents in another file", place);
}

}  // namespace

void File::check_blocks(const schema::BlockwiseQuantization* blocks, const Place& place) {
  if (!blocks) return;
  const auto tensors = static_cast<std::int64_t>(size_of(graph_->tensors()));
  if (blocks->scales() < 0 || blocks->scales() >= tensors) {
    invalid(fmt::format("scales in tensor {} of {}", blocks->scales(), tensors), place);
  }
  const auto at = static_cast<flatbuffers::uoffset_t>(blocks->scales());
  const std::uint32_t scales = graph_->tensors()->Get(at)->buffer();
  // That tensor may not have been checked yet.
  if (scales < model_->buffers()->size()) count(buffer(scales).size());
}

void File::check_tensor(const schema::Tensor& tensor, const Place& place) {
  refuse_what_is_not_read(tensor, place);
  if (tensor.buffer() >= model_->buffers()->size()) {
    invalid(fmt::format("buffer {} of {}", tensor.buffer(), model_->buffers()->size()), place);
  }
  const auto rank = size_of(tensor.shape());
  count(std::size_t{4} * rank + size_of(tensor.name()));
  if (const auto* codes = tensor.quantization()) {
    count(std::size_t{4} * size_of(codes->scale()));
    check_blocks(codes->details_as_BlockwiseQuantization(), place);
  }
  if (rank > most_dimensions) invalid(fmt::format("{} dimensions", rank), place);
  const std::uint64_t elements = checked_elements(tensor, place);
  const auto signature = size_of(tensor.shape_signature());
  if (signature != 0 && signature != rank) invalid("a shape signature of another rank", place);
  const auto contents = buffer(tensor.buffer());
  const ElementType element = element_of(tensor.type());
  const bool is_read = !is_carried(element) || is_packed(element);
  if (!contents.empty() && is_read && contents.size() != packed_size(element, elements)) {
    invalid(fmt::format("{} bytes for {} elements of {}", contents.size(), elements,
                        to_string(element)),
            place);
  }
}

void File::check_tensors() {
  for (flatbuffers::uoffset_t i = 0; i < size_of(graph_->tensors()); ++i) {
    check_tensor(*graph_->tensors()->Get(i), {.tensor = tensor_label(*graph_, i)});
  }
}

void File::check_operators() {
  const auto tensors = static_cast<std::int64_t>(size_of(graph_->tensors()));
  const auto check = [&](const flatbuffers::Vector<std::int32_t>* list, std::int64_t lowest,
                         const Place& place) {
    for (flatbuffers::uoffset_t i = 0; i < size_of(list); ++i) {
      if (list->Get(i) < lowest || list->Get(i) >= tensors) {
        invalid(fmt::format("tensor {} of {}", list->Get(i), tensors), place);
      }
    }
  };
  check(graph_->inputs(), 0, {.node = "the graph's inputs"});
  check(graph_->outputs(), 0, {.node = "the graph's outputs"});
  for (flatbuffers::uoffset_t i = 0; i < size_of(graph_->operators()); ++i) {
    const schema::Operator& op = *graph_->operators()->Get(i);
    const Place place{.node = operator_label(*model_, *graph_, i)};
    if (op.opcode_index() >= size_of(model_->operator_codes())) {
      invalid(fmt::format("operator code {} of {}", op.opcode_index(),
                          size_of(model_->operator_codes())),
              place);
    }
    count(std::size_t{4} * (size_of(op.inputs()) + size_of(op.outputs())));
    count(size_of(op.custom_options()) + size_of(op.mutating_variable_inputs()));
    check(op.inputs(), -1, place);
    check(op.outputs(), 0, place);
  }
}

}  // namespace quadrant::inline v0::tflite
