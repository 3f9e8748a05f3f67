#include "mlir_plugin/constants.hpp"

#include <llvm/ADT/SmallVector.h>
#include <mlir/IR/AsmState.h>
#include <mlir/IR/DialectResourceBlobManager.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mlir_plugin/context_executor.hpp"
#include "mlir_plugin/types.hpp"

namespace quadrant::inline v0::mlir_plugin {
namespace {

// A few bytes of text can claim any number of elements, each of which would be looked at.
constexpr std::int64_t largest_splat = std::int64_t{1} << 31;

constexpr std::uint64_t resource_bytes = std::uint64_t{64} << 10;
// Of codes that a thread computes at a time.
constexpr std::size_t piece_bytes = std::size_t{512} << 10;

// From byte `offset` of what the element makes again and again.
void repeat_element(llvm::ArrayRef<char> element, std::uint64_t offset, std::span<std::byte> out) {
  std::size_t done = std::min(element.size(), out.size());
  for (std::size_t i = 0; i < done; ++i) {
    out[i] = static_cast<std::byte>(element[(offset + i) % element.size()]);
  }
  while (done < out.size()) {
    const std::size_t more = std::min(done, out.size() - done);
    std::memcpy(out.data() + done, out.data(), more);
    done += more;
  }
}

// Bytes of MLIR's context. A splat's are one element, again and again.
class KeptBytes final : public ConstantSource {
 public:
  KeptBytes(llvm::ArrayRef<char> bytes, ElementType element, bool is_splat)
      : bytes_(bytes), element_(element), is_splat_(is_splat) {}

  [[nodiscard]] Expected<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    if (is_splat_) {
      repeat_element(bytes_, offset, out);
    } else {
      std::memcpy(out.data(), bytes_.data() + offset, out.size());
    }
    // What is in the upper half of a byte is not said.
    if (element_ == ElementType::uint4) {
      for (std::byte& code : out) code &= std::byte{0x0F};
    } else if (element_ == ElementType::int4) {
      for (std::byte& code : out) {
        const auto low = static_cast<int>(code) & 0x0F;
        code = static_cast<std::byte>(low < 8 ? low : low - 16);
      }
    }
    return {};
  }

  // The context keeps them.
  [[nodiscard]] std::optional<ConstantBytes> view(std::uint64_t offset,
                                                  std::size_t size) const override {
    if (is_splat_ || bit_width(element_) < 8) return std::nullopt;
    return ConstantBytes(
        nullptr, std::as_bytes(std::span(bytes_.data(), bytes_.size())).subspan(offset, size));
  }

 private:
  llvm::ArrayRef<char> bytes_;
  ElementType element_;
  bool is_splat_;
};

ElementType without_sign(ElementType element) {
  switch (element) {
    case ElementType::int4:
      return ElementType::uint4;
    case ElementType::int8:
      return ElementType::uint8;
    case ElementType::int16:
      return ElementType::uint16;
    case ElementType::int32:
      return ElementType::uint32;
    default:
      return element;
  }
}

bool is_splat(std::span<const std::byte> bytes, std::size_t width) {
  if (bytes.size() <= width) return true;
  return std::memcmp(bytes.data(), bytes.data() + width, bytes.size() - width) == 0;
}

// The element that all `codes` are; empty: they differ. Reads up to the first that does.
Expected<std::vector<std::byte>> only_element(const Constant& codes) {
  const auto width = static_cast<std::size_t>(byte_width(codes.element()));
  std::vector<std::byte> piece;
  std::vector<std::byte> element;
  std::uint64_t most = 4096;  // mostly the first few differ
  for (std::uint64_t at = 0; at < codes.byte_size(); at += piece.size()) {
    piece.resize(static_cast<std::size_t>(std::min(most, codes.byte_size() - at)));
    most = std::min<std::uint64_t>(2 * most, piece_bytes);
    QUADRANT_CHECK(codes.read(at, piece));
    if (element.empty())
      element.assign(piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(width));
    if (!is_splat(piece, width) || std::memcmp(piece.data(), element.data(), width) != 0) {
      return std::vector<std::byte>();
    }
  }
  return element;
}

// Keys of resources are bare identifiers where they are printed.
std::string resource_key(std::string_view name) {
  std::string key(name);
  for (char& letter : key) {
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  }
  return "quadrant_" + key;
}

llvm::ArrayRef<char> characters(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// All of `codes`, in the threads of `context`.
Expected<void> read_all(const Constant& codes, std::span<std::byte> out,
                        mlir::MLIRContext* context) {
  std::vector<std::optional<Error>> errors((out.size() + piece_bytes - 1) / piece_bytes);
  ContextExecutor(context).parallel_for(errors.size(), [&](std::size_t piece) {
    const std::size_t first = piece * piece_bytes;
    auto done = codes.read(first, out.subspan(first, std::min(piece_bytes, out.size() - first)));
    if (!done) errors[piece] = std::move(done).error();
  });
  for (std::optional<Error>& error : errors) {
    if (error) return fail(*std::move(error));
  }
  return {};
}

}  // namespace

Constant to_constant(mlir::Attribute attribute, bool is_unsigned) {
  llvm::ArrayRef<char> bytes;
  bool one_element = false;
  mlir::ShapedType type;
  if (const auto dense = llvm::dyn_cast<mlir::DenseIntOrFPElementsAttr>(attribute)) {
    type = dense.getType();
    bytes = dense.getRawData();
    one_element = dense.isSplat();
  } else if (const auto resource = llvm::dyn_cast<mlir::DenseResourceElementsAttr>(attribute)) {
    const mlir::AsmResourceBlob* const blob = resource.getRawHandle().getBlob();
    if (blob == nullptr) return {};
    type = resource.getType();
    bytes = blob->getData();
  } else {
    return {};
  }
  // NOLINTNEXTLINE(cppcoreguidelines-slicing): an interface is what it is of, and its functions
  TensorType known = to_tensor_type(type);
  if (is_unsigned) known.element = without_sign(known.element);
  const auto width = static_cast<std::uint64_t>(byte_width(known.element));
  const auto count = known.shape.element_count();
  // A boolean takes a bit there, and a byte here.
  if (width == 0 || !count || known.element == ElementType::boolean) return {};
  if (one_element && *count > largest_splat) return {};
  if (bytes.size() != width * (one_element ? 1 : static_cast<std::uint64_t>(*count))) return {};
  return Constant::deferred(known.element, known.shape,
                            std::make_shared<KeptBytes>(bytes, known.element, one_element));
}

Expected<mlir::ElementsAttr> to_elements(mlir::RankedTensorType type, const Constant& codes,
                                         std::string_view name) {
  const auto width = static_cast<std::size_t>(byte_width(codes.element()));
  const std::uint64_t size = codes.byte_size();
  // Such as a few bytes of text say are never there as a whole.
  if (size >= resource_bytes) {
    QUADRANT_TRY(const std::vector<std::byte> element, only_element(codes));
    if (!element.empty()) {
      return mlir::DenseElementsAttr::getFromRawBuffer(type, characters(element));
    }
  }
  if (size < resource_bytes || bit_width(codes.element()) < 8) {
    llvm::SmallVector<std::byte, 0> bytes;
    bytes.resize_for_overwrite(size);
    QUADRANT_CHECK(read_all(codes, bytes, type.getContext()));
    const std::size_t shown = is_splat(bytes, width) ? width : bytes.size();
    return mlir::DenseElementsAttr::getFromRawBuffer(type,
                                                     characters(std::span(bytes).first(shown)));
  }
  mlir::AsmResourceBlob blob = mlir::HeapAsmResourceBlob::allocate(size, 64);
  const llvm::MutableArrayRef<char> room = blob.getMutableData();
  const auto bytes = std::as_writable_bytes(std::span(room.data(), room.size()));
  QUADRANT_CHECK(read_all(codes, bytes, type.getContext()));
  return mlir::DenseResourceElementsAttr::get(type, resource_key(name), std::move(blob));
}

}  // namespace quadrant::inline v0::mlir_plugin
