// A TFLite model that is being made: tensors, operators and buffers, by number.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "io/tflite/layout.hpp"
#include "io/tflite/schema.hpp"
#include "quadrant/ir/type.hpp"

namespace quadrant::inline v0::tflite {

/// A tensor of the model; -1 stands for an operand that is left out.
using TensorId = std::int32_t;
inline constexpr TensorId no_tensor = -1;

using Tensors = std::vector<TensorId>;

/// What an operator is besides its operands and options.
struct OperatorKind {
  BuiltinOperator code = BuiltinOperator::CUSTOM;
  std::string custom;        ///< the name of a custom one
  std::int32_t version = 0;  ///< 0: the one that its operands need
};

class Model {
 public:
  Model();

  /// A tensor of a value of type `type`, laid out as `axes`. Computed, or an input.
  TensorId add_tensor(std::string name, const TensorType& type, const Axes& axes);
  /// The same, with contents; `constant` has the value's own order.
  TensorId add_constant(std::string name, const Constant& constant,
                        const Quantization& quantization, const Axes& axes);
  /// The same of codes in blocks, with their scales, as float16, in a tensor of their own. For
  /// kernels that take them (`takes_blocks`) alone: others read the codes as if they had no scales.
  TensorId add_blocks(const std::string& name, const Constant& codes, const UniformType& type,
                      const Axes& axes);
  /// int32, of one dimension. Equal ones are one.
  TensorId integers(const std::vector<std::int32_t>& values);
  /// Of rank 0. Equal ones are one.
  TensorId integer(std::int32_t value);
  TensorId real(float value);

  template <class Options>
  schema::OperatorT& emit(OperatorKind kind, Tensors inputs, Tensors outputs, Options options) {
    schema::OperatorT& made = emit(std::move(kind), std::move(inputs), std::move(outputs));
    made.builtin_options.Set(std::move(options));
    return made;
  }
  schema::OperatorT& emit(OperatorKind kind, Tensors inputs, Tensors outputs);

  [[nodiscard]] const schema::TensorT& tensor(TensorId id) const {
    return *graph_->tensors[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] schema::TensorT& tensor(TensorId id) {
    return *graph_->tensors[static_cast<std::size_t>(id)];
  }
  /// The operator that computes the tensor; null for inputs and constants.
  [[nodiscard]] schema::OperatorT* producer(TensorId id);
  [[nodiscard]] BuiltinOperator code_of(const schema::OperatorT& op) const;
  /// Whether an operand is codes in blocks.
  [[nodiscard]] bool reads_blocks(const schema::OperatorT& op) const;
  [[nodiscard]] std::int64_t operator_count() const {
    return static_cast<std::int64_t>(kinds_.size());
  }

  /// Whether a tensor can say the parameters of `type`: not those of blocks or of a format that is
  /// not uniform, nor negative scales.
  [[nodiscard]] static bool is_labelled(const Quantization& type);
  /// Parameters of `type` along the axes of a tensor laid out as `axes`; null for plain types and
  /// those that are not labelled.
  [[nodiscard]] static std::unique_ptr<schema::QuantizationParametersT> parameters(
      const Quantization& type, const Axes& axes);
  /// Whether it can, and the operator's kernel takes such codes.
  [[nodiscard]] static bool has_kernel(BuiltinOperator code, const Quantization& type);

  /// The complete model; this object is empty afterwards.
  [[nodiscard]] std::vector<std::byte> finish(const Tensors& inputs, const Tensors& outputs,
                                              std::string description);

 private:
  /// `impossible` for data that the operator's kernel does not take, so that no file is written
  /// that does not run.
  void check_data(BuiltinOperator code, TensorId id) const;
  std::uint32_t add_buffer(std::vector<std::uint8_t> data);
  /// Whether the kernel of operator `number` takes codes of 2 bits as that operand.
  [[nodiscard]] bool takes_two_bits(std::size_t number, std::size_t operand) const;
  /// Constants of codes of 2 bits that no operator wants in 4: known when all operators are there.
  void store_in_two_bits();
  /// Equal contents are in the file once, as of a table that is looked up and multiplied by.
  void share_buffers();
  void number_operators();

  schema::ModelT model_;
  schema::SubGraphT* graph_ = nullptr;
  std::vector<OperatorKind> kinds_;  ///< of the operators, in their order
  std::unordered_map<TensorId, std::size_t> producers_;
  std::map<std::vector<std::int32_t>, TensorId> integer_lists_;
  std::map<std::pair<schema::TensorType, std::uint32_t>, TensorId> scalars_;
  Tensors two_bits_;         ///< constants whose codes have 2 bits
  std::uint64_t bytes_ = 0;  ///< of all buffers
};

}  // namespace quadrant::inline v0::tflite
