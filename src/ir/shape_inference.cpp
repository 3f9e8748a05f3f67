#include "ir/shape_inference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "ir/ops/functions.hpp"
#include "ir/regions.hpp"
#include "ir/result_type.hpp"
#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0 {
namespace detail {
namespace {

Expected<Shape> merge(const Shape& stated, const Shape& inferred) {
  QUADRANT_CHECK(check_extents(inferred));
  if (auto both = merged(stated, inferred)) return *std::move(both);
  return fail(ErrorCode::invalid_model,
              fmt::format("the result has shape [{}], but [{}] follows from the operands",
                          to_string(stated), to_string(inferred)));
}

// Deferred contents are taken to be the same: comparing them would mean computing them.
bool may_be_same(const Constant& a, const Constant& b) {
  if (a == b) return true;
  if (!a || !b) {  // no zero points are the same as zeros
    const Constant& other = a ? a : b;
    if (other.is_deferred() || !is_integer(other.element())) return other.is_deferred();
    const auto values = read_integers(other, other.element_count());
    return values && std::ranges::all_of(*values, [](std::int64_t value) { return value == 0; });
  }
  if (a.element() != b.element() || a.shape() != b.shape()) return false;
  if (a.is_deferred() || b.is_deferred()) return true;
  const auto bytes_a = a.read();
  const auto bytes_b = b.read();
  return bytes_a && bytes_b && std::ranges::equal(bytes_a->bytes(), bytes_b->bytes());
}

bool may_be_same(const UniformType& a, const UniformType& b) {
  return a.storage == b.storage && declared_bits(a) == declared_bits(b) &&
         a.expressed == b.expressed && a.granularity == b.granularity &&
         a.storage_min == b.storage_min && a.storage_max == b.storage_max &&
         may_be_same(a.scales, b.scales) && may_be_same(a.zero_points, b.zero_points);
}

bool may_be_same(const Quantization& a, const Quantization& b) {
  if (a.uniform() && b.uniform()) return may_be_same(*a.uniform(), *b.uniform());
  return a == b;
}

}  // namespace

Expected<TensorType> merge(const TensorType& stated, const TensorType& inferred) {
  TensorType merged = stated;
  if (inferred.element != ElementType::undefined) {
    if (stated.element == ElementType::undefined) {
      merged.element = inferred.element;
      merged.quantization = inferred.quantization;
    } else if (stated.element != inferred.element ||
               stated.is_quantized() != inferred.is_quantized() ||
               (stated.is_quantized() &&
                !may_be_same(stated.quantization, inferred.quantization))) {
      return fail(ErrorCode::invalid_model,
                  fmt::format("the result is {}, but {} follows from the operands",
                              to_string(stated), to_string(inferred)));
    }
  }
  QUADRANT_TRY(merged.shape, merge(stated.shape, inferred.shape));
  return merged;
}

Expected<void> check_extents(const Shape& shape) {
  for (const Extent extent : shape.extents()) {
    if (extent.is_negative()) {
      return fail(ErrorCode::invalid_model,
                  fmt::format("a dimension of extent {}", to_string(extent)));
    }
  }
  return {};
}

Place place_of(NodeRef node) {
  Place place;
  place.node = node.name();
  const bool has_result = node.graph->result_count(node.id) > 0;
  if (place.node.empty() && has_result) place.node = node.graph->value_name(node.result());
  if (place.node.empty()) place.node = node.kind();
  return place;
}

Error at(NodeRef node, Error error) {
  if (error.place == Place{}) error.place = place_of(node);
  return error;
}

Expected<void> infer_node(Graph& graph, NodeId id) {
  const NodeRef node = graph.ref(id);
  for (std::uint32_t result = 0; result < graph.result_count(id); ++result) {
    if (auto valid = check_extents(node.type(result).shape); !valid) {
      return fail(at(node, std::move(valid).error()));
    }
  }
  const auto inferred = infer_results(node);
  if (!inferred) return fail(at(node, inferred.error()));
  for (std::uint32_t result = 0; result < inferred->size(); ++result) {
    auto merged = merge(node.type(result), (*inferred)[result]);
    if (!merged) return fail(at(node, std::move(merged).error()));
    graph.set_type(node.result(result), *std::move(merged));
  }
  return {};
}

}  // namespace detail

namespace {

// A branch that is for other shapes is never run with these.
bool may_never_run(const Graph& graph, const Regions& regions, NodeId node) {
  for (std::uint32_t region = regions.of(node); region != Regions::model;
       region = regions[region].outer) {
    if (region == Regions::nowhere || graph.kind(regions[region].owner) == ops::If::kind)
      return true;
  }
  return false;
}

}  // namespace

Expected<void> infer_shapes(Graph& graph) {
  QUADRANT_TRY(const std::vector<NodeId> order, topological_order(graph));
  std::optional<Regions> regions;  // found where they matter: in most models, never
  for (const NodeId id : order) {
    auto inferred = detail::infer_node(graph, id);
    if (inferred) continue;
    if (!regions) {
      QUADRANT_TRY(regions, Regions::find(graph));
    }
    if (!may_never_run(graph, *regions, id)) return inferred;
  }
  return {};
}

}  // namespace quadrant::inline v0
