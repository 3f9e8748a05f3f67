// Files to graphs.
#include "io/openvino/failure.hpp"
#include "io/openvino/raise.hpp"
#include "quadrant/io/openvino.hpp"

namespace quadrant::inline v0 {

namespace openvino_ir {
namespace {

Graph graph_of(std::string_view xml, Bin bin, const OpenVinoReadOptions& options) {
  const Net net(xml);
  return Raising(net, std::make_shared<const Bin>(std::move(bin)), options).run();
}

}  // namespace
}  // namespace openvino_ir

Expected<Graph> read_openvino(const std::string& path, const OpenVinoReadOptions& options) {
  return openvino_ir::at_border(path, [&] {
    const InputFile file = openvino_ir::value_of(InputFile::open(path, options.files));
    const std::string xml = openvino_ir::value_of(file.text(UINT64_MAX, "models"));
    return openvino_ir::graph_of(xml, openvino_ir::Bin(path, options), options);
  });
}

Expected<Graph> parse_openvino(std::string_view xml, std::span<const std::byte> bin,
                               const std::string& name, const OpenVinoReadOptions& options) {
  return openvino_ir::at_border(
      name, [&] { return openvino_ir::graph_of(xml, openvino_ir::Bin(bin), options); });
}

}  // namespace quadrant::inline v0
