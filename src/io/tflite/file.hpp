// A TFLite file in memory, whose structure has been checked.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/tflite/schema.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::tflite {

/// Throws Failure for what is no TFLite model: every offset inside has been followed, and every
/// index from one table into another been compared with the table's size.
class File {
 public:
  explicit File(std::vector<std::byte> bytes);

  [[nodiscard]] const schema::Model& model() const noexcept { return *model_; }
  [[nodiscard]] const schema::SubGraph& graph() const noexcept { return *graph_; }
  /// The contents of a buffer, inside or behind the FlatBuffer; empty where there are none.
  [[nodiscard]] std::span<const std::byte> buffer(std::uint32_t index) const;
  /// Keeps the bytes alive.
  [[nodiscard]] const std::shared_ptr<const std::vector<std::byte>>& bytes() const noexcept {
    return bytes_;
  }

 private:
  void check_model();
  void check_tensor(const schema::Tensor& tensor, const Place& place);
  /// `blocks` may be null.
  void check_blocks(const schema::BlockwiseQuantization* blocks, const Place& place);
  void check_tensors();
  void check_operators();
  /// Keeps account of what many tables may share.
  void count(std::size_t bytes);

  std::shared_ptr<const std::vector<std::byte>> bytes_;
  const schema::Model* model_ = nullptr;
  const schema::SubGraph* graph_ = nullptr;
  std::size_t listed_ = 0;
};

/// `tensor 12 'conv1'`
[[nodiscard]] std::string tensor_label(const schema::SubGraph& graph, std::int64_t index);
/// `operator 3 (CONV_2D)`
[[nodiscard]] std::string operator_label(const schema::Model& model, const schema::SubGraph& graph,
                                         std::uint32_t index);

/// The operator that a code stands for: old files have it in another field.
[[nodiscard]] BuiltinOperator builtin_of(const schema::OperatorCode& code) noexcept;

}  // namespace quadrant::inline v0::tflite
