#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "ir/scales.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/targets/runtime_profile.hpp"

namespace quadrant::inline v0 {
namespace {

bool has_codes_of_8_bits(const TensorType& type) {
  return type.uniform() && bit_width(type.uniform()->storage) == 8;
}

// OpenVINO's data are real numbers on as many levels.
bool has_data_of_8_bits(const GraphView& graph, Value data) {
  const NodeRef node{&graph, data.node};
  if (node.kind() != ops::FakeQuantize::kind) return has_codes_of_8_bits(graph.type(data));
  const std::optional<std::int64_t> levels = ops::FakeQuantize{node}.levels();
  return levels && *levels <= 256;
}

constexpr int largest_code = 127;

// Of the codes that share a scale: the two largest, and the two smallest.
struct Extremes {
  std::array<int, 2> high{};
  std::array<int, 2> low{};

  void add(int code) {
    if (code > high[1]) high = {std::max(code, high[0]), std::min(code, high[0])};
    if (code < low[1]) low = {std::min(code, low[0]), std::max(code, low[0])};
  }
  [[nodiscard]] bool has_inexact_pair() const {
    return !is_exact_pair(high[0], high[1]) || !is_exact_pair(low[0], low[1]);
  }
};

struct Weight {
  const UniformType* type = nullptr;
  Constant codes;
  std::vector<float> scales;
  std::vector<Extremes> extremes;  // by scale
};

Expected<Weight> read_weight(const Constant& stored, const UniformType& type) {
  QUADRANT_TRY(ConstantBytes bytes, stored.read());
  Weight weight{.type = &type, .codes = {}, .scales = {}, .extremes = {}};
  if (type.granularity.kind != Granularity::Kind::block) {
    QUADRANT_TRY(weight.scales, read_scales(type.scales));
  }
  weight.extremes.resize(std::max<std::size_t>(weight.scales.size(), 1));
  std::size_t run = 1;  // neighbours that share a scale
  if (type.granularity.kind == Granularity::Kind::axis) {
    run = static_cast<std::size_t>(
        stored.shape().strides()[static_cast<std::size_t>(type.granularity.axis)]);
  }
  const auto values = bytes.as<std::int8_t>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    weight.extremes[i / run % weight.extremes.size()].add(values[i]);
  }
  weight.codes = Constant::from_shared(ElementType::int8, stored.shape(), std::move(bytes));
  return weight;
}

// Where the order is not known, any two codes of a scale may meet.
PairCount count_groups(const Weight& weight) {
  PairCount count{.pairs = static_cast<std::uint64_t>(weight.codes.element_count() / 2)};
  for (const Extremes& extremes : weight.extremes) {
    count.inexact += extremes.has_inexact_pair() ? 1U : 0U;
  }
  return count;
}

// The worst of the orders.
Expected<PairCount> count(const GraphView& graph, NodeRef node, const Product& product,
                          const Weight& weight, PairingRuntimes runtimes) {
  const Value value = node.operand(product.weight);
  PairCount worst;
  for (PairOrder& order : pair_orders(node, product.weight, graph.type(value).shape, runtimes)) {
    order = order_at_constant(graph, value, std::move(order));
    PairCount found = count_groups(weight);
    if (!order.along.empty()) {
      QUADRANT_TRY(found, count_inexact_pairs(weight.codes, order));
    }
    if (worst.pairs == 0 || found.inexact > worst.inexact) worst = found;
  }
  return worst;
}

// Uniform noise in each code, with the scales as they are, and as large as the codes need them.
double unused_range_db(const Weight& weight) {
  double noise = 0;
  double least = 0;
  for (std::size_t i = 0; i < weight.scales.size(); ++i) {
    const int high = weight.extremes[i].high[0];
    const int low = weight.extremes[i].low[0];
    const double used = weight.type->zero_points
                            ? (high - low) / (2.0 * largest_code)
                            : static_cast<double>(std::max(-low, high)) / largest_code;
    if (used == 0) continue;  // zeros alone, which no scale changes
    const auto scale = static_cast<double>(weight.scales[i]);
    noise += scale * scale;
    least += scale * scale * std::min(used * used, 1.0);
  }
  return least > 0 ? 10 * std::log10(noise / least) : 0;
}

}  // namespace

Expected<std::vector<PairedProduct>> find_paired_products(const GraphView& graph,
                                                          PairingRuntimes runtimes) {
  std::vector<PairedProduct> found;
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    const NodeRef node{&graph, graph.node_at(i)};
    if (!node.id.is_valid()) continue;
    const Product* const product = find_product(node);
    if (product == nullptr) continue;
    const Value data = code_source(graph, node.operand(product->data));
    const Value value = code_source(graph, node.operand(product->weight));
    if (data.is_absent() || value.is_absent()) continue;
    const Constant* const stored = graph.constant(value.node);
    if (stored == nullptr || stored->element() != ElementType::int8 ||
        !has_codes_of_8_bits(graph.type(value)) || !has_data_of_8_bits(graph, data)) {
      continue;
    }
    PairedProduct each{.node = node.id, .weight = std::string(graph.value_name(value))};
    QUADRANT_TRY(const Weight weight, read_weight(*stored, *graph.type(value).uniform()));
    const bool in_onnxruntime = runtimes.onnxruntime && is_on_codes_in_onnxruntime(node);
    QUADRANT_TRY(each.onnxruntime, count(graph, node, *product, weight,
                                         {.onnxruntime = in_onnxruntime, .openvino = false}));
    QUADRANT_TRY(each.openvino, count(graph, node, *product, weight,
                                      {.onnxruntime = false, .openvino = runtimes.openvino}));
    each.unused_range_db = unused_range_db(weight);
    if (each.onnxruntime.pairs + each.openvino.pairs > 0) found.push_back(std::move(each));
  }
  return found;
}

}  // namespace quadrant::inline v0
