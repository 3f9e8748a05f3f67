// onnx_from_text IN OUT [--matmul-nbits] [--fake-quantize]
//
// Writes a graph, given as text, as a model, for the peer tests: graphs with quantized types have
// no other form in which a test can state them. With --again, the model is read and written once
// more.
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "ir/shape_inference.hpp"
#include "quadrant/io/onnx.hpp"
#include "quadrant/ir/text.hpp"

namespace {

using namespace quadrant;

class PrintingSink final : public Sink {
 public:
  void report(const Diagnostic& diagnostic) override {
    std::printf("note: %s\n", diagnostic.message.c_str());
  }
};

int failed(const Error& error) {
  std::fprintf(stderr, "%s (%s)\n", to_string(error).c_str(),
               std::string(to_string(error.code)).c_str());
  return 1;
}

Expected<void> run(const std::string& source, const std::string& target,
                   const OnnxWriteOptions& options) {
  std::ostringstream text;
  text << std::ifstream(source).rdbuf();
  QUADRANT_TRY(Graph graph, parse_graph(text.str()));
  QUADRANT_CHECK(infer_shapes(graph));
  QUADRANT_TRY(const OnnxWriteReport report, write_onnx(graph, target, options));
  std::printf("matmul_nbits: %d\nopset: %d\n", static_cast<int>(report.matmul_nbits),
              static_cast<int>(report.opset_written));
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: onnx_from_text IN OUT [--matmul-nbits] [--fake-quantize]\n");
    return 2;
  }
  PrintingSink sink;
  OnnxWriteOptions options;
  options.sink = &sink;
  for (int i = 3; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--matmul-nbits") options.matmul_nbits = true;
    if (std::string_view(argv[i]) == "--fake-quantize") {
      options.fake_quantize = FakeQuantizeForm::openvino;
    }
  }
  const auto done = run(argv[1], argv[2], options);
  return done ? 0 : failed(done.error());
}
