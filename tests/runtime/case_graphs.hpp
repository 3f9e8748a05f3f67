// The case files of tests/runtime/ops: op_cases_test.cpp says what is in them.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "ir/opset.hpp"
#include "quadrant/ir/graph.hpp"

namespace quadrant::test {

/// The graphs of a file, as text: each begins with a line that begins with `graph`.
inline std::vector<std::string> graphs_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<std::string> graphs;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("graph")) graphs.emplace_back();
    if (!graphs.empty()) graphs.back() += line + "\n";
  }
  return graphs;
}

/// Of the operators in `graph`: that of `cases`, as `graph {opset = 11}` states it, or the newest.
inline void set_opset(Graph& graph, const Graph& cases) {
  constexpr std::int64_t newest = 23;
  graph.attributes().set(std::string(opset_domains_key), std::vector<std::string>{""});
  graph.attributes().set(std::string(opset_versions_key),
                         std::vector<std::int64_t>{cases.attributes().get_or("opset", newest)});
}

}  // namespace quadrant::test
