// Bodies of control flow: the branches of If, the bodies of Loop and Scan. Their operations lie in
// the same graph as all others, so that every phase sees them and a value that a body captures is
// an operand like any. What makes them a body is where they are placed, their *region*:
//
// - The operation with bodies names them: attribute `then_branch` = "if/then_branch". Behind its
//   own operands it reads what its bodies yield; `yields` says how many values each.
// - A node that was read in a body has that name as attribute `place`, one beside bodies an empty
//   one. A node without, which schemes and writers make, is as far out as its
//   operands allow, or in the branch that all its readers are in.
// - What a body is given, by the operation or the iteration, is a node of kind `input_kind`.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "quadrant/ir/graph.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0 {

namespace regions {

inline constexpr std::string_view place = "onnx.region";
inline constexpr std::string_view yields = "onnx.yields";
inline constexpr std::string_view input_kind = "onnx.region_input";
/// Of a region's input: which one it is.
inline constexpr std::string_view position = "onnx.region_position";
inline constexpr int deepest = 64;

/// The attributes that are bodies of operations of this kind, in the order of their yields.
[[nodiscard]] std::span<const std::string_view> bodies_of(std::string_view kind) noexcept;

}  // namespace regions

struct Region {
  std::string path;           ///< its name; empty for the model itself
  std::uint32_t outer = 0;    ///< the region around it
  NodeId owner;               ///< the operation whose body it is; not valid for the model itself
  std::string_view body;      ///< as which attribute
  std::size_t first_yield{};  ///< of the owner's operands
  std::size_t yields{};
  std::vector<NodeId> inputs;  ///< by position
  int depth = 0;
};

/// Where each node of a graph is placed.
class Regions {
 public:
  static constexpr std::uint32_t model = 0;
  static constexpr std::uint32_t nowhere = UINT32_MAX;  ///< of a node whose operation is gone

  /// `invalid_model`, naming the node, where a node reads what is not to be seen from its place,
  /// where two bodies have one name, contain one another, or are nested deeper than `deepest`.
  [[nodiscard]] static Expected<Regions> find(const Graph& graph);

  /// The model itself, then bodies.
  [[nodiscard]] std::span<const Region> all() const noexcept { return regions_; }
  [[nodiscard]] const Region& operator[](std::uint32_t region) const { return regions_[region]; }
  /// Of a node, an index into `all`, or `nowhere`.
  [[nodiscard]] std::uint32_t of(NodeId node) const { return of_[node.index]; }
  /// Whether what is made in `outer` is to be seen in `inner`.
  [[nodiscard]] bool sees(std::uint32_t inner, std::uint32_t outer) const;
  /// The bodies of an operation, in the order of their yields.
  [[nodiscard]] std::span<const std::uint32_t> bodies(NodeId owner) const;
  /// Where the node of a use reads: a body, for what the body yields.
  [[nodiscard]] std::uint32_t of(const Graph& graph, const Use& use) const;
  /// How many operands an operation has itself.
  [[nodiscard]] std::size_t own_operands(const Graph& graph, NodeId node) const;

 private:
  class Finder;
  std::vector<Region> regions_;
  std::vector<std::uint32_t> of_;  // by the node's index
  std::unordered_map<NodeId, std::vector<std::uint32_t>> owned_;
};

}  // namespace quadrant::inline v0
