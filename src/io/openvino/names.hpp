// What is kept of an IR that a graph of ONNX's operations has no place for, and under which names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "quadrant/ir/graph_view.hpp"

namespace quadrant::inline v0::openvino_ir {

/// The operator set of graphs that were read: every operation below is of at most this version.
inline constexpr std::int64_t read_opset = 21;

// --- operations that are carried ----------------------------------------------------------------

/// `openvino.opset8.DetectionOutput`
inline constexpr std::string_view kind_prefix = "openvino.";

struct CarriedKind {
  std::string version;
  std::string type;
};
[[nodiscard]] inline std::string carried_kind(const CarriedKind& kind) {
  return std::string(kind_prefix) + kind.version + '.' + kind.type;
}
/// Empty for another kind.
[[nodiscard]] inline std::optional<CarriedKind> parse_carried_kind(std::string_view kind) {
  if (!kind.starts_with(kind_prefix)) return std::nullopt;
  kind.remove_prefix(kind_prefix.size());
  const std::size_t dot = kind.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  return CarriedKind{std::string(kind.substr(0, dot)), std::string(kind.substr(dot + 1))};
}

/// What a layer has beside its ports: `<data>`, bodies of loops, ...; an Opaque of that format.
inline constexpr std::string_view layer_key = "openvino.layer";
inline constexpr std::string_view xml_format = "openvino.xml";
/// Contents that constants in these bodies have: `openvino.bytes.<n>`, where the attribute `offset`
/// of the constant is n.
inline constexpr std::string_view bytes_key = "openvino.bytes.";

// --- of the graph -------------------------------------------------------------------------------

inline constexpr std::string_view model_name_key = "openvino.model_name";
/// The elements of `<net>` beside layers and edges, an Opaque of `xml_format`.
inline constexpr std::string_view extras_key = "openvino.extras";
/// Pairs: a value's name, and all names of its tensor as the file lists them.
inline constexpr std::string_view tensor_names_key = "openvino.tensor_names";
/// Pairs: the name of a layer, and its `<rt_info>`.
inline constexpr std::string_view layer_info_key = "openvino.layer_info";
/// Pairs: the name of an input, and its shape as the file has it, with bounds of open extents.
inline constexpr std::string_view input_shapes_key = "openvino.input_shapes";
/// 1 where float32 constants were stored as float16.
inline constexpr std::string_view compressed_key = "openvino.compressed";

}  // namespace quadrant::inline v0::openvino_ir
