#include "qdq_fusion/signed_codes.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "qdq_fusion/rules.hpp"
#include "quadrant/ir/moves.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/products.hpp"
#include "quadrant/ir/scales.hpp"

namespace quadrant::inline v0::qdq_fusion {
namespace {

constexpr std::int64_t offset = 128;

using TypePtr = std::shared_ptr<const UniformType>;

Expected<std::vector<std::int64_t>> zero_points_of(const UniformType& type) {
  if (type.zero_points) return read_integers(type.zero_points, type.zero_points.element_count());
  return std::vector<std::int64_t>(static_cast<std::size_t>(type.scales.element_count()), 0);
}

// A byte less 128 and a byte whose first bit is the other one are the same.
class SignedCodes final : public ConstantSource {
 public:
  explicit SignedCodes(Constant codes) : codes_(std::move(codes)) {}

  [[nodiscard]] Expected<void> read(std::uint64_t start, std::span<std::byte> out) const override {
    QUADRANT_CHECK(codes_.read(start, out));
    for (std::byte& code : out) code ^= std::byte{0x80};
    return {};
  }

 private:
  Constant codes_;
};

class Signing {
 public:
  explicit Signing(Graph& model) : model_(model) {}

  Expected<std::int64_t> run() {
    for (std::uint32_t index = 0; index < model_.index_bound(); ++index) {
      const NodeId node = model_.node_at(index);
      if (!node.is_valid()) continue;
      for (std::uint32_t i = 0; i < model_.result_count(node); ++i) {
        if (is_unsigned({node, i}) && !seen_.contains({node, i})) collect({node, i});
      }
    }
    if (!pays()) return 0;
    for (const Value codes : free_) QUADRANT_CHECK(change(codes));
    return static_cast<std::int64_t>(free_.size());
  }

 private:
  [[nodiscard]] bool is_unsigned(Value value) const {
    const UniformType* const type = model_.type(value).quantization.get();
    return type != nullptr && type->storage == ElementType::uint8;
  }

  // --- which codes are ours to change ---

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
    if (!value.is_absent() && is_unsigned(value) && seen_.insert(value).second) {
      pending_.push_back(value);
    }
  }

  // Whether what makes the codes can make others.
  bool follow_to_maker(Value value) {
    const std::string_view maker = model_.kind(value.node);
    if (find_move(maker) == nullptr)
      return maker == ops::Quantize::kind || maker == ops::Constant::kind;
    for (const Value operand : model_.operands(value.node)) meet(operand);
    return true;
  }

  // Whether all that reads the codes can read others.
  bool follow_to_readers(Value value) {
    bool are_free = true;
    for (const Use& use : model_.uses(value.node)) {
      if (use.result != value.result) continue;
      const std::string_view reader = model_.kind(use.user);
      if (find_move(reader) == nullptr) {
        are_free = are_free && reader == ops::Dequantize::kind;
        continue;
      }
      for (std::uint32_t i = 0; i < model_.result_count(use.user); ++i) {
        const Value moved{use.user, i};
        are_free = are_free && is_unsigned(moved);
        meet(moved);
      }
    }
    return are_free;
  }

  // --- whether it pays ---

  struct Votes {
    std::int64_t for_signed = 0;
    std::int64_t for_unsigned = 0;
  };

  [[nodiscard]] bool pays() const {
    Votes votes;
    for (std::uint32_t index = 0; index < model_.index_bound(); ++index) {
      const NodeId node = model_.node_at(index);
      const Product* const product = node.is_valid() ? find_product(model_.kind(node)) : nullptr;
      if (product != nullptr) vote(model_.ref(node), *product, votes);
    }
    return votes.for_signed > votes.for_unsigned;
  }

  void vote(NodeRef node, const Product& product, Votes& votes) const {
    const Value data = codes_behind(node, product.data);
    const Value weight = codes_behind(node, product.weight);
    if (data.is_absent() || weight.is_absent() || !is_unsigned(data)) return;
    const bool changes_data = free_.contains(data);
    const UniformType& type = *model_.type(weight).quantization;
    if (type.storage == ElementType::int8 || type.storage == ElementType::int4) {
      votes.for_signed += changes_data ? 1 : 0;
      return;
    }
    const auto zeros = zero_points_of(type);
    if (type.storage != ElementType::uint8 || !zeros) return;
    const bool is_per_tensor = type.granularity.kind == Granularity::Kind::tensor;
    const bool is_matrix =
        node.kind() != ops::Conv::kind && node.kind() != ops::ConvTranspose::kind;
    const bool is_symmetric = std::ranges::all_of(*zeros, [](auto zero) { return zero == offset; });
    const bool changes_both = changes_data && free_.contains(weight);
    const bool fits = is_symmetric || (is_matrix && is_per_tensor);
    votes.for_signed += changes_both && fits ? 1 : 0;
    votes.for_unsigned += is_per_tensor && node.kind() != ops::MatMul::kind ? 1 : 0;
  }

  // What a `dequantize` makes the operand of, or what the operand's elements are chosen from;
  // absent where it is real numbers.
  [[nodiscard]] Value codes_behind(NodeRef node, std::uint32_t operand) const {
    constexpr int most_steps = 8;  // a limit, so that a chain is not walked by each of its readers
    Value value = node.operand(operand);
    for (int step = 0; step < most_steps && !value.is_absent(); ++step) {
      const NodeRef maker = model_.ref(value.node);
      if (maker.kind() == ops::Dequantize::kind) return maker.operand(0);
      const FusionRule* const rule = find_rule(FusionTarget::tflite, maker.kind());
      if (rule == nullptr || rule->commutes == nullptr || !rule->commutes(maker)) break;
      value = maker.operand(rule->first);
    }
    return {};
  }

  // --- doing it ---

  Expected<void> change(Value value) {
    QUADRANT_TRY(const TypePtr type, signed_type(model_.type(value).quantization));
    if (const Constant* const codes = model_.constant(value.node)) {
      const Constant changed =
          Constant::deferred(type->storage, codes->shape(), std::make_shared<SignedCodes>(*codes));
      model_.set_constant(value.node, changed, type);
      return {};
    }
    model_.set_type(value, {type->storage, model_.type(value).shape, type});
    return {};
  }

  Expected<TypePtr> signed_type(const TypePtr& type) {
    if (const auto known = types_.find(type); known != types_.end()) return known->second;
    UniformType changed = *type;
    changed.storage = ElementType::int8;
    changed.storage_min -= offset;
    changed.storage_max -= offset;
    QUADRANT_TRY(std::vector<std::int64_t> zeros, zero_points_of(*type));
    for (std::int64_t& zero : zeros) zero -= offset;
    const bool has_zeros = std::ranges::any_of(zeros, [](auto zero) { return zero != 0; });
    changed.zero_points =
        has_zeros ? make_zero_points(changed.storage, type->scales.shape(), zeros) : Constant();
    return types_.emplace(type, std::make_shared<const UniformType>(std::move(changed)))
        .first->second;
  }

  Graph& model_;
  std::unordered_set<Value> free_;
  std::unordered_set<Value> seen_;
  std::vector<Value> pending_;
  std::unordered_map<TypePtr, TypePtr> types_;
};

}  // namespace

Expected<std::int64_t> prefer_signed_codes(Graph& model) { return Signing(model).run(); }

}  // namespace quadrant::inline v0::qdq_fusion
