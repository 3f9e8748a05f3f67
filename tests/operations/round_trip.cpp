#include "round_trip.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <unordered_map>

#include "ir/shape_inference.hpp"
#include "quadrant/io/mlir.hpp"
#include "quadrant/io/onnx.hpp"
#include "quadrant/io/openvino.hpp"
#include "quadrant/io/tflite.hpp"
#include "quadrant/ir/operations.hpp"
#include "quadrant/ir/ops.hpp"
#include "quadrant/ir/text.hpp"
#include "runtime/case_graphs.hpp"
#include "temporary_folder.hpp"

namespace quadrant::test {
namespace {

// Copies what a value is computed from into another graph.
class Copy {
 public:
  Copy(const Graph& from, Value input) : from_(from), input_(input) { set_opset(to_, from); }

  Graph model_of(Value result) {
    to_.add_output("out", copy(result));
    // A case may be of what has no types; then formats say so.
    static_cast<void>(infer_shapes(to_));
    return std::move(to_);
  }

 private:
  Value copy(Value value) {
    if (value.is_absent()) return value;
    const auto made = made_.find(value.node);
    if (made != made_.end()) return {made->second, value.result};
    const NodeId id =
        value == input_ || from_.kind(value.node) == ops::Input::kind
            ? to_.add_input(std::string(from_.value_name(value)), from_.type(value)).node
            : copy_node(from_.ref(value.node));
    made_.emplace(value.node, id);
    return {id, value.result};
  }

  NodeId copy_node(NodeRef node) {
    NodeSpec spec{.kind = std::string(node.kind()),
                  .name = std::string(node.name()),
                  .attributes = from_.attributes(node.id)};
    for (const Value operand : node.operands()) spec.operands.push_back(copy(operand));
    for (std::uint32_t i = 0; i < from_.result_count(node.id); ++i) {
      spec.results.push_back({std::string(from_.value_name(node.result(i))), node.type(i)});
    }
    if (const Constant* const contents = from_.constant(node.id)) spec.constant = *contents;
    return to_.add(std::move(spec));
  }

  const Graph& from_;
  Value input_;
  Graph to_;
  std::unordered_map<NodeId, NodeId> made_;
};

bool is_wide(const TensorType& type) {
  constexpr std::array wide{ElementType::float16, ElementType::bfloat16, ElementType::float64};
  return std::ranges::find(wide, type.element) != wide.end();
}

Case case_of(const Graph& graph, Value result) {
  const NodeRef node = graph.ref(result.node);
  Value input;
  bool wide = is_wide(graph.type(result));
  for (const Value operand : node.operands()) {
    wide = wide || (!operand.is_absent() && is_wide(graph.type(operand)));
  }
  if (!node.operands().empty()) {
    const Value first = node.operand(0);
    if (!first.is_absent() && graph.constant(first.node) != nullptr) input = first;
  }
  return {Copy(graph, input).model_of(result), Copy(graph, {}).model_of(result), wide};
}

struct Sent {
  std::optional<Error> refusal;
  std::optional<Expected<Graph>> back;  ///< none where the format is not read
};

template <class Written>
Sent sent(const Expected<Written>& written, auto&& read) {
  if (!written) return {written.error(), std::nullopt};
  return {std::nullopt, read(*written)};
}

Sent send(Format format, const Graph& model, const TemporaryFolder& folder) {
  switch (format) {
    case Format::onnx: {
      const std::string path = folder / "model.onnx";
      return sent(write_onnx(model, path), [&](const auto&) { return read_onnx(path); });
    }
    case Format::tflite:
      return sent(tflite_bytes(model), [](const auto& bytes) { return read_tflite(bytes); });
    case Format::openvino:
      return sent(openvino_files(model),
                  [](const auto& files) { return parse_openvino(files.xml, files.bin); });
    case Format::mlir:
      break;
  }
  return sent(mlir_text(model), [](const auto&) { return std::nullopt; });
}

bool has_kind(const Graph& graph, std::string_view kind) {
  for (std::uint32_t i = 0; i < graph.index_bound(); ++i) {
    const NodeId node = graph.node_at(i);
    if (node.is_valid() && graph.kind(node) == kind) return true;
  }
  return false;
}

// Of "OpenVINO's IR has no counterpart for: onnx.Pad: mode wrap ('y')": "mode wrap".
std::string essence(std::string_view message) {
  for (const std::string_view before : {"cannot hold the model: ", "no counterpart for: "}) {
    const auto found = message.find(before);
    if (found != std::string_view::npos) message.remove_prefix(found + before.size());
  }
  const auto cut = [&](std::string_view end) { return message.substr(0, message.find(end)); };
  if (cut(": ") != message && find_operation(cut(": ")) != nullptr) {
    message.remove_prefix(cut(": ").size() + 2);
  }
  message = cut(": ");
  message = cut(" (");
  message = cut(" has no counterpart");
  return find_operation(message) == nullptr ? std::string(message) : "what it alone says";
}

}  // namespace

std::map<std::string, std::vector<Case>, std::less<>> all_cases() {
  const std::filesystem::path tests(QUADRANT_SOURCE_DIR "/tests");
  std::vector<std::filesystem::path> files{tests / "operations/uncomputed.txt"};
  for (const auto& entry : std::filesystem::directory_iterator(tests / "runtime/ops")) {
    files.push_back(entry.path());
  }
  std::map<std::string, std::vector<Case>, std::less<>> cases;
  for (const std::filesystem::path& file : files) {
    for (const std::string& text : graphs_of(file)) {
      const auto graph = parse_graph(text);
      if (!graph) throw std::runtime_error(file.string() + ": " + to_string(graph.error()));
      for (std::uint32_t i = 0; i < graph->index_bound(); ++i) {
        const NodeId node = graph->node_at(i);
        if (!node.is_valid()) continue;
        if (graph->kind(node) != "expect" && graph->kind(node) != ops::Output::kind) continue;
        const Value result = graph->operands(node)[0];
        cases[std::string(graph->kind(result.node))].push_back(case_of(*graph, result));
      }
    }
  }
  return cases;
}

Trip send(Format format, std::string_view kind, const std::vector<Case>& cases) {
  const TemporaryFolder folder;
  Trip trip;
  for (const Case& one : cases) {
    Sent sent = send(format, one.with_input, folder);
    if (sent.refusal) {
      const Error refusal = *sent.refusal;
      sent = send(format, one.with_constants, folder);
      if (sent.refusal) {
        if (!one.is_wide) trip.refused.insert(essence(refusal.message));
        continue;
      }
    }
    trip.is_written = true;
    if (!sent.back) continue;
    if (!*sent.back) {
      trip.unreadable.insert(to_string(sent.back->error()));
    } else if (has_kind(**sent.back, kind)) {
      trip.is_kept = true;
    }
  }
  return trip;
}

}  // namespace quadrant::test
