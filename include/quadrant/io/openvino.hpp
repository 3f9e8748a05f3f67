// OpenVINO's IR (https://docs.openvino.ai/2025/documentation/openvino-ir-format.html), versions 10
// and 11, to graphs and back: a model is an .xml file and the weights in a .bin file beside it.
//
// Operations become ONNX's, which they are computed by just so; one that has no counterpart is
// carried as `openvino.<opset>.<Type>`, and written as it came.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/diagnostics.hpp"
#include "quadrant/support/error.hpp"
#include "quadrant/support/files.hpp"

namespace quadrant::inline v0 {

struct OpenVinoReadOptions {
  Sink* sink = nullptr;  ///< receives notes about what was found and not kept; may be null
  FileTransaction* files = nullptr;  ///< hears of each file that is opened; may be null
  /// A .bin file that is a symbolic link to anywhere. False: as OnnxReadOptions says.
  bool follow_links = false;
};

/// Reads the model of the .xml file `path`. Contents of constants stay in the .bin file of the same
/// name and are read when they are needed; it must not change while the graph lives. Models without
/// constants need none.
///
/// - FakeQuantize becomes `fake_quantize`. The other way of writing a quantized weight, a constant
///   behind Convert, Subtract and Multiply, stays what it is.
/// - A float16 constant whose Convert says that it is a compressed float32 one is a float32
///   constant.
/// - A value has the first name of its port, else that of the layer; the other names are kept with
///   the graph, and so is what `rt_info` says of a layer.
///
/// Nothing in the files is trusted. Errors: `io` when a file cannot be read; `invalid_model` with
/// the layer for what is no well-formed IR.
[[nodiscard]] Expected<Graph> read_openvino(const std::string& path,
                                            const OpenVinoReadOptions& options = {});

/// The same of what is in both files; `bin` is copied. `name` stands for the .xml file in messages.
[[nodiscard]] Expected<Graph> parse_openvino(std::string_view xml, std::span<const std::byte> bin,
                                             const std::string& name = {},
                                             const OpenVinoReadOptions& options = {});

struct OpenVinoWriteOptions {
  Sink* sink = nullptr;  ///< receives what the report says, as notes; may be null
  /// The transaction that the files are added to, which puts them in place; null: at once.
  FileTransaction* files = nullptr;
};

/// What writing a model did beyond copying.
struct OpenVinoWriteReport {
  std::uint64_t xml_bytes = 0;
  std::uint64_t bin_bytes = 0;
  std::int64_t layers = 0;
  /// Operations that became several layers, and which.
  std::vector<LeftAlone> decomposed;
};

/// Writes `graph` as IR version 11: `path`, which ends in .xml, and the .bin file of the same name.
///
/// - `fake_quantize`, and a `quantize` that only a `dequantize` of the same type reads, become
///   FakeQuantize. A constant of codes becomes Const, Convert, Subtract and Multiply, which
///   OpenVINO takes for a quantized weight. Other conversions between codes and floats become
///   arithmetic that OpenVINO knows how to fuse.
/// - Operations that compute on codes, by their types, are written as those on floats between such
///   conversions: OpenVINO's own low-precision transformations find them again.
/// - Constants are float16 with a Convert where the model that was read had them so and nothing is
///   lost by it.
///
/// `impossible` when operations have no counterpart, with each reason and some of the nodes that it
/// is about. The files appear complete or not at all. Their names are fixed, so an old .xml file
/// goes before the .bin file changes, and the new one comes last: an .xml file never has another's
/// .bin.
[[nodiscard]] Expected<OpenVinoWriteReport> write_openvino(
    const Graph& graph, const std::string& path, const OpenVinoWriteOptions& options = {});

struct OpenVinoFiles {
  std::string xml;
  std::vector<std::byte> bin;
};

/// What `write_openvino` would write, all of it in memory. `report` gets what that returns, unless
/// it is null. `impossible` as there; what reading the graph's constants fails with.
[[nodiscard]] Expected<OpenVinoFiles> openvino_files(const Graph& graph,
                                                     const OpenVinoWriteOptions& options = {},
                                                     OpenVinoWriteReport* report = nullptr);

}  // namespace quadrant::inline v0
