// ModelProto: what is around the graph.
#include <limits>

#include "io/onnx/failure.hpp"
#include "io/onnx/fields.hpp"
#include "io/onnx/names.hpp"
#include "io/onnx/raise.hpp"
#include "io/onnx/read_graph.hpp"
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
        raise_quantization_(options.raise_quantization) {}

  Graph read() {
    if (source_.bytes().empty()) invalid("not an ONNX model: the file is empty");
    read_fields();
    if (graphs_.empty()) invalid("not an ONNX model: it has no graph");
    check_opset();
    keep_model_attributes();
    read_graph(source_, graphs_, graph_, sink_);
    if (raise_quantization_) raise_linear(graph_);
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
          read_opset(message.payload());
          break;
        case model::functions:
          functions_.push_back(message.whole());
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

  void read_opset(Range range) {
    std::string domain;
    std::int64_t version = 0;
    Message message = source_.message(range);
    while (message.next()) {
      if (message.field() == opset_id::domain) domain = message.text();
      if (message.field() == opset_id::version) version = message.integer();
    }
    domains_.push_back(std::move(domain));
    versions_.push_back(version);
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

  void check_opset() {
    const std::string supported = fmt::format("{} to {} are supported", oldest_opset, newest_opset);
    std::int64_t opset = 0;
    for (std::size_t i = 0; i < domains_.size(); ++i) {
      if (in_default_domain({domains_[i], {}})) opset = std::max(opset, versions_[i]);
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
    attributes().set(std::string(key::opset_domains), std::move(domains_));
    attributes().set(std::string(key::opset_versions), std::move(versions_));
    if (!functions_.empty()) {
      attributes().set(std::string(key::functions),
                       carried(source_.file(), std::move(functions_), fields_format));
    }
    if (!extra_.empty()) {
      attributes().set(std::string(key::model_extra),
                       carried(source_.file(), std::move(extra_), fields_format));
    }
  }

  Source source_;
  Sink* sink_;
  bool raise_quantization_;
  Graph graph_;
  std::vector<Range> graphs_;
  std::vector<std::string> domains_;
  std::vector<std::int64_t> versions_;
  std::vector<Range> functions_;
  std::vector<Range> extra_;
};

}  // namespace
}  // namespace onnx

Expected<Graph> read_onnx(const std::string& path, const OnnxReadOptions& options) {
  return onnx::at_border(path, [&] { return onnx::ModelReader(path, options).read(); });
}

}  // namespace quadrant::inline v0
