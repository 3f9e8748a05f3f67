#include "io/onnx/read_graph.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "io/onnx/attribute.hpp"
#include "io/onnx/failure.hpp"
#include "io/onnx/fields.hpp"
#include "io/onnx/graph_scope.hpp"
#include "io/onnx/names.hpp"
#include "io/onnx/node_fields.hpp"
#include "io/onnx/stated_types.hpp"
#include "io/onnx/tensor.hpp"
#include "io/onnx/value_info.hpp"
#include "ir/regions.hpp"
#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0::onnx {
namespace {

/// What calls of local functions may become, all together: beyond, a small file would take all
/// memory, or for ever.
constexpr std::size_t most_inlined = std::size_t{1} << 20U;         // operations
constexpr std::size_t most_inlined_bytes = std::size_t{1} << 28U;   // of the file, as often as read
constexpr std::size_t most_inlined_values = std::size_t{1} << 24U;  // names of inputs and outputs

class GraphReader {
 public:
  GraphReader(Source& source, const LocalFunctions& functions, Graph& graph, Sink* sink)
      : source_(source), functions_(functions), graph_(graph), types_(sink), sink_(sink) {}

  bool read(const std::vector<Range>& parts) {
    read_scope(scopes_.emplace_back(), parts);
    const auto is_body = [](const Scope& scope) { return !scope.path.empty(); };
    if (std::ranges::any_of(scopes_, is_body)) place_in_model();
    connect();
    add_outputs();
    reserve_inner_names();
    if (auto order = topological_order(graph_); !order) throw Failure{std::move(order).error()};
    for (const Scope& scope : scopes_) {
      if (scope.function != nullptr) continue;
      if (scope.outer != nullptr) keep_remarks(scope);
      add_value_infos(scope);
    }
    types_.settle(graph_);
    report_calls();
    return inner_names_.empty();
  }

 private:
  void read_scope(Scope& scope, const std::vector<Range>& parts) {
    for (const Range& part : parts) add_to(scope.outline, source_, part);
    if (scope.outer == nullptr) keep_remarks(scope);
    define_names(scope, source_);
    tell_ambiguous(scope);
    add_inputs_and_initializers(scope);
    for (const Range& range : scope.outline.sparse_initializers) {
      add_sparse_initializer(scope, range);
    }
    for (const Range& range : scope.outline.nodes) add_node(scope, range);
  }

  /// What a graph says of itself: kept by the model, or by the operation whose body it is.
  void keep(const Scope& scope, std::string_view name, Attribute value) {
    if (scope.outer == nullptr) {
      graph_.attributes().set(scope.key(name), std::move(value));
    } else {
      graph_.set_attribute(scope.owner, scope.key(name), std::move(value));
    }
  }

  void keep_remarks(const Scope& scope) {
    const Outline& outline = scope.outline;
    if (outline.name) keep(scope, key::graph_name, std::string(*outline.name));
    if (!outline.extra.empty()) {
      keep(scope, key::graph_extra, carried(source_.file(), outline.extra, fields_format));
    }
  }

  // --- names ---

  /// A name that the file does not have, for a result that it leaves out.
  std::string made_up_name(const Scope& scope, std::string_view label) {
    std::string name;
    do {
      name = fmt::format("{}.absent{}", label, absent_results_++);
    } while (scope.defines(name));
    return full_name(scope, name);
  }

  /// What a name of the scope is called in the graph.
  std::string full_name(const Scope& scope, std::string_view name) const {
    if (const auto given = scope.names.find(name); given != scope.names.end()) {
      return given->second;
    }
    std::string full = scope.prefix + std::string(name);
    if (scope.outer == nullptr) return full;
    while (scopes_.front().defines(full)) full += '_';
    return full;
  }

  /// What the file calls `name` is `value`.
  static void made(Scope& scope, std::string_view name, Value value) {
    scope.values.insert_or_assign(name, value);
  }

  /// A node that is not of the model itself says where it is placed.
  void place(const Scope& scope, NodeId node) {
    if (!scope.path.empty()) {
      graph_.set_attribute(node, std::string(regions::place), scope.path);
    }
  }

  /// What is in no body stays there, whoever reads it.
  void place_in_model() {
    for (std::uint32_t index = 0; index < graph_.index_bound(); ++index) {
      const NodeId node = graph_.node_at(index);
      if (node.is_valid() && graph_.kind(node) != ops::Input::kind &&
          graph_.attribute(node, regions::place) == nullptr) {
        graph_.set_attribute(node, std::string(regions::place), std::string());
      }
    }
  }

  // --- inputs and initializers ---

  void add_inputs_and_initializers(Scope& scope) {
    std::unordered_map<std::string_view, std::size_t> listed;  // initializers among the inputs
    for (std::size_t position = 0; position < scope.outline.inputs.size(); ++position) {
      const Range range = scope.outline.inputs[position];
      const ValueInfo info = read_value_info(source_.bytes(), range);
      if (scope.initializers.contains(info.name)) {
        listed.emplace(info.name, position);
        continue;
      }
      add_input(scope, position, info, range);
    }
    for (const Range& range : scope.outline.initializers) {
      std::string_view name;
      const NodeId node = add_initializer(scope, range, name);
      const auto found = listed.find(name);
      if (found == listed.end()) continue;
      graph_.set_attribute(node, std::string(key::input_position),
                           static_cast<std::int64_t>(found->second));
      graph_.set_attribute(node, std::string(key::input_info),
                           value_info(scope.outline.inputs[found->second]));
    }
    if (!listed.empty()) {
      graph_.attributes().set(std::string(key::listed_initializers),
                              static_cast<std::int64_t>(listed.size()));
    }
  }

  void tell_ambiguous(const Scope& scope) {
    for (const std::string_view name : scope.ambiguous) {
      if (!sink_) return;
      sink_->report({Severity::warning,
                     fmt::format("an initializer of '{}' is called as a value outside, which ONNX "
                                 "forbids: the body's own is read here, and runtimes may read the "
                                 "other one; rename one of them",
                                 scope.path),
                     {.file = source_.file()->path(), .tensor = std::string(name)}});
    }
  }

  void add_input(Scope& scope, std::size_t position, const ValueInfo& info, Range range) {
    Value value;
    if (scope.outer == nullptr) {
      value = graph_.add_input(std::string(info.name), info.type);
    } else {
      // What a body states of its inputs is a remark, as of unknown operations.
      NodeSpec spec;
      spec.kind = regions::input_kind;
      spec.results = {{full_name(scope, info.name), {}}};
      spec.attributes.set(std::string(regions::position), static_cast<std::int64_t>(position));
      value = {graph_.add(std::move(spec))};
      types_.state(value, info.type, value.node, std::string(key::value_info));
    }
    graph_.set_attribute(value.node, std::string(key::value_info), value_info(range));
    place(scope, value.node);
    made(scope, info.name, value);
  }

  NodeId add_initializer(Scope& scope, Range range, std::string_view& name) {
    Tensor tensor = read_tensor(source_, range);
    name = tensor.name;
    if (!tensor.constant) {
      const NodeId carried_node = add_carried_initializer(
          scope, opaque_initializer_kind, name, std::move(tensor.type), range, tensor.external);
      if (tensor.codes && tensor.extra.empty()) {
        graph_.set_attribute(carried_node, std::string(key::codes), std::move(tensor.codes));
      }
      return carried_node;
    }
    const Value value = graph_.add_constant(full_name(scope, name), std::move(tensor.constant));
    const NodeId node = value.node;
    place(scope, node);
    made(scope, name, value);
    if (!tensor.extra.empty()) {
      graph_.set_attribute(node, std::string(key::extra),
                           carried(source_.file(), std::move(tensor.extra), fields_format));
    }
    return node;
  }

  NodeId add_carried_initializer(Scope& scope, std::string_view kind, std::string_view name,
                                 TensorType type, Range range, bool external) {
    const std::string full = full_name(scope, name);
    const NodeId node =
        graph_.add({.kind = std::string(kind), .name = full, .results = {{full, std::move(type)}}});
    place(scope, node);
    made(scope, name, {node});
    graph_.set_attribute(node, std::string(key::tensor),
                         carried(source_.file(), {range}, tensor_format));
    if (external) {
      graph_.set_attribute(node, std::string(key::data_directory), source_.directory());
    }
    return node;
  }

  void add_sparse_initializer(Scope& scope, Range range) {
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
    const std::string_view name = sparse_name(source_, range);
    if (std::ranges::any_of(dims, [](std::int64_t extent) { return extent < 0; })) {
      invalid("a negative dimension", {.tensor = std::string(name), .offset = range.offset});
    }
    type.shape = Shape(dims);
    add_carried_initializer(scope, sparse_initializer_kind, name, std::move(type), range, external);
  }

  // --- nodes ---

  void add_node(Scope& scope, Range range) {
    NodeFields fields = read_fields(source_, range);
    if (call_depth_ > 0) count_inlined(1, range.size, fields.inputs.size() + fields.outputs.size());
    if (const LocalFunction* const function = functions_.find(fields.op)) {
      in_node(fields.label(), [&] { add_call(scope, fields, *function); });
      return;
    }
    in_node(fields.label(), [&] {
      NodeSpec spec;
      if (!fields.name.empty()) spec.name = scope.prefix + std::string(fields.name);
      SubgraphNames inner;
      const std::vector<Scope*> inside = read_attributes(scope, fields, spec.attributes, inner);
      add_inner_names(inner, spec.attributes);
      add_results(scope, fields, spec);
      if (!fields.extra.empty()) {
        spec.attributes.set(std::string(key::extra),
                            carried(source_.file(), std::move(fields.extra), fields_format));
      }
      if (!make_constant(fields, spec)) spec.kind = kind_of(fields.op);
      std::vector<Reference> operands;
      operands.reserve(fields.inputs.size() + inner.captured.size());
      for (const std::string_view name : fields.inputs) operands.push_back({name, &scope});
      for (const std::string_view name : inner.captured) operands.push_back({name, &scope});
      add_yields(inside, spec.attributes, operands);
      spec.operands.resize(operands.size());
      const NodeId node = graph_.add(std::move(spec));
      for (Scope* const body : inside) body->owner = node;
      for (std::uint32_t i = 0; i < fields.outputs.size(); ++i) {
        if (!fields.outputs[i].empty()) made(scope, fields.outputs[i], {node, i});
      }
      place(scope, node);
      keep_op_name(node, fields.op);
      if (!operands.empty()) pending_.emplace_back(node, std::move(operands));
    });
  }

  /// All but the bodies, which become scopes: those.
  std::vector<Scope*> read_attributes(const Scope& scope, const NodeFields& fields,
                                      Attributes& attributes, SubgraphNames& inner) {
    check_attribute_count(fields.attributes.size());
    const std::vector<Body> bodies = bodies_of(source_, fields);
    std::vector<Scope*> inside;
    for (const Range& attribute : fields.attributes) {
      const auto body = std::ranges::find_if(bodies, [&](const Body& each) {
        return attribute.offset <= each.graph.offset &&
               each.graph.offset < attribute.offset + attribute.size;
      });
      if (body == bodies.end()) {
        if (!bind(scope, attribute, attributes)) {
          read_attribute(source_, attribute, attributes, inner);
        }
        continue;
      }
      inside.push_back(&read_body(scope, fields.label(), *body));
      attributes.set(std::string(body->attribute), inside.back()->path);
    }
    return inside;
  }

  void add_results(const Scope& scope, const NodeFields& fields, NodeSpec& spec) {
    std::vector<std::int64_t> absent;
    for (std::size_t i = 0; i < fields.outputs.size(); ++i) {
      if (fields.outputs[i].empty()) absent.push_back(static_cast<std::int64_t>(i));
      spec.results.push_back({fields.outputs[i].empty() ? made_up_name(scope, fields.label())
                                                        : full_name(scope, fields.outputs[i]),
                              {}});
    }
    if (!absent.empty()) spec.attributes.set(std::string(key::absent_results), absent);
  }

  // --- calls of local functions ---

  /// What the function is made of stands where the call does, and its results are called as the
  /// call's.
  void add_call(Scope& scope, const NodeFields& fields, const LocalFunction& function) {
    if (fields.inputs.size() > function.inputs.size() ||
        fields.outputs.size() > function.outputs.size()) {
      invalid(fmt::format("the local function '{}' has {} inputs and {} outputs", fields.op.op_type,
                          function.inputs.size(), function.outputs.size()));
    }
    check_calls(scope, function);
    Scope& called = scopes_.emplace_back();
    called.outer = &scope;
    called.function = &function;
    called.path = scope.path;
    called.prefix = path_of(scope, fields.label(), fields.op.op_type) + "/";
    called.outline.nodes = function.nodes;
    define_names(called, source_);
    for (std::size_t i = 0; i < function.inputs.size(); ++i) {
      if (called.defines(function.inputs[i])) {
        invalid(fmt::format("the name '{}' is defined twice", function.inputs[i]));
      }
      const bool is_given = i < fields.inputs.size() && !fields.inputs[i].empty();
      const Reference given = is_given ? Reference{fields.inputs[i], &scope} : Reference{};
      if (!called.aliases.emplace(function.inputs[i], given).second) {
        invalid(fmt::format("the name '{}' is defined twice", function.inputs[i]));
      }
    }
    bind_all(scope, fields, function, called);
    for (std::size_t i = 0; i < fields.outputs.size(); ++i) {
      if (!fields.outputs[i].empty()) give(scope, fields.outputs[i], function.outputs[i], called);
    }
    ++call_depth_;
    for (const Range& range : called.outline.nodes) add_node(called, range);
    --call_depth_;
  }

  void count_inlined(std::size_t operations, std::size_t bytes, std::size_t values) {
    inlined_.operations += operations;
    inlined_.bytes += bytes;
    inlined_.values += values;
    if (inlined_.operations > most_inlined) {
      invalid(fmt::format("calls of local functions become more than {} operations", most_inlined));
    }
    if (inlined_.bytes > std::max(most_inlined_bytes, 16 * source_.bytes().size()) ||
        inlined_.values > most_inlined_values) {
      invalid("calls of local functions become far more than the file holds");
    }
  }

  void check_calls(const Scope& scope, const LocalFunction& function) {
    ++calls_;
    std::size_t bytes = 0;
    for (const Range& range : function.defaults) bytes += range.size;
    count_inlined(0, bytes, function.inputs.size() + function.outputs.size());
    int depth = 0;
    for (const Scope* around = &scope; around != nullptr; around = around->outer) {
      if (around->function == &function) invalid("a local function calls itself");
      ++depth;
    }
    if (depth > regions::deepest) {
      invalid(fmt::format("local functions are nested deeper than {}", regions::deepest));
    }
  }

  /// What the caller calls `name` is what the function calls `formal`.
  void give(Scope& scope, std::string_view name, std::string_view formal, Scope& called) {
    const bool is_made = called.defines(formal);
    if (is_made && called.names.emplace(formal, full_name(scope, name)).second) {
      scope.aliases[name] = {formal, &called};
      return;
    }
    // One of its inputs, or given a second time: a value has one name.
    NodeSpec spec{.kind = std::string(ops::Identity::kind)};
    spec.operands.resize(1);
    spec.results.push_back({full_name(scope, name), {}});
    const NodeId node = graph_.add(std::move(spec));
    made(scope, name, {node});
    place(scope, node);
    pending_.push_back({node, {Reference{formal, &called}}});
  }

  /// The attributes that the call gives to the function, and those that it leaves to defaults.
  void bind_all(const Scope& scope, const NodeFields& fields, const LocalFunction& function,
                Scope& called) {
    check_attribute_count(fields.attributes.size());
    check_attribute_count(function.defaults.size());
    for (const std::vector<Range>* const all : {&fields.attributes, &function.defaults}) {
      for (const Range& range : *all) {
        Attributes read;
        SubgraphNames inner;
        if (!bind(scope, range, read)) read_attribute(source_, range, read, inner);
        if (!inner.captured.empty() || !inner.defined.empty()) {
          throw Failure{{ErrorCode::impossible, "it gives a graph to a local function"}};
        }
        for (const auto& [name, value] : read) {
          if (called.bound.find(name) == nullptr) called.bound.set(name, value);
        }
      }
    }
  }

  /// An attribute that a function is given, where it is handed on: under its name there; nothing
  /// where it is not given. False: it is none of these.
  bool bind(const Scope& scope, Range range, Attributes& attributes) {
    const Scope* function = &scope;
    while (function != nullptr && function->function == nullptr) function = function->outer;
    if (function == nullptr) return false;
    std::string_view name;
    std::string_view given;
    for (Message message = source_.message(range); message.next();) {
      if (message.field() == attribute::name) name = message.text();
      if (message.field() == attribute::ref_attr_name) given = message.text();
    }
    if (given.empty()) return false;
    check_attribute_name(name, range, attributes);
    if (const Attribute* const value = function->bound.find(given)) {
      attributes.set(std::string(name), *value);
    }
    return true;
  }

  void report_calls() {
    if (calls_ == 0 || !sink_) return;
    sink_->report({Severity::note,
                   fmt::format("{} call{} of local functions {} the operations in them", calls_,
                               calls_ == 1 ? "" : "s", calls_ == 1 ? "becomes" : "become"),
                   {.file = source_.file()->path()}});
  }

  // --- bodies ---

  /// Names are prefixed by the path of their body; where that is long, by a number instead.
  std::string path_of(const Scope& scope, std::string_view owner, std::string_view body) {
    constexpr std::size_t longest = 512;
    std::string path = fmt::format("{}{}/{}", scope.prefix, owner, body);
    if (path.size() > longest) path = fmt::format("body{}/{}", scopes_.size(), body);
    std::string unique = path;
    for (std::size_t& next = next_path_[path]; !paths_.insert(unique).second;) {
      unique = fmt::format("{}.{}", path, ++next);
    }
    return unique;
  }

  Scope& read_body(const Scope& outer, std::string_view owner, const Body& body) {
    Scope& scope = scopes_.emplace_back();
    scope.outer = &outer;
    int depth = 0;
    for (const Scope* around = &outer; around != nullptr; around = around->outer) ++depth;
    if (depth > regions::deepest) {
      invalid(fmt::format("subgraphs are nested deeper than {}", regions::deepest),
              {.offset = body.graph.offset});
    }
    scope.path = path_of(outer, owner, body.attribute);
    scope.prefix = scope.path + "/";
    scope.body = body.attribute;
    read_scope(scope, {body.graph});
    return scope;
  }

  /// What the bodies yield, which their operation reads: in the order of the bodies.
  void add_yields(std::vector<Scope*> bodies, Attributes& attributes,
                  std::vector<Reference>& operands) {
    if (bodies.empty()) return;
    // `bodies` are in the order of the file; then_branch comes first.
    std::ranges::sort(bodies, std::ranges::greater{}, &Scope::body);
    std::vector<std::int64_t> counts;
    for (Scope* const body : bodies) {
      body->first_yield = operands.size();
      counts.push_back(static_cast<std::int64_t>(body->outline.outputs.size()));
      for (const Range& range : body->outline.outputs) {
        const ValueInfo info = read_value_info(source_.bytes(), range);
        if (info.name.empty()) invalid("a graph output without a name", {.offset = range.offset});
        operands.push_back({info.name, body});
      }
    }
    attributes.set(std::string(regions::yields), std::move(counts));
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

  /// Absent for what a call leaves out; empty for what is not defined.
  [[nodiscard]] static std::optional<Value> find(Reference reference) {
    for (const Scope* scope = reference.scope; scope != nullptr;) {
      const auto alias = scope->aliases.find(reference.name);
      if (alias != scope->aliases.end()) {
        reference = alias->second;
        if (reference.scope == nullptr) return Value{};
        scope = reference.scope;
        continue;
      }
      const auto found = scope->values.find(reference.name);
      if (found != scope->values.end()) return found->second;
      scope = scope->function != nullptr ? nullptr : scope->outer;
    }
    return std::nullopt;
  }

  /// Operands, now that every name has a value: files list nodes in order, but need not.
  void connect() {
    for (const auto& [node, inputs] : pending_) {
      for (std::uint32_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i].name.empty()) continue;
        const std::optional<Value> value = find(inputs[i]);
        if (!value) {
          const std::string_view name = graph_.name(node);
          const bool labelled = name.empty() && graph_.result_count(node) > 0;
          invalid(fmt::format("its input '{}' is not defined anywhere", inputs[i].name),
                  {.node = std::string(labelled ? graph_.value_name({node}) : name)});
        }
        if (!value->is_absent()) graph_.set_operand(node, i, *value);
      }
    }
    pending_.clear();
  }

  // --- what values are called and what types they have ---

  void add_outputs() {
    for (const Range& range : scopes_.front().outline.outputs) {
      const ValueInfo info = read_value_info(source_.bytes(), range);
      const Value value =
          info.name.empty() ? Value{} : find({info.name, &scopes_.front()}).value_or(Value{});
      if (value.is_absent()) {
        invalid(fmt::format("the graph output '{}' is not defined anywhere", info.name),
                {.offset = range.offset});
      }
      const NodeId output = graph_.add_output(std::string(info.name), value);
      graph_.set_attribute(output, std::string(key::value_info), value_info(range));
      types_.state(value, info.type, output, std::string(key::value_info));
    }
    for (const Scope& scope : scopes_) {
      if (scope.outer != nullptr && scope.function == nullptr) state_yields(scope);
    }
  }

  void state_yields(const Scope& scope) {
    std::size_t operand = scope.first_yield;
    for (const Range& range : scope.outline.outputs) {
      const std::string name = yield_info_key(operand);
      graph_.set_attribute(scope.owner, name, value_info(range));
      types_.state(graph_.operands(scope.owner)[operand++],
                   read_value_info(source_.bytes(), range).type, scope.owner, name);
    }
  }

  void add_value_infos(const Scope& scope) {
    std::vector<Range> others;
    for (const auto& [range, whole] : scope.outline.value_infos) {
      const ValueInfo info = read_value_info(source_.bytes(), range);
      const Value value =
          scope.defines(info.name) ? find({info.name, &scope}).value_or(Value{}) : Value{};
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
    keep(scope, key::other_value_info, carried(source_.file(), std::move(others), fields_format));
  }

  void reserve_inner_names() {
    // A name that the graph has itself, too, is taken already; reserved, it could not be handed
    // from one value to the next that takes its place.
    for (const std::string_view name : inner_names_) {
      if (!scopes_.front().defines(name)) graph_.reserve_name(std::string(name));
    }
    if (inner_names_.empty() || !sink_) return;
    sink_->report({Severity::note,
                   "some subgraphs are carried as they are: weights inside them are not seen",
                   {.file = source_.file()->path()}});
  }

  Opaque value_info(Range range) const {
    return carried(source_.file(), {range}, value_info_format);
  }

  Source& source_;
  const LocalFunctions& functions_;
  Graph& graph_;
  StatedTypes types_;
  Sink* sink_;
  std::deque<Scope> scopes_;  // the model's first; they refer to one another
  std::unordered_set<std::string> paths_;
  std::unordered_map<std::string, std::size_t> next_path_;  // by path: how many are called so
  std::uint64_t absent_results_ = 0;
  std::size_t calls_ = 0;  // of local functions
  int call_depth_ = 0;     // of the one that is read
  struct {
    std::size_t operations = 0;
    std::size_t bytes = 0;
    std::size_t values = 0;
  } inlined_;  // what they became
  std::vector<std::string_view> inner_names_;
  std::vector<std::pair<NodeId, std::vector<Reference>>> pending_;
};

}  // namespace

bool read_graph(Source& source, const std::vector<Range>& parts, const LocalFunctions& functions,
                Graph& graph, Sink* sink) {
  return GraphReader(source, functions, graph, sink).read(parts);
}

}  // namespace quadrant::inline v0::onnx
