#include "io/openvino/bin.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "io/openvino/element.hpp"
#include "io/openvino/failure.hpp"
#include "ir/file_view.hpp"
#include "ir/float16.hpp"
#include "support/model_data.hpp"

namespace quadrant::inline v0::openvino_ir {
namespace {

/// What is this short is read at once: lists and scalars, which are looked at again and again.
constexpr std::uint64_t short_bytes = 4096;

class BinRange final : public ConstantSource {
 public:
  BinRange(std::shared_ptr<const Bin> bin, std::uint64_t start)
      : bin_(std::move(bin)), start_(start) {}

  [[nodiscard]] Expected<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    return bin_->read(start_ + offset, out);
  }

  [[nodiscard]] std::optional<ConstantBytes> view(std::uint64_t offset,
                                                  std::size_t size) const override {
    return bin_->view(start_ + offset, size);
  }

 private:
  std::shared_ptr<const Bin> bin_;
  std::uint64_t start_;
};

/// Elements of 4 bits, two in a byte, the first in the lower half.
class PackedBinRange final : public ConstantSource {
 public:
  PackedBinRange(std::shared_ptr<const Bin> bin, std::uint64_t start, bool is_signed)
      : bin_(std::move(bin)), start_(start), is_signed_(is_signed) {}

  [[nodiscard]] Expected<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    return at_border(bin_->path(), [&] {
      std::vector<std::byte> packed(std::min<std::size_t>(out.size() / 2 + 1, block));
      while (!out.empty()) {
        const std::uint64_t skip = offset % 2;
        const std::size_t count = std::min<std::size_t>(out.size(), 2 * packed.size() - skip);
        const std::size_t bytes = (skip + count + 1) / 2;
        value_of(bin_->read(start_ + offset / 2, std::span(packed).first(bytes)));
        for (std::size_t i = 0; i < count; ++i) out[i] = element(packed, skip + i);
        out = out.subspan(count);
        offset += count;
      }
    });
  }

 private:
  static constexpr std::size_t block = std::size_t{1} << 16U;

  [[nodiscard]] std::byte element(const std::vector<std::byte>& packed, std::uint64_t i) const {
    constexpr auto sign = std::byte{8};
    std::byte half = packed[i / 2] >> (i % 2 == 0 ? 0U : 4U) & std::byte{15};
    if (is_signed_ && (half & sign) != std::byte{0}) half |= std::byte{0xf0};
    return half;
  }

  std::shared_ptr<const Bin> bin_;
  std::uint64_t start_;
  bool is_signed_;
};

class WidenedSource final : public ConstantSource {
 public:
  explicit WidenedSource(Constant half) : half_(std::move(half)) {}

  [[nodiscard]] Expected<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    return at_border("", [&] {
      std::vector<std::uint16_t> halves(std::min(out.size() / sizeof(float) + 2, block));
      while (!out.empty()) {
        const std::uint64_t first = offset / sizeof(float);
        const std::uint64_t skip = offset % sizeof(float);
        const std::uint64_t elements = (skip + out.size() + sizeof(float) - 1) / sizeof(float);
        const std::size_t count = std::min<std::size_t>(elements, halves.size());
        value_of(half_.read(first * sizeof(std::uint16_t),
                            std::as_writable_bytes(std::span(halves).first(count))));
        std::vector<float> wide(count);
        std::ranges::transform(std::span(halves).first(count), wide.begin(), widen_float16);
        const std::size_t bytes = std::min(count * sizeof(float) - skip, out.size());
        std::memcpy(out.data(), std::as_bytes(std::span(wide)).data() + skip, bytes);
        out = out.subspan(bytes);
        offset += bytes;
      }
    });
  }

 private:
  static constexpr std::size_t block = std::size_t{1} << 14U;

  Constant half_;
};

Constant in_memory_if_short(Constant constant) {
  if (constant.byte_size() > short_bytes) return constant;
  std::vector<std::byte> bytes(constant.byte_size());
  value_of(constant.read(0, bytes));
  return Constant::from_bytes(constant.element(), constant.shape(), std::move(bytes));
}

void check_range(const Bin& bin, std::uint64_t offset, std::uint64_t size) {
  if (offset <= bin.size() && size <= bin.size() - offset) return;
  if (bin.is_missing()) {
    failures::io_failure("the weights of this model are in it, and there is no such file",
                         {.file = bin.path()});
  }
  const std::string where =
      bin.path().empty() ? std::string("the weights have") : fmt::format("'{}' has", bin.path());
  invalid(fmt::format("a constant of {} bytes from byte {} on: {} {} bytes", size, offset, where,
                      bin.size()));
}

}  // namespace

Bin::Bin(const std::string& xml, const OpenVinoReadOptions& options)
    : path_(std::filesystem::path(xml).replace_extension(".bin").string()) {
  std::error_code ignored;
  if (!std::filesystem::exists(path_, ignored)) return;
  if (!options.follow_links) value_of(check_model_data(xml, path_));
  file_ = std::make_unique<InputFile>(value_of(InputFile::open(path_, options.files)));
}

Expected<void> Bin::read(std::uint64_t offset, std::span<std::byte> out) const {
  if (file_) return file_->read(offset, out);
  std::ranges::copy(std::span(bytes_).subspan(offset, out.size()), out.begin());
  return {};
}

std::optional<ConstantBytes> Bin::view(std::uint64_t offset, std::size_t size) const {
  return file_ ? file_view(file_->window(offset, size)) : std::nullopt;
}

Constant constant_in(const std::shared_ptr<const Bin>& bin, ElementType element, const Shape& shape,
                     std::uint64_t offset, std::uint64_t size) {
  const auto count = shape.element_count();
  const auto wanted = count ? stored_bytes_of(element, *count) : std::nullopt;
  // Of what has no elements, OpenVINO writes one byte.
  if (!wanted || (*wanted != size && *wanted != 0)) {
    invalid(fmt::format("a constant of {} bytes, where {} of shape [{}] take {}", size,
                        name_of(element), to_string(shape),
                        wanted ? fmt::format("{}", *wanted) : "more than there can be"));
  }
  check_range(*bin, offset, size);
  std::shared_ptr<const ConstantSource> source;
  if (bit_width(element) == 4) {
    source = std::make_shared<PackedBinRange>(bin, offset, element == ElementType::int4);
  } else {
    source = std::make_shared<BinRange>(bin, offset);
  }
  return in_memory_if_short(Constant::deferred(element, shape, std::move(source)));
}

Constant bytes_in(const std::shared_ptr<const Bin>& bin, std::uint64_t offset, std::uint64_t size) {
  check_range(*bin, offset, size);
  return in_memory_if_short(Constant::deferred(ElementType::uint8,
                                               Shape{static_cast<std::int64_t>(size)},
                                               std::make_shared<BinRange>(bin, offset)));
}

Constant widened_constant(const Constant& half) {
  return in_memory_if_short(Constant::deferred(ElementType::float32, half.shape(),
                                               std::make_shared<WidenedSource>(half)));
}

}  // namespace quadrant::inline v0::openvino_ir
