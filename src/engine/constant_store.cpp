#include <utility>

#include "ir/file_view.hpp"
#include "quadrant/engine/quantize.hpp"

namespace quadrant::inline v0 {
namespace {

class ScratchSource final : public ConstantSource {
 public:
  ScratchSource(std::shared_ptr<const ScratchFile> file, std::uint64_t begin)
      : file_(std::move(file)), begin_(begin) {}

  [[nodiscard]] Expected<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    return file_->read(begin_ + offset, out);
  }

  [[nodiscard]] std::optional<ConstantBytes> view(std::uint64_t offset,
                                                  std::size_t size) const override {
    return file_view(file_->window(begin_ + offset, size));
  }

 private:
  std::shared_ptr<const ScratchFile> file_;
  std::uint64_t begin_;
};

}  // namespace

Expected<std::shared_ptr<ScratchFile>> ConstantStore::file_for(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes <= left_) {
    left_ -= bytes;
    return nullptr;
  }
  if (!file_) {
    QUADRANT_TRY(file_, ScratchFile::create(directory_));
  }
  return file_;
}

Expected<Constant> ConstantStore::put(Constant constant) {
  if (!constant || constant.is_deferred()) return constant;
  QUADRANT_TRY(const std::shared_ptr<ScratchFile> file, file_for(constant.byte_size()));
  if (!file) return constant;
  QUADRANT_TRY(const ConstantBytes contents, constant.read());
  QUADRANT_TRY(const std::uint64_t begin, file->append(contents.bytes()));
  return Constant::deferred(constant.element(), constant.shape(),
                            std::make_shared<ScratchSource>(file, begin));
}

}  // namespace quadrant::inline v0
