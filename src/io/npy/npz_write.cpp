// .npz, written.
#include <fmt/format.h>

#include <array>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "io/npy/array.hpp"
#include "io/npy/zip.hpp"
#include "quadrant/io/npy.hpp"
#include "quadrant/support/files.hpp"

namespace quadrant::inline v0 {
namespace npy {
namespace {

Expected<void> check_names(const std::string& path, std::span<const NamedTensor> tensors) {
  if (tensors.empty()) return fail(ErrorCode::usage, "there is no array to write", {.file = path});
  std::set<std::string_view> taken;
  for (const auto& [name, tensor] : tensors) {
    constexpr std::size_t longest = 65'000;  // zip counts in 16 bits
    if (name.empty() || name.size() > longest || name.find('\0') != std::string::npos) {
      return fail(ErrorCode::usage,
                  fmt::format("'{}' cannot be the name of an array", name.substr(0, 100)),
                  {.file = path});
    }
    if (!taken.insert(name).second) {
      return fail(ErrorCode::usage, "two arrays of the same name", {.file = path, .tensor = name});
    }
  }
  return {};
}

/// A zip archive that is put together in memory. libzip reads what members are made of when it is
/// closed, so that must live until then.
class Archive {
 public:
  explicit Archive(const std::string& path) : path_(path) { zip_error_init(&error_); }
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;
  ~Archive() { zip_error_fini(&error_); }

  Expected<void> open() {
    source_.reset(zip_source_buffer_create(nullptr, 0, 0, &error_));
    if (!source_) return failed(&error_);
    const auto lock = lock_opening();
    zip_.reset(zip_open_from_source(source_.get(), ZIP_TRUNCATE, &error_));
    if (!zip_) return failed(&error_);
    zip_source_keep(source_.get());  // closing the archive frees it once
    return {};
  }

  Expected<void> add(const std::string& name, const StoredArray& array, bool compress) {
    const std::array pieces{fragment(std::as_bytes(std::span(array.header))),
                            fragment(array.elements.bytes())};
    ZipSource contents(zip_source_buffer_fragment_create(pieces.data(), pieces.size(), 0, &error_));
    if (!contents) return failed(&error_);
    const zip_int64_t added =
        zip_file_add(zip_.get(), (name + ".npy").c_str(), contents.get(), ZIP_FL_ENC_UTF_8);
    if (added < 0 && zip_error_code_zip(zip_get_error(zip_.get())) == ZIP_ER_INVAL) {
      return fail(ErrorCode::usage, "the name of this array is not UTF-8",
                  {.file = path_, .tensor = name});
    }
    if (added < 0) return failed(zip_get_error(zip_.get()));
    std::ignore = contents.release();  // the archive's now
    const auto index = static_cast<zip_uint64_t>(added);
    const zip_int32_t method = compress ? ZIP_CM_DEFLATE : ZIP_CM_STORE;
    constexpr zip_uint16_t first_day = (1U << 5U) | 1U;  // 1980-01-01, the oldest that zip knows
    if (zip_set_file_compression(zip_.get(), index, method, 0) != 0 ||
        zip_file_set_dostime(zip_.get(), index, 0, first_day, 0) != 0) {
      return failed(zip_get_error(zip_.get()));
    }
    return {};
  }

  Expected<void> close() {
    if (zip_close(zip_.get()) != 0) return failed(zip_get_error(zip_.get()));
    std::ignore = zip_.release();
    return {};
  }

  /// After `close`.
  Expected<void> write_to(NewFile& file) {
    if (zip_source_open(source_.get()) != 0) return failed(zip_source_error(source_.get()));
    std::vector<std::byte> piece(std::size_t{1} << 18U);
    while (true) {
      const zip_int64_t got = zip_source_read(source_.get(), piece.data(), piece.size());
      if (got < 0) return failed(zip_source_error(source_.get()));
      if (got == 0) break;
      QUADRANT_CHECK(file.write(std::span(piece).first(static_cast<std::size_t>(got))));
    }
    zip_source_close(source_.get());
    return {};
  }

 private:
  static zip_buffer_fragment_t fragment(std::span<const std::byte> bytes) {
    // libzip only reads them.
    auto* data = const_cast<std::byte*>(bytes.data());  // NOLINT(*-const-cast)
    return {reinterpret_cast<zip_uint8_t*>(data), bytes.size()};
  }

  [[nodiscard]] tl::unexpected<Error> failed(zip_error_t* error) const {
    return unwritable(error, {.file = path_});
  }

  const std::string& path_;
  zip_error_t error_{};
  ZipSource source_;
  ZipArchive zip_;
};

}  // namespace
}  // namespace npy

Expected<void> write_npz(const std::string& path, std::span<const NamedTensor> tensors,
                         const NpzWriteOptions& options) {
  QUADRANT_CHECK(npy::check_names(path, tensors));
  std::vector<npy::StoredArray> arrays;
  for (const NamedTensor& named : tensors) {
    auto array = npy::stored_array(named.tensor);
    if (!array) {
      return fail(array.error().code, array.error().message, {.file = path, .tensor = named.name});
    }
    arrays.push_back(*std::move(array));
  }
  npy::Archive archive(path);
  QUADRANT_CHECK(archive.open());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    QUADRANT_CHECK(archive.add(tensors[i].name, arrays[i], options.compress));
  }
  QUADRANT_CHECK(archive.close());
  FilesOrOwn files(options.files);
  QUADRANT_TRY(NewFile file, files->create(path));
  QUADRANT_CHECK(archive.write_to(file));
  QUADRANT_CHECK(files->add(std::move(file)));
  return files.finish();
}

}  // namespace quadrant::inline v0
