// .npz and .npy files: what is read is written, and reads back the same.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quadrant/io/npy.hpp"
#include "require.hpp"
#include "temporary_folder.hpp"

namespace {

using namespace quadrant;

const test::TemporaryFolder& folder() {
  static const test::TemporaryFolder folder;
  return folder;
}

void require_same(const Tensor& a, const Tensor& b, std::string_view name) {
  fuzz::require(a.element() == b.element() && a.shape() == b.shape() &&
                    std::ranges::equal(a.bytes(), b.bytes()),
                "written and read again, it differs", [&] { return std::string(name); });
}

void check_npy(const std::string& path) {
  const auto tensor = read_npy(path);
  if (!tensor) return;
  const std::string out = folder() / "out.npy";
  const auto written = write_npy(out, *tensor);
  fuzz::require_value(written, "cannot be written", [] { return std::string(); });
  const auto again = read_npy(out);
  fuzz::require_value(again, "cannot be read again", [] { return std::string(); });
  require_same(*tensor, *again, out);
}

void check_npz(const std::string& path, bool compress) {
  auto archive = NpzReader::open(path);
  if (!archive) return;
  std::vector<NamedTensor> tensors;
  for (const std::string& name : archive->names()) {
    fuzz::require(archive->contains(name), "a name that is not there", [&] { return name; });
    if (auto tensor = archive->read(name)) tensors.push_back({name, *std::move(tensor)});
  }
  const std::string out = folder() / "out.npz";
  if (!write_npz(out, tensors, {.compress = compress})) return;  // names that zip does not have
  auto again = NpzReader::open(out);
  fuzz::require_value(again, "cannot be opened again", [] { return std::string(); });
  for (const NamedTensor& named : tensors) {
    const auto tensor = again->read(named.name);
    fuzz::require_value(tensor, "cannot be read again", [&] { return named.name; });
    require_same(named.tensor, *tensor, named.name);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string path = folder().write("in", {reinterpret_cast<const char*>(data), size});
  check_npy(path);
  check_npz(path, size % 2 == 0);
  return 0;
}
