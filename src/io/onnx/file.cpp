#include "io/onnx/file.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "io/onnx/failure.hpp"
#include "ir/file_view.hpp"

namespace quadrant::inline v0::onnx {
namespace {

class FileRanges final : public ConstantSource {
 public:
  FileRanges(std::shared_ptr<const File> file, std::vector<Range> ranges)
      : file_(std::move(file)), ranges_(std::move(ranges)) {}

  [[nodiscard]] Expected<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    return at_border(file_->path(), [&] {
      for (const Range& range : ranges_) {
        if (out.empty()) return;
        if (offset >= range.size) {
          offset -= range.size;
          continue;
        }
        const auto size = std::min<std::uint64_t>(range.size - offset, out.size());
        file_->read(range.offset + offset, out.first(size));
        out = out.subspan(size);
        offset = 0;
      }
    });
  }

  [[nodiscard]] std::optional<ConstantBytes> view(std::uint64_t offset,
                                                  std::size_t size) const override {
    if (ranges_.size() != 1) return std::nullopt;
    return file_->view(ranges_.front().offset + offset, size);
  }

 private:
  std::shared_ptr<const File> file_;
  std::vector<Range> ranges_;
};

}  // namespace

File::File(std::string path, bool keep_open, FileTransaction* files) : path_(std::move(path)) {
  InputFile file = value_of(InputFile::open(path_, files));
  size_ = file.size();
  if (keep_open) open_.emplace(std::move(file));
}

void File::read(std::uint64_t offset, std::span<std::byte> out) const {
  value_of(open_ ? open_->read(offset, out) : value_of(InputFile::open(path_)).read(offset, out));
}

std::optional<ConstantBytes> File::view(std::uint64_t offset, std::size_t size) const {
  return open_ ? file_view(open_->window(offset, size)) : std::nullopt;
}

Mapping::Mapping(const File& file) : size_(file.size()) {
  if (size_ == 0) return;
  const int descriptor = file.open_ ? file.open_->descriptor() : -1;
  void* data = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (data == MAP_FAILED) {
    const std::string reason = std::generic_category().message(errno);
    io_failure(fmt::format("cannot map the file: {}", reason), {.file = file.path()});
  }
  data_ = static_cast<char*>(data);
  ::madvise(data, size_, MADV_RANDOM);
}

Mapping::~Mapping() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

void Mapping::forget(Range range) const noexcept {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t first = (range.offset + page - 1) / page * page;
  const std::uint64_t last = range.end() / page * page;
  if (first < last) ::madvise(data_ + first, last - first, MADV_DONTNEED);
}

std::shared_ptr<const ConstantSource> file_ranges(std::shared_ptr<const File> file,
                                                  std::vector<Range> ranges) {
  return std::make_shared<FileRanges>(std::move(file), std::move(ranges));
}

Opaque carried(const std::shared_ptr<const File>& file, std::vector<Range> ranges,
               std::string_view format) {
  std::uint64_t size = 0;
  for (const Range& range : ranges) size += range.size;
  const Shape shape{static_cast<std::int64_t>(size)};
  return {std::string(format),
          Constant::deferred(ElementType::uint8, shape, file_ranges(file, std::move(ranges)))};
}

std::string contents(const Opaque& opaque) {
  if (!opaque.bytes) return {};
  std::string text(opaque.bytes.byte_size(), '\0');
  value_of(opaque.bytes.read(0, std::as_writable_bytes(std::span(text))));
  return text;
}

}  // namespace quadrant::inline v0::onnx
