// Recurrent layers over sequences. OpenVINO has the batch in front: X `[batch, seq, I]`, states
// `[batch, D, H]`, Y `[batch, D, seq, H]`, one bias for W and R, and lengths and first states that
// are never left out. Cells of one step, which ONNX has not, are carried.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "io/openvino/chain.hpp"
#include "io/openvino/failure.hpp"
#include "io/openvino/rules.hpp"
#include "ir/ops/places.hpp"
#include "numerics/reals.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::openvino_ir {
namespace {

using Order = std::vector<std::int64_t>;

struct Recurrence {
  std::string_view type;
  std::string_view kind;
  std::int64_t gates = 1;
  std::size_t activations = 1;
};
constexpr std::array recurrences{
    Recurrence{"GRUSequence", ops::Gru::kind, ops::Gru::gates, 2},
    Recurrence{"LSTMSequence", ops::Lstm::kind, ops::Lstm::gates, 3},
    Recurrence{"RNNSequence", ops::Rnn::kind, ops::Rnn::gates, 1},
};

/// Where each gate of OpenVINO's is among ONNX's: an LSTM has f, i, c, o there, and i, o, f, c
/// here.
Order gates_from_onnx(const Recurrence& recurrence) {
  return recurrence.gates == ops::Lstm::gates ? Order{2, 0, 3, 1} : axes_from(0, recurrence.gates);
}
Order gates_from_openvino(const Recurrence& recurrence) {
  return recurrence.gates == ops::Lstm::gates ? Order{1, 3, 0, 2} : axes_from(0, recurrence.gates);
}

constexpr std::array<std::string_view, 3> activation_names{"Sigmoid", "Tanh", "Relu"};

std::string in_lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

std::vector<std::int64_t> batch_and_first() { return {1, 0, 2}; }

// --- weights -------------------------------------------------------------------------------------

/// `[D, blocks * n, ...]` with the blocks along axis 1 in another order.
Constant rearranged(const Constant& constant, const Order& order) {
  const ConstantBytes contents = value_of(constant.read());
  const auto from = contents.bytes();
  const auto directions = static_cast<std::size_t>(constant.shape()[0].value());
  const std::size_t block = from.size() / directions / order.size();
  std::vector<std::byte> to(from.size());
  for (std::size_t i = 0; i < directions * order.size(); ++i) {
    const std::size_t first = i / order.size() * order.size();
    const std::size_t source = first + static_cast<std::size_t>(order[i % order.size()]);
    std::ranges::copy(from.subspan(source * block, block),
                      to.begin() + static_cast<std::ptrdiff_t>(i * block));
  }
  return Constant::from_bytes(constant.element(), constant.shape(), std::move(to));
}

/// A list of sums of blocks: of each, which of the operand's are summed up.
using Sums = std::vector<Order>;

/// `[D, blocks * hidden]` to `[D, sums * hidden]`.
Constant summed(const Constant& constant, std::int64_t blocks, const Sums& sums) {
  const std::vector<double> from = value_of(read_reals(constant));
  const std::int64_t directions = constant.shape()[0].value();
  const std::int64_t hidden = constant.shape()[1].value() / blocks;
  std::vector<double> to;
  for (std::int64_t direction = 0; direction < directions; ++direction) {
    for (const Order& parts : sums) {
      for (std::int64_t i = 0; i < hidden; ++i) {
        double sum = 0;
        for (const std::int64_t part : parts) {
          sum += from[static_cast<std::size_t>((direction * blocks + part) * hidden + i)];
        }
        to.push_back(sum);
      }
    }
  }
  const Shape shape{directions, static_cast<std::int64_t>(sums.size()) * hidden};
  return rounded_constant(constant.element(), shape, to);
}

// --- from IRs ------------------------------------------------------------------------------------

/// Which extent of a shape a Gather or a Slice takes; empty for several, and for a computed one.
std::optional<std::int64_t> index_of_part(NodeRef part) {
  const Constant* first = part.operand_constant(1);
  if (first == nullptr || first->element_count() != 1) return std::nullopt;
  const auto index = read_integers(*first);
  if (!index) return std::nullopt;
  if (part.kind() != ops::Slice::kind) return index->front();
  const Constant* end = part.operand_constant(2);
  const auto ends = end != nullptr ? read_integers(*end) : Expected<std::vector<std::int64_t>>();
  const bool is_one =
      ends && ends->size() == 1 && index->front() >= 0 && ends->front() == index->front() + 1;
  return is_one ? std::optional(index->front()) : std::nullopt;
}

/// Whether `part` is the number of steps of X, `[batch, seq, I]`, which may be a transpose of what
/// the shape was asked of.
bool is_step_count(const RaisedLayer& layer, NodeRef part) {
  if (part.kind() != ops::Gather::kind && part.kind() != ops::Slice::kind) return false;
  const auto index = index_of_part(part);
  const NodeRef shape = layer.producer(part.operand(0));
  if (!index || shape.kind() != ops::ShapeOf::kind) return false;
  const Value of = shape.operand(0);
  if (of == layer.input(0)) return index == 1;
  const NodeRef maker = layer.producer(layer.input(0));
  return maker.kind() == ops::Transpose::kind && maker.operand(0) == of && index == 0 &&
         ops::Transpose{maker}.perm() == batch_and_first();
}

/// Whether lengths are those of whole sequences: a constant, or an extent of X that is repeated.
bool are_whole(const RaisedLayer& layer, std::size_t input, Extent steps) {
  if (const auto known = layer.constant_integers(input)) {
    return std::ranges::all_of(*known,
                               [&](std::int64_t length) { return surely_equal(steps, length); });
  }
  const auto hands_on = [](NodeRef node) {
    return node.kind() == ops::Cast::kind || node.kind() == ops::Expand::kind ||
           has_trait(node, Trait::keeps_order);
  };
  NodeRef node = layer.producer(layer.input(input));
  while (hands_on(node)) {
    node = layer.producer(node.operand(0));
  }
  return is_step_count(layer, node);
}

Value with_batch_second(RaisedLayer& layer, Value value) {
  return stepped(layer, ops::Transpose::kind, {value}, {{"perm", batch_and_first()}});
}

Attributes recurrent_attributes(RaisedLayer& layer, const Recurrence& recurrence) {
  const std::string direction = in_lower_case(layer.text("direction", "forward"));
  Attributes attributes{{"direction", direction}, {"hidden_size", layer.integer("hidden_size", 0)}};
  if (const double clip = layer.real("clip", 0); clip > 0) attributes.set("clip", clip);
  if (recurrence.kind == ops::Gru::kind) {
    const bool is_linear = layer.flag("linear_before_reset", false);
    attributes.set("linear_before_reset", std::int64_t{is_linear ? 1 : 0});
  }
  return attributes;
}

/// The names of the activations, for each direction; empty for others than ONNX has.
std::optional<std::vector<std::string>> raised_activations(RaisedLayer& layer, bool is_twofold) {
  std::vector<std::string> names;
  for (const std::string& given : split_names(layer.text("activations", ""))) {
    const std::size_t begin = given.find_first_not_of(' ');
    const std::string name = begin == std::string::npos ? "" : given.substr(begin);
    const auto found = std::ranges::find(activation_names, name, [](std::string_view known) {
      return in_lower_case(std::string(known));
    });
    if (found == activation_names.end()) return std::nullopt;
    names.emplace_back(*found);
  }
  const std::size_t count = is_twofold ? names.size() : 0;
  for (std::size_t i = 0; i < count; ++i) names.push_back(names[i]);
  return names;
}

/// One bias was for both products: it is W's, and R's is zero. Apart where R's alone is reset.
Sums apart(const Order& order, bool is_linear) {
  Sums sums;
  for (const std::int64_t gate : order) sums.push_back({gate});
  for (const std::int64_t gate : order) sums.push_back(is_linear && gate == 2 ? Order{3} : Order{});
  return sums;
}

/// Empty where one is computed.
std::vector<Constant> known_inputs(const RaisedLayer& layer, std::size_t first, std::size_t count) {
  std::vector<Constant> known;
  for (std::size_t i = first; i < first + count; ++i) {
    const Constant found = layer.constant(i);
    if (!found) return {};
    known.push_back(found);
  }
  return known;
}

/// W `[D, gates * H, I]`, R `[D, gates * H, H]`, B `[D, blocks * H]`.
void check_weights(const std::vector<Constant>& known, std::int64_t gates, std::int64_t blocks) {
  const auto w = known[0].shape().known_extents();
  const auto r = known[1].shape().known_extents();
  const auto b = known[2].shape().known_extents();
  const bool have_ranks = w.size() == 3 && r.size() == 3 && b.size() == 2;
  const bool fit = have_ranks && (w[0] == 1 || w[0] == 2) && r[0] == w[0] && b[0] == w[0] &&
                   r[2] > 0 && w[1] == gates * r[2] && r[1] == w[1] && b[1] == blocks * r[2];
  if (fit) return;
  invalid(fmt::format("weights of shapes [{}], [{}] and [{}], which are none of such a layer",
                      to_string(known[0].shape()), to_string(known[1].shape()),
                      to_string(known[2].shape())));
}

bool raise_recurrence(RaisedLayer& layer) {
  const Recurrence& recurrence = *std::ranges::find(recurrences, layer.type(), &Recurrence::type);
  const bool is_lstm = recurrence.kind == ops::Lstm::kind;
  const bool is_plain = layer.layer().version == "opset5" &&
                        layer.text("activations_alpha", "").empty() &&
                        layer.text("activations_beta", "").empty();
  const std::size_t weights = is_lstm ? 4 : 3;
  if (!is_plain || layer.input_count() != weights + 3) return false;
  const std::vector<Constant> known = known_inputs(layer, weights, 3);
  if (known.empty()) return false;
  const Constant& bias = known.back();
  if (!is_wide_float(bias.element())) return false;
  const Attributes attributes = recurrent_attributes(layer, recurrence);
  const bool adds_block = attributes.get_or<std::int64_t>("linear_before_reset", 0) != 0;
  check_weights(known, recurrence.gates, recurrence.gates + (adds_block ? 1 : 0));
  const bool is_twofold = surely_equal(bias.shape()[0], 2);
  auto activations = raised_activations(layer, is_twofold);
  if (!activations) return false;

  const Order order = gates_from_openvino(recurrence);
  const bool is_linear = attributes.get_or<std::int64_t>("linear_before_reset", 0) != 0;
  const std::int64_t blocks = recurrence.gates + (is_linear ? 1 : 0);
  const TensorType x = layer.type_of(layer.input(0));
  const Extent steps = x.shape.rank() == 3 ? x.shape[1] : Extent::open();
  const std::size_t lengths = weights - 1;

  std::vector<Value> operands{with_batch_second(layer, layer.input(0))};
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    operands.push_back(is_lstm ? layer.constant(i == 0 ? "W" : "R", rearranged(known[i], order))
                               : layer.input(weights + i));
  }
  operands.push_back(layer.constant("B", summed(bias, blocks, apart(order, is_linear))));
  const bool is_whole = are_whole(layer, lengths, steps);
  operands.push_back(is_whole ? Value{}
                              : stepped(layer, ops::Cast::kind, {layer.input(lengths)},
                                        {{"to", element_type_number(ElementType::int32)}},
                                        ElementType::int32));
  for (std::size_t i = 1; i < lengths; ++i) {
    operands.push_back(with_batch_second(layer, layer.input(i)));
  }
  Attributes all = attributes;
  all.set("activations", *std::move(activations));
  const std::vector<TensorType> types(layer.layer().outputs.size(),
                                      TensorType{x.element, Shape{}, nullptr});
  const NodeId node =
      layer.steps(recurrence.kind, std::move(operands), types, recurrence.kind, std::move(all));
  const std::vector<std::int64_t> of_y{2, 1, 0, 3};
  for (auto i = static_cast<std::uint32_t>(types.size()); i-- > 0;) {
    layer.finish(layer.step(ops::Transpose::kind, {{node, i}}, layer.result_type(i), "moved",
                            {{"perm", i == 0 ? of_y : batch_and_first()}}),
                 i);
  }
  return true;
}

// --- to IRs --------------------------------------------------------------------------------------

/// What OpenVINO does not compute, or computes otherwise.
void expect_known_recurrence(const LoweredNode& node, const Recurrence& recurrence) {
  constexpr std::size_t lengths = 4;
  constexpr std::size_t peepholes = 7;
  if (node.has(lengths) && !node.type(0).shape.is_static()) {
    // OpenVINO ignores them there.
    impossible("lengths of sequences, with open shapes");
  }
  if (recurrence.kind == ops::Lstm::kind) {
    if (node.has(peepholes)) impossible("peepholes");
    if (node.attribute_or<std::int64_t>("input_forget", 0) != 0) impossible("coupled gates");
  }
  for (const std::string_view name : {"activation_alpha", "activation_beta"}) {
    if (!node.attribute_or<std::vector<double>>(name, {}).empty()) {
      impossible("activations with parameters");
    }
  }
}

/// The activations that all directions have.
std::string lowered_activations(const LoweredNode& node, const Recurrence& recurrence) {
  auto names = node.attribute_or<std::vector<std::string>>("activations", {});
  if (names.empty()) {
    names.assign(recurrence.activations, "Tanh");
    if (recurrence.activations > 1) names.front() = "Sigmoid";
  }
  const std::size_t count = recurrence.activations;
  if (names.size() % count != 0) invalid("activations of other gates");
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto* const found = std::ranges::find(activation_names, names[i]);
    if (found == activation_names.end()) {
      impossible(fmt::format("the activation {}", printable(names[i])));
    }
    if (names[i] != names[i % count]) impossible("activations that differ between directions");
    if (i < count) text += (i == 0 ? "" : ",") + in_lower_case(names[i]);
  }
  return text;
}

/// Builds the inputs of a layer.
class RecurrentInputs {
 public:
  RecurrentInputs(LoweredNode& node, const Recurrence& recurrence)
      : node_(node),
        recurrence_(recurrence),
        chain_(node),
        batch_is_first_(node.attribute_or<std::int64_t>("layout", 0) != 0),
        x_(batch_is_first_ ? node.operand(0) : moved(node.operand(0))) {
    const Shape& weights = node.ranked(2);
    if (weights.rank() != 3 || weights[0].value_or(0) < 1 || weights[2].value_or(0) < 1) {
      impossible("weights of unknown extents");
    }
    directions_ = weights[0].value();
    hidden_ = weights[2].value();
    const Shape& shape = node.ranked(0);
    if (shape.rank() != 3) invalid("an operand of other than three axes");
    batch_ = shape[batch_is_first_ ? 0 : 1];
    steps_ = shape[batch_is_first_ ? 1 : 0];
  }

  [[nodiscard]] std::vector<Output> all() {
    std::vector<Output> inputs{x_, state(5)};
    if (recurrence_.kind == ops::Lstm::kind) inputs.push_back(state(6));
    inputs.push_back(lengths());
    inputs.push_back(weights(1));
    inputs.push_back(weights(2));
    inputs.push_back(bias());
    return inputs;
  }
  [[nodiscard]] std::int64_t hidden() const noexcept { return hidden_; }
  [[nodiscard]] std::int64_t directions() const noexcept { return directions_; }
  [[nodiscard]] bool batch_is_first() const noexcept { return batch_is_first_; }
  Output moved(Output value) { return transposed(value, batch_and_first()); }
  Output transposed(Output value, const std::vector<std::int64_t>& perm) {
    return chain_.apply({"Transpose"}, {value, chain_.integers(perm)});
  }

 private:
  Output batch() { return chain_.part(chain_.extents(x_), 0, 1); }

  Output state(std::size_t index) {
    if (node_.has(index)) {
      return batch_is_first_ ? node_.operand(index) : moved(node_.operand(index));
    }
    const Output shape = !batch_.is_known()
                             ? chain_.joined({batch(), chain_.integers({directions_, hidden_})})
                             : chain_.integers({batch_.value(), directions_, hidden_});
    return chain_.apply({"Broadcast", "opset3"}, {chain_.number(0), shape}, {{"mode", "numpy"}});
  }

  Output lengths() {
    if (node_.has(4)) return node_.operand(4);
    const Output all = !steps_.is_known() ? chain_.part(chain_.extents(x_), 1, 2)
                                          : chain_.integers({steps_.value()});
    const Output count = !batch_.is_known() ? batch() : chain_.integers({batch_.value()});
    return chain_.apply({"Broadcast", "opset3"}, {all, count}, {{"mode", "numpy"}});
  }

  Output weights(std::size_t index) {
    if (recurrence_.kind != ops::Lstm::kind) return node_.operand(index);
    const Order order = gates_from_onnx(recurrence_);
    if (const Constant* known = node_.constant(index)) {
      return node_.constant(index == 1 ? "W" : "R", rearranged(*known, order));
    }
    const Data plain{{"special_zero", "false"}};
    const Output gates = chain_.apply(
        {"Reshape"},
        {node_.operand(index), chain_.integers({directions_, recurrence_.gates, hidden_, -1})},
        plain);
    const Output sorted =
        chain_.apply({"Gather", "opset8"}, {gates, chain_.integers(order), chain_.integer(1)},
                     {{"batch_dims", "0"}});
    return chain_.apply({"Reshape"},
                        {sorted, chain_.integers({directions_, recurrence_.gates * hidden_, -1})},
                        plain);
  }

  Output bias() {
    const bool is_linear = node_.attribute_or<std::int64_t>("linear_before_reset", 0) != 0;
    const std::int64_t gates = recurrence_.gates;
    Sums sums;
    for (const std::int64_t gate : gates_from_onnx(recurrence_))
      sums.push_back({gate, gates + gate});
    if (is_linear && recurrence_.kind == ops::Gru::kind) {
      sums.back() = {2};
      sums.push_back({gates + 2});
    }
    if (!node_.has(3)) {
      const auto blocks = static_cast<std::int64_t>(sums.size());
      return chain_.apply({"Broadcast", "opset3"},
                          {chain_.number(0), chain_.integers({directions_, blocks * hidden_})},
                          {{"mode", "numpy"}});
    }
    const Constant* known = node_.constant(3);
    if (!known || !is_wide_float(known->element())) impossible("a bias that is computed");
    return node_.constant("B", summed(*known, 2 * gates, sums));
  }

  LoweredNode& node_;
  const Recurrence& recurrence_;
  LayerChain chain_;
  bool batch_is_first_;
  Output x_;
  std::int64_t directions_ = 0;
  std::int64_t hidden_ = 0;
  Extent batch_ = Extent::open();
  Extent steps_ = Extent::open();
};

void lower_recurrence(LoweredNode& node) {
  const Recurrence& recurrence =
      *std::ranges::find(recurrences, node.node().kind(), &Recurrence::kind);
  expect_known_recurrence(node, recurrence);
  RecurrentInputs inputs(node, recurrence);
  Data data{{"direction", node.attribute_or<std::string>("direction", "forward")},
            {"hidden_size", std::to_string(inputs.hidden())},
            {"activations", lowered_activations(node, recurrence)},
            {"clip", text_of(node.attribute_or<double>("clip", 0))}};
  if (recurrence.kind == ops::Gru::kind) {
    const bool is_linear = node.attribute_or<std::int64_t>("linear_before_reset", 0) != 0;
    data.emplace_back("linear_before_reset", text_of(is_linear));
  }
  const std::size_t outputs = recurrence.kind == ops::Lstm::kind ? 3 : 2;
  const std::vector<TensorType> types(outputs, TensorType{node.type(0).element, Shape{}, nullptr});
  const std::vector<Output> all = inputs.all();
  const Output made = node.steps({recurrence.type, "opset5"}, all, data, types, "sequence");
  const bool batch_is_first = inputs.batch_is_first();
  const std::vector<std::int64_t> of_y = batch_is_first ? std::vector<std::int64_t>{0, 2, 1, 3}
                                                        : std::vector<std::int64_t>{2, 1, 0, 3};
  for (std::uint32_t i = 0; i < node.node().graph->result_count(node.node().id); ++i) {
    const Output output{made.layer, i};
    if (i == 0) {
      node.finish(inputs.transposed(output, of_y), i);
    } else {
      node.finish(batch_is_first ? output : inputs.moved(output), i);
    }
  }
}

constexpr std::array raised_recurrent{
    RaiseRule{"GRUSequence", raise_recurrence},
    RaiseRule{"LSTMSequence", raise_recurrence},
    RaiseRule{"RNNSequence", raise_recurrence},
};

constexpr std::array lowered_recurrent{
    LowerRule{ops::Gru::kind, lower_recurrence},
    LowerRule{ops::Lstm::kind, lower_recurrence},
    LowerRule{ops::Rnn::kind, lower_recurrence},
};

}  // namespace

Rules recurrent_rules() noexcept { return {raised_recurrent, lowered_recurrent}; }

}  // namespace quadrant::inline v0::openvino_ir
