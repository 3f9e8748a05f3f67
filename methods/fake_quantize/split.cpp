// Step 0: each fake_quantize becomes `quantize` and `dequantize`, or a constant of codes.
#include <string>
#include <utility>
#include <vector>

#include "fake_quantize/coded_constants.hpp"
#include "fake_quantize/grid.hpp"
#include "fake_quantize/profiles.hpp"
#include "fake_quantize/stored_weight.hpp"
#include "ir/put_in_place.hpp"
#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/methods/fake_quantize.hpp"

namespace quadrant::inline v0 {
namespace low_precision {
namespace {

class Splitting {
 public:
  Splitting(const Graph& graph, const FakeQuantizeOptions& options)
      : profile_(profile(options.target)),
        data_(options.data.value_or(profile_.activations)),
        zero_{options.repair, options.zero_tolerance},
        split_{graph, {}, {}} {}

  Expected<SplitGraph> run() && {
    Graph& graph = split_.graph;
    const std::uint32_t bound = graph.index_bound();
    for (std::uint32_t index = 0; index < bound; ++index) {
      const NodeId id = graph.node_at(index);
      if (!id.is_valid()) continue;
      const NodeRef node = graph.ref(id);
      // Whatever is refused stays as it is, and is reported.
      if (node.kind() == ops::FakeQuantize::kind) {
        if (auto done = split(node); !done) leave(node, std::move(done).error().message);
      } else if (node.kind() == ops::Multiply::kind) {
        if (auto done = fold_stored(node); !done) leave(node, std::move(done).error().message);
      }
    }
    return std::move(split_);
  }

 private:
  void leave(NodeRef node, std::string reason) {
    split_.notes.push_back({std::string(node.graph->value_name(node.result())), std::move(reason)});
  }

  Expected<void> split(NodeRef node) {
    QUADRANT_TRY(const Ranges ranges, read_ranges(node));
    const ElementType expressed = node.type().element;
    const NodeId constant = constant_behind_cast(*node.graph, node.operand(0));
    if (constant.is_valid()) {
      QUADRANT_TRY(const CodeTypes types,
                   constant_types(ranges, expressed, profile_.constants, zero_));
      const Constant& real = *split_.graph.constant(constant);
      QUADRANT_TRY(Constant codes, fake_quantized_codes(real, ranges, *types.output));
      note_remark(node, types);
      replace_by_constant(node.id, std::move(codes), types.output);
      return {};
    }
    QUADRANT_TRY(const CodeTypes types, activation_types(ranges, expressed, data_, zero_));
    note_remark(node, types);
    replace_by_pair(node, types);
    return {};
  }

  Expected<void> fold_stored(NodeRef node) {
    QUADRANT_TRY(const auto stored, read_stored_weight(node, zero_.tolerance));
    if (!stored) return {};
    replace_by_constant(node.id, *split_.graph.constant(stored->codes), stored->type);
    return {};
  }

  void note_remark(NodeRef node, const CodeTypes& types) {
    if (!types.remark.empty()) leave(node, types.remark);
  }

  void replace_by_constant(NodeId node, Constant codes,
                           const std::shared_ptr<const UniformType>& type) {
    Graph& graph = split_.graph;
    std::string name(graph.value_name({node}));
    const Value made = graph.add_constant(name + std::string(quantized_ending), codes);
    graph.set_constant(made.node, std::move(codes), type);
    put_in_place(graph, node, dequantize(made, name, type));
  }

  void replace_by_pair(NodeRef node, const CodeTypes& types) {
    Graph& graph = split_.graph;
    const std::string name(graph.value_name(node.result()));
    const Shape shape = node.type().shape;
    SplitNode original{.value = name,
                       .codes = {},
                       .meant = {},
                       .name = std::string(node.name()),
                       .attributes = graph.attributes(node.id),
                       .bounds = {}};
    for (std::size_t i = 0; i < original.bounds.size(); ++i) {
      const Value bound = node.operand(i + 1);
      original.bounds[i] = {.kind = std::string(ops::Constant::kind),
                            .name = std::string(graph.name(bound.node)),
                            .results = {{std::string(graph.value_name(bound)), graph.type(bound)}},
                            .constant = *graph.constant(bound.node)};
    }
    Value codes =
        add_cast(graph, ops::Quantize::kind, node.operand(0), name,
                 name + std::string(quantized_ending), {types.input->storage, shape, types.input});
    original.codes = graph.value_name(codes);
    if (types.output != types.input) {
      const ElementType storage = types.output->storage;
      codes = add_cast(graph, ops::StorageCast::kind, codes, name, name + "_codes",
                       {storage, shape, nullptr});
      codes = add_cast(graph, ops::StorageCast::kind, codes, name, name + "_recast",
                       {storage, shape, types.output});
    }
    original.meant = graph.value_name(codes);
    put_in_place(graph, node.id, dequantize(codes, name, types.output));
    split_.splits.push_back(std::move(original));
  }

  Value dequantize(Value codes, const std::string& name,
                   const std::shared_ptr<const UniformType>& type) {
    return add_cast(split_.graph, ops::Dequantize::kind, codes, name, name,
                    {type->expressed, split_.graph.type(codes).shape, nullptr});
  }

  const LowPrecisionProfile& profile_;
  Storages data_;
  ZeroRule zero_;
  SplitGraph split_;
};

}  // namespace
}  // namespace low_precision

Expected<SplitGraph> split_fake_quantize(const Graph& graph, const FakeQuantizeOptions& options) {
  return low_precision::Splitting(graph, options).run();
}

}  // namespace quadrant::inline v0
