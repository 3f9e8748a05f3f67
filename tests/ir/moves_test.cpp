// Operations that move elements, one random node after the other, against where ONNX's text says
// that each element comes from.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "build.hpp"
#include "groups.hpp"
#include "ir/shape_inference.hpp"
#include "quadrant/ir/graph.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"
#include "shortened.hpp"

using namespace quadrant;
using groups::Index;

namespace {

// An element of an operand.
struct Origin {
  std::size_t operand = 0;
  Index index;
};

// One node, and where element `index` of its result `result` comes from.
struct Moved {
  const Move* move = nullptr;
  Graph graph;
  std::vector<Value> data;
  NodeId node;
  std::function<Origin(std::uint32_t result, const Index& index)> origin;
};

class RandomExtents {
 public:
  explicit RandomExtents(std::uint32_t seed) : engine_(seed) {}
  // From `low` to `high`, both included.
  std::int64_t number(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool coin() { return number(0, 1) == 1; }
  std::vector<std::int64_t> extents(std::int64_t least_rank = 1) {
    std::vector<std::int64_t> made(static_cast<std::size_t>(number(least_rank, 4)));
    for (auto& extent : made) extent = number(1, 5);
    return made;
  }
  template <class T>
  void shuffle(std::vector<T>& values) {
    std::ranges::shuffle(values, engine_);
  }

 private:
  std::mt19937 engine_;
};

Value integers(Graph& graph, const std::vector<std::int64_t>& values) {
  return graph.add_constant("integers", build::integers(values));
}

Value data_of(Moved& moved, const std::vector<std::int64_t>& extents) {
  moved.data.push_back(moved.graph.add_input("data", build::f32(Shape(extents))));
  return moved.data.back();
}

void add_node(Moved& moved, std::string_view kind, std::vector<Value> operands,
              Attributes attributes = {}, std::size_t results = 1) {
  const ResultSpec result{"result", {ElementType::float32, Shape(), nullptr}};
  moved.node = moved.graph.add({.kind = std::string(kind),
                                .name = "node",
                                .operands = std::move(operands),
                                .results = std::vector(results, result),
                                .attributes = std::move(attributes)});
}

std::size_t at(std::int64_t axis) { return static_cast<std::size_t>(axis); }

// --- one maker an operation; the comments are ONNX's definitions ---------------------------------

void make_identity(Moved& moved, RandomExtents& random) {
  moved.move = find_operation("identity")->move;
  add_node(moved, ops::Identity::kind, {data_of(moved, random.extents())});
  moved.origin = [](std::uint32_t, const Index& index) { return Origin{0, index}; };
}

// output.shape[i] = data.shape[perm[i]]; reversed without perm
void make_transpose(Moved& moved, RandomExtents& random) {
  moved.move = find_operation("transpose")->move;
  const auto extents = random.extents();
  std::vector<std::int64_t> perm(extents.size());
  std::iota(perm.begin(), perm.end(), 0);
  const bool is_stated = random.coin();
  if (is_stated) {
    random.shuffle(perm);
  } else {
    std::ranges::reverse(perm);
  }
  add_node(moved, ops::Transpose::kind, {data_of(moved, extents)},
           is_stated ? Attributes{{"perm", perm}} : Attributes{});
  moved.origin = [perm](std::uint32_t, const Index& index) {
    Index from(index.size());
    for (std::size_t i = 0; i < perm.size(); ++i) from[at(perm[i])] = index[i];
    return Origin{0, from};
  };
}

// The elements stay in their row-major order.
void keep_order(Moved& moved) {
  moved.move = find_operation("reshape")->move;
  moved.origin = [&moved](std::uint32_t, const Index& index) {
    const Shape& to = moved.graph.type({moved.node}).shape;
    const Shape& from = moved.graph.type(moved.data[0]).shape;
    return Origin{0, groups::index_of(groups::position_of(index, to), from)};
  };
}

void make_reshape(Moved& moved, RandomExtents& random) {
  // Factors 2, 2, 3, 2 thrown onto the axes of both.
  const auto thrown = [&] {
    std::vector<std::int64_t> extents(at(random.number(1, 4)), 1);
    for (const std::int64_t factor : {2, 2, 3, 2}) {
      extents[at(random.number(0, static_cast<std::int64_t>(extents.size()) - 1))] *= factor;
    }
    return extents;
  };
  const Value data = data_of(moved, thrown());
  add_node(moved, ops::Reshape::kind, {data, integers(moved.graph, thrown())});
  keep_order(moved);
}

void make_unsqueeze(Moved& moved, RandomExtents& random) {
  const Value data = data_of(moved, random.extents());
  const std::int64_t rank = moved.graph.type(data).shape.rank();
  const bool two = random.coin();
  std::vector<std::int64_t> axes{random.number(0, rank)};
  if (two) axes = {rank + 1, axes[0]};
  const bool is_attribute = random.coin();
  add_node(moved, ops::Unsqueeze::kind,
           is_attribute ? std::vector{data} : std::vector{data, integers(moved.graph, axes)},
           is_attribute ? Attributes{{"axes", axes}} : Attributes{});
  keep_order(moved);
}

void make_squeeze(Moved& moved, RandomExtents& random) {
  auto extents = random.extents(2);
  const std::int64_t axis = random.number(0, static_cast<std::int64_t>(extents.size()) - 1);
  extents[at(axis)] = 1;
  const Value data = data_of(moved, extents);
  const bool is_stated = random.coin();  // without axes: all of extent 1
  add_node(moved, ops::Squeeze::kind,
           is_stated ? std::vector{data, integers(moved.graph, {axis})} : std::vector{data});
  keep_order(moved);
}

void make_flatten(Moved& moved, RandomExtents& random) {
  const Value data = data_of(moved, random.extents());
  const std::int64_t rank = moved.graph.type(data).shape.rank();
  add_node(moved, ops::Flatten::kind, {data}, {{"axis", random.number(-rank, rank)}});
  keep_order(moved);
}

// Broadcasting: axes of extent 1 are repeated, axes in front are new.
void make_expand(Moved& moved, RandomExtents& random) {
  moved.move = find_operation("expand")->move;
  auto extents = random.extents();
  const Value data = data_of(moved, extents);
  for (auto& extent : extents) extent = extent == 1 && random.coin() ? 3 : extent;
  if (random.coin()) extents.insert(extents.begin(), random.number(1, 2));
  add_node(moved, ops::Expand::kind, {data, integers(moved.graph, extents)});
  moved.origin = [&moved](std::uint32_t, const Index& index) {
    const Shape& from = moved.graph.type(moved.data[0]).shape;
    Index element(at(from.rank()));
    const std::size_t added = index.size() - element.size();
    for (std::size_t i = 0; i < element.size(); ++i) {
      element[i] = surely_equal(from[static_cast<std::int64_t>(i)], 1) ? 0 : index[i + added];
    }
    return Origin{0, element};
  };
}

// output[i] = data[start + i * step], starts and ends counted from the end when negative
void make_slice(Moved& moved, RandomExtents& random) {
  moved.move = find_operation("slice")->move;
  const auto extents = random.extents();
  std::vector<std::int64_t> axes(extents.size());
  std::iota(axes.begin(), axes.end(), 0);
  random.shuffle(axes);
  axes.resize(at(random.number(1, static_cast<std::int64_t>(axes.size()))));
  Index first(extents.size(), 0);
  Index steps(extents.size(), 1);
  std::vector<std::int64_t> starts;
  std::vector<std::int64_t> ends;
  std::vector<std::int64_t> stated_steps;
  for (const std::int64_t axis : axes) {
    const std::int64_t extent = extents[at(axis)];
    const std::int64_t begin = random.number(0, extent - 1);
    first[at(axis)] = begin;
    starts.push_back(random.coin() ? begin : begin - extent);
    if (random.number(0, 2) == 0) {
      steps[at(axis)] = -random.number(1, 2);
      ends.push_back(-100);  // down to the first element
    } else {
      steps[at(axis)] = random.number(1, 2);
      ends.push_back(random.coin() ? 100 : random.number(begin, extent));  // may be of none
    }
    stated_steps.push_back(steps[at(axis)]);
  }
  const Value data = data_of(moved, extents);
  add_node(moved, ops::Slice::kind,
           {data, integers(moved.graph, starts), integers(moved.graph, ends),
            integers(moved.graph, axes), integers(moved.graph, stated_steps)});
  moved.origin = [first, steps](std::uint32_t, const Index& index) {
    Index from(index.size());
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = first[i] + index[i] * steps[i];
    return Origin{0, from};
  };
}

// The parts follow one another along the axis.
void make_split(Moved& moved, RandomExtents& random) {
  moved.move = find_operation("split")->move;
  auto extents = random.extents();
  const std::int64_t axis = random.number(0, static_cast<std::int64_t>(extents.size()) - 1);
  std::vector<std::int64_t> sizes;
  for (std::int64_t left = random.number(1, 3); left > 0; --left) {
    sizes.push_back(random.number(1, 4));
  }
  const bool is_equal = random.coin();
  if (is_equal) std::ranges::fill(sizes, sizes[0]);
  extents[at(axis)] = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  const Value data = data_of(moved, extents);
  add_node(moved, ops::Split::kind,
           is_equal ? std::vector{data} : std::vector{data, integers(moved.graph, sizes)},
           {{"axis", random.coin() ? axis : axis - static_cast<std::int64_t>(extents.size())}},
           sizes.size());
  moved.origin = [axis, sizes](std::uint32_t result, const Index& index) {
    Index from = index;
    for (std::uint32_t i = 0; i < result; ++i) from[at(axis)] += sizes[i];
    return Origin{0, from};
  };
}

void make_concat(Moved& moved, RandomExtents& random) {
  moved.move = find_operation("concat")->move;
  auto extents = random.extents();
  const std::int64_t axis = random.number(0, static_cast<std::int64_t>(extents.size()) - 1);
  std::vector<std::int64_t> sizes;
  for (std::int64_t left = random.number(1, 3); left > 0; --left) {
    sizes.push_back(random.number(1, 4));
    extents[at(axis)] = sizes.back();
    data_of(moved, extents);
  }
  add_node(moved, ops::Concat::kind, moved.data,
           {{"axis", random.coin() ? axis : axis - static_cast<std::int64_t>(extents.size())}});
  moved.origin = [axis, sizes](std::uint32_t, const Index& index) {
    Origin from{0, index};
    while (from.index[at(axis)] >= sizes[from.operand]) {
      from.index[at(axis)] -= sizes[from.operand++];
    }
    return from;
  };
}

// output[i..., j..., k...] = data[i..., indices[j...], k...]
void make_gather(Moved& moved, RandomExtents& random) {
  moved.move = find_operation("gather")->move;
  const auto extents = random.extents();
  const auto rank = static_cast<std::int64_t>(extents.size());
  const std::int64_t axis = random.number(0, rank - 1);
  std::vector<std::int64_t> shape(at(random.number(0, 2)));
  for (auto& extent : shape) extent = random.number(1, 3);
  const Shape looked_up(shape);
  std::vector<std::int64_t> indices(at(*looked_up.element_count()));
  const std::int64_t extent = extents[at(axis)];
  for (auto& index : indices) index = random.number(-extent, extent - 1);
  const Value data = data_of(moved, extents);
  const Value of = moved.graph.add_constant(
      "indices",
      Constant::from_values(ElementType::int64, looked_up, std::span<const std::int64_t>(indices)));
  add_node(moved, ops::Gather::kind, {data, of}, {{"axis", random.coin() ? axis : axis - rank}});
  moved.origin = [=](std::uint32_t, const Index& index) {
    const auto middle = index.begin() + axis;
    const auto behind = middle + looked_up.rank();
    const std::int64_t row = indices[at(groups::position_of(Index(middle, behind), looked_up))];
    Index from(index.begin(), middle);
    from.push_back(row < 0 ? row + extent : row);
    from.insert(from.end(), behind, index.end());
    return Origin{0, from};
  };
}

// --- the check -----------------------------------------------------------------------------------

// A quantized type with another scale, and another zero point, for each group.
std::shared_ptr<const UniformType> numbered_type(const Shape& shape, const Granularity& groups,
                                                 ElementType storage, bool has_zero_points,
                                                 int first) {
  auto type = std::make_shared<UniformType>();
  type->storage = storage;
  type->granularity = groups;
  const IntegerRange range = *integer_range(storage);
  type->storage_min = range.min;
  type->storage_max = range.max;
  const Shape layout = parameter_shape(shape, groups);
  const auto count = at(*layout.element_count());
  std::vector<float> scales(count);
  std::vector<std::byte> zero_points(count);
  for (std::size_t i = 0; i < count; ++i) {
    scales[i] = static_cast<float>(first + static_cast<int>(i)) + 0.5F;
    const std::int64_t number = first + static_cast<std::int64_t>(i);
    zero_points[i] = static_cast<std::byte>(range.min + number % (range.max - range.min + 1));
  }
  type->scales =
      Constant::from_values(ElementType::float32, layout, std::span<const float>(scales));
  if (has_zero_points) {
    type->zero_points = Constant::from_bytes(storage, layout, std::move(zero_points));
  }
  return type;
}

struct Numbers {
  std::vector<float> scales;
  std::vector<std::int64_t> zero_points;
};

Numbers read(const UniformType& type) {
  Numbers numbers;
  const auto scales = type.scales.read();
  REQUIRE(scales.has_value());
  const auto all = scales->as<float>();
  numbers.scales.assign(all.begin(), all.end());
  numbers.zero_points.assign(numbers.scales.size(), 0);
  if (type.zero_points) numbers.zero_points = *read_integers(type.zero_points);
  return numbers;
}

// What each operand's groups are, and its type: an element's scale and zero point.
struct Source {
  std::vector<int> partition;
  Numbers numbers;
};

// Elements of one group of the result come from one group of one operand, whose scale and zero
// point that group gets.
void check_result(const Moved& moved, std::uint32_t result, const Granularity& wanted,
                  const std::vector<Source>& sources) {
  const NodeRef node = moved.graph.ref(moved.node);
  const Shape& shape = node.type(result).shape;
  const auto type = moved_type(*moved.move, node, result, wanted);
  REQUIRE(type.has_value());
  const auto& operand = moved.graph.type(moved.data[0]).uniform();
  CHECK((*type)->storage == operand->storage);
  CHECK((*type)->storage_min == operand->storage_min);
  CHECK((*type)->expressed == operand->expressed);
  if (*shape.element_count() > 0) CHECK(verify(**type, shape).has_value());
  const Numbers numbers = read(**type);
  // The wanted groups, in whatever way they are written down.
  const std::vector<int> partition = groups::partition(shape, (*type)->granularity);
  CHECK(groups::renumbered(partition) == groups::renumbered(groups::partition(shape, wanted)));
  std::map<int, std::pair<std::size_t, int>> group_of;
  bool is_right = true;
  for (std::size_t i = 0; i < partition.size(); ++i) {
    const Origin from = moved.origin(result, groups::index_of(static_cast<std::int64_t>(i), shape));
    const Source& source = sources[from.operand];
    const Shape& from_shape = moved.graph.type(moved.data[from.operand]).shape;
    const auto group = at(source.partition[at(groups::position_of(from.index, from_shape))]);
    const auto own = at(partition[i]);
    const std::pair origin(from.operand, static_cast<int>(group));
    is_right = is_right && group_of.emplace(partition[i], origin).first->second == origin &&
               numbers.scales[own] == source.numbers.scales[group] &&
               numbers.zero_points[own] == source.numbers.zero_points[group];
  }
  CHECK(is_right);
}

struct Storage {
  ElementType element;
  bool has_zero_points;
};

// How many groups were wanted of the results, and how many of those were found.
struct Tally {
  int wanted = 0;
  int found = 0;
};

void check_node(const Moved& moved, const Storage& storage, Tally& count) {
  const Graph& untouched = moved.graph;
  Moved quantized = moved;
  for (const Granularity& wanted : groups::all(untouched.type({moved.node}).shape)) {
    ++count.wanted;
    CAPTURE(wanted.print());
    quantized.graph = untouched;
    std::vector<Source> sources;
    for (std::uint32_t i = 0; i < moved.data.size(); ++i) {
      const auto groups = moved.move->source(untouched.ref(moved.node), wanted);
      if (!groups) break;
      const Shape& shape = untouched.type(moved.data[i]).shape;
      CAPTURE(groups->print());
      // Of the second operand none: what one of a concat lacks is zeros.
      const bool has_zero_points = storage.has_zero_points && i != 1;
      const auto type = numbered_type(shape, *groups, storage.element, has_zero_points,
                                      1 + static_cast<int>(i) * 100);
      REQUIRE(verify(*type, shape).has_value());
      sources.push_back({groups::partition(shape, *groups), read(*type)});
      quantized.graph.set_type(moved.data[i], {storage.element, shape, type});
    }
    if (sources.size() != moved.data.size()) continue;
    ++count.found;
    for (std::uint32_t result = 0; result < untouched.result_count(moved.node); ++result) {
      check_result(quantized, result, wanted, sources);
    }
  }
}

Tally check_nodes(void (*make)(Moved&, RandomExtents&)) {
  const std::array storages{Storage{ElementType::int8, false}, Storage{ElementType::uint8, true},
                            Storage{ElementType::int4, true}, Storage{ElementType::uint4, true}};
  RandomExtents random(20261121);
  Tally count;
  for (int round = 0; round < (test::is_whole() ? 40 : 8); ++round) {
    Moved moved;
    make(moved, random);
    const auto inferred = infer_shapes(moved.graph);
    REQUIRE_MESSAGE(inferred.has_value(), to_string(inferred ? Error{} : inferred.error()));
    CAPTURE(round);
    check_node(moved, storages[static_cast<std::size_t>(round) % storages.size()], count);
  }
  return count;
}

}  // namespace

TEST_CASE("moves: each group comes from one group of one operand, with its scale and zero point") {
  struct Case {
    const char* name;
    void (*make)(Moved&, RandomExtents&);
    bool is_always_found;
  };
  const std::vector<Case> cases{
      {"identity", make_identity, true},    {"transpose", make_transpose, true},
      {"reshape", make_reshape, false},     {"squeeze", make_squeeze, false},
      {"unsqueeze", make_unsqueeze, false}, {"flatten", make_flatten, false},
      {"expand", make_expand, false},       {"slice", make_slice, false},
      {"split", make_split, false},         {"concat", make_concat, false},
      {"gather", make_gather, false},
  };
  for (const Case& each : cases) {
    CAPTURE(each.name);
    const Tally count = check_nodes(each.make);
    if (each.is_always_found) {
      CHECK(count.found == count.wanted);
    } else {
      CHECK(count.found > count.wanted / 10);
      CHECK(count.found < count.wanted);  // the cases hold some that must be refused
    }
  }
}

namespace {

// What is needed of operand 0 so that the result is in groups `wanted`; "none" if nothing is
// enough.
std::string source(const Move& move, Graph& graph, NodeId node, const Granularity& wanted) {
  REQUIRE(infer_shapes(graph).has_value());
  const auto groups = move.source(graph.ref(node), wanted);
  return groups ? groups->print() : "none";
}

}  // namespace

TEST_CASE("moves: scales of blocks are found where the operand's extent is open") {
  Graph graph;
  auto blocks = build::uniform({}, Granularity::per_block(0, 1));
  blocks->scales = build::floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const Value x = graph.add_input("x", build::quantized({2, Extent::open()}, blocks));
  const Value y = build::add(graph, "identity", {x}, build::f32({2, 3}));
  const auto moved =
      moved_type(*find_operation("identity")->move, graph.ref(y.node), 0, blocks->granularity);
  REQUIRE(moved);
  CHECK((*moved)->scales == blocks->scales);
}

TEST_CASE("moves: what would break a block, or share a scale, is refused") {
  Moved slice;
  add_node(slice, ops::Slice::kind,
           {data_of(slice, {12, 4}), integers(slice.graph, {6}), integers(slice.graph, {12}),
            integers(slice.graph, {0})});
  const auto sliced = [&](const Granularity& wanted) {
    return source(*find_operation("slice")->move, slice.graph, slice.node, wanted);
  };
  CHECK(sliced(Granularity::per_block(0, 3)) == "axis=0 block=3");  // 6 is the third block's begin
  CHECK(sliced(Granularity::per_block(0, 4)) == "none");
  CHECK(sliced(Granularity::per_block(1, 4)) == "axis=1 block=4");
  CHECK(sliced(Granularity::per_axis(0)) == "axis=0");

  Moved split;
  add_node(split, ops::Split::kind, {data_of(split, {12, 4}), integers(split.graph, {4, 6, 2})},
           {{"axis", std::int64_t{0}}}, 3);
  const auto parted = [&](const Granularity& wanted) {
    return source(*find_operation("split")->move, split.graph, split.node, wanted);
  };
  CHECK(parted(Granularity::per_block(0, 2)) == "axis=0 block=2");
  CHECK(parted(Granularity::per_block(0, 4)) == "none");  // the third part begins at 10
  CHECK(parted(Granularity::per_axis(0)) == "axis=0");

  Moved concat;
  data_of(concat, {4, 3});
  data_of(concat, {6, 3});
  add_node(concat, ops::Concat::kind, concat.data, {{"axis", std::int64_t{0}}});
  const auto joined = [&](const Granularity& wanted) {
    return source(*find_operation("concat")->move, concat.graph, concat.node, wanted);
  };
  CHECK(joined(Granularity::per_tensor()) == "none");  // each has a scale of its own
  CHECK(joined(Granularity::per_axis(1)) == "none");
  CHECK(joined(Granularity::per_axis(0)) == "axis=0");
  CHECK(joined(Granularity::per_block(0, 4)) == "axis=0 block=4");
  CHECK(joined(Granularity::per_block(0, 3)) == "none");

  Moved gather;
  const Value indices =
      gather.graph.add_input("indices", {ElementType::int64, Shape{2, 2}, nullptr});
  add_node(gather, ops::Gather::kind, {data_of(gather, {5, 6, 7}), indices},
           {{"axis", std::int64_t{1}}});
  const auto looked_up = [&](const Granularity& wanted) {
    return source(*find_operation("gather")->move, gather.graph, gather.node, wanted);
  };
  // 5x6x7 with 2x2 in the place of 6.
  CHECK(looked_up(Granularity::per_axis(0)) == "axis=0");
  CHECK(looked_up(Granularity::per_axis(1)) == "none");
  CHECK(looked_up(Granularity::per_axis(2)) == "none");
  CHECK(looked_up(Granularity::per_axis(3)) == "axis=2");
  CHECK(looked_up(Granularity::per_block(3, 7)) == "none");
}

TEST_CASE("moves: what is known at run time alone keeps one scale, and no more") {
  Moved slice;
  const TensorType one_integer{ElementType::int64, Shape{1}, nullptr};
  const Value starts = slice.graph.add_input("starts", one_integer);
  add_node(
      slice, ops::Slice::kind,
      {data_of(slice, {12, 4}), starts, integers(slice.graph, {12}), integers(slice.graph, {0})});
  const auto sliced = [&](const Granularity& wanted) {
    return source(*find_operation("slice")->move, slice.graph, slice.node, wanted);
  };
  CHECK(sliced(Granularity::per_axis(0)) == "none");
  CHECK(sliced(Granularity::per_tensor()) == "tensor");
  const auto type =
      numbered_type(Shape{12, 4}, Granularity::per_tensor(), ElementType::uint8, true, 7);
  slice.graph.set_type(slice.data[0], {ElementType::uint8, Shape{12, 4}, type});
  const auto moved = moved_type(*find_operation("slice")->move, slice.graph.ref(slice.node), 0,
                                Granularity::per_tensor());
  REQUIRE(moved.has_value());
  CHECK(**moved == *type);
}
