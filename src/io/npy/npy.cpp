// .npy: one array, one file.
#include "quadrant/io/npy.hpp"

#include <utility>

#include "io/npy/array.hpp"
#include "quadrant/support/files.hpp"
#include "support/input_file.hpp"

namespace quadrant::inline v0 {
namespace npy {
namespace {

class FileInput final : public Input {
 public:
  explicit FileInput(const InputFile& file) : Input(file.size()), file_(file) {}

 private:
  [[nodiscard]] Expected<void> fetch(std::uint64_t offset, std::span<std::byte> out) override {
    return file_.read(offset, out);
  }

  const InputFile& file_;
};

}  // namespace
}  // namespace npy

Expected<Tensor> read_npy(const std::string& path, FileTransaction* files) {
  QUADRANT_TRY(const InputFile file, InputFile::open(path, files));
  npy::FileInput input(file);
  Expected<Tensor> tensor = npy::read_array(input);
  if (!tensor) tensor.error().place.file = path;
  return tensor;
}

Expected<void> write_npy(const std::string& path, const Tensor& tensor) {
  QUADRANT_TRY(const npy::StoredArray array, npy::stored_array(tensor));
  QUADRANT_TRY(NewFile file, NewFile::create(path));
  QUADRANT_CHECK(file.write(std::as_bytes(std::span(array.header))));
  QUADRANT_CHECK(file.write(array.elements.bytes()));
  return file.commit();
}

}  // namespace quadrant::inline v0
