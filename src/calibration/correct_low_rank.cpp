#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calibration/layer_weights.hpp"
#include "calibration/low_rank_correction.hpp"
#include "quadrant/calibration/correct_bias.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/numerics/encode.hpp"

namespace quadrant::inline v0 {
namespace {

/// A weight, with those of its layers that read it in the same way.
struct Subject {
  NodeId constant;
  std::vector<LayerWeight> layers;
  std::string reason{};  ///< why it is left; empty: it is not
  LowRankCorrection correction{};
};

/// What of a layer is in the quantized graph.
struct QuantizedLayer {
  Value data;
  Value result;
};

class LowRank {
 public:
  LowRank(Graph& quantized, const Graph& real, const LowRankOptions& options)
      : quantized_(quantized), real_(real), options_(options) {}

  Expected<LowRankReport> run() {
    find_subjects();
    SerialExecutor serial;
    Executor& executor = options_.executor != nullptr ? *options_.executor : serial;
    std::vector<Expected<void>> done(subjects_.size());
    executor.parallel_for(subjects_.size(),
                          [&](std::size_t i) { done[i] = find_factors(subjects_[i]); });
    for (std::size_t i = 0; i < subjects_.size(); ++i) {
      const std::string name(real_.value_name({subjects_[i].constant}));
      if (!done[i]) {
        Error error = std::move(done[i]).error();
        error.place.tensor = name;
        return fail(std::move(error));
      }
      if (subjects_[i].reason.empty()) {
        add(subjects_[i], name);
      } else {
        report_.left.push_back({name, std::move(subjects_[i].reason)});
      }
    }
    return std::move(report_);
  }

 private:
  void find_subjects() {
    std::vector<LeftAlone> unread;
    std::map<NodeId, std::vector<std::size_t>> of_constant;
    for (LayerWeight& layer : layer_weights(real_, unread)) {
      const Value weight{layer.constant};
      if (real_.type(weight).is_quantized()) continue;
      if (!quantized_.contains(layer.constant)) {
        leave(real_.value_name(weight), "its codes are stored in the shape that it is given later");
        continue;
      }
      if (!quantized_.type(weight).is_quantized()) continue;
      std::vector<std::size_t>& known = of_constant[layer.constant];
      const auto same = std::ranges::find_if(
          known, [&](std::size_t i) { return subjects_[i].layers.front().layout == layer.layout; });
      if (same != known.end()) {
        subjects_[*same].layers.push_back(std::move(layer));
        continue;
      }
      known.push_back(subjects_.size());
      subjects_.push_back({layer.constant, {}});
      subjects_.back().layers.push_back(std::move(layer));
    }
    for (Subject& subject : subjects_) subject.reason = hindrance(subject);
    for (LeftAlone& each : unread) {
      const Value weight = quantized_.find_value(each.name);
      if (!weight.is_absent() && quantized_.type(weight).is_quantized())
        leave(each.name, each.reason);
    }
  }

  // Once, though several layers read it.
  void leave(std::string_view name, std::string_view reason) {
    if (std::ranges::find(report_.left, name, &LeftAlone::name) != report_.left.end()) return;
    report_.left.push_back({std::string(name), std::string(reason)});
  }

  // Leaves `subject` only the layers that can be corrected.
  [[nodiscard]] std::string hindrance(Subject& subject) const {
    const std::string_view why = why_no_factors(real_, subject.layers.front());
    std::erase_if(subject.layers,
                  [&](const LayerWeight& layer) { return !quantized_layer(layer); });
    if (subject.layers.empty()) {
      return std::string(why.empty() ? "its layer does not multiply floats by it" : why);
    }
    const WantedFactors wanted = wanted_for(subject);
    if (pays(wanted)) return {};
    return fmt::format("its factors would take {} bytes, and it takes {} as floats",
                       bytes_of(wanted), real_.constant(subject.constant)->byte_size());
  }

  [[nodiscard]] std::optional<QuantizedLayer> quantized_layer(const LayerWeight& layer) const {
    if (!why_no_factors(real_, layer).empty() || !quantized_.contains(layer.layer))
      return std::nullopt;
    const std::size_t data = find_product(real_.ref(layer.layer))->data;
    // A scale may have been put behind the product.
    const QuantizedLayer found{.data = quantized_.operands(layer.layer)[data],
                               .result = quantized_.find_value(real_.value_name({layer.layer}))};
    const bool is_there = !found.result.is_absent() && !found.data.is_absent();
    if (!is_there || quantized_.uses(found.result.node).empty()) return std::nullopt;
    if (quantized_.type(found.data).is_quantized()) return std::nullopt;
    return quantized_.type(found.result).is_quantized() ? std::nullopt : std::optional(found);
  }

  [[nodiscard]] WantedFactors wanted_for(const Subject& subject) const {
    return {.real = real_,
            .layer = subject.layers.front(),
            .rank = options_.rank,
            .moments = options_.moments};
  }

  Expected<void> find_factors(Subject& subject) const {
    if (!subject.reason.empty()) return {};
    const auto coded = [&] {
      return dequantized(*quantized_.constant(subject.constant),
                         quantized_.type({subject.constant}).quantization);
    };
    QUADRANT_TRY(auto found, low_rank_correction(wanted_for(subject), coded));
    if (found) {
      subject.correction = *std::move(found);
    } else {
      subject.reason = "no factors of that rank come nearer to its layer's results";
    }
    return {};
  }

  void add(Subject& subject, const std::string& name) {
    const LowRankCorrection& correction = subject.correction;
    const auto rank = correction.right.shape().known_extents()[0];
    const Value left = quantized_.add_constant(name + "_left", correction.left);
    const Value right = quantized_.add_constant(name + "_right", correction.right);
    for (const LayerWeight& layer : subject.layers) {
      const auto found = quantized_layer(layer);
      if (found) add_product(*found, left, right);
    }
    report_.corrected.push_back(
        {.weight = name,
         .rank = rank,
         .bytes = correction.left.byte_size() + correction.right.byte_size(),
         .before = correction.before,
         .after = correction.after});
  }

  // y becomes y + (x A) B, and hands its name on.
  void add_product(const QuantizedLayer& layer, Value left, Value right) {
    const std::string name(quantized_.value_name(layer.result));
    const TensorType sum_type = quantized_.type(layer.result);
    TensorType inner = quantized_.type(layer.data);
    if (inner.shape.is_ranked()) {
      const auto extents = inner.shape.extents();
      std::vector<Extent> known(extents.begin(), extents.end());
      known.back() = quantized_.type(left).shape[1];
      inner.shape = Shape(std::move(known));
    }
    const auto add = [&](std::string_view kind, std::vector<Value> operands,
                         const std::string& of_name, const TensorType& type) {
      return Value{quantized_.add({.kind = std::string(kind),
                                   .operands = std::move(operands),
                                   .results = {{of_name, type}}})};
    };
    const Value part = add(ops::MatMul::kind, {layer.data, left}, name + "_left", inner);
    const Value product = add(ops::MatMul::kind, {part, right}, name + "_right", sum_type);
    const Value sum = add(ops::Add::kind, {product, product}, name + "_corrected", sum_type);
    quantized_.replace_uses(layer.result, sum);
    quantized_.set_operand(sum.node, 0, layer.result);
    quantized_.set_value_name(layer.result, name + "_uncorrected");
    quantized_.set_value_name(sum, name);
  }

  Graph& quantized_;
  const Graph& real_;
  const LowRankOptions& options_;
  std::vector<Subject> subjects_;
  LowRankReport report_;
};

}  // namespace

Expected<LowRankReport> correct_low_rank(Graph& quantized, const Graph& real,
                                         const LowRankOptions& options) {
  if (options.rank < 1) return fail(ErrorCode::usage, "a correction of rank 0 is none");
  return LowRank(quantized, real, options).run();
}

}  // namespace quadrant::inline v0
