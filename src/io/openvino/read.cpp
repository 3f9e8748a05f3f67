// Files to graphs.
#include <filesystem>

#include "io/openvino/failure.hpp"
#include "io/openvino/raise.hpp"
#include "quadrant/io/openvino.hpp"

namespace quadrant::inline v0 {

Expected<Graph> read_openvino(const std::string& path, const OpenVinoReadOptions& options) {
  return openvino_ir::at_border(path, [&] {
    const InputFile file = openvino_ir::value_of(InputFile::open(path));
    std::string xml(file.size(), '\0');
    openvino_ir::value_of(file.read(0, std::as_writable_bytes(std::span(xml))));
    const std::string bin = std::filesystem::path(path).replace_extension(".bin").string();
    const openvino_ir::Net net(xml);
    return openvino_ir::Raising(net, std::make_shared<openvino_ir::Bin>(bin), options).run();
  });
}

Expected<Graph> parse_openvino(std::string_view xml, std::span<const std::byte> bin,
                               const std::string& name, const OpenVinoReadOptions& options) {
  return openvino_ir::at_border(name, [&] {
    const openvino_ir::Net net(xml);
    return openvino_ir::Raising(net, std::make_shared<openvino_ir::Bin>(bin), options).run();
  });
}

}  // namespace quadrant::inline v0
