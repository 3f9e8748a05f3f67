#include "quadrant/ir/mirror.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/list_ir.hpp"
#include "quadrant/ir/graph.hpp"

using namespace quadrant;

namespace {

void check_valid(const GraphView& view) {
  const auto valid = verify(view);
  CHECK_MESSAGE(valid.has_value(), to_string(valid ? Error{} : valid.error()));
}

Value find(const MirrorBase& mirror, std::string_view name) {
  return mirror.graph().find_value(name);
}

TensorType codes(const TensorType& real) {
  return symmetric_type(ElementType::int8, real.shape, Granularity::per_axis(0),
                        std::vector<float>(static_cast<std::size_t>(real.shape[0].value()), 0.5F));
}

// As a scheme makes them: computed of the old contents when they are read.
class Rounded final : public ConstantSource {
 public:
  explicit Rounded(Constant real) : real_(std::move(real)) {}
  [[nodiscard]] Expected<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    QUADRANT_TRY(const ConstantBytes bytes, real_.read());
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = static_cast<std::byte>(2 * static_cast<int>(bytes.as<float>()[offset + i]));
    }
    return {};
  }

 private:
  Constant real_;
};

}  // namespace

TEST_CASE("a mirror's view says what the IR says") {
  list_ir::Program program = list_ir::program();
  const list_ir::Adaptor mirror(program);
  const GraphView& view = mirror.view();
  check_valid(view);
  CHECK(view.index_bound() == 8);
  const NodeId two = mirror.id(5);
  CHECK(view.kind(two) == "list.two");
  CHECK(view.result_count(two) == 2);
  CHECK(view.value_name({two, 1}) == "d");
  CHECK(view.operands(mirror.id(6))[1] == Value{two, 1});
  REQUIRE(view.uses(mirror.id(1)).size() == 2);
  CHECK_FALSE(mirror.id(8).is_valid());
  // Contents where they lie, not a copy.
  const auto held = view.constant(mirror.id(1))->read();
  REQUIRE(held);
  CHECK(held->bytes().data() == program[1].contents->data());
}

TEST_CASE("an operand whose operation was not added before is named by verify") {
  list_ir::Program program = list_ir::program();
  std::swap(program[3], program[4]);  // `b` reads `a`, which comes behind it
  program[3].reads[0].op = 4;
  const list_ir::Adaptor mirror(program);
  const auto valid = verify(mirror.view());
  REQUIRE_FALSE(valid);
  CHECK(valid.error().code == ErrorCode::invalid_model);
  CHECK(valid.error().message.find("operand 0 is of an operation that was not added before") !=
        std::string::npos);
}

TEST_CASE("and so is one whose operation was never added") {
  list_ir::Program program = list_ir::program();
  const list_ir::Adaptor mirror(program);
  program[4].reads[1].op = 100;
  const auto valid = verify(mirror.view());
  REQUIRE_FALSE(valid);
  CHECK(valid.error().message == "operand 1 is of an operation that was not added before");
}

TEST_CASE("edits reach the IR, and the view follows") {
  list_ir::Program program = list_ir::program();
  list_ir::Adaptor mirror(program);
  const GraphView& view = mirror.view();
  const Value w = find(mirror, "w");
  const TensorType real = view.type(w);
  const TensorType type = codes(real);

  const auto source = std::make_shared<const Rounded>(*view.constant(w.node));
  const Constant made = Constant::deferred(ElementType::int8, real.shape, source);
  REQUIRE(mirror.set_constant(w.node, made, type.quantization));
  CHECK(program[1].contents->size() == 6);
  CHECK((*program[1].contents)[2] == std::byte{6});
  CHECK(to_string(program[1].results[0].type) == to_string(type));
  const auto held = view.constant(w.node)->read();
  REQUIRE(held);
  CHECK(held->bytes().data() == program[1].contents->data());

  const auto dequantize = mirror.emit(
      {.kind = std::string(ops::Dequantize::kind), .operands = {w}, .results = {{"w", real}}});
  REQUIRE(dequantize);
  CHECK(mirror.op(*dequantize) == 8);
  CHECK(program[8].results[0].name == "w_1");  // `w` is taken
  REQUIRE(mirror.set_value_name(w, "w_quantized"));
  REQUIRE(mirror.set_value_name({*dequantize}, "w"));
  CHECK(program[1].results[0].name == "w_quantized");
  CHECK(program[8].results[0].name == "w");
  REQUIRE(mirror.set_operand(mirror.id(5), 1, {*dequantize}));
  CHECK(program[5].reads[1].op == 8);
  CHECK(view.operands(mirror.id(5))[1] == Value{*dequantize});
  CHECK(view.uses(*dequantize).size() == 1);
  check_valid(view);

  // One result of two.
  const Value d{mirror.id(5), 1};
  REQUIRE(mirror.set_type(d, codes(view.type(d))));
  CHECK(program[5].results[1].type.is_quantized());
  CHECK_FALSE(program[5].results[0].type.is_quantized());
  CHECK(view.type(d).is_quantized());
}

TEST_CASE("what is not held any more is let go") {
  list_ir::Program program = list_ir::program();
  list_ir::Adaptor mirror(program);
  const std::weak_ptr<const std::vector<std::byte>> floats = program[1].contents;
  const Value w = find(mirror, "w");
  const TensorType type = codes(mirror.view().type(w));
  {
    const auto source = std::make_shared<const Rounded>(*mirror.view().constant(w.node));
    REQUIRE(mirror.set_constant(w.node, Constant::deferred(ElementType::int8, {3, 2}, source),
                                type.quantization));
  }
  CHECK(floats.expired());
}

TEST_CASE("an operation that goes leaves its number to another") {
  list_ir::Program program = list_ir::program();
  list_ir::Adaptor mirror(program);
  const Value a = find(mirror, "a");
  const NodeSpec spec{.kind = std::string(ops::Transpose::kind),
                      .operands = {a},
                      .results = {{"t", {ElementType::float32, {2, 4}, nullptr}}},
                      .attributes = {{"perm", std::vector<std::int64_t>{1, 0}}}};
  const auto first = mirror.emit(spec);
  REQUIRE(first);
  CHECK(mirror.view().uses(a.node).size() == 3);
  REQUIRE(mirror.erase(*first));
  CHECK(program[8].kind.empty());
  CHECK_FALSE(mirror.id(8).is_valid());
  CHECK(mirror.view().uses(a.node).size() == 2);
  const auto second = mirror.emit(spec);
  REQUIRE(second);
  CHECK(second->index == first->index);
  CHECK(*second != *first);
  CHECK(mirror.op(*second) == 9);
  CHECK(mirror.view().value_name({*second}) == "t");  // which is free again
  CHECK(mirror.view().attribute(*second, "perm") != nullptr);
  check_valid(mirror.view());
}

TEST_CASE("what is refused changes neither") {
  list_ir::Program program = list_ir::program();
  list_ir::Adaptor mirror(program);
  const Value a = find(mirror, "a");
  const Value w = find(mirror, "w");
  TensorType half = mirror.view().type(a);
  half.element = ElementType::float16;
  const auto is_impossible = [](const auto& done) {
    return !done && done.error().code == ErrorCode::impossible;
  };
  CHECK(is_impossible(mirror.set_type(a, half)));
  const Constant halves =
      Constant::from_vector(ElementType::float16, {3, 2}, std::vector<std::uint16_t>(6));
  CHECK(is_impossible(mirror.set_constant(w.node, halves, nullptr)));
  CHECK(is_impossible(mirror.emit(
      {.kind = std::string(ops::Transpose::kind), .operands = {a}, .results = {{"t", half}}})));
  CHECK(is_impossible(mirror.emit({.kind = std::string(ops::Multiply::kind),
                                   .operands = {a, a},
                                   .results = {{"t", mirror.view().type(a)}}})));
  CHECK(is_impossible(mirror.emit({.kind = std::string(ops::Transpose::kind), .operands = {a}})));
  CHECK(program.size() == 8);
  CHECK(mirror.view().index_bound() == 8);
  CHECK(mirror.view().type(a).element == ElementType::float32);
  CHECK(mirror.view().constant(w.node)->element() == ElementType::float32);
  check_valid(mirror.view());
  REQUIRE(mirror.view().capabilities() != nullptr);
  CHECK(is_impossible(mirror.view().capabilities()->can_hold(half)));
}

namespace {

// Names are nothing to this one.
class Nameless final : public list_ir::Adaptor {
 public:
  explicit Nameless(list_ir::Program& program) : Adaptor(program) {}

 private:
  void rename(Value /*value*/, const std::string& /*name*/) override {}
};

}  // namespace

TEST_CASE("an IR without names gets some") {
  list_ir::Program program = list_ir::program();
  for (list_ir::Op& op : program) {
    for (ResultSpec& result : op.results) result.name.clear();
  }
  Nameless mirror(program);
  CHECK(find(mirror, "constant").node == mirror.id(1));
  CHECK(find(mirror, "constant_1").node == mirror.id(2));
  CHECK(find(mirror, "list.two_1") == Value{mirror.id(5), 1});
  REQUIRE(mirror.set_value_name({mirror.id(1)}, "weight"));
  CHECK(mirror.view().value_name({mirror.id(1)}) == "weight");
  CHECK(program[1].results[0].name.empty());
  check_valid(mirror.view());
}

TEST_CASE("the IR that changes behind the mirror's back is seen") {
  const auto fault = [](auto change) {
    list_ir::Program program = list_ir::program();
    const list_ir::Adaptor mirror(program);
    change(program);
    const auto same = mirror.check_view();
    return same ? std::string() : to_string(same.error());
  };
  CHECK(fault([](list_ir::Program&) {}).empty());
  CHECK(fault([](list_ir::Program& p) { p[4].reads[0].op = 0; }).find("'b'") != std::string::npos);
  CHECK(fault([](list_ir::Program& p) { p[4].reads.pop_back(); }) != "");
  CHECK(fault([](list_ir::Program& p) { p[5].results.pop_back(); }) != "");
  CHECK(fault([](list_ir::Program& p) { p[6].kind = "sub"; }) != "");
  CHECK(fault([](list_ir::Program& p) { p[6].results[0].name = "f"; }).find("'f'") !=
        std::string::npos);
  CHECK(fault([](list_ir::Program& p) { p[6].results[0].type.shape = Shape{8}; }) != "");
  CHECK(fault([](list_ir::Program& p) { p[6].results[0].type = codes(p[6].results[0].type); }) !=
        "");
}

TEST_CASE("its graph is one of its own, that outlives it") {
  list_ir::Program program = list_ir::program();
  Graph graph;
  {
    const list_ir::Adaptor mirror(program);
    graph = mirror.graph();
  }
  program.clear();
  CHECK(graph.capabilities() == nullptr);
  CHECK(graph.node_count() == 8);
  check_valid(graph);
}

namespace {

class Looping final : public list_ir::Adaptor {
 public:
  explicit Looping(list_ir::Program& program) : Adaptor(program) { keep_one_type({id(3), id(5)}); }
};

}  // namespace

TEST_CASE("operands and results that have one type are a group") {
  list_ir::Program program = list_ir::program();
  Looping mirror(program);
  REQUIRE(mirror.set_operand(mirror.id(3), 1, {mirror.id(2)}));  // as they are then
  const auto groups = mirror.view().capabilities()->of_one_type();
  REQUIRE(groups.size() == 1);
  CHECK(groups.front() == std::vector<Value>{{mirror.id(0)},
                                             {mirror.id(2)},
                                             {mirror.id(3)},
                                             {mirror.id(3)},
                                             {mirror.id(1)},
                                             {mirror.id(5)},
                                             {mirror.id(5), 1}});
}
