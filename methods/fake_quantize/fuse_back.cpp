// What was split and is not computed on codes becomes the fake_quantize that it was.
#include <string>
#include <utility>
#include <vector>

#include "quadrant/ir/ops.hpp"
#include "quadrant/methods/fake_quantize.hpp"

namespace quadrant::inline v0 {
namespace low_precision {
namespace {

// The only node that reads the value, and only it; else an invalid one.
NodeId sole_reader(const Graph& graph, Value value) {
  const auto uses = graph.uses(value.node);
  return uses.size() == 1 ? uses.front().user : NodeId{};
}

// The `dequantize` at the other end of an untouched split; the absent value where there is none.
Value find_dequantize(const Graph& graph, const SplitNode& split) {
  const Value codes = graph.find_value(split.codes);
  if (codes.is_absent() || graph.kind(codes.node) != ops::Quantize::kind) return {};
  NodeId reader = sole_reader(graph, codes);
  while (reader.is_valid() && graph.kind(reader) == ops::StorageCast::kind) {
    reader = sole_reader(graph, {reader});
  }
  const bool is_end = reader.is_valid() && graph.kind(reader) == ops::Dequantize::kind;
  if (!is_end) return {};
  // Behind a cast that is not the split's own, codes mean something else. Real numbers that were
  // made anew may have the name.
  const Value meant = graph.operands(reader).front();
  const bool is_ours =
      graph.value_name(meant) == split.meant || graph.value_name({reader}) == split.meant;
  return is_ours ? Value{reader} : Value{};
}

// A `dequantize` that was made anew is called after the codes: it gets the name that it had.
void restore_name(Graph& graph, const SplitNode& split) {
  const Value meant = graph.find_value(split.meant);
  if (meant.is_absent() || !graph.find_value(split.value).is_absent()) return;
  if (graph.kind(meant.node) == ops::Dequantize::kind) {
    const Value codes = graph.operands(meant.node).front();
    graph.set_value_name(meant, split.value);
    graph.set_value_name(codes, split.meant);
    return;
  }
  for (const Use& use : graph.uses(meant.node)) {
    if (use.result != meant.result || graph.kind(use.user) != ops::Dequantize::kind) continue;
    graph.set_value_name({use.user}, split.value);
    return;
  }
}

void put_back(Graph& graph, const SplitNode& split, Value real) {
  const NodeId quantize = graph.find_value(split.codes).node;
  std::vector<Value> operands{graph.operands(quantize).front()};
  for (const NodeSpec& bound : split.bounds) {
    // Another that was put back may share it.
    const Value there = graph.find_value(bound.results.front().name);
    const Constant* const known = there.is_absent() ? nullptr : graph.constant(there.node);
    const bool is_there = known != nullptr && *known == bound.constant;
    operands.push_back(is_there ? there : Value{graph.add(bound)});
  }
  const Value made{graph.add({.kind = std::string(ops::FakeQuantize::kind),
                              .name = split.name,
                              .operands = std::move(operands),
                              .results = {{split.value, graph.type(real)}},
                              .attributes = split.attributes})};
  graph.replace_uses(real, made);
  // From the `dequantize` to the `quantize`, each read by the one before alone.
  NodeId dead = real.node;
  while (true) {
    const NodeId before = graph.operands(dead).front().node;
    const bool is_last = dead == quantize;
    graph.erase(dead);
    if (is_last) break;
    dead = before;
  }
  graph.set_value_name(made, split.value);
}

}  // namespace
}  // namespace low_precision

std::int64_t fuse_back_fake_quantize(Graph& graph, const std::vector<SplitNode>& splits) {
  std::int64_t count = 0;
  for (const SplitNode& split : splits) {
    const Value real = low_precision::find_dequantize(graph, split);
    if (real.is_absent()) {
      low_precision::restore_name(graph, split);
      continue;
    }
    low_precision::put_back(graph, split, real);
    ++count;
  }
  return count;
}

}  // namespace quadrant::inline v0
