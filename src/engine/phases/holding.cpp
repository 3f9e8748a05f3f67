#include "engine/phases/holding.hpp"

#include <fmt/format.h>

#include <span>
#include <string_view>

#include "quadrant/ir/graph_rewriter.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0 {
namespace {

// The IR and the type that it is asked about.
struct Question {
  const Capabilities* ir = nullptr;
  TensorType real;
  TensorType codes;
};

std::optional<Question> question(const GraphView& graph, const Registry& registry,
                                 const ConstraintTable& constraints, Value value,
                                 ConstraintId form) {
  const Capabilities* const ir = graph.capabilities();
  if (ir == nullptr) return std::nullopt;
  TensorType real = graph.type(value).expressed();
  std::optional<TensorType> codes =
      registry.scheme(constraints.scheme(form)).erased_type_of(constraints.get(form), real);
  if (!codes) return std::nullopt;
  return Question{ir, std::move(real), *std::move(codes)};
}

std::optional<std::string> why_not(std::string_view what, const Expected<void>& answer) {
  if (answer) return std::nullopt;
  return fmt::format("{}: {}", what, answer.error().message);
}

}  // namespace

std::optional<std::string> why_not_held(const GraphView& graph, const Registry& registry,
                                        const ConstraintTable& constraints, Value value,
                                        ConstraintId form) {
  const auto asked = question(graph, registry, constraints, value, form);
  if (!asked) return std::nullopt;
  if (auto held = why_not("the graph cannot hold it", asked->ir->can_hold(asked->codes))) {
    return held;
  }
  return why_not(
      "the graph cannot make it float again",
      asked->ir->can_emit(ops::Dequantize::kind, std::span(&asked->codes, 1), asked->real));
}

std::optional<std::string> why_not_entered(const GraphView& graph, const Registry& registry,
                                           const ConstraintTable& constraints, Value value,
                                           ConstraintId form) {
  if (auto held = why_not_held(graph, registry, constraints, value, form)) return held;
  const auto asked = question(graph, registry, constraints, value, form);
  if (!asked) return std::nullopt;
  return why_not(
      "the graph cannot quantize floats so",
      asked->ir->can_emit(ops::Quantize::kind, std::span(&asked->real, 1), asked->codes));
}

}  // namespace quadrant::inline v0
