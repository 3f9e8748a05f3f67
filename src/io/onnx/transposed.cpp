#include "io/onnx/transposed.hpp"

#include <cstring>
#include <utility>
#include <vector>

#include "numerics/pieces.hpp"
#include "quadrant/support/assert.hpp"
#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0::onnx {
namespace {

template <class Element>
void transpose_elements(const std::byte* from, std::size_t rows, std::size_t columns,
                        std::byte* to) {
  for (std::size_t column = 0; column < columns; ++column) {
    for (std::size_t row = 0; row < rows; ++row) {
      std::memcpy(to + (column * rows + row) * sizeof(Element),
                  from + (row * columns + column) * sizeof(Element), sizeof(Element));
    }
  }
}

class TransposedSource final : public ConstantSource {
 public:
  TransposedSource(Constant matrix, std::int64_t rows, std::int64_t columns)
      : matrix_(std::move(matrix)),
        rows_(static_cast<std::uint64_t>(rows)),
        columns_(static_cast<std::uint64_t>(columns)),
        width_(static_cast<std::size_t>(byte_width(matrix_.element()))) {}

  [[nodiscard]] Expected<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    std::vector<std::byte> columns;
    std::vector<std::byte> made;
    return read_computed(
        offset, out, width_,
        [&](std::int64_t first, std::size_t count) -> Expected<std::span<const std::byte>> {
          // In whole columns, which are rows of the result.
          const std::uint64_t begin = static_cast<std::uint64_t>(first) / rows_;
          const std::uint64_t skip = static_cast<std::uint64_t>(first) % rows_;
          const auto taken = static_cast<std::size_t>((skip + count - 1) / rows_ + 1);
          const auto size = static_cast<std::size_t>(rows_) * taken * width_;
          columns.resize(size);
          made.resize(size);
          QUADRANT_CHECK(matrix_.read_runs(
              {.offset = begin * width_, .step = columns_ * width_, .length = taken * width_},
              columns));
          transpose(columns.data(), taken, made.data());
          return std::span<const std::byte>(made).subspan(static_cast<std::size_t>(skip) * width_,
                                                          count * width_);
        });
  }

  [[nodiscard]] bool gathers() const noexcept override { return true; }

 private:
  void transpose(const std::byte* from, std::size_t columns, std::byte* to) const {
    const auto rows = static_cast<std::size_t>(rows_);
    if (width_ == sizeof(std::uint16_t)) {
      transpose_elements<std::uint16_t>(from, rows, columns, to);
    } else {
      QUADRANT_ASSERT(width_ == sizeof(std::uint32_t));
      transpose_elements<std::uint32_t>(from, rows, columns, to);
    }
  }

  Constant matrix_;
  std::uint64_t rows_;
  std::uint64_t columns_;
  std::size_t width_;
};

}  // namespace

Constant transposed(Constant matrix, std::int64_t rows, std::int64_t columns, Shape shape) {
  const ElementType element = matrix.element();
  return Constant::deferred(element, std::move(shape),
                            std::make_shared<TransposedSource>(std::move(matrix), rows, columns));
}

}  // namespace quadrant::inline v0::onnx
