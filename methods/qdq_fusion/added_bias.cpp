#include "qdq_fusion/added_bias.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"
#include "targets/kernels/conditions.hpp"

namespace quadrant::inline v0::qdq_fusion {
namespace {

// A sum of products that a constant is added to.
struct BiasedSum {
  NodeRef product;
  Constant bias;  // a list
};

// The numbers of `constant`, if it has one for each index of `axis` of a tensor of `shape`.
std::optional<Constant> list_along(const Constant& constant, const Shape& shape,
                                   std::int64_t axis) {
  const Shape& given = constant.shape();
  const std::int64_t lead = shape.rank() - given.rank();
  if (lead < 0 || !surely_equal(shape[axis], constant.element_count())) return std::nullopt;
  for (std::int64_t i = 0; i < given.rank(); ++i) {
    if (!surely_equal(given[i], 1) && i + lead != axis) return std::nullopt;
  }
  return constant.reshaped(Shape{shape[axis]});
}

// Whether it could have a bias, and has none.
bool is_without_bias(NodeRef node) {
  if (node.kind() == ops::MatMul::kind) {
    return node.operand_type(0)->shape.rank() == 2 && target_kernels::is_constant_matrix(node, 1);
  }
  const Product* const product = find_product(node);
  return product != nullptr && product->bias == 2 && product->adds_bias(node) &&
         node.operand(product->bias).is_absent();
}

// The operand, a constant or a reshape of one; empty for what is computed.
Constant known_operand(NodeRef node, std::size_t operand) {
  if (const Constant* const known = node.operand_constant(operand)) return *known;
  if (node.operand(operand).is_absent()) return {};
  const NodeRef maker{node.graph, node.operand(operand).node};
  const Constant* const before =
      maker.kind() == ops::Reshape::kind ? maker.operand_constant(0) : nullptr;
  const Shape& shape = maker.type().shape;
  if (before == nullptr || !*before || shape.element_count() != before->element_count()) return {};
  return before->reshaped(shape);
}

std::optional<BiasedSum> find_sum(NodeRef add, std::size_t side) {
  const Value sum = add.operand(side);
  const Constant bias = known_operand(add, 1 - side);
  if (sum.is_absent() || !bias || !is_float(bias.element())) return std::nullopt;
  const NodeRef product{add.graph, sum.node};
  const Product* const parts = find_product(product);
  const Shape& shape = product.type().shape;
  const bool fits = parts != nullptr && is_without_bias(product) &&
                    add.graph->uses(sum.node).size() == 1 && shape.rank() >= 2 &&
                    bias.element() == product.type().element;
  if (!fits) return std::nullopt;
  const std::int64_t axis = is_convolution(*parts) ? 1 : shape.rank() - 1;
  auto list = list_along(bias, shape, axis);
  if (!list) return std::nullopt;
  return BiasedSum{product, *std::move(list)};
}

void replace(Graph& model, NodeId add, const BiasedSum& sum) {
  const NodeId product = sum.product.id;
  const std::string name(model.value_name({add}));
  NodeSpec spec;
  spec.kind = model.kind(product) == ops::MatMul::kind ? ops::Gemm::kind : model.kind(product);
  spec.name = model.name(product);
  spec.operands.assign(model.operands(product).begin(), model.operands(product).end());
  spec.operands.resize(2);
  spec.operands.push_back(model.add_constant(name + "_bias", sum.bias));
  spec.results.push_back({name, model.type({add})});
  spec.attributes = model.attributes(product);
  const Value made{model.add(std::move(spec))};
  const std::vector<Value> given(model.operands(add).begin(), model.operands(add).end());
  model.replace_uses({add}, made);
  model.erase(add);
  model.erase(product);
  std::vector<Value> unread = given;
  while (!unread.empty()) {
    const NodeId node = unread.back().node;
    unread.pop_back();
    if (!node.is_valid() || !model.contains(node) || !model.uses(node).empty()) continue;
    if (model.kind(node) == ops::Input::kind) continue;
    unread.insert(unread.end(), model.operands(node).begin(), model.operands(node).end());
    model.erase(node);
  }
  model.set_value_name(made, name);
}

}  // namespace

std::int64_t take_added_biases(Graph& model) {
  std::int64_t count = 0;
  const std::uint32_t bound = model.index_bound();
  for (std::uint32_t index = 0; index < bound; ++index) {
    const NodeId node = model.node_at(index);
    if (!node.is_valid() || model.kind(node) != ops::Add::kind) continue;
    auto sum = find_sum(model.ref(node), 0);
    if (!sum) sum = find_sum(model.ref(node), 1);
    if (!sum) continue;
    replace(model, node, *sum);
    ++count;
  }
  return count;
}

}  // namespace quadrant::inline v0::qdq_fusion
