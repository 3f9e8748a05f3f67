// Mistakes that adaptors make, one at a time, each found by its rule.
#include "quadrant/engine/check_rewriter.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "quadrant/ir/graph_rewriter.hpp"
#include "quadrant/ir/text.hpp"

namespace quadrant::test {
namespace {

enum class Mistake : std::uint8_t {
  none,
  rename_keeps_the_old_name,
  rename_repeats_a_name,
  rename_swaps_names,
  emit_repeats_a_name,
  emit_forgets_uses,
  emit_forgets_attributes,
  emit_renumbers,
  emit_drops_an_operand,
  operand_keeps_the_old_use,
  operand_replaces_all,
  type_changes_the_shape,
  type_forgets_quantization,
  constant_keeps_its_type,
  constant_keeps_its_contents,
  erase_leaves_uses,
  refuses_half_way,
  refuses_with_another_code,
  other_names_each_time,
  promises_too_much,
  promises_to_quantize,
  computed_codes_keep_their_readers,
};

// Says yes to codes of a scale each index, as to everything.
class AllIsHeld final : public Capabilities {};

// A view of a graph whose names and uses may be wrong.
class View final : public GraphView {
 public:
  Graph graph;
  std::vector<std::pair<NodeId, Use>> forgotten;  // uses that it does not tell
  std::vector<std::pair<NodeId, Use>> invented;
  std::vector<std::pair<Value, std::string>> called;
  std::uint32_t skipped = 0;  // indices are that much higher
  bool promises = false;

  const Capabilities* capabilities() const noexcept override {
    static const AllIsHeld all;
    return promises ? &all : nullptr;
  }

  void refresh() {
    uses_.assign(graph.index_bound(), {});
    for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
      const NodeId id = graph.node_at(i);
      if (!id.is_valid()) continue;
      uses_[i].assign(graph.uses(id).begin(), graph.uses(id).end());
      for (const auto& [node, use] : forgotten) {
        if (node == id) std::erase(uses_[i], use);
      }
      for (const auto& [node, use] : invented) {
        if (node == id && std::ranges::find(uses_[i], use) == uses_[i].end()) {
          uses_[i].push_back(use);
        }
      }
    }
  }

  std::uint32_t index_bound() const noexcept override { return graph.index_bound(); }
  NodeId node_at(std::uint32_t index) const noexcept override {
    NodeId id = graph.node_at(index);
    if (id.is_valid()) id.generation += skipped;
    return id;
  }
  std::string_view kind(NodeId node) const noexcept override { return graph.kind(own(node)); }
  std::string_view name(NodeId node) const noexcept override { return graph.name(own(node)); }
  std::span<const Value> operands(NodeId node) const noexcept override {
    return graph.operands(own(node));
  }
  std::uint32_t result_count(NodeId node) const noexcept override {
    return graph.result_count(own(node));
  }
  std::span<const Use> uses(NodeId node) const noexcept override { return uses_[node.index]; }
  const Attribute* attribute(NodeId node, std::string_view name) const noexcept override {
    return graph.attribute(own(node), name);
  }
  const Constant* constant(NodeId node) const noexcept override {
    return graph.constant(own(node));
  }
  const TensorType& type(Value value) const noexcept override {
    return graph.type({own(value.node), value.result});
  }
  std::string_view value_name(Value value) const noexcept override {
    for (const auto& [other, name] : called) {
      if (other == Value{own(value.node), value.result}) return name;
    }
    return graph.value_name({own(value.node), value.result});
  }

 private:
  NodeId own(NodeId node) const noexcept {
    node.generation -= skipped;
    return node;
  }
  std::vector<std::vector<Use>> uses_;
};

int copies = 0;

class Rewriter final : public GraphRewriter {
 public:
  explicit Rewriter(Mistake mistake) : mistake_(mistake) {
    auto parsed = parse_graph(R"(graph {}
%x: tensor<4x3xf32> = input()
%w: tensor<3x2xf32> = constant() [1, 2, 3, 4, 5, 6]
%v: tensor<2x2xf32> = constant() [1, 2, 3, 4]
%a: tensor<4x2xf32> = matmul(%x, %w)
%b: tensor<4x2xf32> = matmul(%a, %v)
%c: tensor<4x2xf32> = matmul(%x, %w)
%d: tensor<4x2xf32> = add(%b, %c)
output(%d)
)");
    REQUIRE(parsed.has_value());
    view_.graph = *std::move(parsed);
    if (mistake == Mistake::other_names_each_time) {
      view_.graph.set_value_name(find("a"), "a" + std::to_string(copies++));
    }
    view_.promises =
        mistake == Mistake::promises_too_much || mistake == Mistake::promises_to_quantize;
    view_.refresh();
  }

  const GraphView& view() const noexcept override { return view_; }

  Expected<NodeId> emit(NodeSpec spec) override {
    if (mistake_ == Mistake::emit_forgets_attributes) spec.attributes = {};
    if (mistake_ == Mistake::emit_drops_an_operand) spec.operands.clear();
    if (mistake_ == Mistake::promises_to_quantize && spec.kind == ops::Quantize::kind) {
      return fail(ErrorCode::impossible, "no such operation");
    }
    const std::string wished = spec.results[0].name;
    const NodeId made = graph().add(std::move(spec));
    if (mistake_ == Mistake::emit_repeats_a_name) view_.called.emplace_back(Value{made}, wished);
    if (mistake_ == Mistake::emit_renumbers) {
      ++view_.skipped;
      view_.refresh();
      return NodeId{made.index, made.generation + view_.skipped};
    }
    if (mistake_ == Mistake::emit_forgets_uses) {
      for (std::uint32_t i = 0; i < graph().operands(made).size(); ++i) {
        const Value operand = graph().operands(made)[i];
        view_.forgotten.emplace_back(operand.node, Use{operand.result, made, i});
      }
    }
    return done(made);
  }

  Expected<void> set_operand(NodeId node, std::uint32_t operand, Value value) override {
    const Value old = graph().operands(node)[operand];
    const bool is_computed = graph().constant(old.node) == nullptr;
    if (mistake_ == Mistake::computed_codes_keep_their_readers && is_computed) return done();
    if (mistake_ == Mistake::operand_keeps_the_old_use) {
      view_.invented.emplace_back(old.node, Use{old.result, node, operand});
    }
    if (mistake_ == Mistake::operand_replaces_all) {
      graph().replace_uses(old, value);
    } else {
      graph().set_operand(node, operand, value);
    }
    return done();
  }

  Expected<void> set_type(Value value, TensorType type) override {
    if (mistake_ == Mistake::refuses_half_way) {
      graph().set_type(value, std::move(type));
      return fail(ErrorCode::impossible, "no such type");
    }
    if (mistake_ == Mistake::refuses_with_another_code) {
      return fail(ErrorCode::usage, "no such type");
    }
    if (mistake_ == Mistake::type_changes_the_shape) type.shape = Shape{8};
    if (mistake_ == Mistake::type_forgets_quantization) type.quantization = nullptr;
    graph().set_type(value, std::move(type));
    return done();
  }

  Expected<void> set_constant(NodeId node, Constant constant, Quantization quantization) override {
    const bool is_short = mistake_ == Mistake::promises_too_much;
    if (is_short && quantization.uniform()->granularity.kind == Granularity::Kind::tensor) {
      return fail(ErrorCode::impossible, "no scale for a whole tensor");
    }
    const TensorType before = graph().type({node});
    const Constant contents = *graph().constant(node);
    graph().set_constant(node, std::move(constant), std::move(quantization));
    if (mistake_ == Mistake::constant_keeps_its_type) graph().set_type({node}, before);
    if (mistake_ == Mistake::constant_keeps_its_contents) {
      const TensorType type = graph().type({node});
      graph().set_constant(node, contents);
      graph().set_type({node}, type);
    }
    return done();
  }

  Expected<void> set_value_name(Value value, std::string name) override {
    const std::string old(graph().value_name(value));
    if (mistake_ == Mistake::rename_repeats_a_name) {
      std::erase_if(view_.called, [&](const auto& entry) { return entry.first == value; });
      view_.called.emplace_back(value, name);
      return done();
    }
    const Value owner = graph().find_value(name);
    if (mistake_ == Mistake::rename_swaps_names && !owner.is_absent() && owner != value) {
      graph().set_value_name(value, "aside");
      graph().set_value_name(owner, old);
    }
    graph().set_value_name(value, std::move(name));
    if (mistake_ == Mistake::rename_keeps_the_old_name) graph().reserve_name(old);
    return done();
  }

  Expected<void> erase(NodeId node) override {
    if (mistake_ == Mistake::erase_leaves_uses) {
      for (std::uint32_t i = 0; i < graph().operands(node).size(); ++i) {
        const Value operand = graph().operands(node)[i];
        view_.invented.emplace_back(operand.node, Use{operand.result, node, i});
      }
    }
    graph().erase(node);
    return done();
  }

 private:
  Graph& graph() { return view_.graph; }
  [[nodiscard]] Value find(std::string_view name) const { return view_.graph.find_value(name); }
  Expected<void> done() {
    view_.refresh();
    return {};
  }
  Expected<NodeId> done(NodeId made) {
    view_.refresh();
    return made;
  }

  Mistake mistake_;
  View view_;
};

RewriterCheck check(Mistake mistake) {
  return check_rewriter([&] { return std::make_unique<Rewriter>(mistake); });
}

bool has(const RewriterCheck& found, std::string_view rule) {
  return std::ranges::find(found.faults, rule, &RewriterFault::rule) != found.faults.end();
}

TEST_CASE("a rewriter that is right has no faults") {
  const RewriterCheck found = check(Mistake::none);
  for (const RewriterFault& fault : found.faults) MESSAGE(fault.rule, ": ", fault.message);
  CHECK(found.faults.empty());
  CHECK(found.refused.empty());
  Graph graph;
  const RewriterCheck nothing =
      check_rewriter([&] { return std::make_unique<GraphEditor>(graph); });
  CHECK(has(nothing, "view"));  // nothing to try it on
}

TEST_CASE("each mistake is found by its rule") {
  const auto found_by = [](Mistake mistake, std::string_view rule) {
    CAPTURE(static_cast<int>(mistake));
    CAPTURE(rule);
    const RewriterCheck found = check(mistake);
    std::string rules;
    for (const RewriterFault& fault : found.faults) rules += std::string(fault.rule) + " ";
    CAPTURE(rules);
    CHECK(has(found, rule));
  };
  found_by(Mistake::rename_keeps_the_old_name, "names");
  found_by(Mistake::rename_repeats_a_name, "names");
  found_by(Mistake::rename_swaps_names, "names");
  found_by(Mistake::emit_repeats_a_name, "names");
  found_by(Mistake::emit_forgets_uses, "uses");
  found_by(Mistake::emit_forgets_attributes, "attributes");
  found_by(Mistake::emit_renumbers, "handles");
  found_by(Mistake::emit_drops_an_operand, "operands");
  found_by(Mistake::operand_keeps_the_old_use, "uses");
  found_by(Mistake::operand_replaces_all, "operands");
  found_by(Mistake::type_changes_the_shape, "types");
  found_by(Mistake::type_forgets_quantization, "types");
  found_by(Mistake::constant_keeps_its_type, "types");
  found_by(Mistake::constant_keeps_its_contents, "contents");
  found_by(Mistake::erase_leaves_uses, "uses");
  found_by(Mistake::refuses_half_way, "refusal");
  found_by(Mistake::refuses_with_another_code, "refusal");
  found_by(Mistake::other_names_each_time, "same");
  found_by(Mistake::promises_too_much, "capabilities");
  found_by(Mistake::promises_to_quantize, "capabilities");
  found_by(Mistake::computed_codes_keep_their_readers, "operands");
}

TEST_CASE("messages say which edit it was, refusals are listed") {
  const RewriterCheck kept = check(Mistake::rename_keeps_the_old_name);
  REQUIRE_FALSE(kept.faults.empty());
  CHECK(kept.faults.front().message.find("set_value_name of 'w_real' to 'w'") != std::string::npos);
  const RewriterCheck refused = check(Mistake::refuses_half_way);
  REQUIRE_FALSE(refused.refused.empty());
  CHECK(refused.refused.front().find("set_type of") != std::string::npos);
}

}  // namespace
}  // namespace quadrant::test
