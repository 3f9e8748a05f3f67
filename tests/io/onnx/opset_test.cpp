// Models that are converted to a later opset. What comes out is run in tests/peers.
#include "io/onnx/opset.hpp"

#include "io/onnx/opset_rules.hpp"
#include "model_helpers.hpp"

using namespace onnx_test;
using onnx::upgrade;

namespace {

/// y = op(x), with x[2,6,4].
Graph model_with(const Folder& folder, const Fields& tested, std::int64_t opset) {
  return read_bytes(folder, model({.nodes = {tested},
                                   .initializers = {},
                                   .inputs = {value_info("x", {2, 6, 4})},
                                   .outputs = {value_info("y", {-1, -1, -1})},
                                   .value_infos = {}},
                                  opset));
}

Fields ints_attribute(std::string_view name, const std::vector<std::int64_t>& values) {
  Fields fields = Fields().text(1, name);
  for (const std::int64_t value : values) fields.integer(8, value);
  return fields.integer(20, 7);
}

NodeRef maker_of(const Graph& graph, std::string_view value) {
  return graph.ref(graph.find_value(value).node);
}

}  // namespace

TEST_CASE("an operator changes in the step that its opset lies below") {
  const Folder folder;
  const auto axes = std::vector<std::int64_t>{0, 2};
  const Fields mean = node("ReduceMean", {"x"}, {"y"}).message(5, ints_attribute("axes", axes));
  for (const std::int64_t opset : {7, 13, 17}) {
    CAPTURE(opset);
    Graph graph = model_with(folder, mean, opset);
    CHECK(upgrade(graph, 13).empty());
    CHECK(maker_of(graph, "y").attribute_or<std::vector<std::int64_t>>("axes", {}) == axes);
    CHECK(upgrade(graph, 21).empty());
    CHECK(maker_of(graph, "y").graph->attribute(maker_of(graph, "y").id, "axes") == nullptr);
    REQUIRE(maker_of(graph, "y").operand_constant(1));
    CHECK(values_of<std::int64_t>(*maker_of(graph, "y").operand_constant(1)) == axes);
  }
}

TEST_CASE("and in both: Split") {
  const Folder folder;
  Graph sizes = model_with(
      folder, node("Split", {"x"}, {"y", "z"}).message(5, ints_attribute("split", {1, 1})), 11);
  CHECK(upgrade(sizes, 21).empty());
  CHECK(values_of<std::int64_t>(*maker_of(sizes, "y").operand_constant(1)) ==
        std::vector<std::int64_t>{1, 1});
  CHECK(maker_of(sizes, "y").attribute_or<std::int64_t>("num_outputs", -1) == -1);

  Graph equal = model_with(folder, node("Split", {"x"}, {"y", "z"}), 11);
  CHECK(upgrade(equal, 21).empty());
  CHECK(maker_of(equal, "y").attribute_or<std::int64_t>("num_outputs", -1) == 2);
}

TEST_CASE("a model that is there already is left alone") {
  const Folder folder;
  const Fields mode = Fields().text(1, "mode").text(4, "bilinear").integer(20, 3);
  const Fields sample = node("GridSample", {"x", "x"}, {"y"}).message(5, mode);
  Graph graph = model_with(folder, sample, 21);
  CHECK(upgrade(graph, 21).empty());
  CHECK(upgrade(graph, 13).empty());
  CHECK(maker_of(graph, "y").attribute_or<std::string>("mode", {}) == "bilinear");
  Graph older = model_with(folder, sample, 19);
  CHECK(upgrade(older, 21).empty());
  CHECK(maker_of(older, "y").attribute_or<std::string>("mode", {}) == "linear");
}

TEST_CASE("defaults that changed are written") {
  const Folder folder;
  const Fields align = node("RoiAlign", {"x", "x", "x"}, {"y"});
  constexpr std::string_view mode = "coordinate_transformation_mode";
  for (const std::int64_t opset : {10, 15, 16, 20}) {
    CAPTURE(opset);
    Graph graph = model_with(folder, align, opset);
    CHECK(upgrade(graph, 21).empty());
    CHECK(maker_of(graph, "y").attribute_or<std::string>(mode, {}) ==
          (opset < 16 ? "output_half_pixel" : ""));
  }
}

TEST_CASE("BatchNormalization: statistics that nobody reads are left out") {
  const Folder folder;
  const auto normalization = [&](bool used) {
    GraphParts parts{
        .nodes = {node("BatchNormalization", {"x", "s", "s", "s", "s"}, {"y", "mean", "var"})},
        .initializers = {floats("s", {6}, {1, 2, 3, 4, 5, 6})},
        .inputs = {value_info("x", {2, 6, 4})},
        .outputs = {value_info("y", {2, 6, 4})},
        .value_infos = {}};
    if (used) parts.nodes.push_back(node("Relu", {"var"}, {"z"}));
    return read_bytes(folder, model(parts, 9));
  };
  Graph unused = normalization(false);
  CHECK(upgrade(unused, 13).empty());
  CHECK(unused.result_count(unused.find_value("y").node) == 3);
  CHECK(upgrade(unused, 21).empty());
  CHECK(unused.result_count(unused.find_value("y").node) == 1);
  Graph used = normalization(true);
  CHECK(upgrade(used, 13).empty());
  CHECK(contains(upgrade(used, 21), "statistics"));
  CHECK(used.result_count(used.find_value("y").node) == 3);
}

TEST_CASE("what cannot be converted, by name, and the graph is as it was") {
  const Folder folder;
  const auto refusal = [&](const Fields& tested, std::int64_t opset, std::int64_t target) {
    Graph graph = model_with(folder, tested, opset);
    const std::uint32_t nodes = graph.node_count();
    std::string why = upgrade(graph, target);
    CHECK(graph.node_count() == nodes);
    return why;
  };
  CHECK(contains(refusal(node("Mystery", {"x"}, {"y"}, "who"), 14, 21),
                 "Mystery has no conversion to opset 21"));
  CHECK(contains(refusal(node("Mystery", {"x"}, {"y"}, "who"), 14, 21), "who"));
  const Fields body = Fields().text(1, "b").message(6, Fields()).integer(20, 5);
  CHECK(contains(refusal(node("Loop", {"x"}, {"y"}).message(5, body), 14, 21), "has subgraphs"));
  const Fields groups = node("GroupNormalization", {"x", "x", "x"}, {"y"});
  CHECK(contains(refusal(groups, 18, 21), "6 channels in 0 groups"));
  CHECK(contains(refusal(Fields(groups).message(5, int_attribute("num_groups", 4)), 18, 21),
                 "6 channels in 4 groups"));
  CHECK(contains(
      refusal(node("GroupNormalization", {"x"}, {"y"}).message(5, int_attribute("num_groups", 2)),
              18, 21),
      "no scale"));
  const Fields pool = node("AveragePool", {"x"}, {"y"})
                          .message(5, int_attribute("count_include_pad", 1))
                          .message(5, int_attribute("ceil_mode", 1));
  CHECK(contains(refusal(pool, 18, 21), "padding"));
  for (const std::int64_t axis : {std::int64_t{4}, std::int64_t{-4}, INT64_MIN}) {
    const Fields softmax = node("Softmax", {"x"}, {"y"}).message(5, int_attribute("axis", axis));
    CHECK(contains(refusal(softmax, 12, 13), "of 3 dimensions"));
  }
  CHECK(refusal(pool, 19, 21).empty());
}

TEST_CASE("ir versions") {
  // https://github.com/onnx/onnx/blob/main/docs/Versioning.md#released-versions
  CHECK(onnx::ir_version_for_opset(13) == 7);
  CHECK(onnx::ir_version_for_opset(21) == 10);
  CHECK(onnx::ir_version_for_opset(23) == 11);
  CHECK(onnx::ir_version_for_opset(24) == 12);
  CHECK(onnx::ir_version_for_opset(25) == 13);
  CHECK(onnx::ir_version_for_opset(27) == 13);
  CHECK(onnx::ir_version_for_opset(28) == 14);
}
