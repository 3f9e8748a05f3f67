#include "numerics/code_sign.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/scales.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {
namespace {

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

  [[nodiscard]] int bits(Value value) const { return declared_bits(*graph_.type(value).uniform()); }

  // The codes that moves connect with these, unless somebody asks for them as they are, or some
  // would be shifted otherwise than others.
  void collect(Value first) {
    std::vector<Value> found;
    bool is_free = true;
    meet(first);
    while (!pending_.empty()) {
      const Value value = pending_.back();
      pending_.pop_back();
      found.push_back(value);
      is_free = is_free && bits(value) == bits(first);
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

// Codes that are so many more, modulo 256.
class ShiftedBytes final : public ConstantSource {
 public:
  ShiftedBytes(Constant codes, std::int64_t step)
      : codes_(std::move(codes)), step_(static_cast<std::uint8_t>(step)) {}

  [[nodiscard]] Expected<void> read(std::uint64_t start, std::span<std::byte> out) const override {
    QUADRANT_CHECK(codes_.read(start, out));
    for (std::byte& code : out) {
      code = static_cast<std::byte>(std::to_integer<std::uint8_t>(code) + step_);
    }
    return {};
  }

 private:
  Constant codes_;
  std::uint8_t step_;
};

// What codes are more when they lose or get a sign.
std::int64_t step_of(const UniformType& type) {
  const std::int64_t half = std::int64_t{1} << (declared_bits(type) - 1);
  return has_signed_codes(type) ? half : -half;
}

Expected<TypePtr> shifted(const UniformType& type) {
  QUADRANT_ASSERT(declared_bits(type) <= 8);
  const std::int64_t step = step_of(type);
  UniformType changed = type;
  changed.storage = storage_element(declared_bits(type), !has_signed_codes(type));
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
    const TypePtr before = graph.type(value).uniform();
    const TypePtr& type = types[before];
    if (const Constant* const held = graph.constant(value.node)) {
      graph.set_constant(
          value.node,
          Constant::deferred(type->storage, held->shape(),
                             std::make_shared<ShiftedBytes>(*held, step_of(*before))),
          type);
    } else {
      graph.set_type(value, {type->storage, graph.type(value).shape, type});
    }
  }
  return {};
}

}  // namespace quadrant::inline v0
