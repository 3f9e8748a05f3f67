// ModelProto: what is around the graph.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "io/onnx/failure.hpp"
#include "io/onnx/fields.hpp"
#include "io/onnx/local_functions.hpp"
#include "io/onnx/names.hpp"
#include "io/onnx/raise.hpp"
#include "io/onnx/read_graph.hpp"
#include "io/onnx/small_floats.hpp"
#include "io/onnx/source.hpp"
#include "io/onnx/subgraph.hpp"
#include "quadrant/io/onnx.hpp"

namespace quadrant::inline v0 {
namespace onnx {
namespace {

constexpr std::int64_t oldest_opset = 7;
constexpr std::int64_t newest_opset = 28;

class ModelReader {
 public:
  ModelReader(const std::string& path, const OnnxReadOptions& options)
      : source_(path, options),
        sink_(options.sink),
        raise_quantization_(options.raise_quantization),
        inlines_(options.inline_functions) {}

  Graph read() {
    if (source_.bytes().empty()) invalid("not an ONNX model: the file is empty");
    read_fields();
    if (graphs_.empty()) invalid("not an ONNX model: it has no graph");
    check_opset();
    const LocalFunctions functions = functions_to_inline();
    keep_model_attributes();
    const bool is_whole = read_graph(source_, graphs_, functions, graph_, sink_);
    // A subgraph that is carried may call them.
    if (functions.empty() || !is_whole) {
      keep_functions();
    } else {
      report_left_out(functions);
    }
    if (raise_quantization_) {
      raise_linear(graph_);
      raise_small_floats(graph_);
    }
    forget_small_floats(graph_);
    return std::move(graph_);
  }

 private:
  Attributes& attributes() { return graph_.attributes(); }

  void read_fields() {
    Message message = source_.message({0, source_.bytes().size()});
    while (message.next()) {
      switch (message.field()) {
        case model::ir_version:
          attributes().set(std::string(key::ir_version), message.integer());
          break;
        case model::producer_name:
          set_text(key::producer_name, message);
          break;
        case model::producer_version:
          set_text(key::producer_version, message);
          break;
        case model::domain:
          set_text(key::model_domain, message);
          break;
        case model::model_version:
          attributes().set(std::string(key::model_version), message.integer());
          break;
        case model::doc_string:
          set_text(key::model_doc_string, message);
          break;
        case model::graph:
          graphs_.push_back(message.payload());
          break;
        case model::opset_import:
          opsets_.push_back(read_opset_import(source_, message.payload()));
          break;
        case model::functions:
          functions_.push_back(message.whole());
          function_payloads_.push_back(message.payload());
          look_for_data_files(message.payload());
          break;
        default:
          extra_.push_back(message.whole());
      }
    }
  }

  void set_text(std::string_view name, const Message& message) {
    attributes().set(std::string(name), std::string(message.text()));
  }

  void look_for_data_files(Range function) {
    SubgraphNames names;
    Message message = source_.message(function);
    while (message.next()) {
      if (message.field() != function::node) continue;
      Message node = source_.message(message.payload());
      while (node.next()) {
        if (node.field() != node::attribute) continue;
        collect_attribute_names(source_.bytes(), node.payload(), names);
      }
    }
    if (names.external_data) {
      attributes().set(std::string(key::data_directory), source_.directory());
    }
  }

  /// None where they stay as they are.
  LocalFunctions functions_to_inline() {
    LocalFunctions functions;
    if (!inlines_ || functions_.empty()) return functions;
    for (const Range& range : function_payloads_) functions.add(source_, range);
    std::vector<OpsetImport> opsets = opsets_;
    const std::string why = functions.why_not_inlined(source_, graphs_, opsets);
    if (!why.empty()) {
      if (sink_) {
        sink_->report(
            {Severity::note,
             fmt::format("local functions are carried as they are, and weights inside them "
                         "are not seen: {}",
                         why),
             {.file = source_.file()->path()}});
      }
      return {};
    }
    opsets_ = std::move(opsets);
    return functions;
  }

  void report_left_out(const LocalFunctions& functions) {
    std::vector<std::string_view> names = functions.saying_more();
    if (names.empty() || !sink_) return;
    constexpr std::size_t most = 5;
    const std::size_t more = names.size() - std::min(most, names.size());
    names.resize(names.size() - more);
    sink_->report(
        {Severity::note,
         fmt::format("doc strings, value_info and metadata of local functions go with "
                     "them: '{}'{}",
                     fmt::join(names, "', '"), more > 0 ? fmt::format(" and {} more", more) : ""),
         {.file = source_.file()->path()}});
  }

  void keep_functions() {
    if (functions_.empty()) return;
    attributes().set(std::string(key::functions),
                     carried(source_.file(), std::move(functions_), fields_format));
  }

  void check_opset() {
    const std::string supported = fmt::format("{} to {} are supported", oldest_opset, newest_opset);
    std::int64_t opset = 0;
    for (const auto& [domain, version] : opsets_) {
      if (in_default_domain({domain, {}})) opset = std::max(opset, version);
    }
    if (opset == 0) {
      invalid(
          fmt::format("it states no opset for the default domain, which means 1; {}", supported));
    }
    if (opset < oldest_opset || opset > newest_opset) {
      invalid(fmt::format("it uses opset {} of the default domain; {}", opset, supported));
    }
  }

  void keep_model_attributes() {
    std::vector<std::string> domains;
    std::vector<std::int64_t> versions;
    domains.reserve(opsets_.size());
    versions.reserve(opsets_.size());
    for (auto& [domain, version] : opsets_) {
      domains.push_back(std::move(domain));
      versions.push_back(version);
    }
    attributes().set(std::string(key::opset_domains), std::move(domains));
    attributes().set(std::string(key::opset_versions), std::move(versions));
    if (!extra_.empty()) {
      attributes().set(std::string(key::model_extra),
                       carried(source_.file(), std::move(extra_), fields_format));
    }
  }

  Source source_;
  Sink* sink_;
  bool raise_quantization_;
  bool inlines_;
  Graph graph_;
  std::vector<Range> graphs_;
  std::vector<OpsetImport> opsets_;
  std::vector<Range> functions_;
  std::vector<Range> function_payloads_;
  std::vector<Range> extra_;
};

}  // namespace
}  // namespace onnx

Expected<Graph> read_onnx(const std::string& path, const OnnxReadOptions& options) {
  return onnx::at_border(path, [&] { return onnx::ModelReader(path, options).read(); });
}

}  // namespace quadrant::inline v0
