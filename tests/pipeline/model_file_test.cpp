#include "quadrant/pipeline/model_file.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "model_text.hpp"
#include "quadrant/support/files.hpp"
#include "temporary_folder.hpp"

using namespace quadrant;
using test::value_of;
namespace fs = std::filesystem;

namespace {

Graph product() {
  return test::parsed(R"(
    %x: tensor<2x3xf32> = input()
    %w: tensor<3x2xf32> = constant() [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    %y: tensor<2x2xf32> = matmul(%x, %w)
    output(%y)
  )");
}

}  // namespace

TEST_CASE("each ending is a format, whatever its case, and ONNX is read from any") {
  CHECK(value_of(model_format("m.onnx")) == ModelFormat::onnx);
  CHECK(value_of(model_format("a/b.TFLite")) == ModelFormat::tflite);
  CHECK(value_of(model_format("m.xml")) == ModelFormat::openvino);
  CHECK(value_of(model_format("m.mlir")) == ModelFormat::mlir);
  CHECK(value_of(model_format("m.qd")) == ModelFormat::text);
  CHECK(read_format("model.pb") == ModelFormat::onnx);
  const auto unknown = model_format("m.h5");
  REQUIRE(!unknown);
  CHECK(unknown.error().code == ErrorCode::usage);
  CHECK(unknown.error().place.file == "m.h5");
}

TEST_CASE("what is written is read again, in each format that is read") {
  const test::TemporaryFolder folder;
  for (const char* const name : {"m.onnx", "m.tflite", "m.xml", "m.qd"}) {
    CAPTURE(name);
    const std::string path = folder / name;
    const WrittenModel written = value_of(write_model(product(), path));
    CHECK(written.bytes > 0);
    const Graph again = value_of(read_model(path));
    REQUIRE(again.inputs().size() == 1);
    CHECK(again.type({again.inputs()[0]}).shape == Shape{2, 3});
    CHECK(test::operations_of(again).size() == 1);
  }
}

TEST_CASE("MLIR is written and not read") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "m.mlir";
  const WrittenModel written = value_of(write_model(product(), path));
  CHECK(written.bytes == fs::file_size(path));
  const auto read = read_model(path);
  REQUIRE(!read);
  CHECK(read.error().code == ErrorCode::usage);
}

TEST_CASE("files of a context are put in place by its owner, all together") {
  const test::TemporaryFolder folder;
  FileTransaction files;
  const RunContext context{.files = &files};
  REQUIRE(write_model(product(), folder / "a.onnx", {}, context));
  REQUIRE(write_model(product(), folder / "b.qd", {}, context));
  CHECK(!fs::exists(folder / "a.onnx"));
  CHECK(!fs::exists(folder / "b.qd"));
  REQUIRE(files.commit());
  CHECK(fs::exists(folder / "a.onnx"));
  CHECK(fs::exists(folder / "b.qd"));
}

TEST_CASE("a link to a file of another format is not written through") {
  const test::TemporaryFolder folder;
  fs::create_symlink(folder / "real.tflite", folder / "link.onnx");
  const auto written = write_model(product(), folder / "link.onnx");
  REQUIRE(!written);
  CHECK(written.error().code == ErrorCode::usage);
  CHECK(!fs::exists(folder / "real.tflite"));
}

TEST_CASE("an error of a reader names the file") {
  const test::TemporaryFolder folder;
  for (const char* const name : {"m.onnx", "m.tflite", "m.xml", "m.qd"}) {
    CAPTURE(name);
    const auto read = read_model(folder.write(name, "no model"));
    REQUIRE(!read);
    CHECK(read.error().place.file == folder / name);
  }
}

TEST_CASE("data files count among a model's bytes") {
  const test::TemporaryFolder folder;
  REQUIRE(write_onnx(product(), folder / "m.onnx", {.external_from = 1}));
  const Graph graph = value_of(read_model(folder / "m.onnx"));
  CHECK(model_bytes(folder / "m.onnx", graph) >= file_bytes(folder / "m.onnx"));
  CHECK(file_bytes(folder / "nothing") == 0);
}
