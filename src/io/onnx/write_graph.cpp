#include "io/onnx/write_graph.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "io/onnx/element.hpp"
#include "io/onnx/failure.hpp"
#include "io/onnx/fields.hpp"
#include "io/onnx/file.hpp"
#include "io/onnx/names.hpp"
#include "io/onnx/value_info.hpp"
#include "io/onnx/written_names.hpp"
#include "ir/regions.hpp"
#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0::onnx {
namespace {

bool is_carried_initializer(std::string_view kind) {
  return kind == opaque_initializer_kind || kind == sparse_initializer_kind;
}

/// The ValueInfoProto that `holder` keeps, if it still says the truth about the value. `is_all`:
/// and says all that is known.
std::optional<Opaque> kept_info(const Graph& graph, NodeId holder, std::string_view attribute,
                                std::string_view name, const TensorType& type, bool is_all) {
  const Attribute* found = graph.attribute(holder, attribute);
  const auto* opaque = found ? std::get_if<Opaque>(found) : nullptr;
  if (!opaque || type.is_quantized()) return std::nullopt;
  const std::string text = contents(*opaque);
  const ValueInfo info = read_value_info(text, {0, text.size()});
  if (info.name != name || !merged(info.type, type)) return std::nullopt;
  if (is_all && info.type.shape != type.shape) return std::nullopt;
  return *opaque;
}

/// Whether inputs have extents now that the file did not state: then others have, too.
bool has_fixed_input(const Graph& graph) {
  return std::ranges::any_of(graph.inputs(), [&](NodeId id) {
    const std::string_view name = graph.value_name({id});
    const TensorType& type = graph.type({id});
    return kept_info(graph, id, key::value_info, name, type, false) &&
           !kept_info(graph, id, key::value_info, name, type, true);
  });
}

/// What all graphs of a file have in common.
struct Writing {
  const Graph& graph;
  const std::string& directory;
  const DataFile& data;
  Sink* sink;
  const Regions& regions;
  const WrittenNames& names;
  bool has_fixed_input = false;
  std::vector<std::vector<NodeId>> made;     // by region, producers before users
  std::vector<std::vector<NodeId>> indexed;  // by region and index
};

/// What the nodes of one graph are called in the file, where names do not repeat; in ours they are
/// for people.
class NodeNames {
 public:
  NodeNames(const Writing& writing, std::uint32_t region) : region_(writing.regions[region]) {
    for (const NodeId id : writing.indexed[region]) {
      taken_.emplace(name_in_body(writing.graph.name(id), region_));
    }
  }

  /// The name itself the first time, then with a suffix.
  std::string next(std::string_view full_name) {
    const std::string_view name = name_in_body(full_name, region_);
    std::string candidate(name);
    std::uint64_t& next = next_[candidate];
    if (next == 0) {
      next = 1;
      return candidate;
    }
    do {
      candidate = fmt::format("{}_{}", name, next++);
    } while (!taken_.insert(candidate).second);
    return candidate;
  }

 private:
  const Region& region_;
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, std::uint64_t> next_;  // suffix; 0: none was written yet
};

/// Writes the model's graph or, bodies lying in bodies at most `regions::deepest` deep, that of
/// one.
class GraphWriter {
 public:
  GraphWriter(const Writing& writing, std::uint32_t region)
      : writing_(writing),
        region_(region),
        graph_(writing.graph),
        names_(writing.names),
        node_names_(writing, region) {}

  Rope write() {
    for (const NodeId id : writing_.made[region_]) {
      const std::string_view kind = graph_.kind(id);
      if (kind == ops::Input::kind || kind == ops::Output::kind || kind == regions::input_kind ||
          is_carried_initializer(kind)) {
        continue;
      }
      if (kind == ops::Constant::kind && is_initializer(graph_, id)) continue;
      in_node(label(graph_, id), [&] { add_node(id); });
    }
    const Region& region = writing_.regions[region_];
    const Attributes& remarks = is_body() ? graph_.attributes(region.owner) : graph_.attributes();
    message_.add_text(
        graph::name,
        remarks.get_or(remark(key::graph_name), std::string(is_body() ? region.body : "quadrant")));
    for (const NodeId id : writing_.indexed[region_]) add_initializer(id);
    if (is_body()) {
      add_region_inputs();
      add_yields();
    } else {
      add_inputs();
      add_outputs();
    }
    add_value_infos();
    add_carried(message_, remarks, remark(key::other_value_info));
    add_carried(message_, remarks, remark(key::graph_extra));
    return std::move(message_);
  }

 private:
  [[nodiscard]] bool is_body() const { return region_ != Regions::model; }
  [[nodiscard]] std::optional<Opaque> kept_info(NodeId holder, std::string_view attribute,
                                                std::string_view name,
                                                const TensorType& type) const {
    return onnx::kept_info(graph_, holder, attribute, name, type, writing_.has_fixed_input);
  }
  /// Under which key what the file says of this graph is kept.
  [[nodiscard]] std::string remark(std::string_view key) const {
    return is_body() ? body_key(key, writing_.regions[region_].body) : std::string(key);
  }

  // --- nodes ---

  void add_node(NodeId id) {
    check_data_directory(id);
    const NodeRef node = graph_.ref(id);
    Rope message;
    OpName op;
    if (node.kind() == ops::Constant::kind) {
      op = {node.attribute_or<std::string>(key::domain, {}), "Constant"};
    } else {
      op = op_name_of(node);
      if (op.op_type.empty()) {
        impossible(fmt::format("ONNX has no operation '{}'", node.kind()));
      }
    }
    add_operands(message, node);
    add_results(message, id);
    if (!node.name().empty()) message.add_text(node::name, node_names_.next(node.name()));
    message.add_text(node::op_type, op.op_type);
    const Attributes& attributes = graph_.attributes(id);
    if (node.kind() == ops::Constant::kind) add_constant_attribute(message, node);
    for (const auto& [name, value] : attributes) {
      if (!name.starts_with(prefix) && !add_body(message, id, name)) {
        add_attribute(message, name, value, attributes);
      }
    }
    if (!op.domain.empty()) message.add_text(node::domain, op.domain);
    add_carried(message, attributes, key::extra);
    message_.add_message(graph::node, message);
  }

  /// False where the attribute is no body of the node.
  bool add_body(Rope& message, NodeId id, std::string_view name) const {
    for (const std::uint32_t body : writing_.regions.bodies(id)) {
      if (writing_.regions[body].body != name) continue;
      Rope attribute;
      attribute.add_text(attribute::name, name);
      attribute.add_message(attribute::g, GraphWriter(writing_, body).write());
      attribute.add_integer(attribute::type, attribute::type_graph);
      message.add_message(node::attribute, attribute);
      return true;
    }
    return false;
  }

  void add_operands(Rope& message, NodeRef node) const {
    const auto operands = node.operands().first(writing_.regions.own_operands(graph_, node.id));
    const auto names = node.attribute_or(key::capture_names, std::vector<std::string>{});
    if (names.size() > operands.size()) {
      impossible("operands that its subgraphs refer to have been removed");
    }
    const std::size_t inputs = operands.size() - names.size();
    for (std::size_t i = 0; i < inputs; ++i) {
      message.add_text(node::input, operands[i].is_absent() ? "" : names_(operands[i]));
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
      const Value value = operands[inputs + i];
      if (value.is_absent() || names_(value) != names[i]) {
        impossible(fmt::format("its subgraphs refer to the value '{}', which is now called '{}'",
                               names[i], value.is_absent() ? "" : names_(value)));
      }
    }
  }

  void add_results(Rope& message, NodeId id) const {
    const std::uint32_t count = graph_.result_count(id);
    const auto absent =
        graph_.ref(id).attribute_or(key::absent_results, std::vector<std::int64_t>{});
    std::vector<bool> left_out(count, false);
    for (const std::int64_t result : absent) {
      if (std::in_range<std::uint32_t>(result) && result < count) {
        left_out[static_cast<std::size_t>(result)] = true;
      }
    }
    if (!absent.empty()) {
      for (const Use& use : graph_.uses(id)) left_out[use.result] = false;
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      message.add_text(node::output, left_out[i] ? "" : names_({id, i}));
    }
  }

  void check_data_directory(NodeId id) const {
    const auto folder = graph_.ref(id).attribute_or(key::data_directory, writing_.directory);
    if (folder != writing_.directory) {
      impossible(
          fmt::format("it names data files in '{}': write the model to that folder", folder));
    }
  }

  // --- constants ---

  /// A Constant node keeps the form that it had, if the contents still fit it.
  void add_constant_attribute(Rope& message, NodeRef node) const {
    const Constant& constant = *graph_.constant(node.id);
    const auto form = node.attribute_or<std::string>(key::constant_form, "value");
    add_attribute(message, short_form(form, constant) ? form : "value",
                  short_form(form, constant).value_or(constant), graph_.attributes(node.id));
  }

  static std::optional<Attribute> short_form(std::string_view form, const Constant& constant) {
    const bool list = form.ends_with('s');
    if (constant.shape().rank() != (list ? 1 : 0)) return std::nullopt;
    if (form == "value_int" || form == "value_ints") {
      if (constant.element() != ElementType::int64) return std::nullopt;
      auto values = value_of(read_integers(constant, constant.element_count()));
      return list ? Attribute(std::move(values)) : Attribute(values.front());
    }
    if (form == "value_float" || form == "value_floats") {
      if (constant.element() != ElementType::float32) return std::nullopt;
      const ConstantBytes bytes = value_of(constant.read());
      const auto floats = bytes.as<float>();
      if (!list) return static_cast<double>(floats.front());
      return std::vector<double>(floats.begin(), floats.end());
    }
    return std::nullopt;
  }

  void add_initializer(NodeId id) {
    const std::string_view kind = graph_.kind(id);
    const Attributes& attributes = graph_.attributes(id);
    if (is_carried_initializer(kind)) {
      in_node(label(graph_, id), [&] { check_data_directory(id); });
      const Attribute* found = attributes.find(key::tensor);
      const auto* opaque = found ? std::get_if<Opaque>(found) : nullptr;
      if (!opaque) impossible("a carried initializer without its bytes");
      const bool sparse = kind == sparse_initializer_kind;
      message_.add_contents(sparse ? graph::sparse_initializer : graph::initializer, opaque->bytes);
      return;
    }
    if (kind != ops::Constant::kind || !is_initializer(graph_, id)) return;
    const std::string_view name = names_({id});
    in_tensor(name, [&] {
      Rope tensor;
      const Constant& constant = *graph_.constant(id);
      if (!constant) impossible("a constant without contents");
      add_tensor_type(tensor, constant.element(), constant.shape(),
                      attributes.get_or<std::int64_t>(std::string(key::data_type), 0));
      tensor.add_text(tensor::name, name);
      const auto place = writing_.data.places.find(id.index);
      if (place == writing_.data.places.end()) {
        tensor.add_contents(tensor::raw_data, constant, stored_element(graph_, id));
      } else {
        add_external(tensor, place->second);
      }
      add_carried(tensor, attributes, key::extra);
      message_.add_message(graph::initializer, tensor);
    });
  }

  void add_external(Rope& tensor, Range place) const {
    const auto add_entry = [&](std::string_view name, std::string_view value) {
      Rope pair;
      pair.add_text(entry::key, name);
      pair.add_text(entry::value, value);
      tensor.add_message(tensor::external_data, pair);
    };
    add_entry("location", writing_.data.name);
    add_entry("offset", fmt::format("{}", place.offset));
    add_entry("length", fmt::format("{}", place.size));
    tensor.add_integer(tensor::data_location, 1);
  }

  // --- values ---

  void add_info(std::uint32_t field, const std::optional<Opaque>& kept, std::string_view name,
                const TensorType& type) {
    if (kept) {
      message_.add_contents(field, kept->bytes);
    } else {
      message_.add_text(field, make_value_info(name, type));
    }
  }

  /// Inputs, and the initializers that were listed among them, in the order in which they were.
  void add_inputs() {
    std::vector<std::pair<std::int64_t, NodeId>> listed;
    for (std::uint32_t index = 0; index < graph_.index_bound(); ++index) {
      const NodeId id = graph_.node_at(index);
      if (!id.is_valid() || graph_.kind(id) != ops::Constant::kind) continue;
      if (!is_listed_input(graph_, id)) continue;
      listed.emplace_back(graph_.ref(id).attribute_or<std::int64_t>(key::input_position, 0), id);
    }
    std::ranges::sort(listed, {}, &std::pair<std::int64_t, NodeId>::first);
    auto next = listed.begin();
    std::int64_t position = 0;
    const auto add_listed_until = [&](std::int64_t end) {
      for (; next != listed.end() && next->first <= end; ++next, ++position, ++end) {
        const auto& info = std::get<Opaque>(*graph_.attribute(next->second, key::input_info));
        message_.add_contents(graph::input, info.bytes);
      }
    };
    for (const NodeId id : graph_.inputs()) {
      add_listed_until(position);
      const std::string_view name = graph_.value_name({id});
      const TensorType& type = graph_.type({id});
      add_info(graph::input, kept_info(id, key::value_info, name, type), name, type);
      ++position;
    }
    add_listed_until(INT64_MAX / 2);

    const auto count = graph_.attributes().get_or<std::int64_t>(key::listed_initializers, 0) -
                       static_cast<std::int64_t>(listed.size());
    if (count > 0 && writing_.sink) {
      writing_.sink->report(
          {Severity::note,
           fmt::format("{} quantized initializer(s) are no longer listed among the graph's "
                       "inputs: callers cannot override them",
                       count),
           {}});
    }
  }

  void add_outputs() {
    for (const NodeId id : graph_.outputs()) {
      const Value value = graph_.ref(id).operand(0);
      const std::string_view name = graph_.value_name(value);
      const TensorType& type = graph_.type(value);
      add_info(graph::output, kept_info(id, key::value_info, name, type), name, type);
    }
  }

  void add_region_inputs() {
    for (const NodeId id : writing_.regions[region_].inputs) {
      const std::string_view name = names_({id});
      const TensorType& type = graph_.type({id});
      add_info(graph::input, kept_info(id, key::value_info, name, type), name, type);
    }
  }

  void add_yields() {
    const Region& region = writing_.regions[region_];
    for (std::size_t i = 0; i < region.yields; ++i) {
      const std::size_t operand = region.first_yield + i;
      const Value value = graph_.operands(region.owner)[operand];
      const std::string_view name = names_(value);
      const TensorType& type = graph_.type(value);
      add_info(graph::output, kept_info(region.owner, yield_info_key(operand), name, type), name,
               type);
    }
  }

  void add_value_infos() {
    for (const NodeId id : writing_.made[region_]) {
      if (graph_.kind(id) == ops::Input::kind || graph_.kind(id) == regions::input_kind) continue;
      for (std::uint32_t i = 0; i < graph_.result_count(id); ++i) {
        const auto kept = kept_info(id, value_info_key(i), names_({id, i}), graph_.type({id, i}));
        if (kept) message_.add_contents(graph::value_info, kept->bytes);
      }
    }
  }

  const Writing& writing_;
  std::uint32_t region_;
  const Graph& graph_;
  const WrittenNames& names_;
  NodeNames node_names_;
  Rope message_;
};

}  // namespace

void make_initializer(Graph& graph, NodeId node) {
  if (graph.attribute(node, key::constant_form) == nullptr) return;
  graph.erase_attribute(node, key::constant_form);
  graph.erase_attribute(node, key::extra);
}

ElementType stored_element(const Graph& graph, NodeId node) {
  const auto number =
      graph.attributes(node).get_or<std::int64_t>(std::string(key::data_type), std::int64_t{0});
  return number != 0 ? element_of(number) : graph.constant(node)->element();
}

bool is_initializer(const Graph& graph, NodeId node) {
  return graph.attribute(node, key::constant_form) == nullptr;
}

bool is_listed_input(const Graph& graph, NodeId node) {
  return graph.attribute(node, key::input_position) != nullptr && is_initializer(graph, node) &&
         kept_info(graph, node, key::input_info, graph.value_name({node}), graph.type({node}),
                   false);
}

Rope graph_message(const Graph& graph, const std::string& directory, const DataFile& data,
                   Sink* sink) {
  const Regions regions = value_of(Regions::find(graph));
  const WrittenNames names(graph, regions);
  Writing writing{graph, directory, data, sink, regions, names, has_fixed_input(graph), {}, {}};
  writing.made.resize(regions.all().size());
  writing.indexed.resize(regions.all().size());
  // A graph that was not changed keeps the order of its file.
  for (const NodeId id : value_of(order_of_making(graph))) {
    if (regions.of(id) != Regions::nowhere) writing.made[regions.of(id)].push_back(id);
  }
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId id = graph.node_at(index);
    if (id.is_valid() && regions.of(id) != Regions::nowhere) {
      writing.indexed[regions.of(id)].push_back(id);
    }
  }
  return GraphWriter(writing, Regions::model).write();
}

}  // namespace quadrant::inline v0::onnx
