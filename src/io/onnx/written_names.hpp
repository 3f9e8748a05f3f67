// What values are called in a file. In the graph all names differ, and those in bodies begin with
// the path of the body; in a file a body has its own, and takes none from around it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/regions.hpp"

namespace quadrant::inline v0::onnx {

class WrittenNames {
 public:
  /// Refers to both.
  WrittenNames(const Graph& graph, const Regions& regions);

  [[nodiscard]] std::string_view operator()(Value value) const;

 private:
  void name(Value value, std::uint32_t region);
  /// Whether it is the name of a value that is seen from `region`, or that is in a body there.
  [[nodiscard]] bool is_taken(const std::string& name, std::uint32_t region) const;

  const Graph& graph_;
  const Regions& regions_;
  std::unordered_map<std::string, std::vector<std::uint32_t>> places_;  // regions with that name
  std::unordered_map<Value, std::string> others_;  // names that are not those in the graph
};

/// The name without the path of its body, where it has one.
[[nodiscard]] std::string_view name_in_body(std::string_view name, const Region& region);

}  // namespace quadrant::inline v0::onnx
