// The file of cases: graphs of WebNN operations with values, and what a browser made of them.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/ir/type.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::webnn {

using NamedTensors = std::map<std::string, Tensor, std::less<>>;

/// An input of the graph with the value that it is run on, or a constant.
struct CaseTensor {
  Tensor tensor;
  bool constant = false;
};

/// One WebNN operation.
struct CaseNode {
  std::string op;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  nlohmann::json attributes;
  std::string path;  ///< of the attributes in the file, for messages
};

/// One operation of the file that the browser made. Tensors are texts:
/// `const int8[3, 2] q(0.02,0)`.
struct EmittedOp {
  std::string op;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::string activation;  ///< empty: none
};

struct Case {
  std::string name;
  std::map<std::string, CaseTensor, std::less<>> tensors;
  std::vector<CaseNode> nodes;
  std::vector<std::string> outputs;
  std::optional<NamedTensors> expected;        ///< what the specification says
  std::optional<NamedTensors> with_fusion;     ///< what the browser computed
  std::optional<NamedTensors> without_fusion;  ///< the same with fusion turned off
  std::string build_error;                     ///< why the browser made nothing; empty: it did
  std::vector<EmittedOp> emitted;

  /// What results are measured against: where fused and unfused ones differ, the unfused are right.
  [[nodiscard]] const NamedTensors* truth() const {
    if (without_fusion) return &*without_fusion;
    return expected ? &*expected : nullptr;
  }
};

/// The WebNN data type of that name (`int8`, `float16`, `bool`); empty where there is none.
[[nodiscard]] std::optional<ElementType> data_type_named(std::string_view name) noexcept;

/// A number, also one that JSON has none for: true, false, "Infinity", "-Infinity", "NaN".
[[nodiscard]] std::optional<double> read_number(const nlohmann::json& value);

/// Cases of all the lists of the document (`conformance`, `probes`, ...), in the order of the
/// lists' names. Members that it does not know are passed over, except those of operations, where
/// they would mean something.
[[nodiscard]] Expected<std::vector<Case>> parse_cases(std::string_view text);
[[nodiscard]] Expected<std::vector<Case>> read_case_file(const std::string& path);

}  // namespace quadrant::webnn
