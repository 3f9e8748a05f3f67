#include "numerics/code_sign.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/scales.hpp"
#include "quadrant/ir/number_format.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {
namespace {

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
    const Quantization& type = graph_.type(value).quantization;
    return type.storage() == storage_ && is_uniform(scaled_format(type).format);
  }

  [[nodiscard]] int bits(Value value) const {
    return bit_width(scaled_format(graph_.type(value).quantization).format.code);
  }

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
std::int64_t step_of(const Quantization& type) {
  const auto code = std::get<IntegerCode>(scaled_format(type).format.code);
  const std::int64_t half = std::int64_t{1} << (code.bits - 1);
  return code.is_signed ? half : -half;
}

Expected<Quantization> shifted(const Quantization& type) {
  ScaledFormat changed = scaled_format(type);
  auto& code = std::get<IntegerCode>(changed.format.code);
  QUADRANT_ASSERT(code.bits <= 8);
  const std::int64_t step = step_of(type);
  QUADRANT_TRY(auto zeros, read_zero_points(changed));
  for (std::int64_t& zero : zeros) zero += step;
  const bool has_zeros = std::ranges::any_of(zeros, [](auto zero) { return zero != 0; });
  code = {code.bits, !code.is_signed, code.min + step, code.max + step};
  changed.format.offset = has_zeros ? Offset::zero_point : Offset::none;
  changed.offsets.clear();
  if (has_zeros) {
    changed.offsets.push_back(
        make_zero_points(storage_element(changed.format), changed.scales.front().shape(), zeros));
  }
  return Quantization(changed);
}

// By its format and its first scale.
struct TypeHash {
  std::size_t operator()(const Quantization& type) const {
    const ScaledFormat scaled = scaled_format(type);
    const Constant& scales = scaled.scales.front();
    std::array<std::byte, sizeof(std::uint64_t)> first{};
    const auto width = static_cast<std::size_t>(byte_width(scales.element()));
    const bool is_read =
        scales.element_count() > 0 && scales.read(0, std::span(first).first(width));
    return scaled.format.hash() ^ (is_read ? std::bit_cast<std::uint64_t>(first) : 0);
  }
};

}  // namespace

std::unordered_set<Value> free_codes(const Graph& graph, ElementType storage,
                                     const std::function<bool(NodeId)>& is_ours) {
  return Search(graph, storage, is_ours).run();
}

Expected<void> change_sign(Graph& graph, const std::unordered_set<Value>& codes) {
  // Values that shared one go on sharing.
  std::unordered_map<Quantization, Quantization, TypeHash> types;
  for (const Value value : codes) {
    const Quantization& before = graph.type(value).quantization;
    Quantization& type = types[before];
    if (type) continue;
    QUADRANT_TRY(type, shifted(before));
  }
  for (const Value value : codes) {
    const Quantization before = graph.type(value).quantization;
    const Quantization& type = types[before];
    if (const Constant* const held = graph.constant(value.node)) {
      graph.set_constant(value.node,
                         Constant::deferred(type.storage(), held->shape(),
                                            std::make_shared<ShiftedBytes>(*held, step_of(before))),
                         type);
    } else {
      graph.set_type(value, {type.storage(), graph.type(value).shape, type});
    }
  }
  return {};
}

}  // namespace quadrant::inline v0
