#include "numerics/code_sign.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/scales.hpp"
#include "quadrant/ir/moves.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/support/assert.hpp"

namespace quadrant::inline v0 {
namespace {

constexpr std::int64_t offset = 128;

using TypePtr = std::shared_ptr<const UniformType>;

class Search {
 public:
  Search(const Graph& graph, ElementType storage, const std::function<bool(NodeId)>& is_ours)
      : graph_(graph), storage_(storage), is_ours_(is_ours) {}

  std::unordered_set<Value> run() {
    for (std::uint32_t index = 0; index < graph_.index_bound(); ++index) {
      const NodeId node = graph_.node_at(index);
      if (!node.is_valid()) continue;
      for (std::uint32_t i = 0; i < graph_.result_count(node); ++i) {
        if (has_storage({node, i}) && !seen_.contains({node, i})) collect({node, i});
      }
    }
    return std::move(free_);
  }

 private:
  [[nodiscard]] bool has_storage(Value value) const {
    const UniformType* const type = graph_.type(value).uniform().get();
    return type != nullptr && type->storage == storage_;
  }

  // The codes that moves connect with these, unless somebody asks for them as they are.
  void collect(Value first) {
    std::vector<Value> found;
    bool is_free = true;
    meet(first);
    while (!pending_.empty()) {
      const Value value = pending_.back();
      pending_.pop_back();
      found.push_back(value);
      const bool is_maker_free = follow_to_maker(value);
      is_free = follow_to_readers(value) && is_maker_free && is_free;
    }
    if (is_free) free_.insert(found.begin(), found.end());
  }

  void meet(Value value) {
    if (!value.is_absent() && has_storage(value) && seen_.insert(value).second) {
      pending_.push_back(value);
    }
  }

  // Whether what makes the codes can make others.
  bool follow_to_maker(Value value) {
    const std::string_view maker = graph_.kind(value.node);
    if (find_move({&graph_, value.node}) == nullptr) {
      return (maker == ops::Quantize::kind || maker == ops::Constant::kind) && is_ours_(value.node);
    }
    for (const Value operand : graph_.operands(value.node)) meet(operand);
    return true;
  }

  // Whether all that reads the codes can read others.
  bool follow_to_readers(Value value) {
    bool are_free = true;
    for (const Use& use : graph_.uses(value.node)) {
      if (use.result != value.result) continue;
      const std::string_view reader = graph_.kind(use.user);
      if (find_move({&graph_, use.user}) == nullptr) {
        are_free = are_free && reader == ops::Dequantize::kind;
        continue;
      }
      for (std::uint32_t i = 0; i < graph_.result_count(use.user); ++i) {
        const Value moved{use.user, i};
        are_free = are_free && has_storage(moved);
        meet(moved);
      }
    }
    return are_free;
  }

  const Graph& graph_;
  ElementType storage_;
  const std::function<bool(NodeId)>& is_ours_;
  std::unordered_set<Value> free_;
  std::unordered_set<Value> seen_;
  std::vector<Value> pending_;
};

// A byte and the byte 128 before or behind it, which differ in their first bit.
class ShiftedBytes final : public ConstantSource {
 public:
  explicit ShiftedBytes(Constant codes) : codes_(std::move(codes)) {}

  [[nodiscard]] Expected<void> read(std::uint64_t start, std::span<std::byte> out) const override {
    QUADRANT_CHECK(codes_.read(start, out));
    for (std::byte& code : out) code ^= std::byte{0x80};
    return {};
  }

 private:
  Constant codes_;
};

Expected<TypePtr> shifted(const UniformType& type) {
  QUADRANT_ASSERT(type.storage == ElementType::int8 || type.storage == ElementType::uint8);
  const bool gains_sign = type.storage == ElementType::uint8;
  const std::int64_t step = gains_sign ? -offset : offset;
  UniformType changed = type;
  changed.storage = gains_sign ? ElementType::int8 : ElementType::uint8;
  changed.storage_min += step;
  changed.storage_max += step;
  QUADRANT_TRY(auto zeros, read_zero_points(type));
  for (std::int64_t& zero : zeros) zero += step;
  const bool has_zeros = std::ranges::any_of(zeros, [](auto zero) { return zero != 0; });
  changed.zero_points =
      has_zeros ? make_zero_points(changed.storage, type.scales.shape(), zeros) : Constant();
  return std::make_shared<const UniformType>(std::move(changed));
}

}  // namespace

std::unordered_set<Value> free_codes(const Graph& graph, ElementType storage,
                                     const std::function<bool(NodeId)>& is_ours) {
  return Search(graph, storage, is_ours).run();
}

Expected<void> change_sign(Graph& graph, const std::unordered_set<Value>& codes) {
  std::unordered_map<TypePtr, TypePtr> types;  // values that shared one go on sharing
  for (const Value value : codes) {
    TypePtr& type = types[graph.type(value).uniform()];
    if (type) continue;
    QUADRANT_TRY(type, shifted(*graph.type(value).uniform()));
  }
  for (const Value value : codes) {
    const TypePtr& type = types[graph.type(value).uniform()];
    if (const Constant* const held = graph.constant(value.node)) {
      graph.set_constant(
          value.node,
          Constant::deferred(type->storage, held->shape(), std::make_shared<ShiftedBytes>(*held)),
          type);
    } else {
      graph.set_type(value, {type->storage, graph.type(value).shape, type});
    }
  }
  return {};
}

}  // namespace quadrant::inline v0
