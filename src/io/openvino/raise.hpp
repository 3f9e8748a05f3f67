// IRs to graphs: what the rules of all layers share.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "io/openvino/bin.hpp"
#include "io/openvino/net.hpp"
#include "quadrant/io/openvino.hpp"
#include "quadrant/ir/graph.hpp"

namespace quadrant::inline v0::openvino_ir {

class Raising;

/// One layer, as a rule reads it and makes nodes of it. What fails names the layer.
///
/// Attributes that are asked for count as understood: others, of a layer that a rule takes, are
/// reported.
class RaisedLayer {
 public:
  RaisedLayer(Raising& raising, const Layer& layer, std::size_t index)
      : raising_(raising), layer_(layer), index_(index) {}

  [[nodiscard]] const Layer& layer() const noexcept { return layer_; }
  [[nodiscard]] std::size_t index() const noexcept { return index_; }
  [[nodiscard]] std::string_view type() const noexcept { return layer_.type; }

  // --- attributes of <data> ---------------------------------------------------------------------
  // Without the attribute: the fallback, or nothing. `invalid` for text of another form.
  [[nodiscard]] std::optional<std::string> text(const char* name);
  [[nodiscard]] std::string text(const char* name, std::string_view fallback) {
    return text(name).value_or(std::string(fallback));
  }
  [[nodiscard]] std::optional<std::int64_t> integer(const char* name);
  [[nodiscard]] std::int64_t integer(const char* name, std::int64_t fallback) {
    return integer(name).value_or(fallback);
  }
  [[nodiscard]] double real(const char* name, double fallback);
  [[nodiscard]] bool flag(const char* name, bool fallback);
  [[nodiscard]] std::vector<std::int64_t> integers(const char* name);
  /// An element type; `undefined` without the attribute.
  [[nodiscard]] ElementType element(const char* name);

  // --- operands ---------------------------------------------------------------------------------
  [[nodiscard]] std::size_t input_count() const noexcept { return layer_.inputs.size(); }
  /// `invalid` where there is no such input, or no edge to it.
  [[nodiscard]] Value input(std::size_t index) const;
  [[nodiscard]] bool has_input(std::size_t index) const noexcept;
  // By value: nodes that are added move the graph's own.
  [[nodiscard]] TensorType type_of(Value value) const;
  [[nodiscard]] Shape shape_of(Value value) const { return type_of(value).shape; }
  /// The node that `value` comes from.
  [[nodiscard]] NodeRef producer(Value value) const;
  /// Empty where the input is computed, or is a constant that is only carried.
  [[nodiscard]] Constant constant(std::size_t input) const;
  /// Contents of a constant input, which is a short list of integers.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> constant_integers(std::size_t input) const;
  /// The number that a constant input of one element is.
  [[nodiscard]] std::optional<double> constant_number(std::size_t input) const;

  // --- results ----------------------------------------------------------------------------------
  [[nodiscard]] const TensorType& result_type(std::size_t output = 0) const;
  /// Whether another layer reads it.
  [[nodiscard]] bool is_read(std::size_t output) const;
  /// The layer's results are those of a node of `kind`, which gets its name.
  void make(std::string_view kind, std::vector<Value> operands, Attributes attributes = {});
  /// Result 0 is `value`, which was there before: it keeps its name, and has this one's, too.
  void alias(Value value);
  /// The same for a value that is there for this layer alone: the last step. It gets the name.
  void finish(Value value, std::size_t output = 0);
  /// A node on the way, with one result. `ending` tells its name from the layer's.
  [[nodiscard]] Value step(std::string_view kind, std::vector<Value> operands, TensorType type,
                           std::string_view ending, Attributes attributes = {});
  /// The same with a result of each of these types.
  [[nodiscard]] NodeId steps(std::string_view kind, std::vector<Value> operands,
                             std::span<const TensorType> types, std::string_view ending,
                             Attributes attributes = {});
  [[nodiscard]] Value constant(std::string_view ending, const Constant& contents);
  [[nodiscard]] Value list(std::string_view ending, std::span<const std::int64_t> values);
  [[nodiscard]] Value number(std::string_view ending, ElementType element, double value);
  /// `value` as int64, which some of ONNX's operations want where IRs may have int32.
  [[nodiscard]] Value wide(Value value, std::string_view ending);
  /// `value` with these extents: a constant is another constant.
  [[nodiscard]] Value reshaped(Value value, const Shape& shape, std::string_view ending);

  /// Names of attributes of <data> that were not asked for.
  [[nodiscard]] std::vector<std::string> unread() const;

 private:
  [[nodiscard]] std::string name_with(std::string_view ending) const;

  Raising& raising_;
  const Layer& layer_;
  std::size_t index_;
  std::unordered_set<std::string> read_;
};

/// What a layer becomes. False, before anything was made: it is carried.
using RaiseLayer = bool (*)(RaisedLayer& layer);

struct RaiseRule {
  std::string_view type;
  RaiseLayer raise;
};

class Raising {
 public:
  Raising(const Net& net, std::shared_ptr<const Bin> bin, const OpenVinoReadOptions& options);

  [[nodiscard]] Graph run();

 private:
  friend class RaisedLayer;

  void raise(std::size_t index);
  bool raise_plain(RaisedLayer& layer);
  void raise_parameter(RaisedLayer& layer);
  bool raise_constant(RaisedLayer& layer);
  bool raise_decompression(RaisedLayer& layer);
  bool raise_codes(RaisedLayer& layer);
  void carry(RaisedLayer& layer);
  void add_outputs();
  void keep_model_facts();
  void keep_info(const Layer& layer);
  /// Output `output` of a layer is `value`, which has its names from then on.
  void define(std::size_t layer, std::size_t output, Value value);
  /// What comes from there; `invalid` for an output that the operation does not have.
  [[nodiscard]] Value value_from(const OutputRef& source) const;
  /// What a result is called: by its port, or by its layer.
  [[nodiscard]] static std::string result_name(const Layer& layer, std::size_t output);
  void note(const Layer& layer, std::string message) const;

  const Net& net_;
  std::shared_ptr<const Bin> bin_;
  const OpenVinoReadOptions& options_;
  Graph graph_;
  std::vector<std::vector<Value>> values_;  ///< of each layer, by output
  std::vector<std::vector<bool>> is_read_;  ///< by any other layer
  std::vector<bool> is_converted_;          ///< by layer: only Convert reads it
  std::unordered_map<Value, std::vector<std::string>> tensor_names_;
  std::vector<Value> named_;            ///< the keys of these, in the order of the file
  std::vector<NodeId> looked_through_;  ///< not needed if nothing else reads them
  std::vector<std::string> layer_info_;
  std::unordered_set<std::string> carried_types_;  ///< each is reported once
  std::vector<std::string> input_shapes_;
};

}  // namespace quadrant::inline v0::openvino_ir
