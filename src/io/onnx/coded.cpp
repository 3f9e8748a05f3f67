#include "io/onnx/coded.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <protozero/varint.hpp>

#include "io/onnx/failure.hpp"
#include "numerics/kernels/pack.hpp"

namespace quadrant::inline v0::onnx {
namespace {

constexpr std::uint64_t elements_per_checkpoint = 4096;

/// Where an element begins.
struct Position {
  std::uint32_t run = 0;
  std::uint64_t offset = 0;  // in the file
};

/// Decodes one element after another, through a buffer.
class Decoder {
 public:
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): the buffer is filled before it is read
  Decoder(const File& file, const std::vector<Run>& runs, Coding coding, Position start)
      : file_(file), runs_(runs), coding_(coding), at_(start) {}

  /// Goes over runs that are finished; false at the end.
  bool more() {
    while (at_.run < runs_.size() && at_.offset >= runs_[at_.run].range.end()) {
      ++at_.run;
      if (at_.run < runs_.size()) at_.offset = runs_[at_.run].range.offset;
    }
    return at_.run < runs_.size();
  }

  [[nodiscard]] Position position() const noexcept { return at_; }

  std::uint64_t next() {
    const Run& run = runs_[at_.run];
    if (run.tagged) varint(run);
    if (coding_ == Coding::varint) return varint(run);
    const std::uint64_t size = coding_ == Coding::fixed32 ? 4 : 8;
    const std::span<const char> bytes = ahead(run);
    if (bytes.size() < size) damaged();
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data(), size);
    at_.offset += size;
    return value;
  }

 private:
  [[noreturn]] void damaged() const {
    invalid("an element is cut off or too long", {.offset = at_.offset});
  }

  /// The longest varint, or as much as the run still has.
  std::span<const char> ahead(const Run& run) {
    constexpr std::uint64_t longest = protozero::max_varint_length;
    const std::uint64_t want = std::min(longest, run.range.end() - at_.offset);
    if (at_.offset < filled_.offset || at_.offset + want > filled_.end()) {
      filled_ = {at_.offset, std::min<std::uint64_t>(buffer_.size(), run.range.end() - at_.offset)};
      file_.read(filled_.offset, std::as_writable_bytes(std::span(buffer_)).first(filled_.size));
    }
    return std::span(buffer_).subspan(at_.offset - filled_.offset, want);
  }

  std::uint64_t varint(const Run& run) {
    const std::span<const char> bytes = ahead(run);
    const char* cursor = bytes.data();
    try {
      const std::uint64_t value = protozero::decode_varint(&cursor, bytes.data() + bytes.size());
      at_.offset += static_cast<std::uint64_t>(cursor - bytes.data());
      return value;
    } catch (const protozero::exception&) {
      damaged();
    }
  }

  const File& file_;
  const std::vector<Run>& runs_;
  Coding coding_;
  Position at_;
  Range filled_;
  std::array<char, 32768> buffer_;
};

class CodedSource final : public ConstantSource {
 public:
  CodedSource(std::shared_ptr<const File> file, std::vector<Run> runs, Coding coding, int width,
              std::uint64_t count)
      : file_(std::move(file)),
        runs_(std::move(runs)),
        coding_(coding),
        width_(static_cast<std::uint64_t>(width)) {
    Position start;
    if (!runs_.empty()) start.offset = runs_.front().range.offset;
    Decoder decoder(*file_, runs_, coding_, start);
    std::uint64_t found = 0;
    for (; decoder.more() && found <= count; ++found) {
      if (found % elements_per_checkpoint == 0) checkpoints_.push_back(decoder.position());
      decoder.next();
    }
    if (found > count)
      invalid(fmt::format("more elements than the {} that its dims ask for", count));
    if (found < count) {
      invalid(fmt::format("{} elements where its dims ask for {}", found, count));
    }
  }

  [[nodiscard]] Expected<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    return at_border(file_->path(), [&] {
      if (out.empty()) return;
      std::uint64_t element = offset / width_;
      std::uint64_t skip = offset % width_;  // bytes of the first element that are not asked for
      const std::uint64_t checkpoint = element / elements_per_checkpoint;
      Decoder decoder(*file_, runs_, coding_, checkpoints_[checkpoint]);
      for (std::uint64_t before = element % elements_per_checkpoint; before > 0; --before) {
        if (decoder.more()) decoder.next();
      }
      while (!out.empty()) {
        if (!decoder.more()) io_failure("the file changed after it was opened");
        const std::uint64_t value = decoder.next();
        const auto* bytes = reinterpret_cast<const std::byte*>(&value) + skip;
        const std::size_t size = std::min<std::size_t>(width_ - skip, out.size());
        std::memcpy(out.data(), bytes, size);
        out = out.subspan(size);
        skip = 0;
      }
    });
  }

 private:
  std::shared_ptr<const File> file_;
  std::vector<Run> runs_;
  Coding coding_;
  std::uint64_t width_;
  std::vector<Position> checkpoints_;
};

class UnpackedSource final : public ConstantSource {
 public:
  UnpackedSource(std::shared_ptr<const ConstantSource> packed, int bits, bool is_signed)
      : packed_(std::move(packed)), bits_(bits), signed_(is_signed) {}

  [[nodiscard]] Expected<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    std::array<std::byte, 8192> bytes;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled
    const auto each = static_cast<std::uint64_t>(8 / bits_);
    while (!out.empty()) {
      const std::uint64_t first = offset / each;
      const std::uint64_t last = (offset + out.size() - 1) / each;
      const std::uint64_t skip = offset % each;
      // Of a byte whose first elements are not asked for, the others become the first.
      const auto size = skip != 0 ? 1 : std::min<std::uint64_t>(bytes.size(), last - first + 1);
      QUADRANT_CHECK(packed_->read(first, std::span(bytes).first(size)));
      bytes[0] >>= static_cast<int>(skip) * bits_;
      const std::size_t count = std::min<std::size_t>(size * each - skip, out.size());
      kernels::unpack_bits(bytes.data(), count, bits_, signed_, out.data());
      out = out.subspan(count);
      offset += count;
    }
    return {};
  }

 private:
  std::shared_ptr<const ConstantSource> packed_;
  int bits_;
  bool signed_;
};

}  // namespace

std::shared_ptr<const ConstantSource> coded_elements(std::shared_ptr<const File> file,
                                                     std::vector<Run> runs, Coding coding,
                                                     int width, std::uint64_t count) {
  return std::make_shared<CodedSource>(std::move(file), std::move(runs), coding, width, count);
}

std::shared_ptr<const ConstantSource> unpacked(std::shared_ptr<const ConstantSource> packed,
                                               int bits, bool is_signed) {
  return std::make_shared<UnpackedSource>(std::move(packed), bits, is_signed);
}

}  // namespace quadrant::inline v0::onnx
