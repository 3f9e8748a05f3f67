#include "quadrant/calibration/sensitivity.hpp"

#include <algorithm>
#include <array>
#include <memory>

#include "calibration/agreement_bytes.hpp"
#include "calibration/counterparts.hpp"
#include "calibration/handed_out.hpp"
#include "calibration/hash_sample.hpp"
#include "calibration/located.hpp"
#include "calibration/measure.hpp"
#include "calibration/sample_loop.hpp"
#include "quadrant/calibration/calibrate.hpp"
#include "quadrant/support/ranks.hpp"
#include "support/content_hash.hpp"
#include "support/shared_items.hpp"

namespace quadrant::inline v0 {

namespace {

// How many variants of the model there are at a time.
constexpr std::size_t variants_at_a_time = 8;

// The model with one layer quantized, ready to run.
struct Variant {
  Graph graph;
  std::vector<std::size_t> inputs;  // of the model, for each of its own
  std::unique_ptr<ModelExecutor> model;
  std::vector<Agreement> agreements;  // by output
};

class Study {
 public:
  Study(const Graph& graph, QuantizeAlone quantize_alone, const Runtime& runtime,
        const DataSet& data, const SensitivityOptions& options)
      : graph_(graph),
        quantize_alone_(quantize_alone),
        runtime_(runtime),
        data_(data),
        options_(options),
        executor_(options.executor != nullptr ? *options.executor : serial_),
        outputs_(output_values(graph)) {}

  // The model itself, and what it says to as many samples as there is room for.
  Expected<void> prepare();
  // How the outputs agree, for each of `layers`: handed to `finish` in their order, as soon as it
  // is known.
  using Finish =
      FunctionRef<Expected<void>(std::size_t layer, std::vector<ValueAgreement> outputs)>;
  Expected<void> measure(std::span<const std::size_t> layers, Finish finish);

 private:
  [[nodiscard]] Expected<Tensors> run_own(std::size_t sample, const Sample& inputs) const;
  [[nodiscard]] Expected<std::unique_ptr<Variant>> make_variant(std::size_t layer) const;
  Expected<void> run(const Variant& variant, std::size_t sample,
                     std::vector<Agreement>& agreements) const;
  [[nodiscard]] std::vector<ValueAgreement> outputs_of(const Variant& variant) const;

  const Graph& graph_;
  QuantizeAlone quantize_alone_;
  const Runtime& runtime_;
  const DataSet& data_;
  const SensitivityOptions& options_;
  SerialExecutor serial_;
  Executor& executor_;
  std::vector<Value> outputs_;
  std::unique_ptr<ModelExecutor> model_;
  std::vector<Tensors> kept_;  // outputs of the first samples
};

Expected<void> Study::prepare() {
  QUADRANT_TRY(model_, load_checked(runtime_, graph_, outputs_));
  std::uint64_t bytes = 0;
  std::array<Tensors, sample_slots> slots;
  bool has_room = true;
  for (std::size_t sample = 0; has_room && sample < data_.size(); sample += sample_slots) {
    const std::size_t count = std::min(sample_slots, data_.size() - sample);
    QUADRANT_CHECK(for_each_sample(
        count, {.executor = &executor_},
        [&](std::size_t i, std::size_t slot) -> Expected<void> {
          QUADRANT_TRY(const Sample inputs, read_sample(data_, sample + i));
          QUADRANT_TRY(slots[slot], run_own(sample + i, inputs));
          return {};
        },
        [&](std::size_t, std::size_t slot) -> Expected<void> {
          for (const Tensor& tensor : slots[slot]) bytes += tensor.bytes().size();
          has_room = has_room && bytes <= options_.memory;
          if (has_room) kept_.push_back(std::move(slots[slot]));
          return {};
        }));
  }
  return {};
}

Expected<Tensors> Study::run_own(std::size_t sample, const Sample& inputs) const {
  Tensors own(outputs_.size());
  const auto keep = [&](std::size_t i, const Tensor& tensor) {
    own[i] = tensor;
    return Expected<void>();
  };
  QUADRANT_CHECK(on_sample(model_->run(inputs.inputs, keep), data_, sample));
  return own;
}

Expected<std::unique_ptr<Variant>> Study::make_variant(std::size_t layer) const {
  auto variant = std::make_unique<Variant>();
  variant->agreements.resize(outputs_.size());
  QUADRANT_TRY(variant->graph, quantize_alone_(layer));
  QUADRANT_TRY(variant->inputs, input_counterparts(graph_, variant->graph, {}));
  QUADRANT_TRY(const auto pairs, output_counterparts(graph_, variant->graph, {}, nullptr));
  std::vector<Value> outputs;
  outputs.reserve(pairs.size());
  for (const Counterpart& pair : pairs) outputs.push_back(pair.second);
  if (outputs.size() != outputs_.size()) {
    return fail(ErrorCode::impossible, "the quantized model lacks outputs of the other");
  }
  QUADRANT_TRY(variant->model, load_checked(runtime_, variant->graph, outputs));
  return variant;
}

Expected<void> Study::run(const Variant& variant, std::size_t sample,
                          std::vector<Agreement>& agreements) const {
  QUADRANT_TRY(const Sample inputs, read_sample(data_, sample));
  Tensors own;
  if (sample < kept_.size()) {
    own = kept_[sample];
  } else {
    QUADRANT_TRY(own, run_own(sample, inputs));
  }
  agreements.assign(outputs_.size(), {});
  std::vector<Tensor> ordered;
  ordered.reserve(variant.inputs.size());
  for (const std::size_t input : variant.inputs) ordered.push_back(inputs.inputs[input]);
  const auto measure = [&](std::size_t i, const Tensor& tensor) {
    return measure_agreement(graph_.name(graph_.outputs()[i]), own[i], tensor, agreements[i]);
  };
  return on_sample(variant.model->run(ordered, measure), data_, sample);
}

std::vector<ValueAgreement> Study::outputs_of(const Variant& variant) const {
  std::vector<ValueAgreement> outputs;
  outputs.reserve(outputs_.size());
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    outputs.push_back({std::string(graph_.name(graph_.outputs()[i])),
                       std::string(graph_.kind(outputs_[i].node)), variant.agreements[i]});
  }
  return outputs;
}

Expected<void> Study::measure(std::span<const std::size_t> layers, Finish finish) {
  std::vector<Expected<std::unique_ptr<Variant>>> variants(layers.size());
  executor_.parallel_for(layers.size(),
                         [&](std::size_t i) { variants[i] = make_variant(layers[i]); });
  for (auto& variant : variants) {
    if (!variant) return fail(std::move(variant).error());
  }
  const std::size_t samples = data_.size();
  std::array<std::vector<Agreement>, sample_slots> slots;
  if (samples == 0) {
    for (std::size_t i = 0; i < layers.size(); ++i) {
      QUADRANT_CHECK(finish(layers[i], outputs_of(**variants[i])));
    }
  }
  return for_each_sample(
      layers.size() * samples, {.executor = &executor_},
      [&](std::size_t run_number, std::size_t slot) {
        return run(**variants[run_number / samples], run_number % samples, slots[slot]);
      },
      [&](std::size_t run_number, std::size_t slot) -> Expected<void> {
        Variant& variant = **variants[run_number / samples];
        for (std::size_t i = 0; i < outputs_.size(); ++i) {
          variant.agreements[i].merge(slots[slot][i]);
        }
        if ((run_number + 1) % samples != 0) return {};
        return finish(layers[run_number / samples], outputs_of(variant));
      });
}

// Each rank measures every size-th layer of the group, and all hear of all, in their order.
Expected<void> measure_on_ranks(Study& study, std::span<const std::size_t> group, Ranks& ranks,
                                Study::Finish finish) {
  std::vector<std::size_t> own;
  for (std::size_t i = ranks.rank(); i < group.size(); i += ranks.size()) own.push_back(group[i]);
  SharedItems layers(group.size());
  std::size_t next = ranks.rank();
  auto measured =
      study.measure(own, [&](std::size_t /*layer*/, const std::vector<ValueAgreement>& outputs) {
        ByteWriter out;
        for (const ValueAgreement& output : outputs) {
          out.text(output.name);
          out.text(output.kind);
          write(out, output.agreement);
        }
        layers.add(next, std::move(out));
        next += ranks.size();
        return Expected<void>();
      });
  std::vector<std::vector<ValueAgreement>> all(group.size());
  const auto read = [&](std::size_t i, ByteReader& in) -> Expected<void> {
    while (!in.is_at_end() && !in.failed()) {
      std::string name = in.text();
      std::string kind = in.text();
      all[i].push_back({std::move(name), std::move(kind), read_agreement(in)});
    }
    return {};
  };
  QUADRANT_CHECK(layers.share(ranks, std::move(measured), read));
  for (std::size_t i = 0; i < group.size(); ++i)
    QUADRANT_CHECK(finish(group[i], std::move(all[i])));
  return {};
}

const SensitivityCache::Layer* find_known(const SensitivityCache* cache,
                                          const SensitivityLayer& layer) {
  if (cache == nullptr) return nullptr;
  const auto found = cache->layers.find(layer.name);
  if (found == cache->layers.end() || found->second.decision != layer.decision) return nullptr;
  return &found->second;
}

}  // namespace

const ValueAgreement* LayerSensitivity::worst() const {
  const auto found =
      std::ranges::min_element(outputs, [](const ValueAgreement& a, const ValueAgreement& b) {
        return worse_than(a.agreement, b.agreement);
      });
  return found == outputs.end() ? nullptr : &*found;
}

bool worse_than(const LayerSensitivity& a, const LayerSensitivity& b) {
  const ValueAgreement* worst = a.worst();
  const ValueAgreement* other = b.worst();
  if (worst == nullptr || other == nullptr) return worst != nullptr;
  return worse_than(worst->agreement, other->agreement);
}

Expected<std::uint64_t> sensitivity_fingerprint(const Graph& graph, const DataSet& data,
                                                std::string_view settings) {
  ContentHash hash;
  hash.add(std::as_bytes(std::span(settings)));
  QUADRANT_TRY(const std::uint64_t model, model_hash(graph));
  hash.add(std::as_bytes(std::span(&model, 1)));
  for (std::size_t i = 0; i < data.size(); ++i) {
    QUADRANT_TRY(const Sample sample, read_sample(data, i));
    hash_sample(hash, sample);
  }
  return hash.value();
}

Expected<std::vector<LayerSensitivity>> measure_sensitivity(
    const Graph& graph, std::span<const SensitivityLayer> layers, QuantizeAlone quantize_alone,
    const Runtime& runtime, const DataSet& data, const SensitivityOptions& options,
    FunctionRef<Expected<void>()> settled) {
  std::vector<LayerSensitivity> result;
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const SensitivityCache::Layer* known = find_known(options.cache, layers[i]);
    if (known == nullptr) open.push_back(i);
    result.push_back({layers[i].name, {}, known != nullptr});
    if (known != nullptr) result.back().outputs = known->outputs;
  }
  Study study(graph, quantize_alone, runtime, data, options);
  if (!open.empty()) QUADRANT_CHECK(study.prepare());
  std::size_t done = 0;
  const auto finish = [&](std::size_t i, std::vector<ValueAgreement> outputs) {
    if (options.cache != nullptr) {
      options.cache->layers[layers[i].name] = {layers[i].decision, outputs};
    }
    result[i].outputs = std::move(outputs);
    ++done;
    if (options.sink != nullptr) options.sink->progress("sensitivity", done, open.size());
    return settled();
  };
  const std::size_t at_a_time =
      variants_at_a_time * (options.ranks != nullptr ? options.ranks->size() : 1);
  for (std::size_t first = 0; first < open.size(); first += at_a_time) {
    const auto group = std::span(open).subspan(first, std::min(at_a_time, open.size() - first));
    if (options.ranks == nullptr) {
      QUADRANT_CHECK(study.measure(group, finish));
    } else {
      QUADRANT_CHECK(measure_on_ranks(study, group, *options.ranks, finish));
    }
  }
  return result;
}

Expected<void> hold_constants(Graph& graph) {
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    const NodeId node = graph.node_at(i);
    const Constant* constant = node.is_valid() ? graph.constant(node) : nullptr;
    if (constant == nullptr || !constant->is_deferred()) continue;
    QUADRANT_TRY(const ConstantBytes contents, constant->read());
    const auto bytes = contents.bytes();
    graph.set_constant(
        node,
        Constant::from_bytes(constant->element(), constant->shape(), {bytes.begin(), bytes.end()}),
        graph.type({node, 0}).quantization);
  }
  return {};
}

}  // namespace quadrant::inline v0
