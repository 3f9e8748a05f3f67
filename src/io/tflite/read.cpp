// Files to graphs.
#include "io/tflite/failure.hpp"
#include "io/tflite/file.hpp"
#include "io/tflite/raise.hpp"
#include "quadrant/io/tflite.hpp"
#include "support/input_file.hpp"

namespace quadrant::inline v0 {
namespace tflite {
namespace {

Graph graph_of(std::vector<std::byte> bytes) {
  const File file(std::move(bytes));
  return Raising(file).run();
}

}  // namespace
}  // namespace tflite

Expected<Graph> read_tflite(const std::filesystem::path& path, FileTransaction* files) {
  return tflite::at_border(path.string(), [&] {
    const InputFile file = tflite::value_of(InputFile::open(path.string(), files));
    std::vector<std::byte> bytes(file.size());
    tflite::value_of(file.read(0, bytes));
    return tflite::graph_of(std::move(bytes));
  });
}

Expected<Graph> read_tflite(std::span<const std::byte> bytes, const std::string& name) {
  return tflite::at_border(name, [&] { return tflite::graph_of({bytes.begin(), bytes.end()}); });
}

}  // namespace quadrant::inline v0
