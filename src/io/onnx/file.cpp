#include "io/onnx/file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "io/onnx/failure.hpp"

namespace quadrant::inline v0::onnx {
namespace {

[[noreturn]] void refused(const std::string& path, std::string_view what) {
  const std::string reason = std::generic_category().message(errno);
  io_failure(fmt::format("cannot {} the file: {}", what, reason), {.file = path});
}

int open_to_read(const std::string& path) {
  // O_NONBLOCK: opening a pipe that nobody writes to would wait for ever.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): POSIX's own
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) refused(path, "open");
  return descriptor;
}

/// Closes on leaving, unless released.
struct Descriptor {
  int value = -1;
  Descriptor(int descriptor) : value(descriptor) {}  // NOLINT: implicit
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value >= 0) ::close(value);
  }
};

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

 private:
  std::shared_ptr<const File> file_;
  std::vector<Range> ranges_;
};

}  // namespace

File::File(std::string path, bool keep_open) : path_(std::move(path)) {
  Descriptor descriptor = open_to_read(path_);
  struct stat status{};
  if (::fstat(descriptor.value, &status) != 0) refused(path_, "examine");
  if (!S_ISREG(status.st_mode)) io_failure("not a regular file", {.file = path_});
  size_ = static_cast<std::uint64_t>(status.st_size);
  if (keep_open) descriptor_ = std::exchange(descriptor.value, -1);
}

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void File::read(std::uint64_t offset, std::span<std::byte> out) const {
  const Descriptor opened = descriptor_ < 0 ? open_to_read(path_) : -1;
  const int descriptor = descriptor_ < 0 ? opened.value : descriptor_;
  while (!out.empty()) {
    const ssize_t got = ::pread(descriptor, out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refused(path_, "read");
    if (got == 0) {
      io_failure("the file became shorter after it was opened", {.file = path_, .offset = offset});
    }
    out = out.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
}

Mapping::Mapping(const File& file) : size_(file.size()) {
  if (size_ == 0) return;
  void* data = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.descriptor_, 0);
  if (data == MAP_FAILED) refused(file.path(), "map");
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
