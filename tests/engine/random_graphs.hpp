// Graphs that describe their own quantization, and a generator of random ones.
//
// The scheme `dice` reads all that it says of a node from the node's attributes: which alternatives
// it has, what it asks for, what storing and converting is worth. A constraint is the number of a
// face. The scheme `coin` reads attributes of its own; it knows fewer operations, requantizes
// nothing and leaves its prices to the gain model. Operations differ in their patterns alone.
//
//   std::mt19937 random(1);
//   const dice::Blueprint blueprint = dice::random_graph(random, {});
//   const dice::Built built = blueprint.build(random);   // nodes added in a random order
//   analyze(built.graph, dice::registry(), {.gains = &gains, .couplings = built.couplings});
//   analyze(dice::View(built), ...);                     // with values of one type, if there are
//   any
//
// Codes carry their form in their type: `form_of` reads it.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "ir/forwarding_view.hpp"
#include "quadrant/engine/macros.hpp"
#include "quadrant/engine/quantize.hpp"
#include "quadrant/ir/graph_rewriter.hpp"
#include "quadrant/ir/ops.hpp"

namespace dice {

using namespace quadrant;

// --- what a node says of itself ------------------------------------------------------------------

using Numbers = std::vector<std::int64_t>;

inline constexpr std::int64_t most_faces = 4;
/// In place of a price: this conversion cannot be had. Prices are never above zero.
inline constexpr std::int64_t impossible = 1;
/// In place of a gain: what the gain model says.
inline constexpr std::int64_t of_model = 1'000'000;

struct Face {
  std::int64_t number = 0;
  [[nodiscard]] std::size_t hash() const { return static_cast<std::size_t>(number); }
  [[nodiscard]] std::string print() const { return "face " + std::to_string(number); }
  [[nodiscard]] static std::optional<Face> parse(std::string_view text) {
    constexpr std::string_view prefix = "face ";
    if (!text.starts_with(prefix)) return std::nullopt;
    Face face;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + prefix.size(), end, face.number);
    if (error != std::errc{} || stop != end) return std::nullopt;
    return face;
  }
  friend auto operator<=>(const Face&, const Face&) = default;
};

using Need = Asks<Face>::Need;

/// An alternative of the callback for one face.
struct Way {
  std::int64_t wanted = 0;
  std::int64_t gain = 0;  ///< `of_model`: the node computes on the codes
  std::vector<Need> needs;
};

/// What a node asks for on its own account.
struct Wish {
  std::uint32_t operand = 0;
  std::int64_t face = 0;
  bool takes_codes = true;
  std::int64_t gain = of_model;  ///< always `of_model` where it does not take codes
};

/// What a node takes all of or nothing.
struct Together {
  std::int64_t gain = 0;  ///< or `of_model`
  std::vector<Need> needs;
};

/// How a node behaves under one scheme.
struct Behaviour {
  std::vector<Way> ways;
  std::vector<Wish> wishes;
  std::vector<Together> together;
  Numbers produced;  ///< faces
  Numbers possible;  ///< faces that phase 1 names; empty: any
  Numbers stored;    ///< by face: gain of storing the results so; empty: they are not stored
  // Prices of the conversions of the node's results, or `impossible`; the coin has none.
  Numbers enter;    ///< by face
  Numbers leave;    ///< by face
  Numbers convert;  ///< by `from * most_faces + to`
};

namespace detail {

inline std::string key(std::string_view scheme, std::string_view what) {
  return std::string(scheme) + "." + std::string(what);
}

inline Numbers numbers(const GraphView& graph, NodeId node, std::string_view key) {
  return NodeRef{&graph, node}.attribute_or<Numbers>(key, {});
}

inline std::int64_t at_or(const Numbers& numbers, std::int64_t index, std::int64_t fallback) {
  const auto place = static_cast<std::size_t>(index);
  return place < numbers.size() ? numbers[place] : fallback;
}

inline Numbers encode(std::span<const Way> ways) {
  Numbers code;
  for (const Way& way : ways) {
    code.insert(code.end(), {way.wanted, way.gain, static_cast<std::int64_t>(way.needs.size())});
    for (const Need& need : way.needs) {
      code.insert(code.end(), {need.operand, need.constraint.number});
    }
  }
  return code;
}

inline std::vector<Way> decode_ways(const Numbers& code) {
  std::vector<Way> ways;
  for (std::size_t i = 0; i < code.size();) {
    Way way{code[i], code[i + 1], {}};
    const auto count = static_cast<std::size_t>(code[i + 2]);
    i += 3;
    for (std::size_t need = 0; need < count; ++need, i += 2) {
      way.needs.push_back({static_cast<std::uint32_t>(code[i]), Face{code[i + 1]}});
    }
    ways.push_back(std::move(way));
  }
  return ways;
}

// As ways, for no face.
inline std::vector<Way> as_ways(std::span<const Together> together) {
  std::vector<Way> ways;
  for (const Together& all : together) ways.push_back({0, all.gain, all.needs});
  return ways;
}

inline Numbers encode(std::span<const Wish> wishes) {
  Numbers code;
  for (const Wish& wish : wishes) {
    code.insert(code.end(), {wish.operand, wish.face, wish.takes_codes ? 1 : 0, wish.gain});
  }
  return code;
}

inline std::vector<Wish> decode_wishes(const Numbers& code) {
  std::vector<Wish> wishes;
  for (std::size_t i = 0; i < code.size(); i += 4) {
    wishes.push_back(
        {static_cast<std::uint32_t>(code[i]), code[i + 1], code[i + 2] != 0, code[i + 3]});
  }
  return wishes;
}

}  // namespace detail

/// Writes `behaviour` under `scheme` where the scheme's methods will look for it.
inline void describe(Attributes& attributes, std::string_view scheme, const Behaviour& behaviour) {
  const auto set = [&](std::string_view what, Numbers numbers) {
    if (!numbers.empty()) attributes.set(detail::key(scheme, what), std::move(numbers));
  };
  set("ways", detail::encode(behaviour.ways));
  set("wishes", detail::encode(behaviour.wishes));
  set("together", detail::encode(detail::as_ways(behaviour.together)));
  set("produced", behaviour.produced);
  set("possible", behaviour.possible);
  set("stored", behaviour.stored);
  set("enter", behaviour.enter);
  set("leave", behaviour.leave);
  set("convert", behaviour.convert);
}

// --- the gain model ------------------------------------------------------------------------------

/// An operand is worth what the node's attribute `worth` says; a conversion what the value's node
/// says in `enter`, `leave` and `convert`.
class Gains final : public GainModel {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "dice"; }
  [[nodiscard]] std::string_view unit() const noexcept override { return "pips"; }
  [[nodiscard]] Gain of_operand(const OperandReading& reading) const override {
    const NodeRef& consumer = reading.consumer;
    return Gain{
        detail::at_or(detail::numbers(*consumer.graph, consumer.id, "worth"), reading.operand, 1)};
  }
  [[nodiscard]] Gain of_storage(const Storing& storing) const override {
    const auto& change = storing.change;
    return Gain{static_cast<std::int64_t>(change.before) - static_cast<std::int64_t>(change.after)};
  }
  [[nodiscard]] Gain of_conversion(const FormChange& change) const override {
    const NodeRef node{change.graph, change.value.node};
    return Gain{node.attribute_or<std::int64_t>(to_string(change.kind()), 0)};
  }
};

// --- forms in types ------------------------------------------------------------------------------

/// Which scheme's codes a value holds, and in which form.
struct Form {
  std::string_view scheme;
  std::int64_t face = 0;
  friend bool operator==(const Form&, const Form&) = default;
};

inline constexpr std::array<std::string_view, 2> scheme_names{"dice", "coin"};

/// The range of the codes says whose they are, and which.
inline std::shared_ptr<const UniformType> quantized_type(const Form& form) {
  auto type = std::make_shared<UniformType>();
  type->storage_min = form.scheme == scheme_names[0] ? -1 : -2;
  type->storage_max = form.face;
  const float one = 1;
  type->scales = Constant::from_values(ElementType::float32, Shape(std::vector<std::int64_t>{}),
                                       std::span<const float>(&one, 1));
  return type;
}

/// Empty for floats, and for codes of neither scheme.
inline std::optional<Form> form_of(const TensorType& type) {
  if (!type.is_quantized()) return std::nullopt;
  const std::int64_t mark = type.uniform()->storage_min;
  if (mark != -1 && mark != -2) return std::nullopt;
  return Form{scheme_names[mark == -1 ? 0 : 1], type.uniform()->storage_max};
}

inline TensorType float_type() { return {ElementType::float32, Shape{2, 3}, nullptr}; }
inline TensorType index_type() { return {ElementType::int64, Shape{2, 3}, nullptr}; }
inline TensorType codes_type(const Form& form) {
  return {ElementType::int8, Shape{2, 3}, quantized_type(form)};
}

// --- the schemes ---------------------------------------------------------------------------------

namespace detail {

// An operation that no pattern restricts.
inline constexpr std::array<ParentsPattern, 0> anything{};

inline Expected<Value> emit_codes(Value value, std::string_view kind, const Form& form,
                                  RewriteContext& context) {
  TensorType type = context.view().type(value).expressed();
  type.element = ElementType::int8;
  type.quantization = quantized_type(form);
  return context.emit(kind, {value}, std::string(kind), std::move(type));
}

inline std::optional<Face> recognize(const TensorType& type, std::string_view scheme) {
  const std::optional<Form> form = form_of(type);
  return form && form->scheme == scheme ? std::optional(Face{form->face}) : std::nullopt;
}

}  // namespace detail

struct DiceScheme final : Scheme {
  QUADRANT_SCHEME(DiceScheme, Face, scheme_names[0])
  [[nodiscard]] std::string describe() const override { return "fair"; }

  [[nodiscard]] static Expected<Value> enter(Value real, const Face& to, RewriteContext& context) {
    return detail::emit_codes(real, ops::Quantize::kind, {scheme_names[0], to.number}, context);
  }
  [[nodiscard]] static Expected<Value> convert(Value codes, const Face& to,
                                               RewriteContext& context) {
    return detail::emit_codes(codes, "requantize", {scheme_names[0], to.number}, context);
  }
  [[nodiscard]] static std::optional<Gain> price(const ConversionOf<Face>& conversion,
                                                 const GainModel& /*gains*/) {
    const std::string_view kind = to_string(conversion.kind());
    const Numbers prices = detail::numbers(*conversion.graph, conversion.value.node,
                                           detail::key(scheme_names[0], kind));
    const std::int64_t from = conversion.from() != nullptr ? conversion.from()->number : 0;
    const std::int64_t to = conversion.to() != nullptr ? conversion.to()->number : 0;
    const bool is_convert = conversion.kind() == ConversionKind::convert;
    const std::int64_t price =
        detail::at_or(prices, is_convert ? from * most_faces + to : from + to,
                      conversion.kind() == ConversionKind::leave ? 0 : impossible);
    return price <= 0 ? std::optional(Gain{price}) : std::nullopt;
  }
  [[nodiscard]] static std::optional<Face> recognize(const TensorType& type) {
    return detail::recognize(type, scheme_names[0]);
  }
  [[nodiscard]] static Expected<std::shared_ptr<const UniformType>> resolve(
      const ParameterQuery<Face>& query) {
    return quantized_type({scheme_names[0], query.constraint->number});
  }
};

struct CoinScheme final : Scheme {
  QUADRANT_SCHEME(CoinScheme, Face, scheme_names[1])
  [[nodiscard]] std::string describe() const override { return "fair"; }

  [[nodiscard]] static Expected<Value> enter(Value real, const Face& to, RewriteContext& context) {
    return detail::emit_codes(real, ops::Quantize::kind, {scheme_names[1], to.number}, context);
  }
  [[nodiscard]] static std::optional<Face> recognize(const TensorType& type) {
    return detail::recognize(type, scheme_names[1]);
  }
  [[nodiscard]] static Expected<std::shared_ptr<const UniformType>> resolve(
      const ParameterQuery<Face>& query) {
    return quantized_type({scheme_names[1], query.constraint->number});
  }
};

/// The operations: a kind, what they are in phase 1, and how many operands the generator gives
/// them.
struct Ops {
  struct Root {
    static constexpr std::string_view kind = "root";
    static constexpr State state = State::Quantizable;
    static constexpr auto patterns = detail::anything;
  };
  struct Pass {
    static constexpr std::string_view kind = "pass";
    static constexpr State state = State::Quantizable;
    static constexpr std::array patterns{requires_parents(AnyQuantizable | AnyQuantized)};
  };
  struct Either {
    static constexpr std::string_view kind = "either";
    static constexpr State state = State::Quantizable;
    static constexpr std::array patterns{requires_parents(AnyQuantizable, AnyState),
                                         requires_parents(AnyState, AnyQuantizable)};
  };
  struct Bias {  // the last operand may be absent
    static constexpr std::string_view kind = "bias";
    static constexpr State state = State::Quantizable;
    static constexpr std::array patterns{requires_parents(
        AnyQuantizable | AnyConsumer, AnyState, or_absent(AnyUnquantized | AnyQuantizable))};
  };
  struct List {
    static constexpr std::string_view kind = "list";
    static constexpr State state = State::Quantizable;
    static constexpr std::array patterns{requires_parents(variadic(AnyState))};
  };
  struct Free {  // may make codes of whatever it reads
    static constexpr std::string_view kind = "free";
    static constexpr State state = State::Quantizable;
    static constexpr auto patterns = detail::anything;
  };
  struct Split {  // two results
    static constexpr std::string_view kind = "halve";
    static constexpr State state = State::Quantizable;
    static constexpr auto patterns = detail::anything;
  };
  struct Top {  // two results, of which the second is an index
    static constexpr std::string_view kind = "top";
    static constexpr State state = State::Quantizable;
    static constexpr std::array patterns{requires_parents(AnyState)};
  };
  struct Gate {  // its attribute `gate` decides: see `Method::check_eligibility`
    static constexpr std::string_view kind = "gate";
    static constexpr State state = State::Quantizable;
    static constexpr auto patterns = detail::anything;
  };
  struct Use {
    static constexpr std::string_view kind = "use";
    static constexpr State state = State::Consumer;
    static constexpr auto patterns = detail::anything;
  };
  struct After {
    static constexpr std::string_view kind = "after";
    static constexpr State state = State::Consumer;
    static constexpr std::array patterns{requires_parents(AnyConsumer, AnyState)};
  };
  struct Gather {
    static constexpr std::string_view kind = "pick";
    static constexpr State state = State::Consumer;
    static constexpr std::array patterns{
        requires_parents(AnyQuantizable | AnyQuantized, or_absent(variadic(AnyState)))};
  };
};

namespace detail {

template <class S, class Op>
struct Declaration {
  using OpType = Op;
  using SchemeType = S;
  static constexpr std::string_view name = Op::kind;
  static constexpr State state = Op::state;
  static constexpr auto patterns = Op::patterns;
  static constexpr std::source_location place = std::source_location::current();
};

}  // namespace detail

/// The one method of all operations. Written without the macros, which declare a class for each.
template <class S, class Op>
struct Method final : quadrant::Method<detail::Declaration<S, Op>> {
  using Declaration = detail::Declaration<S, Op>;

  [[nodiscard]] Verdict check_eligibility(NodeRef node,
                                          const EligibilityContext& context) const override {
    if constexpr (std::same_as<Op, Ops::Gate>) {
      switch (node.attribute_or<std::int64_t>("gate", 0)) {
        case 0:
          return {State::Unquantized, "the gate is shut"};
        case 1:
          return {State::Consumer};
        default:
          return {State::Quantizable};
      }
    }
    return quadrant::Method<Declaration>::check_eligibility(node, context);
  }

  void possible(NodeRef node, Possibilities<Face>& possibilities) const override {
    for (const std::int64_t face : read(node, "possible")) possibilities.add({face});
  }

  void callback(const Face& wanted, NodeRef node, Asks<Face>& asks) const override {
    bool is_refused = true;
    for (const Way& way : detail::decode_ways(read(node, "ways"))) {
      if (way.wanted != wanted.number) continue;
      is_refused = false;
      if (way.gain == of_model) {
        asks.compute(std::span<const Need>(way.needs));
      } else {
        asks.alternative(std::span<const Need>(way.needs), Gain{way.gain});
      }
    }
    if (is_refused) asks.refuse("no such face");
  }

  void request(NodeRef node, Asks<Face>& asks) const override {
    for (const Wish& wish : detail::decode_wishes(read(node, "wishes"))) {
      if (!wish.takes_codes) {
        asks.benefit(wish.operand, {wish.face});
      } else if (wish.gain == of_model) {
        asks.take(wish.operand, {wish.face});
      } else {
        asks.take(wish.operand, {wish.face}, Gain{wish.gain});
      }
    }
    for (const Way& all : detail::decode_ways(read(node, "together"))) {
      const std::span<const Need> needs(all.needs);
      if (all.gain == of_model) {
        asks.take_all(needs);
      } else {
        asks.take_all(needs, Gain{all.gain});
      }
    }
    for (const std::int64_t face : read(node, "produced")) asks.produce({face});
  }

  [[nodiscard]] std::optional<StorageChange> storage(const Face& face,
                                                     NodeRef node) const override {
    const Numbers stored = read(node, "stored");
    if (stored.empty()) return std::nullopt;
    constexpr std::int64_t before = 1000;
    const std::int64_t after = before - detail::at_or(stored, face.number, 0);
    return StorageChange{before, static_cast<std::uint64_t>(after)};
  }

  // Only results that were selected have parameters.
  [[nodiscard]] Expected<void> rewriter(NodeRef node, RewriteContext& context) const override {
    for (std::uint32_t i = 0; i < node.graph->result_count(node.id); ++i) {
      std::shared_ptr<const UniformType> type = context.parameters(node.result(i));
      if (type == nullptr) continue;
      if (auto set = context.set_quantized(node.result(i), std::move(type)); !set) return set;
    }
    return {};
  }

 private:
  [[nodiscard]] Numbers read(NodeRef node, std::string_view what) const {
    return detail::numbers(*node.graph, node.id, detail::key(this->scheme().name(), what));
  }
};

inline QUADRANT_DEQUANTIZER(DiceScheme)(Value quantized, RewriteContext& context) const {
  return context.emit(ops::Dequantize::kind, {quantized}, "dequantize",
                      context.view().type(quantized).expressed());
}
inline QUADRANT_DEQUANTIZER(CoinScheme)(Value quantized, RewriteContext& context) const {
  return DiceScheme{}.leave(quantized, context);
}

inline QUADRANT_METHODS(DiceScheme) {
  const auto add_all = [this]<class... Op>(std::tuple<Op...>*) {
    (add<Method<DiceScheme, Op>>(), ...);
  };
  using All = std::tuple<Ops::Root, Ops::Pass, Ops::Either, Ops::Bias, Ops::List, Ops::Free,
                         Ops::Split, Ops::Top, Ops::Gate, Ops::Use, Ops::After, Ops::Gather>;
  add_all(static_cast<All*>(nullptr));
}
inline QUADRANT_METHODS(CoinScheme) {
  const auto add_all = [this]<class... Op>(std::tuple<Op...>*) {
    (add<Method<CoinScheme, Op>>(), ...);
  };
  using Some = std::tuple<Ops::Root, Ops::Pass, Ops::Bias, Ops::List, Ops::Free, Ops::Split,
                          Ops::Use, Ops::Gather>;
  add_all(static_cast<Some*>(nullptr));
}

/// The dice, or with `schemes` = 2 the dice and the coin.
inline Registry registry(int schemes = 1) {
  Registry dice = *RegistryBuilder::of(DiceScheme{}).freeze();
  if (schemes == 1) return dice;
  const std::array both{std::move(dice), *RegistryBuilder::of(CoinScheme{}).freeze()};
  return *Registry::join(both);
}

// --- graphs --------------------------------------------------------------------------------------

/// Result `result` of a blueprint's node, or an absent operand.
struct Source {
  static constexpr std::size_t absent = static_cast<std::size_t>(-1);
  std::size_t node = absent;
  std::uint32_t result = 0;
  [[nodiscard]] bool is_absent() const { return node == absent; }
  friend bool operator==(const Source&, const Source&) = default;
};

/// A node to be: `input` and `output` make the graph's own.
struct BlueprintNode {
  std::string kind;
  std::vector<Source> operands;
  std::vector<TensorType> results;
  Attributes attributes;
};

struct Built {
  Graph graph;
  Couplings couplings;
  Couplings of_one_type;
  std::vector<NodeId> nodes;  ///< of the blueprint's nodes, in its order
};

/// The graph as one that has values of one type. Refers to `built`.
class View final : public test::ForwardingView, public Capabilities {
 public:
  explicit View(const Built& built) : ForwardingView(built.graph), built_(&built) {}

  [[nodiscard]] const Capabilities* capabilities() const noexcept override { return this; }
  [[nodiscard]] Couplings of_one_type() const override { return built_->of_one_type; }

 private:
  const Built* built_;
};

/// A graph before it is built, in a topological order. Node i is called `n<i>`, and so is its first
/// result; the second is `n<i>.1`.
struct Blueprint {
  std::vector<BlueprintNode> nodes;
  std::vector<std::vector<Source>> couplings;
  std::vector<std::vector<Source>> of_one_type;

  /// Adds the nodes in one of the possible orders, which `shuffle` decides.
  [[nodiscard]] Built build(std::mt19937& shuffle) const {
    Built built;
    built.nodes.resize(nodes.size());
    std::vector<std::size_t> ready;
    for (std::size_t count = 0; count < nodes.size(); ++count) {
      ready.clear();
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (is_ready(i, built)) ready.push_back(i);
      }
      add(ready[shuffle() % ready.size()], built);
    }
    built.couplings = values(couplings, built);
    built.of_one_type = values(of_one_type, built);
    return built;
  }

 private:
  [[nodiscard]] static Couplings values(const std::vector<std::vector<Source>>& groups,
                                        const Built& built) {
    Couplings made;
    for (const std::vector<Source>& group : groups) {
      std::vector<Value>& members = made.emplace_back();
      for (const Source& source : group) members.push_back(value(source, built));
    }
    return made;
  }
  [[nodiscard]] static Value value(const Source& source, const Built& built) {
    return source.is_absent() ? Value{} : Value{built.nodes[source.node], source.result};
  }
  [[nodiscard]] bool is_ready(std::size_t index, const Built& built) const {
    return !built.nodes[index].is_valid() &&
           std::ranges::all_of(nodes[index].operands, [&](const Source& source) {
             return source.is_absent() || built.nodes[source.node].is_valid();
           });
  }

  void add(std::size_t index, Built& built) const {
    const BlueprintNode& node = nodes[index];
    const std::string name = "n" + std::to_string(index);
    NodeId& made = built.nodes[index];
    if (node.kind == ops::Input::kind) {
      made = built.graph.add_input(name, node.results[0]).node;
      for (const auto& [key, attribute] : node.attributes) {
        built.graph.set_attribute(made, key, attribute);
      }
      return;
    }
    if (node.kind == ops::Output::kind) {
      made = built.graph.add_output(name, value(node.operands[0], built));
      return;
    }
    NodeSpec spec;
    spec.kind = node.kind;
    spec.name = name;
    for (const Source& source : node.operands) spec.operands.push_back(value(source, built));
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      spec.results.push_back({i == 0 ? name : name + "." + std::to_string(i), node.results[i]});
    }
    spec.attributes = node.attributes;
    made = built.graph.add(std::move(spec));
  }
};

struct RandomOptions {
  std::size_t least_nodes = 2;
  std::size_t most_nodes = 12;
  std::int64_t faces = 3;  ///< `most_faces` at most
  int schemes = 1;
  bool couplings = true;  ///< some graphs have couplings
  bool one_type = false;  ///< all have values of one type
  bool given = true;      ///< some inputs come quantized
  bool together = false;  ///< some nodes take several operands or none of them
};

namespace detail {

class RandomGraph {
 public:
  RandomGraph(std::mt19937& random, const RandomOptions& options)
      : random_(random), options_(options) {}

  [[nodiscard]] Blueprint run() && {
    const std::size_t count =
        options_.least_nodes + below(options_.most_nodes - options_.least_nodes + 1);
    while (blueprint_.nodes.size() < count) add_node();
    if (options_.couplings && chance(30)) add_group(blueprint_.couplings);
    if (options_.couplings && chance(10)) add_group(blueprint_.couplings);
    if (options_.one_type) add_group(blueprint_.of_one_type);
    if (options_.one_type && chance(30)) add_group(blueprint_.of_one_type);
    return std::move(blueprint_);
  }

 private:
  static constexpr std::int64_t most_operands = 3;

  struct Shape {
    std::string_view kind;
    std::size_t least = 1;  // operands
    std::size_t most = 1;
  };

  // Not a distribution of the standard library: those differ from one library to the next.
  [[nodiscard]] std::size_t below(std::size_t end) { return random_() % end; }
  [[nodiscard]] bool chance(std::size_t percent) { return below(100) < percent; }
  [[nodiscard]] std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::size_t>(high - low + 1)));
  }
  [[nodiscard]] std::int64_t face() { return between(0, options_.faces - 1); }

  void add_node() {
    if (values_.empty() || chance(15)) {
      add_source();
    } else if (chance(8)) {
      add("output", {pick()}, {});
    } else {
      add_operation();
    }
  }

  void add_source() {
    const std::size_t drawn = below(100);
    if (drawn < 60) {
      add(Ops::Root::kind, {}, {float_type()});
    } else if (options_.given && drawn < 70) {
      const auto scheme = below(static_cast<std::size_t>(options_.schemes));
      add(ops::Input::kind, {}, {codes_type({scheme_names[scheme], face()})});
    } else {
      add(ops::Input::kind, {}, {float_type()});
    }
  }

  void add_operation() {
    static constexpr std::array shapes{
        Shape{"pass"},        Shape{"pass"},       Shape{"either", 2, 2}, Shape{"bias", 2, 3},
        Shape{"list", 1, 3},  Shape{"free", 1, 2}, Shape{"halve"},        Shape{"top"},
        Shape{"gate"},        Shape{"use", 1, 3},  Shape{"use", 1, 1},    Shape{"use", 1, 2},
        Shape{"after", 2, 2}, Shape{"pick", 1, 3}, Shape{"foreign", 1, 2}};
    const Shape& shape = shapes[below(shapes.size())];
    const std::size_t count = shape.least + below(shape.most - shape.least + 1);
    std::vector<Source> operands;
    while (operands.size() < count) operands.push_back(draw_operand(shape, operands));
    std::vector<TensorType> results{float_type()};
    if (shape.kind == "halve") results.push_back(float_type());
    if (shape.kind == "top") results.push_back(index_type());
    add(shape.kind, std::move(operands), std::move(results));
  }

  [[nodiscard]] Source draw_operand(const Shape& shape, std::span<const Source> before) {
    const bool may_be_absent =
        shape.kind == "use" || shape.kind == "pick" || (shape.kind == "bias" && before.size() == 2);
    if (!before.empty() && may_be_absent && chance(15)) return {};
    if (!before.empty() && chance(15)) return before.back();
    return pick();
  }

  // Half of the time one of the latest values, so that graphs become deep.
  [[nodiscard]] Source pick() {
    const std::size_t latest = std::min<std::size_t>(values_.size(), 3);
    return chance(50) ? values_[values_.size() - 1 - below(latest)]
                      : values_[below(values_.size())];
  }

  void add(std::string_view kind, std::vector<Source> operands, std::vector<TensorType> results) {
    BlueprintNode node{std::string(kind), std::move(operands), std::move(results), {}};
    for (int scheme = 0; scheme < options_.schemes; ++scheme) {
      describe(node.attributes, scheme_names[static_cast<std::size_t>(scheme)],
               draw_behaviour(node));
    }
    if (is_operation(kind)) node.attributes.set("worth", draw(most_operands, -1, 3, 0));
    if (kind == Ops::Gate::kind) node.attributes.set("gate", between(0, 3));
    node.attributes.set("enter", between(-4, 0));
    node.attributes.set("leave", between(-3, 0));
    for (std::uint32_t i = 0; i < node.results.size(); ++i) {
      values_.push_back({blueprint_.nodes.size(), i});
    }
    blueprint_.nodes.push_back(std::move(node));
  }

  [[nodiscard]] Behaviour draw_behaviour(const BlueprintNode& node) {
    Behaviour behaviour = draw_prices();
    if (!is_operation(node.kind)) return behaviour;
    for (std::int64_t wanted = 0; wanted < options_.faces; ++wanted) {
      for (std::size_t ways = below(8) / 3; ways > 0; --ways) {
        behaviour.ways.push_back(draw_way(node, wanted));
      }
    }
    for (std::uint32_t i = 0; i < node.operands.size(); ++i) {
      if (!node.operands[i].is_absent()) draw_wishes(i, behaviour.wishes);
    }
    if (options_.together) {
      for (std::size_t sets = below(3); sets > 0; --sets) draw_together(node, behaviour);
    }
    if (chance(15)) behaviour.produced.push_back(face());
    if (chance(5)) behaviour.possible = {face()};
    if (chance(40)) behaviour.stored = draw(options_.faces, -3, 6, 0);
    return behaviour;
  }

  [[nodiscard]] static bool is_operation(std::string_view kind) {
    return kind != ops::Input::kind && kind != ops::Output::kind && kind != "foreign";
  }

  [[nodiscard]] Behaviour draw_prices() {
    Behaviour behaviour;
    behaviour.enter = draw(options_.faces, -4, 0, 50);
    behaviour.leave = draw(options_.faces, -3, 0, 0);
    behaviour.convert = draw(options_.faces * most_faces, -3, 0, 50);
    return behaviour;
  }

  [[nodiscard]] Way draw_way(const BlueprintNode& node, std::int64_t wanted) {
    Way way{wanted, chance(50) ? 0 : between(-3, 3), {}};
    for (std::uint32_t i = 0; i < node.operands.size(); ++i) {
      if (node.operands[i].is_absent() || chance(30)) continue;
      way.needs.push_back({i, Face{chance(60) ? wanted : face()}});
    }
    if (!way.needs.empty() && chance(25)) way.gain = of_model;
    return way;
  }

  void draw_together(const BlueprintNode& node, Behaviour& behaviour) {
    Together all{chance(80) ? between(-1, 8) : of_model, {}};
    for (std::uint32_t i = 0; i < node.operands.size(); ++i) {
      if (!node.operands[i].is_absent() && chance(70)) all.needs.push_back({i, Face{face()}});
    }
    if (!all.needs.empty()) behaviour.together.push_back(std::move(all));
  }

  // One of each face at most: asking twice for the same is no wish of its own.
  void draw_wishes(std::uint32_t operand, std::vector<Wish>& wishes) {
    for (std::int64_t wanted = 0; wanted < options_.faces; ++wanted) {
      if (chance(70)) continue;
      const bool takes_codes = chance(65);
      wishes.push_back(
          {operand, wanted, takes_codes, takes_codes && chance(80) ? between(-1, 5) : of_model});
    }
  }

  [[nodiscard]] Numbers draw(std::int64_t count, std::int64_t low, std::int64_t high,
                             std::size_t percent_impossible) {
    Numbers numbers;
    for (std::int64_t i = 0; i < count; ++i) {
      numbers.push_back(chance(percent_impossible) ? impossible : between(low, high));
    }
    return numbers;
  }

  void add_group(std::vector<std::vector<Source>>& groups) {
    std::vector<Source> members;
    for (std::size_t wanted = 2 + below(2); wanted > 0; --wanted) {
      const Source member = pick();
      if (std::ranges::find(members, member) == members.end()) members.push_back(member);
    }
    groups.push_back(std::move(members));
  }

  std::mt19937& random_;
  const RandomOptions& options_;
  Blueprint blueprint_;
  std::vector<Source> values_;
};

}  // namespace detail

/// The same graph for the same state of `random`, with every compiler and library.
[[nodiscard]] inline Blueprint random_graph(std::mt19937& random, const RandomOptions& options) {
  return detail::RandomGraph(random, options).run();
}

}  // namespace dice
