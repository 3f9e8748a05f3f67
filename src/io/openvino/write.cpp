// Graphs to files.
#include <filesystem>

#include "io/openvino/failure.hpp"
#include "io/openvino/lower.hpp"
#include "io/openvino/real_moves.hpp"
#include "quadrant/io/openvino.hpp"
#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/shape_inference.hpp"
#include "quadrant/support/new_file.hpp"

namespace quadrant::inline v0 {
namespace openvino_ir {
namespace {

/// The ranks of reshapes to shapes that are computed: as many as these have numbers. Returns
/// whether one was not known.
bool rank_reshapes(Graph& graph) {
  bool is_new = false;
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    if (!node.is_valid() || graph.kind(node) != ops::Reshape::kind) continue;
    const TensorType* const list = graph.ref(node).operand_type(1);
    TensorType type = graph.type({node});
    constexpr std::int64_t most_dimensions = 64;
    const bool is_known = list != nullptr && list->shape.rank() == 1 && list->shape.is_static() &&
                          list->shape[0].value() <= most_dimensions;
    if (type.shape.is_ranked() || !is_known) continue;
    type.shape =
        Shape(std::vector(static_cast<std::size_t>(list->shape[0].value()), Extent::open()));
    graph.set_type({node}, std::move(type));
    is_new = true;
  }
  return is_new;
}

/// As OpenVINO computes it: on real values, between conversions.
Graph prepared(const Graph& graph) {
  Graph copy = graph;
  make_quantization_explicit(copy);
  move_real_numbers(copy);
  value_of(infer_shapes(copy));
  if (rank_reshapes(copy)) value_of(infer_shapes(copy));
  return copy;
}

}  // namespace
}  // namespace openvino_ir

Expected<OpenVinoFiles> openvino_files(const Graph& graph, const OpenVinoWriteOptions& options,
                                       OpenVinoWriteReport* report) {
  return openvino_ir::at_border("", [&] {
    OpenVinoWriteReport made;
    openvino_ir::Lowering lowering(openvino_ir::prepared(graph), options, made);
    lowering.run();
    OpenVinoFiles files{lowering.xml(), {}};
    lowering.weights().write([&](std::span<const std::byte> bytes) {
      files.bin.insert(files.bin.end(), bytes.begin(), bytes.end());
    });
    made.xml_bytes = files.xml.size();
    made.bin_bytes = files.bin.size();
    if (report) *report = std::move(made);
    return files;
  });
}

Expected<OpenVinoWriteReport> write_openvino(const Graph& graph, const std::string& path,
                                             const OpenVinoWriteOptions& options) {
  return openvino_ir::at_border(path, [&] {
    if (std::filesystem::path(path).extension() == ".bin") {
      openvino_ir::impossible("this would be the file of the weights: name the .xml file");
    }
    OpenVinoWriteReport report;
    openvino_ir::Lowering lowering(openvino_ir::prepared(graph), options, report);
    lowering.run();
    const std::string bin_path = std::filesystem::path(path).replace_extension(".bin").string();
    NewFile bin = openvino_ir::value_of(NewFile::create(bin_path));
    lowering.weights().write(
        [&](std::span<const std::byte> bytes) { openvino_ir::value_of(bin.write(bytes)); });
    NewFile xml = openvino_ir::value_of(NewFile::create(path));
    const std::string text = lowering.xml();
    openvino_ir::value_of(xml.write(std::as_bytes(std::span(text))));
    openvino_ir::value_of(bin.commit());
    if (auto committed = xml.commit(); !committed) {
      bin.withdraw();
      throw openvino_ir::Failure{std::move(committed).error()};
    }
    report.xml_bytes = text.size();
    report.bin_bytes = lowering.weights().size();
    return report;
  });
}

}  // namespace quadrant::inline v0
