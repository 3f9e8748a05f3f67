#include "calibration/data_set_raw.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "calibration/data_set_convert.hpp"
#include "support/counted.hpp"
#include "support/input_file.hpp"

namespace quadrant::inline v0::data_set {
namespace {

tl::unexpected<Error> refused(std::string message) {
  return fail(ErrorCode::invalid_model, std::move(message));
}

/// `, 8 bytes`, or `, 8 bytes or a multiple of that`: of `known` elements, times an open extent.
std::string wanted_bytes(std::uint64_t known, std::uint64_t width, bool is_open) {
  if (known == 0 || known > UINT64_MAX / width) return {};
  return fmt::format(", {}{}", counted(known * width, "byte"),
                     is_open ? " or a multiple of that" : "");
}

/// The shape of `bytes` bytes.
Expected<Shape> shape_of(const Input& input, std::uint64_t bytes) {
  std::vector<Extent> extents(input.shape.extents().begin(), input.shape.extents().end());
  const auto unknown = std::ranges::count(extents, false, &Extent::is_known);
  const auto width = static_cast<std::uint64_t>(byte_width(input.element));
  if (width == 0 || !input.shape.is_ranked() || unknown > 1) {
    return refused(
        fmt::format("the model takes {} [{}] here, which a file without header does not settle: "
                    "store it as .npy",
                    to_string(input.element), to_string(input.shape)));
  }
  const auto open = std::ranges::find(extents, false, &Extent::is_known);
  if (unknown == 1) *open = 1;
  const auto count = Shape(extents).element_count();
  const std::uint64_t known = count ? static_cast<std::uint64_t>(*count) : 0;
  const bool is_whole = known != 0 && bytes % width == 0 && bytes / width % known == 0;
  if (unknown == 1 && is_whole && bytes != 0) {
    *open = static_cast<std::int64_t>(bytes / width / known);
    return Shape(std::move(extents));
  }
  if (unknown == 0 && count && bytes % width == 0 && bytes / width == known) return input.shape;
  return refused(fmt::format("{}, where the model takes {} [{}]{}", counted(bytes, "byte"),
                             to_string(input.element), to_string(input.shape),
                             wanted_bytes(known, width, unknown == 1)));
}

/// Types that use a part of their byte.
Expected<void> check_range(const Tensor& tensor) {
  const auto bytes = tensor.bytes();
  const auto outside = [&](std::byte byte) {
    const auto value = std::to_integer<unsigned char>(byte);
    switch (tensor.element()) {
      case ElementType::boolean:
        return value > 1;
      case ElementType::uint4:
        return value > 15;
      case ElementType::int4:
        return value > 7 && value < 0xf8;
      default:
        return false;
    }
  };
  const auto bad = std::ranges::find_if(bytes, outside);
  if (bad == bytes.end()) return {};
  return refused(fmt::format("the byte at {} is {}, which is no {}",
                             index_text(tensor.shape(), bad - bytes.begin()),
                             std::to_integer<int>(*bad), to_string(tensor.element())));
}

}  // namespace

Expected<Tensor> read_raw(const std::string& path, const Input& input) {
  QUADRANT_TRY(const InputFile file, InputFile::open(path));
  QUADRANT_TRY(Shape shape, shape_of(input, file.size()));
  QUADRANT_TRY(Tensor tensor, Tensor::make(input.element, std::move(shape)));
  QUADRANT_CHECK(file.read(0, tensor.fill_bytes()));
  if (byte_width(input.element) == 1) QUADRANT_CHECK(check_range(tensor));
  return tensor;
}

}  // namespace quadrant::inline v0::data_set
