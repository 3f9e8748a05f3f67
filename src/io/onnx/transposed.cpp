#include "io/onnx/transposed.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "numerics/pieces.hpp"
#include "quadrant/support/error.hpp"

namespace quadrant::inline v0::onnx {
namespace {

/// A matrix up to that size is looked at where it lies, if it can be; one in memory in any case.
constexpr std::uint64_t most_viewed = std::uint64_t{16} << 20U;

/// Rows of elements, `stride` bytes apart.
struct Matrix {
  const std::byte* first;
  std::size_t stride;
  std::size_t rows;
  std::size_t columns;
};

template <class Element>
void transpose_elements(const Matrix& from, std::byte* to) {
  // As many as lie in a line of the cache, which is read once.
  constexpr std::size_t tile = 64 / sizeof(Element);
  for (std::size_t begin = 0; begin < from.columns; begin += tile) {
    const std::size_t end = std::min(from.columns, begin + tile);
    for (std::size_t row = 0; row < from.rows; ++row) {
      for (std::size_t column = begin; column < end; ++column) {
        std::memcpy(to + (column * from.rows + row) * sizeof(Element),
                    from.first + row * from.stride + column * sizeof(Element), sizeof(Element));
      }
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
    const std::optional<ConstantBytes> whole = seen();
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
          made.resize(size);
          Matrix matrix{nullptr, static_cast<std::size_t>(columns_) * width_,
                        static_cast<std::size_t>(rows_), taken};
          if (whole) {
            matrix.first = whole->bytes().data() + begin * width_;
          } else {
            columns.resize(size);
            const ByteRuns runs{
                .offset = begin * width_, .step = matrix.stride, .length = taken * width_};
            QUADRANT_CHECK(matrix_.read_runs(runs, columns));
            matrix.first = columns.data();
            matrix.stride = runs.length;
          }
          transpose(matrix, made.data());
          return std::span<const std::byte>(made).subspan(static_cast<std::size_t>(skip) * width_,
                                                          count * width_);
        });
  }

  [[nodiscard]] bool gathers() const noexcept override { return true; }

 private:
  [[nodiscard]] std::optional<ConstantBytes> seen() const {
    const std::uint64_t size = matrix_.byte_size();
    if (matrix_.is_deferred() && size > most_viewed) return std::nullopt;
    return matrix_.view(0, static_cast<std::size_t>(size));
  }

  void transpose(const Matrix& from, std::byte* to) const {
    if (width_ == sizeof(std::uint16_t)) {
      transpose_elements<std::uint16_t>(from, to);
    } else {
      QUADRANT_ASSERT(width_ == sizeof(std::uint32_t));
      transpose_elements<std::uint32_t>(from, to);
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
