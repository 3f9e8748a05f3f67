#include "support/model_data.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "temporary_folder.hpp"

using namespace quadrant;
using quadrant::test::TemporaryFolder;
namespace fs = std::filesystem;

TEST_CASE("a model's data may be a link into its folder, or where the model itself leads") {
  const TemporaryFolder folder;
  for (const char* path :
       {"models/a", "models/below", "cache/blobs", "cache/snapshots/1/onnx", "other"}) {
    fs::create_directories(folder / path);
  }
  for (const char* path : {"models/m.onnx", "models/m.data", "models/below/m.data",
                           "cache/blobs/0a", "cache/blobs/0b", "other/secret", "models2"}) {
    folder.write(path, "");
  }
  fs::create_symlink("below/m.data", folder / "models/inside");
  fs::create_symlink("../other/secret", folder / "models/outside");
  fs::create_symlink(folder / "other", folder / "models/a/folder");
  fs::create_symlink("../models2", folder / "models/named alike");
  fs::create_symlink("outside", folder / "models/chain");
  fs::create_symlink("../../../blobs/0a", folder / "cache/snapshots/1/onnx/m.onnx");
  fs::create_symlink("../../../blobs/0b", folder / "cache/snapshots/1/onnx/m.onnx_data");
  fs::create_symlink("../../../../other/secret", folder / "cache/snapshots/1/onnx/bad");
  fs::create_symlink(folder / "models", folder / "models by link");
  const std::string snapshot = "cache/snapshots/1/onnx/";
  const std::vector<std::pair<std::string, std::string>> good{
      {"models/m.onnx", "models/m.data"},
      {"models/m.onnx", "models/below/m.data"},
      {"models/m.onnx", "models/inside"},
      {"models/m.onnx", "models/not there"},
      {"models by link/m.onnx", "models by link/m.data"},
      {"models/m.onnx", "models by link/m.data"},
      {snapshot + "m.onnx", snapshot + "m.onnx_data"}};
  for (const auto& [model, data] : good) {
    CAPTURE(data);
    CHECK(check_model_data(folder / model, folder / data).has_value());
  }
  const std::vector<std::pair<std::string, std::string>> bad{
      {"models/m.onnx", "models/outside"},
      {"models/m.onnx", "models/chain"},
      {"models/m.onnx", "models/a/folder/secret"},
      {"models/m.onnx", "models/named alike"},
      {snapshot + "m.onnx", snapshot + "bad"}};
  for (const auto& [model, data] : bad) {
    CAPTURE(data);
    const auto status = check_model_data(folder / model, folder / data);
    REQUIRE_FALSE(status.has_value());
    CHECK(status.error().code == ErrorCode::invalid_model);
    CHECK(status.error().place.file == folder / data);
  }
}
