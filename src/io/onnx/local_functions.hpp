// FunctionProtos: operations that a model defines by others.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "io/onnx/names.hpp"
#include "io/onnx/opset.hpp"
#include "io/onnx/source.hpp"

namespace quadrant::inline v0::onnx {

struct LocalFunction {
  OpName op;
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::vector<Range> defaults;  ///< of attributes
  std::vector<Range> nodes;
  std::vector<OpsetImport> opsets;
  bool says_more = false;  ///< a doc string, value_info or metadata, which its nodes do not need
};

/// Those of one model, which refer to its source.
class LocalFunctions {
 public:
  /// Throws `Failure` for bytes that are no FunctionProto.
  void add(Source& source, Range range);
  /// Why calls in the model's graph, of these parts, cannot be replaced by what the functions are
  /// made of; empty: they can. `opsets`: those of the model, to which domains that functions alone
  /// use are added.
  [[nodiscard]] std::string why_not_inlined(Source& source, const std::vector<Range>& parts,
                                            std::vector<OpsetImport>& opsets) const;
  /// Null for an operation that is none of these.
  [[nodiscard]] const LocalFunction* find(const OpName& op) const;
  /// The names of those that say more than their nodes need.
  [[nodiscard]] std::vector<std::string_view> saying_more() const;
  [[nodiscard]] bool empty() const noexcept { return functions_.empty(); }

 private:
  /// Null where no call is given a graph.
  [[nodiscard]] const LocalFunction* given_graph(Source& source,
                                                 const std::vector<Range>& parts) const;

  std::vector<LocalFunction> functions_;
  std::unordered_map<std::string, std::size_t> by_kind_;
  std::string why_not_;  // the first reason
};

}  // namespace quadrant::inline v0::onnx
