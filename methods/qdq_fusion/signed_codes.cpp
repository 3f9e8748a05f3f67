#include "qdq_fusion/signed_codes.hpp"

#include <algorithm>
#include <cstddef>
#include <unordered_set>
#include <vector>

#include "ir/scales.hpp"
#include "numerics/code_sign.hpp"
#include "qdq_fusion/rules.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::qdq_fusion {
namespace {

constexpr std::int64_t middle = 128;  ///< of uint8

class Signing {
 public:
  explicit Signing(Graph& model)
      : model_(model), free_(free_codes(model, ElementType::uint8, [](NodeId) { return true; })) {}

  Expected<std::int64_t> run() {
    if (!pays()) return 0;
    QUADRANT_CHECK(change_sign(model_, free_));
    return static_cast<std::int64_t>(free_.size());
  }

 private:
  [[nodiscard]] bool is_unsigned(Value value) const {
    const UniformType* const type = model_.type(value).uniform().get();
    return type != nullptr && type->storage == ElementType::uint8;
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
      const Product* const product = node.is_valid() ? find_product({&model_, node}) : nullptr;
      if (product != nullptr) vote(model_.ref(node), *product, votes);
    }
    return votes.for_signed > votes.for_unsigned;
  }

  void vote(NodeRef node, const Product& product, Votes& votes) const {
    const Value data = codes_behind(node, product.data);
    const Value weight = codes_behind(node, product.weight);
    if (data.is_absent() || weight.is_absent() || !is_unsigned(data)) return;
    const bool changes_data = free_.contains(data);
    const UniformType& type = *model_.type(weight).uniform();
    if (type.storage == ElementType::int8 || type.storage == ElementType::int4) {
      votes.for_signed += changes_data ? 1 : 0;
      return;
    }
    const auto zeros = read_zero_points(type);
    if (type.storage != ElementType::uint8 || !zeros) return;
    const bool is_per_tensor = type.granularity.kind == Granularity::Kind::tensor;
    const bool is_matrix =
        node.kind() != ops::Conv::kind && node.kind() != ops::ConvTranspose::kind;
    const bool is_symmetric = std::ranges::all_of(*zeros, [](auto zero) { return zero == middle; });
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
      const KernelRule* const rule = find_rule(KernelsTarget::tflite, maker.kind());
      if (rule == nullptr || rule->commutes == nullptr || !rule->commutes(maker)) break;
      value = maker.operand(rule->first);
    }
    return {};
  }

  Graph& model_;
  std::unordered_set<Value> free_;  ///< which codes are ours to change
};

}  // namespace

Expected<std::int64_t> prefer_signed_codes(Graph& model) { return Signing(model).run(); }

}  // namespace quadrant::inline v0::qdq_fusion
