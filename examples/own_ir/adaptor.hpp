// Kiln's IR for Quadrant: how an operation is seen, how each kind of edit is made, and what Kiln
// can hold. The rest is quadrant::Mirror's.
#pragma once

#include <cstdint>
#include <string>

#include "ir.hpp"
#include "quadrant/ir/mirror.hpp"
#include "quadrant/ir/ops.hpp"

namespace kiln {

// Operations that mean something else than the library's, as types for methods.
using Conv2d = quadrant::ops::Kind<"kiln.conv2d">;
using Dense = quadrant::ops::Kind<"kiln.dense">;

/// Refers to the module, which nothing else may change meanwhile.
class Adaptor final : public quadrant::Mirror<Op*, Type> {
 public:
  explicit Adaptor(Module& module);

 private:
  [[nodiscard]] quadrant::NodeSpec show(Op* op) const override;
  [[nodiscard]] quadrant::Expected<Type> convert(const quadrant::TensorType& type) const override;
  quadrant::Expected<Op*> make(const quadrant::NodeSpec& spec, Type type) override;
  quadrant::Expected<void> connect(quadrant::NodeId node, std::uint32_t operand,
                                   quadrant::Value value) override;
  quadrant::Expected<void> retype(quadrant::Value value, Type type) override;
  quadrant::Expected<void> refill(quadrant::NodeId node, const quadrant::Constant& contents,
                                  Type type) override;
  void rename(quadrant::Value value, const std::string& name) override;

  Module& module_;
};

}  // namespace kiln
