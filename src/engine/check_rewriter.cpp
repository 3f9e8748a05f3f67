#include "quadrant/engine/check_rewriter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/graph_rewriter.hpp"

namespace quadrant::inline v0 {
namespace {

struct ResultFacts {
  std::string name;
  TensorType type;
};

struct NodeFacts {
  NodeId id;
  std::string kind;
  std::vector<Value> operands;
  std::vector<Use> uses;  // sorted
  std::vector<ResultFacts> results;
  Constant constant;
};

// All that a view says, but for attributes.
using Facts = std::map<NodeId, NodeFacts>;

Facts facts_of(const GraphView& view) {
  Facts facts;
  for (std::uint32_t index = 0; index < view.index_bound(); ++index) {
    const NodeId id = view.node_at(index);
    if (!id.is_valid()) continue;
    NodeFacts node{.id = id, .kind = std::string(view.kind(id))};
    node.operands.assign(view.operands(id).begin(), view.operands(id).end());
    node.uses.assign(view.uses(id).begin(), view.uses(id).end());
    std::ranges::sort(node.uses);
    for (std::uint32_t i = 0; i < view.result_count(id); ++i) {
      node.results.push_back({std::string(view.value_name({id, i})), view.type({id, i})});
    }
    if (const Constant* constant = view.constant(id)) node.constant = *constant;
    facts.emplace(id, std::move(node));
  }
  return facts;
}

bool is_named(const Facts& facts, std::string_view name) {
  return std::ranges::any_of(facts, [&](const auto& entry) {
    return std::ranges::any_of(entry.second.results,
                               [&](const ResultFacts& result) { return result.name == name; });
  });
}

std::string called(const NodeFacts& node) {
  return node.results.empty() ? node.kind : node.results.front().name;
}

// A node that is not there is told elsewhere, and is not made by looking for it.
void remove_use(Facts& facts, Value value, NodeId user, std::uint32_t operand) {
  const auto found = facts.find(value.node);
  if (found != facts.end()) std::erase(found->second.uses, Use{value.result, user, operand});
}

void add_use(Facts& facts, Value value, NodeId user, std::uint32_t operand) {
  const auto found = facts.find(value.node);
  if (found == facts.end()) return;
  found->second.uses.push_back({value.result, user, operand});
  std::ranges::sort(found->second.uses);
}

bool is_asked(std::string_view kind) {
  constexpr std::array kinds{ops::Dequantize::kind, ops::Quantize::kind, ops::StorageCast::kind,
                             ops::Multiply::kind, ops::Add::kind};
  return std::ranges::find(kinds, kind) != kinds.end();
}

// int8 codes, in the granularities that an IR may have: one scale, or one for each index of an
// axis.
std::vector<TensorType> code_types(const TensorType& real) {
  std::vector<TensorType> types;
  for (std::int64_t axis = -1; axis < real.shape.rank(); ++axis) {
    auto type = std::make_shared<UniformType>();
    type->storage = ElementType::int8;
    type->expressed = real.element;
    type->storage_min = -127;
    type->granularity = axis < 0 ? Granularity::per_tensor() : Granularity::per_axis(axis);
    const Shape shape = axis < 0 ? Shape::scalar() : Shape{real.shape[axis].value()};
    const std::vector<float> scales(static_cast<std::size_t>(shape.element_count().value_or(0)),
                                    0.5F);
    type->scales = Constant::from_values(ElementType::float32, shape, std::span(scales));
    types.push_back(
        {ElementType::int8, real.shape, std::shared_ptr<const UniformType>(std::move(type))});
  }
  return types;
}

class Checker {
 public:
  explicit Checker(MakeRewriter make) : make_(make) {}

  RewriterCheck run() {
    start();
    Facts first = facts_;
    start();
    compare(first, facts_, "a second copy", "same");
    std::vector<NodeId> constants;
    std::vector<Value> computed;
    for (const auto& [id, node] : facts_) {
      const bool is_read = !node.uses.empty();
      if (!is_read || node.results.empty() || !is_real(node.results.front().type)) continue;
      if (node.kind == ops::Constant::kind) {
        constants.push_back(id);
      } else if (node.kind != ops::Input::kind && node.results.size() == 1) {
        computed.push_back({id});
      }
    }
    if (constants.empty()) fault("view", "the program", "it has no float constant that is read");
    for (const NodeId constant : constants) quantize_weight(constant);
    constexpr std::size_t few = 4;
    for (const Value value : computed | std::views::take(few)) quantize_computed(value);
    return std::move(result_);
  }

 private:
  static bool is_real(const TensorType& type) {
    return !type.is_quantized() && is_float(type.element) && type.shape.is_static();
  }

  void start() {
    rewriter_ = make_();
    lost_ = false;
    look("the program");
    facts_ = facts_of(view());
  }

  [[nodiscard]] const GraphView& view() const { return rewriter_->view(); }

  void fault(std::string_view rule, std::string_view edit, std::string_view what) {
    lost_ = lost_ || rule == "handles";
    std::string message = fmt::format("{}: {}", edit, what);
    const auto same = [&](const RewriterFault& known) {
      return known.rule == rule && known.message == message;
    };
    if (std::ranges::none_of(result_.faults, same)) {
      result_.faults.push_back({rule, std::move(message)});
    }
  }

  void look(std::string_view edit) {
    if (const auto fine = verify(view()); !fine) fault("view", edit, to_string(fine.error()));
  }

  // `rule` names what differs; empty: each difference by its own name.
  void compare(const Facts& wanted, const Facts& found, std::string_view edit,
               std::string_view rule = {}) {
    const auto differ = [&](std::string_view own, const std::string& what) {
      fault(rule.empty() ? own : rule, edit, what);
    };
    for (const auto& [id, node] : wanted) {
      const auto there = found.find(id);
      if (there == found.end()) {
        differ("handles", fmt::format("'{}' is no longer there under its id", called(node)));
        continue;
      }
      compare_nodes(node, there->second, differ);
    }
    for (const auto& [id, node] : found) {
      if (!wanted.contains(id) && !retypes_) {
        differ("handles", fmt::format("'{}' has appeared", called(node)));
      }
    }
  }

  template <class Differ>
  static void compare_nodes(const NodeFacts& wanted, const NodeFacts& found, Differ differ) {
    const std::string name = called(wanted);
    if (found.kind != wanted.kind) {
      differ("kinds", fmt::format("'{}' is a {}, not a {}", name, found.kind, wanted.kind));
    }
    if (found.operands != wanted.operands) {
      differ("operands", fmt::format("'{}' reads other values than it should", name));
    }
    if (found.uses != wanted.uses) {
      differ("uses", fmt::format("'{}' lists {} uses where there are {}, or others", name,
                                 found.uses.size(), wanted.uses.size()));
    }
    if (found.results.size() != wanted.results.size()) {
      differ("handles", fmt::format("'{}' has {} results, not {}", name, found.results.size(),
                                    wanted.results.size()));
      return;
    }
    for (std::size_t i = 0; i < wanted.results.size(); ++i) {
      if (found.results[i].name != wanted.results[i].name) {
        differ("names",
               fmt::format("'{}' is called '{}'", wanted.results[i].name, found.results[i].name));
      }
      // As text: an IR may hold scales in another place.
      if (to_string(found.results[i].type) != to_string(wanted.results[i].type)) {
        differ("types", fmt::format("'{}' is {}, not {}", name, to_string(found.results[i].type),
                                    to_string(wanted.results[i].type)));
      }
    }
    if (!same_contents(found.constant, wanted.constant)) {
      differ("contents", fmt::format("'{}' has other contents", name));
    }
  }

  static bool same_contents(const Constant& a, const Constant& b) {
    if (a == b || !a || !b) return a == b;
    const auto left = a.read();
    const auto right = b.read();
    return left && right && std::ranges::equal(left->bytes(), right->bytes());
  }

  // Looks at what an edit did: `wanted` is what should be there now, `facts_` what was there
  // before. False where it was refused.
  bool settle(const Expected<void>& done, const Facts& wanted, const std::string& edit) {
    return settle(done, wanted, edit, result_.refused);
  }
  bool settle(const Expected<void>& done, const Facts& wanted, const std::string& edit,
              std::vector<std::string>& refused) {
    const bool retypes = std::exchange(retypes_, false);
    if (const Capabilities* const known = view().capabilities()) {
      const auto same = known->check_view();
      if (!same) fault(done ? "view" : "refusal", edit, to_string(same.error()));
    }
    if (!done) {
      if (done.error().code != ErrorCode::impossible) {
        fault("refusal", edit,
              fmt::format("not refused with impossible, but: {}", to_string(done.error())));
      }
      compare(facts_, facts_of(view()), edit + ", refused", "refusal");
      refused.push_back(fmt::format("{}: {}", edit, to_string(done.error())));
      return false;
    }
    Facts found = facts_of(view());
    retypes_ = retypes;
    compare(wanted, found, edit);
    retypes_ = false;
    facts_ = std::move(found);
    return true;
  }

  // Whether what the IR said that it can do was done.
  void keep_word(const Expected<void>& done, std::string_view edit, const TensorType& type) {
    if (done) return;
    fault("capabilities", edit,
          fmt::format("{} can be had, by what it says, and is refused: {}", to_string(type),
                      to_string(done.error())));
  }

  // --- edits -------------------------------------------------------------------------------------

  std::optional<NodeId> emit(NodeSpec spec) {
    if (lost_) return std::nullopt;
    const std::string edit = fmt::format("emit of a {} '{}'", spec.kind, spec.results[0].name);
    const NodeSpec asked = spec;
    std::vector<TensorType> types;
    types.reserve(asked.operands.size());
    for (const Value operand : asked.operands) types.push_back(result_of(facts_, operand).type);
    const auto made = rewriter_->emit(std::move(spec));
    if (!made) {
      const Capabilities* const known = view().capabilities();
      const TensorType& type = asked.results[0].type;
      if (known != nullptr && is_asked(asked.kind) && known->can_emit(asked.kind, types, type)) {
        keep_word(fail(made.error()), edit, type);
      }
      settle(fail(made.error()), facts_, edit);
      return std::nullopt;
    }
    const std::string wished = asked.results[0].name;
    const bool is_taken = is_named(facts_, wished);
    const auto id = *made;
    if (facts_.contains(id) || id.index >= view().index_bound() || view().node_at(id.index) != id ||
        view().result_count(id) != 1) {
      fault("handles", edit, "the id that it returns is no new node of one result");
      return std::nullopt;
    }
    NodeFacts node{.id = id, .kind = asked.kind, .operands = asked.operands};
    std::string name(view().value_name({id}));
    if (is_taken && is_named(facts_, name)) {
      fault("names", edit, fmt::format("'{}' is taken already", name));
    }
    node.results.push_back({is_taken ? name : wished, asked.results[0].type});
    node.constant = asked.constant;
    Facts wanted = facts_;
    wanted.emplace(id, std::move(node));
    for (std::uint32_t i = 0; i < asked.operands.size(); ++i) {
      add_use(wanted, asked.operands[i], id, i);
    }
    for (const auto& [key, value] : asked.attributes) {
      const Attribute* found = view().attribute(id, key);
      if (!found || *found != value) fault("attributes", edit, fmt::format("'{}' is lost", key));
    }
    settle({}, wanted, edit);
    if (lost_) return std::nullopt;
    return id;
  }

  void rename(Value value, const std::string& name) {
    if (lost_) return;
    const std::string edit = fmt::format("set_value_name of '{}' to '{}'", name_at(value), name);
    const bool is_taken = is_named(facts_, name);
    const auto done = rewriter_->set_value_name(value, name);
    Facts wanted = facts_;
    if (done && is_taken) {
      const std::string given(view().value_name(value));
      if (is_named(facts_, given))
        fault("names", edit, fmt::format("'{}' is taken already", given));
      result_of(wanted, value).name = given;
    } else {
      result_of(wanted, value).name = name;
    }
    settle(done, wanted, edit);
  }

  void set_operand(NodeId user, std::uint32_t operand, Value value) {
    if (lost_) return;
    const auto reader = facts_.find(user);
    if (reader == facts_.end() || operand >= reader->second.operands.size()) {
      fault("uses", "the program", "a use by a node, or an operand, that is not there");
      return;
    }
    const std::string edit = fmt::format("set_operand {} of '{}'", operand, called(reader->second));
    Facts wanted = facts_;
    Value& place = wanted[user].operands[operand];
    remove_use(wanted, place, user, operand);
    place = value;
    add_use(wanted, value, user, operand);
    settle(rewriter_->set_operand(user, operand, value), wanted, edit);
  }

  void erase(NodeId node) {
    if (lost_) return;
    const std::string edit = fmt::format("erase of '{}'", called(facts_[node]));
    const auto done = rewriter_->erase(node);
    const bool stays = view().node_at(node.index) == node;  // for the IR to eliminate
    Facts wanted = facts_;
    if (!stays) {
      const std::vector<Value> operands = wanted[node].operands;
      for (std::uint32_t i = 0; i < operands.size(); ++i) remove_use(wanted, operands[i], node, i);
      wanted.erase(node);
    }
    settle(done, wanted, edit);
  }

  static ResultFacts& result_of(Facts& facts, Value value) {
    auto& results = facts[value.node].results;
    if (results.size() <= value.result) results.resize(value.result + 1);
    return results[value.result];
  }
  [[nodiscard]] const std::string& name_at(Value value) { return result_of(facts_, value).name; }

  // --- what schemes do ---------------------------------------------------------------------------

  static std::vector<std::byte> bytes_of(const Constant& contents) {
    if (!contents) return {};
    const auto read = contents.read();
    if (!read) return {};
    return {read->bytes().begin(), read->bytes().end()};
  }

  // Codes in place of the weight, of the first type that the IR has.
  bool take_codes(NodeId weight, std::vector<std::string>& refused) {
    const Value value{weight};
    const TensorType real = result_of(facts_, value).type;
    const auto count = static_cast<std::size_t>(real.shape.element_count().value_or(0));
    const Constant contents =
        Constant::from_vector(ElementType::int8, real.shape, std::vector<std::int8_t>(count, 1));
    const Constant old = facts_[weight].constant;
    const std::vector<std::byte> before = bytes_of(old);
    for (const TensorType& codes : code_types(real)) {
      retypes_ = true;
      Facts wanted = facts_;
      result_of(wanted, value).type = codes;
      wanted[weight].constant = contents;
      const auto done = rewriter_->set_constant(weight, contents, codes.quantization);
      const Capabilities* const known = view().capabilities();
      if (known != nullptr && known->can_hold(codes)) keep_word(done, "set_constant", codes);
      const std::string edit =
          fmt::format("set_constant of '{}' as {}", name_at(value), to_string(codes));
      if (bytes_of(old) != before) {
        fault("contents", edit, "the old contents are overwritten, which schemes may read still");
      }
      if (settle(done, wanted, edit, refused)) return true;
    }
    return false;
  }

  // And a dequantize that takes over its name and its readers.
  void quantize_weight(NodeId weight) {
    start();
    if (!facts_.contains(weight)) return;  // the copies differ, which was said
    const Value value{weight};
    const std::string name = name_at(value);
    const TensorType real = result_of(facts_, value).type;
    std::vector<std::string> refused;
    if (!take_codes(weight, refused)) {
      result_.refused.insert(result_.refused.end(), refused.begin(), refused.end());
      return;
    }
    const std::vector<Use> readers = facts_[weight].uses;
    const auto made = emit({.kind = std::string(ops::Dequantize::kind),
                            .operands = {value},
                            .results = {{name + "_real", real}}});
    if (!made) return;
    const Value dequantized{*made};
    rename(value, name_at(dequantized));  // taken
    rename(value, name + "_quantized_codes");
    rename(dequantized, name);  // what it was called is free now
    for (const Use& reader : readers) {
      const auto user = facts_.find(reader.user);
      if (user == facts_.end() || user->second.kind != ops::Output::kind) {
        set_operand(reader.user, reader.operand, dequantized);
      }
    }
    emit_promised(value, dequantized);
    // A node that nobody reads, of a name that is taken, comes and goes.
    NodeSpec spec{
        .kind = std::string(ops::Dequantize::kind), .operands = {value}, .results = {{name, real}}};
    if (const auto again = emit(std::move(spec))) erase(*again);
    move(dequantized, real);
    look(fmt::format("the program with '{}' quantized", name));
  }

  // What the IR says that it can emit, with these codes and the floats that they stand for: each
  // kind that schemes ask about.
  void emit_promised(Value codes, Value real) {
    const TensorType coded = result_of(facts_, codes).type;
    const TensorType floats = result_of(facts_, real).type;
    const TensorType plain{coded.element, coded.shape, nullptr};
    struct Promise {
      std::string_view kind;
      std::vector<Value> operands;
      TensorType result;
    };
    for (const Promise& promise : {Promise{ops::Quantize::kind, {real}, coded},
                                   Promise{ops::StorageCast::kind, {codes}, plain},
                                   Promise{ops::Multiply::kind, {real, real}, floats},
                                   Promise{ops::Add::kind, {real, real}, floats}}) {
      const Capabilities* const known = view().capabilities();
      if (known == nullptr || lost_) return;
      std::vector<TensorType> types;
      types.reserve(promise.operands.size());
      for (const Value operand : promise.operands) types.push_back(result_of(facts_, operand).type);
      if (!known->can_emit(promise.kind, types, promise.result)) continue;
      const auto made = emit({.kind = std::string(promise.kind),
                              .operands = promise.operands,
                              .results = {{name_at(real) + "_promised", promise.result}}});
      if (made) erase(*made);
    }
  }

  // Something with an attribute.
  void move(Value value, const TensorType& type) {
    if (type.shape.rank() != 2) return;
    NodeSpec spec{.kind = std::string(ops::Transpose::kind),
                  .operands = {value},
                  .results = {{name_at(value) + "_moved",
                               {type.element, Shape{type.shape[1], type.shape[0]}, nullptr}}}};
    spec.attributes.set("perm", std::vector<std::int64_t>{1, 0});
    if (const auto made = emit(std::move(spec))) erase(*made);
  }

  // What an operation computes becomes codes, and readers get floats again, in this order: as
  // phase 4 does it.
  void quantize_computed(Value value) {
    start();
    if (!facts_.contains(value.node)) return;
    const TensorType real = result_of(facts_, value).type;
    std::vector<std::string> refused;
    for (const TensorType& codes : code_types(real)) {
      const std::string edit =
          fmt::format("set_type of '{}' to {}", name_at(value), to_string(codes));
      retypes_ = true;
      Facts wanted = facts_;
      result_of(wanted, value).type = codes;
      if (!settle(rewriter_->set_type(value, codes), wanted, edit, refused)) continue;
      const std::vector<Use> readers = facts_[value.node].uses;
      const auto made = emit({.kind = std::string(ops::Dequantize::kind),
                              .operands = {value},
                              .results = {{name_at(value) + "_real", real}}});
      if (!made) return;
      for (const Use& reader : readers) set_operand(reader.user, reader.operand, {*made});
      return;
    }
    result_.refused.insert(result_.refused.end(), refused.begin(), refused.end());
  }

  MakeRewriter make_;
  std::unique_ptr<GraphRewriter> rewriter_;
  Facts facts_;           // before the edit
  bool lost_ = false;     // ids are not to be trusted
  bool retypes_ = false;  // the edit may make nodes of the IR's own, such as a buffer of that type
  RewriterCheck result_;
};

}  // namespace

RewriterCheck check_rewriter(MakeRewriter make) { return Checker(make).run(); }

}  // namespace quadrant::inline v0
