#include "ir/known_integers.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "ir/operand_lists.hpp"
#include "ir/ops/elementwise.hpp"
#include "ir/ops/places.hpp"
#include "ir/ops/reductions.hpp"
#include "ir/put_in_place.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"

namespace quadrant::inline v0::detail {
namespace {

// Truth values are integers; float32 is computed in, as runtimes do.
template <class T>
using List = std::vector<std::optional<T>>;
template <class T>
using MaybeList = std::optional<List<T>>;

template <class T>
struct Arithmetic {
  std::string_view kind;
  std::optional<T> (*compute)(T, T);
};

template <class T>
std::optional<T> quotient(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (b == 0 || b == -1) return b == 0 ? std::nullopt : std::optional<T>(0 - a);
  }
  return a / b;
}

template <class T, bool (*overflows)(T, T, T*)>
std::optional<T> checked(T a, T b) {
  T result = 0;
  return overflows(a, b, &result) ? std::nullopt : std::optional(result);
}

bool adds(std::int64_t a, std::int64_t b, std::int64_t* to) {
  return __builtin_add_overflow(a, b, to);
}
bool subtracts(std::int64_t a, std::int64_t b, std::int64_t* to) {
  return __builtin_sub_overflow(a, b, to);
}
bool multiplies(std::int64_t a, std::int64_t b, std::int64_t* to) {
  return __builtin_mul_overflow(a, b, to);
}

using Whole = std::int64_t;

constexpr std::array whole_arithmetic{
    Arithmetic<Whole>{ops::Add::kind, checked<Whole, adds>},
    Arithmetic<Whole>{ops::Sub::kind, checked<Whole, subtracts>},
    Arithmetic<Whole>{ops::Multiply::kind, checked<Whole, multiplies>},
    Arithmetic<Whole>{ops::Div::kind, quotient<Whole>},
    Arithmetic<Whole>{ops::Max::kind,
                      [](Whole a, Whole b) { return std::optional(std::max(a, b)); }},
    Arithmetic<Whole>{ops::Min::kind,
                      [](Whole a, Whole b) { return std::optional(std::min(a, b)); }},
    Arithmetic<Whole>{ops::Equal::kind,
                      [](Whole a, Whole b) { return std::optional<Whole>(a == b); }},
    Arithmetic<Whole>{ops::Less::kind,
                      [](Whole a, Whole b) { return std::optional<Whole>(a < b); }},
    Arithmetic<Whole>{ops::Greater::kind,
                      [](Whole a, Whole b) { return std::optional<Whole>(a > b); }},
};

constexpr std::array real_arithmetic{
    Arithmetic<float>{ops::Add::kind, [](float a, float b) { return std::optional(a + b); }},
    Arithmetic<float>{ops::Sub::kind, [](float a, float b) { return std::optional(a - b); }},
    Arithmetic<float>{ops::Multiply::kind, [](float a, float b) { return std::optional(a * b); }},
    Arithmetic<float>{ops::Div::kind, quotient<float>},
};

template <class T>
const Arithmetic<T>* find_arithmetic(std::string_view kind) {
  const auto find = [&](const auto& rows) {
    const auto found = std::ranges::find(rows, kind, &Arithmetic<T>::kind);
    return found == rows.end() ? nullptr : &*found;
  };
  if constexpr (std::is_same_v<T, Whole>) {
    return find(whole_arithmetic);
  } else {
    return find(real_arithmetic);
  }
}

bool is_whole(ElementType element) {
  return element == ElementType::int64 || element == ElementType::int32 ||
         element == ElementType::boolean;
}

// Of one element type, or of those that are looked at.
template <class T>
bool holds(ElementType element) {
  return std::is_same_v<T, float> ? element == ElementType::float32 : is_whole(element);
}

// Elements at the same places; a list of one is repeated.
template <class T, class F>
MaybeList<T> paired(const List<T>& a, const List<T>& b, F compute) {
  const std::size_t count = a.size() == 1 ? b.size() : a.size();
  if (count == 0 || (a.size() != 1 && a.size() != count) || (b.size() != 1 && b.size() != count)) {
    return std::nullopt;
  }
  List<T> result;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& x = a[a.size() == 1 ? 0 : i];
    const auto& y = b[b.size() == 1 ? 0 : i];
    result.push_back(x && y ? compute(*x, *y) : std::nullopt);
  }
  return result;
}

// Follows values to what they are computed from.
class Walk {
 public:
  explicit Walk(const GraphView& graph) : graph_(graph) {}

  template <class T>
  MaybeList<T> elements(Value value) {
    if (value.is_absent() || !holds<T>(graph_.type(value).element)) return std::nullopt;
    if (graph_.type(value).is_quantized() || left_ == 0) return std::nullopt;
    --left_;
    const bool is_constant = graph_.constant(value.node) != nullptr;
    MaybeList<T> found =
        is_constant ? of_constant<T>(value.node) : computed<T>({&graph_, value.node}, value.result);
    if (found && std::cmp_greater(found->size(), largest_rank)) return std::nullopt;
    return found;
  }

 private:
  template <class T>
  MaybeList<T> of_constant(NodeId node) const {
    const Constant& constant = *graph_.constant(node);
    if (!constant || constant.shape().rank() > 1 || constant.element_count() > largest_rank) {
      return std::nullopt;
    }
    const auto bytes = constant.read();
    if (!bytes) return std::nullopt;
    const auto copied = [](const auto& values) { return List<T>(values.begin(), values.end()); };
    switch (constant.element()) {
      case ElementType::int64:
        return copied(bytes->template as<std::int64_t>());
      case ElementType::int32:
        return copied(bytes->template as<std::int32_t>());
      case ElementType::boolean:
        return copied(bytes->template as<std::uint8_t>());
      case ElementType::float32:
        return copied(bytes->template as<float>());
      default:
        return std::nullopt;
    }
  }

  template <class T>
  MaybeList<T> computed(NodeRef node, std::uint32_t result) {
    const std::string_view kind = node.kind();
    if (has_trait(node, Trait::keeps_order)) return elements<T>(node.operand(0));
    if (kind == ops::Concat::kind) return joined<T>(node);
    if (kind == ops::Gather::kind) return gathered<T>(node);
    if (kind == ops::Slice::kind) return sliced<T>(node);
    if (kind == ops::Split::kind) return split<T>(node, result);
    if (kind == ops::Expand::kind)
      return repeated<T>(node.operand(1), elements<T>(node.operand(0)));
    if (kind == ops::Where::kind) return chosen<T>(node);
    if (kind == ops::Cast::kind) return cast<T>(node);
    if (const auto* row = find_arithmetic<T>(kind)) return combined<T>(node, *row);
    if constexpr (std::is_same_v<T, float>) {
      return rounded(node);
    } else {
      return of_shape(node);
    }
  }

  template <class T>
  MaybeList<T> joined(NodeRef node) {
    List<T> all;
    for (const Value operand : node.operands()) {
      const auto part = elements<T>(operand);
      if (!part) return std::nullopt;
      all.insert(all.end(), part->begin(), part->end());
    }
    return all;
  }

  template <class T>
  MaybeList<T> gathered(NodeRef node) {
    const auto data = elements<T>(node.operand(0));
    const auto places = elements<Whole>(node.operand(1));
    if (!data || !places || graph_.type(node.operand(0)).shape.rank() != 1) return std::nullopt;
    List<T> result;
    for (const auto& place : *places) {
      const auto at = place ? normalize_axis(*place, std::ssize(*data)) : std::nullopt;
      if (place && !at) return std::nullopt;
      result.push_back(at ? (*data)[static_cast<std::size_t>(*at)] : std::nullopt);
    }
    return result;
  }

  // A list that is an attribute in older versions of ONNX.
  MaybeList<Whole> list(NodeRef node, std::string_view attribute, std::size_t operand) {
    const Attribute* const stated = node.graph->attribute(node.id, attribute);
    if (stated == nullptr) return elements<Whole>(node.operand(operand));
    const auto* const values = std::get_if<std::vector<std::int64_t>>(stated);
    return values ? MaybeList<Whole>(List<Whole>(values->begin(), values->end())) : std::nullopt;
  }

  template <class T>
  MaybeList<T> sliced(NodeRef node) {
    const auto data = elements<T>(node.operand(0));
    const auto starts = list(node, "starts", 1);
    const auto ends = list(node, "ends", 2);
    const List<Whole> ones{1};
    const auto steps =
        node.operand(4).is_absent() ? MaybeList<Whole>(ones) : list(node, "steps", 4);
    if (!data || graph_.type(node.operand(0)).shape.rank() != 1) return std::nullopt;
    for (const auto* each : {&starts, &ends, &steps}) {
      if (!*each || (*each)->size() != 1 || !(*each)->front()) return std::nullopt;
    }
    if (*steps->front() == 0) return std::nullopt;
    const auto range =
        slice_range(std::ssize(*data), *starts->front(), *ends->front(), *steps->front());
    if (!range) return std::nullopt;
    List<T> result;
    for (std::int64_t i = 0; i < range->count; ++i) {
      result.push_back((*data)[static_cast<std::size_t>(range->start + i * range->step)]);
    }
    return result;
  }

  template <class T>
  MaybeList<T> split(NodeRef node, std::uint32_t result) {
    const auto data = elements<T>(node.operand(0));
    const auto parts = static_cast<std::int64_t>(graph_.result_count(node.id));
    if (!data) return std::nullopt;
    auto sizes = list(node, "split", 1);
    if (!sizes && node.operand(1).is_absent() && std::ssize(*data) % parts == 0) {
      sizes = List<Whole>(static_cast<std::size_t>(parts), std::ssize(*data) / parts);
    }
    if (!sizes || std::ssize(*sizes) != parts) return std::nullopt;
    std::int64_t begin = 0;
    for (std::uint32_t i = 0;; ++i) {
      const std::int64_t size = (*sizes)[i].value_or(-1);
      if (size < 0 || size > std::ssize(*data) - begin) return std::nullopt;
      if (i == result) return List<T>(data->begin() + begin, data->begin() + begin + size);
      begin += size;
    }
  }

  // A list of one, as often as `count` says.
  template <class T>
  MaybeList<T> repeated(Value count, const MaybeList<T>& data) {
    const auto counts = elements<Whole>(count);
    if (!data || data->size() != 1 || !counts || counts->size() != 1) return std::nullopt;
    const auto& wanted = counts->front();
    if (!wanted || *wanted < 0 || *wanted > largest_rank) return std::nullopt;
    return List<T>(static_cast<std::size_t>(*wanted), data->front());
  }

  template <class T>
  MaybeList<T> chosen(NodeRef node) {
    const auto conditions = elements<Whole>(node.operand(0));
    const auto a = elements<T>(node.operand(1));
    const auto b = elements<T>(node.operand(2));
    if (!conditions || !a || !b) return std::nullopt;
    const std::size_t count = std::max({conditions->size(), a->size(), b->size()});
    List<T> result;
    for (std::size_t i = 0; i < count; ++i) {
      const auto at = [&](const auto& list) { return list.size() == 1 ? 0 : i; };
      if (at(*conditions) >= conditions->size() || at(*a) >= a->size() || at(*b) >= b->size()) {
        return std::nullopt;
      }
      const auto& condition = (*conditions)[at(*conditions)];
      result.push_back(!condition ? std::nullopt : *condition != 0 ? (*a)[at(*a)] : (*b)[at(*b)]);
    }
    return result;
  }

  template <class T>
  MaybeList<T> cast(NodeRef node) {
    if (const auto same = elements<T>(node.operand(0))) {
      const bool is_truth = node.type().element == ElementType::boolean;
      return is_truth ? std::nullopt : MaybeList<T>(same);
    }
    using Other = std::conditional_t<std::is_same_v<T, float>, Whole, float>;
    const auto other = elements<Other>(node.operand(0));
    if (!other) return std::nullopt;
    List<T> result;
    for (const auto& each : *other) {
      constexpr Other most = 1 << 24;  // what both have
      const bool is_same = each && std::abs(*each) <= most;
      result.push_back(is_same ? std::optional(static_cast<T>(*each)) : std::nullopt);
    }
    return result;
  }

  template <class T>
  MaybeList<T> combined(NodeRef node, const Arithmetic<T>& row) {
    MaybeList<T> result = elements<T>(node.operand(0));
    for (std::size_t i = 1; result && i < node.operands().size(); ++i) {
      const auto next = elements<T>(node.operand(i));
      result = next ? paired<T>(*result, *next, row.compute) : std::nullopt;
    }
    return result;
  }

  MaybeList<float> rounded(NodeRef node) {
    const bool is_up = node.kind() == ops::Ceil::kind;
    if (!is_up && node.kind() != ops::Floor::kind && node.kind() != ops::Round::kind)
      return std::nullopt;
    auto data = elements<float>(node.operand(0));
    if (!data) return std::nullopt;
    for (auto& each : *data) {
      if (!each) continue;
      each = node.kind() == ops::Round::kind ? std::nearbyint(*each)
                                             : (is_up ? std::ceil(*each) : std::floor(*each));
    }
    return data;
  }

  // What is not computed from lists of the same type.
  MaybeList<Whole> of_shape(NodeRef node) {
    if (node.operands().empty() || node.operand(0).is_absent()) return std::nullopt;
    if (node.kind() == ops::ShapeOf::kind) return extents(node);
    if (node.kind() == ops::Size::kind) {
      return List<Whole>{graph_.type(node.operand(0)).shape.element_count()};
    }
    if (node.kind() == ops::ReduceProd::kind) return product(node);
    if (node.kind() == ops::Mod::kind) return remainders(node);
    if (node.kind() == ops::ConstantOfShape::kind) return filled(node);
    if (node.kind() == ops::Range::kind) return range(node);
    return std::nullopt;
  }

  MaybeList<Whole> extents(NodeRef node) const {
    const Shape& shape = graph_.type(node.operand(0)).shape;
    if (!shape.is_ranked()) return std::nullopt;
    const std::int64_t rank = shape.rank();
    const auto bound = [&](std::string_view name, std::int64_t fallback) {
      const auto at = node.attribute_or<std::int64_t>(name, fallback);
      return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
    };
    List<Whole> result;
    for (std::int64_t axis = bound("start", 0); axis < bound("end", rank); ++axis) {
      result.push_back(shape[axis].known());
    }
    return result;
  }

  MaybeList<Whole> product(NodeRef node) {
    const auto data = elements<Whole>(node.operand(0));
    if (!data) return std::nullopt;
    std::optional<Whole> all = 1;
    for (const auto& each : *data) {
      all = all && each ? checked<Whole, multiplies>(*all, *each) : std::nullopt;
    }
    return List<Whole>{all};
  }

  // Of what is not negative both of ONNX's remainders are the same.
  MaybeList<Whole> remainders(NodeRef node) {
    const auto a = elements<Whole>(node.operand(0));
    const auto b = elements<Whole>(node.operand(1));
    if (!a || !b) return std::nullopt;
    return paired<Whole>(*a, *b, [](Whole x, Whole y) {
      return x >= 0 && y > 0 ? std::optional(x % y) : std::nullopt;
    });
  }

  MaybeList<Whole> filled(NodeRef node) {
    const auto value = node.attribute_or<Constant>("value", {});
    if (!value || !is_whole(value.element()) || value.element_count() != 1) return std::nullopt;
    const auto number = read_integers(value);
    if (!number) return std::nullopt;
    return repeated<Whole>(node.operand(0), List<Whole>{number->front()});
  }

  MaybeList<Whole> range(NodeRef node) {
    std::array<Whole, 3> ends{};
    for (std::size_t i = 0; i < ends.size(); ++i) {
      const auto end = elements<Whole>(node.operand(i));
      if (!end || end->size() != 1 || !end->front()) return std::nullopt;
      ends.at(i) = *end->front();
    }
    const auto [start, limit, step] = ends;
    if (step != 1 || limit < start || limit - largest_rank > start) return std::nullopt;
    List<Whole> result;
    for (Whole each = start; each < limit; ++each) result.emplace_back(each);
    return result;
  }

  const GraphView& graph_;
  int left_ = 512;  // nodes to look at
};

// A constant of the type and shape of `value`, or nothing where it has more than a list.
std::optional<Constant> constant_of(const TensorType& type, const std::vector<Whole>& values) {
  if (type.shape.rank() > 1 || type.shape.element_count() != std::ssize(values))
    return std::nullopt;
  if (type.element == ElementType::int64) {
    return Constant::from_values(type.element, type.shape, std::span<const Whole>(values));
  }
  if (type.element != ElementType::int32) return std::nullopt;
  if (!std::ranges::all_of(values, [](Whole each) { return std::in_range<std::int32_t>(each); })) {
    return std::nullopt;
  }
  const std::vector<std::int32_t> narrow(values.begin(), values.end());
  return Constant::from_values(type.element, type.shape, std::span<const std::int32_t>(narrow));
}

}  // namespace

std::optional<KnownIntegers> known_integers(const GraphView& graph, Value value) {
  return Walk(graph).elements<Whole>(value);
}

std::optional<std::vector<std::int64_t>> all_known_integers(const GraphView& graph, Value value) {
  const auto known = known_integers(graph, value);
  if (!known) return std::nullopt;
  std::vector<std::int64_t> values;
  for (const auto& each : *known) {
    if (!each) return std::nullopt;
    values.push_back(*each);
  }
  return values;
}

Expected<void> fold_shapes(Graph& graph) {
  QUADRANT_TRY(const std::vector<NodeId> order, topological_order(graph));
  for (const NodeId id : order) {
    // What only a folded one read is gone.
    if (!graph.contains(id) || graph.constant(id) != nullptr) continue;
    if (graph.result_count(id) != 1 || graph.uses(id).empty()) continue;
    const TensorType& type = graph.type({id});
    const bool is_list = type.element == ElementType::int64 || type.element == ElementType::int32;
    if (!is_list || graph.operands(id).empty()) continue;
    const auto values = all_known_integers(graph, {id});
    auto constant = values ? constant_of(type, *values) : std::nullopt;
    if (!constant) continue;
    std::string name(graph.value_name({id}));
    put_in_place(graph, id, graph.add_constant(std::move(name), *std::move(constant)));
  }
  return {};
}

}  // namespace quadrant::inline v0::detail
