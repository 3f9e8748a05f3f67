// Quadrant's two interfaces over Kiln's IR. The IR stays the truth; beside it stands, for each
// operation, what the interfaces hand out by reference.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir.hpp"
#include "quadrant/ir/capabilities.hpp"
#include "quadrant/ir/graph_rewriter.hpp"
#include "quadrant/ir/graph_view.hpp"

namespace kiln {

// Kiln's operations that mean something else than the library's, by names of their own. The rest
// take the library's names, and with them its methods.
struct Conv2d {
  static constexpr std::string_view kind = "kiln.conv2d";
};
struct Dense {
  static constexpr std::string_view kind = "kiln.dense";
};
struct State {
  static constexpr std::string_view kind = "kiln.state";
};
struct Loop {
  static constexpr std::string_view kind = "kiln.loop";
};

/// Refers to the module, which nobody else may change meanwhile.
class Adaptor final : public quadrant::GraphView,
                      public quadrant::GraphRewriter,
                      public quadrant::Capabilities {
 public:
  explicit Adaptor(Module& module);

  /// From one world to the other.
  [[nodiscard]] quadrant::NodeId id(const Op& op) const { return {numbers_.at(&op)}; }
  [[nodiscard]] Op& op(quadrant::NodeId node) const { return *rows_[node.index].op; }

  // --- GraphView ------------------------------------------------------------------------------
  [[nodiscard]] std::uint32_t index_bound() const noexcept override;
  [[nodiscard]] quadrant::NodeId node_at(std::uint32_t index) const noexcept override;
  [[nodiscard]] std::string_view kind(quadrant::NodeId node) const noexcept override;
  [[nodiscard]] std::string_view name(quadrant::NodeId node) const noexcept override;
  [[nodiscard]] std::span<const quadrant::Value> operands(
      quadrant::NodeId node) const noexcept override;
  [[nodiscard]] std::uint32_t result_count(quadrant::NodeId node) const noexcept override;
  [[nodiscard]] std::span<const quadrant::Use> uses(quadrant::NodeId node) const noexcept override;
  [[nodiscard]] const quadrant::Attribute* attribute(quadrant::NodeId node,
                                                     std::string_view name) const noexcept override;
  [[nodiscard]] const quadrant::Constant* constant(quadrant::NodeId node) const noexcept override;
  [[nodiscard]] const quadrant::TensorType& type(quadrant::Value value) const noexcept override;
  [[nodiscard]] std::string_view value_name(quadrant::Value value) const noexcept override;
  [[nodiscard]] std::span<const quadrant::Operation> operations() const noexcept override;

  // --- Capabilities ---------------------------------------------------------------------------
  [[nodiscard]] const quadrant::Capabilities* capabilities() const noexcept override {
    return this;
  }
  [[nodiscard]] quadrant::Expected<void> can_hold(const quadrant::TensorType& type) const override;
  [[nodiscard]] quadrant::Expected<void> can_emit(
      std::string_view kind, std::span<const quadrant::TensorType> operands,
      const quadrant::TensorType& result) const override;
  [[nodiscard]] std::vector<std::vector<quadrant::Value>> of_one_type() const override;

  // --- GraphRewriter --------------------------------------------------------------------------
  [[nodiscard]] const quadrant::GraphView& view() const noexcept override { return *this; }
  [[nodiscard]] quadrant::Expected<quadrant::NodeId> emit(quadrant::NodeSpec spec) override;
  [[nodiscard]] quadrant::Expected<void> set_operand(quadrant::NodeId node, std::uint32_t operand,
                                                     quadrant::Value value) override;
  [[nodiscard]] quadrant::Expected<void> set_type(quadrant::Value value,
                                                  quadrant::TensorType type) override;
  [[nodiscard]] quadrant::Expected<void> set_constant(quadrant::NodeId node,
                                                      quadrant::Constant constant,
                                                      quadrant::Quantization quantization) override;
  [[nodiscard]] quadrant::Expected<void> set_value_name(quadrant::Value value,
                                                        std::string name) override;

 private:
  struct Row {
    Op* op = nullptr;
    std::vector<quadrant::Value> operands;
    std::vector<quadrant::Use> uses;
    quadrant::TensorType type;
    quadrant::Constant constant;
  };

  void number(Op& op);
  quadrant::NodeId adopt(Op& made);
  void refresh_edges(const Op& op);
  void refresh_contents(const Op& op);

  std::vector<Row> rows_;  // by the index of the node
  std::unordered_map<const Op*, std::uint32_t> numbers_;
  Module& module_;
};

}  // namespace kiln
