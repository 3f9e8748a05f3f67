#include "io/onnx/nbits_codes.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "quadrant/support/expected.hpp"

namespace quadrant::inline v0::onnx {
namespace {

/// Codes that are held at a time. A tile of fewer would make each run of a transposed matrix, which
/// is read on its own, shorter.
constexpr std::uint64_t tile_codes = std::uint64_t{1} << 20U;

class NBitsSource final : public ConstantSource {
 public:
  NBitsSource(Constant codes, const NBitsLayout& layout)
      : codes_(std::move(codes)),
        rows_(static_cast<std::uint64_t>(layout.rows)),
        columns_(static_cast<std::uint64_t>(layout.columns)),
        codes_per_byte_(static_cast<std::uint64_t>(8 / layout.bits)),
        row_bytes_(static_cast<std::uint64_t>(layout.blocks()) *
                   static_cast<std::uint64_t>(layout.block_size) / codes_per_byte_),
        rows_first_(layout.rows_first),
        offset_(static_cast<std::uint8_t>(nbits_offset(codes_.element()))) {}

  [[nodiscard]] Expected<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    std::vector<std::byte> codes;
    std::vector<std::byte> packed;
    while (!out.empty()) {
      const std::uint64_t skip = offset % row_bytes_;
      const Tile tile = tile_at(offset / row_bytes_, skip, out.size());
      QUADRANT_CHECK(read_codes(tile, codes));
      pack(tile, codes, packed);
      const std::uint64_t before = skip - tile.first_byte;
      const auto taken =
          static_cast<std::size_t>(std::min<std::uint64_t>(packed.size() - before, out.size()));
      std::memcpy(out.data(), packed.data() + before, taken);
      out = out.subspan(taken);
      offset += taken;
    }
    return {};
  }

 private:
  /// Whole rows, as many as there is room for, or a part of one row that is longer than that.
  struct Tile {
    std::uint64_t row;
    std::uint64_t rows;
    std::uint64_t first_byte;  ///< of each row
    std::uint64_t last_byte;
    std::uint64_t column;
    std::uint64_t columns;  ///< fewer than its bytes say where the last block is short
  };

  [[nodiscard]] Tile tile_at(std::uint64_t row, std::uint64_t skip, std::uint64_t size) const {
    Tile tile{row, 1, 0, row_bytes_, 0, 0};
    if (columns_ <= tile_codes) {
      tile.rows = std::min((skip + size - 1) / row_bytes_ + 1, tile_codes / columns_);
    } else {
      tile.first_byte = skip;
      tile.last_byte = std::min(row_bytes_, skip + std::min(size, tile_codes / codes_per_byte_));
    }
    tile.column = std::min(columns_, tile.first_byte * codes_per_byte_);
    tile.columns = std::min(columns_, tile.last_byte * codes_per_byte_) - tile.column;
    return tile;
  }

  /// Fills `codes` in the order in which they are stored, less what is not in the tile.
  [[nodiscard]] Expected<void> read_codes(const Tile& tile, std::vector<std::byte>& codes) const {
    codes.resize(static_cast<std::size_t>(tile.rows * tile.columns));
    // A tile has whole rows, or one: what lies row by row is one run either way.
    if (rows_first_) return codes_.read(tile.row * columns_ + tile.column, codes);
    if (tile.rows == rows_) return codes_.read(tile.column * rows_, codes);
    for (std::uint64_t i = 0; i < tile.columns; ++i) {
      QUADRANT_CHECK(codes_.read((tile.column + i) * rows_ + tile.row,
                                 std::span(codes).subspan(i * tile.rows, tile.rows)));
    }
    return {};
  }

  void pack(const Tile& tile, std::span<const std::byte> codes,
            std::vector<std::byte>& packed) const {
    const std::uint64_t bytes = tile.last_byte - tile.first_byte;
    packed.assign(static_cast<std::size_t>(tile.rows * bytes), std::byte{0});
    const std::uint64_t row_step = rows_first_ ? tile.columns : 1;
    const std::uint64_t column_step = rows_first_ ? 1 : tile.rows;
    for (std::uint64_t row = 0; row < tile.rows; ++row) {
      const std::byte* code = codes.data() + row * row_step;
      std::byte* out = packed.data() + row * bytes;
      for (std::uint64_t i = 0; i < tile.columns; ++i, code += column_step) {
        const auto moved =
            static_cast<std::uint8_t>(std::to_integer<std::uint8_t>(*code) + offset_);
        if (codes_per_byte_ == 1) {
          out[i] = std::byte{moved};
        } else {
          const auto half = static_cast<std::uint8_t>(moved & 15U);
          out[i / 2] |= std::byte{half} << (i % 2 == 0 ? 0 : 4);
        }
      }
    }
  }

  Constant codes_;
  std::uint64_t rows_;
  std::uint64_t columns_;
  std::uint64_t codes_per_byte_;
  std::uint64_t row_bytes_;
  bool rows_first_;
  std::uint8_t offset_;
};

}  // namespace

int nbits_offset(ElementType storage) noexcept {
  if (storage == ElementType::int4) return 8;
  return storage == ElementType::int8 ? 128 : 0;
}

Constant nbits_codes(Constant codes, const NBitsLayout& layout) {
  const Shape shape{layout.rows, layout.blocks(), layout.block_size * layout.bits / 8};
  return Constant::deferred(ElementType::uint8, shape,
                            std::make_shared<NBitsSource>(std::move(codes), layout));
}

}  // namespace quadrant::inline v0::onnx
