#include "io/onnx/read_graph.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "io/onnx/attribute.hpp"
#include "io/onnx/failure.hpp"
#include "io/onnx/fields.hpp"
#include "io/onnx/names.hpp"
#include "io/onnx/stated_types.hpp"
#include "io/onnx/tensor.hpp"
#include "io/onnx/value_info.hpp"
#include "quadrant/ir/topology.hpp"

namespace quadrant::inline v0::onnx {
namespace {

/// Where the parts of the graph are, in the order in which each kind comes.
struct Outline {
  std::vector<Range> nodes;
  std::vector<Range> initializers;
  std::vector<Range> sparse_initializers;
  std::vector<Range> inputs;
  std::vector<Range> outputs;
  struct Entry {
    Range payload;
    Range whole;  // with its tag
  };
  std::vector<Entry> value_infos;
};

/// A NodeProto, its attributes not yet read.
struct NodeFields {
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::string_view name;
  OpName op;
  std::vector<Range> attributes;
  std::vector<Range> extra;

  /// What messages call it: many nodes have no name of their own.
  [[nodiscard]] std::string_view label() const {
    if (!name.empty()) return name;
    for (const std::string_view output : outputs) {
      if (!output.empty()) return output;
    }
    return op.op_type;
  }
};

class GraphReader {
 public:
  GraphReader(Source& source, Graph& graph, Sink* sink)
      : source_(source), graph_(graph), types_(sink), sink_(sink) {}

  void read(const std::vector<Range>& parts) {
    for (const Range& part : parts) outline(part);
    define_names();
    add_inputs_and_initializers();
    for (const Range& range : outline_.sparse_initializers) add_sparse_initializer(range);
    for (const Range& range : outline_.nodes) add_node(range);
    connect();
    add_outputs();
    reserve_inner_names();
    if (auto order = topological_order(graph_); !order) throw Failure{std::move(order).error()};
    add_value_infos();
    types_.settle(graph_);
  }

 private:
  void outline(Range part) {
    std::vector<Range> extra;
    Message message = source_.message(part);
    while (message.next()) {
      switch (message.field()) {
        case graph::node:
          outline_.nodes.push_back(message.payload());
          break;
        case graph::initializer:
          outline_.initializers.push_back(message.payload());
          break;
        case graph::sparse_initializer:
          outline_.sparse_initializers.push_back(message.payload());
          break;
        case graph::input:
          outline_.inputs.push_back(message.payload());
          break;
        case graph::output:
          outline_.outputs.push_back(message.payload());
          break;
        case graph::value_info:
          outline_.value_infos.push_back({message.payload(), message.whole()});
          break;
        case graph::name:
          graph_.attributes().set(std::string(key::graph_name), std::string(message.text()));
          break;
        default:
          extra.push_back(message.whole());
      }
    }
    if (!extra.empty()) {
      graph_.attributes().set(std::string(key::graph_extra),
                              carried(source_.file(), std::move(extra), fields_format));
    }
  }

  // --- names ---

  void define(std::string_view name, std::uint64_t offset) {
    if (!names_.insert(name).second) {
      invalid(fmt::format("the name '{}' is defined twice", name), {.offset = offset});
    }
  }

  /// All names of the file, before the graph makes up any for results that have none.
  void define_names() {
    for (const Range& range : outline_.initializers) {
      const std::string_view name = outline_of_tensor(source_.bytes(), range).name;
      if (name.empty()) invalid("an initializer without a name", {.offset = range.offset});
      define(name, range.offset);
      initializer_names_.insert(name);
    }
    for (const Range& range : outline_.sparse_initializers) {
      define(sparse_name(range), range.offset);
    }
    std::unordered_set<std::string_view> listed;
    for (const Range& range : outline_.inputs) {
      const std::string_view name = read_value_info(source_.bytes(), range).name;
      if (name.empty()) invalid("a graph input without a name", {.offset = range.offset});
      if (!listed.insert(name).second) {
        invalid(fmt::format("the graph input '{}' is listed twice", name),
                {.offset = range.offset});
      }
      if (!initializer_names_.contains(name)) define(name, range.offset);
    }
    for (const Range& range : outline_.nodes) {
      Message message = source_.message(range);
      while (message.next()) {
        if (message.field() != node::output) continue;
        if (const std::string_view name = message.text(); !name.empty()) {
          define(name, message.whole().offset);
        }
      }
    }
  }

  /// A name that the file does not have, for a result that it leaves out.
  std::string made_up_name(std::string_view label) {
    std::string name;
    do {
      name = fmt::format("{}.absent{}", label, absent_results_++);
    } while (names_.contains(name));
    return name;
  }

  // --- inputs and initializers ---

  void add_inputs_and_initializers() {
    std::unordered_map<std::string_view, std::size_t> listed;  // initializers among the inputs
    for (std::size_t position = 0; position < outline_.inputs.size(); ++position) {
      const Range range = outline_.inputs[position];
      const ValueInfo info = read_value_info(source_.bytes(), range);
      if (initializer_names_.contains(info.name)) {
        listed.emplace(info.name, position);
        continue;
      }
      const Value value = graph_.add_input(std::string(info.name), info.type);
      graph_.set_attribute(value.node, std::string(key::value_info), value_info(range));
    }
    for (const Range& range : outline_.initializers) {
      const NodeId node = add_initializer(range);
      const auto found = listed.find(graph_.value_name({node}));
      if (found == listed.end()) continue;
      graph_.set_attribute(node, std::string(key::input_position),
                           static_cast<std::int64_t>(found->second));
      graph_.set_attribute(node, std::string(key::input_info),
                           value_info(outline_.inputs[found->second]));
    }
    if (!listed.empty()) {
      graph_.attributes().set(std::string(key::listed_initializers),
                              static_cast<std::int64_t>(listed.size()));
    }
  }

  NodeId add_initializer(Range range) {
    Tensor tensor = read_tensor(source_, range);
    std::string name(tensor.name);
    if (!tensor.constant) {
      return add_carried_initializer(opaque_initializer_kind, std::move(name),
                                     std::move(tensor.type), range, tensor.external);
    }
    const NodeId node = graph_.add_constant(std::move(name), std::move(tensor.constant)).node;
    if (!tensor.extra.empty()) {
      graph_.set_attribute(node, std::string(key::extra),
                           carried(source_.file(), std::move(tensor.extra), fields_format));
    }
    return node;
  }

  NodeId add_carried_initializer(std::string_view kind, std::string name, TensorType type,
                                 Range range, bool external) {
    const NodeId node =
        graph_.add({.kind = std::string(kind), .name = name, .results = {{name, std::move(type)}}});
    graph_.set_attribute(node, std::string(key::tensor),
                         carried(source_.file(), {range}, tensor_format));
    if (external) {
      graph_.set_attribute(node, std::string(key::data_directory), source_.directory());
    }
    return node;
  }

  std::string_view sparse_name(Range range) {
    std::string_view name;
    Message message = source_.message(range);
    while (message.next()) {
      if (message.field() == sparse_tensor::values) {
        name = outline_of_tensor(source_.bytes(), message.payload()).name;
      }
    }
    if (name.empty()) invalid("a sparse initializer without a name", {.offset = range.offset});
    return name;
  }

  void add_sparse_initializer(Range range) {
    std::vector<std::int64_t> dims;
    TensorType type;
    bool external = false;
    Message message = source_.message(range);
    while (message.next()) {
      if (message.field() == sparse_tensor::dims) message.append_integers(dims);
      if (message.field() != sparse_tensor::values && message.field() != sparse_tensor::indices) {
        continue;
      }
      const Tensor tensor = read_tensor(source_, message.payload());
      external = external || tensor.external;
      if (message.field() == sparse_tensor::values) type.element = tensor.type.element;
    }
    const std::string name(sparse_name(range));
    if (std::ranges::any_of(dims, [](std::int64_t extent) { return extent < 0; })) {
      invalid("a negative dimension", {.tensor = name, .offset = range.offset});
    }
    type.shape = Shape(dims);
    add_carried_initializer(sparse_initializer_kind, name, std::move(type), range, external);
  }

  // --- nodes ---

  NodeFields read_fields(Range range) {
    NodeFields fields;
    Message message = source_.message(range);
    while (message.next()) {
      switch (message.field()) {
        case node::input:
          fields.inputs.push_back(message.text());
          break;
        case node::output:
          fields.outputs.push_back(message.text());
          break;
        case node::name:
          fields.name = message.text();
          break;
        case node::op_type:
          fields.op.op_type = message.text();
          break;
        case node::domain:
          fields.op.domain = message.text();
          break;
        case node::attribute:
          fields.attributes.push_back(message.payload());
          break;
        default:
          fields.extra.push_back(message.whole());
      }
    }
    if (fields.op.op_type.empty()) {
      invalid("a node without an operator type",
              {.node = std::string(fields.label()), .offset = range.offset});
    }
    return fields;
  }

  void add_node(Range range) {
    NodeFields fields = read_fields(range);
    in_node(fields.label(), [&] {
      NodeSpec spec;
      spec.name = fields.name;
      SubgraphNames inner;
      // Attributes are looked up one after another, which so many would make slow.
      constexpr std::size_t most_attributes = 4096;
      if (fields.attributes.size() > most_attributes) {
        invalid(fmt::format("{} attributes, more than any operator has", fields.attributes.size()));
      }
      for (const Range& attribute : fields.attributes) {
        read_attribute(source_, attribute, spec.attributes, inner);
      }
      add_inner_names(inner, spec.attributes);
      std::vector<std::int64_t> absent;
      for (std::size_t i = 0; i < fields.outputs.size(); ++i) {
        std::string name(fields.outputs[i]);
        if (name.empty()) {
          absent.push_back(static_cast<std::int64_t>(i));
          name = made_up_name(fields.label());
        }
        spec.results.push_back({std::move(name), {}});
      }
      if (!absent.empty()) spec.attributes.set(std::string(key::absent_results), absent);
      if (!fields.extra.empty()) {
        spec.attributes.set(std::string(key::extra),
                            carried(source_.file(), std::move(fields.extra), fields_format));
      }
      if (!make_constant(fields, spec)) spec.kind = kind_of(fields.op);
      fields.inputs.insert(fields.inputs.end(), inner.captured.begin(), inner.captured.end());
      spec.operands.resize(fields.inputs.size());
      const NodeId node = graph_.add(std::move(spec));
      keep_op_name(node, fields.op);
      if (!fields.inputs.empty()) pending_.emplace_back(node, std::move(fields.inputs));
    });
  }

  /// The kind tells the operator; what it does not tell is kept beside it.
  void keep_op_name(NodeId node, const OpName& op) {
    if (graph_.kind(node) == ops::Constant::kind) {
      if (!op.domain.empty()) graph_.set_attribute(node, std::string(key::domain), op.domain);
      return;
    }
    if (op_name_of(graph_.ref(node)) == op) return;
    graph_.set_attribute(node, std::string(key::domain), op.domain);
    graph_.set_attribute(node, std::string(key::op_type), op.op_type);
  }

  void add_inner_names(const SubgraphNames& inner, Attributes& attributes) {
    if (!inner.captured.empty()) {
      attributes.set(std::string(key::captures), static_cast<std::int64_t>(inner.captured.size()));
      attributes.set(std::string(key::capture_names),
                     std::vector<std::string>(inner.captured.begin(), inner.captured.end()));
    }
    inner_names_.insert(inner_names_.end(), inner.defined.begin(), inner.defined.end());
    inner_names_.insert(inner_names_.end(), inner.operations.begin(), inner.operations.end());
    if (inner.external_data) {
      attributes.set(std::string(key::data_directory), source_.directory());
    }
  }

  /// A Constant node with contents that can be read becomes a `constant`.
  static bool make_constant(const NodeFields& fields, NodeSpec& spec) {
    if (fields.op.op_type != "Constant" || !in_default_domain(fields.op)) return false;
    if (!fields.inputs.empty() || fields.outputs.size() != 1 || fields.outputs[0].empty() ||
        fields.attributes.size() != 1) {
      return false;
    }
    for (const auto& [name, value] : spec.attributes) {
      if (name.starts_with(prefix)) continue;
      Constant constant = constant_from(name, value);
      if (!constant) return false;
      const std::string form = name;
      spec.attributes.erase(form);
      spec.attributes.set(std::string(key::constant_form), form);
      spec.kind = ops::Constant::kind;
      spec.results[0].type = {constant.element(), constant.shape(), nullptr};
      spec.constant = std::move(constant);
      return true;
    }
    return false;
  }

  static Constant constant_from(std::string_view name, const Attribute& value) {
    if (const auto* tensor = std::get_if<Constant>(&value); tensor && name == "value") {
      return *tensor;
    }
    const auto make = [](ElementType element, Shape shape, const auto& values) {
      return Constant::from_values(element, std::move(shape),
                                   std::span(values.data(), values.size()));
    };
    if (const auto* integer = std::get_if<std::int64_t>(&value); integer && name == "value_int") {
      return make(ElementType::int64, Shape(std::vector<std::int64_t>{}), std::array{*integer});
    }
    if (const auto* real = std::get_if<double>(&value); real && name == "value_float") {
      return make(ElementType::float32, Shape(std::vector<std::int64_t>{}),
                  std::array{static_cast<float>(*real)});
    }
    if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value);
        integers && name == "value_ints") {
      return make(ElementType::int64, Shape{static_cast<std::int64_t>(integers->size())},
                  *integers);
    }
    if (const auto* reals = std::get_if<std::vector<double>>(&value);
        reals && name == "value_floats") {
      std::vector<float> floats;
      floats.reserve(reals->size());
      for (const double element : *reals) floats.push_back(static_cast<float>(element));
      return make(ElementType::float32, Shape{static_cast<std::int64_t>(floats.size())}, floats);
    }
    return {};
  }

  /// Operands, now that every name has a value: files list nodes in order, but need not.
  void connect() {
    for (const auto& [node, inputs] : pending_) {
      for (std::uint32_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i].empty()) continue;
        const Value value = graph_.find_value(inputs[i]);
        if (value.is_absent() || !names_.contains(inputs[i])) {  // or one that was made up
          const std::string_view name = graph_.name(node);
          const bool labelled = name.empty() && graph_.result_count(node) > 0;
          invalid(fmt::format("its input '{}' is not defined anywhere", inputs[i]),
                  {.node = std::string(labelled ? graph_.value_name({node}) : name)});
        }
        graph_.set_operand(node, i, value);
      }
    }
    pending_.clear();
  }

  // --- what values are called and what types they have ---

  void add_outputs() {
    for (const Range& range : outline_.outputs) {
      const ValueInfo info = read_value_info(source_.bytes(), range);
      const Value value = info.name.empty() ? Value{} : graph_.find_value(info.name);
      if (value.is_absent()) {
        invalid(fmt::format("the graph output '{}' is not defined anywhere", info.name),
                {.offset = range.offset});
      }
      const NodeId output = graph_.add_output(std::string(info.name), value);
      graph_.set_attribute(output, std::string(key::value_info), value_info(range));
      types_.state(value, info.type, output, std::string(key::value_info));
    }
  }

  void add_value_infos() {
    std::vector<Range> others;
    for (const auto& [range, whole] : outline_.value_infos) {
      const ValueInfo info = read_value_info(source_.bytes(), range);
      const Value value = info.name.empty() ? Value{} : graph_.find_value(info.name);
      if (value.is_absent()) {
        others.push_back(whole);
        continue;
      }
      const std::string name = value_info_key(value.result);
      if (graph_.attribute(value.node, name)) continue;  // an input's, or given twice
      graph_.set_attribute(value.node, name, value_info(range));
      types_.state(value, info.type, value.node, name);
    }
    if (others.empty()) return;
    graph_.attributes().set(std::string(key::other_value_info),
                            carried(source_.file(), std::move(others), fields_format));
  }

  void reserve_inner_names() {
    // A name that the graph has itself, too, is taken already; reserved, it could not be handed
    // from one value to the next that takes its place.
    for (const std::string_view name : inner_names_) {
      if (!names_.contains(name)) graph_.reserve_name(std::string(name));
    }
    if (inner_names_.empty() || !sink_) return;
    sink_->report({Severity::note,
                   "subgraphs are carried as they are: weights inside them are not seen",
                   {.file = source_.file()->path()}});
  }

  Opaque value_info(Range range) const {
    return carried(source_.file(), {range}, value_info_format);
  }

  Source& source_;
  Graph& graph_;
  StatedTypes types_;
  Sink* sink_;
  Outline outline_;
  std::unordered_set<std::string_view> names_;
  std::unordered_set<std::string_view> initializer_names_;
  std::uint64_t absent_results_ = 0;
  std::vector<std::string_view> inner_names_;
  std::vector<std::pair<NodeId, std::vector<std::string_view>>> pending_;
};

}  // namespace

void read_graph(Source& source, const std::vector<Range>& parts, Graph& graph, Sink* sink) {
  GraphReader(source, graph, sink).read(parts);
}

}  // namespace quadrant::inline v0::onnx
