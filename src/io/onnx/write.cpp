// The steps of writing a model: quantized types become operators, messages get their sizes, bytes
// go to files, files go in place.
#include <algorithm>
#include <filesystem>
#include <mutex>
#include <optional>
#include <tuple>

#include "io/onnx/dequantize.hpp"
#include "io/onnx/element.hpp"
#include "io/onnx/failure.hpp"
#include "io/onnx/fake_quantize.hpp"
#include "io/onnx/four_bits.hpp"
#include "io/onnx/lookup.hpp"
#include "io/onnx/matmul_bnb4.hpp"
#include "io/onnx/matmul_nbits.hpp"
#include "io/onnx/names.hpp"
#include "io/onnx/onnxruntime_forms.hpp"
#include "io/onnx/opset.hpp"
#include "io/onnx/qoperators.hpp"
#include "io/onnx/raise.hpp"
#include "io/onnx/small_float_operators.hpp"
#include "io/onnx/source.hpp"
#include "io/onnx/stream.hpp"
#include "io/onnx/write_graph.hpp"
#include "io/onnx/write_model.hpp"
#include "ir/explicit_formats.hpp"
#include "ir/scales.hpp"
#include "numerics/quantize_constant.hpp"
#include "quadrant/io/onnx.hpp"
#include "quadrant/ir/explicit_quantization.hpp"
#include "quadrant/support/files.hpp"
#include "quadrant/support/ranks.hpp"
#include "support/file_on_ranks.hpp"

namespace quadrant::inline v0 {
namespace onnx {
namespace {

/// Protobuf's limit for one message, which other tools enforce.
constexpr std::uint64_t largest_model = (std::uint64_t{1} << 31U) - 1;
/// What goes to a data file when a model does not fit into one.
constexpr std::uint64_t external_when_too_large = 1024;

class ModelFileWriter {
 public:
  ModelFileWriter(Graph graph, const std::string& path, const OnnxWriteOptions& options)
      : graph_(std::move(graph)),
        path_(path),
        directory_(directory_of(path)),
        options_(options),
        executor_(options.executor ? *options.executor : serial_) {}

  OnnxWriteReport write() {
    DataFile data;
    Rope contents;
    Rope model = make_messages(data, contents);

    const bool has_data = !data.places.empty();
    std::optional<NewFile> data_file = has_data ? write_data(contents, data) : std::nullopt;
    if (has_data) model = model_message(graph_, directory_, data, nullptr);
    FilesOrOwn files(options_.files);
    FileOnRanks made = open([&] { return files->create(path_); });
    write_bytes(model, made);
    if (made.file && is_first(options_.ranks)) {
      files->add_model(*std::move(made.file), std::move(data_file));
      value_of(files.finish());
    }

    report_.external_file = data.name;
    return std::move(report_);
  }

  OnnxWriteReport count() {
    DataFile data;
    Rope contents;
    std::ignore = make_messages(data, contents);
    return std::move(report_);
  }

 private:
  // Its name comes from what is in it: until then errors are the model's.
  std::optional<NewFile> write_data(const Rope& contents, DataFile& data) {
    const auto place = [&] {
      return (std::filesystem::path(path_).parent_path() / data.name).string();
    };
    const std::string unnamed = resolved_path(place());
    try {
      FileOnRanks made = open([&] { return NewFile::create(place()); });
      const std::uint64_t hash = write_bytes(contents, made);
      // As long as the placeholder: the sizes that were counted stay right. What is there of this
      // name has the same contents.
      data.name = data_name(hash);
      if (made.file) made.file->rename_to(place());
      return std::move(made.file);
    } catch (Failure& failure) {
      if (failure.error.place.file == unnamed) {
        failure.error.place.file = path_;
        failure.error.message = "its data file: " + failure.error.message;
      }
      throw;
    }
  }

  // All messages, as references to contents that are not read yet. The report says what they take.
  Rope make_messages(DataFile& data, Rope& contents) {
    const bool is_of_onnx = graph_.attributes().find(key::ir_version) != nullptr;
    const std::int64_t opset_read = opset_version(graph_);
    restore_linear(graph_, Restored::other, !options_.small_floats_as_arithmetic);
    if (!is_of_onnx) avoid_operations_on_4_bits(graph_);
    if (options_.matmul_nbits) report_.matmul_bnb4 = use_matmul_bnb4(graph_, options_.sink);
    const std::int64_t small_floats = write_small_floats();
    value_of(make_formats_explicit(graph_, options_.sink));
    note_rounded_scales(graph_, options_.sink);
    raise_opset_for_operators();
    if (options_.qoperators) {
      const auto [made, why_not] = use_qoperators(graph_);
      report_.qoperators = made;
      if (!why_not.empty()) note("no operators on codes, which need opset 13: " + why_not);
    }
    make_quantization_explicit(graph_);
    const LoweredFakeQuantize fake = lower_fake_quantize(graph_, options_.fake_quantize);
    report_.fake_quantize_linear = fake.linear;
    report_.fake_quantize_arithmetic = fake.arithmetic;
    read_rows_of_tables(graph_);
    if (options_.matmul_nbits) report_.matmul_nbits = use_matmul_nbits(graph_, options_.sink);
    restore_linear(graph_, Restored::uniform);
    Lowered lowered = lower_quantization(graph_);
    settle_output_names(graph_);
    settle_constants(graph_);
    settle_yields(graph_);
    report_.opset_read = opset_read;
    report_.opset_written = lowered.opset_written;
    report_.was_converted = is_of_onnx && opset_read != lowered.opset_written;
    report_.unsigned_activations = lowered.unsigned_activations;
    report_.rounded_products = count_rounded_products(graph_);
    report_.dequantize_linear = lowered.linear + small_floats;
    report_.dequantize_microsoft = lowered.microsoft;
    report_.dequantize_arithmetic = lowered.arithmetic;
    report_.fallback_reason = std::move(lowered.fallback_reason);
    if (!report_.fallback_reason.empty()) note(report_.fallback_reason);

    contents = place_data(options_.external_from, data);
    Rope model = model_message(graph_, directory_, data, options_.sink);
    if (model.size() > largest_model && data.places.empty()) {
      note(
          fmt::format("the model has {} bytes, more than one file may have: tensors go to a data "
                      "file beside it",
                      model.size()));
      contents = place_data(external_when_too_large, data);
      model = model_message(graph_, directory_, data, nullptr);
    }
    total_ = contents.size() + model.size();
    report_.model_bytes = model.size();
    report_.external_bytes = contents.size();
    report_.tensor_bytes = count_tensors();
    return model;
  }

  std::int64_t write_small_floats() {
    std::string why_not;
    const std::int64_t count =
        lower_small_floats(graph_, why_not, !options_.small_floats_as_arithmetic);
    value_of(quantize_constants_of_formats(graph_));
    refuse_other_makers(graph_, why_not);
    if (!why_not.empty())
      note("no DequantizeLinear of float8, which needs opset 19, or 21 for blocks: " + why_not);
    return count;
  }

  // Graphs that come from other formats, or from a scheme, may have what their opset has not.
  void raise_opset_for_operators() {
    constexpr std::int64_t newest = 21;  // that there are conversions to
    const OpsetNeed need = largest_need(graph_);
    if (need.opset <= std::max<std::int64_t>(opset_version(graph_), 13)) return;
    const std::string why_not = need.opset <= newest
                                    ? upgrade(graph_, newest)
                                    : fmt::format("there are conversions to {} alone", newest);
    if (!why_not.empty()) {
      impossible(fmt::format("this operation needs opset {}, the model has {} and stays there: {}",
                             need.opset, opset_version(graph_), why_not),
                 {.node = std::string(label(graph_, need.node))});
    }
    set_opset(graph_, newest);
  }

  [[nodiscard]] std::uint64_t count_tensors() const {
    std::uint64_t bytes = 0;
    for (std::uint32_t index = 0; index < graph_.index_bound(); ++index) {
      const NodeId node = graph_.node_at(index);
      const Constant* constant = node.is_valid() ? graph_.constant(node) : nullptr;
      if (!constant || !*constant) continue;
      const ElementType element = constant->element();
      if (element != ElementType::int64 && element != ElementType::boolean) {
        bytes += stored_size(*constant, stored_element(graph_, node));
      }
    }
    return bytes;
  }

  void note(std::string message) {
    if (options_.sink) options_.sink->report({Severity::note, std::move(message), {.file = path_}});
  }

  [[nodiscard]] std::string data_name(std::uint64_t hash) const {
    return fmt::format("{}.{:016x}.data", std::filesystem::path(path_).stem().string(), hash);
  }

  /// Gives constants of at least `threshold` bytes places in the data file: as initializers, since
  /// runtimes look for what Constant nodes hold in the model alone.
  Rope place_data(std::uint64_t threshold, DataFile& data) {
    Rope contents;
    for (std::uint32_t index = 0; index < graph_.index_bound(); ++index) {
      const NodeId node = graph_.node_at(index);
      const Constant* constant = node.is_valid() ? graph_.constant(node) : nullptr;
      if (!constant || !*constant) continue;
      // Codes are better off as initializers: before opset 9, Constant nodes hold floats only. And
      // what such a node holds is written as what it is here, not as what the file says it is.
      const bool are_codes =
          graph_.type({node}).is_quantized() || graph_.attribute(node, key::data_type) != nullptr;
      if (are_codes) make_initializer(graph_, node);
      const ElementType stored = stored_element(graph_, node);
      const std::uint64_t size = stored_size(*constant, stored);
      if (size < threshold || size == 0) continue;
      make_initializer(graph_, node);
      // Large tensors can be mapped where they begin with a page, others read as vectors.
      constexpr std::uint64_t large = 1U << 20U;
      contents.align(size >= large ? 4096 : 64);
      data.places.emplace(index, Range{contents.size(), size});
      contents.add_raw(*constant, stored);
    }
    if (!data.places.empty()) data.name = data_name(0);
    return contents;
  }

  // What `create` makes, on the first of the ranks.
  template <class Create>
  FileOnRanks open(Create create) {
    if (options_.ranks == nullptr) return {.file = value_of(create())};
    const auto own = [&]() -> Expected<std::optional<NewFile>> {
      if (!options_.ranks->is_first()) return std::nullopt;
      return create().map([](NewFile file) { return std::optional(std::move(file)); });
    };
    FileOnRanks made = value_of(open_on_ranks(own(), *options_.ranks));
    if (!made.is_on_all) note("not all ranks see this folder: the first writes alone");
    return made;
  }

  // Returns a hash of what is written.
  std::uint64_t write_bytes(const Rope& rope, FileOnRanks& made) {
    // File systems write to one file one piece after the other. Threads that wait for that here
    // sleep; in the kernel they would keep the processor from those that compute.
    std::mutex writing;
    const std::uint64_t hash = stream(
        rope, executor_,
        [&](std::uint64_t offset, std::span<const std::byte> bytes) {
          const std::lock_guard lock(writing);
          value_of(made.file->write_at(offset, bytes));
        },
        [&](std::uint64_t bytes) {
          done_ += bytes;
          if (options_.sink) options_.sink->progress("write", done_, total_);
        },
        options_.ranks, made.is_on_all);
    if (options_.ranks != nullptr) {
      value_of(options_.ranks->agree(made.file ? made.file->flush() : Expected<void>()));
    }
    return hash;
  }

  Graph graph_;  // a copy, to be rewritten; it shares the constants
  const std::string& path_;
  std::string directory_;
  const OnnxWriteOptions& options_;
  SerialExecutor serial_;
  Executor& executor_;
  OnnxWriteReport report_;
  std::uint64_t done_ = 0;
  std::uint64_t total_ = 0;
};

}  // namespace
}  // namespace onnx

Expected<OnnxWriteReport> write_onnx(const Graph& graph, const std::string& path,
                                     const OnnxWriteOptions& options) {
  return onnx::at_border(path, [&] { return onnx::ModelFileWriter(graph, path, options).write(); });
}

Expected<OnnxWriteReport> count_onnx(const Graph& graph, const std::string& path,
                                     const OnnxWriteOptions& options) {
  return onnx::at_border(path, [&] { return onnx::ModelFileWriter(graph, path, options).count(); });
}

}  // namespace quadrant::inline v0
