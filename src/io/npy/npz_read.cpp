// .npz, read: a zip archive, a .npy in each member.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>

#include "io/npy/array.hpp"
#include "io/npy/zip.hpp"
#include "quadrant/io/npy.hpp"
#include "support/input_file.hpp"

namespace quadrant::inline v0 {
namespace npy {
namespace {

constexpr std::string_view suffix = ".npy";

/// The contents of a member, which libzip gives from the start to the end.
class MemberInput final : public Input {
 public:
  MemberInput(zip_file_t* member, std::uint64_t size) : Input(size), member_(member) {}

  /// After the last byte. Only here does libzip compare checksums.
  [[nodiscard]] Expected<void> finish() {
    std::byte more{};
    QUADRANT_TRY(const std::size_t got, some({&more, 1}));
    if (got == 0) return {};
    return damaged("its contents are longer than the zip archive says", position());
  }

 private:
  [[nodiscard]] Expected<std::size_t> some(std::span<std::byte> out) {
    const zip_int64_t got = zip_fread(member_, out.data(), out.size());
    if (got < 0) return unreadable(zip_file_get_error(member_), {});
    return static_cast<std::size_t>(got);
  }

  [[nodiscard]] Expected<void> fetch(std::uint64_t offset, std::span<std::byte> out) override {
    while (!out.empty()) {
      QUADRANT_TRY(const std::size_t got, some(out));
      if (got == 0) return damaged("its contents are shorter than the zip archive says", offset);
      out = out.subspan(got);
      offset += got;
    }
    return {};
  }

  zip_file_t* member_;
};

/// That a member is of a kind that is read, and as large as what is stored can make it, before
/// there is memory for it.
Expected<void> check_member(const zip_stat_t& member, std::uint64_t file_size) {
  if (member.encryption_method != ZIP_EM_NONE) {
    return fail(ErrorCode::invalid_model, "it is encrypted: save it without a password");
  }
  if (member.comp_method != ZIP_CM_STORE && member.comp_method != ZIP_CM_DEFLATE) {
    return fail(ErrorCode::invalid_model,
                fmt::format("it is compressed by method {} of zip; numpy.savez and "
                            "numpy.savez_compressed store and deflate",
                            member.comp_method));
  }
  // Deflate's longest match is 258 bytes, its shortest code for one two bits.
  constexpr std::uint64_t highest_ratio = 1032;
  const bool is_stored = member.comp_method == ZIP_CM_STORE;
  if (member.comp_size > file_size || (is_stored && member.size != member.comp_size) ||
      member.size / highest_ratio > member.comp_size) {
    return fail(ErrorCode::invalid_model,
                fmt::format("{} bytes cannot come from the {} that the zip archive has for it",
                            member.size, member.comp_size));
  }
  return {};
}

/// libzip and the arrays know no file, and count bytes from the start of the member.
Error in_member(Error error, const std::string& file, std::string_view name) {
  if (error.place.offset) {
    error.message += fmt::format(" (at byte {} of the array's own)", *error.place.offset);
    error.place.offset.reset();
  }
  error.place.file = file;
  error.place.tensor = name;
  return error;
}

}  // namespace

struct NameHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const noexcept {
    return std::hash<std::string_view>{}(text);
  }
};

}  // namespace npy

struct NpzReader::Archive {
  std::string path;
  std::uint64_t size = 0;
  npy::ZipArchive zip;
  std::vector<std::string> names;
  std::unordered_map<std::string, zip_uint64_t, npy::NameHash, std::equal_to<>> members;

  Expected<void> list() {
    const zip_int64_t count = zip_get_num_entries(zip.get(), 0);
    for (zip_int64_t i = 0; i < count; ++i) {
      const auto index = static_cast<zip_uint64_t>(i);
      const char* text = zip_get_name(zip.get(), index, 0);
      if (text == nullptr) return npy::unreadable(zip_get_error(zip.get()), {.file = path});
      std::string_view name(text);
      if (name.ends_with('/')) continue;  // a folder
      if (name.ends_with(npy::suffix)) name.remove_suffix(npy::suffix.size());
      if (!members.emplace(name, index).second) {
        return fail(ErrorCode::invalid_model, "the zip archive has two arrays of this name",
                    {.file = path, .tensor = std::string(name)});
      }
      names.emplace_back(name);
    }
    return {};
  }

  [[nodiscard]] Expected<Tensor> read(zip_uint64_t index) const {
    zip_stat_t stat{};
    if (zip_stat_index(zip.get(), index, 0, &stat) != 0) return failed();
    QUADRANT_CHECK(npy::check_member(stat, size));
    const npy::ZipMember member(zip_fopen_index(zip.get(), index, 0));
    if (!member) return failed();
    npy::MemberInput input(member.get(), stat.size);
    QUADRANT_TRY(Tensor tensor, npy::read_array(input));
    QUADRANT_CHECK(input.finish());
    return tensor;
  }

  [[nodiscard]] tl::unexpected<Error> failed() const {
    return npy::unreadable(zip_get_error(zip.get()), {});
  }
};

NpzReader::NpzReader(std::unique_ptr<Archive> archive) noexcept : archive_(std::move(archive)) {}
NpzReader::NpzReader(NpzReader&&) noexcept = default;
NpzReader::~NpzReader() = default;

Expected<NpzReader> NpzReader::open(const std::string& path, FileTransaction* files) {
  auto archive = std::make_unique<Archive>();
  archive->path = path;
  {  // libzip would wait for a pipe
    QUADRANT_TRY(const InputFile file, InputFile::open(path, files));
    archive->size = file.size();
  }
  int code = 0;
  {
    const auto lock = npy::lock_opening();
    archive->zip.reset(zip_open(path.c_str(), ZIP_RDONLY, &code));
  }
  if (!archive->zip) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    auto failure = npy::unreadable(&error, {.file = path});
    zip_error_fini(&error);
    return failure;
  }
  QUADRANT_CHECK(archive->list());
  return NpzReader(std::move(archive));
}

std::span<const std::string> NpzReader::names() const noexcept { return archive_->names; }

bool NpzReader::contains(std::string_view name) const noexcept {
  return archive_->members.contains(name);
}

Expected<Tensor> NpzReader::read(std::string_view name) {
  const auto found = archive_->members.find(name);
  if (found == archive_->members.end()) {
    return fail(ErrorCode::usage, "there is no array of this name",
                {.file = archive_->path, .tensor = std::string(name)});
  }
  Expected<Tensor> tensor = archive_->read(found->second);
  if (!tensor) return fail(npy::in_member(std::move(tensor).error(), archive_->path, name));
  return tensor;
}

}  // namespace quadrant::inline v0
