// The layers of an .xml file, checked: ports that exist, edges between them, no cycles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <pugixml.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/ir/type.hpp"

namespace quadrant::inline v0::openvino_ir {

/// Of what is read and written.
inline constexpr std::int64_t largest_extent = std::int64_t{1} << 48U;

/// Where a layer gives or takes a tensor.
struct Port {
  std::int64_t id = 0;
  TensorType type;
  std::vector<std::string> names;  ///< of the tensor; of outputs alone
};

/// An output of a layer, by indices.
struct OutputRef {
  std::size_t layer = 0;
  std::size_t output = 0;
};

struct Layer {
  std::int64_t id = 0;
  std::string name;
  std::string type;     ///< `Convolution`
  std::string version;  ///< of the operation: `opset1`
  pugi::xml_node node;  ///< valid while the Net lives
  std::vector<Port> inputs;
  std::vector<Port> outputs;
  std::vector<std::optional<OutputRef>> sources;  ///< of each input
};

/// Text of an attribute `names`: separated by commas, of which those in a name follow a backslash.
[[nodiscard]] std::vector<std::string> split_names(std::string_view text);
[[nodiscard]] std::string join_names(const std::vector<std::string>& names);

/// Integers separated by commas, with or without blanks; empty for what is none.
[[nodiscard]] std::optional<std::vector<std::int64_t>> parse_integers(std::string_view text);
/// Of a Parameter or a Const: `1,3,?,-1,1..8`; an extent that is not one number is unknown, and the
/// rank is for `...`. Empty for what is no shape.
[[nodiscard]] std::optional<Shape> parse_shape(std::string_view text);

class Net {
 public:
  /// `invalid` for what is no IR of version 10 or 11.
  explicit Net(std::string_view xml);

  [[nodiscard]] int version() const noexcept { return version_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Whether float16 is only how numbers are stored, and types here are float32 instead: in version
  /// 10, whose models OpenVINO computes in whatever its device has. Not with bodies, whose types
  /// stay what they are.
  [[nodiscard]] bool stores_halves() const noexcept { return stores_halves_; }
  [[nodiscard]] const std::vector<Layer>& layers() const noexcept { return layers_; }
  /// Indices of the layers, producers before users; among those that could come next, in the order
  /// of the file.
  [[nodiscard]] const std::vector<std::size_t>& order() const noexcept { return order_; }
  /// What the file says of the whole model beside its layers.
  [[nodiscard]] std::vector<pugi::xml_node> extras() const;

 private:
  void read_layers(const pugi::xml_node& net);
  void read_edges(const pugi::xml_node& net);
  void sort();
  void widen();

  pugi::xml_document document_;
  int version_ = 0;
  std::string name_;
  bool stores_halves_ = false;
  std::vector<Layer> layers_;
  std::vector<std::size_t> order_;
};

/// What stands for a layer in messages: `layer 3 'conv1' (Convolution)`.
[[nodiscard]] std::string label_of(const Layer& layer);

/// An integer attribute; `invalid` where it is missing or none.
[[nodiscard]] std::int64_t required_integer(const pugi::xml_node& node, const char* attribute);
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view text);

}  // namespace quadrant::inline v0::openvino_ir
