// Graphs to files.
#include <filesystem>

#include "io/openvino/failure.hpp"
#include "io/openvino/lower.hpp"
#include "io/openvino/odd_codes.hpp"
#include "io/openvino/real_moves.hpp"
#include "ir/aliases.hpp"
#include "ir/explicit_formats.hpp"
#include "ir/explicit_windows.hpp"
#include "ir/put_in_place.hpp"
#include "numerics/quantize_constant.hpp"
#include "quadrant/io/openvino.hpp"
#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/support/files.hpp"

namespace quadrant::inline v0 {
namespace openvino_ir {
namespace {

/// Constants whose codes get another meaning are constants of that: OpenVINO has no such layer.
void fold_storage_casts(Graph& graph) {
  for (const NodeId node : value_of(topological_order(graph))) {
    if (graph.kind(node) != ops::StorageCast::kind) continue;
    const Constant* const codes = graph.ref(node).operand_constant(0);
    const TensorType type = graph.type({node});
    if (codes == nullptr || !*codes || codes->element() != type.element) continue;
    const Value made = graph.add_constant(std::string(graph.value_name({node})), *codes);
    graph.set_type(made, type);
    put_in_place(graph, node, made);
  }
}

/// As OpenVINO computes it: operations of ONNX's own domain, on real values, between conversions.
Graph prepared(const Graph& graph, Sink* sink) {
  Graph copy = graph;
  value_of(resolve_aliases(copy));
  fold_storage_casts(copy);
  value_of(quantize_constants_of_formats(copy));
  value_of(make_formats_explicit(copy, sink,
                                 [](const NumberCode& code, std::span<const std::int64_t> sums) {
                                   return has_codes(code, sums);
                                 }));
  make_quantization_explicit(copy);
  move_real_numbers(copy);
  widen_odd_codes(copy);
  value_of(detail::make_windows_explicit(copy));
  return copy;
}

}  // namespace
}  // namespace openvino_ir

Expected<OpenVinoFiles> openvino_files(const Graph& graph, const OpenVinoWriteOptions& options,
                                       OpenVinoWriteReport* report) {
  return openvino_ir::at_border("", [&] {
    OpenVinoWriteReport made;
    openvino_ir::Lowering lowering(openvino_ir::prepared(graph, options.sink), options, made);
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
    openvino_ir::Lowering lowering(openvino_ir::prepared(graph, options.sink), options, report);
    lowering.run();
    const std::string bin_path = std::filesystem::path(path).replace_extension(".bin").string();
    FilesOrOwn files(options.files);
    NewFile bin = openvino_ir::value_of(files->create(bin_path));
    lowering.weights().write(
        [&](std::span<const std::byte> bytes) { openvino_ir::value_of(bin.write(bytes)); });
    NewFile xml = openvino_ir::value_of(files->create(path));
    const std::string text = lowering.xml();
    openvino_ir::value_of(xml.write(std::as_bytes(std::span(text))));
    files->add_model(std::move(xml), std::move(bin), true);
    openvino_ir::value_of(files.finish());
    report.xml_bytes = text.size();
    report.bin_bytes = lowering.weights().size();
    return report;
  });
}

}  // namespace quadrant::inline v0
