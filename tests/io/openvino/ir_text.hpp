// IRs put together from a few lines of text.
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/io/openvino.hpp"
#include "quadrant/ir/text.hpp"

namespace openvino_test {

using namespace quadrant;

/// One tensor's port: `f32 1x3`, with the names of the tensor behind it if it has some.
struct PortText {
  std::string precision;
  std::vector<std::int64_t> dims;
  std::string names;
};

/// Puts a model together: layers get ids in order, inputs the ports from 0 on, and outputs those
/// behind them.
class IrText {
 public:
  struct From {
    int layer = 0;
    int output = 0;
  };

  int add(std::string_view type, std::string_view name, const std::vector<From>& from,
          std::string_view data, const std::vector<PortText>& outputs,
          std::string_view version = "opset1", std::string_view more = "") {
    const int id = static_cast<int>(inputs_.size());
    layers_ +=
        fmt::format(R"(<layer id="{}" name="{}" type="{}" version="{}">)", id, name, type, version);
    if (!data.empty()) layers_ += fmt::format("<data {}/>", data);
    layers_ += more;
    if (!from.empty()) layers_ += "<input>";
    for (std::size_t i = 0; i < from.size(); ++i) {
      layers_ += fmt::format(R"(<port id="{}"/>)", i);
      edges_ += fmt::format(
          R"(<edge from-layer="{}" from-port="{}" to-layer="{}" to-port="{}"/>)", from[i].layer,
          inputs_[static_cast<std::size_t>(from[i].layer)] + from[i].output, id, i);
    }
    if (!from.empty()) layers_ += "</input>";
    if (!outputs.empty()) layers_ += "<output>";
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      layers_ += fmt::format(R"(<port id="{}" precision="{}" names="{}">)", from.size() + i,
                             outputs[i].precision, outputs[i].names);
      for (const std::int64_t dim : outputs[i].dims) layers_ += fmt::format("<dim>{}</dim>", dim);
      layers_ += "</port>";
    }
    if (!outputs.empty()) layers_ += "</output>";
    layers_ += "</layer>";
    inputs_.push_back(static_cast<int>(from.size()));
    return id;
  }

  int input(std::string_view name, std::string_view element, std::string_view precision,
            const std::vector<std::int64_t>& dims) {
    return add("Parameter", name, {},
               fmt::format(R"(shape="{}" element_type="{}")", fmt::join(dims, ","), element),
               {{std::string(precision), dims, ""}});
  }

  template <class T>
  int constant(std::string_view name, std::string_view element, std::string_view precision,
               const std::vector<std::int64_t>& dims, const std::vector<T>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    const int id = add("Const", name, {},
                       fmt::format(R"(element_type="{}" shape="{}" offset="{}" size="{}")", element,
                                   fmt::join(dims, ","), bin_.size(), bytes.size()),
                       {{std::string(precision), dims, ""}});
    bin_.insert(bin_.end(), bytes.begin(), bytes.end());
    return id;
  }

  void output(std::string_view name, From from) { add("Result", name, {from}, "", {}); }

  [[nodiscard]] std::string xml(int version = 11, std::string_view extras = "") const {
    return fmt::format(R"(<?xml version="1.0"?><net name="small" version="{}"><layers>{}</layers>)"
                       "<edges>{}</edges>{}</net>",
                       version, layers_, edges_, extras);
  }
  [[nodiscard]] const std::vector<std::byte>& bin() const { return bin_; }

 private:
  std::string layers_;
  std::string edges_;
  std::vector<std::byte> bin_;
  std::vector<int> inputs_;  ///< of each layer, how many
};

inline Graph graph_of(const IrText& ir, int version = 11, std::string_view extras = "",
                      Sink* sink = nullptr) {
  auto graph = parse_openvino(ir.xml(version, extras), ir.bin(), "small.xml", {.sink = sink});
  if (!graph) FAIL(to_string(graph.error()));
  return *std::move(graph);
}

inline Graph graph_of(std::string_view text) {
  auto graph = parse_graph(text);
  if (!graph) FAIL(to_string(graph.error()));
  return *std::move(graph);
}

inline OpenVinoFiles files_of(const Graph& graph, OpenVinoWriteReport* report = nullptr) {
  auto files = openvino_files(graph, {}, report);
  if (!files) FAIL(to_string(files.error()));
  return *std::move(files);
}

inline Graph graph_of(const OpenVinoFiles& files) {
  auto graph = parse_openvino(files.xml, files.bin);
  if (!graph) FAIL(to_string(graph.error()));
  return *std::move(graph);
}

/// Why this is no IR that is read.
inline Error error_of(std::string_view xml, std::span<const std::byte> bin = {}) {
  const auto graph = parse_openvino(xml, bin, "bad.xml");
  REQUIRE_FALSE(graph.has_value());
  return graph.error();
}

/// Kinds of the nodes that are no constant, input or output, in the order of their indices.
inline std::vector<std::string> kinds_of(const Graph& graph) {
  std::vector<std::string> kinds;
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    const NodeId node = graph.node_at(i);
    if (!node.is_valid() || graph.constant(node)) continue;
    if (graph.kind(node) != "input" && graph.kind(node) != "output") {
      kinds.emplace_back(graph.kind(node));
    }
  }
  return kinds;
}

}  // namespace openvino_test
