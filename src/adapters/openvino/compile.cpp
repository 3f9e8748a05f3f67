#include "adapters/openvino/compile.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "adapters/openvino/cast.hpp"
#include "adapters/openvino/plain_quantization.hpp"
#include "adapters/openvino/recurrent_layers.hpp"
#include "adapters/openvino/tensors.hpp"
#include "io/openvino/names.hpp"
#include "quadrant/io/onnx.hpp"
#include "quadrant/io/openvino.hpp"
#include "quadrant/ir/graph_view.hpp"
#include "quadrant/ir/ops.hpp"
#include "runtime/watched_values.hpp"

namespace quadrant::inline v0::openvino {
namespace {

namespace fs = std::filesystem;

/// A folder that nobody else has, gone with all in it when the object goes.
class TemporaryFolder {
 public:
  static Expected<TemporaryFolder> make() {
    std::error_code error;
    fs::path parent = fs::temp_directory_path(error);
    if (error) parent = "/tmp";
    std::string path = (parent / "quadrant-XXXXXX").string();
    if (::mkdtemp(path.data()) != nullptr) return TemporaryFolder(std::move(path));
    return fail(ErrorCode::io,
                fmt::format("cannot make a temporary folder for OpenVINO: {}; TMPDIR says where",
                            std::generic_category().message(errno)),
                {.file = parent.string()});
  }

  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }

  [[nodiscard]] std::string file(std::string_view name) const { return path_ / name; }

 private:
  explicit TemporaryFolder(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

TensorType with_interface_type(TensorType type) {
  type.element = interface_type(type.element);
  return type;
}

/// `value`, or a cast to its interface type.
Value as_output(Graph& graph, Value value) {
  TensorType type = with_interface_type(graph.type(value));
  if (type.element == graph.type(value).element) return value;
  return add_cast(graph, value, std::move(type));
}

/// Only what `outputs` need stays: OpenVINO reads all that is there. Both sides get their interface
/// types. Returns which of the inputs stay.
Expected<std::vector<std::size_t>> keep_for(Graph& graph, const std::vector<Value>& outputs) {
  std::vector<Value> given;
  given.reserve(outputs.size());
  for (const Value value : outputs) given.push_back(as_output(graph, value));
  const std::vector<NodeId> inputs(graph.inputs().begin(), graph.inputs().end());
  QUADRANT_TRY(std::vector<std::size_t> kept, keep_only(graph, given));
  for (const std::size_t i : kept) {
    graph.set_type({inputs[i]}, with_interface_type(graph.type({inputs[i]})));
  }
  return kept;
}

/// Operations that only OpenVINO's IR can say, as it came from one.
bool has_carried_operations(const Graph& graph) {
  for (std::uint32_t index = 0; index < graph.index_bound(); ++index) {
    const NodeId node = graph.node_at(index);
    if (node.is_valid() && openvino_ir::parse_carried_kind(graph.kind(node))) return true;
  }
  return false;
}

/// What a state is before anything was assigned to it: zeros.
Expected<Value> first_state(Graph& graph, NodeId read) {
  const TensorType& type = graph.type({read});
  constexpr std::uint64_t most_bytes = std::uint64_t{1} << 30U;
  const auto count = type.shape.element_count();
  const auto width = static_cast<std::uint64_t>(byte_width(type.element));
  if (!count || width == 0 || static_cast<std::uint64_t>(*count) > most_bytes / width) {
    return fail(ErrorCode::impossible,
                "a state begins with zeros of a shape that is not known: give it a first value",
                {.node = std::string(graph.name(read))});
  }
  std::vector<std::byte> zeros(static_cast<std::size_t>(*count) * width);
  return graph.add_constant(std::string(graph.value_name({read})),
                            Constant::from_bytes(type.element, type.shape, std::move(zeros)));
}

/// Each run starts anew: what reads a state gets what that begins with, and what sets one only
/// hands on what it is set to.
Expected<void> forget_states(Graph& graph) {
  const std::uint32_t end = graph.index_bound();
  for (std::uint32_t index = 0; index < end; ++index) {
    const NodeId node = graph.node_at(index);
    if (!node.is_valid()) continue;
    const auto carried = openvino_ir::parse_carried_kind(graph.kind(node));
    if (!carried || (carried->type != "ReadValue" && carried->type != "Assign")) continue;
    if (graph.result_count(node) == 1) {
      Value stands = graph.ref(node).operand(0);
      if (stands.is_absent()) {
        QUADRANT_TRY(stands, first_state(graph, node));
      }
      graph.replace_uses({node}, stands);
    }
    graph.erase(node);
  }
  return {};
}

/// The name of the file is of interest only where that is the trouble.
template <class Report>
Expected<void> without_file(Expected<Report> written) {
  if (written) return {};
  if (written.error().code != ErrorCode::io) written.error().place.file.clear();
  return fail(std::move(written).error());
}

/// For OpenVINO to read: as ONNX, whose operations it takes each by itself, or as an IR where
/// nothing else will do. Returns the path.
Expected<std::string> write(Graph graph, const TemporaryFolder& folder) {
  QUADRANT_CHECK(use_plain_quantization(graph));
  if (has_carried_operations(graph)) {
    QUADRANT_CHECK(forget_states(graph));
    std::string path = folder.file("model.xml");
    QUADRANT_CHECK(without_file(write_openvino(graph, path)));
    return path;
  }
  QUADRANT_CHECK(check_recurrent_layers(graph));
  std::string path = folder.file("model.onnx");
  QUADRANT_CHECK(
      without_file(write_onnx(graph, path, {.fake_quantize = FakeQuantizeForm::elementary})));
  return path;
}

Expected<void> check_count(const Library& library, const ov_compiled_model_t& model,
                           decltype(&::ov_compiled_model_inputs_size) count, std::size_t wanted,
                           std::string_view what) {
  std::size_t found = 0;
  QUADRANT_CHECK(library.check(count(&model, &found), "count what a model takes and gives"));
  if (found == wanted) return {};
  return fail(ErrorCode::impossible,
              fmt::format("OpenVINO made {} {} of the {} that the model has", found, what, wanted));
}

}  // namespace

Expected<CompiledModel> compile(const Library& library, const ov_core_t& core, Graph graph,
                                const std::vector<Value>& outputs) {
  QUADRANT_TRY(std::vector<std::size_t> inputs, keep_for(graph, outputs));
  QUADRANT_TRY(const TemporaryFolder folder, TemporaryFolder::make());
  QUADRANT_TRY(const std::string path, write(std::move(graph), folder));
  QUADRANT_TRY(const Handle<ov_model_t> model,
               library.make("read the model", library.ov_model_free, library.ov_core_read_model,
                            &core, path.c_str(), nullptr));

  ov_compiled_model_t* made = nullptr;
  // The precision of the processor's choice would be bfloat16, and products with weights of 8 or 4
  // bits would round their other operand to 8.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): OpenVINO's own
  const ov_status_e status =
      library.ov_core_compile_model(&core, model.get(), "CPU", 4, &made, "INFERENCE_PRECISION_HINT",
                                    "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE", "0");
  QUADRANT_CHECK(library.check(status, "compile the model"));
  Handle<ov_compiled_model_t> compiled(made, library.ov_compiled_model_free);
  QUADRANT_CHECK(check_count(library, *compiled, library.ov_compiled_model_inputs_size,
                             inputs.size(), "inputs"));
  QUADRANT_CHECK(check_count(library, *compiled, library.ov_compiled_model_outputs_size,
                             outputs.size(), "outputs"));
  return CompiledModel{std::move(compiled), std::move(inputs)};
}

}  // namespace quadrant::inline v0::openvino
