// One file of cases for each operation: tests/runtime/ops/<name>.txt.
//
// A case is a graph in text form (include/quadrant/ir/text.hpp) whose operands are constants.
// `expect(%y, %want)` compares; reals within the attribute `tolerance`, relative to the larger of 1
// and the wanted value, 1e-6 by default; everything else, infinities and NaN exactly. A declared
// shape and element type of %y is held to be that of the result. `refused(%y) {message = "..."}`
// says that computing %y fails with a message that contains this. `graph {opset = 11}` is the
// version of ONNX's operators, the newest without it.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>

#include "ir/float16.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/text.hpp"
#include "quadrant/numerics/encode.hpp"
#include "quadrant/runtime/interpreter.hpp"
#include "runtime/case_graphs.hpp"

using namespace quadrant;

namespace {

std::vector<std::filesystem::path> case_files() {
  std::vector<std::filesystem::path> files;
  const std::filesystem::path folder(QUADRANT_SOURCE_DIR "/tests/runtime/ops");
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

double real_at(const Tensor& tensor, std::size_t i) {
  switch (tensor.element()) {
    case ElementType::float16:
      return widen_float16(tensor.as<std::uint16_t>()[i]);
    case ElementType::bfloat16:
      return widen_bfloat16(tensor.as<std::uint16_t>()[i]);
    case ElementType::float64:
      return tensor.as<double>()[i];
    default:
      return tensor.as<float>()[i];
  }
}

bool near(double actual, double wanted, double tolerance) {
  if (std::isnan(wanted)) return std::isnan(actual);
  if (std::isinf(wanted)) return actual == wanted;
  return std::abs(actual - wanted) <= tolerance * std::max(1.0, std::abs(wanted));
}

void check_equal(const Tensor& actual, const Tensor& wanted, double tolerance) {
  REQUIRE(to_string(actual.element()) == to_string(wanted.element()));
  REQUIRE(to_string(actual.shape()) == to_string(wanted.shape()));
  if (!is_float(actual.element())) {
    for (std::size_t i = 0; i < actual.bytes().size(); ++i) {
      CAPTURE(i);
      REQUIRE(static_cast<int>(actual.bytes()[i]) == static_cast<int>(wanted.bytes()[i]));
    }
    return;
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(actual.element_count()); ++i) {
    const double got = real_at(actual, i);
    const double want = real_at(wanted, i);
    CAPTURE(i);
    CAPTURE(got);
    CAPTURE(want);
    REQUIRE(near(got, want, tolerance));
  }
}

Expected<Tensor> compute(const Graph& graph, Value value) {
  QUADRANT_TRY(const auto model, Interpreter().load(graph, std::array{value}));
  QUADRANT_TRY(auto results, run_model(*model, {}, 1));
  return results[0];
}

void check_node(const Graph& graph, NodeId node) {
  const NodeRef ref = graph.ref(node);
  const Value value = ref.operand(0);
  const Expected<Tensor> result = compute(graph, value);
  if (ref.kind() == "refused") {
    REQUIRE(!result);
    const auto message = ref.attribute_or<std::string>("message", "no message is given");
    INFO(result.error().message);
    CHECK(result.error().message.find(message) != std::string::npos);
    return;
  }
  INFO((result ? "" : to_string(result.error())));
  REQUIRE(result);
  const auto wanted = compute(graph, ref.operand(1));
  REQUIRE(wanted);
  check_equal(*result, *wanted, ref.attribute_or("tolerance", 1e-6));
  const TensorType& declared = graph.type(value);
  CHECK(to_string(declared.element) == to_string(result->element()));
  if (declared.shape.is_static()) CHECK(to_string(declared.shape) == to_string(result->shape()));
}

// How many checks the graph has.
int check_graph(const std::string& text) {
  CAPTURE(text);
  auto graph = parse_graph(text);
  REQUIRE_MESSAGE(graph, (graph ? "" : to_string(graph.error())));
  test::set_opset(*graph, *graph);
  int checks = 0;
  for (std::uint32_t i = 0; i < graph->index_bound(); ++i) {
    const NodeId node = graph->node_at(i);
    if (!node.is_valid()) continue;
    if (graph->kind(node) != "expect" && graph->kind(node) != "refused") continue;
    check_node(*graph, node);
    ++checks;
  }
  return checks;
}

}  // namespace

TEST_CASE("operations compute what their case files say") {
  for (const std::filesystem::path& path : case_files()) {
    SUBCASE(path.stem().c_str()) {
      const auto graphs = test::graphs_of(path);
      CHECK(!graphs.empty());
      for (const std::string& text : graphs) CHECK(check_graph(text) > 0);
    }
  }
}

namespace {

using Bytes = std::vector<std::string>;

// One string of bytes for each element, in row-major order.
Bytes elements_of(const Tensor& tensor) {
  const auto width = static_cast<std::size_t>(std::max(bit_width(tensor.element()) / 8, 1));
  Bytes elements;
  for (std::size_t i = 0; i + width <= tensor.bytes().size(); i += width) {
    const auto part = tensor.bytes().subspan(i, width);
    elements.emplace_back(reinterpret_cast<const char*>(part.data()), part.size());
  }
  return elements;
}

// What the computed result says of the traits of the node that made it.
std::map<Trait, bool> observed(const NodeRef& node, const Tensor& data, const Tensor& result) {
  Bytes from = elements_of(data);
  Bytes to = elements_of(result);
  std::map<Trait, bool> holds;
  holds[Trait::keeps_shape] = data.shape() == result.shape();
  holds[Trait::keeps_order] = from == to && data.element() == result.element();
  std::ranges::sort(from);
  std::ranges::sort(to);
  holds[Trait::keeps_elements] = from == to && data.element() == result.element();
  holds[Trait::takes_elements] =
      data.element() == result.element() && std::ranges::all_of(to, [&](const auto& each) {
        return std::ranges::binary_search(from, each);
      });
  if (is_float(data.element()) && data.element() == result.element()) {
    double low = 0;
    double high = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(data.element_count()); ++i) {
      low = std::min(low, real_at(data, i));
      high = std::max(high, real_at(data, i));
    }
    const double slack = 1e-6 * std::max(high, -low);
    bool& stays = holds.try_emplace(Trait::stays_in_range, true).first->second;
    for (std::size_t i = 0; i < static_cast<std::size_t>(result.element_count()); ++i) {
      const double real = real_at(result, i);
      stays = stays && (std::isnan(real) || (low - slack <= real && real <= high + slack));
    }
  }
  std::vector<std::int64_t> common;  // from the last axis on
  for (std::size_t i = 0; i < node.operands().size(); ++i) {
    const TensorType* const type = node.operand_type(i);
    if (type == nullptr || !type->shape.is_static()) continue;
    const auto extents = type->shape.known_extents();
    common.resize(std::max(common.size(), extents.size()), 1);
    for (std::size_t axis = 0; axis < extents.size(); ++axis) {
      std::int64_t& extent = common[axis];
      if (extent == 1) extent = extents[extents.size() - 1 - axis];
    }
  }
  std::ranges::reverse(common);
  holds[Trait::stretches] = Shape(common) == result.shape();
  return holds;
}

}  // namespace

TEST_CASE("what the table of operations says of them is what they do") {
  std::map<std::string, std::set<Trait>> seen;
  for (const std::filesystem::path& path : case_files()) {
    for (const std::string& text : test::graphs_of(path)) {
      const auto graph = parse_graph(text);
      REQUIRE(graph);
      for (std::uint32_t i = 0; i < graph->index_bound(); ++i) {
        const NodeId id = graph->node_at(i);
        if (!id.is_valid() || graph->kind(id) != "expect") continue;
        const Value made = graph->ref(id).operand(0);
        const NodeRef node = graph->ref(made.node);
        const Operation* const operation = find_operation(node.kind());
        if (operation == nullptr || node.operand(0).is_absent() || made.result != 0) continue;
        const auto data = compute(*graph, node.operand(0));
        const auto result = compute(*graph, made);
        if (!data || !result) continue;
        CAPTURE(text);
        const Traits claimed = traits_of(node);
        for (const auto& [trait, holds] : observed(node, *data, *result)) {
          if (!claimed.contains(trait)) continue;
          CAPTURE(static_cast<int>(trait));
          CHECK(holds);
          seen[std::string(operation->kind)].insert(trait);
        }
      }
    }
  }
  CHECK(seen.size() > 70);  // operations with a trait, and a case that shows it
}

TEST_CASE("every operation that is computed has a row in the table") {
  for (const KernelEntry& entry : Interpreter::kernels()) {
    CAPTURE(entry.kind);
    CHECK(find_operation(entry.kind) != nullptr);
  }
}

TEST_CASE("every operation has a case file of its name, and every file an operation") {
  std::vector<std::string> files;
  for (const auto& path : case_files()) files.push_back(path.stem());
  std::vector<std::string> kinds;
  for (const KernelEntry& entry : Interpreter::kernels()) {
    std::string name(entry.kind);
    std::ranges::replace(name, ':', '_');
    kinds.push_back(std::move(name));
  }
  std::ranges::sort(kinds);
  std::vector<std::string> odd;
  std::ranges::set_symmetric_difference(files, kinds, std::back_inserter(odd));
  CHECK(fmt::format("{}", fmt::join(odd, "\n")) == "");
}
