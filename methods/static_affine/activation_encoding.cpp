// The encodings of activations.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "ir/float16.hpp"
#include "ir/ops/elementwise.hpp"
#include "ir/ops/normalization.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/numerics/encoding.hpp"
#include "static_affine/element_moves.hpp"
#include "static_affine/encodings.hpp"
#include "static_affine/limits.hpp"
#include "static_affine/positions.hpp"
#include "targets/kernels/openvino.hpp"
#include "targets/kernels/webnn.hpp"

namespace quadrant::inline v0::static_affine {
namespace {

struct FixedRange {
  std::string_view kind;
  float min;
  float max;
};

// All that these can be, whatever the samples were.
constexpr std::array fixed_ranges{
    FixedRange{ops::Softmax::kind, 0, 1}, FixedRange{ops::Sigmoid::kind, 0, 1},
    FixedRange{ops::HardSigmoid::kind, 0, 1}, FixedRange{ops::Tanh::kind, -1, 1}};

const FixedRange* fixed_range(const GraphView& graph, Value value) noexcept {
  const auto* const found =
      std::ranges::find(fixed_ranges, graph.kind(value.node), &FixedRange::kind);
  return found == fixed_ranges.end() ? nullptr : &*found;
}

// The value whose numbers count: of one that is only limited, perhaps after it moved, what it is
// limited to.
Value limited(const GraphView& graph, Value value) noexcept {
  constexpr int most_steps = 8;  // a limit, so that a chain of them is not walked by each
  Value last = value;
  for (int i = 0; i < most_steps; ++i) {
    const auto uses = graph.uses(value.node);
    if (uses.size() != 1 || uses[0].operand != 0) break;
    const NodeRef user{&graph, uses[0].user};
    value = {uses[0].user};
    if (is_clamp(user)) {
      last = value;
    } else if (!chooses_elements(user)) {
      break;
    }
  }
  return last;
}

const TensorStatistics* statistics_of(const StaticAffineOptions& options, const GraphView& graph,
                                      Value value) noexcept {
  return options.statistics == nullptr ? nullptr
                                       : options.statistics->find(graph.value_name(value));
}

// Adds what is known of a value.
Expected<void> add_observations(const StaticAffineOptions& options, const GraphView& graph,
                                Value value, TensorStatistics& all) {
  if (const Constant* const constant = graph.constant(value.node)) {
    QUADRANT_TRY(const Tensor contents, Tensor::from_constant(*constant));
    all.add(contents);
    return {};
  }
  if (const FixedRange* const range = fixed_range(graph, value)) {
    const std::array ends{range->min, range->max};
    all.histogram.add(ends);
  }
  if (const auto* const known = statistics_of(options, graph, value)) all.merge(*known);
  return {};
}

// Elements that were moved were counted where they came from.
bool is_counted_elsewhere(const GraphView& graph, Value value, const std::set<Value>& members) {
  const NodeRef node{&graph, value.node};
  return is_move(node) && members.contains(node.operand(0));
}

Expected<Encoding> encoding_of(const TensorStatistics& observed, const EncodingRule& rule) {
  const Histogram& histogram = observed.histogram;
  if (rule.method == EncodingMethod::minmax || histogram.finite_count() == 0) {
    return find_encoding(histogram.min(), histogram.max(), rule);
  }
  if (!histogram.has_bins()) {
    return fail(ErrorCode::usage,
                "the statistics have ranges alone: this way to find encodings needs histograms");
  }
  const auto values = histogram.values();
  return find_encoding(values, histogram.min(), histogram.max(), rule);
}

// What LiteRT's kernel makes, or, where it makes any, what the browsers' converter fixes.
std::optional<target_kernels::FixedResult> fixed_result(std::string_view kind, ElementType codes) {
  for (const auto* const rule : {find_rule(target_kernels::litert::rules, kind),
                                 find_rule(target_kernels::webnn::rules, kind)}) {
    if (rule == nullptr || rule->is_unbounded_below) continue;
    if (const auto fixed = rule->results.of(codes)) return fixed;
  }
  return std::nullopt;
}

// What the kernels that were chosen for make of all the values; empty where they take any encoding.
std::optional<Encoding> fixed_encoding(const StaticAffineOptions& options, const GraphView& graph,
                                       const std::set<Value>& values) {
  if (options.kernels != KernelsTarget::tflite) return std::nullopt;
  const int bits = options.activations.bits;
  const ElementType codes = bits == 16 ? ElementType::int16 : ElementType::int8;
  std::optional<Encoding> encoding;
  for (const Value value : values) {
    const auto fixed = fixed_result(graph.kind(value.node), codes);
    if (!fixed) return std::nullopt;
    const std::int64_t steps = (std::int64_t{1} << bits) - 1;
    const std::int64_t zero_point = fixed->zero + (std::int64_t{1} << (bits - 1));
    const double scale = fixed->scale;
    const Encoding made{.bits = bits,
                        .steps = steps,
                        .scale = scale,
                        .zero_point = zero_point,
                        .min = scale * static_cast<double>(-zero_point),
                        .max = scale * static_cast<double>(steps - zero_point),
                        .symmetric = zero_point != 0};
    if (encoding && *encoding != made) return std::nullopt;
    encoding = made;
  }
  return encoding;
}

// As which factors of a product of two computed matrices values are read.
struct Factors {
  bool first = false;
  bool second = false;
};

Factors factors_of(const GraphView& graph, const std::set<Value>& members) {
  Factors factors;
  for (const Value member : members) {
    for (const Use& use : graph.uses(member.node)) {
      const NodeRef user{&graph, use.user};
      const Product* const product = find_product(user);
      if (use.result != member.result || product == nullptr || is_convolution(*product) ||
          constant_behind(graph, user.operand(product->weight)) != nullptr) {
        continue;
      }
      factors.first |= use.operand == product->data;
      factors.second |= use.operand == product->weight;
    }
  }
  return factors;
}

// The rule for values that share an encoding.
EncodingRule rule_for(const StaticAffineOptions& options, const GraphView& graph,
                      const std::set<Value>& members) {
  EncodingRule rule = options.activations;
  if (options.kernels != KernelsTarget::openvino || rule.symmetry != EncodingSymmetry::asymmetric) {
    return rule;
  }
  const Factors factors = factors_of(graph, members);
  if (!factors.first && !factors.second) return rule;
  const auto& factor = factors.second ? target_kernels::openvino::second_matrix
                                      : target_kernels::openvino::first_matrix;
  rule.symmetry = factor.symmetry;
  if (options.saturation != Saturation::allow && rule.bits == 8) rule.bits = factor.paired_bits;
  return rule;
}

bool is_beyond_float16(const Histogram& histogram) {
  return histogram.max() > largest_float16 || histogram.min() < -largest_float16;
}

// Softmax computes exponentials: half a step of its operand is a factor of exp(step / 2), and what
// is added to a mask of -1e9 has steps of millions.
bool is_too_wide_for_softmax(const GraphView& graph, Value value, const Histogram& histogram,
                             const EncodingRule& rule) {
  constexpr double bearable_step = 0.5;
  const double range = std::max<double>(histogram.max(), 0) - std::min<double>(histogram.min(), 0);
  if (std::ldexp(range, -rule.bits) <= bearable_step) return false;
  return std::ranges::any_of(graph.uses(value.node), [&](const Use& use) {
    return use.result == value.result && graph.kind(use.user) == ops::Softmax::kind;
  });
}

// The type of the real value: stated, or else that of the first operand with a float type, which is
// what ONNX's operations on floats make. Float32 where that takes long to find out.
ElementType real_element(const GraphView& graph, Value value) {
  constexpr int most_steps = 64;  // a limit, so that a chain is not walked by each of its values
  for (int step = 0; step < most_steps; ++step) {
    const ElementType stated = graph.type(value).element;
    if (stated != ElementType::undefined) return is_float(stated) ? stated : ElementType::float32;
    const auto operands = graph.operands(value.node);
    const auto next = std::ranges::find_if(operands, [&](Value operand) {
      if (operand.is_absent()) return false;
      const TensorType& type = graph.type(operand);
      return type.element == ElementType::undefined || is_float(type.expressed().element);
    });
    if (next == operands.end()) break;
    if (graph.type(*next).is_quantized()) return graph.type(*next).expressed().element;
    value = *next;
  }
  return ElementType::float32;
}

}  // namespace

const char* activation_refusal(const StaticAffineOptions& options, const GraphView& graph,
                               Value value) {
  const TensorType& type = graph.type(value);
  if (type.is_quantized()) return nullptr;
  if (type.element != ElementType::undefined && !is_float(type.element)) {
    return "it is not float";
  }
  if (graph.constant(value.node) != nullptr) return nullptr;
  if (prescription(options, graph, value) != nullptr) return nullptr;
  const Value source = limited(graph, value);
  const TensorStatistics* const known = statistics_of(options, graph, source);
  if (known == nullptr && fixed_range(graph, source) != nullptr) return nullptr;
  if (known == nullptr) return unknown_range;
  if (known->histogram.non_finite_count() != 0) {
    return "it was NaN or infinite when it was calibrated";
  }
  if (known->histogram.finite_count() == 0) {
    return "the samples had no element of it: calibrate the model";
  }
  if (type.element == ElementType::float16 && is_beyond_float16(known->histogram)) {
    return "the range that is known of it is beyond its type, float16";
  }
  if (is_too_wide_for_softmax(graph, source, known->histogram, options.activations)) {
    return "Softmax reads it, and its range is so wide that a step would change exponentials a lot";
  }
  if (is_computed_from_integers(graph, value)) {
    return "it is computed from integers alone: a position or a mask, which has to be exact";
  }
  return nullptr;
}

FoundType activation_type(const StaticAffineOptions& options, const Query& query) {
  const GraphView& graph = *query.graph;
  const std::set<Value> members(query.members.begin(), query.members.end());
  std::set<Value> sources;
  std::shared_ptr<const UniformType> given;
  for (const Value member : members) {
    if (graph.type(member).is_quantized()) given = graph.type(member).uniform();
    if (!is_counted_elsewhere(graph, member, members)) sources.insert(limited(graph, member));
  }
  if (given != nullptr) return given;
  QUADRANT_TRY(auto prescribed, prescribed_type(options, query));
  if (prescribed != nullptr) return prescribed;
  const ElementType expressed = real_element(graph, query.members.front());
  std::optional<Encoding> encoding = fixed_encoding(options, graph, sources);
  if (!encoding) {
    TensorStatistics all;
    for (const Value source : sources) {
      QUADRANT_CHECK(add_observations(options, graph, source, all));
    }
    EncodingRule rule = rule_for(options, graph, members);
    if (expressed == ElementType::float16) {
      rule.minimum_range =
          std::max(rule.minimum_range, std::ldexp(static_cast<double>(float16_spacing), rule.bits));
    }
    QUADRANT_TRY(encoding, encoding_of(all, rule));
  }
  const auto sign =
      options.unsigned_activations ? CodeSign::unsigned_codes : CodeSign::signed_codes;
  QUADRANT_TRY(UniformType type, uniform_type(std::span(&*encoding, 1), Shape::scalar(),
                                              Granularity::per_tensor(), sign));
  type.expressed = expressed;
  return std::make_shared<const UniformType>(std::move(type));
}

}  // namespace quadrant::inline v0::static_affine
