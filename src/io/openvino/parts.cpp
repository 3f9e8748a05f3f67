// What takes parts of tensors, and what puts them in.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "io/openvino/chain.hpp"
#include "io/openvino/compressed.hpp"
#include "io/openvino/failure.hpp"
#include "io/openvino/real_operand.hpp"
#include "io/openvino/rules.hpp"
#include "ir/ops/places.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::openvino_ir {
namespace {

constexpr std::int64_t to_the_end = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t to_the_front = std::numeric_limits<std::int64_t>::min();

// --- splits --------------------------------------------------------------------------------------

bool raise_equal_split(RaisedLayer& layer) {
  const auto axis = constant_axis(layer, 1);
  const auto parts = static_cast<std::int64_t>(layer.layer().outputs.size());
  if (!axis || layer.integer("num_splits", parts) != parts) return false;
  layer.make(ops::Split::kind, {layer.input(0)}, {{"axis", *axis}, {"num_outputs", parts}});
  return true;
}

bool raise_split_of_lengths(RaisedLayer& layer) {
  const Shape& shape = layer.shape_of(layer.input(0));
  const auto given_axis = constant_axis(layer, 1);
  const auto axis = normalize_axis(given_axis.value_or(0), shape.rank());
  auto lengths = layer.constant_integers(2);
  if (!given_axis || !axis || !lengths) return false;
  if (const auto rest = std::ranges::find(*lengths, -1); rest != lengths->end()) {
    if (!shape[*axis].is_known()) return false;
    *rest = 0;
    std::int64_t left = shape[*axis].value();
    for (const std::int64_t length : *lengths) {
      if (length < 0 || length > left) invalid("parts that are more than there is");
      left -= length;
    }
    *rest = left;
  }
  layer.make(ops::Split::kind, {layer.input(0), layer.list("lengths", *lengths)},
             {{"axis", *axis}});
  return true;
}

/// Of `count` parts of an extent that is not known: all of the same length, which may be less than
/// that in the last one.
Output computed_lengths(LoweredNode& node, LayerChain& chain, std::int64_t axis,
                        std::int64_t count) {
  const Output extent = chain.element_of(chain.extents(node.operand(0)), axis);
  const Output rounded_up = chain.pair({"Add"}, extent, chain.integer(count - 1));
  const Output length = chain.pair({"Divide"}, rounded_up, chain.integer(count));
  const Output all_but_one = chain.apply(
      {"Broadcast", "opset3"}, {length, chain.integers({count - 1})}, {{"mode", "numpy"}});
  return chain.joined({all_but_one, chain.integers({-1})});
}

void lower_split(LoweredNode& node) {
  const ops::Split split{node.node()};
  const auto results = node.node().graph->result_count(node.node().id);
  const auto axis = split.axis();
  if (!axis) impossible("an axis that is not known");
  LayerChain chain(node);
  const Output along = chain.integer(*axis);
  const auto known = split.sizes();
  if (!known && node.node().graph->attribute(node.node().id, "num_outputs") != nullptr) {
    const Output lengths = computed_lengths(node, chain, *axis, results);
    node.make({"VariadicSplit"}, std::array{node.operand(0), along, lengths});
    return;
  }
  const auto given = node.list(1, "split");
  std::vector<std::int64_t> lengths = given.value_or(std::vector<std::int64_t>{});
  if (lengths.empty()) lengths = known.value_or(std::vector<std::int64_t>{});
  const bool are_equal =
      std::ranges::adjacent_find(lengths, std::not_equal_to<>()) == lengths.end();
  if (are_equal) {
    node.make({"Split"}, std::array{node.operand(0), along},
              {{"num_splits", std::to_string(results)}});
    return;
  }
  node.make({"VariadicSplit"}, std::array{node.operand(0), along, chain.integers(lengths)});
}

// --- slices --------------------------------------------------------------------------------------

bool raise_slice(RaisedLayer& layer) {
  constexpr std::array endings{"starts", "ends", "steps", "axes"};
  std::vector<Value> operands{layer.input(0)};
  if (layer.input_count() > endings.size() + 1) invalid("a Slice of more than five inputs");
  for (std::size_t i = 1; i < layer.input_count(); ++i) {
    operands.push_back(layer.wide(layer.input(i), endings.at(i - 1)));
  }
  if (operands.size() < 4) invalid("a Slice without a step");
  if (operands.size() == 5) {
    std::swap(operands[3], operands[4]);
  } else {
    operands.insert(operands.begin() + 3, Value{});  // all axes, from the first on
  }
  layer.make(ops::Slice::kind, std::move(operands));
  return true;
}

void lower_slice(LoweredNode& node) {
  const auto starts = list_operand(node, 1, "starts");
  const auto ends = list_operand(node, 2, "ends");
  if (!starts || !ends) invalid("a slice without starts or ends");
  auto steps = list_operand(node, 4, "steps");
  if (!steps) {
    // As many ones as there are starts.
    const auto known = node.known_list(1);
    const auto listed = node.attribute_or<std::vector<std::int64_t>>("starts", {});
    std::int64_t count = known ? std::ssize(*known) : std::ssize(listed);
    if (count == 0 && node.has(1)) count = node.type(1).shape.element_count().value_or(0);
    if (count == 0) impossible("a number of starts that is not known");
    steps = node.integers("steps", std::vector<std::int64_t>(static_cast<std::size_t>(count), 1));
  }
  std::vector<Output> inputs{node.operand(0), *starts, *ends, *steps};
  if (const auto axes = list_operand(node, 3, "axes")) inputs.push_back(*axes);
  node.make({"Slice", "opset8"}, inputs);
}

/// What a StridedSlice says, entry by entry: of each, what its masks are.
struct StridedEntries {
  std::vector<std::int64_t> begins;
  std::vector<std::int64_t> ends;
  std::vector<std::int64_t> strides;
};

/// The same as a Slice, and the axes that go and come then.
struct SlicePlan {
  std::vector<std::int64_t> starts;
  std::vector<std::int64_t> ends;
  std::vector<std::int64_t> axes;
  std::vector<std::int64_t> steps;
  std::vector<std::int64_t> dropped;  ///< axes of the operand
  std::vector<std::int64_t> added;    ///< axes of the result
};

class MaskReader {
 public:
  explicit MaskReader(RaisedLayer& layer) {
    constexpr std::array names{"begin_mask", "end_mask", "new_axis_mask", "shrink_axis_mask",
                               "ellipsis_mask"};
    for (std::size_t i = 0; i < names.size(); ++i) masks_.at(i) = layer.integers(names.at(i));
  }
  enum Mask : std::uint8_t { from_front, to_back, new_axis, shrink, ellipsis };
  [[nodiscard]] bool has(Mask mask, std::size_t entry) const {
    const std::vector<std::int64_t>& bits = masks_.at(mask);
    return entry < bits.size() && bits[entry] != 0;
  }
  [[nodiscard]] bool is_empty() const {
    return std::ranges::all_of(masks_, [](const std::vector<std::int64_t>& bits) {
      return std::ranges::all_of(bits, [](std::int64_t bit) { return bit == 0; });
    });
  }

 private:
  std::array<std::vector<std::int64_t>, 5> masks_;
};

/// Adds what entry `i` takes of `axis`.
void take(SlicePlan& plan, const StridedEntries& entries, const MaskReader& masks, std::size_t i,
          std::int64_t axis) {
  const bool shrinks = masks.has(MaskReader::shrink, i);
  const std::int64_t step = shrinks ? 1 : entries.strides[i];
  std::int64_t begin = entries.begins[i];
  std::int64_t end = entries.ends[i];
  if (masks.has(MaskReader::from_front, i)) begin = step < 0 ? to_the_end : 0;
  if (masks.has(MaskReader::to_back, i)) end = step < 0 ? to_the_front : to_the_end;
  if (shrinks) {
    end = begin == -1 || begin == to_the_end ? to_the_end : begin + 1;
    plan.dropped.push_back(axis);
  }
  const bool is_whole = begin == 0 && step == 1 && end == to_the_end;
  if (is_whole) return;
  plan.starts.push_back(begin);
  plan.ends.push_back(end);
  plan.axes.push_back(axis);
  plan.steps.push_back(step);
}

/// How many axes of the operand there are entries for, the ellipsis left out.
std::int64_t taken_axes(const StridedEntries& entries, const MaskReader& masks) {
  std::int64_t taken = 0;
  for (std::size_t i = 0; i < entries.begins.size(); ++i) {
    if (!masks.has(MaskReader::ellipsis, i) && !masks.has(MaskReader::new_axis, i)) ++taken;
  }
  return taken;
}

/// Empty where there are more entries than axes.
std::optional<SlicePlan> plan_of(const StridedEntries& entries, const MaskReader& masks,
                                 std::int64_t rank) {
  const std::int64_t between = rank - taken_axes(entries, masks);  // axes the ellipsis stands for
  if (between < 0) return std::nullopt;
  SlicePlan plan;
  std::int64_t axis = 0;    // of the operand
  std::int64_t result = 0;  // of the result
  for (std::size_t i = 0; i < entries.begins.size(); ++i) {
    if (masks.has(MaskReader::ellipsis, i)) {
      axis += between;
      result += between;
    } else if (masks.has(MaskReader::new_axis, i)) {
      plan.added.push_back(result++);
    } else {
      take(plan, entries, masks, i, axis++);
      if (!masks.has(MaskReader::shrink, i)) ++result;
    }
  }
  return plan;
}

void make_planned(RaisedLayer& layer, const SlicePlan& plan) {
  Value value = layer.input(0);
  const auto make = [&](std::string_view kind, std::vector<Value> operands, bool is_last) {
    if (is_last) {
      layer.make(kind, std::move(operands));
    } else {
      value = stepped(layer, kind, std::move(operands));
    }
  };
  const bool drops = !plan.dropped.empty();
  const bool adds = !plan.added.empty();
  if (plan.axes.empty() && !drops && !adds) {
    layer.alias(value);
    return;
  }
  if (!plan.axes.empty()) {
    make(ops::Slice::kind,
         {value, layer.list("starts", plan.starts), layer.list("ends", plan.ends),
          layer.list("axes", plan.axes), layer.list("steps", plan.steps)},
         !drops && !adds);
  }
  if (drops) make(ops::Squeeze::kind, {value, layer.list("dropped", plan.dropped)}, !adds);
  if (adds) make(ops::Unsqueeze::kind, {value, layer.list("added", plan.added)}, true);
}

bool raise_strided_slice(RaisedLayer& layer) {
  const MaskReader masks(layer);
  const Shape& shape = layer.shape_of(layer.input(0));
  const auto begins = layer.constant_integers(1);
  const auto ends = layer.constant_integers(2);
  auto strides = layer.constant_integers(3);
  if (begins && !strides && !layer.has_input(3)) strides.emplace(begins->size(), 1);
  const bool is_known = begins && ends && strides && begins->size() == ends->size() &&
                        begins->size() == strides->size();
  if (is_known && shape.is_ranked()) {
    const auto plan = plan_of({*begins, *ends, *strides}, masks, shape.rank());
    if (!plan) return false;
    make_planned(layer, *plan);
    return true;
  }
  if (!masks.is_empty() || !layer.has_input(3)) return false;
  layer.make(ops::Slice::kind,
             {layer.input(0), layer.wide(layer.input(1), "starts"),
              layer.wide(layer.input(2), "ends"), Value{}, layer.wide(layer.input(3), "steps")});
  return true;
}

// --- by index ------------------------------------------------------------------------------------

bool raise_gather(RaisedLayer& layer) {
  auto axis = constant_axis(layer, 2);
  std::int64_t batch = layer.integer("batch_dims", 0);
  if (!axis) return false;
  if (batch == 0) {
    layer.make(ops::Gather::kind, {layer.input(0), layer.input(1)}, {{"axis", *axis}});
    return true;
  }
  // Along the axis behind those of a batch, each index is a list of one.
  const Shape& data = layer.shape_of(layer.input(0));
  const Shape& indices = layer.shape_of(layer.input(1));
  if (!data.is_ranked() || !indices.is_ranked()) return false;
  axis = normalize_axis(*axis, data.rank());
  if (batch < 0) batch += indices.rank();
  if (!axis || *axis != batch) return false;
  const Value lists = stepped(
      layer, ops::Unsqueeze::kind,
      {layer.wide(layer.input(1), "indices"), layer.list("last", std::array{std::int64_t{-1}})});
  layer.make(ops::GatherND::kind, {layer.input(0), lists}, {{"batch_dims", batch}});
  return true;
}

void lower_gather(LoweredNode& node) {
  const Shape& indices = node.type(1).shape;
  const bool is_list = indices.is_ranked() && indices.rank() == 1;
  const Output operand = is_list ? node.operand(0) : real_operand(node, 0, Scales::several);
  const Output data = looked_up_weight(node, operand);
  const Output axis = node.integer("axis", node.attribute_or<std::int64_t>("axis", 0));
  node.make({"Gather", "opset8"}, std::array{data, node.operand(1), axis}, {{"batch_dims", "0"}});
}

/// Indices that count from the end, which few of OpenVINO's operations take, from the front.
Output from_the_front(LoweredNode& node, std::size_t index, std::int64_t axis) {
  LayerChain chain(node);
  const Output indices = node.operand(index);
  const ElementType element = node.type(index).element;
  if (const Constant* known = node.constant(index); known && known->element_count() <= 4096) {
    const auto values = value_of(read_integers(*known));
    if (std::ranges::none_of(values, [](std::int64_t value) { return value < 0; })) return indices;
  }
  const Output zero = chain.number(0, element);
  const Output extent =
      node.converted(chain.element_of(chain.extents(node.operand(0)), axis), element, "extent");
  const Output is_behind = chain.test({"Less"}, indices, zero);
  const Output moved = chain.pair({"Add"}, indices, extent);
  return chain.apply({"Select"}, {is_behind, moved, indices}, {{"auto_broadcast", "numpy"}},
                     element);
}

bool raise_gather_elements(RaisedLayer& layer) {
  layer.make(ops::GatherElements::kind, {layer.input(0), layer.input(1)},
             {{"axis", layer.integer("axis", 0)}});
  return true;
}

/// OpenVINO wants as many indices as elements along the other axes, and takes a Slice in front that
/// would make it so for one without effect.
void check_other_axes(LoweredNode& node, std::int64_t axis) {
  const Shape& data = node.ranked(0);
  const Shape& indices = node.ranked(1);
  if (indices.rank() != data.rank()) invalid("indices of another rank than the data");
  for (std::int64_t other = 0; other < data.rank(); ++other) {
    if (other != axis && !surely_equal(indices[other], data[other])) {
      impossible("along another axis, not as many indices as elements, or an unknown number");
    }
  }
}

void lower_gather_elements(LoweredNode& node) {
  const std::int64_t axis = axis_of(node, 0);
  check_other_axes(node, axis);
  node.make({"GatherElements", "opset6"},
            std::array{node.operand(0), from_the_front(node, 1, axis)},
            {{"axis", std::to_string(axis)}});
}

bool raise_gather_nd(RaisedLayer& layer) {
  const std::int64_t batch = layer.integer("batch_dims", 0);
  if (layer.layer().version == "opset5" && batch > 1) return false;  // these axes become one
  layer.make(ops::GatherND::kind, {layer.input(0), layer.wide(layer.input(1), "indices")},
             {{"batch_dims", batch}});
  return true;
}

void lower_gather_nd(LoweredNode& node) {
  node.make({"GatherND", "opset8"}, std::array{node.operand(0), node.operand(1)},
            {{"batch_dims", std::to_string(node.attribute_or<std::int64_t>("batch_dims", 0))}});
}

// --- updates -------------------------------------------------------------------------------------

struct Reduction {
  std::string_view openvino;
  std::string_view onnx;
};
constexpr std::array reductions_of_updates{Reduction{"none", "none"}, Reduction{"sum", "add"},
                                           Reduction{"prod", "mul"}, Reduction{"min", "min"},
                                           Reduction{"max", "max"}};

bool raise_scatter(RaisedLayer& layer) {
  const std::string given = layer.text("reduction", "none");
  const auto* const found = std::ranges::find(reductions_of_updates, given, &Reduction::openvino);
  if (found == reductions_of_updates.end()) return false;
  Attributes attributes;
  if (found->onnx != "none") attributes.set("reduction", std::string(found->onnx));
  if (layer.type() == "ScatterNDUpdate") {
    const Value indices = layer.wide(layer.input(1), "indices");
    layer.make(ops::ScatterND::kind, {layer.input(0), indices, layer.input(2)},
               std::move(attributes));
    return true;
  }
  const auto axis = constant_axis(layer, 3);
  if (!axis || !layer.flag("use_init_val", true)) return false;
  attributes.set("axis", *axis);
  layer.make(ops::ScatterElements::kind, {layer.input(0), layer.input(1), layer.input(2)},
             std::move(attributes));
  return true;
}

/// Whole rows, along axis 0.
bool raise_scatter_rows(RaisedLayer& layer) {
  if (constant_axis(layer, 3) != 0) return false;
  const std::array last{std::int64_t{-1}};
  const Value indices = layer.wide(layer.input(1), "indices");
  const Value rows = stepped(layer, ops::Unsqueeze::kind, {indices, layer.list("last", last)});
  layer.make(ops::ScatterND::kind, {layer.input(0), rows, layer.input(2)});
  return true;
}

void lower_scatter(LoweredNode& node) {
  const auto given = node.attribute_or<std::string>("reduction", "none");
  const auto* const found = std::ranges::find(reductions_of_updates, given, &Reduction::onnx);
  if (found == reductions_of_updates.end()) {
    impossible(fmt::format("reduction {}", printable(given)));
  }
  const bool is_plain = given == "none";
  Data data;
  if (!is_plain) data.emplace_back("reduction", found->openvino);
  if (node.node().kind() == ops::ScatterND::kind) {
    node.make({"ScatterNDUpdate", is_plain ? "opset4" : "opset15"},
              std::array{node.operand(0), node.operand(1), node.operand(2)}, data);
    return;
  }
  if (!is_plain) data.emplace_back("use_init_val", "true");
  const std::int64_t axis = axis_of(node, 0);
  node.make({"ScatterElementsUpdate", is_plain ? "opset3" : "opset12"},
            std::array{node.operand(0), from_the_front(node, 1, axis), node.operand(2),
                       node.integer("axis", axis)},
            data);
}

/// Elements, or slices along an axis, that a condition picks.
void lower_compress(LoweredNode& node) {
  LayerChain chain(node);
  const bool is_flat = node.node().graph->attribute(node.node().id, "axis") == nullptr;
  const std::int64_t axis = is_flat ? 0 : axis_of(node, 0);
  const Output list = chain.integers({-1});
  const Output data =
      is_flat ? chain.apply({"Reshape"}, {node.operand(0), list}, {{"special_zero", "false"}})
              : node.operand(0);
  const Output found = chain.apply({"NonZero", "opset3"}, {node.operand(1)},
                                   {{"output_type", "i64"}}, ElementType::int64);
  const Output indices = chain.apply({"Reshape"}, {found, list}, {{"special_zero", "false"}});
  node.make({"Gather", "opset8"},
            std::array{looked_up_weight(node, data), indices, chain.integer(axis)},
            {{"batch_dims", "0"}});
}

constexpr std::array raised_parts{
    RaiseRule{"Gather", raise_gather},
    RaiseRule{"GatherElements", raise_gather_elements},
    RaiseRule{"GatherND", raise_gather_nd},
    RaiseRule{"ScatterElementsUpdate", raise_scatter},
    RaiseRule{"ScatterNDUpdate", raise_scatter},
    RaiseRule{"ScatterUpdate", raise_scatter_rows},
    RaiseRule{"Slice", raise_slice},
    RaiseRule{"Split", raise_equal_split},
    RaiseRule{"StridedSlice", raise_strided_slice},
    RaiseRule{"VariadicSplit", raise_split_of_lengths},
};

constexpr std::array lowered_parts{
    LowerRule{ops::Gather::kind, lower_gather},
    LowerRule{ops::Slice::kind, lower_slice},
    LowerRule{ops::Split::kind, lower_split},
    LowerRule{ops::Compress::kind, lower_compress},
    LowerRule{ops::GatherElements::kind, lower_gather_elements},
    LowerRule{ops::GatherND::kind, lower_gather_nd},
    LowerRule{ops::Scatter::kind, lower_scatter},
    LowerRule{ops::ScatterElements::kind, lower_scatter},
    LowerRule{ops::ScatterND::kind, lower_scatter},
};

}  // namespace

Rules parts_rules() noexcept { return {raised_parts, lowered_parts}; }

}  // namespace quadrant::inline v0::openvino_ir
